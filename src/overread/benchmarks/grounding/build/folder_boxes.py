"""The boxes of a hospital's own csv, in pixels of each image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from overread.benchmarks.files.tables import Table, numbers, refuse, refuse_first
from overread.benchmarks.grounding.build.film_sizes import film_size
from overread.benchmarks.grounding.build.films import PRESENT, Exclusion, box_schema
from overread.benchmarks.grounding.build.nih import FINDING_OF
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BOX", "SIZE", "boxes_of"]

BOX: Final = ("box_x", "box_y", "box_w", "box_h")
SIZE: Final = ("image_width", "image_height")
# A box drawn by hand may leave the image by a hair.
_HAIR: Final = 0.02


def boxes_of(
    table: Table,
    said: Mapping[str, str],
    rows: pl.DataFrame,
    root: Path,
    gone: set[str],
    name: str,
) -> tuple[pl.DataFrame | None, list[Exclusion]]:
    """The boxes of films whose finding is present, and a count of the others.

    `rows` has the image, finding and value of each row; `said` what the csv calls our columns.
    """
    import polars as pl

    if BOX[0] not in said:
        return None, []
    sides = {
        side: numbers(table, said[column], "it is a number of pixels")
        for side, column in zip("xywh", BOX, strict=True)
    }
    frame = rows.with_columns(**sides).with_row_index("index")
    some = pl.any_horizontal(pl.col(*"xywh").is_not_null())
    for side, column in zip("xywh", BOX, strict=True):
        partial = frame.select(some & pl.col(side).is_null()).to_series()
        refuse_first(table, partial, said[column], f"a box needs all of {', '.join(BOX)}, or none")
        if side in "wh":
            refuse_first(table, frame[side] <= 0, said[column], "a side is above 0")
    frame = frame.filter(some)
    exclusions = []
    absent = frame.filter(pl.col("value") != PRESENT)
    if absent.height:
        reason = "a box on a film whose finding is not present"
        exclusions.append(Exclusion(name, reason, absent.height))
    frame = frame.filter((pl.col("value") == PRESENT) & ~pl.col("image").is_in(list(gone)))
    once = frame.unique(["image", "finding", *"xywh"], keep="first", maintain_order=True)
    if once.height < frame.height:
        exclusions.append(Exclusion(name, "the same box twice", frame.height - once.height))
    sizes = _sizes(table, said, once, root)
    once = once.hstack(sizes)
    for side, along, across in (("w", "x", "image_width"), ("h", "y", "image_height")):
        for index, start, length, whole in once.select("index", along, side, across).iter_rows():
            if start < -_HAIR * whole or start + length > (1 + _HAIR) * whole:
                refuse(
                    table,
                    index,
                    said[f"box_{side}"],
                    f"the box leaves its image of {whole:g} pixels",
                )
    texts = table.frame[said["box_label"]] if "box_label" in said else rows["finding"]
    once, others = _of_their_finding(once.with_columns(text=texts.gather(once["index"])))
    exclusions += [Exclusion(name, reason, count) for reason, count in others.items()]
    boxes = once.select(
        dicom_id=pl.col("image").str.extract(r"([^/]+?)(?:\.[^./]*)?$"),
        category="finding",
        label_text="text",
        image_path="image",
        **{column: pl.col(column) for column in (*"xywh", *SIZE)},
        finding="finding",
    )
    return boxes.select(*box_schema(), "finding"), exclusions


def _of_their_finding(boxes: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The boxes that show their row's finding, and why the others do not.

    A box label that names another finding is taken at its word; free text is not judged.
    """
    import polars as pl

    known = {name.lower(): ours for name, ours in FINDING_OF.items()}
    known |= {name.lower(): name for name in (*FINDINGS, *boxes["finding"].unique())}
    lost: Counter[str] = Counter()
    kept = []
    for finding, text in boxes.select("finding", "text").iter_rows():
        named = known.get("_".join((text or "").lower().split()), finding)
        kept.append(named == finding)
        if named != finding:
            lost[f'a box labelled "{text}" on a row of {finding}'] += 1
    return boxes.filter(pl.Series(kept, dtype=pl.Boolean)), lost


def _sizes(table: Table, said: Mapping[str, str], boxes: pl.DataFrame, root: Path) -> pl.DataFrame:
    """The size of each box's image: the csv's, or the file's."""
    import polars as pl

    from overread.imaging import locate

    given = [
        numbers(table, said[column], "it is a number of pixels above 0", least=1)
        if column in said
        else None
        for column in SIZE
    ]
    known: dict[str, tuple[float, float]] = {}
    rows = []
    for index, image in boxes.select("index", "image").iter_rows():
        width, height = (None if column is None else column[index] for column in given)
        if width is None or height is None:
            if image not in known:
                known[image] = film_size(locate(Source(str(root), image)), image)
            width, height = known[image]
        rows.append((float(width), float(height)))
    return pl.DataFrame(rows, schema=dict.fromkeys(SIZE, pl.Float64), orient="row")
