"""Beyond the paper: does the reasoning depend on the image, and the answer on the reasoning?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.marks import COT, Cell, Floats, Marks
from overread.benchmarks.m3cot.study import (
    Draft,
    Metric,
    Study,
    columns_of,
    counted_in,
    drafted,
    panel,
    unseen,
)
from overread.case import Measure

__all__ = ["METRICS", "kept_share", "same_answer"]

_WORD: Final = re.compile(r"\w+")
_LETTER: Final = re.compile(r"\b[a-z]\b")


def kept_share(before: str, after: str) -> float | None:
    """The share of the words of one text that another has too, each as often as it stands there."""
    one, two = (Counter(_WORD.findall(text.casefold())) for text in (before, after))
    return (one & two).total() / one.total() if one else None


def _survives(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Reasoning with the item's image, and how much of it stands there without the image too."""
    for cell in sorted(marks.said):
        if cell.mode != "cot" or cell.image == "original" or cell.follow or COT not in marks.said:
            continue
        if marks.reader in study.unseeing:
            yield unseen(marks.reader, "survives", {"image": cell.image})
            continue
        found = np.full(marks.facts.n, np.nan)
        for place in marks.said[cell]:
            found[place] = _share(marks, place, cell, place)
        record = Measure(reader=marks.reader, measure="survives", by={"image": cell.image})
        yield _mean(record, found)


def _chance(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The same between an item and the next of its task: what any two replies share."""
    if not any(cell.mode == "cot" and cell.image != "original" for cell in marks.said):
        return
    found = np.full(marks.facts.n, np.nan)
    for task in study.tasks:
        members: list[int] = np.flatnonzero(marks.facts.tasks == task).tolist()
        for place, other in zip(members, members[1:] + members[:1], strict=True):
            if place != other:
                found[place] = _share(marks, place, COT, other)
    yield _mean(Measure(reader=marks.reader, measure="survives_chance"), found)


def _share(marks: Marks, place: int, cell: Cell, other: int) -> float:
    if marks.silent_at(COT, place) or marks.silent_at(cell, other):
        return np.nan
    share = kept_share(marks.said[COT][place].text, marks.said[cell][other].text)
    return np.nan if share is None else share


def same_answer(one: str, two: str, kind: str) -> bool:
    """Whether two final answers say the same: the options chosen where both name any, else words.

    >>> same_answer("A. Liver", "a", "single"), same_answer("left lobe", "Left lobe.", "short")
    (True, True)
    """
    first, second = one.casefold(), two.casefold()
    if kind in ("single", "multiple"):
        letters = [set(_LETTER.findall(text)) for text in (first, second)]
        if all(letters):
            return letters[0] == letters[1]
    return _WORD.findall(first) == _WORD.findall(second)


def _answer_kept(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """How often the answer after half of the reasoning, or before any, is that after all of it.

    Two right answers agree, a right and a wrong one do not, and two wrong ones by their words.
    """
    for cell in sorted(marks.said):
        if not cell.follow:
            continue
        full = Cell(cell.mode, cell.image)
        judges = [
            judge for judge in marks.judges("answer", cell) if judge in marks.judges("answer", full)
        ]
        record = Measure(
            reader=marks.reader,
            measure="answer_kept",
            by=cell.by,
            label=study.label(judges, "answer"),
        )
        if not judges:
            yield msgspec.structs.replace(record, n=0, note="not judged")
            continue
        found = np.full((marks.facts.n, len(judges)), np.nan)
        for column, judge in enumerate(judges):
            before = dict(marks.given("answer", full, judge))
            for place, after in marks.given("answer", cell, judge):
                if place in before:
                    kind = str(marks.facts.kinds[place])
                    found[place, column] = _agree(before[place], after, kind)
        yield _mean(record, found)


def _agree(one: dict[str, object], two: dict[str, object], kind: str) -> float:
    if one["match"] or two["match"]:
        return float(one["match"] is two["match"])
    return float(same_answer(str(one["final_answer"]), str(two["final_answer"]), kind))


def _mean(record: Measure, values: Floats) -> Draft:
    table = values if values.ndim == 2 else values[:, None]
    return drafted(record, columns_of(table), panel, counted_in(table))


METRICS: Final = (
    Metric(
        name="survives",
        says="share of the words of the reasoning that stand there without the image too",
        make=_survives,
    ),
    Metric(
        name="survives_chance",
        says="the same share between the replies to two items of a task",
        make=_chance,
    ),
    Metric(
        name="answer_kept",
        says="share of answers that stay when reasoning is cut or comes after the answer",
        make=_answer_kept,
    ),
)
