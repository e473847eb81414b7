"""The authors' paired bootstrap, with its ties decided in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._stream import resampled_sums

__all__ = ["PairedResult", "paired_bootstrap", "paired_bootstrap_many"]


class PairedResult(msgspec.Struct, frozen=True):
    """A difference of two means over the same n cases; all but n None when there are none."""

    point: float | None
    low: float | None
    high: float | None
    sd: float | None
    p: float | None
    n: int


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, n_boot: int = 10_000, seed: int = 0, *, exact_ties: bool = True
) -> PairedResult:
    """Percentile bootstrap of mean(a) - mean(b), paired by case, as the grounding paper draws it.

    The places are those of `bootstrap_proportion`. With D the sum of all differences and D_r that
    of resample r (GROUNDING 10.4)::

        p = max(share of resamples with |D_r - D| >= |D|, 1 / n_boot)

    Sums of whole numbers are compared, so a resample with D_r = 0 or 2D counts as the tie it is;
    the authors' floating-point means lose some of them, and their p is the smaller for it. Use it
    to reproduce; `paired_difference` with `difference_p` or `sign_flip_p` is for reporting.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Outcomes, 0 or 1, of the same cases, in the order of the first reader's answers.
    n_boot, seed : int
        As for `bootstrap_proportion`.
    exact_ties : bool, default True
        False: the authors' floating-point p, ties lost and all.

    Returns
    -------
    PairedResult
        `low` and `high` the 2.5th and 97.5th percentiles, `sd` with ddof 1, `p` in [1/n_boot, 1].
        All but n None at n = 0.

    References
    ----------
    B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, 16.

    Examples
    --------
    >>> found = paired_bootstrap([1, 1, 0, 1, 1], [0, 1, 0, 0, 1], n_boot=1000)
    >>> found.point, found.low, found.high
    (0.4, 0.0, 0.8)
    """
    return paired_bootstrap_many([(a, b)], n_boot, seed, exact_ties=exact_ties)[0]


def paired_bootstrap_many(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    n_boot: int = 10_000,
    seed: int = 0,
    *,
    exact_ties: bool = True,
) -> list[PairedResult]:
    """`paired_bootstrap` of each pair, to the bit, with the random numbers drawn once.

    Parameters
    ----------
    pairs : sequence of (a, b)
        Outcomes as for `paired_bootstrap`; lengths may differ from pair to pair, and those of one
        length are dealt with together.
    n_boot, seed, exact_ties
        As for `paired_bootstrap`.

    Returns
    -------
    list of PairedResult
        One for each pair, in their order.

    References
    ----------
    B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, 16.

    Examples
    --------
    >>> first, second = paired_bootstrap_many([([1, 0], [1, 0]), ([1, 1, 1], [0, 0, 0])])
    >>> first.p, second.p
    (1.0, 0.0001)
    """
    each = [_outcomes(a, b) for a, b in pairs]
    # Differences alone decide, and one vector is half the work of two; rounding needs both.
    wanted = [(a - b,) if exact_ties else (a, b) for a, b in each]
    drawn = iter(resampled_sums([x for some in wanted for x in some if x.size], n_boot, seed))
    results = []
    for (a, b), some in zip(each, wanted, strict=True):
        if a.size == 0:
            results.append(PairedResult(None, None, None, None, None, 0))
            continue
        sums = [next(drawn) for _ in some]
        results.append(_exact(a, b, sums[0]) if exact_ties else _rounded(a, b, sums))
    return results


def _outcomes(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first: NDArray[Any] = np.asarray(a)
    second: NDArray[Any] = np.asarray(b)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} outcomes of the first reader, {second.size} of the second")
    if not (np.isin(first, (0, 1)).all() and np.isin(second, (0, 1)).all()):
        raise ValueError("an outcome is neither 0 nor 1")
    return first.astype(np.int64), second.astype(np.int64)


def _exact(a: NDArray[np.int64], b: NDArray[np.int64], sums: NDArray[np.int64]) -> PairedResult:
    total = int(a.sum()) - int(b.sum())
    as_far = np.abs(sums - total) >= abs(total)
    return _result(total / a.size, sums / a.size, as_far, a.size)


def _rounded(
    a: NDArray[np.int64], b: NDArray[np.int64], sums: list[NDArray[np.int64]]
) -> PairedResult:
    point = int(a.sum()) / a.size - int(b.sum()) / a.size
    differences = sums[0] / a.size - sums[1] / a.size
    return _result(point, differences, np.abs(differences - point) >= abs(point), a.size)


def _result(point: float, drawn: NDArray[Any], as_far: NDArray[np.bool_], n: int) -> PairedResult:
    low, high = np.percentile(drawn, [2.5, 97.5])
    p = max(int(np.count_nonzero(as_far)), 1) / drawn.size
    return PairedResult(point, float(low), float(high), float(drawn.std(ddof=1)), p, n)
