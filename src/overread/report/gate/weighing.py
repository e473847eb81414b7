"""A measure against a bound, or in every group of patients against that in every other.

Judged on the end of the interval that decides. Where it leaves the bound open, it is said how many
cases would settle it with a power of 80 %, were the value the true one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Final, Literal, TypeAlias

import msgspec

from overread.case import Measure
from overread.stats import Z95, cases_to_settle, grown_for_power

Outcome: TypeAlias = Literal["pass", "skipped", "cannot tell", "fail"]
"""`cannot tell`: the data neither meet the rule nor break it. `skipped`: optional, not measured."""

_MOST_DECIMALS: Final = 12


class Ends(msgspec.Struct, frozen=True):
    """A value and how far its interval reaches; always low <= value <= high."""

    value: float
    low: float
    high: float
    n: int


class Weighed(msgspec.Struct, frozen=True):
    """An outcome with its reason, by how much, and the n that would settle it.

    `apart` is the difference that a gap was judged by.
    """

    outcome: Outcome
    says: str
    margin: float | None = None
    needed: int | None = None
    apart: Ends | None = None


def number(value: float, beside: float | None = None) -> str:
    """Three decimals, or as many as show that it is not the number `beside` it.

    Examples
    --------
    >>> number(0.94996), number(0.94996, 0.95), number(2)
    ('0.950', '0.94996', '2.000')
    """
    for decimals in range(3, _MOST_DECIMALS + 1):
        text = f"{value:.{decimals}f}"
        if beside is None or value == beside or float(text) != round(beside, decimals):
            return text
    return repr(value)


def _ends_of(record: Measure, *, point: bool) -> Ends | None:
    """The interval, or the value alone; None where it is not finite: nothing can be told from it.

    An interval that leaves its value out is widened to it.
    """
    value = record.value
    low, high = (value, value) if point else (record.low, record.high)
    if value is None or low is None or high is None:
        return None
    if not (math.isfinite(value) and math.isfinite(low) and math.isfinite(high)):
        return None
    return Ends(value, min(low, value), max(high, value), record.n or 0)


def weigh_bound(
    record: Measure, side: Literal["at_least", "at_most"], bound: float, *, point: bool
) -> Weighed:
    """A measure that has a value, against a bound.

    On the interval, `at_least` passes if its low end is at or above the bound, fails if its high
    end is below, and else cannot be told; `at_most` likewise, mirrored. On the point there is
    nothing in between.
    """
    found = _ends_of(record, point=point)
    if found is None:
        why = f" ({record.note})" if record.note and not point else ""
        return Weighed("cannot tell", f"it has no {'value' if point else 'interval'}{why}")
    sign = 1 if side == "at_least" else -1
    near, far = (found.low, found.high)[::sign]
    ends = {found.high: "high", found.low: "low"}
    if sign * (near - bound) >= 0:
        end = "the value" if point else f"the {ends[near]} end"
        margin = abs(near - bound)
        says = f"{end} {number(near, bound)} meets it by {number(margin, 0)}"
        return Weighed("pass", says, margin)
    if sign * (far - bound) < 0:
        end = "the value" if point else f"even the {ends[far]} end"
        margin = abs(far - bound)
        says = f"{end} {number(far, bound)} misses it by {number(margin, 0)}"
        return Weighed("fail", says, -margin)
    away = found.value - bound
    if _is_share(record):
        size = effective_size(found.value, found.high - found.low)
        effect = found.n / size if size and found.n else 1.0
        needed = cases_to_settle(found.value, bound, effect=effect)
    else:
        half = found.value - found.low if away > 0 else found.high - found.value
        needed = grown_for_power(found.n, half, away)
    needed, settled = _settling(needed, found, sign * away)
    says = f"the interval reaches {number(abs(near - bound), 0)} beyond the bound; {settled}"
    return Weighed("cannot tell", says, sign * (near - bound), needed)


def _is_share(record: Measure) -> bool:
    """Whether its interval narrows as Wilson's does: that of a count of cases, or of an average on
    which all cases agree at an end of 0 to 1.
    """
    if record.how is None or record.low is None or record.high is None:
        return False
    if not 0 <= record.low <= record.high <= 1:
        return False
    at_an_end = record.value in (0, 1) and record.how.kind in ("alike", "variance by cluster")
    return record.how.kind == "wilson" or at_an_end


# ---------------------------------------------------------------- groups


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

    def says(pair: _Pair) -> str:
        reach = number(pair.ends.value)
        if not point:
            reach += f" [{number(pair.ends.low)}, {number(pair.ends.high)}] (n={pair.ends.n})"
        return f"{' and '.join(pair.names)} are {reach} apart"

    values = [(name, _ends_of(one, point=True)) for name, one in groups]
    thin = [name for name, value in values if value is None or value.n < minimum_n]
    full = [(name, _ends_of(one, point=point)) for name, one in groups if name not in thin]
    known = [(name, ends) for name, ends in full if ends is not None]
    # The larger first, and of equals that of the lesser name: the order of groups must not matter.
    known.sort(key=lambda one: (-one[1].value, one[0]))
    pairs = [_pair(larger, smaller) for larger, smaller in combinations(known, 2)]
    far = max(pairs, key=lambda pair: (pair.ends.low, pair.names), default=None)
    if far is not None and far.ends.low > bound:
        margin = bound - far.ends.low
        return Weighed("fail", f"{says(far)}, {number(-margin, 0)} too far", margin, apart=far.ends)
    if thin:
        few = f"too few cases in {', '.join(thin)}: every group needs n = {minimum_n:,}"
        return Weighed("cannot tell", few, needed=minimum_n)
    if len(known) < len(full) or not pairs:
        return Weighed("cannot tell", "some group has no interval")
    pair = max(pairs, key=lambda pair: (pair.most, pair.ends.value, pair.names))
    margin = bound - pair.most
    if margin >= 0:
        within = f"{says(pair)}, within it by {number(margin, 0)}"
        return Weighed("pass", within, margin, apart=pair.ends)
    pair = max((one for one in pairs if one.most > bound), key=lambda one: _hardest(one, bound))
    needed, settled = _settling(_needed(pair, bound), pair.ends, bound - pair.ends.value)
    return Weighed(
        "cannot tell", f"{says(pair)}; {settled}", bound - pair.most, needed, apart=pair.ends
    )


def _pair(larger: tuple[str, Ends], smaller: tuple[str, Ends]) -> _Pair:
    """Newcombe's difference of two independent groups.

    Not `stats.independent_difference`, which keeps differences of shares within -1 and 1: errors in
    frames differ by more.
    """
    (one, upper), (other, lower) = larger, smaller
    apart = upper.value - lower.value
    low = apart - math.hypot(upper.value - upper.low, lower.high - lower.value)
    high = apart + math.hypot(upper.high - upper.value, lower.value - lower.low)
    return _Pair((one, other), Ends(apart, low, high, upper.n + lower.n))


def _hardest(pair: _Pair, bound: float) -> tuple[object, ...]:
    """A value beyond the bound comes before any within it; then whatever takes most cases.

    Last, the names: the order of the groups must not matter.
    """
    beyond = max(pair.ends.value - bound, 0.0)
    return beyond, _needed(pair, bound) or math.inf, pair.most, pair.names


def _needed(pair: _Pair, bound: float) -> int | None:
    """The cases of both groups, grown alike, at which the difference no longer holds the bound.

    Within the bound, the low end must not reach as far the other way, either.
    """
    ends = pair.ends
    away = bound - ends.value
    if away <= 0:
        return grown_for_power(ends.n, ends.value - ends.low, away)
    up = grown_for_power(ends.n, ends.high - ends.value, away)
    down = grown_for_power(ends.n, ends.value - ends.low, bound + ends.value)
    return None if up is None or down is None else max(up, down)


# ---------------------------------------------------------------- how many cases would settle it


def _settling(needed: int | None, found: Ends, inside: float) -> tuple[int | None, str]:
    """The n that would settle what `found` leaves open, and a sentence that says which way.

    `inside` is how far the value is on the side that the rule demands.
    """
    if inside == 0:
        return None, f"the value is the bound itself, {number(found.value)}: no n is enough"
    if needed is None:
        side = "right" if inside > 0 else "wrong"
        return None, f"the value is on the {side} side, but so near that no n is enough"
    needed = max(needed, found.n + 1)
    more = f"n = {needed:,} ({needed - found.n:,} more) would show with 80 % power"
    if inside > 0:
        return needed, f"{more} that it is met, were this the true value"
    return needed, (
        f"the value is on the wrong side: no n is enough to meet it with this value, "
        f"and {more} that it is not met"
    )


def effective_size(share: float, width: float) -> float | None:
    """The independent cases at which Wilson's interval about a share is this wide.

    So that design effects, and intervals made otherwise, need not be told apart by their names.
    With b = 2 p (1 - p) - w², a width w is that of ::

        m = z² (b + sqrt(b² + w² (1 - w²))) / w²

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = wilson(9, 33)
    >>> round(effective_size(9 / 33, found.high - found.low), 6)
    33.0
    """
    if not 0 < width < 1:
        return None
    w2 = width * width
    b = 2 * share * (1 - share) - w2
    return Z95 * Z95 * (b + math.sqrt(b * b + w2 * (1 - w2))) / w2
