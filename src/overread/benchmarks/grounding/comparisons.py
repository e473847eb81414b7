"""Readers against each other and against text-only baselines; and at other sizes and wordings.

Outcomes are those of accuracy, UAR, CGR and IS (GROUNDING 11). A difference stands on the shared
cases only; fewer than ten shared cases make no comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
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
from overread.case import Measure
from overread.stats import (
    design_effect,
    paired_bootstrap_many,
    paired_difference,
    ratio_interval,
    resample_interval,
    sign_flip_p,
    spearman,
    spearman_asymptotic_p,
    spearman_exact_p,
)

__all__ = ["METRICS", "columns", "rank_correlation", "ranks", "robustness"]

# ---------------------------------------------------------------- readers
# Readers against each other on the cases both decided, and against the text-only baselines.
#
# Outcomes are those of accuracy, UAR, CGR and IS (GROUNDING 11). A difference stands on the shared
# cases only; fewer than ten shared cases make no comparison.


Floats = NDArray[np.float64]
Counting = Callable[[Marks], pr.Count]

_COUNTINGS: Final[Mapping[str, Counting]] = {
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
    for metric in _COUNTINGS:
        found += [
            Comparison(BASELINE, metric, a, b) for b in baselines for a in study.marks if a is not b
        ]
        found += [Comparison(PAIRWISE, metric, a, b) for a, b in pairs]
    return found


def _shared(comparison: Comparison, counts: Mapping[tuple[str, str], pr.Count]) -> Mask:
    one = counts[comparison.metric, comparison.a.reader].decided
    both: Mask = one & counts[comparison.metric, comparison.b.reader].decided
    return both


def _counts_by_reader(study: Study) -> dict[tuple[str, str], pr.Count]:
    countings = {**_COUNTINGS, "is": pr.stability(study.edition)}
    return {
        (metric, marks.reader): counting(marks)
        for metric, counting in countings.items()
        for marks in study.marks
    }


def _pair_key(comparison: Comparison) -> tuple[str, str, str]:
    first, second = sorted((comparison.a.reader, comparison.b.reader))
    return comparison.metric, first, second


def columns(study: Study) -> Mapping[Column, Floats]:
    """Per pair of readers and measure, the difference of outcomes and who is shared."""
    if study.edition.intervals == "bootstrap":
        return {}
    counts = _counts_by_reader(study)
    found: dict[Column, Floats] = {}
    for comparison in planned(study):
        metric, first, second = _pair_key(comparison)
        if ("shared", metric, first, second) in found:
            continue
        shared = _shared(comparison, counts)
        hits = [counts[metric, name].hits.astype(float) for name in (first, second)]
        found["shared", metric, first, second] = shared.astype(float)
        found["diff", metric, first, second] = np.where(shared, hits[0] - hits[1], 0.0)
    return found


def compared(study: Study) -> dict[tuple[str, str], list[Measure]]:
    """The records of all comparisons by (reader, measure); q comes later, by family."""
    counts = _counts_by_reader(study)
    kept = [c for c in planned(study) if int(_shared(c, counts).sum()) >= _FEWEST]
    if study.edition.intervals == "bootstrap":
        records = _published_differences(kept, counts, study.edition)
    else:
        records = [_resampled_difference(c, counts, study) for c in kept]
    found: dict[tuple[str, str], list[Measure]] = {}
    for record in records:
        found.setdefault((record.reader, record.measure), []).append(record)
    return found


def _difference_record(comparison: Comparison, family: str, n: int) -> Measure:
    return Measure(
        reader=comparison.a.reader,
        measure=f"diff_{comparison.metric}",
        by={"versus": comparison.b.reader, "comparison": comparison.kind},
        n=n,
        family=family,
    )


# ---------------------------------------------------------------- authors


def _published_differences(
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
            _difference_record(c, c.family, result.n),
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


def _resampled_difference(
    comparison: Comparison, counts: Mapping[tuple[str, str], pr.Count], study: Study
) -> Measure:
    """The difference with the patients resampled; p by the shift-and-reflect rule, in integers.

    p = share of resamples with |d* - d| >= |d|, at least 1/B. Where all resamples agree, as those
    of a single patient do, they cannot tell: the interval is Newcombe's, and p exact, from
    exchanging the readers within patients.
    """
    shared = _shared(comparison, counts)
    n = int(shared.sum())
    key = _pair_key(comparison)
    sign = 1 if comparison.a.reader == key[1] else -1
    hits = [counts[comparison.metric, m.reader].hits[shared] for m in (comparison.a, comparison.b)]
    change = hits[0].astype(np.int64) - hits[1].astype(np.int64)
    d = int(change.sum())
    family = f"{comparison.family}|{comparison.b.reader}"
    if comparison.kind == PAIRWISE:
        family = comparison.family
    note = f"{hits[0].mean():.4f} against {hits[1].mean():.4f}"
    made = msgspec.structs.replace(
        _difference_record(comparison, family, n), value=d / n, note=note
    )
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
    rates = {m.reader: _plain_rate(pr.accuracy(m)) for m in study.text_only}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    mine = _plain_rate(own)
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


def _plain_rate(count: pr.Count) -> float | None:
    n = int(count.decided.sum())
    return int((count.decided & count.hits).sum()) / n if n else None


def _difference_maker(name: str) -> Making:
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
            make=_difference_maker(f"diff_{metric}"),
            across=True,
        )
        for metric in _COUNTINGS
    ),
)


# ---------------------------------------------------------------- resolutions and wordings
# Does a number depend on the resolution or on the wording? (GROUNDING 12)
#
# Further sizes and phrasings are asked of a sub-sample. `corrected` compares them with the
# headline's answers to the same cases, case by case; the published code compares CGR at 512 pixels
# with CGR at 224 over all cases [D15]. Their paired p is not reproduced: it pairs cases that are
# not the same.


_AT_SIZE: Final = ("accuracy", "cgr", "uar", "is")
# Below this many parsed answers an accuracy says nothing (GROUNDING 12).
_FEWEST_PARSED: Final = 50
EVERYONE: Final = ""
"""The reader of a record that stands for all readers of a run together."""


def robustness(study: Study) -> Iterator[Measure]:
    """Every measure at every further resolution and phrasing, beside the headline's."""
    if not study.marks:
        return
    sizes = {px: study.at(px, study.options.phrasing) for px in study.options.more_px}
    if sizes:
        yield from _at_sizes(study, sizes)
    further = {name: study.at(study.options.px, name) for name in study.options.more_phrasings}
    if further:
        yield from _in_phrasings(study, further)


def _asked_of(found: Sequence[Marks]) -> Mask:
    """The cases of the sub-sample: those anybody was asked about."""
    some = np.zeros(found[0].truth.size, dtype=bool)
    for marks in found:
        some |= marks.original > NO_ROW
    return some


# ---------------------------------------------------------------- resolution


def _at_sizes(study: Study, sizes: dict[int, list[Marks]]) -> Iterator[Measure]:
    base = str(study.options.px)
    subset = _asked_of([marks for found in sizes.values() for marks in found])
    same_cases = study.edition.intervals != "bootstrap"
    rates: dict[tuple[str, int], list[tuple[float | None, float | None]]] = {}
    for place, headline in enumerate(study.marks):
        for name in _AT_SIZE:
            counting = _counting_of(name, study)
            here = counting(headline)
            if same_cases:
                here = here.within(subset)
            found = {px: readers[place] for px, readers in sizes.items()}
            found = {px: marks for px, marks in found.items() if marks.asked(here.image)}
            if not found:
                continue
            at_base = pr.proportion(headline, study.edition, name, here, {"px": base})
            yield at_base
            for px, marks in found.items():
                there = counting(marks)
                at_px = pr.proportion(marks, study.edition, name, there, {"px": str(px)})
                yield at_px
                rates.setdefault((name, px), []).append((at_base.value, at_px.value))
                if same_cases:
                    yield _paired_change(headline, marks, name, here, there, px, base)
    for (name, px), pairs in rates.items():
        if name == "cgr" or same_cases:
            yield rank_correlation(pairs, {"px": f"{base},{px}", "of": name}, exact=same_cases)


def _counting_of(name: str, study: Study) -> Counting:
    countings: dict[str, Counting] = {
        "accuracy": pr.accuracy,
        "cgr": pr.cgr,
        "uar": pr.uar,
        "is": pr.stability(study.edition),
    }
    return countings[name]


def _paired_change(
    headline: Marks,
    marks: Marks,
    name: str,
    here: pr.Count,
    there: pr.Count,
    px: int,
    base: str,
) -> Measure:
    """The change of a rate with the resolution, over the cases both resolutions decided."""
    both = here.decided & there.decided
    one, other = there.hits[both], here.hits[both]
    by = {"px": str(px), "versus": f"px={base}"}
    made = Measure(reader=marks.reader, measure=f"diff_{name}", by=by, n=int(both.sum()))
    if both.sum() < 2:
        return msgspec.structs.replace(made, note="fewer than two cases were decided at both sizes")
    change = one.astype(np.int64) - other.astype(np.int64)
    effect = design_effect(change, marks.facts.patients[both])
    table = [int((one == x)[other == y].sum()) for x in (1, 0) for y in (1, 0)]
    found = paired_difference(*table, design_effect=effect)
    return msgspec.structs.replace(
        made,
        value=found.point,
        se=found.sd,
        low=found.low,
        high=found.high,
        method=f"newcombe10:deff={effect:.3f}",
    )


def rank_correlation(
    pairs: Sequence[tuple[float | None, float | None]], by: dict[str, str], *, exact: bool
) -> Measure:
    """Spearman's correlation of a measure's two values over the readers [D25].

    `exact` permutes the ranks for p; otherwise the published t approximation. Null with fewer than
    three readers.
    """
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    made = Measure(reader=EVERYONE, measure="rho", by=by, n=len(known))
    x, y = [one for one, _ in known], [other for _, other in known]
    rho = spearman(x, y) if len(known) > 2 else None
    if rho is None:
        return msgspec.structs.replace(made, note="fewer than three readers, or all alike")
    p, method = spearman_asymptotic_p(rho, len(known)), "asymptotic t"
    if exact:
        p, method = spearman_exact_p(x, y)
    return msgspec.structs.replace(made, value=rho, p=p, method=method)


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """1 for the largest; ties share their average rank, cut to a whole number (GROUNDING 12)."""
    known: NDArray[np.float64] = np.array([np.nan if v is None else v for v in values])
    found: list[int | None] = []
    for value in known:
        if np.isnan(value):
            found.append(None)
            continue
        above, equal = int((known > value).sum()), int((known == value).sum())
        found.append(int(above + (equal + 1) / 2))
    return found


# ---------------------------------------------------------------- phrasing


def _in_phrasings(study: Study, further: dict[str, list[Marks]]) -> Iterator[Measure]:
    """Parse rate first: an accuracy over few parsed answers is not one."""
    subset = _asked_of([marks for found in further.values() for marks in found])
    phrased = {study.options.phrasing: list(study.marks), **further}
    for phrasing, found in phrased.items():
        by = {"phrasing": phrasing}
        for marks in found:
            if not marks.asked("original"):
                continue
            replied = pr.replies(marks, "original", study.edition).within(subset)
            own = msgspec.structs.replace(marks, order=marks.order[subset[marks.order]])
            yield pr.proportion(own, study.edition, "parse_rate", replied, by)
            right = pr.accuracy(marks).within(subset)
            record = pr.proportion(marks, study.edition, "accuracy", right, by)
            if 0 < (record.n or 0) < _FEWEST_PARSED:
                few = f"uninterpretable: only {record.n} answers could be parsed"
                record = msgspec.structs.replace(record, note=pr.joined(few, record.note))
            yield record
            if marks.asked("swap") and study.edition.intervals != "bootstrap":
                kept = pr.uar(marks).within(subset)
                yield pr.proportion(marks, study.edition, "uar", kept, by)
