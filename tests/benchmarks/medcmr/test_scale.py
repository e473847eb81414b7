"""Correlation with size: by hand, as scipy has it, and where there is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from overread.benchmarks.benchmark import ReaderRecord
from overread.benchmarks.medcmr.scale import fisher_interval, pearson, scale_measures
from overread.case import Measure
from support.med_tables import found

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))


def readers(*sizes: float | None) -> list[ReaderRecord]:
    return [ReaderRecord(name=f"r{at}", params_b=size) for at, size in enumerate(sizes)]


def scores(*values: float | None, measure: str = "accuracy", **by: str) -> list[Measure]:
    return [
        Measure(reader=f"r{at}", measure=measure, by=by, value=value)
        for at, value in enumerate(values)
    ]


def test_by_hand() -> None:
    # Each doubling adds a tenth: one line, whatever the base of the logarithm.
    records = scale_measures(scores(0.1, 0.2, 0.3, 0.4), readers(4, 8, 16, 32))
    r, rho = (
        found(records, name, "", of="accuracy", **{"with": "log_params"}) for name in ("r", "rho")
    )
    assert r.value == pytest.approx(1)
    assert (r.low, r.n) == (None, 4)
    assert (rho.value, rho.p, rho.method) == (1, 2 / 24, "p: exact")


def test_readers_without_a_size_or_a_value_do_not_count() -> None:
    records = scale_measures(scores(0.5, 0.2, 0.9, 0.3, None, 0.4), readers(7, 3, None, 30, 70, 70))
    r = found(records, "r", of="accuracy", **{"with": "log_params"})
    expected = stats.pearsonr([math.log(x) for x in (7, 3, 30, 70)], [0.5, 0.2, 0.3, 0.4])
    assert (r.value, r.n) == (pytest.approx(expected.statistic), 4)
    interval = expected.confidence_interval()
    assert (r.low, r.high) == (pytest.approx(interval.low), pytest.approx(interval.high))


def test_each_score_and_each_dimension_of_accuracy() -> None:
    sizes = readers(1, 2, 4)
    made = [
        *scores(0.1, 0.3, 0.2),
        *scores(0.1, 0.3, 0.2, dimension="SOD"),
        *scores(0.1, 0.3, 0.2, measure="truth"),
        *scores(0.1, 0.3, 0.2, measure="truth", dimension="SOD"),
        *scores(0.1, 0.3, 0.2, kind="mcq"),
        *scores(0.1, 0.3, 0.2, measure="ece"),
    ]
    found_ = {(one.by["of"], one.by.get("dimension")) for one in scale_measures(made, sizes)}
    assert found_ == {("accuracy", None), ("accuracy", "SOD"), ("truth", None)}


def test_what_has_no_correlation_has_no_number() -> None:
    assert scale_measures(scores(0.1, 0.2, 0.3), readers(None, None, None)) == []
    few = scale_measures(scores(0.1, 0.2, 0.3), readers(7, 8, None))
    assert [(one.value, one.n) for one in few] == [(None, 2)] * 2
    assert few[0].note == "needs 3 readers with params_b and this score"
    alike = scale_measures(scores(0.1, 0.2, 0.3), readers(7, 7, 7))
    assert {one.note for one in alike} == {"sizes or scores do not vary"}
    assert {one.value for one in scale_measures(scores(0.2, 0.2, 0.2), readers(1, 2, 3))} == {None}
    three = found(
        scale_measures(scores(0.1, 0.3, 0.2), readers(1, 2, 3)), "r",
        of="accuracy", **{"with": "log_params"},
    )  # fmt: skip
    assert three.value is not None
    assert (three.low, three.high) == (None, None)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=12))
def test_pearson_as_scipy_has_it(pairs: list[tuple[float, float]]) -> None:
    x, y = ([pair[at] for pair in pairs] for at in (0, 1))
    assume(max(x) - min(x) > 0.01 and max(y) - min(y) > 0.01)
    found_ = pearson(x, y)
    assert found_ == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert found_ == pytest.approx(pearson(y, x))
    interval = fisher_interval(found_, len(x))
    assert interval is None or -1 <= interval[0] < found_ < interval[1] <= 1
