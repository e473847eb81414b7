"""Laws every estimator keeps, and slow obvious versions of the quick ones."""

from __future__ import annotations

import doctest
import importlib
import itertools
import math
import pkgutil
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import overread.stats
from overread.stats import (
    Z95,
    benjamini_hochberg,
    binomial_tail,
    bootstrap_proportion,
    design_effect,
    paired_difference,
    wilson,
)

MODULES = [m.name for m in pkgutil.iter_modules(overread.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_docstrings_run(name):
    module = importlib.import_module(f"overread.stats.{name}")
    assert doctest.testmod(module).failed == 0


def test_the_public_functions_all_have_an_example():
    shown = [getattr(overread.stats, name) for name in overread.stats.__all__]
    functions = [thing for thing in shown if callable(thing) and not isinstance(thing, type)]
    assert len(functions) >= 7
    assert all(">>>" in function.__doc__ for function in functions)


# ---------------------------------------------------------------- wilson

counts = st.integers(0, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.floats(1, 50))
def test_wilson_has_width_and_holds_its_point(kn, effect):
    k, n = kn
    found = wilson(k, n, design_effect=effect)
    if n == 0:
        assert (found.point, found.low, found.high, found.sd) == (None, None, None, None)
        assert not found.defined
        return
    assert 0 <= found.low <= found.point <= found.high <= 1
    assert found.low < found.high
    assert found.low > 0 or k == 0 or found.low == 0


@given(counts)
def test_wilson_bounds_solve_the_score_equation(kn):
    k, n = kn
    if n == 0:
        return
    found = wilson(k, n)
    for bound in (found.low, found.high):
        if 0 < bound < 1:
            assert abs(found.point - bound) == pytest.approx(
                Z95 * math.sqrt(bound * (1 - bound) / n), rel=1e-6
            )


@given(counts, st.floats(1, 20))
def test_a_design_effect_widens(kn, effect):
    k, n = kn
    if n:
        plain, wide = wilson(k, n), wilson(k, n, design_effect=effect)
        assert wide.high - wide.low >= plain.high - plain.low - 1e-12


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_wilson_refuses_impossible_counts(k, n):
    with pytest.raises(ValueError, match="hits"):
        wilson(k, n)


@pytest.mark.parametrize("effect", [0.5, 0.0, -1.0, math.nan])
def test_a_design_effect_below_one_is_refused(effect):
    with pytest.raises(ValueError, match="design effect"):
        wilson(1, 2, design_effect=effect)
    with pytest.raises(ValueError, match="design effect"):
        paired_difference(1, 1, 1, 1, design_effect=effect)


# ---------------------------------------------------------------- design effect

clustered = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=1, max_size=60)


@given(clustered)
def test_design_effect_is_the_obvious_sum(pairs):
    x = [value for value, _ in pairs]
    clusters = [label for _, label in pairs]
    n, mean = len(x), sum(x) / len(x)
    groups: dict[int, list[float]] = {}
    for value, label in pairs:
        groups.setdefault(label, []).append(value - mean)
    if len(groups) == n:
        wanted = 1.0
    elif len(groups) == 1 or len(set(x)) == 1:
        wanted = sum(len(g) ** 2 for g in groups.values()) / n
    else:
        c = len(groups)
        among = c / (c - 1) * sum(sum(g) ** 2 for g in groups.values())
        within = sum((value - mean) ** 2 for value in x)
        wanted = min(max(1.0, among / within), n)
    assert design_effect(x, clusters) == pytest.approx(wanted)


@given(clustered, st.randoms())
def test_design_effect_ignores_order_and_names(pairs, random):
    x, clusters = zip(*pairs, strict=True)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    y, other = zip(*shuffled, strict=True)
    renamed = [f"patient {100 - label}" for label in other]
    assert design_effect(y, renamed) == pytest.approx(design_effect(x, clusters))


def test_design_effect_of_nothing_and_of_copies():
    assert design_effect([], []) == 1.0
    # Every case copied once is worth half its number.
    x = np.random.RandomState(1).randint(0, 2, 400)
    assert design_effect(np.repeat(x, 2), np.repeat(np.arange(400), 2)) == pytest.approx(2, 0.01)


def test_design_effect_when_all_agree_takes_the_patients_as_wholly_alike():
    # 10 patients of 4 cases, all hits: as wide as 10 cases, not 40.
    x, patients = np.ones(40), np.repeat(np.arange(10), 4)
    effect = design_effect(x, patients)
    assert effect == 4.0
    assert wilson(40, 40, design_effect=effect).low == pytest.approx(wilson(10, 10).low)


def test_coverage_with_repeated_patients():
    """95 % intervals should hold the truth about 95 % of the time; without the effect they do not."""
    random = np.random.RandomState(7)
    patients = np.repeat(np.arange(60), 5)
    held = plain = 0
    for _ in range(400):
        rate = random.beta(1.2, 2.8, size=60)[patients]
        x = random.uniform(size=300) < rate
        k = int(x.sum())
        found = wilson(k, 300, design_effect=design_effect(x, patients))
        held += found.low <= 0.3 <= found.high
        naive = wilson(k, 300)
        plain += naive.low <= 0.3 <= naive.high
    assert held / 400 > 0.92
    assert plain < held


# ---------------------------------------------------------------- paired difference

cells = st.integers(0, 400)


@given(cells, cells, cells, cells, st.floats(1, 10))
def test_paired_difference_has_width_and_holds_its_point(n11, n10, n01, n00, effect):
    found = paired_difference(n11, n10, n01, n00, design_effect=effect)
    if found.n == 0:
        assert not found.defined
        return
    assert -1 <= found.low <= found.point <= found.high <= 1
    assert found.low < found.high


@given(cells, cells, cells, cells)
def test_paired_difference_turns_round_with_its_arms(n11, n10, n01, n00):
    one, other = paired_difference(n11, n10, n01, n00), paired_difference(n11, n01, n10, n00)
    if one.n:
        assert one.point == pytest.approx(-other.point)
        assert one.low == pytest.approx(-other.high, abs=1e-9)


def test_paired_difference_of_a_published_example():
    # Airway hyper-responsiveness before and after stem-cell transplantation (Bentur 2009), as
    # worked by Fagerland, Lydersen and Laake: -0.507 to -0.026.
    found = paired_difference(1, 1, 7, 12)
    assert found.low == pytest.approx(-0.507, abs=5e-4)
    assert found.high == pytest.approx(-0.026, abs=5e-4)


@pytest.mark.parametrize("table", [(14, 5, 0, 22), (54, 0, 0, 0), (0, 3, 9, 0), (10, 2, 1, 40)])
def test_paired_difference_step_by_step(table):
    a, b, c, d = table
    n = sum(table)
    p1, p2 = Fraction(a + b, n), Fraction(a + c, n)
    w1, w2 = wilson(a + b, n), wilson(a + c, n)
    product = (a + b) * (c + d) * (a + c) * (b + d)
    top = a * d - b * c
    top = max(top - n / 2, 0) if top > 0 else top
    phi = top / math.sqrt(product) if product else 0
    l1, u1, l2, u2 = w1.low, w1.high, w2.low, w2.high
    down = math.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    up = math.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    found = paired_difference(*table)
    assert found.point == pytest.approx(float(p1 - p2))
    assert found.low == pytest.approx(max(-1, float(p1 - p2) - down))
    assert found.high == pytest.approx(min(1, float(p1 - p2) + up))


def test_paired_difference_refuses_a_negative_cell():
    with pytest.raises(ValueError, match="negative"):
        paired_difference(1, -1, 0, 0)


# ---------------------------------------------------------------- bootstrap


@pytest.mark.parametrize("n", [1, 2, 3, 7, 31, 64, 373, 1000])
def test_the_stream_is_the_same_in_chunks(n, monkeypatch):
    values = (np.arange(n) % 3 == 0).astype(float)
    at_once = values[np.random.RandomState(5).randint(0, n, size=(700, n))].mean(axis=1)
    monkeypatch.setattr("overread.stats._authors._WORDS", 4 * n + 1)
    found = bootstrap_proportion(values, 700, 5)
    assert found.sd == at_once.std(ddof=1)
    assert [found.low, found.high] == np.percentile(at_once, [2.5, 97.5]).tolist()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_short_cut_for_constants_changes_nothing(value):
    values = np.full(9, value)
    means = values[np.random.RandomState(0).randint(0, 9, size=(50, 9))].mean(axis=1)
    found = bootstrap_proportion(values, 50)
    assert (found.point, found.low, found.high, found.sd) == (
        value,
        value,
        value,
        means.std(ddof=1),
    )


# ---------------------------------------------------------------- the rest


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=30))
def test_benjamini_hochberg_against_its_definition(p):
    q = benjamini_hochberg(p)
    made = sorted(value for value in p if value == value)
    for value, found in zip(p, q, strict=True):
        if value != value:
            assert math.isnan(found)
            continue
        first = made.index(value) + 1
        ranks = range(first, len(made) + 1)
        assert found == pytest.approx(min(1, *(made[r - 1] * len(made) / r for r in ranks), 1))
        assert found >= value or found == pytest.approx(value)


@given(st.integers(0, 40), st.integers(-2, 42), st.fractions(0, 1, max_denominator=50))
def test_binomial_tail_against_exact_arithmetic(n, k, p):
    exact = sum(
        (math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(max(k, 0), n + 1)), Fraction(0)
    )
    assert binomial_tail(k, n, float(p)) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


def test_binomial_tail_by_listing_every_sequence():
    for n, k in itertools.product(range(6), range(7)):
        hits = sum(sum(tries) >= k for tries in itertools.product((0, 1), repeat=n))
        assert binomial_tail(k, n, 0.5) == pytest.approx(hits / 2**n)


@pytest.mark.parametrize(("n", "p"), [(-1, 0.5), (3, 1.1), (3, -0.1), (3, math.nan)])
def test_binomial_tail_refuses_nonsense(n, p):
    with pytest.raises(ValueError, match="tries"):
        binomial_tail(1, n, p)
