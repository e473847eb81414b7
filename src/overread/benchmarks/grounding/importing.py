"""Results made with the authors' own scripts become the tables of a run; no model is asked.

Their layout is DIR/<model>/<condition>.csv. The order of the rows is kept: the authors' bootstrap
depends on it. No image need exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.benchmarks.benchmark import ReaderRecord, Tables
from overread.benchmarks.grounding.answers import ANSWER_COLUMNS, RECORDED, Reading
from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.edition import CONDITIONS, Options
from overread.benchmarks.grounding.sheets import rows_of
from overread.case import BadInput, Modality, Traits

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Imported", "import_results"]

_ROLES: Final[Mapping[str, Modality]] = {
    "multimodal": "multimodal",
    "text_only": "text",
    "vision_only": "vision",
}
_PARSED: Final = {"1": 1, "1.0": 1, "0": 0, "0.0": 0, "-1": -1, "-1.0": -1}


class Imported(NamedTuple):
    """The benchmark, the tables of a run, and a line for everything passed over."""

    benchmark: Grounding
    tables: Tables
    warnings: list[str]


def import_results(
    manifest: str | Path,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    settings: Mapping[str, str] | None = None,
    reparse: bool = False,
) -> Imported:
    """Read a manifest and the result files of every model under `replies`.

    The files' own `parsed_answer` and `confidence` are kept; `reparse` reads `raw_answer` again
    with the edition's parser (but for readers without text). `readers` is their models.json.
    """
    import polars as pl

    benchmark = Grounding.open(manifest, edition, settings)
    case_rows = [benchmark.case_row(case) for case in benchmark.cases()]
    cases = pl.DataFrame(case_rows, schema=dict(benchmark.case_schema), orient="row")
    known = frozenset(cases["case"])
    declared = _declared(Path(readers)) if readers is not None else None
    folders, warnings = _folders(Path(replies), declared)
    records: list[ReaderRecord] = []
    rows: list[tuple[Any, ...]] = []
    for folder in folders:
        traits = (declared or {}).get(folder.name, Traits())
        records.append(ReaderRecord(name=folder.name, traits=traits, identity="imported"))
        for condition in CONDITIONS:
            path = folder / f"{condition}.csv"
            if path.is_file():
                found = list(_answers(path, condition, known, benchmark.options))
                if condition == "original" and not found:
                    raise BadInput(f"{path} has a header and no rows. Give the results, or none.")
                rows.extend((folder.name, *row) for row in found)
    schema = {"reader": pl.String, **benchmark.answer_schema}
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    tables = Tables(cases=cases, answers=answers, readers=tuple(records))
    # Rows without a parsed_answer are parsed in any case.
    tables = benchmark.reread(tables, reparse=reparse)
    return Imported(benchmark, tables, [*warnings, *_improbable(tables.answers)])


def _declared(path: Path) -> dict[str, Traits]:
    try:
        models = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Any]])
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except msgspec.MsgspecError as error:
        raise BadInput(f"{path} is not an object of models: {error}. Mend it.") from None
    return {name: _traits(path, name, model) for name, model in models.items()}


def _traits(path: Path, name: str, model: Mapping[str, Any]) -> Traits:
    role, reasoning = model.get("role", "multimodal"), model.get("reasoning_parser", False)
    if role not in _ROLES:
        raise BadInput(f'{path}: {name} has role "{role}"; the roles are {", ".join(_ROLES)}.')
    if not isinstance(reasoning, bool):
        raise BadInput(f"{path}: {name} has reasoning_parser {reasoning!r}; it is true or false.")
    return Traits(modality=_ROLES[role], reasoning=reasoning)


def _folders(root: Path, declared: Mapping[str, Traits] | None) -> tuple[list[Path], list[str]]:
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds <model>/original.csv.")
    kept, warnings = [], []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if not (folder / "original.csv").is_file():
            warnings.append(f"{folder.name} is left out: it has no original.csv.")
            continue
        kept.append(folder)
        if declared is not None and folder.name not in declared:
            warnings.append(f"{folder.name} is not in the readers file; taken as multimodal.")
        strange = sorted(p.name for p in folder.glob("*.csv") if p.stem not in CONDITIONS)
        warnings.extend(f"{folder.name}/{name} is left out: no such condition." for name in strange)
    if not kept:
        raise BadInput(f"{root} holds no <model>/original.csv. Give the authors' results folder.")
    present = {folder.name for folder in kept}
    absent = sorted(set(declared or ()) - present)
    warnings.extend(f"{name} of the readers file has no results." for name in absent)
    return kept, warnings


def _answers(
    path: Path, condition: str, known: frozenset[str], options: Options
) -> Iterator[tuple[Any, ...]]:
    """The rows of one result file, in its order, as rows of the answers table."""
    seen: dict[str, int] = {}
    name = f"{path.parent.name}/{path.name}"
    for line, cells in rows_of(path, ("case_id",)):
        where = f"{name} row {line}"
        if "parsed_answer" not in cells and "raw_answer" not in cells:
            raise BadInput(f"{name} has no column parsed_answer or raw_answer. Add one of them.")
        case = cells["case_id"].strip()
        if case not in known:
            raise BadInput(f'{where}: case_id "{case}" is not in the manifest. Give its manifest.')
        if seen.setdefault(case, line) != line:
            raise BadInput(
                f'{where}: case_id "{case}" stands in row {seen[case]} already. Keep one row.'
            )
        row = (
            *(case, condition, options.phrasing, options.px, 0),
            *_recorded(where, cells),
            *(cells.get("raw_answer", ""), None, None, None, False, True, None),
        )
        assert len(row) == len(ANSWER_COLUMNS)
        yield row


def _recorded(where: str, cells: Mapping[str, str]) -> Reading:
    confidence = _confidence(where, cells.get("confidence", "").strip())
    reason = RECORDED if confidence is not None else "no_logprobs"
    if "parsed_answer" not in cells:
        return Reading("unparsed", None, None, confidence, reason)
    word = cells["parsed_answer"].strip()
    if word not in _PARSED:
        raise BadInput(f'{where}: parsed_answer is "{word}"; it is 1, 0 or -1. Fix the row.')
    answer = _PARSED[word]
    if answer < 0:
        return Reading("unparsed", None, RECORDED, confidence, reason)
    return Reading("answered", answer, RECORDED, confidence, reason)


def _confidence(where: str, text: str) -> float | None:
    if not text or text.lower() == "nan":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise BadInput(f'{where}: confidence is "{text}"; it is a number. Fix the row.')
    return value


def _improbable(answers: pl.DataFrame) -> Iterator[str]:
    """Confidences no probability can have. They are kept: the file is what it is."""
    import polars as pl

    odd = answers.filter((pl.col("p_yes") < 0) | (pl.col("p_yes") > 1))
    for reader, count in odd.group_by("reader", maintain_order=True).len().iter_rows():
        yield f"{reader} has {count} confidences outside 0 to 1; they are kept as recorded."
