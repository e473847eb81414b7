"""A dataset as it was read: its films, its boxes if it has any, and what is to be said of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from overread.benchmarks.grounding.build.films import Exclusion, film_schema
from overread.case import BadInput, Policy

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FilmsRead", "Missing", "film_frame", "leave_out", "with_images"]

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
