"""Figures: the measures of a reader side by side, task by task, and as the paper's radar.

And how alike the most frequent paths of two readers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.figures import Lane, Panel, dot_figure, lane_rows, radar_figure
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import INK, Spec, cast_of, figure_spec, shown
from overread.benchmarks.exhibits.tables import group_sizes, kept_columns
from overread.benchmarks.m3cot.exhibits.tables import COLUMNS, notes_on_judges, tasks_of
from overread.case import Figure

# What goes from 0 to 100, more being better.
_AXES: Final = tuple(
    column
    for column in COLUMNS
    if column.measure in ("accuracy", "precision", "recall", "f1", "consistency")
)
_TASK_COLUMNS: Final = tuple(
    column for column in COLUMNS if column.heading in ("accuracy CoT", "F1", "consistency")
)


def profile_figures(index: Index) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    axes = kept_columns(index, _AXES)
    cast, panels = cast_of(index, axes), [Panel("all items")]
    lanes = [Lane(column.heading, column=column) for column in axes]
    rows = lane_rows(index, lanes, panels, cast)
    notes = notes_on_judges(index)
    yield dot_figure(index, "profile", rows, panels, cast, keys=("measure",), after=notes)
    yield radar_figure(index, {"": axes}, profile=index.title("profile"))


def task_figure(index: Index) -> Figure | None:
    """A lane per task, the largest first: accuracy with reasoning, F1 and consistency."""
    tasks = tasks_of(index)
    if len(tasks) < 2:
        return None
    names, sizes = shown(tasks), group_sizes(index, "task", _TASK_COLUMNS)
    cast = cast_of(index, _TASK_COLUMNS)
    lanes = [
        Lane(f"{names[task]} ({sizes.get(task, 0)})", {"task": task}, facts={"task": task})
        for task in tasks
    ]
    panels = [Panel(column.heading, column=column) for column in _TASK_COLUMNS]
    rows, notes = lane_rows(index, lanes, panels, cast), notes_on_judges(index)
    keys = ("task", "measure")
    return dot_figure(index, "task_lanes", rows, panels, cast, keys=keys, after=notes)


# ---------------------------------------------------------------- paths of two readers

_ALL_TASKS: Final = "all tasks"
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 72
_SQUARE: Final = 30
# Beyond so many readers, squares are too many for their numbers.
_MOST_NUMBERED: Final = 12
_ABREAST: Final = 4


def likeness_figure(index: Index) -> Figure | None:
    """Two readers' most frequent paths side by side, task by task."""
    if not index.all("path_likeness", "versus", "judge"):
        return None
    rows = list(_likeness_rows(index))
    readers = shown(index.readers)
    names = [readers[reader] for reader in index.readers]
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 260}
    side = {"type": "nominal", "scale": {"domain": names}, "axis": axis, "sort": None}
    place: Any = {"x": {"field": "versus", **side}, "y": {"field": "reader", **side}}
    fill = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, 100], "range": [_PALE, _DEEP]},
        "legend": None,
    }
    layers: list[Spec] = [
        {"mark": {"type": "rect", "stroke": "#fffffe"}, "encoding": {**place, "color": fill}}
    ]
    if len(names) <= _MOST_NUMBERED:
        dark = {"test": f"datum.value >= {_DARK_FROM}", "value": "#fffffe"}
        words = {"text": {"field": "text"}, "color": {"condition": dark, "value": INK}}
        mark = {"type": "text", "fontSize": 10, "baseline": "middle"}
        layers.append({"mark": mark, "encoding": {**place, **words}})
    panels = list(dict.fromkeys(str(row["task"]) for row in rows))
    size = {"width": {"step": _SQUARE}, "height": {"step": _SQUARE - 6}}
    spec = figure_spec(
        rows,
        facet={"field": "task", "type": "nominal", "title": None, "sort": panels},
        columns=_ABREAST,
        spec={"layer": layers, **size},
    )
    notes = notes_on_judges(index, ("order",))
    return index.figure("path_likeness", spec, _likeness_words(rows), *notes)


def _likeness_rows(index: Index) -> Iterator[Spec]:
    """Every pair both ways and every reader with itself, over all tasks and in each."""
    names = shown(index.readers)
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in index.every("path_likeness"):
        if record.reader and record.value is not None:
            task, other = record.by.get("task", _ALL_TASKS), record.by["versus"]
            for one, two in ((record.reader, other), (other, record.reader)):
                found.setdefault((task, one, two), []).append(100 * record.value)
    compared = {(task, one) for task, one, _ in found}
    known = {task for task, _ in compared}
    for task in (one for one in (_ALL_TASKS, *tasks_of(index)) if one in known):
        for one in index.readers:
            for two in index.readers if (task, one) in compared else ():
                values = [100.0] if one == two else found.get((task, one, two), [])
                if values:
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
    said: dict[frozenset[str], str] = {}
    for row in rows:
        if row["task"] == _ALL_TASKS and row["reader"] != row["versus"]:
            pair = frozenset((row["reader"], row["versus"]))
            said.setdefault(pair, f"{row['reader']} and {row['versus']} {row['text']}")
    return "; ".join(said.values())
