"""What readers of known behaviour give away about the key, the samples and the confidences.

One reader always says Yes, two never see a picture, and two give no log-probabilities: for these it
is known what must be printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published._arithmetic import counts_that_fit, percent
from overread.published._flag import Flag
from overread.published._printed import CASES, Figures, Printed
from overread.published.grounding._counts import REGIMES, right_answers

__all__ = ["CHECKS"]

_DEFAULT: Final = {"phrasing": "default"}
# Cases of the resolution probe: the authors' code draws 100 of the boxed ones (GROUNDING 12).
_AT_512: Final = 100
_SURPRISING: Final = 5.0  # standard deviations


def always_yes(figures: Figures) -> Iterator[Flag]:
    """A reader that says Yes to everything is right as often as the key says Yes.

    So it tells which key was used for normal films, and which labels a subset has.
    """
    yes = _yes_in_the_key(figures)
    for system in figures.systems:
        specificity = figures.find(system.name, "specificity")
        counts = right_answers(figures, system.name)
        if yes is None or counts is None or specificity is None:
            continue
        most_no = figures.cases - yes[1]
        if list(counts_that_fit(specificity.record.value or 0.0, most_no, specificity.half)) != [0]:
            continue
        if counts[0] > yes[1]:
            share = percent(yes[0] / figures.cases)
            yield Flag(
                where="Table 1",
                what="never right where the key is No, and yet right too often: the key says Yes "
                "for normal films",
                found=f"{counts[0]:,} right answers, all of them Yes",
                expected=f"at most {yes[1]:,} if normal films are No; always-Yes scores "
                f"{yes[0]:,}/{figures.cases:,} = {share} % only with the key inverted",
                reader=system.name,
                tables=("1", "3", "S8"),
                note="D1",
            )
        sample = figures.find(system.name, "accuracy", _DEFAULT)
        asked = figures.n(system.name, "parse_rate", _DEFAULT)
        if sample is not None and sample.record.value and sample.record.n and asked:
            fitting = counts_that_fit(sample.record.value, sample.record.n, sample.half)
            right = min(fitting, default=0)
            if right > asked // 2:
                yield Flag(
                    where="Supplementary Table 4",
                    what="a reader that says Yes to everything is right on a label-balanced sample",
                    found=f"{right} of {sample.record.n} right",
                    expected=f"at most {asked // 2}: the sample holds positive cases only",
                    reader=system.name,
                    tables=("S4",),
                    note="D14",
                )


def _yes_in_the_key(figures: Figures) -> tuple[int, int] | None:
    """How often the key says Yes: as published, and with No for normal films [D1]."""
    places = (
        {"source": "ms_cxr", "label": "1"},
        {"source": "mimic_cxr", "label": "1"},
        {"source": "rexerr", "label": "0"},  # a sentence without an injected error is accurate
        {"source": "mimic_cxr", "finding": "no_finding", "label": "1"},
    )
    counts = [figures.n(CASES, "cases", by) for by in places]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return sum(known[:3]), sum(known[:3]) - known[3]


def blind_to_resolution(figures: Figures) -> Iterator[Flag]:
    """A reader without pictures is right on the same cases whatever the resolution [D30]."""
    boxed = figures.n(CASES, "cases", {"source": "ms_cxr"})
    for system in figures.systems:
        n, again = figures.n(system.name, "cgr"), figures.n(system.name, "cgr", {"px": "512"})
        if system.modality != "text" or boxed is None or n is None or again is None:
            continue
        share = n / boxed
        expected = _AT_512 * share
        spread = math.sqrt(expected * (1 - share) * (boxed - _AT_512) / (boxed - 1))
        if abs(again - expected) > _SURPRISING * spread:
            yield Flag(
                where="Supplementary Table 5",
                what="a reader without pictures is right far more often at another resolution",
                found=f"{again} of {_AT_512} at 512 px",
                expected=f"about {expected:.0f}, as {n} of {boxed} at 224 px",
                reader=system.name,
                tables=("S5", "1"),
                note="D30",
            )


def confidences(figures: Figures) -> Iterator[Flag]:
    """A confidence said to be 0 is 0; one that is a probability is not only ever 0 or 1 [D9]."""
    for system in figures.systems:
        found = [figures.find(system.name, "confidence", {"regime": name}) for name in REGIMES]
        regimes = [one for one in found if one is not None and one.record.value is not None]
        scored = figures.find(system.name, "auroc")
        none = scored is not None and scored.record.value is None
        constant = none and any(one.record.value == 0 == one.spread for one in regimes)
        for one in regimes:
            mean, regime = one.record.value or 0.0, one.record.by["regime"]
            if constant and mean > one.half:
                yield _of_confidence(
                    one, f"{regime}: not 0, though it is said to be recorded as 0", "0.0 ± 0.0"
                )
            if 0 < mean < 1 and one.spread is not None and _only_ends(one, mean):
                most = percent(math.sqrt(mean * (1 - mean)), 2)
                what = f"{regime}: ± is the largest this mean allows, so every value is 0 or 1"
                yield _of_confidence(one, what, f"less than {most}, were these probabilities")


def _only_ends(one: Printed, mean: float) -> bool:
    """Var = m(1-m) - E[c(1-c)], and c(1-c) is nothing at 0 and 1 only."""
    nearest = mean + one.half if mean < 0.5 else mean - one.half
    least = max((one.spread or 0.0) - one.spread_half, 0.0)
    return nearest * (1 - nearest) - least**2 < 0.001


def _of_confidence(one: Printed, what: str, expected: str) -> Flag:
    return Flag(
        where=one.where,
        what=f"confidence, {what}",
        found=one.cell.partition(" n=")[0],
        expected=expected,
        reader=one.record.reader,
        tables=(one.table,),
        note="D9",
    )


CHECKS: Final = (always_yes, blind_to_resolution, confidences)
