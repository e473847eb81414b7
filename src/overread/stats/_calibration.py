"""Do stated probabilities mean what they say?"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._spread import spread_of_mean

Edges = Literal["floor", "linspace"]


class Bin(msgspec.Struct, frozen=True):
    """One of ten bins of confidence: how many cases, how sure on average, how often right."""

    index: int
    n: int
    mean_confidence: float
    rate: float


def calibration_bins(
    confidence: ArrayLike, outcome: ArrayLike, edges: Edges = "floor"
) -> list[Bin]:
    """Ten bins of confidence, with the mean confidence and the rate of the outcome in each.

    - "linspace": edges `numpy.linspace(0, 1, 11)`, left-closed, the last closed. 0.3, 0.6 and 0.7
      lie just below their edges in floating point and fall into the lower bin (GROUNDING 8.1).
      What is outside [0, 1] falls into none.
    - "floor": bin min(floor(10 c), 9). What is outside counts as the nearer of 0 and 1, which is
      what the authors' reliability figure does.

    Parameters
    ----------
    confidence : array of shape (n,)
        Probabilities.
    outcome : array of shape (n,)
        Mostly 1 or 0: correct, or positive, as the caller has it.
    edges : "floor" or "linspace"

    Returns
    -------
    list of Bin
        In ascending order; empty bins are left out.

    References
    ----------
    A. H. Murphy and R. L. Winkler (1977), Applied Statistics 26, 41-47.

    Examples
    --------
    >>> [bin.index for bin in calibration_bins([0.0, 0.3, 1.0], [0, 1, 1])]
    [0, 3, 9]
    >>> [bin.index for bin in calibration_bins([0.0, 0.3, 1.0], [0, 1, 1], "linspace")]
    [0, 2, 9]
    """
    c, hit = _numbers(confidence, outcome)
    if edges == "floor":
        c = np.clip(c, 0, 1)
        where = np.minimum(np.floor(10 * c), 9).astype(np.int64)
    elif edges == "linspace":
        where = np.minimum(np.searchsorted(np.linspace(0, 1, 11), c, side="right") - 1, 9)
        within = (c >= 0) & (c <= 1)
        c, hit, where = c[within], hit[within], where[within]
    else:
        raise ValueError(f'edges are "floor" or "linspace", not "{edges}"')
    return [
        Bin(index, int(inside.sum()), float(c[inside].mean()), float(hit[inside].mean()))
        for index in np.unique(where).tolist()
        for inside in (where == index,)
    ]


def ece(confidence: ArrayLike, outcome: ArrayLike, *, edges: Edges = "linspace") -> float | None:
    """Expected calibration error over ten bins.

    ::

        Σ_b n_b/n · |mean confidence - rate of the outcome|

    What it means depends on what is given: the probability of the answer with correctness, or
    P(Yes) with the label, are calibration errors; P(Yes) with correctness is the authors' [D7].

    Parameters
    ----------
    confidence, outcome : arrays of shape (n,)
        As for `calibration_bins`.
    edges : "linspace" or "floor"

    Returns
    -------
    float or None
        In [0, 1]; None at n = 0.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), AAAI 29, 2901-2907.

    Examples
    --------
    >>> f"{ece([0.9, 0.9, 0.2, 0.2], [1, 0, 0, 0]):.2f}"
    '0.30'
    """
    n = int(np.asarray(confidence).size)
    if n == 0:
        return None
    bins = calibration_bins(confidence, outcome, edges)
    return math.fsum(found.n / n * abs(found.mean_confidence - found.rate) for found in bins)


def debiased_ece(
    confidence: ArrayLike,
    outcome: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    edges: Edges = "floor",
) -> float | None:
    """Expected calibration error without what chance alone adds to it.

    A bin's gap is never 0 by chance, so a reader that is perfectly calibrated has an ECE well above
    0. With gap g_b = mean confidence - rate and its standard error s_b, what chance adds is about
    E|N(g_b, s_b²)| - |g_b|, and is taken off::

        Σ_b n_b/n (2 |g_b| - E|N(g_b, s_b²)|), at least 0
        E|N(g, s²)| = s sqrt(2/π) exp(-g²/2s²) + g (1 - 2 Φ(-g/s))

    Parameters
    ----------
    confidence, outcome : arrays of shape (n,)
        As for `calibration_bins`.
    clusters : array of shape (n,), optional
        Which cluster each case belongs to: the design effect is in s_b².
    edges : "floor" or "linspace"

    Returns
    -------
    float or None
        In [0, 1]; None at n = 0.

    References
    ----------
    A. Kumar, P. Liang and T. Ma (2019), NeurIPS 32, 3787-3798. J. Bröcker (2012), Climate Dynamics
    39, 655-667.

    Examples
    --------
    >>> f"{debiased_ece([0.9] * 20 + [0.1] * 20, [1] * 18 + [0] * 2 + [1] * 2 + [0] * 18):.2f}"
    '0.00'
    >>> f"{debiased_ece([0.9] * 40, [1] * 20 + [0] * 20):.2f}"
    '0.40'
    """
    from overread.stats.special import ndtr

    c, y = _numbers(confidence, outcome)
    if c.size == 0:
        return None
    effect = _effect(y - c, clusters)
    total = 0.0
    for one in calibration_bins(c, y, edges):
        gap = abs(one.mean_confidence - one.rate)
        # A rate of 0 or 1 has a spread all the same: Agresti and Coull's two of each kind.
        rate = (one.n * one.rate + 2) / (one.n + 4)
        s = math.sqrt(effect * rate * (1 - rate) / one.n)
        folded = s * math.sqrt(2 / math.pi) * math.exp(-(gap**2) / (2 * s * s))
        folded += gap * (1 - 2 * float(ndtr(-gap / s)))
        total += one.n / c.size * (2 * gap - folded)
    return max(0.0, total)


def calibrated_p(
    confidence: ArrayLike,
    outcome: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    edges: Edges = "floor",
    times: int = 999,
    seed: int = 0,
    chances: NDArray[np.float64] | None = None,
) -> float | None:
    """P that a reader whose probabilities mean what they say has an ECE as large as this one's.

    Outcomes are drawn by the stated probabilities themselves (consistency resampling). Cases of one
    patient are alike, so that gaps vary by the design effect of the residuals more::

        p = (1 + #{ sqrt(effect) ECE* >= ECE }) / (1 + times)

    Parameters
    ----------
    confidence, outcome : arrays of shape (n,)
        As for `calibration_bins`.
    clusters : array of shape (n,), optional
        Which cluster each case belongs to.
    edges : "floor" or "linspace"
    times, seed : int
        How often outcomes are drawn, and the seed of the legacy generator.
    chances : array of shape (m,), m >= times n, optional
        `RandomState(seed).random_sample(m)`, drawn once for several readers.

    Returns
    -------
    float or None
        In (0, 1]; None without cases. Below 0.05: not calibrated.

    References
    ----------
    J. Bröcker and L. A. Smith (2007), Weather and Forecasting 22, 651-661.

    Examples
    --------
    >>> calibrated_p([0.9] * 40, [1] * 36 + [0] * 4) > 0.5
    True
    >>> calibrated_p([0.9] * 40, [1] * 20 + [0] * 20)
    0.001
    """
    c, y = _numbers(confidence, outcome)
    if c.size == 0:
        return None
    c = np.clip(c, 0, 1)
    effect = _effect(y - c, clusters)
    edge = np.linspace(0, 1, 11)
    where = np.floor(10 * c) if edges == "floor" else np.searchsorted(edge, c, side="right") - 1
    where = np.minimum(where, 9).astype(np.int64)
    # By content, so that the order of cases does not decide what is drawn.
    order = np.lexsort((c, where))
    c, where = c[order], where[order]
    seen = np.abs(np.bincount(where, weights=c - y[order], minlength=10)).sum()
    bins, starts = np.unique(where, return_index=True)
    stated = np.bincount(where, weights=c)[bins]
    draw = np.random.RandomState(seed)
    beyond, rows = 0, max(1, 2_000_000 // c.size)
    for start in range(0, times, rows):
        shape = min(rows, times - start), c.size
        if chances is None:
            drawn = draw.random_sample(shape)
        else:
            drawn = chances[start * c.size :][: shape[0] * c.size].reshape(shape)
        gaps = stated - np.add.reduceat(drawn < c, starts, axis=1, dtype=np.int64)
        beyond += int((math.sqrt(effect) * np.abs(gaps).sum(axis=1) >= seen - 1e-9).sum())
    return (1 + beyond) / (1 + times)


def _effect(residuals: NDArray[Any], clusters: ArrayLike | None) -> float:
    """The design effect by cluster; all cases of a single one say no more than one case."""
    if clusters is None:
        return 1.0
    if np.unique(np.asarray(clusters)).size < 2:
        return float(residuals.size)
    return spread_of_mean(residuals, clusters).effect


def informative(confidence: ArrayLike, share: float = 0.9) -> bool:
    """Whether confidences say more than yes and no, so that calibration means something.

    Not so when at least `share` of them are exactly 0.0 or 1.0 (GROUNDING 8.1), or there are none.

    Parameters
    ----------
    confidence : array of shape (n,)
    share : float, default 0.9

    Returns
    -------
    bool

    References
    ----------
    GROUNDING 8.1, the gate.

    Examples
    --------
    >>> informative([0.0, 1.0, 0.4]), informative([0.0, 1.0, 1.0])
    (True, False)
    """
    c: NDArray[Any] = np.asarray(confidence, dtype=float)
    return bool(c.size) and int(np.isin(c, (0.0, 1.0)).sum()) / c.size < share


def _numbers(confidence: ArrayLike, outcome: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    c: NDArray[Any] = np.asarray(confidence, dtype=float)
    y: NDArray[Any] = np.asarray(outcome, dtype=float)
    if c.shape != y.shape:
        raise ValueError(f"{c.size} probabilities, {y.size} outcomes")
    if np.isnan(c).any() or np.isnan(y).any():
        raise ValueError("a probability or an outcome is missing (NaN)")
    return c, y
