"""Task by task, as lanes: accuracy with reasoning, F1 and consistency."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.m3cot.exhibits.headline import COLUMNS
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.benchmarks.m3cot.exhibits.tasks import tasks_of
from overread.case import Figure

__all__ = ["task_figure"]

_PANELS: Final = ("accuracy CoT", "F1", "consistency")


def task_figure(index: Index, signature: str) -> Figure | None:
    """A lane per task, the largest first."""
    columns = [column for column in COLUMNS if column.heading in _PANELS]
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
    panels = [Panel(name) for name in _PANELS if any(row["panel"] == name for row in rows)]
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
