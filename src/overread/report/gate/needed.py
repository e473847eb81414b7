"""How many cases would settle what an interval leaves open, were the value to stay what it is."""

from __future__ import annotations

import math
from typing import Final

from overread.stats import Z95

MOST: Final = 10**9
"""More cases than this are as good as none."""


def needed_of_a_share(share: float, bound: float, per_case: float = 1.0) -> int | None:
    """The fewest cases at which Wilson's interval about a share no longer holds the bound.

    Wilson's interval holds b as long as \\|p - b\\| < z sqrt(b(1-b)/m), so it lets go at ::

        m = z² b (1 - b) / (p - b)²

    Parameters
    ----------
    share, bound : float
        p and b, in [0, 1].
    per_case : float
        How many independent cases one case is worth: one over the design effect.

    Returns
    -------
    int or None
        None where no number is enough: the share is the bound, or all but.

    Examples
    --------
    >>> needed_of_a_share(0.9, 0.8)
    62
    >>> needed_of_a_share(1.0, 0.95)
    73
    """
    away = share - bound
    if away == 0 or per_case <= 0:
        return None
    ratio = Z95 / away  # squared by a product: a power that overflows raises
    return _whole(ratio * ratio * bound * (1 - bound) / per_case)


def needed_otherwise(n: int, half: float, away: float) -> int | None:
    """The cases at which an interval that narrows with the root of n lets go of the bound.

    `half` is how far the interval reaches from the value towards the bound at n cases, `away` how
    far the bound is from the value.

    Examples
    --------
    >>> needed_otherwise(100, 0.2, 0.1)
    400
    """
    if away == 0 or n < 1:
        return None
    ratio = half / away
    return _whole(n * ratio * ratio)


def effective_size(share: float, width: float) -> float | None:
    """The independent cases at which Wilson's interval about a share is this wide.

    So that design effects, and intervals made otherwise, need not be told apart by their names.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = wilson(9, 33)
    >>> round(effective_size(9 / 33, found.high - found.low), 6)
    33.0
    """
    if not 0 < width < 1:
        return None
    low, high = -20.0, 40.0  # powers of two
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _width(share, 2.0**middle) > width else (low, middle)
    return float(2.0**low)


def _width(share: float, m: float) -> float:
    z2 = Z95 * Z95
    return 2 * Z95 * math.sqrt(share * (1 - share) / m + z2 / (4 * m * m)) / (1 + z2 / m)


def _whole(cases: float) -> int | None:
    if not cases <= MOST:  # infinite, too
        return None
    # A hair above a whole number is rounding, not another case.
    return max(1, math.ceil(cases - 1e-9 * max(1.0, cases)))
