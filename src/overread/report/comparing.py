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
from overread.measuring.estimates import Estimate, Floats, Ints, Mask, Resampling
from overread.measuring.notes import remarked

if TYPE_CHECKING:
    import polars as pl

BOOT: Final = 10_000
SEED: Final = 0
_MOST_COINS: Final = 50_000_000
TOLD_APART: Final = 0.05
"""Two readers are told apart where q is at most this and the interval leaves 0 out."""


def differences(
    measure: str, values: pl.DataFrame, pairs: Sequence[tuple[str, str]], *, shares: bool
) -> list[Measure]:
    """`diff_MEASURE` of each pair: the mean over their common cases of first less second.

    `values` has reader, case, cluster and value, at most one for a reader and case. Intervals are
    of `BOOT` resamples of the clusters, the same draws for every pair, and do not depend on which
    pairs are asked for. P is exact where all values are 0 or 1: McNemar's if no cluster has two
    cases of the pair, else that of flipping signs by cluster; for other values signs are flipped
    by seeded coins. All pairs are one family; q is Benjamini and Hochberg's. `shares` says that
    values are shares of one, not amounts in a unit.
    """
    clusters, rows = _by_case(values)
    none = np.full(clusters.size, np.nan)
    binary = bool(np.isin(values["value"].to_numpy(), (0.0, 1.0)).all())
    estimates, sums = [], []
    for one, two in pairs:
        record = Measure(
            reader=one, measure=f"diff_{measure}", by={"versus": two}, family=measure, n=0
        )
        first, second = rows.get(one, none), rows.get(two, none)
        both: Mask = ~(np.isnan(first) | np.isnan(second))
        each = np.where(both, first - second, 0.0)
        if binary:
            only = int((each == 1).sum()), int((each == -1).sum())
            record = msgspec.structs.replace(
                record, p=contrasts.exact_p(each[both].astype(np.int64), clusters[both])
            )
            if both.any():
                record = remarked(record, f"{only[0]} only {one}, {only[1]} only {two}")
        estimates.append(_estimate(record, each, both, shares=shares))
        sums.append(contrasts.cluster_sums(each, clusters))
    found = Resampling(clusters, boot=BOOT, seed=SEED).finish(estimates)
    if not binary and found and values.height:
        found = _flipped(found, np.stack(sums, axis=1))
    return contrasts.with_q(found)


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


def _estimate(record: Measure, each: Floats, both: Mask, *, shares: bool) -> Estimate:
    """The difference with what its interval is made of."""
    n = int(both.sum())
    if n == 0:
        return Estimate(record=remarked(record, "no case in common"))
    limits = (-1.0, 1.0) if shares else (-math.inf, math.inf)
    step = 1.0 if shares else None
    made = contrasts.paired_difference(record, each, both, limits=limits, step=step)
    # The same sum whatever the order of the cases.
    value = math.fsum(each[both].tolist()) / n
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, value=value))


def _flipped(records: Sequence[Measure], sums: Floats) -> list[Measure]:
    flips = min(contrasts.FLIPS, max(999, _MOST_COINS // len(sums)))
    ps = contrasts.flip_ps(sums, contrasts.signs(len(sums), flips, SEED))
    return [
        remarked(msgspec.structs.replace(record, p=p), f"p of {flips} sign flips")
        if record.n
        else record
        for record, p in zip(records, ps, strict=True)
    ]


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
