"""What the first token's probabilities say: accuracy by the likeliest option, and calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Floats, Ints, Mask, drafted, quotients, ratio
from overread.benchmarks.medcmr.marks import MCQ, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = ["METRICS"]

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


METRICS: Final = (
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
