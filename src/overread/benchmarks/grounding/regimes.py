"""How sure a reader was, by what became of the answer and by tenth of P(Yes) (GROUNDING 8.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import NO_ROW, Marks
from overread.benchmarks.grounding.proportions import clustered
from overread.benchmarks.grounding.study import Done, Metric, Study
from overread.case import Measure
from overread.stats import Z95, Bin, calibration_bins, design_effect

__all__ = ["METRICS"]

Floats = NDArray[np.float64]
_BINS: Final = 10


def _regimes(marks: Marks, edition: Edition) -> Mapping[str, Mask]:
    """Grounded-correct, ungrounded-correct and incorrect: who stands where [D8]."""
    target, confident = marks.target_mask, ~np.isnan(marks.p_yes)
    if edition.regimes == "figure":
        row = (marks.original > NO_ROW) & confident
        grounded = marks.correct & (target > NO_ROW) & (target != marks.original)
        return {
            "grounded_correct": row & grounded,
            "ungrounded_correct": row & marks.correct & ~grounded,
            "incorrect": row & ~marks.correct,
        }
    parsed = (marks.original >= 0) & (marks.truth >= 0) & confident
    boxed = marks.facts.boxed
    grounded = marks.correct & boxed & (target >= 0) & (target != marks.original)
    return {
        "grounded_correct": parsed & grounded,
        "ungrounded_correct": parsed & marks.correct & ~grounded,
        "incorrect": parsed & ~marks.correct,
    }


def _published_regimes(marks: Marks) -> Mapping[str, Mask]:
    """The definition of the published metrics, by the swap: regimes may overlap."""
    parsed, confident = marks.original >= 0, ~np.isnan(marks.p_yes)
    target, swap = marks.target_mask, marks.swap
    flipped = marks.correct & marks.facts.boxed & (target >= 0) & (target != marks.original)
    kept = marks.correct & (swap >= 0) & (swap == marks.original)
    return {
        "grounded_correct": flipped & confident,
        "ungrounded_correct": kept & confident,
        "incorrect": parsed & ~marks.correct & confident,
    }


def _make_confidence(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    edition = study.edition
    said_yes = marks.original == 1
    p_answer = np.where(said_yes, marks.p_yes, 1 - marks.p_yes)
    p_yes = np.clip(marks.p_yes, 0, 1) if edition.regimes == "figure" else marks.p_yes
    for regime, members in _regimes(marks, edition).items():
        yield _mean(marks, {"regime": regime}, p_yes, members, edition)
        yield from _histogram(marks, regime, members)
        if edition.regimes == "parsed":
            of_answer = {"regime": regime, "of": "answer"}
            yield _mean(marks, of_answer, p_answer, members, edition)
    if edition.regimes == "figure":
        for regime, members in _published_regimes(marks).items():
            by = {"regime": regime, "definition": "metrics"}
            yield _mean(marks, by, marks.p_yes, members, edition)
    for b in _reliability(marks, _reliable(marks, edition)):
        yield Measure(
            reader=marks.reader,
            measure="confidence",
            by={"bin": str(b.index)},
            value=b.mean_confidence,
            n=b.n,
            method="mean P(Yes) of the bin",
        )


def _mean(
    marks: Marks, by: dict[str, str], values: Floats, members: Mask, edition: Edition
) -> Measure:
    """A mean confidence. Its standard error is SD / √n, SD with n - 1."""
    kept = values[members]
    n = int(kept.size)
    made = Measure(reader=marks.reader, measure="confidence", by=by, n=n)
    if n == 0:
        note = "no answer with a probability is in this regime"
        return msgspec.structs.replace(made, note=note)
    value = float(kept.mean())
    if n < 2:
        return msgspec.structs.replace(made, value=value, note="one case has no interval")
    se = float(kept.std(ddof=1) / np.sqrt(n)) if kept.min() < kept.max() else 0.0
    made = msgspec.structs.replace(made, value=value, se=se)
    if edition.intervals == "bootstrap":
        return made
    effect = design_effect(kept, marks.facts.patients[members])
    half = Z95 * se * float(np.sqrt(effect))
    low, high = min(max(0.0, value - half), value), max(min(1.0, value + half), value)
    if not low < high:
        return msgspec.structs.replace(made, note="all are equally sure; no interval")
    return msgspec.structs.replace(made, low=low, high=high, method=f"normal:deff={effect:.3f}")


def _histogram(marks: Marks, regime: str, members: Mask) -> Iterator[Measure]:
    """How many of a regime stand in each tenth of P(Yes)."""
    values = np.clip(marks.p_yes[members], 0, 1)
    for b in calibration_bins(values, values, edges="floor"):
        yield Measure(
            reader=marks.reader,
            measure="confidence",
            by={"regime": regime, "bin": str(b.index)},
            value=b.mean_confidence,
            n=b.n,
            method="mean P(Yes) of the bin",
        )


def _reliable(marks: Marks, edition: Edition) -> Mask:
    """Whom the reliability diagram is about; the published one holds -1 too."""
    row = marks.original > NO_ROW if edition.regimes == "figure" else marks.original >= 0
    kept: Mask = row & ~np.isnan(marks.p_yes) & (marks.truth >= 0)
    return kept


def _reliability(marks: Marks, kept: Mask) -> list[Bin]:
    """Ten bins of P(Yes) against the share of Yes in the key."""
    # The figures of the paper take what lies outside [0, 1] for its nearer end.
    p_yes = np.clip(marks.p_yes[kept], 0, 1)
    return calibration_bins(p_yes, marks.truth[kept].astype(float), edges="floor")


def _make_reliability(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    kept = _reliable(marks, study.edition)
    bins = _reliability(marks, kept)
    if not bins:
        note = "no answer came with a probability"
        yield Measure(reader=marks.reader, measure="reliability", n=0, note=note)
    where = np.minimum(np.floor(10 * np.clip(marks.p_yes[kept], 0, 1)), _BINS - 1)
    patients, yes = marks.facts.patients[kept], marks.truth[kept] == 1
    if study.edition.intervals == "bootstrap":
        patients = np.arange(yes.size)  # for the authors every case stands alone
    for b in bins:
        inside = where == b.index
        made = Measure(
            reader=marks.reader,
            measure="reliability",
            by={"bin": str(b.index)},
            value=b.rate,
            n=b.n,
            k=int(yes[inside].sum()),
        )
        spread = clustered(yes[inside], patients[inside])
        why = None if spread else "one case has no interval"
        yield msgspec.structs.replace(made, note=why, **spread)


_ORIGINAL: Final = ("original",)
METRICS: Final = (
    Metric(
        name="confidence",
        says="mean P(Yes) by regime: grounded-correct, ungrounded-correct, incorrect",
        needs=_ORIGINAL,
        make=_make_confidence,
    ),
    Metric(
        name="reliability",
        says="share of Yes in the key by tenth of P(Yes)",
        needs=_ORIGINAL,
        make=_make_reliability,
    ),
)
