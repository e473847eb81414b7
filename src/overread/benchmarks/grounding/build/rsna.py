"""The RSNA 2018 pneumonia challenge: boxes by radiologists on DICOM films taken from NIH.

`stage_2_train_labels.csv`, `stage_2_detailed_class_info.csv` and `stage_2_train_images/<id>.dcm`.
A "patientId" is one image. The patient is known through the mapping to NIH's images alone: the
number before the `_` of the NIH name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.files.tables import (
    Table,
    codes,
    columns_of,
    distinct,
    filled,
    find_table,
    matching,
    numbers,
    read_table,
    refuse_first,
)
from overread.benchmarks.grounding.build.dicom_facts import DicomFacts, dicom_facts
from overread.benchmarks.grounding.build.films import ABSENT, PRESENT, box_schema
from overread.benchmarks.grounding.build.films_read import (
    FilmsRead,
    Missing,
    film_frame,
    with_images,
)
from overread.benchmarks.grounding.prompts import NORMAL
from overread.case import BadInput
from overread.files import read_bytes, whole

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FINDING", "films_and_boxes"]

# The challenge says pneumonia, its readers marked "lung opacity": opacity suspicious for pneumonia,
# read without the clinic. So opacity is what a film can be asked for, and what "Normal" and "No
# Lung Opacity / Not Normal" deny alike.
FINDING: Final = "lung_opacity"
IMAGES: Final = "stage_2_train_images"
_OPACITY: Final = "Lung Opacity"
_CLASSES: Final = {"Normal": 0, "No Lung Opacity / Not Normal": 1, _OPACITY: 2}
_SIDES: Final = ("x", "y", "width", "height")
_SIDE: Final = 1024.0
# Names of the two columns of a mapping: RSNA's own file, and tables people make of it.
_RSNA_NAMES: Final = ("subset_img_id", "patientId", "rsna_id")
_NIH_NAMES: Final = ("img_id", "Image Index", "nih_image")


def films_and_boxes(
    root: Path,
    nih_mapping: Path | None = None,
    missing: Missing = "refuse",
    images: Path | None = None,
) -> FilmsRead:
    """Every film of the challenge's training set and its boxes, in pixels of 1024 x 1024.

    Target 1 is `lung_opacity` present, 0 absent; "Normal" films are also `no_finding`. View, sex
    and age are read from the DICOM headers where `stage_2_train_images` is there, below `images`
    or else `root`; they are null where it is not.
    `nih_mapping` is RSNA's `pneumonia-challenge-dataset-mappings_2018.json`, or a csv with
    columns such as `patientId,nih_image`.
    """
    import polars as pl

    table = read_table(
        find_table(root, "stage_2_train_labels.csv"), ("patientId", *_SIDES, "Target")
    )
    filled(table, "patientId", "Target")
    matching(table, "patientId", r"[0-9A-Za-z-]+", "an id is of letters, digits and -")
    target = codes(table, "Target", {"0": ABSENT, "1": PRESENT}, "it is 0 or 1", pl.Int8)
    classes = _classes(root, table, target)
    boxes = _boxes(table, target)
    ids = table.frame["patientId"].unique(maintain_order=True)
    kind = ids.replace_strict(classes.of, return_dtype=pl.Int8)
    patients = {} if nih_mapping is None else _patients(nih_mapping)
    frame = film_frame(
        {
            "image_path": IMAGES + "/" + ids + ".dcm",
            "dicom_id": ids,
            "subject_id": pl.Series([patients.get(one) for one in ids], dtype=pl.String),
            "study_id": ids,
            FINDING: (kind == 2).cast(pl.Int8),
            NORMAL: (kind == 0).cast(pl.Int8),
        }
    )
    read = FilmsRead(
        name="rsna",
        # The challenge asks for attribution and leaves the rest of its terms to be weighed.
        policy="research",
        films=frame,
        boxes=boxes,
        provenance=[
            f"RSNA 2018: {table.label}, {classes.label}. Labels and boxes are radiologists'; "
            "they mark opacity suspicious for pneumonia.",
            _said_of_patients(ids, patients, nih_mapping),
        ],
    )
    place = images or root
    if missing == "ignore" or not (place / IMAGES).is_dir():
        why = "looked at" if missing == "ignore" else "there"
        read.provenance.append(f"View, sex and age are unknown: the DICOM images were not {why}.")
        return read
    read = with_images(read, place, missing)
    facts = [dicom_facts(place / path, path) for path in read.films["image_path"]]
    return msgspec.structs.replace(read, films=_with_facts(read.films, facts))


class _Classes(NamedTuple):
    label: str
    of: dict[str, int]


def _classes(root: Path, labels: Table, target: pl.Series) -> _Classes:
    """The class of each image, which every row of the labels must agree with."""
    import polars as pl

    table = read_table(find_table(root, "stage_2_detailed_class_info.csv"), ("patientId", "class"))
    filled(table, "patientId", "class")
    kind = codes(table, "class", _CLASSES, f"it is {', '.join(_CLASSES)}", pl.Int8)
    # One row per box here too.
    frame = pl.DataFrame({"patientId": table.frame["patientId"], "kind": kind})
    once = frame.unique("patientId", keep="first", maintain_order=True)
    again = frame.join(once, on="patientId", how="left", maintain_order="left")
    refuse_first(
        table,
        again["kind"] != again["kind_right"],
        "class",
        "another row of this image has another one",
    )
    own = labels.frame.select("patientId").join(
        once, on="patientId", how="left", maintain_order="left"
    )
    refuse_first(
        labels, own["kind"].is_null(), "patientId", f"{table.path.name} has no class for it"
    )
    odd = (target == PRESENT) != (own["kind"] == 2)
    refuse_first(labels, odd, "Target", f"{table.path.name} gives this image another class")
    return _Classes(table.label, dict(once.iter_rows()))


def _boxes(table: Table, target: pl.Series) -> pl.DataFrame:
    import polars as pl

    columns = {side: numbers(table, side, "it is a number of pixels", least=0) for side in _SIDES}
    present = target == PRESENT
    for side, column in columns.items():
        need = "a row with Target 1 has a box, and no other"
        refuse_first(table, present != column.is_not_null(), side, need)
    for side, along in (("width", "x"), ("height", "y")):
        refuse_first(table, columns[side] <= 0, side, "a side is above 0")
        over = columns[along] + columns[side] > _SIDE * 1.02  # by a hair, some might
        refuse_first(table, over, side, "the box leaves the image of 1024 x 1024 pixels")
    distinct(table, "patientId", *_SIDES)
    ids = table.frame["patientId"]
    height = table.frame.height
    frame = pl.DataFrame(
        {
            "dicom_id": ids,
            "category": pl.repeat(_OPACITY, height, eager=True),
            "label_text": pl.repeat(_OPACITY, height, eager=True),
            "image_path": IMAGES + "/" + ids + ".dcm",
            "x": columns["x"],
            "y": columns["y"],
            "w": columns["width"],
            "h": columns["height"],
            "image_width": pl.repeat(_SIDE, height, eager=True),
            "image_height": pl.repeat(_SIDE, height, eager=True),
            "finding": pl.repeat(FINDING, height, eager=True),
        }
    )
    return frame.filter(present).select(*box_schema(), "finding")


def _with_facts(films: pl.DataFrame, facts: Iterable[DicomFacts]) -> pl.DataFrame:
    import polars as pl

    rows = [(fact.view, fact.sex, fact.age) for fact in facts]
    schema = {"view": pl.String, "gender": pl.String, "age": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row")
    return films.with_columns(found[name] for name in schema)


# ---------------------------------------------------------------- patients


def _patients(path: Path) -> dict[str, str]:
    """The NIH patient of each image."""
    rows = _json_rows(path) if path.suffix == ".json" else _csv_rows(path)
    found: dict[str, str] = {}
    for where, image, nih in rows:
        number, mark, _ = nih.partition("_")
        patient = whole(number) if number.isascii() and number.isdecimal() else None
        if not mark or patient is None:
            raise BadInput(f'{where}: "{nih}" is no NIH image like 00000001_000.png. Fix the row.')
        if found.setdefault(image, str(patient)) != str(patient):
            raise BadInput(f'{where}: "{image}" was mapped to another patient before. Fix the row.')
    if not found:
        raise BadInput(f"{path} maps no image. Fetch it again.")
    return found


def _csv_rows(path: Path) -> Iterable[tuple[str, str, str]]:
    has = columns_of(path)
    columns = []
    for names in (_RSNA_NAMES, _NIH_NAMES):
        here = [name for name in names if name in has]
        if not here:
            raise BadInput(f"{path} has no column {' or '.join(names)}. Name the columns so.")
        columns.append(here[0])
    table = read_table(path, columns)
    filled(table, *columns)
    for index, (image, nih) in enumerate(table.frame.select(columns).iter_rows()):
        yield f"{path.name} row {table.row(index)}", image, nih


class _Mapping(msgspec.Struct):
    subset_img_id: str
    img_id: str


def _json_rows(path: Path) -> Iterable[tuple[str, str, str]]:
    try:
        rows = msgspec.json.decode(read_bytes(path), type=list[_Mapping])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} is not RSNA's mapping: {error}. Fetch it again.") from None
    for number, row in enumerate(rows):
        yield f"{path.name} [{number}]", row.subset_img_id, row.img_id


def _said_of_patients(ids: pl.Series, patients: dict[str, str], path: Path | None) -> str:
    if path is None:
        return "Patients are unknown: no mapping to NIH was given, so one may occur several times."
    known = sum(one in patients for one in ids)
    if not known:
        raise BadInput(f"{path.name} maps none of these images. Give RSNA's own mapping.")
    return (
        f"Patients are those of the NIH images ({path.name}): known of {known} of {len(ids)} films."
    )
