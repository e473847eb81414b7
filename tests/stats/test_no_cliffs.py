"""One case or one patient more never makes an interval jump, at any number of them.

Rules that begin at some number (a handful of clusters, ten, thirteen that differ) must meet there.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from overread.case import Measure
from overread.measuring.estimates import (
    Estimate,
    Resampling,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
)
from overread.stats import clustered_mean, clustered_share, flip_p, paired_values

PATIENTS = range(2, 61)
EACH = pytest.mark.parametrize("each", [1, 2, 3])
# What chance alone makes of a half-width with n: 1/sqrt(n), and Student's t at n - 1.
LEAST = {2: 0.2, 3: 0.5, 4: 0.65}


def half_width(found) -> float:
    return (found.high - found.low) / 2


def check_smooth(widths: list[float], most: float = 1.0, least: float = 0.75) -> None:
    """From n to n + 1 no wider than by `most`, nor narrower than by `least` from 5 on."""
    for n, before, after in zip(PATIENTS, widths, widths[1:], strict=False):
        assert after / before <= most + 1e-9, (n, before, after)
        assert after / before >= LEAST.get(n, least), (n, before, after)


def spread_out(n: int) -> np.ndarray:
    """The places 0 … n-1 so that every stretch of them holds small and large ones alike."""
    return np.argsort(np.argsort(np.arange(n) * (5**0.5 - 1) / 2 % 1))


def owners(patients: int, each: int) -> np.ndarray:
    return np.repeat(np.arange(patients), each)


def marks(k: int, n: int) -> np.ndarray:
    return (spread_out(n) < k).astype(int)


@EACH
@pytest.mark.parametrize(
    ("of", "most"),
    # A rate that can only be had to the nearest case jumps as the count of misses does.
    [("all", 1.0), ("all but one", 1.0), ("half", 1.02), ("0.95", 1.35)],
)
def test_shares(each, of, most):
    hits = {
        "all": lambda n: n,
        "all but one": lambda n: n - 1,
        "half": lambda n: n // 2,
        "0.95": lambda n: round(0.95 * n),
    }[of]
    found = [clustered_share(marks(hits(n * each), n * each), owners(n, each))[0] for n in PATIENTS]
    check_smooth([half_width(one) for one in found], most, 0.69)


@pytest.mark.parametrize("singles", [3, 8])
def test_shares_of_patients_with_unlike_numbers_of_cases(singles):
    """Patients of one case, and one of eight, then one more of one case."""
    widths = []
    for n in PATIENTS:
        who = np.concatenate([np.zeros(8, int), np.arange(1, n + singles)])
        widths.append(half_width(clustered_share(marks(who.size // 2, who.size), who)[0]))
    check_smooth(widths, 1.06)


def amounts(n: int) -> np.ndarray:
    return 10 + 2 * ndtri((spread_out(n) + 0.5) / n)


@EACH
@pytest.mark.parametrize("limits", [(-np.inf, np.inf), (0.0, 20.0)])
def test_means(each, limits):
    found = []
    for n in PATIENTS:
        x = amounts(n * each)
        found.append(clustered_mean(float(x.mean()), x, owners(n, each), limits)[0])
    check_smooth([half_width(one) for one in found], 1.04, 0.4)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("apart", [0.0, 0.9])
def test_differences_of_amounts(each, apart):
    """Up to 13 clusters that differ all signs are listed, then drawn; and the bound follows p."""
    found = []
    for n in PATIENTS:
        x = amounts(n * each)
        found.append(paired_values(x, np.full(x.size, 10 - apart), owners(n, each)).interval)
    check_smooth([half_width(one) for one in found], 1.1, 0.55)


def test_drawn_signs_say_what_listed_ones_would():
    """13 clusters are listed, 14 drawn: one that hardly differs more hardly moves p."""
    draw = np.random.default_rng(0)
    for _ in range(20):
        each = draw.normal(0.4, 1, 13)
        listed, drawn = flip_p(each, range(13)), flip_p([*each, 1e-6], range(14))
        assert drawn == pytest.approx(listed, abs=4 * np.sqrt(0.25 / 9_999))


@EACH
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_differences_of_marks(each, share):
    """As many for the one as for the other: each case more of both moves the bounds a little."""
    widths = []
    for n in PATIENTS:
        cases = spread_out(n * each)
        differ = round(share * n * each)
        both = cases >= 0.6 * n * each
        one, two = both | (cases < differ), both | ((cases >= differ) & (cases < 2 * differ))
        widths.append(half_width(paired_values(one, two, owners(n, each), (-1, 1)).interval))
    check_smooth(widths, 1.0 if not share else 1.3, 0.69)


@pytest.mark.parametrize("kind", ["jumps", "centred", "strictly"])
@pytest.mark.parametrize("step", [1.0, None])
def test_what_is_drawn_again_at_ten(kind, step):
    """Half-widths fell to a fifth from 9 to 10 clusters, or where nothing is floored by a quarter."""
    widths = []
    for n in PATIENTS:
        values = amounts(n)[:, None] / 20
        made = estimated(
            Measure(reader="", measure="m"), columns_of(values), mean_of_columns,
            counted_in(values), step=step,
        )  # fmt: skip
        told = {"strictly": mean_of_columns} if kind == "strictly" else {kind: True}
        made = Estimate(**{name: getattr(made, name) for name in Estimate.__struct_fields__} | told)
        (record,) = Resampling(np.arange(n), boot=2_000, seed=0).finish([made])
        widths.append(half_width(record))
    check_smooth(widths, 1.12, 0.8)
