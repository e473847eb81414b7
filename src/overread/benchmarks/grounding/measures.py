"""The measures of the causal audit, each registered once in `METRICS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.category import Findings, category
from overread.benchmarks.grounding.edition import CONDITIONS, Edition, Options
from overread.benchmarks.grounding.marks import Marks, marks_of
from overread.case import Measure
from overread.stats import cluster_bootstrap_sd, design_effect, paired_difference

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["METRICS", "Metric", "measure"]

Done: TypeAlias = Mapping[str, Measure]
Making: TypeAlias = Callable[[Marks, Edition, Done], Iterator[Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure. `needs` are conditions without which it is null."""

    name: str
    says: str
    needs: tuple[str, ...]
    make: Making


def measure(tables: Tables, edition: Edition, options: Options) -> list[Measure]:
    """Every registered measure of every reader, in the run's order."""
    records: list[Measure] = []
    for marks in marks_of(tables, edition, options):
        done: dict[str, Measure] = {}
        for metric in METRICS.values():
            for record in metric.make(marks, edition, done):
                records.append(record)
                if not record.by:
                    done[record.measure] = record
    return records


def _made_by(counting: Callable[[Marks], pr.Count], name: str, condition: str) -> Making:
    def make(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
        yield pr.proportion(marks, edition, name, counting(marks), condition)

    return make


def _make_accuracy(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    """With a note of what the other key of normal films would give [D1]."""
    record = pr.proportion(marks, edition, "accuracy", pr.accuracy(marks), "original")
    normals = marks.normal & (marks.truth >= 0) & (marks.original >= 0)
    if record.n and record.k is not None and normals.any():
        right = int((marks.correct & normals).sum())
        with_other_key = record.k - right + int(normals.sum()) - right
        word = "no" if edition.normals == "yes" else "yes"
        other = f"with key {word} for normal films {with_other_key / record.n:.4f}"
        record = msgspec.structs.replace(record, note=pr.joined(record.note, other))
    yield record


def _make_parse_rate(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    """Each condition over its own rows; overall means the original."""
    for condition in CONDITIONS:
        count = pr.replies(marks, condition, edition)
        own = marks
        if condition != "original":
            own = msgspec.structs.replace(marks, order=np.flatnonzero(count.population))
        record = pr.proportion(own, edition, "parse_rate", count, condition)
        if condition == "original":
            yield record
        yield msgspec.structs.replace(record, by={"condition": condition})


def _make_is(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    counting = pr.is_correct if edition.stability == "correct" else pr.is_all
    yield pr.proportion(marks, edition, "is", counting(marks), "irrelevant_mask")


def _make_image_contingent(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    """1 - UAR: the share of correct answers that another patient's image changes."""
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


def _make_gsp(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    """CGR - (1 - IS): flips under the target mask beyond those any mask of that size causes."""
    made = Measure(reader=marks.reader, measure="gsp")
    if edition.gsp == "difference":
        cgr, stable = done["cgr"].value, done["is"].value
        if cgr is None or stable is None:
            yield msgspec.structs.replace(made, note="CGR or IS is undefined")
            return
        yield msgspec.structs.replace(
            made,
            value=cgr - (1 - stable),
            method="difference",
            note="two rates, each over its own cases; no interval",
        )
        return
    yes = marks.boxed & (marks.truth == 1) & (marks.original == 1)
    both = yes & (marks.target_mask >= 0) & (marks.irrelevant_mask >= 0)
    places = pr.ordered(marks, both)
    original = marks.original[places]
    flipped = marks.target_mask[places] != original
    shaken = marks.irrelevant_mask[places] != original
    n = int(places.size)
    if n == 0:
        yield msgspec.structs.replace(made, n=0, note="no case was answered under both masks")
        return
    gained, lost = int((flipped & ~shaken).sum()), int((~flipped & shaken).sum())
    value, left = (gained - lost) / n, int(yes.sum()) - n
    note = f"left out: {left} without an answer under both masks" if left else None
    made = msgspec.structs.replace(made, value=value, n=n, note=note)
    if n < 2:
        yield msgspec.structs.replace(made, note=pr.joined(note, "one case has no interval"))
        return
    patients = marks.patients[places]
    difference = flipped.astype(np.int64) - shaken.astype(np.int64)
    effect = design_effect(difference, patients)
    found = paired_difference(
        int((flipped & shaken).sum()),
        gained,
        lost,
        int((~flipped & ~shaken).sum()),
        design_effect=effect,
    )
    yield msgspec.structs.replace(
        made,
        se=found.sd,
        sd_boot=cluster_bootstrap_sd(difference, patients, edition.boot, edition.seed),
        low=found.low,
        high=found.high,
        method=f"newcombe10:deff={effect:.3f}",
    )


def _make_category(marks: Marks, edition: Edition, done: Done) -> Iterator[Measure]:
    findings = Findings(
        cgr=done["cgr"], uar=done["uar"], is_=done["is"], is_all=done["is_all"], gsp=done["gsp"]
    )
    word, note = category(findings, edition, sees=marks.modality != "text")
    # A category stands on no more cases than the smallest of the rates it is read from.
    n = min(record.n or 0 for record in (findings.cgr, findings.uar, findings.is_))
    yield Measure(reader=marks.reader, measure="category", n=n, label=word, note=note)


_MASKS: Final = ("target_mask", "irrelevant_mask")
_REGISTERED: Final = (
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
        make=_made_by(pr.sensitivity, "sensitivity", "original"),
    ),
    Metric(
        name="specificity",
        says="No on the original where the key is No",
        needs=("original",),
        make=_made_by(pr.specificity, "specificity", "original"),
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
        make=_made_by(pr.cgr, "cgr", "target_mask"),
    ),
    Metric(
        name="uar",
        says="unrelated-image answer rate: correct answers another patient's image leaves",
        needs=("original", "swap"),
        make=_made_by(pr.uar, "uar", "swap"),
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
        make=_made_by(pr.is_all, "is_all", "irrelevant_mask"),
    ),
    Metric(
        name="gsp",
        says="grounding-specificity premium: CGR - (1 - IS)",
        needs=("original", *_MASKS),
        make=_make_gsp,
    ),
    Metric(
        name="image_contingent",
        says="1 - UAR",
        needs=("original", "swap"),
        make=_make_image_contingent,
    ),
    Metric(
        name="category",
        says="what CGR, UAR, IS and GSP say together",
        needs=CONDITIONS,
        make=_make_category,
    ),
)
METRICS: Final[Mapping[str, Metric]] = {metric.name: metric for metric in _REGISTERED}
