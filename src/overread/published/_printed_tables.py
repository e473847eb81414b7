"""The printed tables as exhibits: the cells as they are printed, with what is wrong beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.case import BadInput, Table
from overread.published._figures import (
    SYSTEMS,
    Column,
    Figures,
    Flag,
    Part,
    figures,
    inconsistencies,
)


def printed_tables(benchmark: str, name: str) -> list[Table]:
    """A table of the paper, in as many parts as it has kinds of rows."""
    found = figures(benchmark)
    if name not in found.tables:
        raise BadInput(
            f"--table {name}: {found.cite} has none that is kept here by that name. "
            f"The names are {', '.join(found.tables)}."
        )
    flags = [flag for flag in inconsistencies(benchmark) if name in flag.tables]
    if name == SYSTEMS:
        return [_systems(found, flags)]
    parts = [part for part in found.parts if part.table == name]
    inside = {reader for part in parts for reader in _readers(part)}
    # What concerns no row of the table stands below its first part.
    others = [flag for flag in flags if flag.reader not in inside] if inside else []
    return [
        _table(found, part, flags, others if number == 0 else [])
        for number, part in enumerate(parts)
    ]


def marked(reader: str, flags: Sequence[Flag], tables: Sequence[str] = ()) -> str:
    """The numbers of the flags that concern a row, of some tables or of all."""
    return ", ".join(
        str(number)
        for number, flag in enumerate(flags, 1)
        if flag.reader == reader and (not tables or not set(tables).isdisjoint(flag.tables))
    )


def numbered(flags: Sequence[Flag]) -> Iterator[str]:
    """The flags as notes, by the numbers that stand beside the rows."""
    for number, flag in enumerate(flags, 1):
        yield f"[{number}] {flag}"


def _readers(part: Part) -> list[str]:
    """The readers of a part's rows; none where cases are counted."""
    if "reader" not in part.keys:
        return []
    return [line[part.keys.index("reader")] for line in part.lines]


def _table(found: Figures, part: Part, flags: Sequence[Flag], others: Sequence[Flag]) -> Table:
    lines, headings = part.lines, (*part.keys, *map(_heading, part.columns))
    if "reader" not in part.keys:
        columns, rows, own = headings, tuple(map(tuple, lines)), list(flags)
    else:
        readers = _readers(part)
        own = [flag for flag in flags if flag.reader in readers or flag in others]
        columns = (*headings, "flags")
        rows = tuple(
            (*line, marked(reader, own)) for line, reader in zip(lines, readers, strict=True)
        )
    return Table(
        name=part.table,
        title=f"{part.where}: {part.title}",
        columns=columns,
        rows=rows,
        notes=(_unit(part), *numbered(own)),
        signature=f"printed in {found.cite}",
    )


def _heading(column: Column) -> str:
    of = "" if column.reader is None else f" of {column.reader}"
    facts = "".join(f" {key} {word}" for key, word in column.by.items() if key != "versus")
    groups = "" if column.over is None else f" {column.over} {'/'.join(column.groups)}"
    return f"{column.measure}{of}{facts}{groups}"


def _unit(part: Part) -> str:
    if all(column.measure == "cases" for column in part.columns):
        return "Cases, as printed."
    if part.note:
        return f"As printed. {part.note}"
    percent = any((column.unit or part.unit) == "percent" for column in part.columns)
    return "Percent, as printed." if percent else "As printed."


def _systems(found: Figures, flags: Sequence[Flag]) -> Table:
    def parameters(total: float | None, active: float | None) -> str:
        if total is None:
            return "undisclosed"
        return f"{total:g}" + ("" if active is None else f" ({active:g} active)")

    facts: dict[str, list[str]] = {
        "reader": [system.name for system in found.systems],
        "class": [system.group for system in found.systems],
        "modality": [str(system.modality) for system in found.systems],
        "parameters (billion)": [parameters(s.params_b, s.active_b) for s in found.systems],
        "category": [system.category for system in found.systems],
        "flags": [marked(system.name, flags) for system in found.systems],
    }
    if all(system.params_b is None for system in found.systems):
        del facts["parameters (billion)"]  # in no table of the paper
    if not any(facts["category"]):
        del facts["category"]
    return Table(
        name=SYSTEMS,
        title="The systems",
        columns=tuple(facts),
        rows=tuple(zip(*facts.values(), strict=True)),
        notes=tuple(numbered(flags)),
        signature=f"printed in {found.cite}",
    )
