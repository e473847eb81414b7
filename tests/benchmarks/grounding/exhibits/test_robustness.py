"""Two runs side by side: whose numbers are compared, and how sure their agreement is."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import Transferred
from overread.benchmarks.grounding.exhibits.tables import transfer_table, transferred
from overread.case import Measure

NOBODY: frozenset[str] = frozenset()


def transfer(*runs, **how):
    return transferred(*runs, **how).correlations


def run(*values: float | None, measure: str = "uar") -> list[Measure]:
    """A run of readers a, b, c … with these values, each with a part that must not be taken."""
    found = []
    for name, value in zip("abcdefghij", values, strict=False):
        found.append(Measure(reader=name, measure=measure, value=value, n=50))
        found.append(Measure(reader=name, measure=measure, by={"sex": "M"}, value=0.5, n=9))
    return found


def rank(values: list[float], at: int) -> float:
    below = sum(v < values[at] for v in values)
    return below + (sum(v == values[at] for v in values) + 1) / 2


def correlation(x: list[float], y: list[float]) -> float | None:
    """Pearson's correlation of the ranks, by its definition."""
    r, s = ([rank(values, at) for at in range(len(values))] for values in (x, y))
    mean = (len(x) + 1) / 2
    spread = math.sqrt(sum((a - mean) ** 2 for a in r) * sum((b - mean) ** 2 for b in s))
    if spread == 0:
        return None
    return sum((a - mean) * (b - mean) for a, b in zip(r, s, strict=True)) / spread


TENTHS = st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.slow
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(TENTHS, TENTHS), min_size=3, max_size=6))
def test_the_correlation_and_its_p_by_listing_every_order(pairs):
    """[D25] p is the share of all orders with a correlation at least as far from 0."""
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    (record,) = transfer(run(*x), run(*y), NOBODY)
    rho = correlation(x, y)
    if rho is None:
        assert (record.value, record.p) == (None, None)
        assert "all alike" in record.note
        return
    every = [correlation(x, list(order)) for order in permutations(y)]
    assert record.value == pytest.approx(rho, abs=1e-12)
    assert record.p == pytest.approx(sum(abs(r) >= abs(rho) - 1e-12 for r in every) / len(every))
    assert record.method == "exact"


def test_p_of_the_same_order_is_not_zero():
    """[D25] The published t has p = 0 there; of five readers two orders in 120 are as far out."""
    run_ = run(0.1, 0.2, 0.3, 0.4, 0.5)
    (ours,), (theirs,) = (transfer(run_, run_, NOBODY, exact=exact) for exact in (True, False))
    assert (ours.value, ours.p) == (1, 2 / 120)
    assert (theirs.value, theirs.p, theirs.method) == (1, 0, "asymptotic t")


def test_the_published_correlation_stands_on_rounded_rates():
    first, second = run(0.10001, 0.10004, 0.2, 0.3), run(0.2, 0.1, 0.3, 0.4)
    (ours,), (theirs,) = (transfer(first, second, NOBODY, exact=exact) for exact in (True, False))
    assert ours.value == pytest.approx(0.8)
    assert theirs.value == pytest.approx(correlation([0.1, 0.1, 0.2, 0.3], [0.2, 0.1, 0.3, 0.4]))


def test_with_and_without_readers_that_only_see():
    """[D24] A probe may have been trained on one of the sets; the rest are correlated again."""
    first, second = run(0.1, 0.2, 0.3, 0.9), run(0.1, 0.2, 0.3, 0.0)
    every, seeing = transfer(first, second, frozenset({"d", "elsewhere"}))
    assert (every.by, every.n) == ({"of": "uar", "readers": "all"}, 4)
    assert (seeing.by, seeing.n) == ({"of": "uar", "readers": "without_vision_only"}, 3)
    assert every.value < seeing.value == 1
    assert len(transfer(first, second, frozenset({"elsewhere"}))) == 1


def test_only_readers_with_a_value_in_both_runs_are_correlated():
    first, second = run(0.1, None, 0.3, 0.4, 0.5), run(0.1, 0.2, None, 0.4)
    (record,) = transfer(first, second, NOBODY)
    assert (record.n, record.value) == (2, None)
    assert record.note == "fewer than three models, or all alike"
    assert transfer(run(0.1), run(0.1, measure="cgr"), NOBODY) == []


def test_side_by_side_keeps_readers_whose_rate_is_undefined():
    first = run(0.1, None) + run(0.5, 0.6, measure="cgr") + run(0.9, measure="brier")
    second = run(0.2, 0.3) + run(None, measure="cgr") + run(0.9, measure="brier")
    pairs, _ = transferred(first, second, NOBODY)
    found = [(reader, name, x.value, y.value) for reader, name, x, y in pairs]
    assert found == [("a", "uar", 0.1, 0.2), ("b", "uar", None, 0.3), ("a", "cgr", 0.5, None)]


def test_the_table_says_what_stands_on_what():
    made = Measure(reader="a", measure="uar", value=0.25, n=8, k=2, low=0.071, high=0.591)
    pairs = [("a", "uar", made, Measure(reader="a", measure="uar", n=0))]
    correlations = transfer(run(0.1, 0.2, 0.3), run(0.1, 0.3, 0.2), frozenset({"c"}))
    table = transfer_table(Transferred(pairs, correlations), ("here", "there"), "one\ntwo")
    assert table.columns == ("reader", "measure", "here", "there")
    assert table.rows == (("a", "uar", "25.0 [7.1, 59.1] n=8", "n/a"),)
    assert table.signature == "one\ntwo"
    assert table.notes == (
        "uar over all models (n=3): Spearman 0.500, p 1 (exact).",
        "uar over models that read (n=2): no rank correlation; "
        "fewer than three models, or all alike.",
    )
