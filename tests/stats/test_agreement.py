"""Agreement of two readers, against tables filled in by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    bootstrap_kappa,
    bootstrap_proportion,
    cohen_kappa,
    percent_agreement,
    weighted_kappa,
)

RATINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=25)


def split(pairs):
    return tuple(list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [])


def by_hand(a, b, levels, weighted) -> Fraction | None:
    """1 - (disagreement seen) / (disagreement by chance)."""
    n = len(a)
    place = {level: where for where, level in enumerate(levels)}

    def apart(i, j):
        return (place[i] - place[j]) ** 2 if weighted else int(i != j)

    seen = Fraction(sum(apart(i, j) for i, j in zip(a, b, strict=True)), max(n, 1))
    chance = Fraction(sum(apart(i, j) for i in a for j in b), max(n * n, 1))
    return 1 - seen / chance if chance else None


@given(RATINGS)
def test_kappa_by_hand(pairs):
    a, b = split(pairs)
    observed = sorted(set(a) | set(b))
    for found, wanted in (
        (cohen_kappa(a, b), by_hand(a, b, observed, False)),
        (weighted_kappa(a, b), by_hand(a, b, observed, True)),
        (weighted_kappa(a, b, [1, 2, 3, 4, 5]), by_hand(a, b, [1, 2, 3, 4, 5], True)),
    ):
        assert found == (None if wanted is None else pytest.approx(float(wanted), abs=1e-12))


@pytest.mark.slow
@given(RATINGS)
def test_kappa_is_agreement_beyond_chance(pairs):
    a, b = split(pairs)
    found = cohen_kappa(a, b)
    if found is None:
        assert len(set(a) | set(b)) <= 1
        return
    n = len(a)
    seen = percent_agreement(a, b)
    chance = sum(a.count(level) * b.count(level) for level in set(a)) / n**2
    assert found == pytest.approx((seen - chance) / (1 - chance), abs=1e-12)


@given(RATINGS, st.randoms())
def test_order_names_and_who_is_first_do_not_matter(pairs, random):
    a, b = split(pairs)
    found, ordinal = cohen_kappa(a, b), weighted_kappa(a, b)
    random.shuffle(pairs)
    b, a = split(pairs)
    assert cohen_kappa([f"r{9 - x}" for x in a], [f"r{9 - x}" for x in b]) == found
    assert weighted_kappa(a, b) == ordinal
    assert weighted_kappa([-x for x in a], [-x for x in b]) == ordinal


def test_two_levels_need_no_weights():
    a, b = [1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 1]
    assert weighted_kappa(a, b) == cohen_kappa(a, b)


def test_a_level_nobody_chose_shrinks_the_distance_of_its_neighbours():
    a, b = [1, 2, 5, 4], [1, 2, 4, 5]
    assert weighted_kappa(a, b) < weighted_kappa(a, b, [1, 2, 3, 4, 5])


def test_a_rating_outside_the_levels_is_refused():
    with pytest.raises(ValueError, match="rating 7 is not among the levels"):
        weighted_kappa([1, 7], [1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="ratings"):
        cohen_kappa([1], [1, 2])


@pytest.mark.parametrize("weighted", [False, True])
def test_bootstrap_is_the_obvious_resampling(weighted):
    random = np.random.RandomState(2)
    a = random.randint(1, 4, 15)
    b = np.where(random.uniform(size=15) < 0.6, a, random.randint(1, 4, 15))
    draw, kappas = np.random.RandomState(5), []
    for _ in range(150):
        places = draw.randint(0, 15, 15)
        kappa = by_hand(a[places].tolist(), b[places].tolist(), [1, 2, 3], weighted)
        if kappa is not None:
            kappas.append(float(kappa))
    found = bootstrap_kappa(a, b, weighted=weighted, n_boot=150, seed=5)
    assert [found.low, found.high] == pytest.approx(np.percentile(kappas, [2.5, 97.5]), abs=1e-12)
    assert found.sd == pytest.approx(np.std(kappas, ddof=1), abs=1e-12)


def test_resamples_without_a_kappa_are_dropped():
    # A third of the resamples of three cases hold one kind only.
    found = bootstrap_kappa([0, 0, 1], [0, 0, 1], n_boot=200)
    assert (found.point, found.low, found.high, found.sd) == (1.0, 1.0, 1.0, 0.0)


def test_nothing_to_agree_on():
    assert percent_agreement([], []) is None
    assert cohen_kappa([], []) is None
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert not bootstrap_kappa([1, 1], [1, 1]).defined


def test_percent_agreement_is_the_proportion_that_the_authors_bootstrap():
    a, b = [1, 0, 1, 1, 0], [1, 1, 1, 0, 0]
    same = [int(x == y) for x, y in zip(a, b, strict=True)]
    assert percent_agreement(a, b) == bootstrap_proportion(same, 100).point == 0.6
