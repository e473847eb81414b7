"""Task by task, and step type by step type."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.exhibits.headline import COLUMNS
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.case import Table

__all__ = ["kinds_table", "modalities_table", "steps_table", "tasks_of", "tasks_table"]

_FEW: Final = 10
_MOST_MODALITIES: Final = 24
_STEP_NAMES: Final = {
    "modality": "examination",
    "feature": "image features",
    "conclusion": "key conclusions",
    "analysis": "additional analysis",
}


def tasks_of(index: Index) -> list[str]:
    """The tasks by falling number of items."""
    sizes: dict[str, int] = {}
    for name in ("f1", "impact", "consistency"):
        for record in index.all(name, "task"):
            task = record.by["task"]
            sizes[task] = max(sizes.get(task, 0), record.n or 0)
    for record in index.all("accuracy", "mode", "task"):
        task = record.by["task"]
        sizes[task] = max(sizes.get(task, 0), record.n or 0)
    return sorted(sizes, key=lambda task: (-sizes[task], task))


def tasks_table(index: Index, signature: str) -> Table | None:
    """Every measure in every task."""
    return _grouped(
        index, signature, "task", tasks_of(index), "tasks", "Task by task: every measure"
    )


def kinds_table(index: Index, signature: str) -> Table | None:
    """The same by the kind of question: one option, several, true or false, in words."""
    kinds = sorted({record.by["kind"] for record in index.all("accuracy", "mode", "kind")})
    return _grouped(index, signature, "kind", kinds, "kinds", "By kind of question")


def _grouped(
    index: Index, signature: str, key: str, groups: list[str], name: str, title: str
) -> Table | None:
    columns = [
        column
        for column in COLUMNS[:7]
        if any(column.of(index, reader, **{key: g}) for reader in index.readers for g in groups)
    ]
    rows = [
        (group, reader, *(cell(column.of(index, reader, **{key: group})) for column in columns))
        for group in groups
        for reader in index.readers
    ]
    few = f"Groups of fewer than {_FEW} items say little; their intervals tell how little."
    return table(
        name,
        title,
        (key, "reader", *(column.heading for column in columns)),
        rows,
        signature,
        (
            few,
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
        facts=2,
    )


def modalities_table(index: Index, signature: str) -> Table | None:
    """Recall by the examination, the most frequent first."""
    sizes: dict[str, int] = {}
    for record in index.all("recall", "modality"):
        name = record.by["modality"]
        sizes[name] = max(sizes.get(name, 0), record.n or 0)
    named = sorted(sizes, key=lambda name: (-sizes[name], name))
    rows = [
        (name, reader, cell(index.get(reader, "recall", modality=name)))
        for name in named[:_MOST_MODALITIES]
        for reader in index.readers
    ]
    more = len(named) - _MOST_MODALITIES
    rest = [f"{more} less frequent examinations are in measures.json only."] if more > 0 else []
    return table(
        "modalities",
        "How much of the gold steps is there, by examination?",
        ("examination", "reader", "recall"),
        rows,
        signature,
        (
            "The examination as the set states it, or else as the gold step words it. Groups of "
            f"fewer than {_FEW} items say little; their intervals tell how little.",
            *rest,
            *notes_on_judges(index, ("recall",)),
        ),
        facts=2,
    )


def steps_table(index: Index, signature: str) -> Table | None:
    """Which kind of step is right, and which is there at all."""
    if not (index.all("precision", "step") or index.all("recall", "step")):
        return None
    rows = [
        (
            _STEP_NAMES[step],
            reader,
            *(
                cell(index.get(reader, name, step=step))
                for name in ("precision", "precision_no_na", "recall")
            ),
        )
        for step in STEPS
        for reader in index.readers
    ]
    return table(
        "steps",
        "Which steps are right, and which are there?",
        ("step", "reader", "precision", "precision without N/A", "recall"),
        rows,
        signature,
        (
            "Precision over replies with a step of this kind, recall over items with such a gold "
            "step. N/A: steps that a judge calls background; they count against precision.",
            *notes_on_judges(index, ("precision", "recall")),
        ),
        facts=2,
    )
