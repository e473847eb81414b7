"""Official csv files as tables of text that know their file and their rows.

Nothing is guessed: every cell is read as text, and the functions here turn a column into codes or
numbers, or say which row is at fault. Rows are counted as an editor counts lines; the header is
row 1, and a row with line breaks inside quotes is named by the line it starts on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from overread.benchmarks.files.sheets import opened, parse, quoted
from overread.case import BadInput
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl


# What to do about a bad row: an official file is fetched again, one's own is mended.
FETCH: Final = "Fetch the file again"
FIX: Final = "Fix the row"

# The labelers' codes as those of a film (GROUNDING 1.1).
LABEL_CODES: Final = {"1.0": 1, "1": 1, "0.0": 0, "0": 0, "-1.0": 2, "-1": 2}
LABEL_NEED: Final = "a label is 1.0, 0.0, -1.0 or empty"
_NOT_MENTIONED: Final = 3
# DICOM's age: three digits and a unit.
_AGE: Final = r"^([0-9]+(?:\.[0-9]+)?)([YMWD]?)$"


class Table(msgspec.Struct, frozen=True):
    """A csv file as read: each column text without outer blanks, in file order, empty as null."""

    path: Path
    frame: pl.DataFrame
    # SHA-256 of the file as it lies there, the first 8 digits: what provenance names.
    digest: str
    remedy: str
    # The line each row starts on, where rows and lines do not go together.
    lines: list[int] | None = None

    def row(self, index: int) -> int:
        """The number of a row in the file."""
        return index + 2 if self.lines is None else self.lines[index]

    @property
    def label(self) -> str:
        return f"{self.path.name} (sha256 {self.digest})"


def find_table(root: Path, pattern: str) -> Path:
    """The file of a folder whose name matches, plain or gzipped; the plain one if both are there.

    Two files that differ in more than the `.gz` are refused: which one is meant is not ours to say.
    """
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds {pattern}.")
    found = sorted(p for end in ("", ".gz") for p in root.glob(pattern + end) if p.is_file())
    names = {path.name.removesuffix(".gz"): path for path in reversed(found)}
    if not names:
        raise BadInput(f"{root} has no {pattern} or {pattern}.gz. Put it there.")
    if len(names) > 1:
        raise BadInput(f"{root} holds both {' and '.join(sorted(names))}. Keep one of them.")
    return next(iter(names.values()))


def read_table(
    path: Path, needed: Sequence[str], optional: Sequence[str] = (), *, remedy: str = FETCH
) -> Table:
    """Read the columns named here; those optional may be missing, all others are left aside."""
    import polars as pl

    data = read_bytes(path)
    frame, lines = parse(path, data, needed, optional)
    if frame.is_empty():
        raise BadInput(f"{path} has a header and no rows. Give the whole file.")
    text = pl.all().str.strip_chars()
    frame = frame.select(pl.when(text != "").then(text))
    return Table(path, frame, hashlib.sha256(data).hexdigest()[:8], remedy, lines)


def columns_of(path: Path) -> list[str]:
    """The names of a file's columns, for files that may have one or another."""
    return opened(path, read_bytes(path))[1]


def first(flags: pl.Series) -> int | None:
    """The place of the first true value, or None."""
    place = flags.fill_null(value=False).arg_true()
    return int(place[0]) if len(place) else None


def refuse(table: Table, index: int, column: str, need: str) -> NoReturn:
    """Say what is wrong with one cell."""
    value = quoted(table.frame[column][index])
    where = f"{table.path.name} row {table.row(index)}"
    raise BadInput(f'{where}: {column} is "{value}"; {need}. {table.remedy}.')


def refuse_first(table: Table, flags: pl.Series, column: str, need: str) -> None:
    """Say what is wrong with the first row flagged, if any is."""
    place = first(flags)
    if place is not None:
        refuse(table, place, column, need)


def filled(table: Table, *columns: str) -> None:
    """Every row needs a value in each of these columns."""
    for column in columns:
        refuse_first(table, table.frame[column].is_null(), column, "every row needs one")


def distinct(table: Table, *columns: str) -> None:
    """No two rows may agree in all of these columns."""
    import polars as pl

    twice = first(table.frame.select(pl.struct(columns).is_first_distinct().not_()).to_series())
    if twice is None:
        return
    rows = table.frame.select(columns).rows()
    earlier = table.row(rows.index(rows[twice]))
    pairs = zip(columns, rows[twice], strict=True)
    named = " and ".join(f'{column} "{value or ""}"' for column, value in pairs)
    raise BadInput(
        f"{table.path.name} row {table.row(twice)}: {named} stands in row {earlier} already. "
        f"{table.remedy}."
    )


def matching(table: Table, column: str, pattern: str, need: str) -> None:
    """Every value of a column must match a pattern from end to end; empty cells are passed over."""
    refuse_first(table, ~table.frame[column].str.contains(f"^(?:{pattern})$"), column, need)


def codes(table: Table, column: str, known: Mapping[str, Any], need: str, dtype: Any) -> pl.Series:
    """A column whose words are all known, as what they stand for; an empty cell is null."""
    words = table.frame[column]
    refuse_first(table, ~words.is_in(list(known)), column, need)
    return words.replace_strict(dict(known), default=None, return_dtype=dtype)


def labels(table: Table, columns: Mapping[str, str]) -> pl.DataFrame:
    """Columns of a labeler under our names: 1, 0, 2 uncertain, 3 where the cell is empty."""
    import polars as pl

    found = (
        codes(table, theirs, LABEL_CODES, LABEL_NEED, pl.Int8).fill_null(_NOT_MENTIONED).alias(ours)
        for ours, theirs in columns.items()
    )
    return pl.DataFrame(list(found))


def numbers(table: Table, column: str, need: str, *, least: float | None = None) -> pl.Series:
    """A column of finite numbers, none below `least`; an empty cell is null."""
    import polars as pl

    words = table.frame[column]
    found = words.cast(pl.Float64, strict=False)
    odd = words.is_not_null() & ~found.is_finite().fill_null(value=False)
    if least is not None:
        odd = odd | (found < least).fill_null(value=False)
    refuse_first(table, odd, column, need)
    return found


def ages(table: Table, column: str) -> pl.Series:
    """Ages in years, from a number or DICOM's three digits and a unit (`058Y`, `011M`)."""
    import polars as pl

    words = table.frame[column].str.to_uppercase()
    need = "an age is a number of years, or like 058Y"
    refuse_first(table, ~words.str.contains(_AGE), column, need)
    number = words.str.extract(_AGE, 1).cast(pl.Float64)
    from overread.imaging import YEARS_OF

    unit = words.str.extract(_AGE, 2).replace("", "Y")
    return number * unit.replace_strict(YEARS_OF, default=None, return_dtype=pl.Float64)
