"""Which way reasoning goes: the path most items of a task take, and how alike two readers' are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from overread.benchmarks.exhibits.cells import percent, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.exhibits.style import INK, Spec, figure_spec, shown
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.benchmarks.m3cot.exhibits.tasks import tasks_of
from overread.case import Figure, Table

__all__ = ["likeness_figure", "paths_table"]

_ALL: Final = "all tasks"
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 72
_STEP: Final = 30
# Beyond so many readers, cells are too many for their numbers.
_MOST_WORDS: Final = 12
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
    rows = list(_rows(index))
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
    if len(names) <= _MOST_WORDS:
        words = {"text": {"field": "text"}, "color": {"condition": dark, "value": INK}}
        mark = {"type": "text", "fontSize": 10, "baseline": "middle"}
        layers.append({"mark": mark, "encoding": {**place, **words}})
    facet = {"field": "task", "type": "nominal", "title": None, "sort": panels}
    size = {"width": {"step": _STEP}, "height": {"step": _STEP - 6}}
    return Figure(
        name="path_likeness",
        title="Do readers reason along the same path?",
        spec=figure_spec(
            rows,
            facet=facet,
            columns=_ABREAST,
            spec={"layer": layers, **size},
        ),
        alt=f"Similarity of two readers' most frequent paths, percent: {_said(rows)}.",
        signature=signature,
        notes=(
            "Percent: the longest common subsequence of two readers' most frequent paths over the "
            "longer one; the mean of the judges. All tasks: the mean over tasks. Intervals are in "
            "measures.json (path_likeness).",
            *notes_on_judges(index, ("order",)),
        ),
    )


def _rows(index: Index) -> Iterator[Spec]:
    """Every pair both ways and every reader with itself, over all tasks and in each."""
    names = shown(index.readers)
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in index.every("path_likeness"):
        if record.reader and record.value is not None:
            task, other = record.by.get("task", _ALL), record.by["versus"]
            for one, two in ((record.reader, other), (other, record.reader)):
                found.setdefault((task, one, two), []).append(100 * record.value)
    tasks = [_ALL, *tasks_of(index)]
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


def _said(rows: list[Spec]) -> str:
    """The pairs over all tasks, each once."""
    told: dict[frozenset[str], str] = {}
    for row in rows:
        if row["task"] == _ALL and row["reader"] != row["versus"]:
            pair = frozenset((row["reader"], row["versus"]))
            told.setdefault(pair, f"{row['reader']} and {row['versus']} {row['text']}")
    return "; ".join(told.values())
