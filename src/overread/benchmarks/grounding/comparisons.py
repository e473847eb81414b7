"""Readers against each other and against text-only baselines; and at other sizes and wordings.

Outcomes are those of accuracy, UAR, CGR and IS (GROUNDING 11). A difference stands on the shared
cases only; fewer than ten shared cases make no comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from overread.benchmarks.grounding import authors
from overread.benchmarks.grounding.category import FEW_PARSED
from overread.benchmarks.grounding.marks import NO_ROW, Column, Marks, Study
from overread.benchmarks.grounding.rates import BY_NAME, COMPARED, decided, hits, rated
from overread.case import Measure
from overread.measuring.contrasts import paired_shares, rank_correlation
from overread.measuring.estimates import Estimate, Floats, Ints, Mask, ratio
from overread.measuring.notes import NOTHING, noted, remarked
from overread.measuring.specs import PLAIN, Counted, Spec, counted_once
from overread.measuring.units import POINTS
from overread.stats import sign_flip_p

# ---------------------------------------------------------------- readers

_FEWEST: Final = 10
BASELINE: Final = "text_baseline"
PAIRWISE: Final = "pairwise"


class Comparison(NamedTuple):
    """Reader a less reader b on one measure, as one row of one family."""

    kind: str
    metric: str
    a: Marks
    b: Marks


def planned(run: Study) -> list[Comparison]:
    """Every comparison of the edition, before it is known which stand on enough cases."""
    baselines = run.text_only
    by_name = sorted(run.marks, key=lambda marks: marks.reader)
    pairs = [(a, b) for i, a in enumerate(by_name) for b in by_name[i + 1 :]]
    found: list[Comparison] = []
    if run.edition.families == "pooled":
        if not baselines:
            return []  # without a baseline the published table is empty
        for b in baselines:
            for a in run.marks:
                found.append(Comparison(BASELINE, "accuracy", a, b))
                if a.modality != "vision":  # skipped by name in the published code [D24]
                    found.append(Comparison(BASELINE, "uar", a, b))
        return found + [Comparison(PAIRWISE, "accuracy", a, b) for a, b in pairs]
    for metric in COMPARED:
        found += [
            Comparison(BASELINE, metric, a, b) for b in baselines for a in run.marks if a is not b
        ]
        found += [Comparison(PAIRWISE, metric, a, b) for a, b in pairs]
    return found


def _counted(run: Study, m: Marks, metric: str) -> Counted:
    return counted_once(run, m, BY_NAME[metric], PLAIN)


def _shared(run: Study, c: Comparison) -> Mask:
    both: Mask = decided(_counted(run, c.a, c.metric)) & decided(_counted(run, c.b, c.metric))
    return both


def _pair_key(c: Comparison) -> tuple[str, str, str]:
    first, second = sorted((c.a.reader, c.b.reader))
    return c.metric, first, second


def columns(run: Study) -> Iterator[tuple[Column, Floats]]:
    """Per pair of readers and measure, the difference of outcomes and who is shared."""
    for key, c in {_pair_key(c): c for c in planned(run)}.items():
        shared = _shared(run, c)
        one, two = (hits(_counted(run, run.of(name), c.metric)) for name in key[1:])
        yield ("shared", *key), shared.astype(float)
        yield ("diff", *key), np.where(shared, one.astype(float) - two, 0.0)


def compared(run: Study) -> list[Measure]:
    """The records of all comparisons; q comes later, by family."""
    kept = [c for c in planned(run) if int(_shared(run, c).sum()) >= _FEWEST]
    if not run.published:
        return [_resampled_difference(run, c) for c in kept]
    made = [(_difference_record(run, c), *_paired_outcomes(run, c)) for c in kept]
    return authors.paired_bootstraps(made, run.edition)


def _paired_outcomes(run: Study, c: Comparison) -> tuple[Ints, Ints]:
    """What both readers got, over the shared cases, in the order of the first one's file."""
    places = c.a.ordered(_shared(run, c))
    one, two = (hits(_counted(run, m, c.metric))[places].astype(np.int64) for m in (c.a, c.b))
    return one, two


def _difference_record(run: Study, c: Comparison) -> Measure:
    one, two = (float(outcomes.mean()) for outcomes in _paired_outcomes(run, c))
    family = f"{c.kind}|{c.metric}"
    if run.edition.families != "pooled" and c.kind == BASELINE:
        family += f"|{c.b.reader}"
    return Measure(
        reader=c.a.reader,
        measure=f"diff_{c.metric}",
        by={"versus": c.b.reader, "comparison": c.kind},
        family=family,
        beside=(one, two),
        note=f"{one:.4f} against {two:.4f}",
    )


def _resampled_difference(run: Study, c: Comparison) -> Measure:
    """The difference with the patients resampled; p by the shift-and-reflect rule, in integers.

    p = share of resamples with |d* - d| >= |d|, at least 1/B. Where all resamples agree, as those
    of a single patient do, they cannot tell: the interval is Newcombe's, and p exact, from
    exchanging the readers within patients.
    """
    shared, key = _shared(run, c), _pair_key(c)
    one, two = (hits(_counted(run, m, c.metric))[shared] for m in (c.a, c.b))
    change = one.astype(np.int64) - two.astype(np.int64)
    n, d = int(change.size), int(change.sum())
    made = replace(_difference_record(run, c), value=d / n, n=n)
    sign = 1 if c.a.reader == key[1] else -1
    totals = np.rint(run.resampled(("diff", *key), ("shared", *key))) * (sign, 1)
    drawn = totals[totals[:, 1] > 0].astype(np.int64)
    far = np.abs(drawn[:, 0] * n - d * drawn[:, 1]) >= abs(d) * drawn[:, 1]
    p = max(float(far.mean()), 1 / run.edition.boot)
    estimate = Estimate(record=made, again=ratio, counted=shared, limits=(-1.0, 1.0), step=None)
    found = run.resampling.finished(estimate, totals)
    if found.low is None:
        patients = run.clusters[shared]
        p = sign_flip_p(change, patients) or p
        found = paired_shares(made, one, two, patients)
        found = replace(found, se=None, sd_boot=0.0)
    return replace(found, p=p)


# ---------------------------------------------------------------- the text-only gap


def _make_text_gap(run: Study, m: Marks) -> Iterator[Measure]:
    """Accuracy less that of the best text-only reader, each on its own parsed cases."""
    if m.modality != "multimodal":
        return
    made = Measure(reader=m.reader, measure="text_gap")
    mine = _plain_rate(run, m)
    rates = {one.reader: _plain_rate(run, one) for one in run.text_only}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    if not known or mine is None:
        why = "no text-only reader in this run" if not known else "no parsed answer with a key"
        yield noted(made, NOTHING, why)
        return
    best = max(known, key=lambda name: known[name])
    own = decided(_counted(run, m, "accuracy"))
    made = replace(made, value=mine - known[best], n=int(own.sum()))
    made = remarked(made, f"{best}: {known[best]:.4f}")
    if run.published:
        yield made
        return

    def gap(totals: Floats) -> Floats:
        return ratio(totals[:, :2]) - ratio(totals[:, 2:])

    names = [(what, "accuracy", r) for r in (m.reader, best) for what in ("hits", "asked")]
    estimate = Estimate(record=made, again=gap, counted=own, limits=(-1.0, 1.0), step=None)
    yield run.resampling.finished(estimate, run.resampled(*names))


def _plain_rate(run: Study, m: Marks) -> float | None:
    counted = _counted(run, m, "accuracy")
    n = int(decided(counted).sum())
    return int(hits(counted).sum()) / n if n else None


def _difference_maker(name: str) -> Callable[[Study, Marks], Iterator[Measure]]:
    def make(run: Study, m: Marks) -> Iterator[Measure]:
        for record in run.once(("compared",), lambda: compared(run)):
            if (record.reader, record.measure) == (m.reader, name):
                yield record

    return make


SPECS: Final = (
    Spec(
        name="text_gap",
        says="accuracy less that of the best text-only reader",
        unit=POINTS,
        make=_make_text_gap,
    ),
    *(
        Spec(
            name=f"diff_{metric}",
            says=f"{metric} of a reader less that of another, on the cases both decided",
            unit=POINTS,
            better=BY_NAME[metric].better,
            make=_difference_maker(f"diff_{metric}"),
        )
        for metric in COMPARED
    ),
)

# ---------------------------------------------------------------- resolutions and wordings
# Does a number depend on the resolution or on the wording? (GROUNDING 12)
#
# Further sizes and phrasings are asked of a sub-sample. `corrected` compares them with the
# headline's answers to the same cases, case by case; the published code compares CGR at 512 pixels
# with CGR at 224 over all cases [D15]. Their paired p is not reproduced: it pairs cases that are
# not the same.

# What is given at every size, and the image it needs.
_AT_SIZE: Final = {
    "accuracy": "original",
    "cgr": "target_mask",
    "uar": "swap",
    "is": "irrelevant_mask",
}
# Below this many parsed answers an accuracy says nothing (GROUNDING 12).
_FEWEST_PARSED: Final = 50


def robustness(run: Study) -> Iterator[Measure]:
    """Every measure at every further resolution and phrasing, beside the headline's."""
    sizes = {px: run.at(px, run.options.phrasing) for px in run.options.more_px}
    if sizes and run.marks:
        yield from _at_sizes(run, sizes)
    further = {name: run.at(run.options.px, name) for name in run.options.more_phrasings}
    if further and run.marks:
        yield from _in_phrasings(run, further)


def _asked_of(found: Iterable[Sequence[Marks]]) -> Mask:
    """The cases of the sub-sample: those anybody was asked about."""
    some: Mask = np.any([m.original > NO_ROW for marks in found for m in marks], axis=0)
    return some


def _of(run: Study, m: Marks, metric: str) -> Counted:
    """What a rate says of marks that need not be the headline's."""
    of = BY_NAME[metric].of
    assert of is not None
    return of(run, m, PLAIN)


def _at_sizes(run: Study, sizes: Mapping[int, Sequence[Marks]]) -> Iterator[Measure]:
    base = str(run.options.px)
    subset = _asked_of(sizes.values())
    same_cases = not run.published
    rates: dict[tuple[str, int], list[tuple[float | None, float | None]]] = {}
    for place, headline in enumerate(run.marks):
        for name, image in _AT_SIZE.items():
            found = {px: m for px, marks in sizes.items() if (m := marks[place]).asked(image)}
            if not found:
                continue
            here = _of(run, headline, name)
            here = here.within(subset) if same_cases else here
            at_base = rated(run, headline, name, here, {"px": base})
            yield at_base
            for px, marks in found.items():
                there = _of(run, marks, name)
                at_px = rated(run, marks, name, there, {"px": str(px)})
                yield at_px
                rates.setdefault((name, px), []).append((at_base.value, at_px.value))
                if same_cases:
                    yield _paired_change(marks, name, here, there, px, base)
    for (name, px), pairs in rates.items():
        if name == "cgr" or same_cases:
            yield rank_correlation(pairs, {"px": f"{base},{px}", "of": name}, exact=same_cases)


def _paired_change(
    m: Marks, name: str, here: Counted, there: Counted, px: int, base: str
) -> Measure:
    """The change of a rate with the resolution, over the cases both resolutions decided."""
    both = decided(here) & decided(there)
    by = {"px": str(px), "versus": f"px={base}"}
    made = Measure(reader=m.reader, measure=f"diff_{name}", by=by, n=int(both.sum()))
    if both.sum() < 2:
        return noted(made, NOTHING, "fewer than two cases were decided at both sizes")
    return paired_shares(made, hits(there)[both], hits(here)[both], m.facts.patients[both])


def _in_phrasings(run: Study, further: Mapping[str, Sequence[Marks]]) -> Iterator[Measure]:
    """Parse rate first: an accuracy over few parsed answers is not one."""
    subset = _asked_of(further.values())
    for phrasing, found in {run.options.phrasing: run.marks, **further}.items():
        by = {"phrasing": phrasing}
        for m in found:
            if not m.asked("original"):
                continue
            yield rated(run, m, "parse_rate", _of(run, m, "parse_rate").within(subset), by)
            record = rated(run, m, "accuracy", _of(run, m, "accuracy").within(subset), by)
            if 0 < (record.n or 0) < _FEWEST_PARSED:
                few = f"uninterpretable: only {record.n} answers could be parsed"
                record = noted(record, FEW_PARSED, few)
            yield record
            if m.asked("swap") and not run.published:
                yield rated(run, m, "uar", _of(run, m, "uar").within(subset), by)
