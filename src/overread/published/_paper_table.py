"""A table of a paper with the readers of runs below it, in the paper's own layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from overread.case import Measure, Table
from overread.published._flag import Flag
from overread.published._printed import Figures

__all__ = ["Column", "Key", "Source", "any_labelled", "paper_table", "sources_of"]

_NOT_KNOWN: Final = "n/a"
Key = tuple[str, tuple[tuple[str, str], ...]]
# What follows a reader's name, and the records of all its readers.
Source = tuple[str, Sequence[Measure]]


class Column(NamedTuple):
    """A printed column: its heading, the record it is, and what one is printed as."""

    heading: str
    key: Key
    scale: float = 100.0
    sign: str = ""


def sources_of(figures: Figures, beside: Sequence[tuple[str, Sequence[Measure]]]) -> list[Source]:
    """The paper, and runs by name."""
    printed: Source = ("", [one.record for one in figures.index.values()])
    return [printed, *((f" ({name})", list(measures)) for name, measures in beside)]


def any_labelled(beside: Sequence[tuple[str, Sequence[Measure]]]) -> bool:
    """Whether a run says of any number what its judges are worth."""
    return any(_label(one) for _, measures in beside for one in measures)


def paper_table(
    name: str,
    number: str,
    title: str,
    columns: Sequence[Column],
    sources: Sequence[Source],
    flags: Sequence[Flag],
    notes: tuple[str, ...],
    *,
    with_judges: bool = False,
) -> Table:
    """The paper's table of that number, and below it the runs' readers that have any of it."""
    judges = ("judges",) if with_judges else ()
    return Table(
        name=name,
        title=title,
        columns=("reader", *(column.heading for column in columns), *judges, "flags"),
        rows=tuple(_rows(number, columns, sources, flags, with_judges=with_judges)),
        notes=notes,
    )


def _rows(
    number: str,
    columns: Sequence[Column],
    sources: Sequence[Source],
    flags: Sequence[Flag],
    *,
    with_judges: bool,
) -> Iterator[tuple[str, ...]]:
    for suffix, measures in sources:
        found: dict[str, dict[Key, Measure]] = {}
        for one in measures:
            if one.reader:
                by = tuple(sorted(one.by.items()))
                found.setdefault(one.reader, {})[one.measure, by] = one
        for reader, records in found.items():
            cells = [_cell(records, column) for column in columns]
            if set(cells) == {_NOT_KNOWN}:
                continue
            labels = dict.fromkeys(
                label for column in columns if (label := _label(records.get(column.key)))
            )
            judges = ["; ".join(labels)] * with_judges
            own = "" if suffix else _marks(reader, number, flags)
            yield (f"{reader}{suffix}", *cells, *judges, own)


def _cell(records: Mapping[Key, Measure], column: Column) -> str:
    record = records.get(column.key)
    if record is None or record.value is None:
        return _NOT_KNOWN
    mark = "!" if record.label else ""
    return f"{column.scale * record.value:{column.sign}.2f}{mark}"


def _label(record: Measure | None) -> str:
    return "" if record is None else record.label or ""


def _marks(reader: str, table: str, flags: Sequence[Flag]) -> str:
    return ", ".join(
        str(place)
        for place, flag in enumerate(flags, 1)
        if flag.reader == reader and table in flag.tables
    )
