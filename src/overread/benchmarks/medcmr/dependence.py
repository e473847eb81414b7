"""Image dependence: what of the accuracy is left with a blank image, another one, or none.

Paired: over the items asked with the item's own image and under the condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Mask, drafted, joined, ratio, unseen
from overread.benchmarks.medcmr.accuracy import CONDITIONS, wrongly
from overread.benchmarks.medcmr.comparisons import difference
from overread.benchmarks.medcmr.groups import Group
from overread.benchmarks.medcmr.marks import MCQ, Cell, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = ["METRICS"]


def _pairs(marks: Marks, study: Study, name: str) -> Iterator[tuple[Measure, Cell, Group]]:
    """Records to be filled, by condition and dimension, with the items that both have."""
    for condition in CONDITIONS:
        cell = Cell("mcq", condition)
        if cell not in marks.said or MCQ not in marks.said:
            continue
        both = marks.asked(MCQ) & marks.asked(cell)
        for group in study.groups("mcq", "dimension"):
            members = group.members & both
            if group.by and not members.any():
                continue
            by = {"condition": condition, **group.by, "versus": "original"}
            record = Measure(reader=marks.reader, measure=name, by=by)
            yield record, cell, Group(by, members)


def _difference(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Accuracy under the condition less that with the item's own image: below 0 it is missed."""
    for record, cell, group in _pairs(marks, study, "diff_accuracy"):
        if marks.reader in study.unseeing:
            yield unseen(marks.reader, "diff_accuracy", record.by)
            continue
        started = msgspec.structs.replace(record, note=_note(marks, cell, group.members))
        which = "by image and dimension" if "dimension" in record.by else "by image"
        one, two = marks.right(cell), marks.right(MCQ)
        yield difference(started, study, one, two, group.members, f"diff_accuracy {which}")


def _note(marks: Marks, cell: Cell, members: Mask) -> str | None:
    """What counts as wrong of either side without naming an option."""
    sides = {cell.image: cell, "original": MCQ}
    said = {
        image: wrongly(marks.said[at].outcome[members].astype(np.int64))
        for image, at in sides.items()
    }
    return joined(*(f"{image}: {note}" for image, note in said.items() if note))


def _survives(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """What part of the score stands without the picture: right under the condition over right with
    the item's own image. Above 1 where the picture harms, undefined where none is right with it."""
    for record, cell, group in _pairs(marks, study, "survives"):
        if marks.reader in study.unseeing:
            yield unseen(marks.reader, "survives", record.by)
            continue
        left, own = marks.right(cell) & group.members, marks.right(MCQ) & group.members
        n, k = int(group.members.sum()), int(own.sum())
        if not k:
            note = "nothing right with the item's own image"
            yield msgspec.structs.replace(record, n=n, note=note if n else "no items in both")
            continue
        columns = np.stack([left, own], axis=1).astype(float)
        started = msgspec.structs.replace(record, note=_note(marks, cell, group.members))
        # One item more right under the condition moves the ratio by 1 / k, not by 1 / n.
        yield drafted(started, columns, ratio, group.members, limits=(0.0, np.inf), unit=n / k)


METRICS: Final = (
    Metric(
        name="diff_accuracy",
        says="accuracy with a blank, another or no image less that with the item's own",
        make=_difference,
    ),
    Metric(
        name="survives",
        says="accuracy with a blank, another or no image over that with the item's own",
        make=_survives,
    ),
)
