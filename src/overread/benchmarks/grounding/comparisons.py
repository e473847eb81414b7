"""Readers against each other on the cases both decided, and against the text-only baselines.

Outcomes are those of accuracy, UAR, CGR and IS (GROUNDING 11). A difference stands on the shared
cases only; fewer than ten shared cases make no comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import Marks
from overread.benchmarks.grounding.study import Column, Done, Making, Metric, Study
from overread.case import Measure
from overread.stats import (
    design_effect,
    paired_bootstrap_many,
    paired_difference,
    ratio_interval,
    resample_interval,
    sign_flip_p,
)

__all__ = ["METRICS", "columns"]

Floats = NDArray[np.float64]
Counting = Callable[[Marks], pr.Count]

_COUNTS: Final[Mapping[str, Counting]] = {
    "accuracy": pr.accuracy,
    "uar": pr.uar,
    "cgr": pr.cgr,
    "is": pr.is_correct,
}
_FEWEST: Final = 10
BASELINE: Final = "text_baseline"
PAIRWISE: Final = "pairwise"


class Comparison(NamedTuple):
    """Reader a less reader b on one measure, as one row of one family."""

    kind: str
    metric: str
    a: Marks
    b: Marks

    @property
    def family(self) -> str:
        return f"{self.kind}|{self.metric}"


def planned(study: Study) -> list[Comparison]:
    """Every comparison of the edition, before it is known which stand on enough cases."""
    baselines = study.text_only
    by_name = sorted(study.marks, key=lambda marks: marks.reader)
    pairs = [(a, b) for i, a in enumerate(by_name) for b in by_name[i + 1 :]]
    found: list[Comparison] = []
    if study.edition.families == "pooled":
        if not baselines:
            return []  # without a baseline the published table is empty
        for b in baselines:
            for a in study.marks:
                found.append(Comparison(BASELINE, "accuracy", a, b))
                if a.modality != "vision":  # skipped by name in the published code [D24]
                    found.append(Comparison(BASELINE, "uar", a, b))
        return found + [Comparison(PAIRWISE, "accuracy", a, b) for a, b in pairs]
    for metric in _COUNTS:
        found += [
            Comparison(BASELINE, metric, a, b) for b in baselines for a in study.marks if a is not b
        ]
        found += [Comparison(PAIRWISE, metric, a, b) for a, b in pairs]
    return found


def _shared(comparison: Comparison, counts: Mapping[tuple[str, str], pr.Count]) -> Mask:
    one = counts[comparison.metric, comparison.a.reader].decided
    both: Mask = one & counts[comparison.metric, comparison.b.reader].decided
    return both


def _counts(study: Study) -> dict[tuple[str, str], pr.Count]:
    countings = {**_COUNTS, "is": pr.stability(study.edition)}
    return {
        (metric, marks.reader): counting(marks)
        for metric, counting in countings.items()
        for marks in study.marks
    }


def _pair(comparison: Comparison) -> tuple[str, str, str]:
    first, second = sorted((comparison.a.reader, comparison.b.reader))
    return comparison.metric, first, second


def columns(study: Study) -> Mapping[Column, Floats]:
    """Per pair of readers and measure, the difference of outcomes and who is shared."""
    if study.edition.intervals == "bootstrap":
        return {}
    counts = _counts(study)
    found: dict[Column, Floats] = {}
    for comparison in planned(study):
        metric, first, second = _pair(comparison)
        if ("shared", metric, first, second) in found:
            continue
        shared = _shared(comparison, counts)
        hits = [counts[metric, name].hits.astype(float) for name in (first, second)]
        found["shared", metric, first, second] = shared.astype(float)
        found["diff", metric, first, second] = np.where(shared, hits[0] - hits[1], 0.0)
    return found


def compared(study: Study) -> dict[tuple[str, str], list[Measure]]:
    """The records of all comparisons by (reader, measure); q comes later, by family."""
    counts = _counts(study)
    kept = [c for c in planned(study) if int(_shared(c, counts).sum()) >= _FEWEST]
    if study.edition.intervals == "bootstrap":
        records = _as_published(kept, counts, study.edition)
    else:
        records = [_resampled(c, counts, study) for c in kept]
    found: dict[tuple[str, str], list[Measure]] = {}
    for record in records:
        found.setdefault((record.reader, record.measure), []).append(record)
    return found


def _record(comparison: Comparison, family: str, n: int) -> Measure:
    return Measure(
        reader=comparison.a.reader,
        measure=f"diff_{comparison.metric}",
        by={"versus": comparison.b.reader, "comparison": comparison.kind},
        n=n,
        family=family,
    )


# ---------------------------------------------------------------- authors


def _as_published(
    kept: list[Comparison], counts: Mapping[tuple[str, str], pr.Count], edition: Edition
) -> list[Measure]:
    """The published paired bootstrap; all comparisons share one stream of random numbers."""
    outcomes: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for c in kept:
        places = pr.ordered(c.a, _shared(c, counts))
        pair = tuple(counts[c.metric, m.reader].hits[places].astype(np.int64) for m in (c.a, c.b))
        outcomes.append((pair[0], pair[1]))
    records = []
    # Their means are floating-point numbers, and lose some ties; so do ours here.
    results = paired_bootstrap_many(outcomes, edition.boot, edition.seed, exact_ties=False)
    for c, (a, b), result in zip(kept, outcomes, results, strict=True):
        record = msgspec.structs.replace(
            _record(c, c.family, result.n),
            value=result.point,
            sd_boot=result.sd,
            low=result.low,
            high=result.high,
            p=result.p,
            method=f"paired bootstrap:{edition.boot}:{edition.seed}",
            note=f"{a.mean():.4f} against {b.mean():.4f}",
        )
        records.append(record)
    return records


# ---------------------------------------------------------------- corrected


def _resampled(
    comparison: Comparison, counts: Mapping[tuple[str, str], pr.Count], study: Study
) -> Measure:
    """The difference with the patients resampled; p by the shift-and-reflect rule, in integers.

    p = share of resamples with |d* - d| >= |d|, at least 1/B. Where all resamples agree, as those
    of a single patient do, they cannot tell: the interval is Newcombe's, and p exact, from
    exchanging the readers within patients.
    """
    shared = _shared(comparison, counts)
    n = int(shared.sum())
    key = _pair(comparison)
    sign = 1 if comparison.a.reader == key[1] else -1
    hits = [counts[comparison.metric, m.reader].hits[shared] for m in (comparison.a, comparison.b)]
    change = hits[0].astype(np.int64) - hits[1].astype(np.int64)
    d = int(change.sum())
    family = f"{comparison.family}|{comparison.b.reader}"
    if comparison.kind == PAIRWISE:
        family = comparison.family
    note = f"{hits[0].mean():.4f} against {hits[1].mean():.4f}"
    made = msgspec.structs.replace(_record(comparison, family, n), value=d / n, note=note)
    drawn_n = np.rint(study.resampled(("shared", *key))).astype(np.int64)
    drawn_d = sign * np.rint(study.resampled(("diff", *key))).astype(np.int64)
    some = drawn_n > 0
    drawn_n, drawn_d = drawn_n[some], drawn_d[some]
    far = np.abs(drawn_d * n - d * drawn_n) >= abs(d) * drawn_n
    p = max(float(far.mean()), 1 / study.edition.boot)
    low, high, sd = ratio_interval(drawn_d, drawn_n, d / n)
    boot = f"patients:{study.edition.boot}:{study.edition.seed}"
    if low == high:
        patients = study.facts.patients[shared]
        effect, p = design_effect(change, patients), sign_flip_p(change, patients) or p
        table = [int((hits[0] == x)[hits[1] == y].sum()) for x in (1, 0) for y in (1, 0)]
        interval = paired_difference(*table, design_effect=effect)
        low, high = interval.low, interval.high
        boot = f"newcombe10:deff={effect:.3f}"
    return msgspec.structs.replace(made, sd_boot=sd, low=low, high=high, p=p, method=boot)


# ---------------------------------------------------------------- the text-only gap


def _make_text_gap(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    """Accuracy less that of the best text-only reader, each on its own parsed cases."""
    if marks.modality != "multimodal":
        return
    made = Measure(reader=marks.reader, measure="text_gap")
    own = pr.accuracy(marks)
    rates = {m.reader: _rate(pr.accuracy(m)) for m in study.text_only}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    mine = _rate(own)
    if not known or mine is None:
        why = "no text-only reader in this run" if not known else "no parsed answer with a key"
        yield msgspec.structs.replace(made, note=why)
        return
    best = max(known, key=lambda name: known[name])
    n = int(own.decided.sum())
    gap = mine - known[best]
    made = msgspec.structs.replace(made, value=gap, n=n, note=f"{best}: {known[best]:.4f}")
    if study.edition.intervals == "bootstrap":
        yield made
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        own_rate, best_rate = (
            study.resampled(("hits", "accuracy", r)) / study.resampled(("asked", "accuracy", r))
            for r in (marks.reader, best)
        )
        drawn = own_rate - best_rate
    low, high, sd = resample_interval(drawn, gap)
    if n < 2 or low == high:
        yield msgspec.structs.replace(made, note=pr.joined(made.note, "resamples do not differ"))
        return
    yield msgspec.structs.replace(
        made,
        low=low,
        high=high,
        sd_boot=sd,
        method=f"patients:{study.edition.boot}:{study.edition.seed}",
    )


def _rate(count: pr.Count) -> float | None:
    n = int(count.decided.sum())
    return int((count.decided & count.hits).sum()) / n if n else None


def _made_by(name: str) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        yield from study.compared.get((marks.reader, name), [])

    return make


METRICS: Final = (
    Metric(
        name="text_gap",
        says="accuracy less that of the best text-only reader",
        needs=("original",),
        make=_make_text_gap,
        across=True,
    ),
    *(
        Metric(
            name=f"diff_{metric}",
            says=f"{metric} of a reader less that of another, on the cases both decided",
            needs=("original",),
            make=_made_by(f"diff_{metric}"),
            across=True,
        )
        for metric in _COUNTS
    ),
)
