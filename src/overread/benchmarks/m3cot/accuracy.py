"""Right or wrong: accuracy by mode, what reasoning changes, what the image changes (M3COT 5).

And beyond the paper: does the reasoning depend on the image, and the answer on the reasoning?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.marks import COT, DIRECT, Cell, Floats, Marks
from overread.benchmarks.m3cot.study import (
    Draft,
    Metric,
    Study,
    columns_of,
    counted_in,
    drafted,
    joined,
    panel,
    unseen,
)
from overread.case import Measure

__all__ = [
    "DEPENDENCE_METRICS",
    "METRICS",
    "difference",
    "difference_test",
    "flipped",
    "kept_share",
    "right_of",
    "same_answer",
]


def right_of(marks: Marks, study: Study, cell: Cell, judges: Sequence[str]) -> Floats:
    """1 right, 0 wrong, NaN not counted: items x judges.

    Judged only, as the authors count; or every item asked, what is unanswered or could not be
    judged being wrong (M3COT 10).
    """
    key = ("right", marks.reader, cell, *judges)
    return study.once(key, lambda: _right_values(marks, study, cell, judges))


def _right_values(marks: Marks, study: Study, cell: Cell, judges: Sequence[str]) -> Floats:
    found = np.full((marks.facts.n, len(judges)), np.nan)
    if study.edition.denominator == "all":
        found[marks.asked(cell)] = 0.0
    for column, judge in enumerate(judges):
        for place, said in marks.given("answer", cell, judge):
            if study.edition.denominator == "all" and marks.silent_at(cell, place):
                continue  # a verdict on nothing
            found[place, column] = float(said["match"])
    return found


def _without_verdict(marks: Marks, study: Study, cell: Cell, judges: Sequence[str]) -> str | None:
    """What stands in the denominator, or not, without a verdict."""
    asked = marks.asked(cell)
    silent = int((asked & marks.silent(cell)).sum())
    missed = sum(int((asked & marks.missed("answer", cell, judge)).sum()) for judge in judges)
    how = "count as wrong" if study.edition.denominator == "all" else "left out"
    return joined(
        marks.left_out(cell),
        f"{silent} without an answer {how}" if silent else None,
        f"{missed} not judged {how}" if missed else None,
    )


def _accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for cell in sorted(marks.said):
        judges = study.judges(marks, "answer", cell)
        started = Measure(reader=marks.reader, measure="accuracy", by=cell.by)
        if not judges:
            yield msgspec.structs.replace(started, n=0, note="not judged")
            continue
        right = right_of(marks, study, cell, judges)
        note = _without_verdict(marks, study, cell, judges)
        for group, members in study.groups:
            if group and not cell.plain:
                continue
            some = np.where(members[:, None], right, np.nan)
            if group and np.isnan(some).all():
                continue
            record = msgspec.structs.replace(
                started,
                by=cell.by | group,
                note=None if group else note,
                label=study.label(judges, "answer"),
            )
            yield _accuracy_draft(record, some)
        for column, judge in enumerate(judges):
            record = msgspec.structs.replace(
                started,
                by=cell.by | {"judge": judge},
                note=_without_verdict(marks, study, cell, [judge]),
                label=study.label([judge], "answer"),
            )
            yield _accuracy_draft(record, right[:, [column]])


def _accuracy_draft(record: Measure, values: Floats) -> Draft:
    made = drafted(record, columns_of(values), panel, counted_in(values))
    if values.shape[1] > 1:
        return made
    k = int(np.nansum(values))
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, k=k))


def flipped(totals: Floats) -> Floats:
    """The panel mean of the first half of the columns less that of the second."""
    half = totals.shape[1] // 2
    return panel(totals[:, :half]) - panel(totals[:, half:])


def difference_test(study: Study, one: Floats, two: Floats) -> float | None:
    """Exact two-sided p of a paired difference of 0/1 values, items x judges.

    One judge and no patient twice: McNemar's. Else signs are flipped, an item's (a patient's)
    verdicts of all judges together.
    """
    from overread.stats import difference_p, sign_flip_p

    both = ~(np.isnan(one) | np.isnan(two))
    differences = np.where(both, one - two, 0.0).sum(axis=1)
    there = both.any(axis=1)
    if not there.any():
        return None
    if one.shape[1] == 1 and study.facts.alone:
        return difference_p(int((differences == 1).sum()), int((differences == -1).sum()))
    return sign_flip_p(differences[there].astype(np.int64), study.facts.patients[there])


def difference(record: Measure, study: Study, one: Floats, two: Floats, family: str) -> Draft:
    """one - two, panel means, with its interval and test."""
    columns = np.hstack([columns_of(one), columns_of(two)])
    made = drafted(record, columns, flipped, counted_in(one, two), limits=(-1.0, 1.0))
    if made.record.value is None:
        return made
    p = difference_test(study, one, two)
    tested = msgspec.structs.replace(made.record, p=p, family=None if p is None else family)
    return msgspec.structs.replace(made, record=tested)


def _impact(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """I = Acc of cot - Acc of direct."""
    judges = sorted(
        {*study.judges(marks, "answer", COT)} & {*study.judges(marks, "answer", DIRECT)}
    )
    started = Measure(reader=marks.reader, measure="impact")
    if not judges or COT not in marks.said or DIRECT not in marks.said:
        yield msgspec.structs.replace(started, n=0, note="needs both modes, judged")
        return
    cot, direct = (right_of(marks, study, cell, judges) for cell in (COT, DIRECT))
    label = study.label(judges, "answer")
    for group, members in study.groups:
        one, two = (np.where(members[:, None], table, np.nan) for table in (cot, direct))
        if group and (np.isnan(one).all() or np.isnan(two).all()):
            continue
        record = msgspec.structs.replace(started, by=group, label=label)
        key = next(iter(group), "")
        family = f"impact by {key}: {marks.reader}" if group else "impact"
        yield difference(record, study, one, two, family)
    for column, judge in enumerate(judges):
        record = msgspec.structs.replace(
            started, by={"judge": judge}, label=study.label([judge], "answer")
        )
        one, two = cot[:, [column]], direct[:, [column]]
        yield difference(record, study, one, two, "impact by judge")


def _image_effect(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Accuracy with the item's own image less accuracy without it, on the items asked in both."""
    for cell in sorted(marks.said):
        own = Cell(cell.mode)
        judges = sorted(
            {*study.judges(marks, "answer", own)} & {*study.judges(marks, "answer", cell)}
        )
        if cell.image == "original" or cell.follow or own not in marks.said or not judges:
            continue
        if marks.reader in study.unseeing:
            yield unseen(marks.reader, "image_effect", cell.by)
            continue
        one, two = (right_of(marks, study, at, judges) for at in (own, cell))
        one = np.where(marks.asked(cell)[:, None], one, np.nan)
        record = Measure(
            reader=marks.reader,
            measure="image_effect",
            by=cell.by,
            label=study.label(judges, "answer"),
        )
        yield difference(record, study, one, two, "image_effect")


METRICS: Final = (
    Metric(
        name="accuracy",
        says="share of items answered rightly, the mean of the judges",
        make=_accuracy,
    ),
    Metric(name="impact", says="accuracy with reasoning less accuracy without", make=_impact),
    Metric(
        name="image_effect",
        says="accuracy with the image less accuracy with a blank or another one",
        make=_image_effect,
    ),
)


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
            found[place] = _kept_between(marks, place, cell, place)
        record = Measure(reader=marks.reader, measure="survives", by={"image": cell.image})
        yield _mean_draft(record, found)


def _survives_chance(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The same between an item and the next of its task: what any two replies share."""
    if not any(cell.mode == "cot" and cell.image != "original" for cell in marks.said):
        return
    found = np.full(marks.facts.n, np.nan)
    for task in study.tasks:
        members: list[int] = np.flatnonzero(marks.facts.tasks == task).tolist()
        for place, other in zip(members, members[1:] + members[:1], strict=True):
            if place != other:
                found[place] = _kept_between(marks, place, COT, other)
    yield _mean_draft(Measure(reader=marks.reader, measure="survives_chance"), found)


def _kept_between(marks: Marks, place: int, cell: Cell, other: int) -> float:
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
                    found[place, column] = _same_verdict(before[place], after, kind)
        yield _mean_draft(record, found)


def _same_verdict(one: dict[str, object], two: dict[str, object], kind: str) -> float:
    if one["match"] or two["match"]:
        return float(one["match"] is two["match"])
    return float(same_answer(str(one["final_answer"]), str(two["final_answer"]), kind))


def _mean_draft(record: Measure, values: Floats) -> Draft:
    table = values if values.ndim == 2 else values[:, None]
    return drafted(record, columns_of(table), panel, counted_in(table))


DEPENDENCE_METRICS: Final = (
    Metric(
        name="survives",
        says="share of the words of the reasoning that stand there without the image too",
        make=_survives,
    ),
    Metric(
        name="survives_chance",
        says="the same share between the replies to two items of a task",
        make=_survives_chance,
    ),
    Metric(
        name="answer_kept",
        says="share of answers that stay when reasoning is cut or comes after the answer",
        make=_answer_kept,
    ),
)
