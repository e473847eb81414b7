"""Nobody's interval falls for being better: a law over every declared measure of every benchmark.

A measure that says what each case is worth (`Spec.of`) gets these tests by being declared. One that
is made otherwise is a share, and has them from `stats.clustered_share`, or is named here with why.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from overread.case import Measure
from overread.measuring import specs
from support.law_runs import RUNS

pytestmark = pytest.mark.slow

_SPREAD = "values between the ends: a case far off widens both sides, and narrows both on its way"
_PAIRED = "a difference: its bounds are held to an exact test of all exchanges, which goes in steps"
_RANKS = "of an order among answers, in which one answer moves all others"
# Made of no table of values by case, and no share; why one case more right can lower an end.
MADE = {
    **dict.fromkeys(
        ("gsp", "text_gap", "gap_cgr", "gap_uar", "impact", "image_effect", "diff_accuracy",
         "diff_cgr", "diff_uar", "diff_is", "diff_mae", "diff_precision", "diff_recall", "diff_f1",
         "diff_consistency", "diff_score", "diff_set_accuracy", "diff_confusion"),
        _PAIRED,
    ),
    **dict.fromkeys(("auroc", "r", "r2"), _RANKS),
    **dict.fromkeys(
        ("brier", "confidence", "mae_median", "constant_mae", "order_bias", "ef_mae",
         "ef_mae_clipped", "score_macro", "efficiency", "latency", "seconds"),
        _SPREAD,
    ),
    **dict.fromkeys(
        ("consistency", "consistency_medoid", "consistency_items", "consistency_mode",
         "mode_share", "path_likeness"),
        "of paths among themselves: no path is right",
    ),
    **dict.fromkeys(
        ("skill", "survives", "accuracy_corrected"),
        "over another number that the same cases move",
    ),
    **dict.fromkeys(
        ("accuracy_checked", "clarity_checked", "coherence_checked", "visual_checked",
         "truth_checked", "score_checked"),
        "of judges and people: a verdict moves how far the judges are followed, too",
    ),
    **dict.fromkeys(("chance_mae", "chance_accuracy"), "of no reader: what coins do"),
    "f1": "of two averages, which one reply moves both of",
    "accuracy_macro": "a dimension of few items weighs as much as one of many, and spreads as more",
}  # fmt: skip
# Declared by case, with values between the ends.
GRADED = {
    "heartbeat": {"mae", "mae_clipped", "middle_bias", "seed_sd", "seed_agreement"},
    "m3cot": {"precision", "precision_no_na", "recall", "survives", "survives_chance"},
    "medcmr": {
        *("coherence", "clarity", "visual", "truth", "score"),
        *("rouge_l", "edit_similarity", "brier"),
    },
}


class Counting(NamedTuple):
    """A number as a benchmark asked for it, so that it can be asked for again."""

    record: Measure
    counted: specs.Counted
    run: Any
    spec: specs.Spec

    def made(self, value: Any) -> Measure:
        counted = self.counted._replace(value=value.reshape(self.counted.value.shape))
        (record,) = self.run.finish([specs.estimate_of(self.record, counted, self.run, self.spec)])
        return record

    @property
    def table(self) -> Any:
        """The values as a table of cases, NaN where none is counted."""
        return self.counted.table

    @property
    def marks(self) -> bool:
        """Whether every value is at one of the ends."""
        there = self.table[~np.isnan(self.table)]
        limits = self.spec.unit.limits
        return bool(np.isfinite(limits).all() and np.isin(there, limits).all())


@pytest.fixture(scope="module")
def countings(kept) -> Any:
    """Of a benchmark's run, every number that is counted case by case, one of each kind of `by`."""

    @functools.cache
    def of(name: str) -> list[Counting]:
        bench, tables, _ = kept(name, "corrected")
        found: dict[Any, Counting] = {}
        plainly = specs.estimate_of

        def noting(record: Measure, counted: Any, run: Any, spec: specs.Spec) -> Any:
            key = (spec.name, record.reader, *record.by)
            found.setdefault(key, Counting(record, counted, run, spec))
            return plainly(record, counted, run, spec)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(specs, "estimate_of", noting)
            bench.measure(tables)
        # What is made of several parts of a case is among those named above.
        return [one for one in found.values() if one.table.ndim == 2]

    return of


def raised(one: Counting, at: Any, to: float) -> Measure:
    value = one.counted.value.astype(float).reshape(one.table.shape).copy()
    value[at] = to
    return one.made(value)


def some_cases(one: Counting, seed: int = 0) -> Iterator[Any]:
    places = np.argwhere(one.table < one.spec.unit.high)
    for at in np.random.default_rng(seed).permutation(places)[:6]:
        yield tuple(at.tolist())


@pytest.mark.parametrize("patients", ["own", "unlike"])
@pytest.mark.parametrize("name", RUNS)
def test_a_case_more_right_never_lowers_an_end(countings, name, patients, monkeypatch):
    """Of marks: both ends, whoever is turned, and however many cases a patient has."""
    tried = set()
    for one in countings(name):
        if patients == "unlike":  # of 1, 3, 5, 7 … cases
            codes = np.sqrt(np.arange(one.run.n)).astype(np.int64)
            monkeypatch.setattr(one.run, "clusters", codes)
            monkeypatch.setattr(one.run, "resampling", one.run.resampling.over(codes))
        before = one.made(one.counted.value)
        if not one.marks or before.low is None:
            continue
        tried.add(one.spec.name)
        for at in some_cases(one):
            after = raised(one, at, one.spec.unit.high)
            where = (one.spec.name, before.by, before, after)
            assert after.low >= before.low - 1e-9, where
            assert after.high >= before.high - 1e-9, where
    assert tried >= {"accuracy", "unparsed"}


@pytest.mark.parametrize("name", GRADED)
def test_a_value_that_rises_never_lowers_the_end_on_its_side(countings, name):
    """Of values between marks: below the mean the lower end, above it the upper one.

    Not of amounts without an end: their interval leans to the side where few lie far off
    (`stats.clustered_mean`), and leans less as others come nearer to these.
    """
    tried = set()
    for one in countings(name):
        before = one.made(one.counted.value)
        if one.marks or before.low is None or np.isinf(one.spec.unit.limits).any():
            continue
        tried.add(one.spec.name)
        mean = float(np.nanmean(one.table))
        for at in some_cases(one):
            seen = float(one.table[at])
            after = raised(one, at, (seen + mean) / 2 if seen < mean else seen + 0.1 * (1 - seen))
            if seen < mean:
                assert after.low >= before.low - 1e-9, (one.spec.name, before, after)
            elif seen < 1:
                assert after.high >= before.high - 1e-9, (one.spec.name, before, after)
    assert tried <= GRADED[name]


@pytest.mark.parametrize("name", RUNS)
def test_whatever_else_has_an_interval_is_a_share_or_named(kept, countings, name):
    """No measure is silently beyond the law."""
    counted = {one.spec.name for one in countings(name)}
    graded = {one.spec.name for one in countings(name) if not one.marks}
    assert graded <= GRADED.get(name, set())
    beyond = {
        one.measure
        for one in kept(name, "corrected").records
        if one.low is not None and (one.how is None or one.how.kind != "wilson")
    }
    assert beyond - counted <= set(MADE)
