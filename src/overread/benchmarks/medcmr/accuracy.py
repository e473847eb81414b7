"""Right or wrong: accuracy by group and condition, its plain mean over dimensions, and chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Floats, Ints, Mask, drafted, joined, quotients
from overread.benchmarks.medcmr.groups import Group
from overread.benchmarks.medcmr.marks import MCQ, OUTCOMES, Cell, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.benchmarks.medcmr.vocabulary import DIMENSIONS
from overread.case import Measure

__all__ = ["CONDITIONS", "METRICS", "Replies", "chance", "conditions_of", "replies_of", "wrongly"]

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


METRICS: Final = (
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
