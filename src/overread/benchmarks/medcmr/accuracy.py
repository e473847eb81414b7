"""Shares of right options: of a reader, against another's, and without the image."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Floats,
    Ints,
    Mask,
    drafted,
    joined,
    quotients,
    ratio,
    unseen,
)
from overread.benchmarks.medcmr.cases import DIMENSIONS
from overread.benchmarks.medcmr.marks import MCQ, OUTCOMES, Cell, Marks
from overread.benchmarks.medcmr.study import Group, Metric, Study
from overread.case import Measure

__all__ = [
    "ACCURACY_METRICS",
    "CONDITIONS",
    "IMAGE_METRICS",
    "Replies",
    "chance",
    "comparisons",
    "conditions_of",
    "difference",
    "difference_test",
    "gained_and_lost",
    "replies_of",
    "wrongly",
]


# ---------------------------------------------------------------- accuracy
# Right or wrong: accuracy by group and condition, its plain mean over dimensions, and chance.

CONDITIONS: Final = ("blank", "swap", "text")
"""What is asked with another image than the item's own, or none."""


class Replies(NamedTuple):
    """Replies to multiple-choice questions: the items they are about, and which are right."""

    items: Ints
    right: Mask
    # Places among OUTCOMES.
    outcome: Ints

    def of(self, members: Mask) -> Mask:
        """Replies about these items."""
        found: Mask = members[self.items]
        return found


def conditions_of(marks: Marks) -> list[str]:
    """The conditions besides the plain one that a reader was asked multiple-choice items in."""
    found = [one for one in CONDITIONS if Cell("mcq", one) in marks.said]
    return [*found, *(["permuted"] if marks.permuted else [])]


def replies_of(marks: Marks, study: Study, condition: str = "original") -> Replies:
    """The replies under a condition; permuted, those of all orders asked, the set's own too."""
    cells = marks.orders() if condition == "permuted" else [Cell("mcq", condition)]
    key = ("replies", marks.reader, condition)
    return study.once(key, lambda: _replies(marks, [cell for cell in cells if cell in marks.said]))


def _replies(marks: Marks, cells: list[Cell]) -> Replies:
    items = [np.flatnonzero(marks.asked(cell)) for cell in cells]
    pairs = list(zip(cells, items, strict=True))
    none = np.zeros(0, dtype=np.int64)
    return Replies(
        np.concatenate([none, *items]),
        np.concatenate([none.astype(bool), *(marks.right(cell)[at] for cell, at in pairs)]),
        np.concatenate([none, *(marks.said[cell].outcome[at] for cell, at in pairs)]),
    )


def wrongly(outcomes: Ints) -> str | None:
    """How many replies count as wrong without naming an option, for a note."""
    names = {"unparsed": "invalid", "refused": "refused", "unanswered": "unanswered"}
    counts = {
        word: int((outcomes == OUTCOMES.index(outcome)).sum()) for outcome, word in names.items()
    }
    said = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    return f"{said} counted as wrong" if said else None


def _accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the items asked, the share whose right option was named; all else is wrong."""
    if not any(cell.form == "mcq" for cell in marks.said):
        return
    replies = replies_of(marks, study)
    record = Measure(reader=marks.reader, measure="accuracy")
    if MCQ not in marks.said:
        yield msgspec.structs.replace(record, n=0, note="not asked with the item's own image")
    else:
        for group in study.groups("mcq"):
            yield _share(record, study, replies, group)
            if not group.by:
                yield _share(record, study, replies, Group({"kind": "mcq"}, group.members))
    for condition in conditions_of(marks):
        replies = replies_of(marks, study, condition)
        for group in study.groups("mcq", "dimension"):
            by = {"condition": condition, **group.by}
            if not group.by or replies.of(group.members).any():
                yield _share(record, study, replies, Group(by, group.members))


def _share(record: Measure, study: Study, replies: Replies, group: Group) -> Measure:
    these = replies.of(group.members)
    note = wrongly(replies.outcome[these])
    started = msgspec.structs.replace(record, by=group.by, note=note)
    clusters = study.facts.clusters[replies.items[these]]
    return study.share_of(started, replies.right[these], clusters)


def _macro(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The plain mean over dimensions of the accuracy in each (those that have items)."""
    if not study.dimensions:
        return
    for condition in ("original", *conditions_of(marks)):
        replies = replies_of(marks, study, condition)
        if replies.items.size:
            by = {} if condition == "original" else {"condition": condition}
            record = Measure(reader=marks.reader, measure="accuracy_macro", by=by)
            yield _mean_of_dimensions(record, study, replies)


def _mean_of_dimensions(record: Measure, study: Study, replies: Replies) -> Draft:
    n = study.facts.n
    right = np.bincount(replies.items[replies.right], minlength=n).astype(float)
    asked = np.bincount(replies.items, minlength=n).astype(float)
    found = [one for one in study.dimensions if asked[one.members].any()]
    columns = np.stack(
        [np.where(one.members, values, 0.0) for one in found for values in (right, asked)], axis=1
    ) if found else np.zeros((n, 0))  # fmt: skip
    counted = np.any([one.members & (asked > 0) for one in found], axis=0) if found else asked > n
    missing = [one for one in DIMENSIONS if one not in {group.by["dimension"] for group in found}]
    note = joined(
        wrongly(replies.outcome[replies.of(counted)]),
        f"no items of {', '.join(missing)}" if missing else None,
    )
    made = drafted(msgspec.structs.replace(record, note=note), columns, _plain_mean, counted)
    if made.record.value is None:
        return made
    return msgspec.structs.replace(made, within=_room(study, made, found, right, asked))


def _plain_mean(totals: Floats) -> Floats:
    """The mean over dimensions; NaN where a resample holds nothing of one of them."""
    if not totals.shape[1]:
        return np.full(len(totals), np.nan)
    found: Floats = quotients(totals[:, 0::2], totals[:, 1::2]).mean(axis=1)
    return found


def _room(
    study: Study, made: Draft, found: list[Group], right: Floats, asked: Floats
) -> tuple[float, float]:
    """What resampling cannot see: a dimension whose replies are all right, or all wrong.

    Each leaves open what Wilson's bound does, its items of a cluster wholly alike; the rooms are
    independent, hence the root of the sum of their squares, over the number of dimensions.
    """
    value = made.record.value
    assert value is not None
    below = above = 0.0
    for group in found:
        items = np.flatnonzero(group.members & (asked > 0))
        k, n = int(right[items].sum()), int(asked[items].sum())
        if k in (0, n):
            hits = np.full(n, k > 0)
            clusters = np.repeat(study.facts.clusters[items], asked[items].astype(np.int64))
            bound = study.share_of(Measure(reader="", measure=""), hits, clusters)
            # A single item of its dimension says next to nothing.
            low, high = (0.0, 1.0) if bound.low is None else (bound.low, bound.high or 0.0)
            below, above = (below + (1 - low) ** 2, above) if k else (below, above + high**2)
    down, up = (math.sqrt(part) / len(found) for part in (below, above))
    return max(0.0, value - down), min(1.0, value + up)


def _longest(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the replies that name an option, the share that name the longest (the first of several,
    in the case's order)."""
    if MCQ not in marks.said:
        return
    facts, chosen = study.facts, marks.said[MCQ].choice
    members = marks.asked(MCQ) & (chosen >= 0)
    k, n = int((facts.longest == facts.answer)[members].sum()), int(members.sum())
    note = f"the right option is the longest in {k} of {n}" if n else None
    record = Measure(reader=marks.reader, measure="longest_rate", note=note)
    yield study.share(record, chosen == facts.longest, members)


def chance(study: Study) -> Iterator[Measure]:
    """What guessing gets right: the mean over items of 1 / number of options; of no reader."""
    options = study.facts.options
    for group in study.groups("mcq", "dimension"):
        members = group.members & (options > 0)
        n = int(members.sum())
        record = Measure(reader="", measure="chance", by=group.by, n=n)
        if n:
            # Sums of equal parts: what has five options throughout is 0.2 to the bit.
            sizes, items = np.unique(options[members], return_counts=True)
            total = math.fsum(
                int(m) / (int(size) * n) for size, m in zip(sizes, items, strict=True)
            )
            yield msgspec.structs.replace(record, value=total, method="exact")


ACCURACY_METRICS: Final = (
    Metric(
        name="accuracy",
        says="share of multiple-choice items whose right option was named",
        make=_accuracy,
    ),
    Metric(
        name="accuracy_macro",
        says="plain mean over dimensions of the accuracy in each",
        make=_macro,
    ),
    Metric(
        name="longest_rate",
        says="share of replies naming an option that name the longest",
        make=_longest,
    ),
)


# ---------------------------------------------------------------- readers against readers
# Readers against readers on multiple-choice items, paired by item.


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
                note=_pair_note(members, one, two),
            )
            right = one.right(MCQ), two.right(MCQ)
            yield difference(record, study, *right, members, "diff_accuracy")
    yield from gained_and_lost(study)


def _pair_note(members: Mask, *both: Marks) -> str | None:
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
                note = _pair_note(members, one, two) if members.any() else None
                yield study.share(msgspec.structs.replace(record, note=note), hit, members)


# ---------------------------------------------------------------- image dependence
# Image dependence: what of the accuracy is left with a blank image, another one, or none.
#
# Paired: over the items asked with the item's own image and under the condition.


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
        started = msgspec.structs.replace(record, note=_image_note(marks, cell, group.members))
        which = "by image and dimension" if "dimension" in record.by else "by image"
        one, two = marks.right(cell), marks.right(MCQ)
        yield difference(started, study, one, two, group.members, f"diff_accuracy {which}")


def _image_note(marks: Marks, cell: Cell, members: Mask) -> str | None:
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
        started = msgspec.structs.replace(record, note=_image_note(marks, cell, group.members))
        # One item more right under the condition moves the ratio by 1 / k, not by 1 / n.
        yield drafted(started, columns, ratio, group.members, limits=(0.0, np.inf), unit=n / k)


IMAGE_METRICS: Final = (
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
