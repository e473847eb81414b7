"""The difference of two proportions measured on different cases."""

from __future__ import annotations

import math

from overread.stats._interval import Interval

__all__ = ["independent_difference"]


def independent_difference(first: Interval, second: Interval) -> Interval:
    """Newcombe's interval (method 10 for independent samples) for p1 - p2, at 95 %.

    The intervals [l, u] of the two proportions, such as Wilson's, are put together by squares::

        d    = p1 - p2
        low  = d - sqrt((p1 - l1)² + (u2 - p2)²)
        high = d + sqrt((u1 - p1)² + (p2 - l2)²)

    Parameters
    ----------
    first, second : Interval
        Each with a point and bounds; their design effects are already in the bounds.

    Returns
    -------
    Interval
        `point` in [-1, 1]; `sd` from both standard errors; `n` the cases of both. All None where
        either has no value; bounds None where either has none.

    References
    ----------
    R. G. Newcombe (1998), Statistics in Medicine 17, 873-890.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = independent_difference(wilson(56, 70), wilson(48, 80))
    >>> f"{found.point:.3f} [{found.low:.4f}, {found.high:.4f}]"
    '0.200 [0.0524, 0.3339]'
    """
    n = first.n + second.n
    p1, p2 = first.point, second.point
    if p1 is None or p2 is None:
        return Interval(None, None, None, None, n)
    point = p1 - p2
    sd = None
    if first.sd is not None and second.sd is not None:
        sd = math.hypot(first.sd, second.sd)
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Interval(point, None, None, sd, n)
    low = point - math.hypot(p1 - first.low, second.high - p2)
    high = point + math.hypot(first.high - p1, p2 - second.low)
    return Interval(point, max(-1.0, low), min(1.0, high), sd, n)
