"""The first table, and the paper's Tables 2 and 3: a row per reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    COMPONENTS,
    SCORE,
    groups_of,
    interval_notes,
    judged_notes,
    spelled,
    without_note,
)
from overread.case import Table

__all__ = ["abilities_table", "chance_row", "scores_table", "summary"]

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
_PLAIN: Final = (ACCURACY, _MACRO, _INVALID, *COMPONENTS, SCORE)
_FLUENT: Final = " High Con and Coh beside low VA and GT: it writes well about what is not there."
_SAID: Final = (
    "Percent. Accuracy: of multiple-choice items, those answered rightly; a reply without a "
    "letter is wrong and counted as invalid beside it. Macro: the plain mean over dimensions."
)


def summary(index: Index, signature: str) -> Table:
    """What counts, in one row per reader; it is there even where nothing is known."""
    kept = [column for column in _SUMMARY if column.stands(index)] or list(_PLAIN)
    rows = _asked(
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


def _asked(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
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
    rows = _asked(
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
    rows = _asked(
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
