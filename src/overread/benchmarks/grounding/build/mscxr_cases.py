"""Cases from MS-CXR, the only ones that can be masked (GROUNDING 2.2).

`authors` makes one of each box; `corrected` one of each film and finding, and masks all its boxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.grounding.boxes import irrelevant_box, irrelevant_boxes
from overread.benchmarks.grounding.build.films import PRESENT
from overread.benchmarks.grounding.build.scheme import FRONTAL, Account, Rules, Sampling, by_dicom
from overread.benchmarks.grounding.build.stream import Stream
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import MSCXR_FINDINGS
from overread.case import Box

if TYPE_CHECKING:
    import polars as pl

__all__ = ["draw_boxes"]

# The categories as MS-CXR writes them.
_CATEGORIES: Final = {name.replace("_", " ").title(): name for name in MSCXR_FINDINGS}
_SCALED: Final = ("box_x", "box_y", "box_w", "box_h")


def draw_boxes(
    boxes: pl.DataFrame,
    films: pl.DataFrame,
    options: Sampling,
    stream: Stream,
    account: Account,
    rules: Rules,
) -> list[GroundingCase]:
    """At most `mscxr_per_finding` boxes of each finding, findings in order of first appearance.

    In the authors' code a box whose film is unknown, or has no age or sex, is joined to nothing,
    has no view and so goes with the laterals. Here each has its own reason.
    """
    import polars as pl

    scaled = _scaled(boxes, options.resolution)
    account.sides += scaled.select(pl.min_horizontal("box_w", "box_h")).to_series().to_list()
    kept = account.keep(
        scaled,
        (pl.col("box_w") >= options.minimum_side) & (pl.col("box_h") >= options.minimum_side),
        f"box below {options.minimum_side} pixels of {options.resolution} [D12]",
    )
    known = pl.col("dicom_id").is_in(films["dicom_id"].implode())
    kept = account.keep(kept, known, "film not in the film list")
    facts = ("report_path", "dicom_id", "subject_id", "study_id", "view", "age", "gender")
    lookup = by_dicom(films).select(*facts, film_path="image_path")
    kept = kept.join(lookup, on="dicom_id", how="left", maintain_order="left")
    kept = account.keep(kept, pl.col("film_path").is_not_null(), "no age or sex")
    kept = account.keep(kept, pl.col("view").is_in(FRONTAL), "view not PA or AP")
    finding = pl.col("category").replace_strict(_CATEGORIES, default=None, return_dtype=pl.String)
    kept = kept.with_columns(finding=finding)
    kept = account.keep(kept, pl.col("finding").is_not_null(), "category is none of the eight")
    asked = pl.col("finding").is_in(options.findings)
    kept = account.keep(kept, asked, "finding not asked for")
    rows: list[dict[str, Any]] = []
    for each in kept["finding"].unique(maintain_order=True):
        own = kept.filter(pl.col("finding") == each)
        rows += own[stream.sample(own.height, options.mscxr_per_finding)].to_dicts()
    account.drop(
        f"over the cap of {options.mscxr_per_finding} per finding", kept.height - len(rows)
    )
    cases = [_case(number, row, options, rules) for number, row in enumerate(rows)]
    return cases if rules == "authors" else _together(cases, scaled, options, account)


def _scaled(boxes: pl.DataFrame, resolution: int) -> pl.DataFrame:
    """The boxes at the working resolution, each axis on its own, not yet rounded."""
    import polars as pl

    across, down = resolution / pl.col("image_width"), resolution / pl.col("image_height")
    scales = (across, down, across, down)
    sides = zip(_SCALED, "xywh", scales, strict=True)
    return boxes.with_columns((pl.col(side) * scale).alias(name) for name, side, scale in sides)


def _together(
    drawn: list[GroundingCase], boxes: pl.DataFrame, options: Sampling, account: Account
) -> list[GroundingCase]:
    """Every case with all boxes of its finding on its film, and each film and finding once.

    The draws are the authors': a box whose film and finding another drawn one stands for is left.
    """
    known: dict[tuple[str, str | None], list[Box]] = {}
    for dicom, category, *sides in boxes.select("dicom_id", "category", *_SCALED).iter_rows():
        box = Box(*map(round, sides))
        if box.w > 0 and box.h > 0:
            known.setdefault((dicom, _CATEGORIES.get(category)), []).append(box)
    cases: dict[tuple[str | None, str | None], GroundingCase] = {}
    for case in drawn:
        if (key := (case.dicom_id, case.finding)) in cases:
            continue
        others = [box for box in known[case.dicom_id or "", case.finding] if box != case.box]
        control, *elsewhere = irrelevant_boxes([*case.targets, *others], options.resolution)
        cases[key] = msgspec.structs.replace(
            case,
            irrelevant_box=control,
            more_boxes=tuple(others),
            more_irrelevant_boxes=tuple(elsewhere),
        )
    account.drop("hidden together with another box of its film", len(drawn) - len(cases))
    return list(cases.values())


def _case(number: int, row: dict[str, Any], options: Sampling, rules: Rules) -> GroundingCase:
    # Each number half to even on its own, and nothing clipped (step 6).
    x, y, w, h = (round(row[name]) for name in _SCALED)
    box = Box(x, y, w, h)
    return GroundingCase(
        case_id=f"mscxr_{number:05d}",
        source="ms_cxr",
        # The authors put their folder's name before MS-CXR's path. The film list knows better
        # where the film stands.
        image_path=row["image_path"] if rules == "authors" else row["film_path"],
        report_path=row["report_path"],
        dicom_id=row["dicom_id"],
        subject_id=row["subject_id"],
        study_id=row["study_id"],
        view=row["view"],
        age=row["age"],
        gender=row["gender"],
        finding=row["finding"],
        label=1,
        # A box asserts its finding, whatever the labeler made of the report.
        label_value=PRESENT,
        label_text=row["label_text"],
        box=box,
        irrelevant_box=irrelevant_box(box, options.resolution),
    )
