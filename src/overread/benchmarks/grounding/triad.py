"""The headline: accuracy and the causal triad of one reader, overall and by group.

CGR, UAR and IS are defined in proportions.py; here they get their strata, the further conditions
they are also measured under, their worst cases, and the premium GSP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.category import Findings, category, sweep
from overread.benchmarks.grounding.conditions import PAPER, image_of
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import (
    AGAIN,
    Column,
    Done,
    Making,
    Marks,
    Mask,
    Metric,
    Study,
)
from overread.case import Measure
from overread.stats import bootstrap_proportion_many, design_effect, paired_difference

__all__ = ["METRICS", "changes", "columns", "columns_beside", "draw", "make_gsp", "premium"]

# ---------------------------------------------------------------- the premium
# The grounding-specificity premium: what hiding the finding does beyond hiding anything.


def changes(marks: Marks, target: str, control: str) -> tuple[Mask, NDArray[np.int64]]:
    """Who was answered under both masks, and what the target flipped less what the control did."""
    yes = _said_yes(marks) & pr.controls(marks, control)
    both: Mask = yes & (marks.under(target) >= 0) & (marks.under(control) >= 0)
    flipped = (marks.under(target) != marks.original).astype(np.int64)
    return both, flipped - (marks.under(control) != marks.original)


def _said_yes(marks: Marks) -> Mask:
    """Correct Yes on a boxed finding: whom CGR is about too."""
    found: Mask = marks.facts.boxed & (marks.truth == 1) & (marks.original == 1)
    return found


def make_gsp(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    """CGR - (1 - IS): flips under the target mask beyond those any mask of that size causes."""
    if study.edition.gsp == "difference":
        yield _premium_of_rates(marks, done)
    else:
        record = premium(marks, "target_mask", ["irrelevant_mask"])
        sd = study.sd_of_rate("gsp", marks.reader) if record.low is not None else None
        yield msgspec.structs.replace(record, sd_boot=sd)
    further = marks.further
    for image in further:
        found = image_of(image)
        control = f"irrelevant_{found.fill}"
        if found.kind == "target" and control in further:
            yield premium(marks, image, [control], {"condition": str(found.fill)})
    if draws := marks.matched:
        yield premium(marks, "target_mask", draws, {"condition": "matched"})


def _premium_of_rates(marks: Marks, done: Done) -> Measure:
    made = Measure(reader=marks.reader, measure="gsp")
    cgr, stable = done["cgr"].value, done["is"].value
    if cgr is None or stable is None:
        return msgspec.structs.replace(made, note="CGR or IS is undefined")
    return msgspec.structs.replace(
        made,
        value=cgr - (1 - stable),
        method="difference",
        note="two rates, each over its own cases; no interval",
    )


def premium(
    marks: Marks,
    target: str,
    controls: list[str],
    by: dict[str, str] | None = None,
) -> Measure:
    """GSP case by case: correct Yes on a boxed finding, answered under the target and a control.

    With several controls (draws of a matched box) every draw pairs with the case's target answer,
    and patients remain the units.
    """
    made = Measure(reader=marks.reader, measure="gsp", by=by or {})
    everyone = _said_yes(marks)
    flips, shakes, who, unanswered, unfit = [], [], [], 0, 0
    for control in controls:
        yes = everyone & pr.controls(marks, control)
        unfit += int((everyone & ~yes).sum())
        both = yes & (marks.under(target) >= 0) & (marks.under(control) >= 0)
        unanswered += int((yes & ~both).sum())
        places = pr.ordered(marks, both)
        flips.append(marks.under(target)[places] != marks.original[places])
        shakes.append(marks.under(control)[places] != marks.original[places])
        who.append(marks.facts.patients[places])
    flipped, shaken, patients = (np.concatenate(parts) for parts in (flips, shakes, who))
    n = int(flipped.size)
    reasons = ((unanswered, "without an answer under both masks"), (unfit, pr.OVERLAPPING))
    left = ", ".join(f"{count} {why}" for count, why in reasons if count)
    note = f"left out: {left}" if left else None
    if n == 0:
        why = pr.joined("no case was answered under both masks", note if unfit else None)
        return msgspec.structs.replace(made, n=0, note=why)
    gained, lost = int((flipped & ~shaken).sum()), int((~flipped & shaken).sum())
    made = msgspec.structs.replace(made, value=(gained - lost) / n, n=n, note=note)
    if n < 2:
        return msgspec.structs.replace(made, note=pr.joined(note, "one case has no interval"))
    change = flipped.astype(np.int64) - shaken.astype(np.int64)
    effect = design_effect(change, patients)
    both_, neither = int((flipped & shaken).sum()), int((~flipped & ~shaken).sum())
    found = paired_difference(both_, gained, lost, neither, design_effect=effect)
    return msgspec.structs.replace(
        made,
        se=found.sd,
        low=found.low,
        high=found.high,
        method=f"newcombe10:deff={effect:.3f}",
    )


# ---------------------------------------------------------------- rates
# The headline: accuracy and the causal triad of one reader, overall and by group.
#
# CGR, UAR and IS are defined in proportions.py; here they get their strata, the further conditions
# they are also measured under, and their worst cases.


Floats = NDArray[np.float64]
Counting = Callable[..., pr.Count]

# The groups each rate is given by. The published code has fewer, and for sex, age and label bare
# numbers without an interval (GROUNDING 8).
_GROUPS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "corrected": {
        "accuracy": ("source", "finding", "view", "sex", "age", "label"),
        "sensitivity": ("finding",),
        "specificity": ("finding",),
        "cgr": ("finding", "view", "sex", "age", "label"),
        "uar": ("source", "finding", "view", "sex", "age", "label"),
        "is": ("finding", "view", "sex", "age"),
    },
    "authors": {
        "accuracy": ("label",),
        "cgr": ("finding", "view", "sex", "age", "label"),
        "uar": ("finding", "sex", "age", "label"),
    },
}
# The rates whose hits are summed in every resample of patients.
_COUNTINGS: Final[Mapping[str, Counting]] = {
    "accuracy": pr.accuracy,
    "sensitivity": pr.sensitivity,
    "specificity": pr.specificity,
    "cgr": pr.cgr,
    "uar": pr.uar,
    "is": pr.is_correct,
    "is_all": pr.is_all,
    "retest": pr.retest,
    "swap_consistency": pr.swap_consistency,
}
# Asked beside the headline: its columns come after all others, which it must not move.
_BESIDE: Final = frozenset({"retest"})
_WITH_INTERVAL: Final = frozenset({"finding", "view"})
_BOUNDED: Final = frozenset({"accuracy", "cgr", "uar", "is", "is_all"})


def by_groups(marks: Marks, study: Study, name: str, count: pr.Count) -> Iterator[Measure]:
    """A rate within each group of each grouping the edition gives it by."""
    edition = study.edition
    for key in _GROUPS[edition.name].get(name, ()):
        grouping = marks.facts.groupings[key]
        bare = edition.name == "authors" and key not in _WITH_INTERVAL
        spread: pr.Spread = "none" if bare else "interval"
        for group in grouping.names:
            within = count.within(grouping.members(group))
            yield pr.proportion(marks, edition, name, within, {key: group}, spread)


def overall(marks: Marks, study: Study, name: str, count: pr.Count) -> Measure:
    """A rate over all its cases, with its standard deviation over resamples of patients."""
    record = pr.proportion(marks, study.edition, name, count)
    sd = study.sd_of_rate(name, marks.reader) if record.low is not None else None
    return record if sd is None else msgspec.structs.replace(record, sd_boot=sd)


def _countings(edition: Edition) -> dict[str, Counting]:
    return {**_COUNTINGS, "is": pr.stability(edition)}


def columns(study: Study) -> Mapping[Column, Floats]:
    """Per reader and rate, who decides it and who is a hit; and the premium's changes."""
    found: dict[Column, Floats] = {}
    if study.edition.intervals == "bootstrap":
        return found  # the published bootstrap has a stream of its own
    for marks in study.marks:
        for name in _COUNTINGS:
            if name not in _BESIDE:
                found |= _rate_columns(marks, study, name)
        both, change = changes(marks, "target_mask", "irrelevant_mask")
        found["asked", "gsp", marks.reader] = both.astype(float)
        found["hits", "gsp", marks.reader] = np.where(both, change, 0).astype(float)
    return found


def columns_beside(study: Study) -> Mapping[Column, Floats]:
    """The same of what is asked beside the headline."""
    found: dict[Column, Floats] = {}
    if study.edition.intervals == "bootstrap":
        return found
    for marks in study.marks:
        for name in _BESIDE:
            found |= _rate_columns(marks, study, name)
    return found


def _rate_columns(marks: Marks, study: Study, name: str) -> dict[Column, Floats]:
    count = _countings(study.edition)[name](marks)
    return {
        ("asked", name, marks.reader): count.decided.astype(float),
        ("hits", name, marks.reader): (count.decided & count.hits).astype(float),
    }


def draw(study: Study) -> None:
    """Draw the published bootstraps of all readers at once: they share their random numbers."""
    edition = study.edition
    if edition.intervals != "bootstrap":
        return
    wanted: dict[bytes, Mask] = {}
    for marks in study.marks:
        for name, counting in _countings(edition).items():
            count = counting(marks)
            wanted |= _outcomes_by_digest(marks, count)
            for key in _GROUPS[edition.name].get(name, ()):
                if key in _WITH_INTERVAL:
                    grouping = marks.facts.groupings[key]
                    for group in grouping.names:
                        wanted |= _outcomes_by_digest(marks, count.within(grouping.members(group)))
        for image in PAPER:
            wanted |= _outcomes_by_digest(marks, pr.replies(marks, image, edition))
    found = bootstrap_proportion_many(list(wanted.values()), edition.boot, edition.seed)
    for marks in study.marks:
        marks.drawn.update(zip(wanted, found, strict=True))


def _outcomes_by_digest(marks: Marks, count: pr.Count) -> dict[bytes, Mask]:
    hits = pr.outcomes(marks, count)
    return {hits.tobytes(): hits} if hits.size else {}


def _rate_maker(name: str, counting: Counting) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        count = counting(marks)
        yield overall(marks, study, name, count)
        if name in _BOUNDED:
            yield from pr.bounds(marks, name, count)
        yield from by_groups(marks, study, name, count)
        yield from _under_other_images(marks, study, name)

    return make


# ---------------------------------------------------------------- further conditions


def _under_other_images(marks: Marks, study: Study, name: str) -> Iterator[Measure]:
    """The same rate under every further condition that was asked; the headline never moves."""
    kinds = {"cgr": ("target",), "is": ("irrelevant",), "uar": ("opposite", "blank", "none")}
    counting = _countings(study.edition)[name]
    for image in marks.further:
        if image_of(image).kind in kinds.get(name, ()):
            count = counting(marks, image)
            by = {"condition": image}
            yield pr.proportion(marks, study.edition, name, count, by)
    if name == "is" and (draws := marks.matched):
        yield _matched_stability(marks, study.edition, draws)


def _matched_stability(marks: Marks, edition: Edition, draws: list[str]) -> Measure:
    """IS over boxes inside the body: every draw of every case counts, patients are the units."""
    counts = [pr.stability(edition)(marks, image) for image in draws]
    made = Measure(reader=marks.reader, measure="is", by={"condition": "matched"})
    hits = np.concatenate([count.hits[count.decided] for count in counts])
    patients = np.concatenate([marks.facts.patients[count.decided] for count in counts])
    n, k = int(hits.size), int(hits.sum())
    if not n:
        return msgspec.structs.replace(made, n=0, k=0, note="no matched box was answered")
    spread = pr.clustered(hits, patients)
    note = f"{len(draws)} draws; n counts draws"
    return msgspec.structs.replace(made, value=k / n, n=n, k=k, note=note, **spread)


# ---------------------------------------------------------------- accuracy, parse rate


def _make_accuracy(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    """With a note of what the other key of normal films would give [D1]."""
    edition, count = study.edition, pr.accuracy(marks)
    record = overall(marks, study, "accuracy", count)
    normals = marks.facts.normal & (marks.truth >= 0) & (marks.original >= 0)
    if record.n and record.k is not None and normals.any():
        right = int((marks.correct & normals).sum())
        with_other_key = record.k - right + int(normals.sum()) - right
        word = "no" if edition.normals == "yes" else "yes"
        other = f"with key {word} for normal films {with_other_key / record.n:.4f}"
        record = msgspec.structs.replace(record, note=pr.joined(record.note, other))
    yield record
    yield from pr.bounds(marks, "accuracy", count)
    yield from by_groups(marks, study, "accuracy", count)


def _make_parse_rate(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    """Each condition over its own rows; overall means the original."""
    for image in (*PAPER, *marks.further, *([AGAIN] if marks.asked(AGAIN) else [])):
        count = pr.replies(marks, image, study.edition)
        own = marks
        if image != "original":
            own = msgspec.structs.replace(marks, order=np.flatnonzero(count.population))
        record = pr.proportion(own, study.edition, "parse_rate", count)
        if image == "original":
            yield record
        yield msgspec.structs.replace(record, by={"condition": image})


def _make_is(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    yield from _rate_maker("is", pr.stability(study.edition))(marks, study, done)


def _make_image_contingent(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    """1 - UAR: the share of correct answers that a like image of another patient changes."""
    uar = done["uar"]
    if uar.value is None or uar.n is None or uar.k is None:
        yield msgspec.structs.replace(uar, measure="image_contingent")
        return
    yield msgspec.structs.replace(
        uar,
        measure="image_contingent",
        value=(uar.n - uar.k) / uar.n,
        k=uar.n - uar.k,
        low=None if uar.high is None else 1 - uar.high,
        high=None if uar.low is None else 1 - uar.low,
        note=pr.left_out(pr.uar(marks)),
    )


# ---------------------------------------------------------------- category


def _make_category(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    findings = Findings(
        cgr=done["cgr"],
        uar=done["uar"],
        is_=done["is"],
        is_all=done["is_all"],
        gsp=done["gsp"],
        retest=done["retest"],
    )
    word, note = category(findings, study.edition, sees=marks.modality != "text")
    # A category stands on no more cases than the smallest of the rates it is read from.
    n = min(record.n or 0 for record in (findings.cgr, findings.uar, findings.is_))
    made = Measure(reader=marks.reader, measure="category", n=n, label=word, note=note)
    yield made
    for threshold, swept in sweep(findings, study.edition):
        by = {"unstable_below": f"{threshold / 100:.2f}"}
        yield msgspec.structs.replace(made, by=by, label=swept, note=None)


_MASKS: Final = ("target_mask", "irrelevant_mask")
METRICS: Final = (
    Metric(
        name="accuracy",
        says="right on the original, of parsed answers with a key",
        needs=("original",),
        make=_make_accuracy,
    ),
    Metric(
        name="sensitivity",
        says="Yes on the original where the key is Yes",
        needs=("original",),
        make=_rate_maker("sensitivity", pr.sensitivity),
    ),
    Metric(
        name="specificity",
        says="No on the original where the key is No",
        needs=("original",),
        make=_rate_maker("specificity", pr.specificity),
    ),
    Metric(
        name="parse_rate",
        says="replies in which an answer was found",
        needs=("original",),
        make=_make_parse_rate,
    ),
    Metric(
        name="cgr",
        says="causal grounding rate: correct Yes that the target mask flips",
        needs=("original", "target_mask"),
        make=_rate_maker("cgr", pr.cgr),
    ),
    Metric(
        name="uar",
        says="unrelated-image answer rate: correct answers a like image of another patient leaves",
        needs=("original", "swap"),
        make=_rate_maker("uar", pr.uar),
    ),
    Metric(
        name="is",
        says="irrelevant-mask stability: correct answers the irrelevant mask leaves",
        needs=("original", "irrelevant_mask"),
        make=_make_is,
    ),
    Metric(
        name="is_all",
        says="the same over all parsed answers, correct or not",
        needs=("original", "irrelevant_mask"),
        make=_rate_maker("is_all", pr.is_all),
    ),
    Metric(
        name="retest",
        says="answers given again when the original is asked again",
        needs=("original",),
        make=_rate_maker("retest", pr.retest),
    ),
    Metric(
        name="gsp",
        says="grounding-specificity premium: CGR - (1 - IS)",
        needs=("original", *_MASKS),
        make=make_gsp,
    ),
    Metric(
        name="image_contingent",
        says="1 - UAR",
        needs=("original", "swap"),
        make=_make_image_contingent,
    ),
    Metric(
        name="swap_consistency",
        says="answers another image changed that it changed to the right one",
        needs=("original", "swap"),
        make=_rate_maker("swap_consistency", pr.swap_consistency),
    ),
    Metric(
        name="category",
        says="what CGR, UAR, IS and GSP say together",
        needs=PAPER,
        make=_make_category,
    ),
)
