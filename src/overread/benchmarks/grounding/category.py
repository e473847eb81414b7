"""One word for what a reader does with the image (GROUNDING 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from overread.benchmarks.grounding.edition import Edition
from overread.case import Measure, Method
from overread.measuring.notes import NO_PICTURE, noted, remarked, with_method

USES: Final = "uses image"
IGNORES: Final = "ignores image"
UNSTABLE: Final = "unstable"
INDETERMINATE: Final = "indeterminate"  # the authors' "Other"
INSUFFICIENT: Final = "insufficient"
WORDS: Final = (USES, IGNORES, UNSTABLE, INDETERMINATE, INSUFFICIENT)
BY_TESTS: Final = "one-sided flips"
"""The method of a category that tests gave."""

RULE_DIFFERS: Final = "rule_differs"
"""Flag of a category that the published rule would not give."""
BY_CHANCE: Final = "by_chance"
"""Flag of a reader whose answers the target mask flips no more than asking again does."""
CORNER_ONLY: Final = "corner_only"
"""Flag of a `uses image` that stands on the irrelevant mask: no box elsewhere in the body was
asked, and a reader that any box over the body disturbs would get the word too."""
NOT_AGAIN: Final = "not_asked_again"
"""Flag of a `uses image` without a retest: that chance alone flips less was not tested."""
FEW_PARSED: Final = "few_parsed"
"""Flag of an accuracy over so few parsed answers that it says nothing."""

# The IS, in percent, below which a reader is unstable, and from which it may use the image.
UNSTABLE_BELOW: Final = 70
STEADY_FROM: Final = 90
# One threshold in place of both, as the paper tries it (Supplementary Table 13).
SWEEP: Final = (50, 60, 70, 80, 90)


CORNER: Final = "irrelevant_mask"
"""What the target mask is tested against where no matched box was asked."""
LEVEL: Final = 0.025
"""The chance of any false `uses image` in a run, over all its readers (one-sided, Holm)."""


class Tests(msgspec.Struct, frozen=True):
    """What the tested rule stands on, beside the rates. All but `q` is the reader's own.

    `p` that the target mask flips no more than the `control` (a matched box where one was asked,
    else the irrelevant mask), `q` the same by Holm over the readers of the run; `p_again` that it
    flips no more than asking again does, of the same cases; `changed` the upper 95 % bound of the
    share of answers that any changed image changes, of all cases or of the boxed, whichever is
    larger. None: not asked.
    """

    control: str = ""
    p: float | None = None
    q: float | None = None
    p_again: float | None = None
    changed: float | None = None


class Findings(msgspec.Struct, frozen=True):
    """The measures a category stands on."""

    cgr: Measure
    uar: Measure
    is_: Measure
    is_all: Measure
    gsp: Measure
    retest: Measure | None = None
    tests: Tests = Tests()


def published_rule(
    cgr: float | None,
    cgr_low: float | None,
    uar: float | None,
    stable: float | None,
    unstable_below: int = UNSTABLE_BELOW,
    steady_from: int = STEADY_FROM,
) -> str:
    """The authors' rule, on percentages as their table prints them; None is their NaN."""
    if cgr is None or cgr_low is None or uar is None or stable is None:
        return INDETERMINATE
    return _first_match(
        unstable=stable < unstable_below,
        untouched=_close(cgr, 0) and _close(uar, 100) and _close(stable, 100),
        grounded=cgr > 0 and cgr_low > 0 and stable >= steady_from,
    )


def sweep(findings: Findings, edition: Edition) -> Iterator[tuple[int, str]]:
    """The word at every threshold of stability the paper tries."""
    for threshold in SWEEP:
        yield threshold, _word(findings, edition, threshold, threshold)


def category(
    record: Measure, findings: Findings, edition: Edition, *, sees: bool = True
) -> Measure:
    """The record with the edition's word, and what a reader of the table should know beside it."""
    word, tests = _word(findings, edition), findings.tests
    tested = edition.category == "tested"
    by_construction = tested and not sees and word == INDETERMINATE
    if by_construction:
        word = IGNORES  # however few cases there are
    record = replace(record, label=word)
    if tested:
        record = replace(record, p=tests.p, q=tests.q)
        if tests.control:
            record = with_method(record, Method(kind=BY_TESTS, of=tests.control))
        if word == USES and tests.control == CORNER:
            words = "tested against a box in a corner alone, none elsewhere in the body was asked"
            also = "whom any box over the body disturbs would get the word too"
            record = noted(record, CORNER_ONLY, f"{words}: {also}")
        if word == USES and tests.p_again is None:
            record = replace(record, flags=(*record.flags, NOT_AGAIN))
        if word == IGNORES and sees:
            words = f"changed images change at most {tests.changed:.4f} of its answers"
            record = remarked(record, f"{words} (upper 95 % bound; margin {edition.margin:g})")
    if word == INSUFFICIENT:
        record = remarked(record, _why_insufficient(findings, edition))
    published = _published(findings, edition)
    if published != word:
        record = noted(record, RULE_DIFFERS, f"the published rule says {published}")
    needs_bound = edition.category_needs_gsp == "yes" and findings.gsp.low is None and not tested
    if word == INDETERMINATE and published == USES and needs_bound:
        record = remarked(record, "GSP has no interval, so it cannot be said to lie above 0")
    if _no_more_than_chance(findings, edition):
        words = "the target mask flips no more answers than asking again does"
        record = noted(record, BY_CHANCE, words)
    if word == INDETERMINATE and _looks_elsewhere(findings):
        record = remarked(record, "the answer follows something outside the box")
    if edition.stability == "correct" and not by_construction:
        other = _word(replace(findings, is_=findings.is_all), edition)
        if other != word:
            record = remarked(record, f"with IS over all parsed answers it would be {other}")
    return record if sees else noted(record, NO_PICTURE)


def _first_match(*, unstable: bool, untouched: bool, grounded: bool) -> str:
    if unstable:
        return UNSTABLE
    if untouched:
        return IGNORES
    return USES if grounded else INDETERMINATE


def _word(
    findings: Findings, edition: Edition, below: int = UNSTABLE_BELOW, steady: int = STEADY_FROM
) -> str:
    if edition.minimum_n and _why_insufficient(findings, edition):
        return INSUFFICIENT
    if edition.category == "tested":
        return _tested(findings, edition, below, steady)
    if edition.intervals == "bootstrap":
        word = _published(findings, edition, below, steady)
    else:
        word = _by_counts(findings, _count(findings.cgr)[0] > 0, below, steady)
    needs_more = word == USES and edition.category_needs_gsp == "yes"
    above_zero = findings.gsp.low is not None and findings.gsp.low > 0
    if needs_more and (not above_zero or _no_more_than_chance(findings, edition)):
        return INDETERMINATE
    return word


def _tested(findings: Findings, edition: Edition, below: int, steady: int) -> str:
    """The word that tests and the ends of intervals give, first match wins.

    - `unstable`: the upper end of IS's interval lies below 0.70.
    - `ignores image`: the share of answers that any changed image changes has an upper one-sided
      95 % bound below the margin (equivalence), among all cases and among those with a box; asking
      again does not count against it.
    - `uses image`: the target mask flips more than a box elsewhere, one-sided, by Holm so that a
      run has a false one in at most 2.5 %; more than asking again does on the same cases, at 2.5 %,
      where that was asked; and the lower end of IS's interval is at least 0.90.
    - `indeterminate`: the data do not say.

    References
    ----------
    S. Holm (1979), Scandinavian Journal of Statistics 6, 65-70. D. J. Schuirmann (1987), Journal of
    Pharmacokinetics and Biopharmaceutics 15, 657-680.
    """
    stable, tests = findings.is_, findings.tests
    if not all(_count(one)[1] for one in (findings.cgr, findings.uar, stable)):
        return INDETERMINATE
    grounded = tests.q is not None and tests.q <= LEVEL
    return _first_match(
        unstable=stable.high is not None and 100 * stable.high < below,
        untouched=tests.changed is not None and tests.changed < edition.margin,
        grounded=grounded
        and (tests.p_again is None or tests.p_again <= LEVEL)
        and stable.low is not None
        and 100 * stable.low >= steady,
    )


def _no_more_than_chance(findings: Findings, edition: Edition) -> bool:
    """Whether the flips under the target mask lie within the interval of those by chance alone.

    What a reader that is not greedy changes when nothing is changed is no use of the image.
    """
    if edition.category == "tested":
        again = findings.tests.p_again
        return again is not None and again > LEVEL and bool(findings.cgr.value)
    asked, cgr = findings.retest, findings.cgr.value
    if asked is None or asked.low is None or not cgr:
        return False
    return cgr <= 1 - asked.low


def _published(
    findings: Findings, edition: Edition, below: int = UNSTABLE_BELOW, steady: int = STEADY_FROM
) -> str:
    """The word of the published rule, from its rounded table where there is one."""
    cgr, uar, stable = findings.cgr, findings.uar, findings.is_
    if edition.intervals == "bootstrap":
        flips, low, kept, steadily = map(_percent, (cgr.value, cgr.low, uar.value, stable.value))
        return published_rule(flips, low, kept, steadily, below, steady)
    k, n = _count(cgr)
    # Their lower bound is above 0 when fewer than 2.5 % of resamples hold no flip at all.
    return _by_counts(findings, k > 0 and (1 - k / n) ** n < 0.025, below, steady)


def _by_counts(findings: Findings, grounded: bool, below: int, steady: int) -> str:
    """The rule in whole numbers, where no rounding can move a reader across a threshold [D37]."""
    flips, asked = _count(findings.cgr)
    kept, swapped = _count(findings.uar)
    kept_masked, masked = _count(findings.is_)
    if not (asked and swapped and masked):
        return INDETERMINATE
    return _first_match(
        unstable=100 * kept_masked < below * masked,
        untouched=flips == 0 and kept == swapped and kept_masked == masked,
        grounded=grounded and 100 * kept_masked >= steady * masked,
    )


def _why_insufficient(findings: Findings, edition: Edition) -> str:
    small = (
        f"{name} stands on {record.n or 0} cases"
        for name, record in (("CGR", findings.cgr), ("UAR", findings.uar), ("IS", findings.is_))
        if (record.n or 0) < max(edition.minimum_n, 1)
    )
    named = ", ".join(small)
    return f"{named}; {edition.minimum_n} are needed" if named else ""


def _looks_elsewhere(findings: Findings) -> bool:
    """Another image changes answers, but the box matters no more than any mask of its size."""
    kept, swapped = _count(findings.uar)
    cgr, stable = findings.cgr, findings.is_
    if kept == swapped or cgr.low is None or stable.value is None:
        return False
    return cgr.low <= 1 - stable.value


def _count(record: Measure) -> tuple[int, int]:
    return record.k or 0, record.n or 0


def _percent(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4) * 100


def _close(value: float, to: float) -> bool:
    """numpy.isclose with its default tolerances, as the authors call it."""
    return abs(value - to) <= 1e-8 + 1e-5 * abs(to)
