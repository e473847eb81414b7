"""The headline: accuracy and the causal triad of one reader, overall and by group.

CGR, UAR and IS are defined in proportions.py; here they get their strata, the further conditions
they are also measured under, and their worst cases.
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
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import AGAIN, Marks
from overread.benchmarks.grounding.premium import changes, make_gsp
from overread.benchmarks.grounding.study import Column, Done, Making, Metric, Study
from overread.case import Measure
from overread.stats import bootstrap_proportion_many

__all__ = ["METRICS", "columns", "columns_beside", "draw"]

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
_COUNTS: Final[Mapping[str, Counting]] = {
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


def _counts(edition: Edition) -> dict[str, Counting]:
    return {**_COUNTS, "is": pr.stability(edition)}


def columns(study: Study) -> Mapping[Column, Floats]:
    """Per reader and rate, who decides it and who is a hit; and the premium's changes."""
    found: dict[Column, Floats] = {}
    if study.edition.intervals == "bootstrap":
        return found  # the published bootstrap has a stream of its own
    for marks in study.marks:
        for name in _COUNTS:
            if name not in _BESIDE:
                found |= _summed(marks, study, name)
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
            found |= _summed(marks, study, name)
    return found


def _summed(marks: Marks, study: Study, name: str) -> dict[Column, Floats]:
    count = _counts(study.edition)[name](marks)
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
        for name, counting in _counts(edition).items():
            count = counting(marks)
            wanted |= _keyed(marks, count)
            for key in _GROUPS[edition.name].get(name, ()):
                if key in _WITH_INTERVAL:
                    grouping = marks.facts.groupings[key]
                    for group in grouping.names:
                        wanted |= _keyed(marks, count.within(grouping.members(group)))
        for image in PAPER:
            wanted |= _keyed(marks, pr.replies(marks, image, edition))
    found = bootstrap_proportion_many(list(wanted.values()), edition.boot, edition.seed)
    for marks in study.marks:
        marks.drawn.update(zip(wanted, found, strict=True))


def _keyed(marks: Marks, count: pr.Count) -> dict[bytes, Mask]:
    hits = pr.outcomes(marks, count)
    return {hits.tobytes(): hits} if hits.size else {}


def _made_by(name: str, counting: Counting) -> Making:
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
    counting = _counts(study.edition)[name]
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
    yield from _made_by("is", pr.stability(study.edition))(marks, study, done)


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
        make=_made_by("sensitivity", pr.sensitivity),
    ),
    Metric(
        name="specificity",
        says="No on the original where the key is No",
        needs=("original",),
        make=_made_by("specificity", pr.specificity),
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
        make=_made_by("cgr", pr.cgr),
    ),
    Metric(
        name="uar",
        says="unrelated-image answer rate: correct answers a like image of another patient leaves",
        needs=("original", "swap"),
        make=_made_by("uar", pr.uar),
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
        make=_made_by("is_all", pr.is_all),
    ),
    Metric(
        name="retest",
        says="answers given again when the original is asked again",
        needs=("original",),
        make=_made_by("retest", pr.retest),
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
        make=_made_by("swap_consistency", pr.swap_consistency),
    ),
    Metric(
        name="category",
        says="what CGR, UAR, IS and GSP say together",
        needs=PAPER,
        make=_make_category,
    ),
)
