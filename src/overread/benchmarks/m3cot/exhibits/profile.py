"""The measures of a reader side by side: as lanes, and as the paper's radar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import (
    Cast,
    cast_of,
    point_row,
    spoken,
    unfit_note,
)
from overread.benchmarks.exhibits.radar import Web, radar, vertices
from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.m3cot.exhibits.headline import COLUMNS
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.case import Figure

__all__ = ["profile_figures"]

# What goes from 0 to 100, more being better.
_AXES: Final = tuple(
    column
    for column in COLUMNS
    if column.measure in ("accuracy", "precision", "recall", "f1", "consistency")
)
_LANES: Final = "Where does it reason well?"
_QUESTIONS: Final = ("answer", "precision", "recall", "order")


def profile_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    axes = [column for column in _AXES if column.stands(index)]
    cast = cast_of(index, axes)
    yield _lanes(index, axes, cast, signature)
    yield _radar(index, axes, cast, signature)


def _lanes(index: Index, axes: Sequence[Column], cast: Cast, signature: str) -> Figure | None:
    rows = [
        point_row(reader, name, column.heading, record, lane=column.heading, panel="all items")
        for column in axes
        for reader, name in cast.names.items()
        if (record := column.known(index, reader)) is not None
    ]
    if not rows:
        return None
    return Figure(
        name="profile",
        title=_LANES,
        spec=dots(rows, [column.heading for column in axes], [Panel("all items")], cast),
        alt=f"Measures of every reader in percent: {spoken(rows, 'measure')}.",
        signature=signature,
        notes=(
            "Bars: 95 % intervals over items.",
            *unfit_note(rows),
            *cast.notes,
            *notes_on_judges(index, _QUESTIONS),
        ),
    )


def _radar(index: Index, axes: Sequence[Column], cast: Cast, signature: str) -> Figure | None:
    whole = {
        reader: name
        for reader, name in cast.names.items()
        if all(column.known(index, reader) for column in axes)
    }
    if len(axes) < 3 or not whole:
        return None
    web = Web("", [column.heading for column in axes])
    rows: list[Spec] = []
    for reader, name in whole.items():
        found = [one for column in axes if (one := column.known(index, reader)) is not None]
        rows += vertices(reader, name, web, found)
    missing = len(cast.names) - len(whole)
    short = (f"{missing} readers lack one of these and are in the tables only.",)
    # Distinct names of the drawn alone, so that the legend has no others.
    spec = radar(rows, [web], Cast(whole, 0))
    said = spoken([row for row in rows if row["turn"] < len(axes)], "measure")
    return Figure(
        name="radar",
        title="Every measure around a circle",
        spec=spec,
        alt=f"A radar chart, centre 0 and rim 100 percent: {said}.",
        signature=signature,
        notes=(
            "As the paper draws it, without intervals. The area depends on the order of the axes "
            f'and means nothing; "{_LANES}" has the same numbers with their intervals.',
            *unfit_note(rows),
            *cast.notes,
            *(short if missing else ()),
        ),
    )
