"""Injected report errors: does the verdict on a sentence change with the image? (GROUNDING 8)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.errors import CONTROL, ERROR_GROUPS
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import Marks
from overread.benchmarks.grounding.study import Done, Metric, Study
from overread.case import Measure

__all__ = ["METRICS"]

# The names the published metrics look for: two types fewer, and its controls go by this word.
_PUBLISHED: Final = {
    "image_dependent": tuple(t for t in ERROR_GROUPS["image_dependent"] if t != "change_view"),
    "text_only": ("add_typo", "change_to_homophone"),
    CONTROL: ("not_applicable",),
}


def _make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    if study.edition.error_groups == "published":
        yield from _published(marks, study)
    else:
        yield from _complete(marks, study)


# ---------------------------------------------------------------- corrected


def _complete(marks: Marks, study: Study) -> Iterator[Measure]:
    """Flips over parsed swaps, cases pooled within a type and a group."""
    count = _count(marks)
    for key in ("error_group", "error_type"):
        grouping = marks.facts.groupings[key]
        for name in grouping.names:
            within = count.within(grouping.members(name))
            yield pr.proportion(marks, study.edition, _NAME, within, {key: name})


def _count(marks: Marks) -> pr.Count:
    """Correct verdicts on a sentence, and which of them another image changes."""
    flipped = (marks.swap >= 0) & (marks.swap != marks.original)
    return pr.Count(marks.facts.sentence & marks.correct, marks.swap, flipped, "swap")


# ---------------------------------------------------------------- authors


def _published(marks: Marks, study: Study) -> Iterator[Measure]:
    """Flips over all correct verdicts, swaps without an answer included; means of types."""
    column = study.tables.cases["error_type"]
    types = np.array([text or "" for text in column])
    count = _count(marks)
    rates: dict[str, float] = {}
    for name in sorted(set(types[marks.facts.sentence].tolist()) - {""}):
        record = _bare(marks, count.population & (types == name), count.hits)
        record = msgspec.structs.replace(record, by={"error_type": name})
        if record.value is not None:
            rates[name] = record.value
            yield record
    for group, names in _PUBLISHED.items():
        found = [rates[name] for name in names if name in rates]
        yield Measure(
            reader=marks.reader,
            measure=_NAME,
            by={"error_group": group},
            value=float(np.mean(found)) if found else None,
            method="mean of types" if found else None,
            note=None if found else "no error type has one of the published names",
        )


def _bare(marks: Marks, population: Mask, hits: Mask) -> Measure:
    n, k = int(population.sum()), int((population & hits).sum())
    return Measure(
        reader=marks.reader,
        measure=_NAME,
        value=k / n if n else None,
        n=n,
        k=k,
        note=None if n else "no correct answer to such a sentence",
    )


_NAME: Final = "rexerr_sensitivity"
METRICS: Final = (
    Metric(
        name=_NAME,
        says="correct verdicts on a sentence that another image changes",
        needs=("original", "swap"),
        make=_make,
    ),
)
