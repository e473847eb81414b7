"""Do two readers say the same?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._authors import resamples, tallies
from overread.stats._proportions import Interval


def percent_agreement(a: ArrayLike, b: ArrayLike) -> float | None:
    """The share of cases on which two readers say the same; a fraction, like every rate here.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Ratings of the same cases.

    Returns
    -------
    float or None
        In [0, 1]; None at n = 0.

    References
    ----------
    J. L. Fleiss (1981), Statistical Methods for Rates and Proportions, 13.1.

    Examples
    --------
    >>> percent_agreement([1, 0, 1, 1], [1, 0, 0, 1])
    0.75
    """
    first, second = _both(a, b)
    return float(np.mean(first == second)) if first.size else None


def cohen_kappa(a: ArrayLike, b: ArrayLike) -> float | None:
    """Cohen's kappa: agreement beyond what the two readers' habits alone would give.

    ::

        kappa = (p_o - p_e) / (1 - p_e)

    with p_o the share of cases agreed on and p_e that expected from the marginal rates.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Ratings of the same cases; any sortable values.

    Returns
    -------
    float or None
        At most 1; None at n = 0 and where chance alone agrees always (both said one thing only).

    References
    ----------
    J. Cohen (1960), Educational and Psychological Measurement 20, 37-46.

    Examples
    --------
    >>> cohen_kappa([1, 0, 1, 1], [1, 0, 0, 1])
    0.5
    """
    return _point(a, b, None, weighted=False)


def weighted_kappa(a: ArrayLike, b: ArrayLike, levels: ArrayLike | None = None) -> float | None:
    """Cohen's kappa with quadratic weights, for ordered ratings.

    With O the table of counts, E = row x column totals / n, and i, j the places of two ratings
    among the levels::

        kappa = 1 - Σ (i-j)² O_ij / Σ (i-j)² E_ij

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Ratings of the same cases.
    levels : array, optional
        All ratings there could be, in order. None: those that occur, so that a level nobody chose
        shrinks the distance between its neighbours, as the authors have it [D27].

    Returns
    -------
    float or None
        At most 1; None at n = 0 and where chance alone agrees always.

    References
    ----------
    J. Cohen (1968), Psychological Bulletin 70, 213-220.

    Examples
    --------
    >>> f"{weighted_kappa([1, 2, 5, 4], [1, 2, 4, 5]):.3f}"
    '0.800'
    >>> f"{weighted_kappa([1, 2, 5, 4], [1, 2, 4, 5], levels=[1, 2, 3, 4, 5]):.3f}"
    '0.900'
    """
    return _point(a, b, levels, weighted=True)


def bootstrap_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weighted: bool = False,
    levels: ArrayLike | None = None,
    n_boot: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Kappa with a percentile bootstrap of the cases, as the grounding paper's code draws it.

    Resamples are those of `bootstrap_proportion`; those without a kappa are dropped (GROUNDING 15).
    Levels are those of the whole set in every resample.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Ratings of the same cases.
    weighted : bool, default False
        `weighted_kappa` instead of `cohen_kappa`.
    levels : array, optional
        As for `weighted_kappa`.
    n_boot, seed : int
        As for `bootstrap_proportion`.

    Returns
    -------
    Interval
        Bounds at the 2.5th and 97.5th percentiles, `sd` with ddof 1; zero width when no resample
        disagrees. All None where kappa is.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

    Examples
    --------
    >>> found = bootstrap_kappa([1, 0, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0], n_boot=1000)
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.667 [0.000, 1.000]'
    """
    cells, weights = _cells(a, b, levels, weighted=weighted)
    n = cells.size
    point = _kappas(tallies(cells[None, :], weights.size), weights)[0] if n else np.nan
    if np.isnan(point):
        return Interval(None, None, None, None, n)
    drawn = np.empty(n_boot)
    for _, start, places in resamples([n], n_boot, seed):
        tables = tallies(cells.take(places), weights.size)
        drawn[start : start + places.shape[0]] = _kappas(tables, weights)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 2:
        return Interval(float(point), None, None, None, n)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float(point), float(low), float(high), float(drawn.std(ddof=1)), n)


def _point(a: ArrayLike, b: ArrayLike, levels: ArrayLike | None, *, weighted: bool) -> float | None:
    cells, weights = _cells(a, b, levels, weighted=weighted)
    if cells.size == 0:
        return None
    kappa = float(_kappas(tallies(cells[None, :], weights.size), weights)[0])
    return None if np.isnan(kappa) else kappa


def _both(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} ratings of the first reader, {second.size} of the second")
    return first, second


def _cells(
    a: ArrayLike, b: ArrayLike, levels: ArrayLike | None, *, weighted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cell of the table that each case falls in, and how much each cell disagrees."""
    first, second = _both(a, b)
    found = np.unique(np.concatenate((first, second)))
    known = found if levels is None else np.asarray(levels)
    place = {level: where for where, level in enumerate(known.tolist())}
    strange = [level for level in found.tolist() if level not in place]
    if strange:
        raise ValueError(f"rating {strange[0]!r} is not among the levels {known.tolist()}")
    rows, columns = (
        np.array([place[level] for level in x.tolist()], dtype=np.int64) for x in (first, second)
    )
    apart = np.subtract.outer(np.arange(known.size), np.arange(known.size))
    return rows * known.size + columns, apart**2 if weighted else (apart != 0).astype(np.int64)


def _kappas(tables: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[Any]:
    """1 - n Σ w O / Σ w (row x column totals) of each table; NaN where the latter is 0."""
    size = weights.shape[0]
    counts = tables.reshape(-1, size, size)
    n = counts.sum(axis=(1, 2))
    seen = n * (counts * weights).sum(axis=(1, 2))
    chance = np.einsum("ti,ij,tj->t", counts.sum(axis=2), weights, counts.sum(axis=1))
    kappas: NDArray[Any] = np.full(n.size, np.nan)
    np.divide(chance - seen, chance, out=kappas, where=chance > 0)
    return kappas
