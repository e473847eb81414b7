"""Table 2 of the paper with the readers of runs below it, and Table A2.

Our own summary needs intervals and judges, which the paper does not print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from overread.case import Measure, Table
from overread.published._flag import Flag
from overread.published._printed import Figures

__all__ = ["headline"]

_NOT_KNOWN: Final = "n/a"
Key = tuple[str, tuple[tuple[str, str], ...]]


class _Column(NamedTuple):
    """A printed column: its heading, the record it is, and what one is printed as."""

    heading: str
    key: Key
    scale: float = 100.0
    sign: str = ""


_MODES: Final = {"direct": (("mode", "direct"),), "cot": (("mode", "cot"),)}
_TABLE_2: Final = (
    _Column("F1", ("f1", ())),
    _Column("P", ("precision", ())),
    _Column("R", ("recall", ())),
    _Column("acc. direct", ("accuracy", _MODES["direct"])),
    _Column("acc. CoT", ("accuracy", _MODES["cot"])),
    _Column("I", ("impact", ()), sign="+"),
    _Column("E", ("efficiency", ()), 1.0),
    _Column("L", ("latency", ()), 1.0),
    _Column("C path", ("consistency", ())),
)
_TABLE_A2: Final = (
    _Column("direct, s", ("seconds", _MODES["direct"]), 1.0),
    _Column("CoT, s", ("seconds", _MODES["cot"]), 1.0),
)


def headline(
    figures: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table]:
    """The two tables; `beside` are runs by name with their measures."""
    cite = f"As printed in {figures.cite}"
    sources = [("", [printed.record for printed in figures.index.values()])]
    sources += [(f" ({name})", list(measures)) for name, measures in beside]
    labelled = any(True for _, measures in beside for one in measures if _label(one))
    return [
        _table(
            "reasoning",
            f"Does it reason as a clinician would? (Table 2) {cite}",
            _TABLE_2,
            sources,
            flags,
            (
                "Percent. I: accuracy with reasoning less accuracy without, in points. E: gold "
                "steps matched a second; L: time with reasoning over time without; both hang on "
                "the machine. C path: how alike the order of steps is within a task.",
                *(["! what the judges of the run are worth is in its own report."] * labelled),
            ),
            with_judges=bool(beside),
        ),
        _table(
            "response_time",
            f"How long does an answer take? (Table A2) {cite}",
            _TABLE_A2,
            sources,
            flags,
            ("Mean seconds of a question.",),
        ),
    ]


def _table(
    name: str,
    title: str,
    columns: Sequence[_Column],
    sources: Sequence[tuple[str, Sequence[Measure]]],
    flags: Sequence[Flag],
    notes: tuple[str, ...],
    *,
    with_judges: bool = False,
) -> Table:
    judges = ("judges",) if with_judges else ()
    return Table(
        name=name,
        title=title,
        columns=("reader", *(column.heading for column in columns), *judges, "flags"),
        rows=tuple(_rows(name, columns, sources, flags, with_judges=with_judges)),
        notes=notes,
    )


def _rows(
    name: str,
    columns: Sequence[_Column],
    sources: Sequence[tuple[str, Sequence[Measure]]],
    flags: Sequence[Flag],
    *,
    with_judges: bool,
) -> Iterator[tuple[str, ...]]:
    table = "2" if name == "reasoning" else "A2"
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
            own = "" if suffix else _marks(reader, table, flags)
            yield (f"{reader}{suffix}", *cells, *judges, own)


def _cell(records: Mapping[Key, Measure], column: _Column) -> str:
    record = records.get(column.key)
    if record is None or record.value is None:
        return _NOT_KNOWN
    mark = "!" if record.label else ""
    return f"{column.scale * record.value:{column.sign}.2f}{mark}"


def _label(record: Measure | None) -> str:
    return "" if record is None else record.label or ""


def _marks(reader: str, table: str, flags: Sequence[Flag]) -> str:
    return ", ".join(
        str(number)
        for number, flag in enumerate(flags, 1)
        if flag.reader == reader and table in flag.tables
    )
