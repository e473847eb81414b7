"""Proportions: whom they are about, what was counted, and the record made of it.

A proportion is a population, the answers that decide it, and which of them are hits. All of them
are counted, given their interval and annotated by the same few lines, so no measure can forget its
n, its interval or the answers it left out.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import (
    NO_ROW,
    REFUSED,
    UNANSWERED,
    UNPARSED,
    Codes,
    Marks,
    Mask,
)
from overread.case import Measure
from overread.stats import bootstrap_proportion, cluster_bootstrap_sd, design_effect, wilson

__all__ = [
    "Count",
    "accuracy",
    "cgr",
    "is_all",
    "is_correct",
    "joined",
    "left_out",
    "ordered",
    "proportion",
    "replies",
    "sensitivity",
    "specificity",
    "uar",
]


class Count(NamedTuple):
    """Whom a proportion is about, whose answers decide it, and which of these are hits."""

    population: Mask
    deciding: Codes
    hits: Mask


def accuracy(m: Marks) -> Count:
    return Count(m.truth >= 0, m.original, m.original == m.truth)


def sensitivity(m: Marks) -> Count:
    return Count(m.truth == 1, m.original, m.original == 1)


def specificity(m: Marks) -> Count:
    return Count(m.truth == 0, m.original, m.original == 0)


def cgr(m: Marks) -> Count:
    said_yes = m.boxed & (m.truth == 1) & (m.original == 1)
    return Count(said_yes, m.target_mask, m.target_mask != m.original)


def uar(m: Marks) -> Count:
    swapped = m.has_swap | (m.swap > NO_ROW)
    return Count(m.correct & swapped, m.swap, m.swap == m.original)


def is_correct(m: Marks) -> Count:
    return Count(m.boxed & m.correct, m.irrelevant_mask, m.irrelevant_mask == m.original)


def is_all(m: Marks) -> Count:
    parsed = m.boxed & (m.original >= 0)
    return Count(parsed, m.irrelevant_mask, m.irrelevant_mask == m.original)


def replies(m: Marks, condition: str, edition: Edition) -> Count:
    """What the parse rate counts: every reply of a condition. An error is no reply [D28]."""
    codes = m.under(condition)
    replied = codes > (NO_ROW if edition.failures == "as_text" else UNANSWERED)
    # A reply decides whether it could be parsed or not, so each counts as decided.
    return Count(codes > NO_ROW, np.where(replied, 0, codes).astype(np.int8), codes >= 0)


# ---------------------------------------------------------------- from a count to a record


def proportion(marks: Marks, edition: Edition, name: str, count: Count, condition: str) -> Measure:
    """k of n with its spread, its interval and what was left out."""
    made = Measure(reader=marks.reader, measure=name)
    if not (marks.under(condition) > NO_ROW).any():
        return msgspec.structs.replace(made, n=0, k=0, note=f"no answers under {condition}")
    places = ordered(marks, count.population & (count.deciding >= 0))
    hits = count.hits[places]
    n, k = int(hits.size), int(hits.sum())
    left = left_out(count)
    if n == 0:
        why = left or "no case of this run counts here"
        return msgspec.structs.replace(made, n=0, k=0, note=why)
    spread = _spread(hits, marks.patients[places], edition)
    lonely = "one case has no interval" if n < 2 and edition.intervals == "wilson" else None
    note = joined(lonely, left, _worst_case(k, n, count))
    return msgspec.structs.replace(made, value=k / n, n=n, k=k, note=note, **spread)


def ordered(marks: Marks, eligible: Mask) -> NDArray[np.int64]:
    """The places that count, in the order of the reader's original answers."""
    return marks.order[eligible[marks.order]]


def _spread(hits: Mask, patients: NDArray[np.int64], edition: Edition) -> dict[str, Any]:
    n, k = int(hits.size), int(hits.sum())
    if edition.intervals == "bootstrap":
        drawn = bootstrap_proportion(hits, edition.boot, edition.seed)
        return {
            "se": wilson(k, n).sd,
            "sd_boot": drawn.sd,
            "low": drawn.low,
            "high": drawn.high,
            "method": f"bootstrap:{edition.boot}:{edition.seed}",
        }
    if n < 2:
        return {}
    effect = design_effect(hits, patients)
    interval = wilson(k, n, design_effect=effect)
    return {
        "se": interval.sd,
        "sd_boot": cluster_bootstrap_sd(hits, patients, edition.boot, edition.seed),
        "low": interval.low,
        "high": interval.high,
        "method": f"wilson:deff={effect:.3f}",
    }


_REASONS: Final = (
    (UNPARSED, "unparsed"),
    (REFUSED, "refused"),
    (UNANSWERED, "unanswered"),
    (NO_ROW, "not asked"),
)


def left_out(count: Count) -> str | None:
    """How many of the population did not decide, and why."""
    deciding = count.deciding[count.population]
    counts = ((int((deciding == code).sum()), word) for code, word in _REASONS)
    said = [f"{number} {word}" for number, word in counts if number]
    return f"left out: {', '.join(said)}" if said else None


def _worst_case(k: int, n: int, count: Count) -> str | None:
    """Where the rate would lie if every reply without an answer were a miss, or a hit [D4]."""
    codes = count.deciding[count.population]
    lost = int(((codes < 0) & (codes > NO_ROW)).sum())
    if not lost:
        return None
    return f"with them between {k / (n + lost):.4f} and {(k + lost) / (n + lost):.4f}"


def joined(*notes: str | None) -> str | None:
    """Notes as one line, or None."""
    return "; ".join(note for note in notes if note) or None
