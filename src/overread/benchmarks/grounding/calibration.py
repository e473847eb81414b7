"""Was a reader right to be as sure as it was? (GROUNDING 8.1, 8.2)

P(Yes) is what is stored. Three calibration errors are told apart [D7]: of P(Yes) against the key
(`ece_label`), of the confidence in the answer given against its correctness (`ece_answer`), and the
published mixture of both (`ece_authors`). `ece` is the edition's own. Then how sure a reader was by
what became of the answer, and by tenth of P(Yes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.benchmarks.grounding import authors
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import NO_ROW, Marks, Study
from overread.case import Measure, Method
from overread.measuring.estimates import (
    Floats,
    Ints,
    Mask,
    bounded,
    clustered_share,
    flagged_few,
)
from overread.measuring.notes import NOTHING, ONE_CLUSTER, noted, remarked, with_method
from overread.measuring.specs import Spec

WITHHELD: Final = "withheld"
"""Flag of a reader whose confidences cannot be calibrated; the note says why."""

DEBIASED: Final = "debiased"
"""Flag of a calibration error without what chance adds: p tests it, and it has no interval."""

_MOST_MISSING: Final = 0.1
_BINS: Final = 10
_CONSISTENCY: Final = 999
# Chances drawn once for all readers: 32 MB of them.
_SHARED: Final = 4_000_000


class Calibrated(NamedTuple):
    """Parsed originals with a key and a confidence, in file order; or why there is nothing."""

    places: Ints
    p_yes: Floats
    truth: Floats
    correct: Floats
    withheld: str | None
    note: str = ""

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
    elif not stats.informative(p_yes):
        withheld = "nearly all confidences are exactly 0 or 1"
    elif missing:
        notes.append(f"left out: {missing} without a probability")
    return Calibrated(
        places,
        p_yes,
        marks.truth[places].astype(float),
        (marks.original[places] == marks.truth[places]).astype(float),
        withheld,
        "; ".join(notes),
    )


def _calibrated(run: Study, m: Marks) -> Calibrated:
    return run.once(("calibrated", m.reader), lambda: calibrated(m, run.edition))


_Number: TypeAlias = Callable[[Study, Marks, Calibrated, Measure], Measure]


def _maker(name: str, number: _Number) -> Callable[[Study, Marks], Iterator[Measure]]:
    """What makes a number of whom calibration is about; its record says what is odd about them."""

    def make(run: Study, m: Marks) -> Iterator[Measure]:
        found = _calibrated(run, m)
        made = Measure(reader=m.reader, measure=name, n=int(found.places.size))
        if found.withheld:
            yield noted(made, WITHHELD, found.withheld)
        else:
            yield number(run, m, found, remarked(made, found.note))

    return make


# ---------------------------------------------------------------- AUROC and Brier

_ONE_CLASS: Final = "one class only"


def _auroc(run: Study, m: Marks, found: Calibrated, made: Measure) -> Measure:
    """AUROC of P(Yes) against the key by mid-ranks, its interval by patient [D6]."""
    if run.edition.auroc == "stepwise":
        value = stats.auroc_stepwise(found.p_yes, found.truth)
        if value is not None:
            low, high = run.once(("published auroc",), lambda: _published_bounds(run))[m.reader]
            how = Method(kind="bootstrap", boot=run.edition.boot, seed=run.edition.seed)
            return with_method(replace(made, value=value, low=low, high=high), how)
    else:
        return area_under(made, found.p_yes, found.truth, m.facts.patients[found.places])
    return noted(made, NOTHING, _ONE_CLASS)


def area_under(made: Measure, scores: Floats, labels: Floats, patients: Ints) -> Measure:
    """The record of an AUROC; its interval stands on the patients of the rarer class."""
    found = stats.auroc(scores, labels, patients)
    made = replace(made, value=found.point)
    if found.point is None:
        return noted(made, NOTHING, _ONE_CLASS)
    if (patients == patients[0]).all():
        return noted(made, ONE_CLUSTER)
    made = replace(made, se=found.sd, low=found.low, high=found.high)
    if found.low is None:
        return remarked(made, "too few of a class for an interval")
    rarer = min((patients[labels == label] for label in (0, 1)), key=stats.worth_in_clusters)
    return flagged_few(with_method(made, Method(kind="newcombe auroc")), rarer)


def _published_bounds(run: Study) -> dict[str, tuple[float | None, float | None]]:
    found = {m.reader: _calibrated(run, m) for m in run.marks}
    kept = {name: (part.p_yes, part.truth) for name, part in found.items() if not part.withheld}
    return authors.auroc_bounds(kept, run.edition)


def _brier(run: Study, m: Marks, found: Calibrated, made: Measure) -> Measure:
    """Mean (P(Yes) - y)²."""
    squares = (found.p_yes - found.truth) ** 2
    made = replace(made, value=float(np.mean(squares)))
    return made if run.published else _with_interval(made, squares, m.facts.patients[found.places])


def _with_interval(made: Measure, values: Floats, patients: Ints) -> Measure:
    """The record of a mean with the interval of its variance by patient."""
    if (patients == patients[0]).all():
        return noted(made, ONE_CLUSTER)
    within = values.min() >= 0 and values.max() <= 1
    limits = (0.0, 1.0) if within else (-np.inf, np.inf)
    found = stats.clustered_mean(float(values.mean()), values, patients, limits)
    return flagged_few(bounded(made, *found), patients, values)


# ---------------------------------------------------------------- calibration errors


def _pairs(found: Calibrated, kind: str) -> tuple[Floats, Floats]:
    """The confidence and the outcome a calibration error sets against each other."""
    confidence = found.p_answer if kind == "ece_answer" else found.p_yes
    return confidence, found.truth if kind == "ece_label" else found.correct


def _ece(run: Study, m: Marks, found: Calibrated, made: Measure) -> Measure:
    """A calibration error: as published, or without what chance alone adds to it.

    A binned error is above 0 however well calibrated a reader is, and the more so in resamples, so
    that no percentile interval holds the truth: p is that of outcomes drawn by the probabilities
    themselves (`stats.debiased_ece`, `stats.calibrated_p`). What lies outside [0, 1] then counts as
    the nearer end. `beside` are the whole error, as it was defined, and that without chance's part.
    """
    kind = made.measure if made.measure != "ece" else f"ece_{run.edition.ece}"
    confidence, outcome = _pairs(found, kind)
    if run.published:
        return replace(made, value=stats.ece(confidence, outcome))
    value, plain, p = run.once(
        ("calibration error", kind, m.reader), lambda: _calibration_error(run, m, found, kind)
    )
    seed = run.edition.seed
    how = Method(kind="consistency resampling", boot=_CONSISTENCY, seed=seed)
    made = with_method(replace(made, value=value, p=p), how)
    if value is not None and plain is not None:
        made = replace(made, beside=(plain, value))
    return noted(made, DEBIASED, "less what chance adds; p is that of a calibrated model")


def _calibration_error(
    run: Study, m: Marks, found: Calibrated, kind: str
) -> tuple[float | None, float | None, float | None]:
    """A calibration error without chance's part, the whole of it, and p; `ece` is one of others."""
    confidence, outcome = _pairs(found, kind)
    given = np.clip(confidence, 0, 1), outcome, m.facts.patients[found.places]
    seed = run.edition.seed
    chances = None
    if (most := _CONSISTENCY * run.n) <= _SHARED:  # of more cases each reader draws its own again
        chances = run.once(("chances",), lambda: np.random.RandomState(seed).random_sample(most))
    return (
        stats.debiased_ece(*given, edges="linspace"),
        stats.ece(confidence, outcome),
        stats.calibrated_p(
            *given, edges="linspace", times=_CONSISTENCY, seed=seed, chances=chances
        ),
    )


# ---------------------------------------------------------------- confidence by regime and by tenth


def _regimes(m: Marks, edition: Edition) -> Mapping[str, Mask]:
    """Grounded-correct, ungrounded-correct and incorrect: who stands where [D8]."""
    among = m.parsed & (m.truth >= 0)
    flipped = m.facts.boxed & (m.target_mask >= 0) & (m.target_mask != m.original)
    if edition.regimes == "figure":
        among, flipped = authors.regimes_of_figure(m)
    among = among & ~np.isnan(m.p_yes)
    return {
        "grounded_correct": among & m.correct & flipped,
        "ungrounded_correct": among & m.correct & ~flipped,
        "incorrect": among & ~m.correct,
    }


def _make_confidence(run: Study, m: Marks) -> Iterator[Measure]:
    edition = run.edition
    p_answer = np.where(m.original == 1, m.p_yes, 1 - m.p_yes)
    p_yes = np.clip(m.p_yes, 0, 1) if edition.regimes == "figure" else m.p_yes
    for regime, members in _regimes(m, edition).items():
        yield _mean_confidence(run, m, {"regime": regime}, p_yes, members)
        values = np.clip(m.p_yes[members], 0, 1)
        for b in stats.calibration_bins(values, values, edges="floor"):
            yield _mean_of_bin(m, {"regime": regime, "bin": str(b.index)}, b)
        if edition.regimes == "parsed":
            of_answer = {"regime": regime, "of": "answer"}
            yield _mean_confidence(run, m, of_answer, p_answer, members)
    if edition.regimes == "figure":
        for regime, members in authors.regimes_by_swap(m).items():
            by = {"regime": regime, "definition": "metrics"}
            yield _mean_confidence(run, m, by, m.p_yes, members)
    for b in _reliability_bins(m, _reliability_cases(m, edition)):
        yield _mean_of_bin(m, {"bin": str(b.index)}, b)


def _mean_of_bin(m: Marks, by: dict[str, str], b: stats.Bin) -> Measure:
    made = Measure(reader=m.reader, measure="confidence", by=by, value=b.mean_confidence, n=b.n)
    return with_method(made, Method(kind="mean P(Yes) of the bin"))


def _mean_confidence(
    run: Study, m: Marks, by: dict[str, str], values: Floats, members: Mask
) -> Measure:
    """A mean confidence, with the interval of `stats.clustered_mean`.

    Published: without one; the standard error is SD / √n, SD with n - 1.
    """
    kept = values[members]
    n = int(kept.size)
    made = Measure(reader=m.reader, measure="confidence", by=by, n=n)
    if n == 0:
        return noted(made, NOTHING, "no answer with a probability is in this regime")
    value = float(kept.mean())
    made = replace(made, value=value)
    if n < 2:
        return noted(made, ONE_CLUSTER)
    if run.published:
        se = float(kept.std(ddof=1) / np.sqrt(n)) if kept.min() < kept.max() else 0.0
        return replace(made, se=se)
    return _with_interval(made, kept, m.facts.patients[members])


def _reliability_cases(m: Marks, edition: Edition) -> Mask:
    """Whom the reliability diagram is about; the published one holds -1 too."""
    row = m.original > NO_ROW if edition.regimes == "figure" else m.parsed
    kept: Mask = row & ~np.isnan(m.p_yes) & (m.truth >= 0)
    return kept


def _reliability_bins(m: Marks, kept: Mask) -> list[stats.Bin]:
    """Ten bins of P(Yes) against the share of Yes in the key."""
    # The figures of the paper take what lies outside [0, 1] for its nearer end.
    p_yes = np.clip(m.p_yes[kept], 0, 1)
    return stats.calibration_bins(p_yes, m.truth[kept].astype(float), edges="floor")


def _make_reliability(run: Study, m: Marks) -> Iterator[Measure]:
    kept = _reliability_cases(m, run.edition)
    bins = _reliability_bins(m, kept)
    if not bins:
        made = Measure(reader=m.reader, measure="reliability", n=0)
        yield noted(made, NOTHING, "no answer came with a probability")
    where = np.minimum(np.floor(10 * np.clip(m.p_yes[kept], 0, 1)), _BINS - 1)
    patients, yes = m.facts.patients[kept], m.truth[kept] == 1
    if run.published:
        patients = np.arange(yes.size)  # for the authors every case stands alone
    for b in bins:
        inside = where == b.index
        made = Measure(reader=m.reader, measure="reliability", by={"bin": str(b.index)})
        yield clustered_share(made, yes[inside], patients[inside], robust=run.robust)


SPECS: Final = (
    Spec(name="auroc", says="how well P(Yes) tells Yes from No", make=_maker("auroc", _auroc)),
    Spec(
        name="brier",
        says="mean squared distance of P(Yes) from the key",
        better="lower",
        make=_maker("brier", _brier),
    ),
    *(
        Spec(name=name, says=says, better="lower", make=_maker(name, _ece))
        for name, says in (
            ("ece", "the edition's calibration error"),
            ("ece_answer", "confidence in the answer given against its correctness"),
            ("ece_label", "P(Yes) against the key"),
            ("ece_authors", "P(Yes) against correctness, as published"),
        )
    ),
    Spec(
        name="confidence",
        says="mean P(Yes) by regime: grounded-correct, ungrounded-correct, incorrect",
        better=None,
        make=_make_confidence,
    ),
    Spec(
        name="reliability",
        says="share of Yes in the key by tenth of P(Yes)",
        better=None,
        make=_make_reliability,
    ),
)
