"""The figures that a benchmark's paper prints and what does not add up in them, read from data.

A paper has a folder of its benchmark's name: `figures.toml` holds every kept number cell by cell,
`flags.toml` what is wrong with them. The arithmetic that found the flags is a test.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

import msgspec

from overread.case import BadInput, Measure, Modality

# Who stands in for a reader where cases are counted, and the table made of the systems.
CASES: Final = "probe set"
SYSTEMS: Final = "systems"
Spread = Literal["se", "sd_boot", "sd", "sd_seeds", "sd_videos"]
Unit = Literal["percent", "one"]

BENCHMARKS: Final = tuple(
    sorted(
        folder.name
        for folder in files("overread.published").iterdir()
        if (folder / "figures.toml").is_file()
    )
)
"""Those whose papers' figures are kept: every folder with a file of them."""


# ---------------------------------------------------------------- what the data files hold


class System(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reader of the paper. Parameters in billions; None where they are not disclosed.

    `category` is empty where the paper sorts nobody.
    """

    name: str
    group: str
    modality: Modality
    category: str = ""
    params_b: float | None = None
    active_b: float | None = None


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cells of one column are.

    `over` and `groups`: one value per group in each cell. `counted`: K/N. `overall`: the number
    stands for the whole as well. `reader`: the column's own, beside whom the row's reader is put.
    """

    measure: str
    by: dict[str, str] = {}
    over: str | None = None
    groups: tuple[str, ...] = ()
    counted: bool = False
    overall: bool = False
    repeats: bool = False
    reader: str | None = None
    spread: Spread | None = None
    method: str | None = None
    unit: Unit | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A printed table, or a part of one that has columns of its own.

    `names` gives our word for a printed one of the leading columns; `note` says what the numbers
    are, where that is more than their unit.
    """

    table: str
    where: str
    title: str
    columns: tuple[Column, ...]
    rows: str
    keys: tuple[str, ...] = ("reader",)
    by: dict[str, str] = {}
    spread: Spread = "se"
    method: str | None = None
    family: str | None = None
    unit: Unit = "percent"
    names: dict[str, str] = {}
    note: str = ""

    @property
    def lines(self) -> list[list[str]]:
        return [[cell.strip() for cell in line.split("|")] for line in self.rows.split("\n")[:-1]]


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that does not add up: where, what is wrong, what was found, what was expected.

    `tables` are the tables it concerns by their names on the command line; `reader` the row.
    `note` cites the protocol's row where there is one.
    """

    where: str
    what: str
    found: str
    expected: str
    reader: str = ""
    tables: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        row = f"{self.reader}: " if self.reader else ""
        note = f" [{self.note}]" if self.note else ""
        return (
            f"{self.where}, {row}{self.what}. Found {self.found}; expected {self.expected}.{note}"
        )


class _FiguresFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    benchmark: str
    paper: str
    cite: str
    cases: int
    systems: tuple[System, ...]
    parts: tuple[Part, ...]


# ---------------------------------------------------------------- what is made of them


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """One number with where it stands and how it is printed.

    `half` is half a unit of its last printed digit, as a fraction: what rounding may hide.
    `spread` is what follows ±, whatever it is. A `repeat` is printed elsewhere in the first place.
    """

    record: Measure
    table: str
    where: str
    cell: str
    half: float = 0.0
    spread: float | None = None
    spread_half: float = 0.0
    repeat: bool = False


class Figures(_FiguresFile, frozen=True, kw_only=True):
    """All that a paper prints and we keep; `cases` is the size of the paper's main set."""

    printed: tuple[Printed, ...]
    index: dict[tuple[str, str, frozenset[tuple[str, str]]], Printed]

    def find(
        self, reader: str, measure: str, by: Mapping[str, str] | None = None
    ) -> Printed | None:
        """The number where it is printed in the first place."""
        return self.index.get((reader, measure, frozenset((by or {}).items())))

    def n(self, reader: str, measure: str, by: Mapping[str, str] | None = None) -> int | None:
        found = self.find(reader, measure, by)
        return None if found is None else found.record.n

    @property
    def tables(self) -> tuple[str, ...]:
        return (*dict.fromkeys(part.table for part in self.parts), SYSTEMS)


def paper_file(benchmark: str, name: str) -> str:
    """The text of one of a paper's data files."""
    if benchmark not in BENCHMARKS:
        raise BadInput(
            f'benchmark is "{benchmark}"; printed figures are kept of {", ".join(BENCHMARKS)}.'
        )
    return (files("overread.published") / benchmark / name).read_text(encoding="utf-8")


@cache
def figures(benchmark: str) -> Figures:
    """What the paper of a benchmark prints, with where each number stands."""
    return read_figures(paper_file(benchmark, "figures.toml"))


def read_figures(text: str) -> Figures:
    """A data file's figures. It is ours: a fault in it is no bad input."""
    found = msgspec.convert(tomllib.loads(text), _FiguresFile)
    printed = (*_categories(found.systems), *(p for part in found.parts for p in _numbers(part)))
    index = {
        (p.record.reader, p.record.measure, frozenset(p.record.by.items())): p
        for p in printed
        if not p.repeat
    }
    return Figures(**msgspec.structs.asdict(found), printed=printed, index=index)


@cache
def inconsistencies(benchmark: str) -> tuple[Flag, ...]:
    """Every printed figure that other printed figures, or the authors' code, contradict."""
    kept = tomllib.loads(paper_file(benchmark, "flags.toml"))
    return msgspec.convert(kept, dict[Literal["flags"], tuple[Flag, ...]])["flags"]


# ---------------------------------------------------------------- the notation of one cell

_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e\d+)?"
_CELL: Final = re.compile(
    rf"(?P<value>N/A|{_NUMBER}|-)?"
    rf"(?: ± (?P<spread>{_NUMBER}))?"
    rf"(?: \[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\])?"
    r"(?: ?q(?P<q>[<>=]\d\.\d+))?"
    r"(?: p(?P<p>[<>=]\d\.\d+))?"
    r"(?: n=(?P<n>\d+))?"
    r"(?P<dagger> †)?"
)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed: numbers as decimals, so that 33.0 is known to be neither 33 nor 33.00."""

    value: Decimal | None = None
    spread: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    q: str | None = None
    p: str | None = None
    n: int | None = None
    dagger: bool = False


def read_cell(text: str) -> Cell:
    """`33.5 ± 2.4 [28.7, 38.3] n=373` and what may be left out of it; ValueError otherwise.

    `N/A` and a dash are printed where there is no number.
    """
    found = _CELL.fullmatch(text)
    if found is None:
        raise ValueError(f'not a cell: "{text}"')

    absent = (None, "N/A", "-")
    numbers = {
        name: None if found[name] in absent else Decimal(found[name])
        for name in ("value", "spread", "low", "high")
    }
    n = None if found["n"] is None else int(found["n"])
    return Cell(**numbers, q=found["q"], p=found["p"], n=n, dagger=found["dagger"] is not None)


# ---------------------------------------------------------------- rows made into records


def _categories(systems: tuple[System, ...]) -> Iterator[Printed]:
    for system in systems:
        if system.category:
            yield Printed(
                record=Measure(reader=system.name, measure="category", label=system.category),
                table=SYSTEMS,
                where="the headings of Tables 2 and 3",
                cell=system.category,
            )


def _numbers(part: Part) -> Iterator[Printed]:
    """Every number of a printed table, row by row."""
    for line in part.lines:
        words = (part.names.get(word, word) for word in line)
        named = dict(zip(part.keys, words, strict=False))
        cells = line[len(part.keys) :]
        for column, cell in zip(part.columns, cells, strict=True):
            if not cell:
                continue
            for printed in _cell_numbers(part, column, cell, named):
                yield printed
                if column.overall:
                    whole = msgspec.structs.replace(printed.record, by={})
                    yield msgspec.structs.replace(printed, record=whole)


def _cell_numbers(
    part: Part, column: Column, cell: str, named: Mapping[str, str]
) -> Iterator[Printed]:
    """What one cell holds: one number, one per group, K of N, a count, or a word."""
    by = {**part.by, **{key: word for key, word in named.items() if key != "reader" and word}}
    by |= column.by
    reader = named.get("reader", CASES)
    if column.reader is not None:
        by, reader = {**by, "versus": reader}, column.reader
    place = Printed(
        record=Measure(reader=reader, measure=column.measure, by=by),
        table=part.table,
        where=part.where,
        cell=cell,
        repeat=column.repeats,
    )
    if column.measure == "cases":
        yield _holding(place, n=int(cell))
    elif column.measure == "category":
        for group in column.groups:
            yield _holding(place, label=cell, by={**by, str(column.over): group})
    elif column.counted:
        k, n = map(int, cell.split("/"))
        yield _holding(place, value=k / n, k=k, n=n)
    elif column.groups:
        yield from _group_numbers(part, column, cell, place)
    else:
        yield _number(part, column, cell, place)


def _holding(place: Printed, **fields: Any) -> Printed:
    """A place whose record has these fields."""
    return msgspec.structs.replace(place, record=msgspec.structs.replace(place.record, **fields))


def _group_numbers(part: Part, column: Column, cell: str, place: Printed) -> Iterator[Printed]:
    """`28.4/40.5 q=0.037 †`: a value for each group, and the q of the gap between them."""
    values, _, rest = cell.partition(" ")
    # One N/A stands for all groups; "N/A/27.3/50.0" has it for the first.
    words = values.replace("N/A", "-").split("/")
    words = words * len(column.groups) if len(words) == 1 else words
    base, over = place.record, str(column.over)
    for group, word in zip(column.groups, words, strict=True):
        yield _number(part, column, word, _holding(place, by={**base.by, over: group}))
    by = {**base.by, "attribute": over}
    gap = _number(part, column, rest, _holding(place, measure=f"gap_{base.measure}", by=by))
    yield _holding(gap, family=f"subgroups|{base.reader}")


def _number(part: Part, column: Column, text: str, place: Printed) -> Printed:
    cell = read_cell(text)
    scale = Decimal(100 if (column.unit or part.unit) == "percent" else 1)
    kind = column.spread or part.spread
    spread = _scaled(cell.spread, scale)
    q, bounded_q = _probability(cell.q)
    p, bounded_p = _probability(cell.p)
    notes = [
        f"standard deviation {cell.spread / scale}" if cell.spread and kind == "sd" else None,
        f"q is a bound: printed q {cell.q}" if bounded_q else None,
        f"p is a bound: printed p {cell.p}" if bounded_p else None,
        "marked †" if cell.dagger else None,
    ]
    numbered = _holding(
        place,
        value=_scaled(cell.value, scale),
        n=cell.n,
        low=_scaled(cell.low, scale),
        high=_scaled(cell.high, scale),
        method=None if cell.low is None else column.method or part.method,
        p=p,
        q=q,
        family=part.family if q is not None else None,
        note="; ".join(note for note in notes if note) or None,
        **({} if kind == "sd" else {kind: spread}),  # no field of a record is a plain SD
    )
    return msgspec.structs.replace(
        numbered,
        half=_half(cell.value, scale),
        spread=spread,
        spread_half=_half(cell.spread, scale),
    )


def _scaled(number: Decimal | None, scale: Decimal) -> float | None:
    return None if number is None else float(number / scale)


def _half(number: Decimal | None, scale: Decimal) -> float:
    """Half a unit of the last printed digit."""
    if number is None:
        return 0.0
    exponent = number.as_tuple().exponent
    return float(Decimal(5).scaleb(int(exponent) - 1) / scale)


def _probability(word: str | None) -> tuple[float | None, bool]:
    """`<0.001` is kept as 0.001, which errs on the safe side for every threshold above it."""
    return (None, False) if word is None else (float(word[1:]), word[0] != "=")
