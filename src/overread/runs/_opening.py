"""Cases and readers, opened from what a user wrote; and which cases a run takes.

All of them, those a file names, or a seeded stratified sample. What a set holds and a run does not
ask about is told before anybody is asked, and kept.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.benchmarks.base import Benchmark
from overread.benchmarks.files.card import CuratedCard, curated_card
from overread.case import BadInput, Reader, Traits
from overread.files import read_text
from overread.judging import Role
from overread.judging.panel import panel_of, with_rubric
from overread.runs._environment import WORKSPACE, LookedUp, cache_folder, environment, load_config
from overread.typeset import guarded

if TYPE_CHECKING:
    # What asks is imported where somebody is asked: measuring pays for none of it.
    from overread.engine import Enrolment
    from overread.readers import Guard, Model, ReaderSpec

# A film takes some 200 kB: a slip of the finger must not fill the disk.
_MOST_PHANTOMS = 100_000
_LARGEST_SEED = 2**32 - 1
_PHANTOM = re.compile(r"phantom:([0-9]+)(?::([0-9]+))?")
_MOST_CALLS = 10_000
# Kinds of reader behind which no weights are.
OFFLINE = ("control", "recorded", "human")
# Kinds that see for themselves that every frame of a video is shown, or that show what was kept.
_COUNTS_FRAMES = ("hf", *OFFLINE)

# Where one line for the user goes.
Tell = Callable[[str], None]


class Seat(msgspec.Struct, frozen=True):
    """Somebody who is asked, and the spec that named it; of a judge also what it judges."""

    reader: Reader
    spec: ReaderSpec
    roles: tuple[Role, ...] = ()
    # The rubric it is asked with in place of the usual one.
    rubric: str = ""
    # Opens it in another process, with the variables of the environment that it looked up here.
    opens: Callable[[Mapping[str, str]], Reader] | None = None
    variables: tuple[str, ...] = ()

    @property
    def judges(self) -> bool:
        return bool(self.roles)

    @property
    def key(self) -> tuple[str, bool]:
        """What tells it from all others of a run: a reader may judge as well."""
        return self.reader.name, self.judges

    @property
    def called(self) -> str:
        """How lines for users call it."""
        return f"{'judge ' * self.judges}{self.reader.name}"


def seat_of(reader: Reader | Model) -> Seat:
    """A reader that no spec named: a control, or one that a program made."""
    from overread.readers import Model, PythonReader, ReaderSpec

    if isinstance(reader, Model):
        reader = PythonReader(reader)
    if not isinstance(reader, Reader):
        raise BadInput(
            f"a reader is {_kind(reader)}; give a spec such as openai:MODEL@URL, a table of one, "
            "or an overread.Model of your own."
        )
    spec = ReaderSpec(kind="control", model=reader.name, label=reader.name)
    return Seat(reader, spec, opens=partial(_itself, reader))


def _itself(reader: Reader, environment: Mapping[str, str]) -> Reader:
    return reader


def _opened(
    spec: ReaderSpec, guard: Guard, controls: Mapping[str, Reader], environment: Mapping[str, str]
) -> Reader:
    """The reader of a spec, here or in another process."""
    from overread.readers import WholeClips, open_reader

    opened = open_reader(spec, guard=guard, environment=environment, controls=controls)
    if spec.clips == "video" and spec.modality != "text" and spec.kind not in _COUNTS_FRAMES:
        opened = WholeClips(opened)
    return opened


def _kind(value: object) -> str:
    """What a value is, for a line on what it should have been."""
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    return f"the class {name} itself" if isinstance(value, type) else f"of the type {name}"


def open_cases(
    benchmark: str, cases: str | Path, edition: str, settings: Mapping[str, str]
) -> Benchmark:
    """Open a benchmark over a case file, or over `phantom:N[:SEED]`, made once and kept."""
    from overread.benchmarks.registry import class_of

    if not isinstance(benchmark, str):
        raise BadInput(f"benchmark is {_kind(benchmark)}; give its name.")
    if not isinstance(cases, str | Path):
        raise BadInput(f'cases is {_kind(cases)}; give a path, or "phantom:480".')
    return class_of(benchmark).open(case_file(benchmark, cases), edition, settings)


def case_file(benchmark: str, cases: str | Path) -> Path:
    """Where the cases stand; phantoms are made if they are not there."""
    text = str(cases)
    return phantom_cases(benchmark, text) if text.startswith("phantom:") else Path(text)


def may_draw(cases: str, known: int) -> bool:
    """Whether phantoms may be drawn again for a page: as many as a run had, or those still there.

    A record is a file that anybody may have changed; a page is not worth an hour of drawing.
    """
    if not cases.startswith("phantom:"):
        return True
    found = _PHANTOM.fullmatch(cases)
    if found is None or len(cases) > 50:
        return False
    n, seed = int(found[1]), int(found[2] or 0)
    return n <= known or any(cache_folder().glob(f"phantom-*-{n}-{seed}-r*"))


def recorded_cases(cases: str | Path) -> str:
    """What a record calls its cases: found again from whatever folder the run is looked at."""
    text = str(cases)
    return text if text.startswith("phantom:") else os.path.abspath(text)


def phantom_cases(benchmark: str, spec: str) -> Path:
    """The case file of `phantom:N[:SEED]` for a benchmark, made in the cache if it is not there."""
    from overread.benchmarks.registry import class_of, with_phantoms
    from overread.plugins import at

    found = _PHANTOM.fullmatch(spec)
    if found is None:
        raise BadInput(
            f'--cases {spec}: expected phantom:N or phantom:N:SEED, as in "phantom:480".'
        )
    words = (found[1], found[2] or "0")
    for word, most in zip(words, (_MOST_PHANTOMS, _LARGEST_SEED), strict=True):
        if len(word) > len(str(most)) or int(word) > most:
            raise BadInput(f"--cases {spec}: {word[:20]} is too large; give at most {most}.")
    declared = class_of(benchmark).phantoms
    if declared is None:
        *others, last = (one.name for one in with_phantoms())
        raise BadInput(
            f'benchmark "{benchmark}" has no phantoms; {", ".join(others)} and {last} have.'
        )
    cache = cache_folder()
    try:
        made = Path(at(declared.maker)(cache, *map(int, words)))
        if cache.parent.name == WORKSPACE:
            from overread.engine import private_folder

            private_folder(cache.parent)
        return made
    except OSError as error:
        raise BadInput(
            f"{cache}: phantoms cannot be kept there ({error.strerror}). "
            "Name a writable folder with the variable OVERREAD_CACHE."
        ) from None


def open_readers(
    bench: Benchmark,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    concurrency: int | None = None,
    controls: Mapping[str, Reader] | None = None,
) -> list[Seat]:
    """Open every reader behind the guard of this data set; two may not share a name.

    `control:NAME` is one of the benchmark's controls, or of those given.
    """
    from overread.readers import Guard, parse_spec

    if isinstance(readers, str | Mapping) or not isinstance(readers, Sequence):
        raise BadInput(f'readers is {_kind(readers)}; give a list, as ["control:looks"].')
    if not readers:
        raise BadInput("no reader was given. Give at least one with --reader, as control:looks.")
    if concurrency is not None and not 1 <= concurrency <= _MOST_CALLS:
        raise BadInput(f"--concurrency {concurrency}: it must be from 1 to {_MOST_CALLS}.")
    guard = Guard(bench.policy, load_config().share_with)
    seats: list[Seat] = []
    for reader in readers:
        if not isinstance(reader, str | Mapping):
            seats.append(seat_of(reader))
            continue
        spec = parse_spec(reader)
        if concurrency and spec.concurrency is None and spec.kind not in OFFLINE:
            spec = msgspec.structs.replace(spec, concurrency=concurrency)
        if controls is None:  # made of all cases, where any is asked for
            controls = bench.controls() if spec.kind == "control" else None
        looked_up = LookedUp(environment())
        opened = _opened(spec, guard, controls or {}, looked_up)
        own = {name: one for name, one in (controls or {}).items() if name == spec.model}
        opens = partial(_opened, spec, guard, own)
        seats.append(Seat(opened, spec, opens=opens, variables=tuple(looked_up.names)))
    names = [seat.reader.name for seat in seats]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadInput(f'two readers are called "{min(twice)}". Give one of them a label= option.')
    return seats


def open_judges(
    bench: Benchmark,
    judges: Sequence[str | Mapping[str, Any] | Reader],
    concurrency: int | None = None,
) -> list[Seat]:
    """Open every judge behind the guard of this data set, with what each judges.

    A judge is `[ROLE=]SPEC`, a reader's table that may name its `role`, or a reader for every role.
    Spec and table may name a `rubric`.
    """
    if not judges:
        return []
    if not bench.roles:
        raise BadInput(f"--judge: {bench.name} asks no judge. Leave the option out.")
    words = [judge for judge in judges if isinstance(judge, str)]
    panel = panel_of(words, bench.roles, bench.name)
    seats: list[tuple[tuple[Role, ...], str, str | dict[str, Any] | Reader]] = []
    for text, roles in panel.items():
        spec, rubric = with_rubric(text)
        seats.append((roles, rubric, spec))
    for judge in judges:
        if isinstance(judge, Mapping):
            table = dict(judge)
            rubric, word = str(table.pop("rubric", "")), table.pop("role", None)
            roles = tuple(role for role in bench.roles if word in (None, role))
            if not roles:
                known = ", ".join(bench.roles)
                raise BadInput(f'a judge has the role "{word}"; {bench.name} has {known}.')
            seats.append((roles, rubric, table))
        elif not isinstance(judge, str):
            seats.append((bench.roles, "", judge))
    others = bench.other_rubrics
    for roles, rubric, _ in seats:
        # A rubric other than the usual one must be there for every role of its judge.
        if rubric and not all(rubric in others.get(role, ()) for role in roles):
            there = [f"{name} (role {role})" for role, names in others.items() for name in names]
            raise BadInput(
                f"a judge has rubric={rubric[:60]}; there is "
                f"{', '.join(there) or 'none but the usual one'} here. "
                "Write ROLE=SPEC?rubric=NAME, or leave it out."
            )
    specs = [spec for *_, spec in seats]
    opened = open_readers(bench, specs, concurrency, controls=bench.judges())
    return [
        msgspec.structs.replace(seat, roles=roles, rubric=rubric)
        for (roles, rubric, _), seat in zip(seats, opened, strict=True)
    ]


def enrolments(seats: Sequence[Seat]) -> list[Enrolment]:
    """Everybody who is about to be asked, as the store writes them down."""
    from overread.engine import Enrolment

    found: list[Enrolment] = []
    for seat in seats:
        one = Enrolment(
            identity=seat.reader.identity,
            label=seat.reader.name,
            judges=seat.judges,
            use=_use(seat),
            weights=seat.spec.kind not in OFFLINE,
        )
        for other in found:
            if one.weights and (other.identity, other.use) == (one.identity, one.use):
                raise BadInput(
                    f'readers "{other.label}" and "{one.label}" are the same model at the same '
                    "address, so one's replies would be the other's. Give one of them "
                    "revision=NAME, or leave it out."
                )
        found.append(one)
    return found


def _use(seat: Seat) -> str:
    """What tells two readers of one identity apart: their role, and every trait that is set."""
    told = msgspec.structs.asdict(seat.reader.traits)
    usual = msgspec.structs.asdict(Traits())
    words = [f"judge of {' '.join(seat.roles)}"] if seat.judges else []
    words += [f"{name}={told[name]}" for name in sorted(told) if told[name] != usual[name]]
    return " ".join(words)


# ---------------------------------------------------------------- which cases

# The columns that name a case, the first that a file has; `case` is how our own tables call it.
_COLUMNS: Final = ("case_id", "case", "index", "id")
_TABLES: Final = {".csv": ",", ".tsv": "\t"}
_LINES: Final = (".jsonl", ".ndjson")
_SHOWN: Final = 3


class Chosen(NamedTuple):
    """The cases of a run, None for all; how many they are; and the file that named them.

    `only` is its name and the digest of the cases it names, as in "hard.txt@1a2b3c4d".
    """

    cases: frozenset[str] | None
    n: int
    only: str | None = None


def survey(bench: Benchmark, limit: int | None, only: str | Path | None = None) -> Chosen:
    """Validate every case before anything is asked; choose those named, and of these the sample."""
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: it must be 1 or more.")
    named = None if only is None else _named(Path(only), bench)
    strata: dict[tuple[str, ...], list[str]] = {}
    cases = bench.cases()
    total = len(cases)
    if limit is not None or named is not None:
        total = 0
        for case in cases:
            if named is None or case.case_id in named:
                total += 1
                if limit is not None:
                    strata.setdefault(bench.stratum(case), []).append(case.case_id)
    chosen = named
    if limit is not None and limit < total:
        chosen, total = stratified_sample(strata, limit), limit
    if chosen is not None:
        bench.sample_from(chosen)
    if only is None or named is None:
        return Chosen(chosen, total)
    digest = blake2b(msgspec.json.encode(sorted(named)), digest_size=4).hexdigest()
    return Chosen(chosen, total, f"{Path(only).name}@{digest}")


def _named(path: Path, bench: Benchmark) -> frozenset[str]:
    """The cases that a file names; by their index too where that is what its column has."""
    column, names = _names_in(path)
    by_index: dict[str, list[str]] = {}
    known = set()
    for case in bench.cases():
        known.add(case.case_id)
        if column == "index" and hasattr(case, "index"):
            by_index.setdefault(str(case.index), []).append(case.case_id)
    strange = [name for name in names if name not in known and name not in by_index]
    if strange:
        raise BadInput(f"--only {path}: {_strange(strange, bench)} Mend the file.")
    found = {one for name in names for one in ([name] if name in known else by_index[name])}
    return frozenset(found)


def _strange(names: Sequence[str], bench: Benchmark) -> str:
    first = ", ".join(f'"{name[:60]}"' for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    left = dict(bench.left_out or ())
    why = f" ({names[0]} is left out: {left[names[0]].rstrip('.')})" if names[0] in left else ""
    return f"{first}{more} {'are no cases' if len(names) > 1 else 'is no case'} of the set{why}."


def _names_in(path: Path) -> tuple[str, dict[str, None]]:
    """The names that a file has, each once in its order, and what it calls them."""
    text = read_text(path, named=f"--only {path}")
    kind = path.suffix.lower()
    if kind in _TABLES:
        column, cells = _of_table(path, text, _TABLES[kind])
    elif kind in _LINES:
        column, cells = _of_lines(path, text)
    else:
        column, cells = "", text.splitlines()
    names = dict.fromkeys(cell.strip() for cell in cells)
    names.pop("", None)
    if not names:
        raise BadInput(f"--only {path}: it names no case. Give a case id on each line.")
    return column, names


def _of_table(path: Path, text: str, comma: str) -> tuple[str, list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True))
    except csv.Error as error:
        raise BadInput(f"--only {path}: it is no csv file: {error}. Mend it.") from None
    header = [name.strip() for name in rows[0]] if rows else []
    column = _column(path, header)
    place = header.index(column)
    return column, [row[place] for row in rows[1:] if len(row) > place]


def _of_lines(path: Path, text: str) -> tuple[str, list[str]]:
    column, cells = "", []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            raise BadInput(f"--only {path} line {number}: it is no JSON. Mend it.") from None
        if isinstance(row, dict):
            column = _column(path, row, f" line {number}")
            row = row[column]
        if isinstance(row, bool) or not isinstance(row, str | int):
            raise BadInput(f"--only {path} line {number}: a case id is a text or a number.")
        cells.append(str(row))
    return column, cells


def _column(path: Path, names: Iterable[str], where: str = "") -> str:
    held = set(names)
    found = next((name for name in _COLUMNS if name in held), None)
    if found is None:
        listed = ", ".join(_COLUMNS)
        raise BadInput(f"--only {path}{where}: it has none of the columns {listed}. Add one.")
    return found


def stratified_sample(
    strata: Mapping[tuple[str, ...], Sequence[str]], limit: int, seed: int = 0
) -> frozenset[str]:
    """`limit` ids, each stratum in proportion (largest remainders first), drawn with a seed."""
    total = sum(map(len, strata.values()))
    limit = min(limit, total)
    quota = {name: limit * len(ids) // total for name, ids in strata.items()}
    remainders = sorted(strata, key=lambda name: (-(limit * len(strata[name]) % total), name))
    for name in remainders[: limit - sum(quota.values())]:
        quota[name] += 1
    draw = Random(seed)
    samples = (draw.sample(sorted(strata[name]), quota[name]) for name in sorted(strata))
    return frozenset(chosen for sample in samples for chosen in sample)


_FILE = "left_out.csv"


def _on_curation(bench: Benchmark, seats: Sequence[Seat]) -> Iterator[str]:
    """Lines on how the set was made (`[curated]` of its card)."""
    card = _curated(bench)
    filters = filters_of(bench)
    asked = [seat for seat in seats if not seat.judges and filtered(seat, filters)]
    if asked:
        names = ", ".join(seat.reader.name for seat in asked)
        yield (
            f"the items of this set were filtered by what {names} answered: what "
            f"{'it scores' if len(asked) == 1 else 'they score'} here is not to be set beside "
            "other models' scores."
        )
    elif filters:
        yield (
            f"the items of this set were filtered by {', '.join(card.filters)}: models of these "
            "families may find it harder than others do."
        )
    if card.unreviewed:
        yield f"{card.unreviewed:,} items of this set were reviewed by nobody."


def _curated(bench: Benchmark) -> CuratedCard:
    return curated_card(bench.path) if bench.path is not None else CuratedCard()


def filters_of(bench: Benchmark) -> frozenset[str]:
    """The models that the set was filtered by, in small letters."""
    return frozenset(name.casefold() for name in _curated(bench).filters)


def filtered(seat: Seat, filters: Collection[str]) -> bool:
    """Whether a set's items were filtered by this model, as it is called or served."""
    names = (seat.reader.name, seat.spec.model)
    return any(name.casefold() in filters for name in names)


def remarks_of(bench: Benchmark, seats: Sequence[Seat] = ()) -> tuple[str, ...]:
    """A line on what is left out, with the first reason, and the benchmark's own lines; and on
    those who are asked about a set that was filtered by them.
    """
    lines = (*_on_curation(bench, seats), *bench.remarks)
    left = bench.left_out
    if left:
        # Something may be asked about in part only, and be in both.
        total = len({name for name, _ in left} | {case.case_id for case in bench.cases()})
        name, reason = left[0]
        what = f"{len(left)} of {total} are left out, wholly or in part"
        lines = (f"{what}; {name}: {reason.rstrip('.')}. All of them: {_FILE} of the run.", *lines)
    return lines


def write_left_out(folder: Path, bench: Benchmark) -> None:
    """One row for each that is left out, with its reason; only the header where there is none."""
    left = bench.left_out
    if left is None:  # it asks about everything
        return
    with (folder / _FILE).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("name", "reason"))
        rows.writerows([guarded(cell) for cell in row] for row in left)
