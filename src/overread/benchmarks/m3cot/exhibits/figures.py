"""Figures: the measures of a reader side by side, task by task, and as the paper's radar.

And which way reasoning goes: the path most items of a task take, and how alike two readers' are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.cells import percent, table
from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import Cast, cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.exhibits.radar import Web, radar, vertices
from overread.benchmarks.exhibits.style import INK, Spec, figure_spec, shown
from overread.benchmarks.m3cot.exhibits.summary import COLUMNS, notes_on_judges
from overread.benchmarks.m3cot.exhibits.tables import tasks_of
from overread.case import Figure, Table

__all__ = ["likeness_figure", "paths_table", "profile_figures", "task_figure"]

# What goes from 0 to 100, more being better.
_AXES: Final = tuple(
    column
    for column in COLUMNS
    if column.measure in ("accuracy", "precision", "recall", "f1", "consistency")
)
_PROFILE_TITLE: Final = "Where does it reason well?"
_QUESTIONS: Final = ("answer", "precision", "recall", "order")


def profile_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    axes = [column for column in _AXES if column.stands(index)]
    cast = cast_of(index, axes)
    yield _profile_figure(index, axes, cast, signature)
    yield _radar_figure(index, axes, cast, signature)


def _profile_figure(
    index: Index, axes: Sequence[Column], cast: Cast, signature: str
) -> Figure | None:
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
        title=_PROFILE_TITLE,
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


def _radar_figure(
    index: Index, axes: Sequence[Column], cast: Cast, signature: str
) -> Figure | None:
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
            f'and means nothing; "{_PROFILE_TITLE}" has the same numbers with their intervals.',
            *unfit_note(rows),
            *cast.notes,
            *(short if missing else ()),
        ),
    )


_TASK_PANELS: Final = ("accuracy CoT", "F1", "consistency")


def task_figure(index: Index, signature: str) -> Figure | None:
    """A lane per task, the largest first."""
    columns = [column for column in COLUMNS if column.heading in _TASK_PANELS]
    tasks = tasks_of(index)
    if len(tasks) < 2:
        return None
    cast = cast_of(index, columns)
    names = shown(tasks)
    rows = []
    for task in tasks:
        sizes = [
            record.n or 0
            for column in columns
            for reader in cast.names
            if (record := column.of(index, reader, task=task)) is not None
        ]
        lane = f"{names[task]} ({max(sizes, default=0)})"
        for column in columns:
            for reader, name in cast.names.items():
                record = column.of(index, reader, task=task)
                if record is not None and record.value is not None:
                    place = {"lane": lane, "panel": column.heading, "task": task}
                    rows.append(point_row(reader, name, column.heading, record, **place))
    if not rows:
        return None
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    panels = [Panel(name) for name in _TASK_PANELS if any(row["panel"] == name for row in rows)]
    return Figure(
        name="task_lanes",
        title="Task by task, side by side",
        spec=dots(rows, lanes, panels, cast),
        alt=f"By task, in percent: {spoken(rows, 'task', 'measure')}.",
        signature=signature,
        notes=(
            "Items of each task in brackets; bars: 95 % intervals over items.",
            *unfit_note(rows),
            *cast.notes,
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
    )


_ALL_TASKS: Final = "all tasks"
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 72
_SQUARE: Final = 30
# Beyond so many readers, cells are too many for their numbers.
_MOST_NUMBERED: Final = 12
_ABREAST: Final = 4


def paths_table(index: Index, signature: str) -> Table | None:
    """The most frequent path of each task, and the share of items that take it."""
    order = {task: place for place, task in enumerate(tasks_of(index))}
    records = sorted(
        index.all("mode_share", "task", "judge", "path"),
        key=lambda one: (order.get(one.by["task"], len(order)), one.by["task"]),
    )
    rows = [
        (one.by["task"], one.reader, one.by["judge"], one.by["path"], cell(one)) for one in records
    ]
    return table(
        "paths",
        "Which way does the reasoning go?",
        ("task", "reader", "judge", "most frequent path", "share"),
        rows,
        signature,
        (
            "The order in which the kinds of content first appear: modality, feature, conclusion, "
            "others. The share is that of the task's paths that are this one.",
            *notes_on_judges(index, ("order",)),
        ),
        facts=4,
    )


def likeness_figure(index: Index, signature: str) -> Figure | None:
    """Two readers' most frequent paths side by side, task by task."""
    if not index.all("path_likeness", "versus", "judge"):
        return None
    rows = list(_likeness_rows(index))
    readers = shown(index.readers)
    names = [readers[reader] for reader in index.readers]
    panels = list(dict.fromkeys(str(row["task"]) for row in rows))
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 260}
    scale = {"domain": names}
    place: Any = {
        "x": {"field": "versus", "type": "nominal", "scale": scale, "axis": axis, "sort": None},
        "y": {"field": "reader", "type": "nominal", "scale": scale, "axis": axis, "sort": None},
    }
    fill = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, 100], "range": [_PALE, _DEEP]},
        "legend": None,
    }
    dark = {"test": f"datum.value >= {_DARK_FROM}", "value": "#fffffe"}
    layers: list[Spec] = [
        {"mark": {"type": "rect", "stroke": "#fffffe"}, "encoding": {**place, "color": fill}}
    ]
    if len(names) <= _MOST_NUMBERED:
        words = {"text": {"field": "text"}, "color": {"condition": dark, "value": INK}}
        mark = {"type": "text", "fontSize": 10, "baseline": "middle"}
        layers.append({"mark": mark, "encoding": {**place, **words}})
    facet = {"field": "task", "type": "nominal", "title": None, "sort": panels}
    size = {"width": {"step": _SQUARE}, "height": {"step": _SQUARE - 6}}
    return Figure(
        name="path_likeness",
        title="Do readers reason along the same path?",
        spec=figure_spec(
            rows,
            facet=facet,
            columns=_ABREAST,
            spec={"layer": layers, **size},
        ),
        alt=f"Similarity of two readers' most frequent paths, percent: {_likeness_words(rows)}.",
        signature=signature,
        notes=(
            "Percent: the longest common subsequence of two readers' most frequent paths over the "
            "longer one; the mean of the judges. All tasks: the mean over tasks. Intervals are in "
            "measures.json (path_likeness).",
            *notes_on_judges(index, ("order",)),
        ),
    )


def _likeness_rows(index: Index) -> Iterator[Spec]:
    """Every pair both ways and every reader with itself, over all tasks and in each."""
    names = shown(index.readers)
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in index.every("path_likeness"):
        if record.reader and record.value is not None:
            task, other = record.by.get("task", _ALL_TASKS), record.by["versus"]
            for one, two in ((record.reader, other), (other, record.reader)):
                found.setdefault((task, one, two), []).append(100 * record.value)
    tasks = [_ALL_TASKS, *tasks_of(index)]
    for task in [one for one in tasks if any(key[0] == one for key in found)]:
        for one in index.readers:
            for two in index.readers:
                values = [100.0] if one == two else found.get((task, one, two), [])
                if values and (one != two or any(key[:2] == (task, one) for key in found)):
                    value = sum(values) / len(values)
                    yield {
                        "task": task,
                        "reader": names[one],
                        "versus": names[two],
                        "value": value,
                        "text": percent(value / 100),
                    }


def _likeness_words(rows: list[Spec]) -> str:
    """The pairs over all tasks, each once."""
    told: dict[frozenset[str], str] = {}
    for row in rows:
        if row["task"] == _ALL_TASKS and row["reader"] != row["versus"]:
            pair = frozenset((row["reader"], row["versus"]))
            told.setdefault(pair, f"{row['reader']} and {row['versus']} {row['text']}")
    return "; ".join(told.values())
