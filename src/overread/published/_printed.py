"""A paper's printed figures: what the data file holds, and each number with where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from overread.case import Measure, Modality

__all__ = ["CASES", "SYSTEMS", "Column", "Figures", "Part", "Printed", "System"]

# Who stands in for a reader where cases are counted, and the table made of the systems.
CASES: Final = "probe set"
SYSTEMS: Final = "systems"
Spread = Literal["se", "sd_boot", "sd", "sd_seeds", "sd_videos"]
Unit = Literal["percent", "one"]


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


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All that a paper prints and we keep.

    `comparing` says, for each edition, what of a run may stand beside it; `cases` is the size of
    the paper's main set.
    """

    benchmark: str
    paper: str
    cite: str
    cases: int
    comparing: dict[str, str]
    systems: tuple[System, ...]
    parts: tuple[Part, ...]
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
