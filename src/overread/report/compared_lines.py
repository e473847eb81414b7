"""A difference between two readers in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value, percent
from overread.case import Measure

__all__ = ["TOLD_APART", "amount", "comparison_line", "in_shares"]

TOLD_APART: Final = 0.05
"""Two readers are told apart where q is at most this and the interval leaves 0 out."""


class _Words(msgspec.Struct, frozen=True):
    """What a measure is called, and what the reader with more of it does; `unit` of amounts.

    Where less is said of a measure (an error), the sentence is about the reader with less.
    """

    noun: str
    does: str
    unit: str = "points"
    less: bool = False


def _share(noun: str, does: str) -> _Words:
    return _Words(noun, f"{does} {{d}} more of the same {{n}} cases than {{other}}")


def _higher(noun: str) -> _Words:
    return _Words(noun, f"has {{d}} more {noun} on the same {{n}} cases than {{other}}")


def _nearer(phase: str) -> _Words:
    return _Words(
        f"finding {phase}",
        f"is {{d}} nearer to {phase} on the same {{n}} cases than {{other}}",
        "frames",
        True,
    )


_WORDS: Final[Mapping[str, _Words]] = {
    "accuracy": _share("accuracy", "is right on"),
    "cgr": _share("CGR", "changes its answer when the finding is covered on"),
    "uar": _share("UAR", "keeps its answer to a like image of another patient on"),
    "is": _share("IS", "keeps its answer when something else is covered on"),
    "mae_ed": _nearer("end-diastole"),
    "mae_es": _nearer("end-systole"),
    "accuracy_ed": _share("telling end-diastole", "tells end-diastole right on"),
    "accuracy_es": _share("telling end-systole", "tells end-systole right on"),
    "accuracy_cot": _share("accuracy with reasoning", "is right after reasoning on"),
    "accuracy_direct": _share("accuracy without reasoning", "is right without reasoning on"),
    "step_f1": _higher("step F1"),
    "score": _higher("score"),
}


def _words(measure: str) -> _Words:
    return _WORDS.get(measure) or _higher(measure.replace("_", " "))


def in_shares(measure: str) -> bool:
    """Whether a measure's values are shares of one, printed as points."""
    return _words(measure).unit == "points"


def amount(value: float | None, measure: str, *, signed: bool = False) -> str:
    """A difference as it is printed, without its unit."""
    if value is None or in_shares(measure):
        return percent(value, signed=signed)
    text = f"{value:{'+' if signed else ''}.2f}"
    return text[1:] if text in ("-0.00", "+0.00") else text


def comparison_line(record: Measure, higher_is_better: bool | None) -> str:
    """One difference in a sentence, about whoever has more, or that nobody can say who.

    `record` is a `diff_…` of one reader `versus` another, its family the measure compared.
    """
    measure = record.family or ""
    words = _words(measure)
    one, two = record.reader, record.by["versus"]
    if not record.n or record.value is None:
        return f"{one} and {two} have no case in common in {words.noun}."
    if not _told_apart(record):
        stands = _stands(record, measure, 1)
        value = amount(record.value, measure, signed=True)
        return (
            f"{one} and {two} cannot be told apart in {words.noun} on these {record.n} cases "
            f"(difference {value} {words.unit}, {stands})."
        )
    sign = 1 if (record.value > 0) != words.less else -1
    first, second = (one, two) if sign > 0 else (two, one)
    value = f"{amount(abs(record.value), measure)} {words.unit}"
    turned = -sign if words.less else sign
    said = words.does.format(d=value, n=record.n, other=second)
    remark = "; less is better" if higher_is_better is False and not words.less else ""
    return f"{first} {said} ({_stands(record, measure, turned)}{remark})."


def _told_apart(record: Measure) -> bool:
    if record.q is None or record.q > TOLD_APART or not record.value:
        return False
    return record.low is None or record.high is None or not record.low <= 0 <= record.high


def _stands(record: Measure, measure: str, sign: int) -> str:
    """`95 % 3.0 to 11.2, q = 0.004`, turned as the sentence is."""
    low, high = record.low, record.high
    if low is None or high is None:
        spread = "no interval"
    else:
        ends = sorted((sign * low, sign * high))
        spread = f"95 % {' to '.join(amount(end, measure) for end in ends)}"
    q = p_value(record.q)
    if q == NOT_KNOWN:
        return spread
    return f"{spread}, q {'< ' + q[1:] if q.startswith('<') else '= ' + q}"
