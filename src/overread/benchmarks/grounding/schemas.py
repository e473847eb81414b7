"""The columns of cases.parquet and answers.parquet. Imports polars only when asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from overread.benchmarks.grounding.answers import ANSWER_COLUMNS
from overread.benchmarks.grounding.boxes import overlap_fraction
from overread.benchmarks.grounding.cases import GroundingCase

__all__ = ["answer_schema", "case_row", "case_schema"]


@cache
def case_schema() -> Mapping[str, Any]:
    """The manifest's columns (`case_id` is `case` in every table) and the overlap of the boxes."""
    import polars as pl

    texts = ("source", "image_path", "report_path", "dicom_id", "subject_id", "study_id", "view")
    schema: dict[str, Any] = {"case": pl.String, **dict.fromkeys(texts, pl.String)}
    schema |= {"age": pl.Float64, "gender": pl.String, "finding": pl.String, "label": pl.Int8}
    schema |= dict.fromkeys(
        ("label_text", "original_sentence", "error_sentence", "error_type"), pl.String
    )
    schema |= {"error_present": pl.Int8, "swap_image_path": pl.String}
    for box in ("box", "irrelevant_box"):
        schema |= dict.fromkeys((f"{box}_{side}" for side in "xywh"), pl.Int32)
    schema |= {"overlap": pl.Float64, "label_value": pl.Int8, "swap_match": pl.String}
    return schema


def case_row(case: GroundingCase) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    target, control = case.box, case.irrelevant_box
    return (
        case.case_id,
        case.source,
        case.image_path,
        case.report_path,
        case.dicom_id,
        case.subject_id,
        case.study_id,
        case.view,
        case.age,
        case.gender,
        case.finding,
        case.label,
        case.label_text,
        case.original_sentence,
        case.error_sentence,
        case.error_type,
        case.error_present,
        case.swap_image_path,
        *((None,) * 4 if target is None else (target.x, target.y, target.w, target.h)),
        *((None,) * 4 if control is None else (control.x, control.y, control.w, control.h)),
        overlap_fraction(case.targets, case.controls) if target and control else None,
        case.label_value,
        case.swap_match,
    )


@cache
def answer_schema() -> Mapping[str, Any]:
    """One row per trial; the run puts the column `reader` before these."""
    import polars as pl

    other: dict[str, Any] = {
        "px": pl.Int32,
        "repeat": pl.Int32,
        "answer": pl.Int8,
        "p_yes": pl.Float64,
        "tokens": pl.List(pl.String),
        "logprobs": pl.List(pl.Float64),
        "refused": pl.Boolean,
        "recorded": pl.Boolean,
    }
    return {column: other.get(column, pl.String) for column in ANSWER_COLUMNS}
