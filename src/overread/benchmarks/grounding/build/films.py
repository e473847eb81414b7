"""What a probe set is drawn from: films, boxes on films, and sentences about films.

Every reader of an official dataset ends in these tables, so that one set of sampling rules serves
them all. Polars frames, in the order of the files: sampling depends on it (GROUNDING 2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.case import Policy

__all__ = [
    "ABSENT",
    "LABELS",
    "NOT_MENTIONED",
    "PRESENT",
    "UNCERTAIN",
    "Built",
    "Exclusion",
    "box_schema",
    "film_schema",
    "sentence_schema",
]

LABELS: Final = (*FINDINGS, NORMAL)
# The codes of a label column, as the authors' master lists have them (GROUNDING 1.1).
ABSENT: Final = 0
PRESENT: Final = 1
UNCERTAIN: Final = 2
NOT_MENTIONED: Final = 3


@cache
def film_schema() -> Mapping[str, Any]:
    """One row per film. `image_path` is relative to the images' root and ends in the manifest.

    `view` is PA, AP or another word; `gender` M or F or null; `split` train, valid or test, or null
    where the dataset has none; each of the 14 label columns holds 0, 1, 2, 3 or null.
    """
    import polars as pl

    texts = ("image_path", "report_path", "dicom_id", "subject_id", "study_id", "view", "gender")
    schema: dict[str, Any] = {**dict.fromkeys(texts, pl.String), "split": pl.String}
    return schema | {"age": pl.Float64} | dict.fromkeys(LABELS, pl.Int8)


@cache
def box_schema() -> Mapping[str, Any]:
    """One row per box, in source pixels; `category` as the dataset writes it."""
    import polars as pl

    texts = ("dicom_id", "category", "label_text", "image_path")
    numbers = ("x", "y", "w", "h", "image_width", "image_height")
    return {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64)}


@cache
def sentence_schema() -> Mapping[str, Any]:
    """One row per sentence; `dicom_id` may still be a comma-separated list."""
    import polars as pl

    texts = ("dicom_id", "study_id", "subject_id", "original_sentence", "error_sentence")
    return {**dict.fromkeys(texts, pl.String), "error_type": pl.String, "error_present": pl.Int8}


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
