"""What a probe set is drawn from: films, boxes on films, and sentences about films.

Every reader of an official dataset ends in these tables, so that one set of sampling rules serves
them all. Polars frames, in the order of the files: sampling depends on it (GROUNDING 2.1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.case import BadInput, Policy

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ABSENT",
    "LABELS",
    "NOT_MENTIONED",
    "PRESENT",
    "UNCERTAIN",
    "Built",
    "Exclusion",
    "FilmsRead",
    "Missing",
    "box_schema",
    "film_frame",
    "film_schema",
    "identifiers",
    "leave_out",
    "sentence_schema",
    "with_images",
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


# ---------------------------------------------------------------- a dataset as it was read
# A dataset as it was read: its films, its boxes if it has any, and what is to be said of them.


# What becomes of a film whose image is not there: an error, an exclusion that is counted, or
# nothing, for the images are not looked at.
Missing = Literal["refuse", "exclude", "ignore"]


class FilmsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Films in file order, what reading left out, and lines for whoever reads the set's card.

    `films` has the columns of `film_schema`, and for a folder one more per finding of its own.
    `boxes` has the columns of `box_schema`, and `finding`: our name of the category.
    """

    name: str
    policy: Policy
    films: pl.DataFrame
    exclusions: list[Exclusion] = []
    provenance: list[str] = []
    boxes: pl.DataFrame | None = None


def film_frame(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """A film table of these columns; those not given are null, further ones stand at the end."""
    import polars as pl

    schema = film_schema()
    height = len(next(iter(columns.values())))
    further = [name for name in columns if name not in schema]
    given = {
        name: columns[name].cast(kind) if name in columns else pl.Series([None], dtype=kind)
        for name, kind in schema.items()
    }
    return pl.DataFrame(
        [
            (found if len(found) == height else found.new_from_index(0, height)).alias(name)
            for name, found in given.items()
        ]
        + [columns[name].alias(name) for name in further]
    )


def leave_out(read: FilmsRead, out: pl.Series, reason: str) -> FilmsRead:
    """The same without the films flagged, nor their boxes, and with the count of them."""
    import polars as pl

    count = int(out.sum())
    if not count:
        return read
    boxes = read.boxes
    if boxes is not None:
        gone = read.films.filter(out)["image_path"].to_list()
        boxes = boxes.filter(~pl.col("image_path").is_in(gone))
    return msgspec.structs.replace(
        read,
        films=read.films.filter(~out),
        boxes=boxes,
        exclusions=[*read.exclusions, Exclusion(read.name, reason, count)],
    )


def with_images(read: FilmsRead, root: Path, missing: Missing = "refuse") -> FilmsRead:
    """Only films whose image lies below the root.

    Optional: a set can be drawn from the tables alone, and only its own images fetched afterwards.
    """
    import polars as pl

    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds the images.")
    base = str(root)
    paths = read.films["image_path"]
    gone = pl.Series([not os.path.isfile(f"{base}/{path}") for path in paths], dtype=pl.Boolean)
    if missing == "refuse" and gone.any():
        refuse_missing(read.name, root, paths.filter(gone).to_list(), len(paths))
    return leave_out(read, gone, "the image is not there")


def refuse_missing(name: str, root: Path, gone: list[str], listed: int) -> None:
    """One line on images that are listed and not there."""
    folder = gone[0].partition("/")[0]
    if len(gone) == listed and root.name == folder:
        raise BadInput(
            f"{root} has no {gone[0]}: the names already begin with {folder}. "
            f"Give the folder above, {root.parent}."
        )
    raise BadInput(
        f"{name}: {gone[0]} is listed and not below {root} ({len(gone)} of {listed} images are "
        "missing). Fetch them, or leave such films out with --skip-missing."
    )


# ---------------------------------------------------------------- ids
# Ids as they are compared: text, without the `.0` of a whole number once kept as a float.


def identifiers(words: pl.Series) -> pl.Series:
    """The same ids however a table was saved: `1213.0` is patient `1213`."""
    return words.str.replace(r"^(\d+)\.0+$", "${1}")
