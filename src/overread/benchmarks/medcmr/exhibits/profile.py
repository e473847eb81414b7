"""The capabilities of a reader side by side: as lanes with intervals, and as a radar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import Cast, cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.radar import Web, radar, vertices
from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    COMPONENTS,
    SCORE,
    groups_of,
    interval_notes,
    judged_notes,
    spelled,
    worded,
)
from overread.case import Figure

__all__ = ["profile_figures"]

_LANES: Final = "Where is it strong, where weak?"
_JUDGED_TOO: Final = ", and the judged components of open answers"
_MCQ, _OPEN = "multiple choice: accuracy", "open answers: judged"


def profile_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    dimensions = [
        Column(name, "accuracy", (("dimension", name),)) for name in groups_of(index, "dimension")
    ]
    choice = [column for column in dimensions if column.stands(index)]
    judged = [column for column in COMPONENTS if column.stands(index)]
    yield _lanes(index, choice, judged, signature)
    yield _radar(index, choice, judged, signature)


def _lanes(
    index: Index, choice: Sequence[Column], judged: Sequence[Column], signature: str
) -> Figure | None:
    tail = [Column("S", SCORE.measure)] if judged else []
    head = [Column("all multiple-choice items", ACCURACY.measure)] if ACCURACY.stands(index) else []
    lanes = [(column, worded(column.heading)) for column in (*choice, *head)]
    lanes += [(column, _judged(column)) for column in (*judged, *tail)]
    if len(lanes) < 2:
        return None
    cast = cast_of(index, [column for column, _ in lanes])
    rows = [
        point_row(reader, name, column.heading, record, lane=lane, panel="all items")
        for column, lane in lanes
        for reader, name in cast.names.items()
        if (record := column.known(index, reader)) is not None
    ]
    if not rows:
        return None
    return Figure(
        name="profile",
        title=_LANES,
        spec=dots(rows, [lane for _, lane in lanes], [Panel("all items", axis="0 to 100")], cast),
        alt=f"From 0 to 100: {spoken(rows, 'lane')}.",
        signature=signature,
        notes=(
            f"Accuracy in multiple-choice items{_JUDGED_TOO if judged else ''}. Where two readers' "
            "intervals overlap far, do not call one the better.",
            *unfit_note(rows),
            *cast.notes,
            *(judged_notes(index) if judged else ()),
            *interval_notes(index, "accuracy", "score"),
        ),
    )


def _judged(column: Column) -> str:
    words = {"visual": "visual accuracy", "truth": "truth", "score": "all together"}
    return f"open: {words.get(column.measure, column.measure)}, {column.heading}"


def _radar(
    index: Index, choice: Sequence[Column], judged: Sequence[Column], signature: str
) -> Figure | None:
    sides = [(_MCQ, choice), (_OPEN, judged)]
    some = [(Web(title, [c.heading for c in axes]), axes) for title, axes in sides if len(axes) > 2]
    everyone = cast_of(index, [column for _, axes in some for column in axes])
    rows: list[Spec] = []
    for web, axes in some:
        for reader, name in everyone.names.items():
            found = [one for column in axes if (one := column.known(index, reader)) is not None]
            if len(found) == len(axes):
                rows += vertices(reader, name, web, found)
    if not rows:
        return None
    drawn = {row["reader"] for row in rows}
    cast = Cast({r: name for r, name in everyone.names.items() if r in drawn}, everyone.left_out)
    webs = [web for web, _ in some if any(row["web"] == web.title for row in rows)]
    said = spoken([row for web in webs for row in rows if _once(row, web)], "measure")
    return Figure(
        name="radar",
        title="Capabilities around a circle",
        spec=radar(rows, webs, cast),
        alt=f"A radar chart, centre 0 and rim 100: {said}.",
        signature=signature,
        notes=(
            "Without intervals. The area depends on the order of the axes and means nothing; "
            f'"{_LANES}" has the same numbers with their intervals.',
            f"{spelled('dimension', [column.heading for column in choice])}.",
            *unfit_note(rows),
            *cast.notes,
            *_short(everyone, drawn),
            *(judged_notes(index) if any(web.title == _OPEN for web in webs) else ()),
        ),
    )


def _once(row: Spec, web: Web) -> bool:
    """Not the vertex that closes the line."""
    return bool(row["web"] == web.title and row["turn"] < len(web.headings))


def _short(everyone: Cast, drawn: set[str]) -> Iterator[str]:
    missing = len(everyone.names) - len(drawn)
    if missing:
        yield f"{missing} readers lack one of these and are in the tables only."
