"""Many tests at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["benjamini_hochberg"]


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Benjamini and Hochberg's adjusted p-values (q), controlling the false-discovery rate.

    With the m defined p-values in ascending order::

        q_(k) = min over r >= k of p_(r) · m / r, at most 1

    Parameters
    ----------
    p : array of shape (tests,)
        P-values. NaN marks a test that could not be made: it passes through and does not count.

    Returns
    -------
    array of shape (tests,)
        Q-values in [0, 1] in the order given, each at least its p; NaN where p is NaN.

    References
    ----------
    Y. Benjamini and Y. Hochberg (1995), JRSS B 57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, float("nan"), 0.04, 0.03]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    values: NDArray[Any] = np.asarray(p, dtype=float)
    q = np.full(values.shape, np.nan)
    made = np.flatnonzero(~np.isnan(values))
    if made.size == 0:
        return q
    ascending = made[np.argsort(values[made], kind="stable")]
    raw = values[ascending] * made.size / np.arange(1, made.size + 1)
    q[ascending] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return q
