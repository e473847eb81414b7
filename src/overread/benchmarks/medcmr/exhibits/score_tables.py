"""Tables of scores: of all readers, by groups of items, and reader against reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from overread.benchmarks.exhibits.cells import p_value, table
from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.medcmr.cases import DIMENSIONS
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    COMPONENTS,
    FEW,
    SCORE,
    groups_of,
    interval_notes,
    judged_notes,
    marked,
    spelled,
    without_note,
)
from overread.case import Figure, Measure, Table

__all__ = [
    "abilities_table",
    "base_table",
    "chance_row",
    "group_exhibits",
    "pairs_table",
    "scores_table",
    "subtypes_table",
    "summary",
]


# ---------------------------------------------------------------- summary
# The first table, and the paper's Tables 2 and 3: a row per reader.

_TITLE: Final = "Can it integrate evidence on hard cases?"
_INVALID: Final = Column("invalid", "invalid_rate")
_MACRO: Final = Column("macro", "accuracy_macro")
_SURVIVING: Final = tuple(
    Column(heading, "survives", (("condition", image), ("versus", "original")))
    for image, heading in (
        ("text", "survives without image"),
        ("blank", "survives black image"),
        ("swap", "survives other image"),
    )
)
_SUMMARY: Final = (ACCURACY, _MACRO, _INVALID, *_SURVIVING, *COMPONENTS, SCORE)
_SCORES: Final = (ACCURACY, _MACRO, _INVALID, *COMPONENTS, SCORE)
_FLUENT: Final = " High Con and Coh beside low VA and GT: it writes well about what is not there."
_SAID: Final = (
    "Percent. Accuracy: of multiple-choice items, those answered rightly; a reply without a "
    "letter is wrong and counted as invalid beside it. Macro: the plain mean over dimensions."
)


def summary(index: Index, signature: str) -> Table:
    """What counts, in one row per reader; it is there even where nothing is known."""
    kept = [column for column in _SUMMARY if column.stands(index)] or list(_SCORES)
    rows = _rows_asked(
        (reader, *(cell(column.of(index, reader)) for column in kept)) for reader in index.readers
    )
    rows += chance_row(index, [{} if column == ACCURACY else None for column in kept])
    return Table(
        name="summary",
        title=_TITLE,
        columns=("reader", *(column.heading for column in kept)),
        rows=tuple(rows),
        signature=signature,
        notes=tuple(_notes(index, kept)),
    )


def _notes(index: Index, kept: list[Column]) -> Iterator[str]:
    yield _SAID
    if any(column in _SURVIVING for column in kept):
        yield (
            "Survives: accuracy without the item's own image as a share of that with it. What "
            "survives was not read off the image."
        )
    yield from judged_notes(index)
    yield from without_note(index, ACCURACY, SCORE)
    yield from interval_notes(index, *(column.measure for column in kept))


def _rows_asked(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows of readers that were asked anything."""
    return [row for row in rows if set(row[1:]) != {NOT_ASKED}]


def chance_row(index: Index, groups: list[dict[str, str] | None]) -> list[tuple[str, ...]]:
    """What an option drawn by lot has, under the columns of accuracy; nothing where not known."""
    if not index.known("", "chance"):
        return []
    cells = [
        NOT_ASKED if by is None or (found := index.known("", "chance", **by)) is None
        else f"{100 * (found.value or 0):.1f}"
        for by in groups
    ]  # fmt: skip
    if set(cells) == {NOT_ASKED}:
        return []
    return [("chance: an option by lot", *cells)]


def _chance(index: Index) -> Iterator[str]:
    found = index.known("", "chance")
    if found is not None and found.value is not None:
        yield f"An option by lot is right in {100 * found.value:.1f} % of all items."


def scores_table(index: Index, signature: str) -> Table | None:
    """Table 2: accuracy in each dimension, and the judged components of open answers."""
    dimensions = groups_of(index, "dimension")
    accuracy = [Column(name, "accuracy", (("dimension", name),)) for name in dimensions]
    if index.all("accuracy"):
        accuracy += [Column("All (MCQ)", "accuracy"), _MACRO, _INVALID]
    judged = [*COMPONENTS, Column("All (open)", "score")]
    columns = accuracy + [column for column in judged if index.all(column.measure)]
    rows = _rows_asked(
        (reader, *(cell(column.of(index, reader)) for column in columns))
        for reader in index.readers
    )
    if not any(column.stands(index) for column in columns):
        return None
    groups = [dict(column.by) if column.measure == "accuracy" else None for column in columns]
    return table(
        "scores",
        "As in Table 2 of the paper: dimension by dimension, and open answers",
        ("reader", *(column.heading for column in columns)),
        rows + chance_row(index, groups),
        signature,
        (
            "Accuracy near chance in a dimension: the reader cannot do that kind of task on these "
            f"images.{_FLUENT if len(columns) > len(accuracy) else ''}",
            f"{_SAID} {spelled('dimension', dimensions)}.",
            *judged_notes(index),
            *interval_notes(index, "accuracy", "score"),
        ),
    )


def abilities_table(index: Index, signature: str) -> Table | None:
    """Table 3: accuracy by what the question asks of a physician."""
    abilities = groups_of(index, "ability")
    rows = _rows_asked(
        (reader, *(cell(index.get(reader, "accuracy", ability=name)) for name in abilities))
        for reader in index.readers
    )
    made = table(
        "abilities",
        "As in Table 3 of the paper: by what is asked of the physician",
        ("reader", *abilities),
        rows,
        signature,
        (
            "Accuracy in multiple-choice items, percent. A reader that diagnoses (DX) well need "
            f"not be able to stage, treat or follow up. {spelled('ability', abilities)}.",
            *_chance(index),
            *interval_notes(index, "accuracy"),
        ),
    )
    return made if any(index.any("accuracy", ability=name) for name in abilities) else None


# ---------------------------------------------------------------- groups of items
# By modality, by body system and by subtype: tables, and lanes with intervals.

_COLUMNS: Final = (ACCURACY, *COMPONENTS, SCORE)
_PANELS: Final = (ACCURACY, SCORE)
_TITLES: Final = {"accuracy": "multiple choice: accuracy", "S": "open answers: S"}
_FEW: Final = f"* fewer than {FEW} items: read nothing into it."
_GROUPS_SAY: Final = {
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
            _GROUPS_SAY[key],
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
            f"{_GROUPS_SAY[key]} In brackets the items, {_kinds(drawn)}; {_FEW}",
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


# ---------------------------------------------------------------- pairs of readers
# Every reader against every other, and base models against their medical descendants.

_COMPARED: Final = {"diff_accuracy": "accuracy", "diff_score": "S"}


def pairs_table(index: Index, signature: str) -> Table | None:
    """Differences with their intervals and tests."""
    rows = [
        (
            *(record.reader, record.by["versus"], said),
            *(cell(record), p_value(record.p), p_value(record.q)),
        )
        for record, said in _differences(index)
    ]
    return table(
        "pairs",
        "Which reader is better?",
        ("reader", "less", "measure", "difference", "p", "q"),
        rows,
        signature,
        (
            "Points on the same items, replies without an answer counted as wrong. An interval "
            "that holds 0: these items do not tell the two apart. q: Benjamini and Hochberg's.",
            *(judged_notes(index) if index.every("diff_score") else ()),
            *interval_notes(index, *_COMPARED),
        ),
        facts=3,
    )


def _differences(index: Index) -> Iterator[tuple[Measure, str]]:
    for name, said in _COMPARED.items():
        for record in index.all(name, "versus"):
            yield record, said
        for record in index.all(name, "kind", "versus"):
            if record.by["kind"] == "reformulated":
                yield record, f"{said}, reformulated"


def base_table(index: Index, signature: str) -> Table | None:
    """Items that only the base model has right, and only the medical one; then as open items."""
    pairs = dict.fromkeys(
        (record.by["versus"], record.reader)
        for name in ("only_base", "only_medical")
        for record in index.all(name, "versus")
    )
    rows = []
    for base, medical in pairs:
        for by in ({}, *({"dimension": name} for name in groups_of(index, "dimension"))):
            only = [
                index.get(medical, name, versus=base, **by)
                for name in ("only_base", "only_medical")
            ]
            if not any(only):
                continue
            own = [index.get(reader, "accuracy", **by) for reader in (base, medical)]
            tail = [NOT_ASKED] * 4
            if not by:
                score = [index.get(r, "score", kind="reformulated") for r in (base, medical)]
                tail = [
                    _tested(_less(index, "diff_accuracy", medical, base)),
                    *map(cell, score),
                    _tested(_less(index, "diff_score", medical, base, kind="reformulated")),
                ]
            group = by.get("dimension", "all items")
            rows.append((medical, base, group, *map(cell, (*own, *only)), *tail))
    return table(
        "base_against_medical",
        "Does medical fine-tuning help?",
        (
            *("medical reader", "base", "dimension", "accuracy, base", "accuracy, medical"),
            *("only base right", "only medical right", "medical less base"),
            *("S reformulated, base", "S reformulated, medical", "medical less base, S"),
        ),
        rows,
        signature,
        (
            "Where more items are right for the base alone than for the medical reader alone, the "
            "fine-tuning cost more than it gave.",
            "Only base, only medical: the share of multiple-choice items that this one has right "
            "and the other wrong. Reformulated: such items asked without their options, the text "
            "of the right option being the truth. Differences in points on the same items, with p "
            "and q.",
            *(judged_notes(index) if index.any("score", kind="reformulated") else ()),
            *interval_notes(index, "only_base", "diff_accuracy"),
        ),
        facts=3,
    )


def _tested(record: Measure | None) -> str:
    return NOT_ASKED if record is None else tested(record)


def _less(index: Index, name: str, reader: str, other: str, **by: str) -> Measure | None:
    """A reader less another; of the two orders records hold one."""
    found = index.get(reader, name, versus=other, **by)
    if found is not None:
        return found
    turned = index.get(other, name, versus=reader, **by)
    if turned is None or turned.value is None:
        return turned
    low, high = (None if end is None else -end for end in (turned.high, turned.low))
    return msgspec.structs.replace(turned, value=-turned.value, low=low, high=high)
