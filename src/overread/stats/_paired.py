"""The difference of two proportions measured on the same cases."""

from __future__ import annotations

import math

from overread.stats._interval import Interval
from overread.stats._proportions import score_bounds

__all__ = ["paired_difference"]


def paired_difference(
    n11: int, n10: int, n01: int, n00: int, *, design_effect: float = 1.0
) -> Interval:
    """Newcombe's score interval (method 10) for a difference of paired proportions, at 95 %.

    Each case has two outcomes: n11 had both, n10 only the first, n01 only the second, n00 neither.
    The Wilson intervals [l, u] of the two proportions p1 and p2 are put together with their
    correlation phi, which is corrected for continuity when positive::

        d     = p1 - p2 = (n10 - n01) / n
        low   = d - sqrt((p1-l1)² - 2 phi (p1-l1)(u2-p2) + (u2-p2)²)
        high  = d + sqrt((u1-p1)² - 2 phi (u1-p1)(p2-l2) + (p2-l2)²)

    Parameters
    ----------
    n11, n10, n01, n00 : int
        Cells of the paired table, each at least 0.
    design_effect : float, default 1
        As in `wilson`, of the differences (-1, 0 or 1 per case); every cell is divided by it.

    Returns
    -------
    Interval
        `point` in [-1, 1]; `low` < `high`, also when every case agrees; `sd` the standard error
        sqrt((n10 + n01)/n - d²) / sqrt(n / design_effect). All None at n = 0.

    References
    ----------
    R. G. Newcombe (1998), Statistics in Medicine 17, 2635-2650.

    Examples
    --------
    >>> found = paired_difference(1, 1, 7, 12)
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '-0.286 [-0.507, -0.026]'
    """
    if min(n11, n10, n01, n00) < 0:
        raise ValueError(f"a cell of the table is negative: {n11}, {n10}, {n01}, {n00}")
    if not design_effect >= 1:
        raise ValueError(f"a design effect of {design_effect} would make cases of nothing")
    n = n11 + n10 + n01 + n00
    if n == 0:
        return Interval(None, None, None, None, 0)
    m = n / design_effect
    first, second = (n11 + n10) / n, (n11 + n01) / n
    low1, high1 = score_bounds(first, m)
    low2, high2 = score_bounds(second, m)
    phi = _correlation(*(cell / design_effect for cell in (n11, n10, n01, n00)))
    point = (n10 - n01) / n
    below = _joined(first - low1, high2 - second, phi)
    above = _joined(high1 - first, second - low2, phi)
    spread = max(0.0, (n10 + n01) / n - point * point)
    return Interval(
        point, max(-1.0, point - below), min(1.0, point + above), math.sqrt(spread / m), n
    )


def _joined(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def _correlation(n11: float, n10: float, n01: float, n00: float) -> float:
    margins = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    if margins == 0:
        return 0.0
    cross = n11 * n00 - n10 * n01
    if cross > 0:
        cross = max(cross - (n11 + n10 + n01 + n00) / 2, 0.0)
    return cross / math.sqrt(margins)
