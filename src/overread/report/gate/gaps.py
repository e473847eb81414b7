"""A measure in every group of patients against that in every other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec

from overread.case import Measure
from overread.report.gate.needed import needed_otherwise
from overread.report.gate.ruling import Outcome
from overread.report.gate.weighed import Ends, Weighed, ends_of, has_value, settling
from overread.report.gate.words import number


class _Pair(msgspec.Struct, frozen=True):
    """How far two groups are apart, the larger less the smaller."""

    names: tuple[str, str]
    ends: Ends

    @property
    def most(self) -> float:
        """The largest difference, either way, that the data leave open."""
        return max(self.ends.high, -self.ends.low)


def weigh_gap(
    groups: Sequence[tuple[str, Measure]], bound: float, *, point: bool, minimum_n: int
) -> Weighed:
    """The measure in every group against that in every other.

    It fails if the difference of some pair is above the bound at its low end, passes if that of
    every pair is within it at its high end, and else cannot be told. Groups too small to judge can
    make no gate pass.
    """
    thin = [name for name, one in groups if not has_value(one) or (one.n or 0) < minimum_n]
    full = [(name, one) for name, one in groups if name not in thin]
    pairs = [_pair(first, second, point) for first, second in combinations(full, 2)]
    known = [pair for pair in pairs if pair is not None]
    far = max(known, key=lambda pair: (pair.ends.low, pair.names), default=None)
    if far is not None and far.ends.low > bound:
        margin = bound - far.ends.low
        says = f"{_apart(far)} are {_reach(far, point)} apart, {number(-margin, 0)} too far"
        return _of_pair(far, "fail", says, margin)
    if thin:
        names = ", ".join(thin)
        return Weighed(
            outcome="cannot tell",
            says=f"too few cases in {names}: every group needs n = {minimum_n:,}",
            needed=minimum_n,
        )
    if len(known) < len(pairs) or not known:
        return Weighed(outcome="cannot tell", says="some group has no interval")
    pair = max(known, key=lambda pair: (pair.most, pair.ends.value, pair.names))
    margin = bound - pair.most
    if margin >= 0:
        says = f"{_apart(pair)} are {_reach(pair, point)} apart, within it by {number(margin, 0)}"
        return _of_pair(pair, "pass", says, margin)
    pair = max((one for one in known if one.most > bound), key=lambda one: _hardest(one, bound))
    needed = _needed(pair, bound)
    away = bound - pair.ends.value
    needed, settled = settling(needed, pair.ends, right=away > 0, on=away == 0)
    says = f"{_apart(pair)} are {_reach(pair, point)} apart; {settled}"
    return _of_pair(pair, "cannot tell", says, bound - pair.most, needed)


def _hardest(pair: _Pair, bound: float) -> tuple[object, ...]:
    """A value beyond the bound comes before any within it; then whatever takes most cases.

    Last, the names: the order of the groups must not matter.
    """
    beyond = max(pair.ends.value - bound, 0.0)
    return beyond, _needed(pair, bound) or math.inf, pair.most, pair.names


def _pair(first: tuple[str, Measure], second: tuple[str, Measure], point: bool) -> _Pair | None:
    """Newcombe's difference of two independent groups, the larger first.

    Not `stats.independent_difference`, which keeps differences of shares within -1 and 1: errors in
    frames differ by more.
    """
    (one, a), (other, b) = first, second
    if a.value is not None and b.value is not None and (a.value, other) < (b.value, one):
        (one, a), (other, b) = (other, b), (one, a)
    if point and a.value is not None and b.value is not None:
        apart = a.value - b.value
        return _Pair((one, other), Ends(apart, apart, apart, (a.n or 0) + (b.n or 0)))
    upper, lower = ends_of(a), ends_of(b)
    if upper is None or lower is None:
        return None
    apart = upper.value - lower.value
    low = apart - math.hypot(upper.value - upper.low, lower.high - lower.value)
    high = apart + math.hypot(upper.high - upper.value, lower.value - lower.low)
    return _Pair((one, other), Ends(apart, low, high, upper.n + lower.n))


def _needed(pair: _Pair, bound: float) -> int | None:
    """The cases of both groups, grown alike, at which the difference no longer holds the bound.

    Within the bound, the low end must not reach as far the other way, either.
    """
    ends = pair.ends
    away = bound - ends.value
    if away <= 0:
        return needed_otherwise(ends.n, ends.value - ends.low, away)
    up = needed_otherwise(ends.n, ends.high - ends.value, away)
    down = needed_otherwise(ends.n, ends.value - ends.low, bound + ends.value)
    return None if up is None or down is None else max(up, down)


def _apart(pair: _Pair) -> str:
    return f"{pair.names[0]} and {pair.names[1]}"


def _reach(pair: _Pair, point: bool) -> str:
    ends = pair.ends
    if point:
        return number(ends.value)
    return f"{number(ends.value)} [{number(ends.low)}, {number(ends.high)}] (n={ends.n})"


def _of_pair(
    pair: _Pair, outcome: Outcome, says: str, margin: float, needed: int | None = None
) -> Weighed:
    ends = pair.ends
    return Weighed(
        outcome=outcome, says=says, margin=margin, needed=needed,
        value=ends.value, low=ends.low, high=ends.high, n=ends.n,
    )  # fmt: skip
