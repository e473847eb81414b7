"""Results that somebody else's scripts wrote, as the tables of a run; no model is asked.

Which files there are and what a row of them means is each paper's own. Who the readers are, what
is passed over, what judges said and what the run is called is told here, once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import msgspec

from overread.benchmarks.base import Benchmark, ReaderRecord, Tables
from overread.benchmarks.tables import Int8, frame_of
from overread.case import BadInput, Modality, Policy, Traits
from overread.files import read_bytes
from overread.judging import Read

if TYPE_CHECKING:
    import polars as pl


IMPORTED: Final = "imported"
"""The identity of a reader that somebody else asked, and the name of a set that is not given."""
NOT_KEPT: Final = "(the reply is in none of the files)"
"""Stands for words that were judged and are in no file; a verdict on nothing would not count."""

B = TypeVar("B", bound=Benchmark)

# ---------------------------------------------------------------- files


def result_files(root: Path, suffix: str, *, expected: str) -> list[Path]:
    """The file itself, or the files of this suffix in a folder, in the order of their names."""
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give {expected}.")
    listed = (file for file in root.iterdir() if file.suffix.lower() == suffix)
    found = sorted(file for file in listed if file.is_file())
    if not found:
        raise BadInput(f"{root} holds no {suffix}. Give {expected}.")
    return found


class Oddities:
    """What does not fit, by why, with where it stands. A class, for it grows."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def add(self, why: str, where: str) -> None:
        """`why` begins with a verb of many: `have no text`."""
        self._places.setdefault(why, []).append(where)

    def told(self, one: str = "line", many: str = "lines") -> Iterator[str]:
        """One line for each kind of oddity, with how many there are and the first."""
        of_one = {"have": "has", "are": "is"}
        for why, places in self._places.items():
            n, (verb, _, rest) = len(places), why.partition(" ")
            some = f"{one} {of_one.get(verb, verb)}" if n == 1 else f"{many} {verb}"
            yield f"{n} {some} {rest} (the first is {places[0]})."


# ---------------------------------------------------------------- readers: the papers' models.json

_ROLES: Final[Mapping[str, Modality]] = {
    "multimodal": "multimodal",
    "text_only": "text",
    "vision_only": "vision",
}
# What is said of a model: its kind, what it is where nothing is said, and what it is in words.
_SAID: Final[Mapping[str, tuple[Any, Any, str]]] = {
    "role": (Literal[tuple(_ROLES)], "multimodal", f"the roles are {', '.join(_ROLES)}"),
    "reasoning_parser": (bool, False, "it is true or false"),
    "params_b": (
        Annotated[float, msgspec.Meta(gt=0, lt=1e9)] | None,
        None,
        "it is billions of parameters",
    ),
    "group": (str | None, None, "it is a text"),
}


def declared_readers(path: str | Path | None) -> dict[str, ReaderRecord]:
    """What `models.json` says of each model, where one is given.

    Its role, whether its thinking is parsed away, and, if declared, its size in billions of
    parameters and its group.
    """
    if path is None:
        return {}
    try:
        models = msgspec.json.decode(read_bytes(Path(path)), type=dict[str, dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"{path} is not an object of models: {error}. Mend it.") from None
    found = {}
    for name, model in models.items():
        said = {}
        for field, (kind, default, need) in _SAID.items():
            given = model.get(field, default)
            try:
                said[field] = msgspec.convert(given, kind)
            except msgspec.ValidationError:
                shown = msgspec.json.encode(given).decode()
                raise BadInput(f"{path}: {name} has {field} {shown}; {need}.") from None
        traits = Traits(modality=_ROLES[said["role"]], reasoning=said["reasoning_parser"])
        group = (said["group"] or "").strip() or None
        found[name] = ReaderRecord(
            name=name, traits=traits, identity=IMPORTED, params_b=said["params_b"], group=group
        )
    return found


def reader_records(
    names: Iterable[str], declared: Mapping[str, ReaderRecord]
) -> tuple[ReaderRecord, ...]:
    """The records of the readers that have results; one that is not declared is multimodal."""
    plain = (ReaderRecord(name=name, identity=IMPORTED) for name in names)
    return tuple(declared.get(one.name, one) for one in plain)


def without_results(
    names: Iterable[str], declared: Mapping[str, ReaderRecord], what: str = "results"
) -> list[str]:
    """A line for each declared reader of which there is nothing."""
    known = set(names)
    return [f"{name} of the readers file has no {what}." for name in declared if name not in known]


# ---------------------------------------------------------------- verdicts


class JudgedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict, in the columns of `verdicts.parquet`."""

    judge: str
    role: str
    question: str
    reader: str
    case: str
    about: str
    check: bool = False
    attempts: Int8 = 1
    outcome: Literal["judged", "invalid", "unanswered"]
    how: str | None = None
    payload: str | None = None
    text: str | None = None
    reason: str | None = None
    prompt: str | None = None


def judged_row(read: Read, *, text: str | None, reason: str | None, **facts: Any) -> JudgedRow:
    """What somebody else's judge said, read; without words it is invalid, whatever was read."""
    valid = text is not None and read.valid
    return JudgedRow(
        outcome="judged" if valid else "invalid",
        how=(read.how or None) if text is not None else None,
        payload=msgspec.json.encode(read.value).decode() if valid else None,
        text=text,
        reason=reason or read.fault or None,
        **facts,
    )


def verdicts_frame(rows: Iterable[JudgedRow]) -> pl.DataFrame | None:
    """The table of verdicts, None where there are none."""
    kept = list(rows)
    return frame_of(JudgedRow, kept) if kept else None


# ---------------------------------------------------------------- the run


def over_tables(
    benchmark: type[B],
    tables: Tables,
    cases: str | Path | None,
    policy: Policy,
    edition: str,
    words: Mapping[str, str] | None,
) -> B:
    """The benchmark over imported tables, named for the set of cases where one is given."""
    name = IMPORTED
    if cases is not None:
        place = Path(cases)
        name = (place if place.is_dir() else place.parent).absolute().name
    digest = hashlib.sha256(tables.cases.write_json().encode()).hexdigest()[:8]
    return benchmark.of_run(f"{name}@{digest}", policy, edition, words)
