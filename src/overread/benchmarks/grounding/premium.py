"""The grounding-specificity premium: what hiding the finding does beyond hiding anything."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.conditions import image_of
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import Marks
from overread.benchmarks.grounding.study import Done, Study
from overread.case import Measure
from overread.stats import design_effect, paired_difference

__all__ = ["changes", "make_gsp", "premium"]


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
        yield _difference(marks, done)
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


def _difference(marks: Marks, done: Done) -> Measure:
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
