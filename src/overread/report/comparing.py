"""Readers against readers on the same cases: differences with paired intervals and tests, in words.

What is compared are values by case; whose they are and what they mean, others know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from overread.benchmarks.base import ComparedWords
from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value, percent
from overread.case import Measure
from overread.measuring import contrasts
from overread.measuring.estimates import Floats, Ints
from overread.measuring.notes import EQUIVALENT, INFERIOR, NOT_INFERIOR, remarked

if TYPE_CHECKING:
    import polars as pl

TOLD_APART: Final = 0.05
"""Two readers are told apart where q is at most this and the interval leaves 0 out."""
_MARGIN_WORDS: Final = {EQUIVALENT: "equivalent", NOT_INFERIOR: "not worse", INFERIOR: "worse"}


def differences(
    measure: str, values: pl.DataFrame, pairs: Sequence[tuple[str, str]], *, shares: bool
) -> list[Measure]:
    """`diff_MEASURE` of each pair: the mean over their common cases of first less second.

    `values` has reader, case, cluster and value, at most one for a reader and case. Interval and p
    are those that a run has of the same two readers (`contrasts.paired`), whatever other pairs are
    asked for. All pairs are one family; q is Benjamini and Hochberg's. `shares` says that values
    are shares of one, not amounts in a unit.
    """
    clusters, rows = _by_case(values)
    none = np.full(clusters.size, np.nan)
    limits = (-1.0, 1.0) if shares else (-math.inf, math.inf)
    found = []
    for one, two in pairs:
        first, second = rows.get(one, none), rows.get(two, none)
        record = Measure(reader=one, measure=f"diff_{measure}", by={"versus": two}, n=0)
        record = remarked(record, _only_one(first - second, one, two) if shares else None)
        made = contrasts.paired(record, first, second, clusters, limits=limits)
        found.append(msgspec.structs.replace(made, family=measure))
    return contrasts.with_q(found)


def _only_one(each: Floats, one: str, two: str) -> str | None:
    """Of marks, 0 or 1, how often only one of two has it."""
    there = each[~np.isnan(each)]
    if not there.size or not np.isin(there, (-1.0, 0.0, 1.0)).all():
        return None
    return f"{int((there == 1).sum())} only {one}, {int((there == -1).sum())} only {two}"


def _by_case(values: pl.DataFrame) -> tuple[Ints, dict[str, Floats]]:
    """The cases' clusters, and the values of every reader, NaN where it has none.

    Cases are in the order of their names, clusters numbered in that of theirs.
    """
    owners = values.select("case", "cluster").unique("case", keep="first").sort("case")
    names = np.array(owners["cluster"].to_list(), dtype=np.str_)
    places = {case: place for place, case in enumerate(owners["case"])}
    rows: dict[str, Floats] = {}
    for (reader,), own in values.group_by("reader", maintain_order=True):
        row = rows[str(reader)] = np.full(owners.height, np.nan)
        row[[places[case] for case in own["case"]]] = own["value"].to_numpy()
    return np.unique(names, return_inverse=True)[1].astype(np.int64), rows


# ---------------------------------------------------------------- in a sentence


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
        value = amount(record.value, words, signed=True)
        return (
            f"{one} and {two} cannot be told apart in {words.noun} on these {record.n} cases "
            f"(difference {value} {words.unit}, {_stands(record, words, 1)})."
        )
    sign = 1 if (record.value > 0) != words.less else -1
    first, second = (one, two) if sign > 0 else (two, one)
    value = f"{amount(abs(record.value), words)} {words.unit}"
    turned = -sign if words.less else sign
    said = words.does.format(d=value, n=record.n, other=second)
    remark = "; less is better" if higher_is_better is False and not words.less else ""
    return f"{first} {said} ({_stands(record, words, turned)}{remark})."


def margin_word(record: Measure) -> str:
    """What a difference shows of the margin it was held to, in a word of the table."""
    for flag, word in _MARGIN_WORDS.items():
        if flag in record.flags:
            return word
    return "not shown"


def margin_line(
    record: Measure, words: ComparedWords, margin: float, higher_is_better: bool | None
) -> str:
    """The same in a sentence."""
    one, two = record.reader, record.by["versus"]
    by = f"{amount(margin, words)} {words.unit}"
    said = {
        "equivalent": f"{one} and {two} are equivalent in {words.noun} within {by}.",
        "not worse": f"{one} is not worse than {two} in {words.noun} by more than {by}.",
        "worse": f"{one} is worse than {two} in {words.noun} by more than {by}.",
    }
    open_yet = f"It is not shown that {one} is no more than {by} worse than {two} in {words.noun}."
    if higher_is_better is None:
        open_yet = f"It is not shown that {one} and {two} are within {by} in {words.noun}."
    return said.get(margin_word(record), open_yet)


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
