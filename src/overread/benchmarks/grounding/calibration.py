"""Was a reader right to be as sure as it was? (GROUNDING 8.1)

P(Yes) is what is stored. Three calibration errors are told apart [D7]: of P(Yes) against the key
(`ece_label`), of the confidence in the answer given against its correctness (`ece_answer`), and the
published mixture of both (`ece_authors`). `ece` is the edition's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import (
    NO_ROW,
    Column,
    Done,
    Making,
    Marks,
    Mask,
    Metric,
    Study,
)
from overread.benchmarks.grounding.proportions import clustered, joined
from overread.case import Measure
from overread.stats import (
    Z95,
    Bin,
    auroc,
    auroc_stepwise,
    bootstrap_auroc_many,
    brier,
    calibration_bins,
    design_effect,
    ece,
    informative,
    resample_interval,
)

__all__ = ["METRICS", "auroc_bounds", "columns"]

Floats = NDArray[np.float64]

_MOST_MISSING: Final = 0.1
_BINS: Final = 10
# Gaps are summed in whole parts of this: exact in any order, and finer than any interval.
_UNIT: Final = 1024


class Calibrated(NamedTuple):
    """Parsed originals with a key and a confidence, in file order; or why there is nothing."""

    places: NDArray[np.int64]
    p_yes: Floats
    truth: Floats
    correct: Floats
    withheld: str | None
    note: str | None = None

    @property
    def p_answer(self) -> Floats:
        """The confidence in the answer that was given: P(Yes) of a Yes, 1 - P(Yes) of a No."""
        said_yes = self.correct == self.truth
        return np.where(said_yes, self.p_yes, 1 - self.p_yes)


def calibrated(marks: Marks, edition: Edition) -> Calibrated:
    """Whom calibration is about, and whether it is withheld.

    Withheld where at least 90 % of the confidences are exactly 0 or 1: those are answers, not
    probabilities. `corrected` also withholds it where more than a tenth are missing [D9]. Numbers
    outside [0, 1], which only somebody else's file can hold, are used as they stand and counted in
    the note.
    """
    with_key = (marks.original >= 0) & (marks.truth >= 0)
    usable = ~np.isnan(marks.p_yes)
    strict = edition.missing_confidence == "withhold"
    places = marks.order[(with_key & usable)[marks.order]]
    asked, missing = int(with_key.sum()), int((with_key & ~usable).sum())
    p_yes = marks.p_yes[places]
    withheld, notes = None, []
    if odd := int(((p_yes < 0) | (p_yes > 1)).sum()):
        notes.append(f"{odd} confidences lie outside 0 to 1")
    if not asked:
        withheld = "no parsed answer with a key"
    elif not places.size:
        withheld = "no answer came with a probability"
    elif strict and missing > _MOST_MISSING * asked:
        withheld = f"{missing} of {asked} answers came without a probability"
    elif not informative(p_yes):
        withheld = "nearly all confidences are exactly 0 or 1"
    elif missing:
        notes.append(f"left out: {missing} without a probability")
    return Calibrated(
        places,
        p_yes,
        marks.truth[places].astype(float),
        (marks.original[places] == marks.truth[places]).astype(float),
        withheld,
        joined(*notes),
    )


Value = Callable[[Calibrated, Marks, Study], Measure]


def _calibration_maker(name: str, value: Value) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        found = calibrated(marks, study.edition)
        made = Measure(reader=marks.reader, measure=name)
        if found.withheld:
            yield msgspec.structs.replace(made, n=int(found.places.size), note=found.withheld)
            return
        record = value(found, marks, study)
        yield msgspec.structs.replace(
            record,
            reader=marks.reader,
            measure=name,
            n=int(found.places.size),
            note=joined(record.note, found.note),
        )

    return make


# ---------------------------------------------------------------- AUROC and Brier


def _auroc(found: Calibrated, marks: Marks, study: Study) -> Measure:
    """AUROC of P(Yes) against the key, mid-rank with DeLong's interval by patient [D6]."""
    empty, edition = Measure(reader="", measure="auroc"), study.edition
    if edition.auroc == "stepwise":
        value = auroc_stepwise(found.p_yes, found.truth)
        if value is None:
            return msgspec.structs.replace(empty, note="one class only")
        low, high = study.auroc_bounds[marks.reader]
        drawn = f"bootstrap:{edition.boot}:{edition.seed}"
        return msgspec.structs.replace(empty, value=value, low=low, high=high, method=drawn)
    patients = marks.facts.patients[found.places]
    interval = auroc(found.p_yes, found.truth, patients)
    if interval.point is None:
        return msgspec.structs.replace(empty, note="one class only")
    return msgspec.structs.replace(
        empty,
        value=interval.point,
        se=interval.sd,
        low=interval.low,
        high=interval.high,
        method="delong" if interval.low is not None else None,
        note=None if interval.low is not None else "too few of a class for an interval",
    )


def auroc_bounds(study: Study) -> dict[str, tuple[float | None, float | None]]:
    """The published bounds of every reader; they share their random numbers."""
    found = {marks.reader: calibrated(marks, study.edition) for marks in study.marks}
    kept = {name: part for name, part in found.items() if not part.withheld}
    samples = [(part.p_yes, part.truth) for part in kept.values()]
    drawn = bootstrap_auroc_many(samples, study.edition.boot, study.edition.seed)
    return dict(zip(kept, drawn, strict=True))


def _brier(found: Calibrated, marks: Marks, study: Study) -> Measure:
    """Mean (P(Yes) - y)²."""
    interval = brier(found.p_yes, found.truth, marks.facts.patients[found.places])
    value = float(np.mean((found.p_yes - found.truth) ** 2))
    made = Measure(reader="", measure="brier", value=value)
    if study.edition.intervals == "bootstrap" or interval.low is None:
        return made
    return msgspec.structs.replace(
        made, se=interval.sd, low=interval.low, high=interval.high, method="clustered"
    )


# ---------------------------------------------------------------- calibration errors


def _pairs(found: Calibrated, kind: str) -> tuple[Floats, Floats]:
    """The confidence and the outcome a calibration error sets against each other."""
    if kind == "ece_label":
        return found.p_yes, found.truth
    if kind == "ece_answer":
        return found.p_answer, found.correct
    return found.p_yes, found.correct


_KINDS: Final = ("ece_answer", "ece_label", "ece_authors")


def columns(study: Study) -> Mapping[Column, Floats]:
    """What ECE's interval needs of every resample: per bin, confidence less outcome; and n.

    n_b/N · |mean c - mean o| is |Σc - Σo| / N, so the bin's own count is not needed.
    """
    found: dict[Column, Floats] = {}
    if study.edition.intervals == "bootstrap":
        return found  # the published code gives ECE no interval
    for marks in study.marks:
        part = calibrated(marks, study.edition)
        if part.withheld:
            continue
        found["ece", marks.reader, "n"] = _spread_out(part, np.ones(part.places.size), marks)
        for kind in _KINDS:
            confidence, outcome = _pairs(part, kind)
            bins = np.minimum(np.digitize(confidence, np.linspace(0, 1, _BINS + 1)) - 1, _BINS - 1)
            bins[confidence > 1] = _BINS  # no bin holds it, as none holds what is below 0
            for b in range(_BINS):
                gap = np.where(bins == b, np.rint(_UNIT * (confidence - outcome)), 0.0)
                if gap.any():
                    found[kind, marks.reader, str(b)] = _spread_out(part, gap, marks)
    return found


def _spread_out(part: Calibrated, values: Floats, marks: Marks) -> Floats:
    column = np.zeros(marks.truth.size)
    column[part.places] = values
    return column


def _ece_maker(name: str) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        kind = name if name != "ece" else f"ece_{study.edition.ece}"
        found = calibrated(marks, study.edition)
        made = Measure(reader=marks.reader, measure=name, n=int(found.places.size))
        if found.withheld:
            yield msgspec.structs.replace(made, note=found.withheld)
            return
        value = ece(*_pairs(found, kind))
        made = msgspec.structs.replace(made, value=value, note=found.note)
        if study.edition.intervals == "bootstrap" or found.places.size < 2 or value is None:
            yield made
            return
        gaps = sum(
            np.abs(study.resampled((kind, marks.reader, str(b))))
            for b in range(_BINS)
            if study.has((kind, marks.reader, str(b)))
        )
        n = study.resampled(("ece", marks.reader, "n"))
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = np.asarray(gaps / n) / _UNIT
        # Binned errors are biased upward when resampled; the interval is stretched to its point.
        low, high, sd = resample_interval(drawn, value)
        # Not low == high: the parts of _UNIT would leave a hair between them.
        if np.nanmin(drawn) == np.nanmax(drawn):
            yield msgspec.structs.replace(made, note=joined(found.note, "resamples do not differ"))
            return
        boot = f"patients:{study.edition.boot}:{study.edition.seed}"
        yield msgspec.structs.replace(made, low=low, high=high, sd_boot=sd, method=boot)

    return make


_ORIGINAL: Final = ("original",)
_CALIBRATION: Final = (
    Metric(
        name="auroc",
        says="how well P(Yes) tells Yes from No",
        needs=_ORIGINAL,
        make=_calibration_maker("auroc", _auroc),
    ),
    Metric(
        name="brier",
        says="mean squared distance of P(Yes) from the key",
        needs=_ORIGINAL,
        make=_calibration_maker("brier", _brier),
    ),
    Metric(
        name="ece", says="the edition's calibration error", needs=_ORIGINAL, make=_ece_maker("ece")
    ),
    Metric(
        name="ece_answer",
        says="confidence in the answer given against its correctness",
        needs=_ORIGINAL,
        make=_ece_maker("ece_answer"),
    ),
    Metric(
        name="ece_label",
        says="P(Yes) against the key",
        needs=_ORIGINAL,
        make=_ece_maker("ece_label"),
    ),
    Metric(
        name="ece_authors",
        says="P(Yes) against correctness, as published",
        needs=_ORIGINAL,
        make=_ece_maker("ece_authors"),
    ),
)


# ---------------------------------------------------------------- confidence by regime and by tenth
# How sure a reader was, by what became of the answer and by tenth of P(Yes) (GROUNDING 8.2).


def _edition_regimes(marks: Marks, edition: Edition) -> Mapping[str, Mask]:
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
    for regime, members in _edition_regimes(marks, edition).items():
        yield _mean_confidence(marks, {"regime": regime}, p_yes, members, edition)
        yield from _histogram(marks, regime, members)
        if edition.regimes == "parsed":
            of_answer = {"regime": regime, "of": "answer"}
            yield _mean_confidence(marks, of_answer, p_answer, members, edition)
    if edition.regimes == "figure":
        for regime, members in _published_regimes(marks).items():
            by = {"regime": regime, "definition": "metrics"}
            yield _mean_confidence(marks, by, marks.p_yes, members, edition)
    for b in _reliability_bins(marks, _reliability_cases(marks, edition)):
        yield Measure(
            reader=marks.reader,
            measure="confidence",
            by={"bin": str(b.index)},
            value=b.mean_confidence,
            n=b.n,
            method="mean P(Yes) of the bin",
        )


def _mean_confidence(
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


def _reliability_cases(marks: Marks, edition: Edition) -> Mask:
    """Whom the reliability diagram is about; the published one holds -1 too."""
    row = marks.original > NO_ROW if edition.regimes == "figure" else marks.original >= 0
    kept: Mask = row & ~np.isnan(marks.p_yes) & (marks.truth >= 0)
    return kept


def _reliability_bins(marks: Marks, kept: Mask) -> list[Bin]:
    """Ten bins of P(Yes) against the share of Yes in the key."""
    # The figures of the paper take what lies outside [0, 1] for its nearer end.
    p_yes = np.clip(marks.p_yes[kept], 0, 1)
    return calibration_bins(p_yes, marks.truth[kept].astype(float), edges="floor")


def _make_reliability(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    kept = _reliability_cases(marks, study.edition)
    bins = _reliability_bins(marks, kept)
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


_CONFIDENCE: Final = (
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
METRICS: Final = (*_CALIBRATION, *_CONFIDENCE)
