"""A measure against a bound, judged on the end of its interval that decides."""

from __future__ import annotations

import math
from typing import Literal

from overread.case import Measure
from overread.report.gate.needed import effective_size, needed_of_a_share, needed_otherwise
from overread.report.gate.weighed import Ends, Weighed, ends_of, settling
from overread.report.gate.words import number

Side = Literal["at_least", "at_most"]


def weigh_bound(record: Measure, side: Side, bound: float, *, point: bool) -> Weighed:
    """A measure that has a value, against a bound.

    On the interval, `at_least` passes if its low end is at or above the bound, fails if its high
    end is below, and else cannot be told; `at_most` likewise, mirrored. On the point there is
    nothing in between.
    """
    if point:
        if record.value is None or not math.isfinite(record.value):
            return Weighed(outcome="cannot tell", says="it has no value")
        found = Ends(record.value, record.value, record.value, record.n or 0)
    else:
        ends = ends_of(record)
        if ends is None:
            return Weighed(outcome="cannot tell", says="it has no interval" + _because(record))
        found = ends
    near, far = (found.low, found.high) if side == "at_least" else (found.high, found.low)
    sign = 1 if side == "at_least" else -1
    if sign * (near - bound) >= 0:
        end = "the value" if point else f"the {_end(near, found)} end"
        margin = abs(near - bound)
        says = f"{end} {number(near, bound)} meets it by {number(margin, 0)}"
        return Weighed(outcome="pass", says=says, margin=margin)
    if sign * (far - bound) < 0:
        end = "the value" if point else f"even the {_end(far, found)} end"
        margin = abs(far - bound)
        says = f"{end} {number(far, bound)} misses it by {number(margin, 0)}"
        return Weighed(outcome="fail", says=says, margin=-margin)
    needed, says = _settled(record, found, sign, bound)
    says = f"the interval reaches {number(abs(near - bound), 0)} beyond the bound; {says}"
    return Weighed(outcome="cannot tell", says=says, margin=sign * (near - bound), needed=needed)


def _end(one: float, ends: Ends) -> str:
    return "low" if one == ends.low else "high"


def _because(record: Measure) -> str:
    return f" ({record.note})" if record.note else ""


def _settled(record: Measure, found: Ends, sign: int, bound: float) -> tuple[int | None, str]:
    """The n that would settle it, and a sentence that says to what."""
    away = found.value - bound
    right = sign * away > 0
    half = found.value - found.low if away > 0 else found.high - found.value
    if _is_share(record):
        size = effective_size(found.value, found.high - found.low)
        per_case = size / found.n if size and found.n else 1.0
        needed = needed_of_a_share(found.value, bound, per_case)
    else:
        needed = needed_otherwise(found.n, half, away)
    return settling(needed, found, right=right, on=away == 0)


def _is_share(record: Measure) -> bool:
    """Whether its interval narrows as Wilson's does: a count of cases, or an average on which all
    cases agree, whose interval is Wilson's at 0.
    """
    value, n, k = record.value, record.n, record.k
    if value is None or not n or record.low is None or record.high is None:
        return False
    if not 0 <= record.low <= record.high <= 1:
        return False
    if k is not None:
        return math.isclose(value, k / n, abs_tol=1e-9)
    return value in (0, 1) and "wilson" in (record.method or "")
