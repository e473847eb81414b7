"""Readers against readers on multiple-choice items, paired by item."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Ints, Mask, drafted, joined, ratio
from overread.benchmarks.medcmr.accuracy import wrongly
from overread.benchmarks.medcmr.marks import MCQ, Marks
from overread.benchmarks.medcmr.study import Study
from overread.case import Measure

__all__ = ["comparisons", "difference", "difference_test", "gained_and_lost"]


def comparisons(study: Study) -> Iterator[Draft | Measure]:
    """Every pair of readers in accuracy, in the run's order; then each base and its medical
    fine-tune."""
    for one, two in combinations(study.marks, 2):
        if MCQ in one.said and MCQ in two.said:
            members = one.asked(MCQ) & two.asked(MCQ)
            record = Measure(
                reader=one.reader,
                measure="diff_accuracy",
                by={"versus": two.reader},
                note=_note(members, one, two),
            )
            right = one.right(MCQ), two.right(MCQ)
            yield difference(record, study, *right, members, "diff_accuracy")
    yield from gained_and_lost(study)


def _note(members: Mask, *both: Marks) -> str | None:
    said = ((m.reader, wrongly(m.said[MCQ].outcome[members].astype(np.int64))) for m in both)
    return joined(*(f"{reader}: {note}" for reader, note in said if note))


def difference(
    record: Measure, study: Study, one: Mask, two: Mask, members: Mask, family: str
) -> Draft:
    """Share right of `one` less that of `two` on the same items, with its interval and test."""
    each = np.where(members, one.astype(np.int64) - two, 0)
    columns = np.stack([each, members], axis=1).astype(float)
    made = drafted(record, columns, ratio, members, limits=(-1.0, 1.0))
    if made.record.value is None:
        return made
    # The same quotient of whole numbers, whatever the order of the sum.
    value = int(each.sum()) / int(members.sum())
    p = difference_test(study, each, members)
    tested = msgspec.structs.replace(made.record, value=value, p=p, family=family)
    # One more item can move a difference from one end to the other.
    return msgspec.structs.replace(made, record=tested, unit=1 + abs(value))


def difference_test(study: Study, each: Ints, members: Mask) -> float | None:
    """Exact two-sided p of paired differences of 0/1 marks.

    Where no two items share a cluster, McNemar's; else signs are flipped, a cluster's together.
    """
    from overread.stats import difference_p, sign_flip_p

    if study.alone(members):
        return difference_p(int((each == 1).sum()), int((each == -1).sum()))
    return sign_flip_p(each[members], study.facts.clusters[members])


def gained_and_lost(study: Study) -> Iterator[Measure]:
    """What a medical fine-tune unlearned and learned: of the items asked of both, the share right
    for the base alone, and the share right for the medical reader alone."""
    marks = {one.reader: one for one in study.marks}
    study.options.check_pairs(study.readers)
    for base, medical in study.options.pairs:
        by = {"versus": base}
        one, two = marks[base], marks[medical]
        both = one.asked(MCQ) & two.asked(MCQ)
        sides = {
            "only_base": one.right(MCQ) & ~two.right(MCQ),
            "only_medical": two.right(MCQ) & ~one.right(MCQ),
        }
        for group in study.groups("mcq", "dimension"):
            members = group.members & both
            if group.by and not members.any():
                continue
            for name, hit in sides.items():
                record = Measure(reader=medical, measure=name, by={**by, **group.by})
                note = _note(members, one, two) if members.any() else None
                yield study.share(msgspec.structs.replace(record, note=note), hit, members)
