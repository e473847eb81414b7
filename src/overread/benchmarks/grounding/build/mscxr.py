"""MS-CXR's local alignments: a phrase of a report and the box that shows it.

The csv (v1.0 and v1.1, which appends a `split` that no rule here uses) and the COCO json hold the
same boxes (FORMATS: one row per box, in pixels of the original image).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.files.tables import (
    filled,
    numbers,
    read_table,
    refuse_first,
)
from overread.benchmarks.grounding.build.films import box_schema
from overread.case import BadInput
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_boxes"]

_ROOT: Final = "mimic-cxr-jpg"
_TEXTS: Final = ("dicom_id", "category_name", "label_text", "path")
_NUMBERS: Final = ("x", "y", "w", "h", "image_width", "image_height")
_SIDES: Final = ("w", "h", "image_width", "image_height")
_AGAIN: Final = "Fetch the file again."


def read_boxes(path: str | Path) -> pl.DataFrame:
    """The boxes of a local-alignment file, csv (plain or gzipped) or COCO json, in its order."""
    file = Path(path)
    return _from_coco(file) if file.suffix.lower() == ".json" else _from_csv(file)


def image_path(path: str) -> str:
    """Where the film stands: `mimic-cxr-jpg/files/...`, with or without `files/` in the list."""
    name = path.removeprefix(f"{_ROOT}/")
    return f"{_ROOT}/{name}" if name.startswith("files/") else f"{_ROOT}/files/{name}"


def _from_csv(path: Path) -> pl.DataFrame:
    import polars as pl

    table = read_table(path, (*_TEXTS, *_NUMBERS))
    filled(table, "dicom_id", "category_name", "path", *_NUMBERS)
    columns = {name: numbers(table, name, "it is a number of pixels") for name in _NUMBERS}
    for name in _SIDES:
        refuse_first(table, columns[name] <= 0, name, "a side is above 0")
    frame = table.frame
    texts = {
        "dicom_id": frame["dicom_id"],
        "category": frame["category_name"],
        "label_text": frame["label_text"],
        "image_path": pl.Series([image_path(name) for name in frame["path"]], dtype=pl.String),
    }
    return pl.DataFrame(texts | columns, schema=dict(box_schema()))


# ---------------------------------------------------------------- COCO


class _Image(msgspec.Struct):
    id: int
    path: str
    width: float
    height: float


class _Annotation(msgspec.Struct):
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    label_text: str | None = None


class _Category(msgspec.Struct):
    id: int
    name: str


class _Coco(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category]


def _from_coco(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        coco = msgspec.json.decode(read_bytes(path), type=_Coco)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} is not COCO json: {error}. Fetch the file again.") from None
    images = {image.id: image for image in coco.images}
    categories = {category.id: category.name for category in coco.categories}
    rows = []
    for place, box in enumerate(coco.annotations):
        where = f"{path.name} annotations[{place}]"
        if box.image_id not in images:
            raise BadInput(f"{where}: image_id {box.image_id} is no image of the file. {_AGAIN}")
        if box.category_id not in categories:
            raise BadInput(f"{where}: category_id {box.category_id} is no category. {_AGAIN}")
        image = images[box.image_id]
        x, y, w, h = box.bbox
        if not (w > 0 and h > 0):
            raise BadInput(f"{where}: bbox is {list(box.bbox)}; a side is above 0. {_AGAIN}")
        if not (image.width > 0 and image.height > 0):
            size = f"{image.width:g} x {image.height:g}"
            raise BadInput(f"{where}: its image is {size}; a side is above 0. {_AGAIN}")
        rows.append(
            (
                Path(image.path).stem,
                categories[box.category_id],
                (box.label_text or "").strip() or None,
                image_path(image.path),
                *(x, y, w, h, image.width, image.height),
            )
        )
    if not rows:
        raise BadInput(f"{path.name} has no annotations. {_AGAIN}")
    return pl.DataFrame(rows, schema=dict(box_schema()), orient="row")
