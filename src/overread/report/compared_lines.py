"""A difference between two readers in a sentence."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.base import ComparedWords
from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value, percent
from overread.case import Measure

TOLD_APART: Final = 0.05
"""Two readers are told apart where q is at most this and the interval leaves 0 out."""


def amount(value: float | None, words: ComparedWords, *, signed: bool = False) -> str:
    """A difference as it is printed, without its unit."""
    if value is None or words.in_shares:
        return percent(value, signed=signed)
    text = f"{value:{'+' if signed else ''}.2f}"
    return text[1:] if text in ("-0.00", "+0.00") else text


def comparison_line(record: Measure, words: ComparedWords, higher_is_better: bool | None) -> str:
    """One difference in a sentence, about whoever has more, or that nobody can say who.

    `record` is a `diff_…` of one reader `versus` another, `words` those of the measure compared.
    """
    one, two = record.reader, record.by["versus"]
    if not record.n or record.value is None:
        return f"{one} and {two} have no case in common in {words.noun}."
    if not _told_apart(record):
        stands = _stands(record, words, 1)
        value = amount(record.value, words, signed=True)
        return (
            f"{one} and {two} cannot be told apart in {words.noun} on these {record.n} cases "
            f"(difference {value} {words.unit}, {stands})."
        )
    sign = 1 if (record.value > 0) != words.less else -1
    first, second = (one, two) if sign > 0 else (two, one)
    value = f"{amount(abs(record.value), words)} {words.unit}"
    turned = -sign if words.less else sign
    said = words.does.format(d=value, n=record.n, other=second)
    remark = "; less is better" if higher_is_better is False and not words.less else ""
    return f"{first} {said} ({_stands(record, words, turned)}{remark})."


def _told_apart(record: Measure) -> bool:
    if record.q is None or record.q > TOLD_APART or not record.value:
        return False
    return record.low is None or record.high is None or not record.low <= 0 <= record.high


def _stands(record: Measure, words: ComparedWords, sign: int) -> str:
    """`95 % 3.0 to 11.2, q = 0.004`, turned as the sentence is."""
    low, high = record.low, record.high
    if low is None or high is None:
        spread = "no interval"
    else:
        ends = sorted((sign * low, sign * high))
        spread = f"95 % {' to '.join(amount(end, words) for end in ends)}"
    q = p_value(record.q)
    if q == NOT_KNOWN:
        return spread
    return f"{spread}, q {'< ' + q[1:] if q.startswith('<') else '= ' + q}"
