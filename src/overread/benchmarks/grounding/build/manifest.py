"""The manifest as it is written: the 26 columns of GROUNDING 1.2, then those the builder adds."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from overread.benchmarks.grounding.cases import EXTRA_COLUMNS, UNION_COLUMNS, GroundingCase
from overread.case import Box

__all__ = ["COLUMNS", "PAPER_COLUMNS", "write_manifest", "write_rows"]

PAPER_COLUMNS: Final = (
    *("case_id", "source", "image_path", "report_path", "dicom_id", "subject_id", "study_id"),
    *("view", "age", "gender", "finding", "label", "label_text"),
    *("box_x", "box_y", "box_w", "box_h"),
    *("original_sentence", "error_sentence", "error_type", "error_present"),
    *("swap_image_path", "irrelevant_box_x", "irrelevant_box_y"),
    *("irrelevant_box_w", "irrelevant_box_h"),
)
COLUMNS: Final = (*PAPER_COLUMNS, *EXTRA_COLUMNS)


def write_manifest(path: Path, cases: Iterable[GroundingCase]) -> int:
    """Write the cases in their order, as `load_cases` reads them back; returns how many."""
    every = list(cases)
    if not any(case.more_boxes or case.more_irrelevant_boxes for case in every):
        return write_rows(path, COLUMNS, map(_row, every))
    return write_rows(path, (*COLUMNS, *UNION_COLUMNS), ((*_row(c), *_union(c)) for c in every))


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> int:
    """A CSV file in UTF-8 with `\\n` line ends; None is an empty cell. Returns the rows written."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        plain = csv.writer(file, lineterminator="\n")
        # Python quotes a carriage return only since 3.13; unquoted it would end the row.
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(columns)
        for row in rows:
            cells = ["" if cell is None else str(cell) for cell in row]
            (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
            count += 1
    return count


def _row(case: GroundingCase) -> tuple[object, ...]:
    return (
        case.case_id,
        case.source,
        case.image_path,
        case.report_path,
        case.dicom_id,
        case.subject_id,
        case.study_id,
        case.view,
        _number(case.age),
        case.gender,
        case.finding,
        case.label,
        case.label_text,
        *_sides(case.box),
        case.original_sentence,
        case.error_sentence,
        case.error_type,
        case.error_present,
        case.swap_image_path,
        *_sides(case.irrelevant_box),
        case.label_value,
        case.swap_match,
        case.opposite_image_path,
        _listed(case.matched_boxes),
        case.image_digest,
        case.swap_image_digest,
    )


def _union(case: GroundingCase) -> tuple[str, str]:
    return _listed(case.more_boxes), _listed(case.more_irrelevant_boxes)


def _listed(boxes: Iterable[Box]) -> str:
    return ";".join(f"{box.x} {box.y} {box.w} {box.h}" for box in boxes)


def _sides(box: Box | None) -> tuple[int | None, ...]:
    return (None,) * 4 if box is None else (box.x, box.y, box.w, box.h)


def _number(value: float | None) -> float | int | None:
    """Whole numbers without a point: an age of 61 is written 61."""
    return int(value) if value is not None and value.is_integer() else value
