"""Letters given and their orders; what the first token's probabilities say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Floats, Ints, Mask, drafted, quotients, ratio
from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.marks import MCQ, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = [
    "POSITION_METRICS",
    "PROBABILITY_METRICS",
]


# ---------------------------------------------------------------- positions
# Does the place of an option decide? Letters given, and what other orders of the options change.
#
# Over the replies to all orders asked with the item's own image. Orders are rotations, so where the
# option named stood tells where the right one stood.


class _Given(NamedTuple):
    """Valid replies: the item, the place of the letter given, and that of the right letter."""

    items: Ints
    letter: Ints
    right: Ints


def _given(marks: Marks, study: Study) -> _Given:
    return study.once(("given", marks.reader), lambda: _valid(marks))


def _valid(marks: Marks) -> _Given:
    facts, items, letters, rights = marks.facts, [], [], []
    for cell in marks.orders():
        said = marks.said[cell]
        known = marks.asked(cell) & (said.choice >= 0) & (said.shown >= 0)
        at = np.flatnonzero(known & (facts.answer >= 0))
        shown, chosen = (codes[at].astype(np.int64) for codes in (said.shown, said.choice))
        items.append(at)
        letters.append(shown)
        rights.append((facts.answer[at] - chosen + shown) % facts.options[at])
    none = np.zeros(0, dtype=np.int64)
    return _Given(*(np.concatenate([none, *parts]) for parts in (items, letters, rights)))


def _shares(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the letters given, the share of each; the note has that of the right letters."""
    given = _given(marks, study)
    if not marks.orders():
        return
    clusters = study.facts.clusters[given.items]
    most = int(study.facts.options.max(initial=0))
    for place, letter in enumerate(LETTERS[:most]):
        by = {"position": letter}
        note = f"{int((given.right == place).sum())} right letters" if given.items.size else None
        record = Measure(reader=marks.reader, measure="position_share", by=by, note=note)
        yield study.share_of(record, given.letter == place, clusters)


def _bias(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Total variation distance between the shares of letters given and of right letters, over the
    same valid replies: half the sum of absolute differences. 0 is none; chance alone is above 0,
    and more so in a resample, so resamples are centred on the value."""
    if not marks.orders():
        return
    given, n = _given(marks, study), study.facts.n
    most = int(study.facts.options.max(initial=0))
    differences = [
        np.bincount(given.items, weights=_sign(given, place), minlength=n) for place in range(most)
    ]
    replies = np.bincount(given.items, minlength=n).astype(float)
    record = Measure(reader=marks.reader, measure="position_bias")
    made = drafted(record, np.stack([*differences, replies], axis=1), _distance, replies > 0)
    counted = msgspec.structs.replace(made.record, n=int(given.items.size))
    yield msgspec.structs.replace(made, record=counted, centred=True)


def _sign(given: _Given, place: int) -> Floats:
    found: Floats = (given.letter == place).astype(float) - (given.right == place)
    return found


def _distance(totals: Floats) -> Floats:
    return quotients(np.abs(totals[:, :-1]).sum(axis=1) / 2, totals[:, -1])


def _several(marks: Marks) -> Mask:
    """Items asked in more than one order."""
    times = np.sum([marks.asked(cell) for cell in marks.orders()], axis=0)
    found: Mask = times > 1
    return found


def _consistency(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the items asked in several orders, the share in which every order got the same option.

    A reply that names none is no agreement.
    """
    record = Measure(reader=marks.reader, measure="order_consistency")
    if not marks.permuted:
        return
    least = np.full(study.facts.n, len(LETTERS))
    most = np.full(study.facts.n, -1)
    for cell in marks.orders():
        asked, choice = marks.asked(cell), marks.said[cell].choice
        least = np.where(asked, np.minimum(least, choice), least)
        most = np.where(asked, np.maximum(most, choice), most)
    yield study.share(record, (least == most) & (least >= 0), _several(marks))


def _always(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the items asked in several orders, the share that was right in every one."""
    if not marks.permuted:
        return
    always = np.ones(study.facts.n, dtype=bool)
    for cell in marks.orders():
        always &= marks.right(cell) | ~marks.asked(cell)
    record = Measure(reader=marks.reader, measure="accuracy_all_orders")
    yield study.share(record, always, _several(marks))


POSITION_METRICS: Final = (
    Metric(
        name="position_share",
        says="share of each letter among the letters given, over all orders",
        make=_shares,
    ),
    Metric(
        name="position_bias",
        says="total variation distance of the letters given from the right letters",
        make=_bias,
    ),
    Metric(
        name="order_consistency",
        says="share of items in which every order of the options got the same option",
        make=_consistency,
    ),
    Metric(
        name="accuracy_all_orders",
        says="share of items that were right in every order of the options",
        make=_always,
    ),
)


# ---------------------------------------------------------------- probabilities
# What the first token's probabilities say: accuracy by the likeliest option, and calibration.

_BINS: Final = 10


class _Known(NamedTuple):
    """Items with probabilities, the likeliest option (-1 where two tie), and its probability."""

    items: Ints
    table: Floats
    likeliest: Ints
    confidence: Floats
    right: Mask


def _known(marks: Marks, study: Study) -> _Known | None:
    """None where the reader gave no probabilities."""
    return study.once(("known", marks.reader), lambda: _made(marks))


def _made(marks: Marks) -> _Known | None:
    table = marks.said[MCQ].probabilities if MCQ in marks.said else None
    if table is None:
        return None
    known = marks.asked(MCQ) & (marks.facts.answer >= 0) & ~np.isnan(table[:, 0])
    items = np.flatnonzero(known)
    found = np.nan_to_num(table[items])
    confidence = found.max(axis=1)
    tied = (found == confidence[:, None]).sum(axis=1) > 1
    likeliest = np.where(tied, -1, found.argmax(axis=1))
    right = likeliest == marks.facts.answer[items]
    return _Known(items, found, likeliest, confidence, right)


def _accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the items with probabilities, the share whose likeliest option is right; of two equally
    likely, none is chosen."""
    known = _known(marks, study)
    if known is None:
        return
    ties = int((known.likeliest < 0).sum())
    without = int(marks.asked(MCQ).sum()) - known.items.size
    said = [f"{ties} ties counted as wrong"] if ties else []
    said += [f"{without} without probabilities left out"] if without else []
    note = "; ".join(said) or None
    record = Measure(reader=marks.reader, measure="accuracy_logprobs", note=note)
    yield study.share_of(record, known.right, study.facts.clusters[known.items])


def _ece(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Expected calibration error: ten bins of the likeliest option's probability c, and over them
    the mean of |mean c - share right|, weighted by their replies. Resamples are centred on it."""
    from overread.stats import informative

    known = _known(marks, study)
    if known is None:
        return
    record = Measure(reader=marks.reader, measure="ece")
    if not informative(known.confidence):
        note = "the probabilities say no more than the letter"
        yield msgspec.structs.replace(record, n=int(known.items.size), note=note)
        return
    bins = np.minimum(np.floor(_BINS * known.confidence), _BINS - 1).astype(np.int64)
    columns = np.zeros((study.facts.n, _BINS + 1))
    columns[known.items, bins] = known.confidence - known.right
    columns[known.items, _BINS] = 1.0
    made = drafted(record, columns, _gaps, columns[:, _BINS] > 0)
    yield msgspec.structs.replace(made, centred=True)


def _gaps(totals: Floats) -> Floats:
    """Σ over bins of |Σ (c - right)| over all replies."""
    return quotients(np.abs(totals[:, :_BINS]).sum(axis=1), totals[:, _BINS])


def _brier(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Brier score: half the squared distance of the options' probabilities from 1 for the right
    one and 0 for the others, mean over items; 0 is perfect, 1 all on a wrong option."""
    known = _known(marks, study)
    if known is None:
        return
    truth = np.zeros_like(known.table)
    truth[np.arange(known.items.size), study.facts.answer[known.items]] = 1.0
    columns = np.zeros((study.facts.n, 2))
    columns[known.items, 0] = ((known.table - truth) ** 2).sum(axis=1) / 2
    columns[known.items, 1] = 1.0
    record = Measure(reader=marks.reader, measure="brier")
    yield drafted(record, columns, ratio, columns[:, 1] > 0)


PROBABILITY_METRICS: Final = (
    Metric(
        name="accuracy_logprobs",
        says="share of items whose likeliest option by the first token is right",
        make=_accuracy,
    ),
    Metric(
        name="ece",
        says="expected calibration error of the likeliest option's probability, ten bins",
        make=_ece,
    ),
    Metric(
        name="brier",
        says="half the squared distance of the options' probabilities from the truth",
        make=_brier,
    ),
)
