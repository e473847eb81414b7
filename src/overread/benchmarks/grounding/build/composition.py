"""What a probe set is made of: counts by source, finding, label and view, and what was left out.

The table is the paper's Supplementary Table 8, with a column for views that are neither PA nor AP.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.grounding.boxes import overlap_fraction
from overread.benchmarks.grounding.build.films import Exclusion
from overread.benchmarks.grounding.build.manifest import write_rows
from overread.benchmarks.grounding.build.rexerr_cases import IMAGE_ERRORS, TEXT_ERRORS
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.case import Table

__all__ = [
    "Facts",
    "Stratum",
    "composition_table",
    "exclusions_table",
    "facts_of",
    "strata",
    "write_composition",
    "write_exclusions",
]

# Sentences stand by the kind of their error: they need not have a finding.
IMAGE_DEPENDENT: Final = "image-dependent errors"
TEXT_ONLY: Final = "text-only errors"
OTHER_ERRORS: Final = "other errors"
CONTROLS: Final = "no-error controls"
_LAST: Final = (NORMAL, IMAGE_DEPENDENT, TEXT_ONLY, OTHER_ERRORS, CONTROLS)
_COUNTS: Final = ("positive", "negative", "pa", "ap", "other", "total")


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """One row: the cases of a source that ask for one finding.

    `positive` counts label 1. For a sentence that is an injected error and for `no_finding` a
    normal film (GROUNDING 1.2): neither is the answer key.
    """

    source: str
    finding: str
    positive: int
    negative: int
    pa: int
    ap: int
    other: int

    @property
    def total(self) -> int:
        return self.positive + self.negative


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a set's users should know beyond the strata."""

    cases: int
    films: int
    # Patients that are known, and films whose patient is not.
    patients: int
    films_of_nobody: int
    boxed: int
    # Cases with several boxes of their finding, which are hidden together.
    several: int
    # Cases whose irrelevant box covers some of the target (GROUNDING 2.7).
    overlapping: int
    # Cases whose swap could not be matched on the label, and cases without a swap [D22].
    fallback_swaps: int
    unswapped: int
    opposites: int
    # Cases with a box by the number of matched boxes they have, the largest first.
    matched: dict[int, int]
    # Whether the images were there to be digested.
    digested: bool


def strata(cases: Iterable[GroundingCase]) -> list[Stratum]:
    """Sources in order of first appearance, findings by alphabet, normals and sentences last."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        sign = "positive" if case.label else "negative"
        counts.setdefault((case.source, _group(case)), Counter()).update((sign, _view(case)))
    sources = list(dict.fromkeys(source for source, _ in counts))

    def place(key: tuple[str, str]) -> tuple[int, int, str]:
        last = _LAST.index(key[1]) + 1 if key[1] in _LAST else 0
        return sources.index(key[0]), last, key[1]

    return [
        Stratum(source=key[0], finding=key[1], **{name: counts[key][name] for name in _COUNTS[:-1]})
        for key in sorted(counts, key=place)
    ]


def facts_of(cases: Sequence[GroundingCase]) -> Facts:
    boxed = [case for case in cases if case.box is not None]
    nobody = {case.image_path for case in cases if case.subject_id is None}
    matched = Counter(len(case.draws) for case in boxed)
    return Facts(
        cases=len(cases),
        films=len({case.image_path for case in cases}),
        patients=len({case.subject_id for case in cases} - {None}),
        films_of_nobody=len(nobody),
        boxed=len(boxed),
        several=sum(bool(case.more_boxes) for case in boxed),
        overlapping=sum(overlap_fraction(case.targets, case.controls) > 0 for case in boxed),
        fallback_swaps=sum(case.swap_match == "any" for case in cases),
        unswapped=sum(case.swap_image_path is None for case in cases),
        opposites=sum(case.opposite_image_path is not None for case in cases),
        matched=dict(sorted(matched.items(), reverse=True)),
        digested=any(case.image_digest is not None for case in cases),
    )


def _group(case: GroundingCase) -> str:
    if case.source != SENTENCE_SOURCE:
        return case.finding or ""
    if not case.error_present:
        return CONTROLS
    if case.error_type in IMAGE_ERRORS:
        return IMAGE_DEPENDENT
    return TEXT_ONLY if case.error_type in TEXT_ERRORS else OTHER_ERRORS


def _view(case: GroundingCase) -> str:
    return case.view.lower() if case.view in ("PA", "AP") else "other"


# ---------------------------------------------------------------- as tables


def composition_table(
    rows: Sequence[Stratum],
    facts: Facts,
    signature: str = "",
    provenance: Sequence[str] = (),
) -> Table:
    """The strata with a subtotal for each source and a total, and the facts below."""
    cells: list[tuple[str, ...]] = []
    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        cells += [(source, row.finding, *_counts([row])) for row in own]
        cells.append((source, "subtotal", *_counts(own)))
    cells.append(("all", "total", *_counts(rows)))
    return Table(
        name="composition",
        title="What the set is made of",
        columns=("source", "finding", "positive", "negative", "PA", "AP", "other", "total"),
        rows=tuple(cells),
        signature=signature,
        notes=(*_notes(facts), *provenance),
    )


def exclusions_table(exclusions: Sequence[Exclusion]) -> Table:
    """Every step that left something out: rows of the source's own tables, or cases."""
    return Table(
        name="exclusions",
        title="What was left out",
        columns=("source", "left out", "why"),
        rows=tuple((each.source, f"{each.count:,}", each.reason) for each in exclusions),
        notes=() if exclusions else ("Nothing was left out.",),
    )


def write_composition(path: Path, rows: Iterable[Stratum]) -> None:
    """The strata alone: sums are the reader's, and none is counted twice."""
    columns = ("source", "finding", *_COUNTS)
    write_rows(path, columns, ([getattr(row, name) for name in columns] for row in rows))


def write_exclusions(path: Path, exclusions: Iterable[Exclusion]) -> None:
    columns = ("source", "reason", "count")
    write_rows(path, columns, ([getattr(each, name) for name in columns] for each in exclusions))


def _counts(rows: Sequence[Stratum]) -> Iterator[str]:
    return (f"{sum(getattr(row, name) for row in rows):,}" for name in _COUNTS)


def _notes(facts: Facts) -> Iterator[str]:
    nobody = f"; of {facts.films_of_nobody:,} the patient is unknown" * bool(facts.films_of_nobody)
    yield (
        f"{facts.cases:,} cases on {facts.films:,} films of {facts.patients:,} patients{nobody}. "
        "Positive counts label 1: for sentences an injected error, for no_finding a normal film."
    )
    if facts.fallback_swaps or facts.unswapped:
        yield (
            f"Swaps: {facts.fallback_swaps:,} cases go to a film not matched on their label "
            f"[D22], {facts.unswapped:,} have no other film."
        )
    if facts.boxed:
        yield (
            f"Boxes: {facts.boxed:,} cases, {facts.several:,} with several, which are hidden "
            f"together; the irrelevant box covers some of the target in {facts.overlapping:,}, "
            "which IS and GSP leave out."
        )
    if not facts.digested:
        yield "The images were not read: no digests, no matched boxes, and none is known to open."
    elif facts.boxed:
        told = ", ".join(f"{count:,} with {boxes}" for boxes, count in facts.matched.items())
        yield f"Matched boxes (same size, inside the body, off the target): {told}."
