"""The area under the ROC curve: its definition, its interval, and what ties do to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from overread.stats import (
    Z95,
    auroc,
    auroc_stepwise,
    auroc_tie_bounds,
    bootstrap_auroc,
)
from overread.stats._auroc import _score_bounds

# Few different scores, so that ties are the rule.
SCORES = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0])
CASES = st.lists(st.tuples(SCORES, st.integers(0, 1), st.integers(0, 5)), max_size=30)


def split(cases):
    return tuple(list(column) for column in zip(*cases, strict=True)) if cases else ([], [], [])


def psi(x: float, y: float) -> float:
    return 1.0 if x > y else 0.5 if x == y else 0.0


def by_pairs(scores, labels, clusters) -> tuple[float, float | None]:
    """Area and Obuchowski's variance, from every pair of a positive and a negative."""
    up = [(s, c) for s, y, c in zip(scores, labels, clusters, strict=True) if y]
    down = [(s, c) for s, y, c in zip(scores, labels, clusters, strict=True) if not y]
    m, n = len(up), len(down)
    area = sum(psi(x, y) for x, _ in up for y, _ in down) / (m * n)
    a: dict[int, float] = {}
    b: dict[int, float] = {}
    for x, c in up:
        a[c] = a.get(c, 0) + sum(psi(x, y) for y, _ in down) / n - area
    for y, c in down:
        b[c] = b.get(c, 0) + sum(psi(x, y) for x, _ in up) / m - area
    if len(a) < 2 or len(b) < 2:
        return area, None
    i = len(set(a) | set(b))
    s10 = len(a) / (len(a) - 1) / m * sum(v * v for v in a.values())
    s01 = len(b) / (len(b) - 1) / n * sum(v * v for v in b.values())
    s11 = i / (i - 1) * sum(a[c] * b[c] for c in a if c in b)
    return area, s10 / m + s01 / n + 2 * s11 / (m * n)


@given(CASES)
def test_point_and_error_are_those_of_all_pairs(cases):
    scores, labels, clusters = split(cases)
    found = auroc(scores, labels, clusters)
    assert found.n == len(cases)
    m, n = sum(labels), len(labels) - sum(labels)
    if not m or not n:
        assert (found.point, found.low, found.high, found.sd) == (None,) * 4
        return
    area, variance = by_pairs(scores, labels, clusters)
    assert found.point == pytest.approx(area)
    if m < 2 or n < 2:
        assert (found.low, found.high, found.sd) == (None, None, None)
    elif variance is None:
        assert found.sd is None
    else:
        assert found.sd == pytest.approx(math.sqrt(max(variance, 0)), abs=1e-7)


@given(CASES)
def test_the_interval_has_width_and_holds_its_point(cases):
    found = auroc(*split(cases))
    if found.low is None:
        return
    assert 0 <= found.low <= found.point <= found.high <= 1
    assert found.high - found.low > 1e-3
    if found.sd and 0 < found.point < 1:
        assert found.low > 0
        assert found.high < 1


@given(CASES)
def test_without_clusters_cases_are_their_own(cases):
    scores, labels, _ = split(cases)
    assert auroc(scores, labels) == auroc(scores, labels, list(range(len(scores))))


@given(CASES, st.randoms())
def test_neither_order_nor_names_nor_a_rising_scale_matter(cases, random):
    found = auroc(*split(cases))
    random.shuffle(cases)
    scores, labels, clusters = split(cases)
    other = auroc([2 * s**3 - 7 for s in scores], labels, [f"p{9 - c}" for c in clusters])
    assert other.n == found.n
    for ours, theirs in zip(
        (found.point, found.low, found.high, found.sd),
        (other.point, other.low, other.high, other.sd),
        strict=True,
    ):
        assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-9))


@given(CASES)
def test_turning_the_labels_turns_the_area(cases):
    scores, labels, clusters = split(cases)
    found = auroc(scores, labels, clusters)
    turned = auroc(scores, [1 - y for y in labels], clusters)
    if found.point is not None:
        assert found.point == pytest.approx(1 - turned.point)
    if found.low is not None:
        assert found.low == pytest.approx(1 - turned.high, abs=1e-9)
        assert found.sd == (None if turned.sd is None else pytest.approx(turned.sd, abs=1e-9))


@given(CASES)
def test_ties_bound_every_way_to_break_them(cases):
    scores, labels, _ = split(cases)
    bounds = auroc_tie_bounds(scores, labels)
    if bounds is None:
        assert sum(labels) in (0, len(labels))
        assert auroc_stepwise(scores, labels) is None
        return
    up = [s for s, y in zip(scores, labels, strict=True) if y]
    down = [s for s, y in zip(scores, labels, strict=True) if not y]
    pairs = len(up) * len(down)
    assert bounds[0] == sum(x > y for x in up for y in down) / pairs
    assert bounds[1] == sum(x >= y for x in up for y in down) / pairs
    assert bounds[0] <= auroc_stepwise(scores, labels) <= bounds[1]
    assert auroc(scores, labels).point == pytest.approx(sum(bounds) / 2)


def trapezoid(scores, labels) -> float:
    """One step per case, integrated as the authors do."""
    order = np.argsort(scores)[::-1]
    y = np.asarray(labels)[order]
    up = np.concatenate(([0], np.cumsum(y) / y.sum()))
    along = np.concatenate(([0], np.cumsum(1 - y) / (1 - y).sum()))
    return float(np.sum(np.diff(along) * (up[1:] + up[:-1]) / 2))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grid", [None, 7])
def test_one_step_per_case(seed, grid):
    random = np.random.RandomState(seed)
    y = random.permutation([0] * 20 + [1] * 31)
    s = random.normal(size=51) + y
    s = s if grid is None else np.round(s * grid) / grid
    assert auroc_stepwise(s, y) == pytest.approx(trapezoid(s, y), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 40, 300])
def test_bootstrap_is_the_obvious_resampling(n):
    random = np.random.RandomState(n)
    y = np.arange(n) % 3 == 0
    s = random.normal(size=n) + y
    draw = np.random.RandomState(8)
    areas = []
    for _ in range(200):
        places = draw.randint(0, n, n)
        area = auroc_stepwise(s[places], y[places])
        if area is not None:
            areas.append(area)
    wanted = np.percentile(areas, [2.5, 97.5]).tolist()
    assert list(bootstrap_auroc(s, y, 200, 8)) == pytest.approx(wanted, abs=1e-12)


def test_bootstrap_with_ties_stays_within_what_breaking_them_allows():
    random = np.random.RandomState(2)
    y = random.randint(0, 2, 200)
    s = np.round(random.uniform(size=200) + 0.2 * y, 1)
    worst, best = (bootstrap_auroc(s + lean * y, y, 500, 0) for lean in (-1e-6, 1e-6))
    low, high = bootstrap_auroc(s, y, 500, 0)
    assert worst[0] <= low <= best[0]
    assert worst[1] <= high <= best[1]


def test_bootstrap_needs_both_classes():
    assert bootstrap_auroc([0.1, 0.2], [1, 1]) == (None, None)
    assert bootstrap_auroc([], []) == (None, None)


# ---------------------------------------------------------------- the score interval


@pytest.mark.parametrize(("m", "n"), [(2, 2), (5, 40), (130, 12), (1.0, 1.0), (2.5, 7.3)])
@pytest.mark.parametrize("area", [0.0, 0.01, 0.5, 0.83, 1.0])
def test_score_bounds_solve_their_equation(m, n, area):
    half = (m + n) / 2 - 1
    for bound in _score_bounds(area, m, n, Z95 * Z95):
        assert 0 <= bound <= 1
        spread = 1 + half * (1 - bound) / (2 - bound) + half * bound / (1 + bound)
        reach = Z95 * math.sqrt(bound * (1 - bound) * spread / (m * n))
        assert abs(area - bound) == pytest.approx(reach, rel=1e-6, abs=1e-9) or bound == area


def test_score_bounds_of_one_patient_in_each_class_are_wilsons_for_one_case():
    assert _score_bounds(0.0, 1, 1, Z95 * Z95)[1] == pytest.approx(Z95**2 / (1 + Z95**2))


def test_perfect_separation_of_one_patients_cases_is_worth_one_pair():
    scores, labels = [0.1, 0.2, 0.3, 0.8, 0.9, 1.0], [0, 0, 0, 1, 1, 1]
    alone = auroc(scores, labels)
    alike = auroc(scores, labels, ["a", "a", "a", "b", "b", "b"])
    assert alone.high == alike.high == 1.0
    assert alike.low < alone.low
    assert (alone.sd, alike.sd) == (0.0, None)


def test_scores_that_depend_on_the_patient_alone_have_no_variance_but_width():
    patients = np.repeat(np.arange(20), 2)
    found = auroc(patients / 20, [0, 1] * 20, patients)
    assert (found.point, found.sd) == (0.5, 0.0)
    assert found.high - found.low > 0.1


def test_nothing_jumps_where_a_reader_becomes_perfect():
    labels = [0] * 30 + [1] * 30
    perfect = auroc(np.arange(60.0), labels)
    scores = np.arange(60.0)
    scores[30] = 28.5  # one positive falls below one negative
    nearly = auroc(scores, labels)
    assert 0 <= perfect.low - nearly.low < 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("n", "prevalence", "truth"), [(50, 0.1, 0.75), (100, 0.1, 0.99)])
def test_coverage_with_few_positives(n, prevalence, truth):
    """DeLong's interval on the logit scale holds the truth in 88 to 91 % here."""
    random = np.random.default_rng(5)
    apart = math.sqrt(2) * ndtri(truth)
    held = studies = 0
    while studies < 500:
        y = random.random(n) < prevalence
        if not 2 <= y.sum() <= n - 2:
            continue
        found = auroc(random.normal(size=n) + apart * y, y.astype(int))
        held += found.low <= truth <= found.high
        studies += 1
    assert 0.93 <= held / studies <= 0.99


@pytest.mark.slow
def test_coverage_with_repeated_patients():
    """95 % intervals should hold the truth about 95 % of the time; without clusters they do not."""
    random = np.random.RandomState(11)
    patients = np.repeat(np.arange(80), 4)
    truth = 0.5 * (1 + math.erf(1 / math.sqrt(4)))  # scores N(y, 1) twice over: P(x > y)
    held = plain = 0
    for _ in range(300):
        y = (random.uniform(size=80) < 0.5)[patients].astype(int)
        s = random.normal(size=80)[patients] * 0.8 + random.normal(size=320) * 0.6 + y
        found, naive = auroc(s, y, patients), auroc(s, y)
        held += found.low <= truth <= found.high
        plain += naive.low <= truth <= naive.high
    assert held / 300 > 0.91
    assert plain / 300 < 0.8


@pytest.mark.parametrize(
    ("scores", "labels"), [([0.1], [0, 1]), ([0.1, math.nan], [0, 1]), ([0.1, 0.2], [0, 2])]
)
def test_nonsense_is_refused(scores, labels):
    for function in (auroc, auroc_tie_bounds, auroc_stepwise, bootstrap_auroc):
        with pytest.raises(ValueError, match="label|score"):
            function(scores, labels)


def test_as_many_clusters_as_scores():
    with pytest.raises(ValueError, match="clusters"):
        auroc([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], [1, 2])
