"""The exact rank-sum test."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

__all__ = ["rank_sum_p"]


def rank_sum_p(larger: Sequence[float], smaller: Sequence[float]) -> float | None:
    """Exact one-sided p of the Wilcoxon rank-sum test, ties by mid-ranks.

    The probability, when both groups come from one distribution, that the ranks of `larger` sum to
    at least what was seen. Ties are exact: ranks are doubled to whole numbers and all ways to
    choose the group are counted, none enumerated.

    .. math:: p = P(W \\ge w), \\quad W = \\sum_{i \\in larger} R_i

    Parameters
    ----------
    larger, smaller : sequences of float
        The group expected to hold larger values, and the other.

    Returns
    -------
    float or None
        In (0, 1]; None when a group is empty.

    References
    ----------
    Wilcoxon (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1(6).

    Examples
    --------
    >>> rank_sum_p([3.0, 4.0], [1.0, 2.0])
    0.16666666666666666
    >>> rank_sum_p([1.0, 1.0], [1.0, 1.0])
    1.0
    """
    if not larger or not smaller:
        return None
    pooled = sorted([*larger, *smaller])
    first = {value: position for position, value in reversed(list(enumerate(pooled)))}
    last = {value: position for position, value in enumerate(pooled)}
    # Twice the mid-rank, so that halves are whole numbers.
    doubled = {value: first[value] + last[value] + 2 for value in first}
    seen = sum(doubled[value] for value in larger)
    # ways[m][s]: how many groups of m observations have doubled ranks summing to s.
    ways: list[dict[int, int]] = [{0: 1}] + [{} for _ in larger]
    for value in pooled:
        rank = doubled[value]
        for size in range(len(larger), 0, -1):
            for total, count in ways[size - 1].items():
                ways[size][total + rank] = ways[size].get(total + rank, 0) + count
    as_large = sum(count for total, count in ways[len(larger)].items() if total >= seen)
    return as_large / comb(len(pooled), len(larger))
