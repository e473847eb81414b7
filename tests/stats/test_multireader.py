"""Several readers and several cases: held against RJafroc, and as often wrong as is said.

Scores are drawn by the model of Roe and Metz; the reference values are those that RJafroc gives for
the same scores (as printed in the tests of Google Health's reader-study analysis). Simulated studies
stand in tests/bench/test_multireader.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import chi2, rankdata

from overread.stats import conditions_apart, jackknifed, model_against_readers
from overread.stats._multireader import _one_by_df


def area(ill, scores):
    """AUROC of each column."""
    ranks = rankdata(scores, axis=0)
    ones = ill.sum()
    return (ranks[ill].sum(axis=0) - ones * (ones + 1) / 2) / (ones * (~ill).sum())


@pytest.fixture(scope="module")
def model_and_readers():
    """1,000 cases, 200 of them ill; a model and ten readers as good as it."""
    draw = np.random.RandomState(1987)
    ill = np.arange(1000) < 200
    of_case = draw.randn(1000)
    scores = [ill + of_case]
    for _ in range(10):
        of_well, of_ill = 0.075 * draw.randn(2)
        error = np.sqrt(1 - 0.6**2) * draw.randn(1000)
        scores.append(ill + np.where(ill, of_ill, of_well) + 0.6 * of_case + error)
    return ill, np.column_stack(scores)


@pytest.mark.slow
def test_a_model_against_readers_is_as_in_rjafroc(model_and_readers):
    ill, scores = model_and_readers
    whole, parts = jackknifed(lambda keep: area(ill[keep], scores[keep]), np.arange(1000))
    found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:])
    assert found.effect == pytest.approx(-0.00584125, abs=1e-8)
    theirs = found.published
    assert (theirs.low, theirs.high) == pytest.approx((-0.03233184, 0.02064934), abs=1e-8)
    assert theirs.p == pytest.approx(0.6560453, abs=1e-7)
    assert theirs.df == pytest.approx(31.00905, abs=1e-5)
    # Ten readers: what is reported is hardly another.
    assert found.p == pytest.approx(theirs.p, abs=1e-3)


@pytest.mark.slow
def test_readers_under_two_conditions_are_as_in_rjafroc():
    draw, n, readers = np.random.RandomState(1987), 400, 10
    ill = np.arange(n) >= 200
    sd = {name: np.sqrt(v) for name, v in (("case", 0.3), ("other", 0.2), ("reader", 0.0082))}
    of_case = sd["case"] * draw.randn(n)
    of_condition = [sd["case"] * draw.randn(n) for _ in range(2)]
    scores = np.zeros((n, 2, readers), np.float32)
    for reader in range(readers):
        of_reader = sd["reader"] * draw.randn(2)  # with the illness, and without
        of_reader_case = sd["other"] * draw.randn(n)
        for condition in range(2):
            together = of_reader + sd["reader"] * draw.randn(2)
            error = sd["other"] * draw.randn(n)
            shift = np.where(ill, 0.821 + together[0], together[1])
            scores[:, condition, reader] = (
                shift + of_case + of_reader_case + of_condition[condition] + error
            )
    flat = scores.reshape(n, -1)
    whole, parts = jackknifed(lambda keep: area(ill[keep], flat[keep]), np.arange(n))
    found = conditions_apart(whole.reshape(2, readers), parts.reshape(n, 2, readers))
    assert found.effect == pytest.approx(0.00451, abs=1e-6)
    theirs = found.published
    assert (theirs.low, theirs.high) == pytest.approx((-0.04284442691, 0.05186442691), abs=1e-6)
    assert theirs.p == pytest.approx(0.8502715, abs=1e-6)
    assert theirs.df == pytest.approx(85.5241922, abs=1e-4)
    assert found.p == pytest.approx(theirs.p, abs=1e-3)


@pytest.mark.parametrize("readers", [3, 4, 5, 10])
def test_whatever_readers_add_the_test_errs_as_often_as_it_says(readers):
    """By quadrature, of normal readers and cases: their true share of the variance from 0 to 1."""
    free = readers - 1
    chance = (np.arange(2000) + 0.5) / 2000
    drawn = chi2.ppf(chance, free)[:, None] / free  # mean squares, over what they estimate
    true_share = np.linspace(0.01, 0.99, 50)
    whole = true_share * drawn + 1 - true_share
    share = true_share * drawn / whole

    def errs(one_by_df):
        return 2 * ndtr(-stdtrit(1 / one_by_df, 0.975) * np.sqrt(whole)).mean(axis=0)

    ours, theirs = errs(_one_by_df(share, free)), errs(share**2 / free)
    assert 0.045 < ours.min() < ours.max() < 0.057
    assert (theirs.max() > 0.075) == (readers == 3)


def test_where_readers_or_cases_are_all_there_is_nothing_is_corrected():
    assert _one_by_df([0.0, 1.0], 2).tolist() == [0.0, 0.5]
    share = np.linspace(0, 1, 101)
    ours = _one_by_df(share, 2)
    assert (ours >= share**2 / 2).all()
    assert (np.diff(ours) >= 0).all()


def right_or_not(draw, readers, cases):
    """Whether each reader is right about each case: what case and reader share, on a normal scale."""
    hard = draw.standard_normal(cases)
    good = 0.3 * draw.standard_normal((readers, 1))
    return good + 0.7 * hard + 0.7 * draw.standard_normal((readers, cases)) > 0


def left_out(right):
    """The share of right answers of each reader, and with each case left out, without a loop."""
    n = right.shape[-1]
    whole = right.mean(axis=-1)
    return whole, np.moveaxis((right.sum(axis=-1, keepdims=True) - right) / (n - 1), -1, 0)


def test_leaving_out_at_once_is_leaving_out_one_by_one():
    right = right_or_not(np.random.default_rng(3), 4, 25)
    slow = jackknifed(lambda keep: right[:, keep].mean(axis=1), np.arange(25))
    for one, other in zip(left_out(right), slow, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("readers", [3, 4, 8])
def test_interval_and_p_say_the_same(readers):
    """Of no difference and of one at the margin, as reported and as published."""
    draw = np.random.default_rng(readers)
    for _ in range(100):
        whole, parts = left_out(right_or_not(draw, readers + 1, 60))
        margin = float(draw.uniform(0, 0.2))
        found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:], margin)
        for said in (found, found.published):
            assert (said.low <= 0 <= said.high) == (said.p > 0.05)
            assert (said.low > -margin) == (said.p_within < 0.025)
        assert -1 <= found.low <= found.effect <= found.high <= 1


@pytest.mark.parametrize("readers", [3, 8])
def test_figures_without_bounds_are_compared_as_they_are(readers):
    """The published interval, wider for few readers alone; in whatever unit."""
    draw = np.random.default_rng(readers)
    whole, parts = left_out(right_or_not(draw, readers + 1, 60))
    found, times = (
        model_against_readers(
            by * whole[0], by * whole[1:], by * parts[:, 0], by * parts[:, 1:], bounds=None
        )
        for by in (1, 30)
    )
    assert found.low <= found.published.low < found.published.high <= found.high
    assert (found.low + found.high) / 2 == pytest.approx(found.effect)
    assert (times.low, times.high) == pytest.approx((30 * found.low, 30 * found.high))
    assert times.p == pytest.approx(found.p)


def test_bounds_are_a_matter_of_the_unit():
    """Shares, the same in percent, and of what was wrong: the same but for unit and sign."""
    whole, parts = left_out(right_or_not(np.random.default_rng(5), 6, 60))

    def compared(turn, bounds):
        w, p = turn(whole), turn(parts)
        return model_against_readers(w[0], w[1:], p[:, 0], p[:, 1:], 0.1 * bounds[1], bounds=bounds)

    share = compared(lambda x: x, (0.0, 1.0))
    percent = compared(lambda x: 100 * x, (0.0, 100.0))
    wrong = compared(lambda x: 1 - x, (0.0, 1.0))
    assert (percent.low, percent.high) == pytest.approx((100 * share.low, 100 * share.high))
    assert (percent.p, percent.p_within) == pytest.approx((share.p, share.p_within))
    assert (-wrong.high, -wrong.low) == pytest.approx((share.low, share.high))
    assert wrong.p == pytest.approx(share.p)
    with pytest.raises(ValueError, match="beyond their bounds"):
        compared(lambda x: 100 * x, (0.0, 1.0))


def test_angles_by_hand():
    """The tested difference written out, readers one by one."""
    n, count = 60, 5
    whole, parts = left_out(right_or_not(np.random.default_rng(7), count + 1, n))
    found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:])
    p = (n * np.array([whole[0], whole[1:].mean()]) + 1) / (n + 2)
    angle, slope = 2 * np.arcsin(np.sqrt(p)), 1 / np.sqrt(p * (1 - p))
    covariance = np.cov(parts.T) * (n - 1) ** 2 / n
    by = np.diag([slope[0]] + [slope[1]] * count)
    covariance = by @ covariance @ by
    own = np.diag(covariance)
    of_model = (n * own[0] + 50 * own.mean()) / (n + 50)
    pairs = [(j, k) for j in range(1, count + 1) for k in range(1, count + 1) if j != k]
    shared = of_model + np.mean(
        [covariance[j, k] - covariance[0, j] - covariance[0, k] for j, k in pairs]
    )
    spread = (slope[1] * whole[1:]).var(ddof=1)
    variance = (spread + count * shared) / count
    s = spread / (spread + count * shared)
    one_by_df = s**2 / 4 * (1 + 8 * s * (1 - s) / 4)
    assert found.df == pytest.approx(1 / one_by_df)
    error, apart = np.sqrt(variance), angle[0] - angle[1]
    assert found.p == pytest.approx(2 * stdtr(found.df, -abs(apart) / error))

    # The most and least that figures are apart where both angles are on the ellipse, brought to
    # the figures and gone around in small steps.
    between = np.mean([covariance[0, j] for j in range(1, count + 1)])
    of_people = variance - of_model + 2 * between
    both = np.array([[of_model, between], [between, of_people]])
    turn = np.linspace(0, 2 * np.pi, 100_001)
    around = np.linalg.cholesky(both) @ np.array([np.cos(turn), np.sin(turn)])
    on = angle[:, None] + stdtrit(found.df, 0.975) * around
    model, people = ((1 - np.cos(on)) / 2 * (n + 2) - 1) / n
    assert (found.low, found.high) == pytest.approx(
        ((model - people).min(), (model - people).max()), abs=1e-8
    )


def test_a_model_that_errs_nowhere_is_still_uncertain():
    """Its own variance is estimated as none; and no interval ends beyond 1."""
    draw = np.random.default_rng(2)
    right = right_or_not(draw, 5, 40) | (draw.random((5, 40)) < 0.8)
    right[0] = True
    whole, parts = left_out(right)
    found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:])
    assert found.effect - found.low > found.effect - found.published.low
    assert found.high <= 1


def test_where_nothing_is_known_of_readers_the_interval_is_all_that_they_may_be():
    """Three readers of whom one errs always and one never, and a model that is right in half."""
    whole = np.array([0.5, 0.01, 0.99, 0.5])
    parts = np.tile(whole, (20, 1))
    parts[:, 0] += np.linspace(-0.01, 0.01, 20)
    found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:])
    assert found.low < -0.5
    assert found.high > 0.5
    assert found.p > 0.9


def test_a_margin_is_tested_on_one_side():
    right = right_or_not(np.random.default_rng(1), 6, 200)
    whole, parts = left_out(right)
    say = [
        model_against_readers(
            whole[0], whole[1:], parts[:, 0], parts[:, 1:], margin=margin
        ).p_within
        for margin in (0.0, 0.1, 0.5)
    ]
    assert say[0] > say[1] > say[2]
    assert say[2] < 1e-3


def test_two_readers_say_nothing_of_others():
    right = right_or_not(np.random.default_rng(1), 3, 50)
    whole, parts = left_out(right)
    assert model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:]) is None
    assert conditions_apart(whole[:2].reshape(2, 1), parts[:, :2].reshape(50, 2, 1)) is None


def test_an_undefined_figure_has_no_difference():
    whole, parts = left_out(right_or_not(np.random.default_rng(1), 5, 50))
    parts[7, 2] = np.nan
    assert model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:]) is None


def test_cases_of_one_patient_are_left_out_together():
    right = np.array([[1, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0]], float)
    _, parts = jackknifed(lambda keep: right[:, keep].mean(axis=1), ["p", "p", "q", "r"])
    assert parts.shape == (3, 3)
    assert parts[0] == pytest.approx(right[:, 2:].mean(axis=1))
