"""Figures of the causal audit that cannot mean what the paper says they mean (GROUNDING 16)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import CASES, Printed
from published.arithmetic.grounding_counts import REGIMES, right_answers
from published.arithmetic.rates import counts_that_fit, percent

# ---------------------------------------------------------------- what the rules say

_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "gsp": ("cgr", "is"),
    "image_contingent": ("uar",),
}
_THRESHOLDS: Final = (50, 60, 70, 80, 90)
_NOT_ORIGINAL: Final = (("uar", "swap"), ("cgr", "target_mask"), ("is", "irrelevant_mask"))


def categories(figures: Figures) -> Iterator[Flag]:
    """The stated rule, on the printed numbers, gives the printed category (GROUNDING 9)."""
    for system in figures.systems:
        for threshold, printed in _assignments(figures, system.name):
            said = _by_rule(figures, system.name, threshold)
            if said is not None and said != printed.record.label:
                yield Flag(
                    where=printed.where,
                    what=f"the stated rule says otherwise at an IS threshold of {threshold} "
                    "(uses image asks for 90 whatever it is)",
                    found=str(printed.record.label),
                    expected=said,
                    reader=system.name,
                    tables=(printed.table,),
                    note="D21",
                )


def _assignments(figures: Figures, reader: str) -> Iterator[tuple[int, Printed]]:
    """Thresholds of IS with what is printed for them; 70 is the rule's own."""
    for threshold in (None, *_THRESHOLDS):
        by = {} if threshold is None else {"unstable_below": f"{threshold / 100:.2f}"}
        printed = figures.find(reader, "category", by)
        if printed is not None:
            yield threshold or 70, printed


def _by_rule(figures: Figures, reader: str, threshold: int) -> str | None:
    cgr, uar, stable = (figures.find(reader, name) for name in ("cgr", "uar", "is"))
    if cgr is None or uar is None or stable is None:
        return None
    numbers = (cgr.record.value, cgr.record.low, uar.record.value, stable.record.value)
    percents = (None if x is None else round(100 * x, 6) for x in numbers)
    return category(*percents, threshold=threshold)


def premiums(figures: Figures) -> Iterator[Flag]:
    """GSP is CGR - (1 - IS), and the image-contingent fraction 1 - UAR."""
    for printed in figures.printed:
        record = printed.record
        parts = _PARTS.get(record.measure)
        if parts is None:
            continue
        ends = [_ends(figures, record.reader, name) for name in parts]
        known = [end for end in ends if end is not None]
        if record.value is None or len(known) < len(ends):
            continue
        if record.measure == "gsp":
            (low, high), (stable, steadiest) = known
            low, high = low + stable - 1, high + steadiest - 1
        else:
            ((least, most),) = known
            low, high = 1 - most, 1 - least
        room = printed.half + 0.0001
        if not low - room <= record.value <= high + room:
            yield Flag(
                where=printed.where,
                what=f"{record.measure} does not follow from {' and '.join(parts)}",
                found=percent(record.value),
                expected=f"{percent(low)} to {percent(high)}",
                reader=record.reader,
                tables=(printed.table, "1"),
            )


def _ends(figures: Figures, reader: str, measure: str) -> tuple[float, float] | None:
    """The smallest and the largest rate that whole counts allow for a printed one."""
    printed = figures.find(reader, measure)
    if printed is None or printed.record.value is None or not printed.record.n:
        return None
    fitting = counts_that_fit(printed.record.value, printed.record.n, printed.half)
    return (fitting[0] / printed.record.n, fitting[-1] / printed.record.n) if fitting else None


def untestable(figures: Figures) -> Iterator[Flag]:
    """A contrast without groups has no q."""
    for gap in figures.printed:
        record = gap.record
        if not record.measure.startswith("gap_") or record.q is None:
            continue
        measure, key = record.measure.removeprefix("gap_"), record.by["attribute"]
        groups = [
            printed.record.value
            for printed in figures.printed
            if printed.record.reader == record.reader
            and printed.record.measure == measure
            and set(printed.record.by) == {key}
        ]
        if all(value is None for value in groups):
            yield Flag(
                where=gap.where,
                what=f"{measure} by {key} has a q although nothing could be tested",
                found=f"q={record.q:.3f}",
                expected="none",
                reader=record.reader,
                tables=(gap.table,),
                note="D29",
            )


def not_run(figures: Figures) -> Iterator[Flag]:
    """A condition that was not run has no rate and no n; one that was run can be compared."""
    for system in figures.systems:
        named = []
        for measure, condition in _NOT_ORIGINAL:
            rate = figures.find(system.name, "parse_rate", {"condition": condition})
            n = figures.n(system.name, measure)
            if rate is not None and rate.record.value is None and n:
                named.append(f"{measure} n={n:,}")
        if named:
            yield Flag(
                where="Table 1",
                what="rates under conditions that are said not to have been run",
                found=", ".join(named),
                expected="none, or n by construction; Supplementary Table 12 says N/A",
                reader=system.name,
                tables=("1", "S12"),
                note="D30",
            )
        n = figures.n(system.name, "uar")
        compared = [
            printed
            for printed in figures.printed
            if printed.table == "S1" and printed.record.reader == system.name
        ]
        if n and compared and all(printed.record.value is None for printed in compared):
            yield Flag(
                where="Supplementary Table 1",
                what="UAR is said not to have been run",
                found="N/A",
                expected=f"a comparison: Table 1 has its UAR over {n:,} cases",
                reader=system.name,
                tables=("S1", "1"),
                note="D24",
            )


# ---------------------------------------------------------------- the paper's category rule


def category(
    cgr: float | None,
    cgr_low: float | None,
    uar: float | None,
    stable: float | None,
    *,
    threshold: float = 70,
) -> str:
    """The stated rule on printed percentages, with any threshold of IS for "unstable".

    The grounding benchmark has the same rule for its own numbers; a test holds the two together.
    """
    if cgr is None or cgr_low is None or uar is None or stable is None:
        return "indeterminate"
    if stable < threshold:
        return "unstable"
    if cgr == 0 and uar == 100 and stable == 100:
        return "ignores image"
    return "uses image" if cgr > 0 and cgr_low > 0 and stable >= 90 else "indeterminate"


# ---------------------------------------------------------------- what the text and captions say

# "Atelectasis and lung opacity are inert across the cohort, with CGR = 0 for four of the five image
# users and only Gemma-4-26B departing on atelectasis."
_INERT: Final = ("atelectasis", "lung_opacity")
_DEPARTING: Final = ("Gemma-4-26B", "atelectasis")
# "MedGemma-27B-text significantly outscores two of the five image users": these two.
_OUTSCORED: Final = ("MedGemma-1.5-4B", "LLaVA-Med-7B")
_USES: Final = "uses image"
# Supplementary Table 7's caption: "the three text-only models remain at 0.0".
_TEXT_ONLY: Final = 3


def inert_findings(figures: Figures) -> Iterator[Flag]:
    """No image user but the one named changes an answer where the finding is said to be inert."""
    for system in figures.systems:
        for finding in _INERT:
            printed = figures.find(system.name, "cgr", {"finding": finding})
            if system.category != _USES or (system.name, finding) == _DEPARTING or printed is None:
                continue
            if printed.record.value:
                yield Flag(
                    where="Text, findings that carry the signal",
                    what=f"{finding.replace('_', ' ')} is said to be inert, and only Gemma-4-26B "
                    "to depart, on atelectasis",
                    found=f"CGR {percent(printed.record.value)} of n={printed.record.n}",
                    expected="0.0",
                    reader=system.name,
                    tables=(printed.table,),
                )


def outscored_image_users(figures: Figures) -> Iterator[Flag]:
    """Who is called an image user is one of those sorted so."""
    for system in figures.systems:
        if system.name in _OUTSCORED and system.category != _USES:
            yield Flag(
                where="Text, image use and accuracy",
                what='one of "two of the five image users" that MedGemma-27B-text outscores',
                found=system.category,
                expected=f"{_USES}: it outscores one of them",
                reader=system.name,
                tables=("1",),
            )


def auroc_without_spread(figures: Figures) -> Iterator[Flag]:
    """Table 3's caption: AUROC is "given without a standard deviation"."""
    spread = [
        printed.record.reader
        for printed in figures.printed
        if printed.table == "3" and printed.record.measure == "auroc" and printed.spread is not None
    ]
    if spread:
        yield Flag(
            where="Table 3, caption",
            what="AUROC is said to be given without a standard deviation",
            found=f"± behind {len(spread)} of its values",
            expected="none",
            reader="all with an AUROC",
            tables=("3",),
        )


def text_only_at_zero(figures: Figures) -> Iterator[Flag]:
    """Supplementary Table 7's caption counts the text-only models that stay at 0."""
    zero = [
        system
        for system in figures.systems
        if (printed := figures.find(system.name, "cgr", {"coverage": "accurate"})) is not None
        and printed.record.value == 0
    ]
    text = [system.name for system in zero if system.modality == "text"]
    if len(text) != _TEXT_ONLY:
        others = [system.name for system in zero if system.modality != "text"]
        yield Flag(
            where="Supplementary Table 7, caption",
            what="three text-only models are said to remain at 0.0",
            found=f"{len(text)}: {', '.join(text)}; and {', '.join(others) or 'nobody else'}",
            expected=str(_TEXT_ONLY),
            reader=", ".join(others),
            tables=("S7",),
        )


# ---------------------------------------------------------------- readers of known behaviour
# What they give away about the key, the samples and the confidences. One reader always says Yes, two
# never see a picture, and two give no log-probabilities: for these it is known what must be printed.

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
                    what="a model that says Yes to everything is right on a label-balanced sample",
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
                what="a model without pictures is right far more often at another resolution",
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


# ---------------------------------------------------------------- rank correlations, and the kind of p beside them


def rank_correlations(figures: Figures) -> Iterator[Flag]:
    """Spearman's rho of the printed columns is the printed rho."""
    from overread.stats import spearman

    for printed, here, there in _correlated(figures):
        rho, said = spearman(here, there), printed.record.value
        if rho is not None and said is not None and abs(rho - said) > printed.half + 1e-9:
            expected = f"{rho:.3f} from the printed values of {len(here)} systems"
            yield _of_rho(printed, "not that of the printed values", f"{said:.3f}", expected)


def rank_probabilities(figures: Figures) -> Iterator[Flag]:
    """A p said to come from permuting the ranks is the share of all orders, not Student's t."""
    from overread.stats import spearman, spearman_asymptotic_p, spearman_exact_p

    for printed, here, there in _correlated(figures):
        exact, _ = spearman_exact_p(here, there)
        student = spearman_asymptotic_p(spearman(here, there), len(here))
        if exact is None or student is None or printed.record.p is None:
            continue
        if not _says(printed, exact):
            known = ", which Student's t gives" if _says(printed, student) else ""
            found = f"p{printed.cell.partition(' p')[2]}{known}"
            expected = f"p={exact:.4f}, of all orders of {len(here)} ranks"
            yield _of_rho(printed, "its p is no permutation's", found, expected, "D25")


def _says(printed: Printed, p: float) -> bool:
    """Whether a p prints as the cell has it: `p=0.077`, or `p<0.001`."""
    bound = printed.record.p or 0.0
    return p < bound if " p<" in printed.cell else abs(p - bound) <= 0.0005 + 1e-9


def _correlated(figures: Figures) -> Iterator[tuple[Printed, list[float], list[float]]]:
    """Every printed rho with the two columns it is of."""
    for printed in figures.printed:
        record = printed.record
        if record.measure != "rho":
            continue
        key, _, word = record.by["against"].partition("=")
        left_out = record.reader.removeprefix("all but ")
        here, there = [], []
        for system in figures.systems:
            one = figures.find(system.name, record.by["of"])
            other = figures.find(system.name, record.by["of"], {key: word})
            if system.name == left_out or one is None or other is None:
                continue
            if one.record.value is not None and other.record.value is not None:
                here.append(one.record.value)
                there.append(other.record.value)
        yield printed, here, there


def _of_rho(printed: Printed, what: str, found: str, expected: str, note: str = "") -> Flag:
    by = printed.record.by
    return Flag(
        where=printed.where,
        what=f"rho of {by['of']} against {by['against']}: {what}",
        found=found,
        expected=expected,
        reader=printed.record.reader,
        tables=(printed.table,),
        note=note,
    )


CHECKS: Final = (
    categories,
    premiums,
    untestable,
    not_run,
    inert_findings,
    outscored_image_users,
    auroc_without_spread,
    text_only_at_zero,
    always_yes,
    blind_to_resolution,
    confidences,
    rank_correlations,
    rank_probabilities,
)
