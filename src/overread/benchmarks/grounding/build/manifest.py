"""A set as it is written: the manifest, what the set is made of, and what was left out."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.grounding.cases import (
    CONTROL,
    ERROR_GROUPS,
    EXTRA_COLUMNS,
    UNION_COLUMNS,
    GroundingCase,
    group_of,
)
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.case import Box, Policy, Table
from overread.imaging import overlap_fraction

# Errors of a sentence that only the image shows, and errors the text alone gives away, as ReXErr
# writes them.
IMAGE_ERRORS, TEXT_ERRORS = (
    tuple(name.replace("_", " ").capitalize() for name in names) for names in ERROR_GROUPS.values()
)


class Exclusion(msgspec.Struct, frozen=True):
    """What was left out at one step, and why: printed with every set."""

    source: str
    reason: str
    count: int


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A probe set before it is written: the cases in manifest order, and what was left out."""

    name: str
    policy: Policy
    cases: list[GroundingCase]
    exclusions: list[Exclusion]
    # Lines a reader of the set should know, such as where a label comes from [D31].
    provenance: list[str] = []
    # The shorter side of every box that might have been masked, were the minimum another one.
    sides: list[float] = []
    # The tables that were read.
    files: list[Path] = []
    # Every box known of an image, also those no case was made of.
    boxes: dict[str, list[Box]] = {}


# ---------------------------------------------------------------- the manifest
# The manifest as it is written: the 26 columns of GROUNDING 1.2, then those the builder adds.


PAPER_COLUMNS: Final = (
    *("case_id", "source", "image_path", "report_path", "dicom_id", "subject_id", "study_id"),
    *("view", "age", "gender", "finding", "label", "label_text"),
    *("box_x", "box_y", "box_w", "box_h"),
    *("original_sentence", "error_sentence", "error_type", "error_present"),
    *("swap_image_path", "irrelevant_box_x", "irrelevant_box_y"),
    *("irrelevant_box_w", "irrelevant_box_h"),
)


def write_manifest(path: Path, cases: Sequence[GroundingCase]) -> None:
    """Write the cases in their order, as `load_cases` reads them back."""
    several = any(case.more_boxes or case.more_irrelevant_boxes for case in cases)
    columns = (*PAPER_COLUMNS, *EXTRA_COLUMNS, *(UNION_COLUMNS if several else ()))
    write_rows(path, columns, (_manifest_row(case, columns) for case in cases))


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A CSV file in UTF-8 with `\\n` line ends; None is an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        plain = csv.writer(file, lineterminator="\n")
        # Python quotes a carriage return only since 3.13; unquoted it would end the row.
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(columns)
        for row in rows:
            cells = ["" if cell is None else str(cell) for cell in row]
            (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)


def _manifest_row(case: GroundingCase, columns: Iterable[str]) -> Iterator[object]:
    for column in columns:
        name, _, side = column.rpartition("_")
        value = getattr(case, name if name in ("box", "irrelevant_box") else column)
        if isinstance(value, Box):
            yield getattr(value, side)
        elif isinstance(value, tuple):
            yield ";".join(f"{box.x} {box.y} {box.w} {box.h}" for box in value)
        elif isinstance(value, float) and value.is_integer():
            yield int(value)  # an age of 61 is written 61
        else:
            yield value


# ---------------------------------------------------------------- the composition
# What a probe set is made of: counts by source, finding, label and view, and what was left out.
#
# The table is the paper's Supplementary Table 8, with a column for views that are neither PA nor
# AP.


# Sentences stand by the kind of their error: they need not have a finding.
_SENTENCES: Final = {
    "image_dependent": "image-dependent errors",
    "text_only": "text-only errors",
    None: "other errors",
    CONTROL: "no-error controls",
}
_LAST_GROUPS: Final = (NORMAL, *_SENTENCES.values())
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


class SetFacts(msgspec.Struct, frozen=True, kw_only=True):
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
        finding = case.finding or ""
        if case.source == SENTENCE_SOURCE:
            finding = _SENTENCES[group_of(case.error_type, case.error_present)]
        sign = "positive" if case.label else "negative"
        view = case.view.lower() if case.view in ("PA", "AP") else "other"
        counts.setdefault((case.source, finding), Counter()).update((sign, view))
    sources = list(dict.fromkeys(source for source, _ in counts))

    def place(key: tuple[str, str]) -> tuple[int, int, str]:
        last = _LAST_GROUPS.index(key[1]) + 1 if key[1] in _LAST_GROUPS else 0
        return sources.index(key[0]), last, key[1]

    return [
        Stratum(source=key[0], finding=key[1], **{name: counts[key][name] for name in _COUNTS[:-1]})
        for key in sorted(counts, key=place)
    ]


def set_facts(cases: Sequence[GroundingCase]) -> SetFacts:
    boxed = [case for case in cases if case.box is not None]
    nobody = {case.image_path for case in cases if case.subject_id is None}
    matched = Counter(len(case.draws) for case in boxed)
    return SetFacts(
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


# ---------------------------------------------------------------- as tables


def composition_table(
    rows: Sequence[Stratum],
    facts: SetFacts,
    signature: str = "",
    provenance: Sequence[str] = (),
) -> Table:
    """The strata with a subtotal for each source and a total, and the facts below."""
    cells: list[tuple[str, ...]] = []
    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        cells += [(source, row.finding, *_count_cells([row])) for row in own]
        cells.append((source, "subtotal", *_count_cells(own)))
    cells.append(("all", "total", *_count_cells(rows)))
    return Table(
        name="composition",
        title="What the set is made of",
        columns=("source", "finding", "positive", "negative", "PA", "AP", "other", "total"),
        rows=tuple(cells),
        signature=signature,
        notes=(*_set_notes(facts), *provenance),
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
    write_rows(path, Exclusion.__struct_fields__, map(msgspec.structs.astuple, exclusions))


def _count_cells(rows: Sequence[Stratum]) -> Iterator[str]:
    return (f"{sum(getattr(row, name) for row in rows):,}" for name in _COUNTS)


def _set_notes(facts: SetFacts) -> Iterator[str]:
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
