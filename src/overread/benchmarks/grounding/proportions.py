"""Proportions: whom they are about, what was counted, and the record made of it.

A proportion is a population, the answers that decide it, and which of them are hits. All of them
are counted, given their interval and annotated by the same few lines, so no measure can forget its
n, its interval or the answers it left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.conditions import image_of
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import (
    AGAIN,
    NO_ROW,
    REFUSED,
    UNANSWERED,
    UNPARSED,
    Codes,
    Marks,
    Mask,
)
from overread.case import Measure
from overread.stats import bootstrap_proportion, design_effect, wilson

__all__ = [
    "OVERLAPPING",
    "Count",
    "accuracy",
    "bounds",
    "cgr",
    "clustered",
    "controls",
    "is_all",
    "is_correct",
    "joined",
    "left_out",
    "ordered",
    "outcomes",
    "proportion",
    "replies",
    "retest",
    "sensitivity",
    "specificity",
    "stability",
    "swap_consistency",
    "uar",
]


class Count(NamedTuple):
    """Whom a proportion is about, whose answers decide it, and which of these are hits."""

    population: Mask
    deciding: Codes
    hits: Mask
    # The image the deciding answers were given to; without any the proportion is null.
    image: str = "original"
    # Who would belong to the population but for what was shown, and what is wrong with that.
    unfit: Mask | None = None
    unfit_for: str = ""

    def within(self, members: Mask) -> Count:
        """The same proportion over some of the cases."""
        unfit = None if self.unfit is None else self.unfit & members
        return self._replace(population=self.population & members, unfit=unfit)

    @property
    def decided(self) -> Mask:
        found: Mask = self.population & (self.deciding >= 0)
        return found


def accuracy(m: Marks) -> Count:
    return Count(m.truth >= 0, m.original, m.original == m.truth)


def sensitivity(m: Marks) -> Count:
    return Count(m.truth == 1, m.original, m.original == 1)


def specificity(m: Marks) -> Count:
    return Count(m.truth == 0, m.original, m.original == 0)


def cgr(m: Marks, image: str = "target_mask") -> Count:
    """Causal grounding rate: of correct Yes on a boxed finding, those the mask flips."""
    said_yes = m.facts.boxed & (m.truth == 1) & (m.original == 1)
    answers = m.under(image)
    return Count(said_yes, answers, answers != m.original, image)


def uar(m: Marks, image: str = "swap") -> Count:
    """Unrelated-image answer rate: of correct answers, those a like image leaves."""
    answers = m.under(image)
    if image != "swap":
        return Count(m.correct & (answers > NO_ROW), answers, answers == m.original, image)
    swapped = m.correct & (m.facts.has_swap | (answers > NO_ROW))
    return _fit(
        Count(swapped, answers, answers == m.original, image), m.facts.swap_counts, UNMATCHED
    )


def is_correct(m: Marks, image: str = "irrelevant_mask") -> Count:
    """Irrelevant-mask stability: of correct answers on a boxed case, those the mask leaves."""
    return _left_alone(m, m.facts.boxed & m.correct, image)


def is_all(m: Marks, image: str = "irrelevant_mask") -> Count:
    """The same without the condition of a correct answer, as the paper words it [D3]."""
    return _left_alone(m, m.facts.boxed & (m.original >= 0), image)


def _left_alone(m: Marks, population: Mask, image: str) -> Count:
    answers = m.under(image)
    count = Count(population, answers, answers == m.original, image)
    return _fit(count, controls(m, image), OVERLAPPING)


def controls(m: Marks, image: str) -> Mask:
    """The cases whose box of this image hides nothing of the finding: all matched boxes are so."""
    clean = m.facts.control_counts
    return clean if image_of(image).kind == "irrelevant" else np.ones_like(clean)


UNMATCHED: Final = "swapped to an unmatched image"
OVERLAPPING: Final = "whose irrelevant box covers some of the finding"


def _fit(count: Count, fit: Mask, why: str) -> Count:
    """The count over those who were shown what they should be; the others are counted apart."""
    return count._replace(
        population=count.population & fit, unfit=count.population & ~fit, unfit_for=why
    )


def stability(edition: Edition) -> Callable[..., Count]:
    """The edition's own IS."""
    return is_correct if edition.stability == "correct" else is_all


def swap_consistency(m: Marks) -> Count:
    """Of answers that another image changed, those it changed to the right one."""
    changed = (m.original >= 0) & (m.swap >= 0) & (m.swap != m.original) & (m.truth >= 0)
    return _fit(Count(changed, m.swap, m.swap == m.truth, "swap"), m.facts.swap_counts, UNMATCHED)


def retest(m: Marks) -> Count:
    """Of parsed answers, those given again when the same question is put again."""
    again = m.under(AGAIN)
    return Count((m.original >= 0) & (again > NO_ROW), again, again == m.original, AGAIN)


def replies(m: Marks, image: str, edition: Edition) -> Count:
    """What the parse rate counts: every reply of a condition. An error is no reply [D28]."""
    codes = m.under(image)
    replied = codes > (NO_ROW if edition.failures == "as_text" else UNANSWERED)
    # A reply decides whether it could be parsed or not, so each counts as decided.
    decided = np.where(replied, 0, codes).astype(np.int8)
    return Count(codes > NO_ROW, decided, codes >= 0, image)


# ---------------------------------------------------------------- from a count to a record

Spread = Literal["interval", "none"]


def proportion(
    marks: Marks,
    edition: Edition,
    name: str,
    count: Count,
    by: dict[str, str] | None = None,
    spread: Spread = "interval",
) -> Measure:
    """k of n with its interval and what was left out.

    `spread` "none": where the published code gives a bare number the `authors` edition does too.
    """
    made = Measure(reader=marks.reader, measure=name, by=by or {})
    if not marks.asked(count.image):
        asked_under = "the second asking" if count.image == AGAIN else count.image
        return msgspec.structs.replace(made, n=0, k=0, note=f"no answers under {asked_under}")
    places = ordered(marks, count.decided)
    hits = count.hits[places]
    n, k = int(hits.size), int(hits.sum())
    left = left_out(count)
    if n == 0:
        why = left or "no case of this run counts here"
        return msgspec.structs.replace(made, n=0, k=0, note=why)
    spreads = _spread(hits, places, marks, edition, spread)
    lonely = "one case has no interval" if n < 2 and edition.intervals == "wilson" else None
    note = joined(lonely, left, _worst_case(k, n, count))
    return msgspec.structs.replace(made, value=k / n, n=n, k=k, note=note, **spreads)


def bounds(marks: Marks, name: str, count: Count) -> Iterator[Measure]:
    """The rate if every reply without an answer were a miss (`low`), and if it were a hit [D4].

    Unparsed and refused replies are meant. What was never answered says nothing of the reader.
    """
    if not marks.asked(count.image):
        return
    n, k = int(count.decided.sum()), int((count.decided & count.hits).sum())
    lost = _lost(count)
    if not n + lost:
        return
    for bound, hits, what in (("low", k, "misses"), ("high", k + lost, "hits")):
        yield Measure(
            reader=marks.reader,
            measure=name,
            by={"bound": bound},
            value=hits / (n + lost),
            n=n + lost,
            k=hits,
            method="worst case",
            note=f"{lost} replies without an answer counted as {what}",
        )


def ordered(marks: Marks, eligible: Mask) -> NDArray[np.int64]:
    """The places that count, in the order of the reader's original answers."""
    return marks.order[eligible[marks.order]]


def _spread(
    hits: Mask, places: NDArray[np.int64], marks: Marks, edition: Edition, spread: Spread
) -> dict[str, Any]:
    n, k = int(hits.size), int(hits.sum())
    if spread == "none":
        return {}
    if edition.intervals == "bootstrap":
        drawn = marks.drawn.get(hits.tobytes())
        if drawn is None:
            drawn = bootstrap_proportion(hits, edition.boot, edition.seed)
        return {
            "se": wilson(k, n).sd,
            "sd_boot": drawn.sd,
            "low": drawn.low,
            "high": drawn.high,
            "method": f"bootstrap:{edition.boot}:{edition.seed}",
        }
    return clustered(hits, marks.facts.patients[places])


def outcomes(marks: Marks, count: Count) -> Mask:
    """The hits and misses of a proportion, in the order of the reader's answers."""
    return count.hits[ordered(marks, count.decided)]


def clustered(hits: Mask, patients: NDArray[np.int64]) -> dict[str, Any]:
    """Wilson's interval with n over the design effect by patient; nothing for a single case."""
    if hits.size < 2:
        return {}
    effect = design_effect(hits, patients)
    interval = wilson(int(hits.sum()), int(hits.size), design_effect=effect)
    return {
        "se": interval.sd,
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
    counts: list[tuple[int, str]] = []
    if deciding.size and deciding.min() < 0:
        counts += ((int((deciding == code).sum()), word) for code, word in _REASONS)
    if count.unfit is not None:
        counts.append((int(count.unfit.sum()), count.unfit_for))
    said = [f"{number} {word}" for number, word in counts if number]
    return f"left out: {', '.join(said)}" if said else None


def _lost(count: Count) -> int:
    codes = count.deciding[count.population]
    return int(((codes == UNPARSED) | (codes == REFUSED)).sum())


def _worst_case(k: int, n: int, count: Count) -> str | None:
    lost = _lost(count)
    if not lost:
        return None
    low, high = k / (n + lost), (k + lost) / (n + lost)
    return f"with the replies among them between {low:.4f} and {high:.4f}"


def joined(*notes: str | None) -> str | None:
    """Notes as one line, or None."""
    return "; ".join(note for note in notes if note) or None
