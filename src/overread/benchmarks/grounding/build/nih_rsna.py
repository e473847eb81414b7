"""NIH ChestX-ray14 and the RSNA 2018 pneumonia challenge, whose films are taken from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.files.tables import (
    FETCH,
    Table,
    ages,
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
from overread.benchmarks.grounding.build.films import (
    ABSENT,
    NOT_MENTIONED,
    PRESENT,
    Exclusion,
    FilmsRead,
    Missing,
    box_schema,
    film_frame,
    leave_out,
    refuse_missing,
    with_images,
)
from overread.benchmarks.grounding.prompts import NORMAL
from overread.case import BadInput
from overread.files import read_bytes, read_text, whole
from overread.imaging import DicomFacts, dicom_facts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FINDING_OF", "RSNA_FINDING", "nih_films", "rsna_films"]

# ---------------------------------------------------------------- NIH ChestX-ray14
# NIH ChestX-ray14: `Data_Entry_2017_v2020.csv` (or the first release) and `BBox_List_2017.csv`.
#
# Labels are text-mined. Two headers hold a comma within brackets and so make two columns each; the
# list of boxes has one header for four columns and calls Infiltration Infiltrate.


# NIH's word for a finding and ours, where they mean the same.
FINDING_OF: Final = {
    "Atelectasis": "atelectasis",
    "Cardiomegaly": "cardiomegaly",
    "Consolidation": "consolidation",
    "Edema": "edema",
    "Effusion": "pleural_effusion",
    # "Infiltrate" names whatever makes the lung denser and says nothing of its cause; glossaries
    # of chest imaging advise against the word and for "opacity", which is also CheXpert's.
    "Infiltrate": "lung_opacity",
    "Infiltration": "lung_opacity",
    "Mass": "lung_lesion",
    "Nodule": "lung_lesion",
    "Pleural_Thickening": "pleural_other",
    "Pneumonia": "pneumonia",
    "Pneumothorax": "pneumothorax",
}
_UNMAPPED: Final = ("Emphysema", "Fibrosis", "Hernia")
_NO_FINDING: Final = "No Finding"
_SIDE: Final = 1024.0
# Ages beyond it are slips of the first release (a few stand there as 411).
_OLDEST: Final = 120
_SEX_COLUMNS: Final = ("Patient Gender", "Patient Sex")
_NIH_COLUMNS: Final = ("Image Index", "Finding Labels", "Follow-up #", "Patient ID", "Patient Age")
_NIH_BOX: Final = ("Bbox [x", "y", "w", "h]")


def nih_films(root: Path, missing: Missing = "refuse", images: Path | None = None) -> FilmsRead:
    """Every film of NIH ChestX-ray14 and its boxes, in pixels of the 1024 x 1024 PNG.

    A finding listed is 1. With "No Finding" every finding NIH looks for is 0; else a finding not
    listed is 3, for the text miner lists what it found and does not deny the rest. Findings NIH has
    no word for are null. Images are sought in `images/` and `images_*/images/` of `images`, by
    default `root`; where no such folder is, they are taken to be in `images/` and nothing is
    checked.
    """
    import polars as pl

    table = read_table(
        find_table(root, "Data_Entry_2017*.csv"), (*_NIH_COLUMNS, "View Position"), _SEX_COLUMNS
    )
    filled(table, "Image Index", "Finding Labels", "Patient ID")
    distinct(table, "Image Index")
    matching(table, "Image Index", r"\d{8}_\d{3}\.png", "a name is like 00000001_000.png")
    patient = _nih_patients(table)
    years = ages(table, "Patient Age")
    values, unmapped = _nih_labels(table)
    place = images or root
    found = _nih_places(place)
    paths = [found.get(name, f"images/{name}") for name in table.frame["Image Index"]]
    frame = film_frame(
        {
            "image_path": pl.Series(paths, dtype=pl.String),
            "dicom_id": table.frame["Image Index"].str.slice(0, 12),
            "subject_id": patient,
            "study_id": patient + "_" + table.frame["Follow-up #"].fill_null("0"),
            "view": table.frame["View Position"].str.to_uppercase(),
            "gender": _nih_sexes(table),
            "split": _nih_splits(root, table.frame["Image Index"]),
            "age": years.set(years > _OLDEST, None),
            **values,
        }
    )
    boxes_table = _nih_box_table(root)
    boxes, exclusions = _nih_boxes(boxes_table, frame)
    read = FilmsRead(
        name="nih",
        policy="open",
        films=frame,
        boxes=boxes,
        exclusions=exclusions,
        provenance=[
            f"NIH ChestX-ray14: {table.label}, {boxes_table.label}. Labels are mined from reports, "
            "boxes are a radiologist's.",
            "A finding is absent only on films with no finding at all: text mining denies nothing.",
            *(f"{count} films list {name}, which has no name here." for name, count in unmapped),
        ],
    )
    old = int((years > _OLDEST).sum())
    if old:
        read.provenance.append(f"{old} ages above {_OLDEST} are taken as missing.")
    if not found or missing == "ignore":
        return read
    gone = pl.Series([name not in found for name in table.frame["Image Index"]], dtype=pl.Boolean)
    if missing == "refuse" and gone.any():
        refuse_missing(read.name, place, frame["image_path"].filter(gone).to_list(), len(gone))
    return leave_out(read, gone, "the image is not there")


def _nih_patients(table: Table) -> pl.Series:
    """The patient's number, which also begins the name of the image."""
    import polars as pl

    matching(table, "Patient ID", r"\d+", "it is a number")
    number = table.frame["Patient ID"].cast(pl.Int64, strict=False)
    named = table.frame["Image Index"].str.slice(0, 8).cast(pl.Int64)
    refuse_first(
        table,
        (number != named).fill_null(value=True),
        "Patient ID",
        "Image Index begins with another",
    )
    return named.cast(pl.String)


def _nih_sexes(table: Table) -> pl.Series:
    import polars as pl

    column = next((name for name in _SEX_COLUMNS if name in table.frame.columns), None)
    if column is None:
        raise BadInput(f"{table.path} has no column {' or '.join(_SEX_COLUMNS)}. {FETCH}.")
    return codes(table, column, {"M": "M", "F": "F"}, "it is M or F", pl.String)


def _nih_labels(table: Table) -> tuple[dict[str, pl.Series], list[tuple[str, int]]]:
    """A column per finding, and how often each finding is listed that has no name of ours."""
    import polars as pl

    words = table.frame["Finding Labels"].str.split("|")
    known = [*FINDING_OF, *_UNMAPPED, _NO_FINDING]
    odd = ~words.list.eval(pl.element().str.strip_chars().is_in(known)).list.all()
    refuse_first(table, odd, "Finding Labels", f"the findings are {', '.join(known)}")
    normal = words.list.contains(_NO_FINDING)
    both = normal & (words.list.len() > 1)
    refuse_first(table, both, "Finding Labels", f"{_NO_FINDING} stands alone")
    frame = pl.DataFrame({"words": words, "normal": normal})
    mapped: dict[str, list[str]] = {}
    for theirs, ours in FINDING_OF.items():
        mapped.setdefault(ours, []).append(theirs)
    listed = pl.col("words").list
    values = {
        ours: frame.select(
            pl.when(pl.any_horizontal(*(listed.contains(name) for name in theirs)))
            .then(PRESENT)
            .when("normal")
            .then(ABSENT)
            .otherwise(NOT_MENTIONED)
            .cast(pl.Int8)
            .alias(ours)
        )[ours]
        for ours, theirs in mapped.items()
    }
    values[NORMAL] = normal.cast(pl.Int8)
    counts = ((name, int(words.list.contains(name).sum())) for name in _UNMAPPED)
    return values, [(name, count) for name, count in counts if count]


def _nih_places(root: Path) -> dict[str, str]:
    """Where each image lies below the root."""
    folders = [
        root / "images",
        *sorted(root.glob("images_*/images")),
        *sorted(root.glob("images_*")),
    ]
    found: dict[str, str] = {}
    for folder in folders:
        if folder.is_dir():
            for entry in os.scandir(folder):
                if entry.name.endswith(".png"):
                    found.setdefault(
                        entry.name, f"{folder.relative_to(root).as_posix()}/{entry.name}"
                    )
    return found


def _nih_splits(root: Path, names: pl.Series) -> pl.Series:
    """train or test by the official lists, if they are there."""
    import polars as pl

    split: dict[str, str] = {}
    for file, word in (("train_val_list.txt", "train"), ("test_list.txt", "test")):
        if (root / file).is_file():
            split |= dict.fromkeys(read_text(root / file).split(), word)
    return names.replace_strict(split or {"": ""}, default=None, return_dtype=pl.String)


# ---------------------------------------------------------------- boxes


def _nih_box_table(root: Path) -> Table:
    """`Image Index,Finding Label,Bbox [x,y,w,h],,,`: the rows have six values, or nine cells."""
    return read_table(
        find_table(root, "BBox_List_2017.csv"), ("Image Index", "Finding Label", *_NIH_BOX)
    )


def _nih_boxes(table: Table, films: pl.DataFrame) -> tuple[pl.DataFrame, list[Exclusion]]:
    import polars as pl

    filled(table, *table.frame.columns)
    findings = codes(
        table, "Finding Label", FINDING_OF, f"it is one of {', '.join(FINDING_OF)}", pl.String
    )
    columns = {
        side: numbers(table, column, "it is a number of pixels of 1024", least=0)
        for side, column in zip("xywh", _NIH_BOX, strict=True)
    }
    for side, column, along in (("w", _NIH_BOX[2], "x"), ("h", _NIH_BOX[3], "y")):
        refuse_first(table, columns[side] <= 0, column, "a side is above 0")
        over = columns[along] + columns[side] > _SIDE * 1.02  # by a hair, some do
        refuse_first(table, over, column, "the box leaves the image of 1024 x 1024 pixels")
    frame = pl.DataFrame(
        {
            "dicom_id": table.frame["Image Index"].str.slice(0, 12),
            "category": table.frame["Finding Label"],
            "label_text": table.frame["Finding Label"],
            **columns,
            "image_width": pl.repeat(_SIDE, table.frame.height, eager=True),
            "image_height": pl.repeat(_SIDE, table.frame.height, eager=True),
            "finding": findings,
        }
    )
    own = films.select("dicom_id", "image_path")
    joined = frame.join(own, on="dicom_id", how="left", maintain_order="left")
    unlisted = joined["image_path"].is_null()
    exclusions = []
    if unlisted.any():
        exclusions.append(Exclusion("nih", "a box on a film not listed", int(unlisted.sum())))
    kept = joined.filter(~unlisted)
    return kept.select(*box_schema(), "finding"), exclusions


# ---------------------------------------------------------------- RSNA 2018
# The RSNA 2018 pneumonia challenge: boxes by radiologists on DICOM films taken from NIH.
#
# `stage_2_train_labels.csv`, `stage_2_detailed_class_info.csv` and `stage_2_train_images/<id>.dcm`.
# A "patientId" is one image. The patient is known through the mapping to NIH's images alone: the
# number before the `_` of the NIH name.


# The challenge says pneumonia, its readers marked "lung opacity": opacity suspicious for pneumonia,
# read without the clinic. So opacity is what a film can be asked for, and what "Normal" and "No
# Lung Opacity / Not Normal" deny alike.
RSNA_FINDING: Final = "lung_opacity"
RSNA_IMAGES: Final = "stage_2_train_images"
_OPACITY: Final = "Lung Opacity"
_RSNA_CLASSES: Final = {"Normal": 0, "No Lung Opacity / Not Normal": 1, _OPACITY: 2}
_RSNA_SIDES: Final = ("x", "y", "width", "height")
# Names of the two columns of a mapping: RSNA's own file, and tables people make of it.
_RSNA_NAMES: Final = ("subset_img_id", "patientId", "rsna_id")
_NIH_NAMES: Final = ("img_id", "Image Index", "nih_image")


def rsna_films(
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
        find_table(root, "stage_2_train_labels.csv"), ("patientId", *_RSNA_SIDES, "Target")
    )
    filled(table, "patientId", "Target")
    matching(table, "patientId", r"[0-9A-Za-z-]+", "an id is of letters, digits and -")
    target = codes(table, "Target", {"0": ABSENT, "1": PRESENT}, "it is 0 or 1", pl.Int8)
    classes = _rsna_classes(root, table, target)
    boxes = _rsna_boxes(table, target)
    ids = table.frame["patientId"].unique(maintain_order=True)
    kind = ids.replace_strict(classes.of, return_dtype=pl.Int8)
    patients = {} if nih_mapping is None else _mapped_patients(nih_mapping)
    frame = film_frame(
        {
            "image_path": RSNA_IMAGES + "/" + ids + ".dcm",
            "dicom_id": ids,
            "subject_id": pl.Series([patients.get(one) for one in ids], dtype=pl.String),
            "study_id": ids,
            RSNA_FINDING: (kind == 2).cast(pl.Int8),
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
            _patients_note(ids, patients, nih_mapping),
        ],
    )
    place = images or root
    if missing == "ignore" or not (place / RSNA_IMAGES).is_dir():
        why = "looked at" if missing == "ignore" else "there"
        read.provenance.append(f"View, sex and age are unknown: the DICOM images were not {why}.")
        return read
    read = with_images(read, place, missing)
    facts = [dicom_facts(place / path, path) for path in read.films["image_path"]]
    return msgspec.structs.replace(read, films=_with_facts(read.films, facts))


class _Classes(NamedTuple):
    label: str
    of: dict[str, int]


def _rsna_classes(root: Path, labels: Table, target: pl.Series) -> _Classes:
    """The class of each image, which every row of the labels must agree with."""
    import polars as pl

    table = read_table(find_table(root, "stage_2_detailed_class_info.csv"), ("patientId", "class"))
    filled(table, "patientId", "class")
    kind = codes(table, "class", _RSNA_CLASSES, f"it is {', '.join(_RSNA_CLASSES)}", pl.Int8)
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


def _rsna_boxes(table: Table, target: pl.Series) -> pl.DataFrame:
    import polars as pl

    columns = {
        side: numbers(table, side, "it is a number of pixels", least=0) for side in _RSNA_SIDES
    }
    present = target == PRESENT
    for side, column in columns.items():
        need = "a row with Target 1 has a box, and no other"
        refuse_first(table, present != column.is_not_null(), side, need)
    for side, along in (("width", "x"), ("height", "y")):
        refuse_first(table, columns[side] <= 0, side, "a side is above 0")
        over = columns[along] + columns[side] > _SIDE * 1.02  # by a hair, some might
        refuse_first(table, over, side, "the box leaves the image of 1024 x 1024 pixels")
    distinct(table, "patientId", *_RSNA_SIDES)
    ids = table.frame["patientId"]
    height = table.frame.height
    frame = pl.DataFrame(
        {
            "dicom_id": ids,
            "category": pl.repeat(_OPACITY, height, eager=True),
            "label_text": pl.repeat(_OPACITY, height, eager=True),
            "image_path": RSNA_IMAGES + "/" + ids + ".dcm",
            "x": columns["x"],
            "y": columns["y"],
            "w": columns["width"],
            "h": columns["height"],
            "image_width": pl.repeat(_SIDE, height, eager=True),
            "image_height": pl.repeat(_SIDE, height, eager=True),
            "finding": pl.repeat(RSNA_FINDING, height, eager=True),
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


def _mapped_patients(path: Path) -> dict[str, str]:
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


def _patients_note(ids: pl.Series, patients: dict[str, str], path: Path | None) -> str:
    if path is None:
        return "Patients are unknown: no mapping to NIH was given, so one may occur several times."
    known = sum(one in patients for one in ids)
    if not known:
        raise BadInput(f"{path.name} maps none of these images. Give RSNA's own mapping.")
    return (
        f"Patients are those of the NIH images ({path.name}): known of {known} of {len(ids)} films."
    )
