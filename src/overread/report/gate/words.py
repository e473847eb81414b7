"""Demands and numbers in words. What files hold may be hostile: nothing of it steers a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from overread.case import Measure, printable
from overread.report.gate.policy import Rule

_MOST_DECIMALS = 12


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


def demanded(rule: Rule) -> str:
    """`accuracy by mode=cot at least 0.8, n >= 100`; it says so where the interval is left out."""
    where = f"{rule.measure}{group(rule.by)}"
    basis = " on the value alone" if rule.point else ""
    if rule.at_least is not None:
        what = f"{where} at least {rule.at_least:g}{basis}"
    elif rule.at_most is not None:
        what = f"{where} at most {rule.at_most:g}{basis}"
    elif rule.gap is not None:
        what = f"{where} at most {rule.gap.at_most:g} apart across {rule.gap.across}{basis}"
    else:
        what = f'{where} is "{rule.label}"'
    return what + (f", n >= {rule.minimum_n}" if rule.minimum_n > 1 else "")


def group(by: Mapping[str, str]) -> str:
    """` by mode=cot, task=Action`; nothing for the overall measure."""
    return " by " + ", ".join(f"{key}={by[key]}" for key in by) if by else ""


def found(record: Measure) -> str:
    """`0.933 [0.912, 0.950] n=480`, and the label where there is one."""
    parts = []
    if record.value is not None:
        parts.append(number(record.value))
        if record.low is not None and record.high is not None:
            parts.append(f"[{number(record.low)}, {number(record.high)}]")
    elif record.label is None:
        parts.append("no value")
    if record.label:
        parts.append(record.label)
    if record.n is not None:
        parts.append(f"n={record.n}")
    return " ".join(parts)


def one_line(text: str) -> str:
    """One line without what would steer a terminal or turn the direction of writing."""
    return printable(" ".join(text.split()))
