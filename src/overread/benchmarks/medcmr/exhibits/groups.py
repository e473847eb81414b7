"""By modality, by body system and by subtype: tables, and lanes with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    COMPONENTS,
    FEW,
    SCORE,
    groups_of,
    interval_notes,
    judged_notes,
    marked,
)
from overread.benchmarks.medcmr.vocabulary import DIMENSIONS
from overread.case import Figure, Table

__all__ = ["group_exhibits", "subtypes_table"]

_COLUMNS: Final = (ACCURACY, *COMPONENTS, SCORE)
_PANELS: Final = (ACCURACY, SCORE)
_TITLES: Final = {"accuracy": "multiple choice: accuracy", "S": "open answers: S"}
_FEW: Final = f"* fewer than {FEW} items: read nothing into it."
_PLAIN: Final = {
    "modality": "A reader that is good overall may not be so in the modality you read.",
    "system": "A reader that is good overall may not be so in the organs you read.",
}


def group_exhibits(index: Index, signature: str) -> Iterator[Table | Figure | None]:
    """Modalities, then systems: the drawing, and its table."""
    for key, name in (("modality", "modalities"), ("system", "systems")):
        yield _lanes(index, key, signature)
        yield _grouped(index, key, name, signature)


def _size(index: Index, key: str, group: str) -> int:
    """The most items that any reader has in a group."""
    sizes = [
        record.n or 0
        for column in _COLUMNS
        for reader in index.readers
        if (record := column.of(index, reader, **{key: group})) is not None
    ]
    return max(sizes, default=0)


def _counted(index: Index, key: str, group: str, column: Column) -> str:
    """The most items that any reader has in a group under one column; few are starred."""
    records = (column.of(index, reader, **{key: group}) for reader in index.readers)
    size = max((record.n or 0 for record in records if record is not None), default=0)
    return f"{size}*" if size < FEW else str(size)


def _kinds(drawn: list[Column]) -> str:
    words = {"accuracy": "multiple-choice", "S": "open"}
    return " + ".join(words[column.heading] for column in drawn)


def _grouped(index: Index, key: str, name: str, signature: str) -> Table | None:
    groups = groups_of(index, key)
    kept = [
        column
        for column in _COLUMNS
        if any(column.known(index, r, **{key: g}) for r in index.readers for g in groups)
    ]
    rows = [
        (
            marked(group, _size(index, key, group)),
            reader,
            *(cell(column.of(index, reader, **{key: group})) for column in kept),
        )
        for group in groups
        for reader in index.readers
    ]
    return table(
        name,
        f"By {'body system' if key == 'system' else key}: every number",
        (key, "reader", *(column.heading for column in kept)),
        rows,
        signature,
        (
            _PLAIN[key],
            _FEW,
            *(judged_notes(index) if len(kept) > 1 else ()),
            *interval_notes(index, *(column.measure for column in kept)),
        ),
        facts=2,
    )


def _lanes(index: Index, key: str, signature: str) -> Figure | None:
    groups = groups_of(index, key)
    names = shown(groups)
    cast = cast_of(index, _PANELS)
    drawn = [
        column
        for column in _PANELS
        if any(column.known(index, r, **{key: g}) for r in cast.names for g in groups)
    ]
    rows = []
    for group in groups:
        lane = f"{names[group]} ({' + '.join(_counted(index, key, group, c) for c in drawn)})"
        for column in drawn:
            for reader, name in cast.names.items():
                record = column.known(index, reader, **{key: group})
                if record is not None:
                    place = {"lane": lane, "panel": _TITLES[column.heading], key: group}
                    rows.append(point_row(reader, name, column.heading, record, **place))
    if len({row["lane"] for row in rows}) < 2:
        return None
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    said = "body system" if key == "system" else key
    return Figure(
        name=f"{key}_lanes",
        title=f"By {said}, side by side",
        spec=dots(rows, lanes, [_panel(index, column) for column in drawn], cast),
        alt=f"By {said}, from 0 to 100: {spoken(rows, key, 'measure')}.",
        signature=signature,
        notes=(
            f"{_PLAIN[key]} In brackets the items, {_kinds(drawn)}; {_FEW}",
            *chance_note(index),
            *unfit_note(rows),
            *cast.notes,
            *(judged_notes(index) if SCORE in drawn else ()),
            *interval_notes(index, *(column.measure for column in drawn)),
        ),
    )


def _panel(index: Index, column: Column) -> Panel:
    chance = index.known("", "chance") if column == ACCURACY else None
    line = None if chance is None else 100 * (chance.value or 0)
    return Panel(
        _TITLES[column.heading], "percent" if column == ACCURACY else "0 to 100", line=line
    )


def chance_note(index: Index) -> Iterator[str]:
    """What the dashed line in a panel of accuracy is."""
    if index.known("", "chance"):
        yield "Dashed: the accuracy of an option drawn by lot."


def subtypes_table(index: Index, signature: str) -> Table | None:
    """Five subtypes of each dimension."""
    found = {
        (record.by["dimension"], record.by["subtype"])
        for column in _PANELS
        for record in index.all(column.measure, "dimension", "subtype")
    }
    order = list(DIMENSIONS)
    known = sorted(
        found, key=lambda one: (order.index(one[0]) if one[0] in order else len(order), *one)
    )
    rows = []
    for dimension, subtype in known:
        by = {"dimension": dimension, "subtype": subtype}
        sizes = [
            record.n or 0
            for column in _PANELS
            for reader in index.readers
            if (record := column.of(index, reader, **by)) is not None
        ]
        for reader in index.readers:
            cells = (cell(column.of(index, reader, **by)) for column in _PANELS)
            rows.append((dimension, marked(subtype, max(sizes, default=0)), reader, *cells))
    return table(
        "subtypes",
        "By subtype of each dimension",
        ("dimension", "subtype", "reader", "accuracy", "S"),
        rows,
        signature,
        (
            "Which kind of question within a dimension a reader fails.",
            _FEW,
            *judged_notes(index),
            *interval_notes(index, "accuracy", "score"),
        ),
        facts=3,
    )
