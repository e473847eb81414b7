"""NIH ChestX-ray14 and the RSNA 2018 pneumonia challenge, whose films are taken from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from overread.benchmarks.files import tables
from overread.benchmarks.files.tables import Table, refuse_first
from overread.benchmarks.grounding.build import films
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.prompts import NORMAL
from overread.case import BadInput
from overread.files import read_bytes, read_text, whole
from overread.imaging import dicom_facts

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
_ENTRIES: Final = films.Sheet(
    file="Data_Entry_2017*.csv",
    columns={
        "Image Index": films.Column(
            "a name is like 00000001_000.png", pattern=r"\d{8}_\d{3}\.png", filled=True
        ),
        "Finding Labels": films.KEY,
        "Follow-up #": films.TEXT,
        "Patient ID": films.Column("it is a number", pattern=r"\d+", filled=True),
        "Patient Age": films.AGE,
        "View Position": films.VIEW,
    },
    optional=_SEX_COLUMNS,
    once=("Image Index",),
)
_NIH_BOX: Final = ("Bbox [x", "y", "w", "h]")
# `Image Index,Finding Label,Bbox [x,y,w,h],,,`: the rows have six values, or nine cells.
_BOXES: Final = films.Sheet(
    file="BBox_List_2017.csv",
    columns={
        "Image Index": films.KEY,
        "Finding Label": films.KEY,
        **dict.fromkeys(
            _NIH_BOX,
            films.Column("it is a number of pixels of 1024", kind="number", least=0, filled=True),
        ),
    },
)


def nih_films(
    root: Path, missing: films.Missing = "refuse", images: Path | None = None
) -> films.FilmsRead:
    """Every film of NIH ChestX-ray14 and its boxes, in pixels of the 1024 x 1024 PNG.

    A finding listed is 1. With "No Finding" every finding NIH looks for is 0; else a finding not
    listed is 3, for the text miner lists what it found and does not deny the rest. Findings NIH has
    no word for are null. Images are sought in `images/` and `images_*/images/` of `images`, by
    default `root`; where no such folder is, they are taken to be in `images/` and nothing is
    checked.
    """
    table, values = _ENTRIES.read(root)
    name, patient, age = pl.col("Image Index"), pl.col("Patient ID"), pl.col("Patient Age")
    number = patient.cast(pl.Int64, strict=False)
    named = name.str.slice(0, 8).cast(pl.Int64)
    other = values.select((number != named).fill_null(value=True)).to_series()
    refuse_first(table, other, "Patient ID", "Image Index begins with another")
    labelled, unmapped = _nih_labels(table)
    sex = next((column for column in _SEX_COLUMNS if column in values.columns), None)
    if sex is None:
        raise BadInput(f"{table.path} has no column {' or '.join(_SEX_COLUMNS)}. {tables.FETCH}.")
    place = images or root
    found = _nih_places(place)
    patient = named.cast(pl.String)
    listed = values.select(
        image_path=name.replace_strict(found or {"": ""}, default="images/" + name),
        dicom_id=name.str.slice(0, 12),
        subject_id=patient,
        study_id=patient + "_" + pl.col("Follow-up #").fill_null("0"),
        view="View Position",
        gender=tables.codes(table, sex, films.SEX, "it is M or F", pl.String),
        split=_nih_splits(root, values["Image Index"]),
        age=pl.when(age <= _OLDEST).then(age),
        **labelled,
    )
    boxes_table, boxes = _BOXES.read(root)
    need = f"it is one of {', '.join(FINDING_OF)}"
    findings = tables.codes(boxes_table, "Finding Label", FINDING_OF, need, pl.String)
    own = {name: pl.col("Finding Label") for name in ("category", "label_text")}
    boxes = _square_boxes(boxes_table, boxes, _NIH_BOX, **own).with_columns(
        findings.alias("finding"), dicom_id=boxes["Image Index"].str.slice(0, 12)
    )
    of_films = listed.select("dicom_id", "image_path")
    kept = boxes.join(of_films, on="dicom_id", how="inner", maintain_order="left")
    read = films.FilmsRead(
        name="nih",
        policy="open",
        films=films.film_frame(listed),
        boxes=kept.select(*films.BOX_SCHEMA, "finding"),
        provenance=[
            f"NIH ChestX-ray14: {table.label}, {boxes_table.label}. Labels are mined from reports, "
            "boxes are a radiologist's.",
            "A finding is absent only on films with no finding at all: text mining denies nothing.",
            *(f"{count} films list {name}, which has no name here." for name, count in unmapped),
        ],
        files=[table.path, boxes_table.path],
    )
    if unlisted := boxes.height - kept.height:
        read.exclusions.append(Exclusion("nih", "a box on a film not listed", unlisted))
    if old := int((values["Patient Age"] > _OLDEST).sum()):
        read.provenance.append(f"{old} ages above {_OLDEST} are taken as missing.")
    return films.with_images(read, place, missing) if found and missing != "ignore" else read


def _nih_labels(table: Table) -> tuple[dict[str, pl.Expr], list[tuple[str, int]]]:
    """A column per finding, and how often each finding is listed that has no name of ours."""
    words = table.frame["Finding Labels"].str.split("|")
    known = [*FINDING_OF, *_UNMAPPED, _NO_FINDING]
    odd = ~words.list.eval(pl.element().str.strip_chars().is_in(known)).list.all()
    refuse_first(table, odd, "Finding Labels", f"the findings are {', '.join(known)}")
    both = words.list.contains(_NO_FINDING) & (words.list.len() > 1)
    refuse_first(table, both, "Finding Labels", f"{_NO_FINDING} stands alone")
    listed = pl.lit(words).list
    normal = listed.contains(_NO_FINDING)
    values = {NORMAL: normal.cast(pl.Int8)}
    for ours in dict.fromkeys(FINDING_OF.values()):
        theirs = (listed.contains(name) for name, finding in FINDING_OF.items() if finding == ours)
        absent = pl.when(normal).then(films.ABSENT).otherwise(films.NOT_MENTIONED)
        values[ours] = pl.when(pl.any_horizontal(*theirs)).then(films.PRESENT).otherwise(absent)
    counts = ((name, int(words.list.contains(name).sum())) for name in _UNMAPPED)
    return values, [(name, count) for name, count in counts if count]


def _nih_places(root: Path) -> dict[str, str]:
    """Where each image lies below the root."""
    below = (*sorted(root.glob("images_*/images")), *sorted(root.glob("images_*")))
    found: dict[str, str] = {}
    for folder in (root / "images", *below):
        for entry in os.scandir(folder) if folder.is_dir() else ():
            if entry.name.endswith(".png"):
                place = f"{folder.relative_to(root).as_posix()}/{entry.name}"
                found.setdefault(entry.name, place)
    return found


def _nih_splits(root: Path, names: pl.Series) -> pl.Series:
    """train or test by the official lists, if they are there."""
    split: dict[str, str] = {}
    for file, word in (("train_val_list.txt", "train"), ("test_list.txt", "test")):
        if (root / file).is_file():
            split |= dict.fromkeys(read_text(root / file).split(), word)
    return names.replace_strict(split or {"": ""}, default=None, return_dtype=pl.String)


def _square_boxes(
    table: Table, values: pl.DataFrame, names: Sequence[str], **own: pl.Expr
) -> pl.DataFrame:
    """Boxes with our names; one without a width or height, or that leaves its image, is refused."""
    x, y, w, h = names
    for along, length in ((x, w), (y, h)):
        refuse_first(table, values[length] <= 0, length, "a side is above 0")
        over = values[along] + values[length] > _SIDE * 1.02  # by a hair, some do
        need = f"the box leaves the image of {_SIDE:g} x {_SIDE:g} pixels"
        refuse_first(table, over, length, need)
    sides = (pl.col(theirs).alias(ours) for ours, theirs in zip(films.SIDES, names, strict=True))
    return values.select(*sides, **dict.fromkeys(films.SIZES, pl.lit(_SIDE)), **own)


# ---------------------------------------------------------------- RSNA 2018
# The RSNA 2018 pneumonia challenge: boxes by radiologists on DICOM films taken from NIH.
#
# `stage_2_train_labels.csv`, `stage_2_detailed_class_info.csv` and `stage_2_train_images/<id>.dcm`.
# A "patientId" is one image. The patient is known through the mapping to NIH's images alone: the
# number before the `_` of the NIH name.


# The challenge says pneumonia, its readers marked "lung opacity": opacity suspicious for pneumonia,
# read without the clinic. So opacity is what a film can be asked for, and what "Normal" and "No
# Lung Opacity / Not Normal" deny alike.
_RSNA_FINDING: Final = "lung_opacity"
_RSNA_IMAGES: Final = "stage_2_train_images"
_OPACITY: Final = "Lung Opacity"
_RSNA_CLASSES: Final = {"Normal": 0, "No Lung Opacity / Not Normal": 1, _OPACITY: 2}
_RSNA_SIDES: Final = ("x", "y", "width", "height")
# Names of the two columns of a mapping: RSNA's own file, and tables people make of it.
_RSNA_NAMES: Final = ("subset_img_id", "patientId", "rsna_id")
_NIH_NAMES: Final = ("img_id", "Image Index", "nih_image")
_TARGETS: Final = films.Sheet(
    file="stage_2_train_labels.csv",
    columns={
        "patientId": films.Column(
            "an id is of letters, digits and -", pattern=r"[0-9A-Za-z-]+", filled=True
        ),
        "Target": films.one_of({"0": films.ABSENT, "1": films.PRESENT}, filled=True),
        **dict.fromkeys(_RSNA_SIDES, films.Column(films.PIXELS, kind="number", least=0)),
    },
)
_CLASSES: Final = films.Sheet(
    file="stage_2_detailed_class_info.csv",
    columns={
        "patientId": films.KEY,
        "class": films.Column(f"it is {', '.join(_RSNA_CLASSES)}", _RSNA_CLASSES, filled=True),
    },
)


def rsna_films(
    root: Path,
    nih_mapping: Path | None = None,
    missing: films.Missing = "refuse",
    images: Path | None = None,
) -> films.FilmsRead:
    """Every film of the challenge's training set and its boxes, in pixels of 1024 x 1024.

    Target 1 is `lung_opacity` present, 0 absent; "Normal" films are also `no_finding`. View, sex
    and age are read from the DICOM headers where `stage_2_train_images` is there, below `images`
    or else `root`; they are null where it is not.
    `nih_mapping` is RSNA's `pneumonia-challenge-dataset-mappings_2018.json`, or a csv with
    columns such as `patientId,nih_image`.
    """
    table, values = _TARGETS.read(root)
    classes_table, classes = _rsna_classes(root, table, values["Target"])
    image = _RSNA_IMAGES + "/" + pl.col("patientId") + ".dcm"
    boxes = _rsna_boxes(table, values, image)
    kind = pl.col("class")
    listed = values.unique("patientId", keep="first", maintain_order=True).join(
        classes, on="patientId", how="left", maintain_order="left"
    )
    ids = listed["patientId"]
    patients = {} if nih_mapping is None else _mapped_patients(nih_mapping)
    frame = listed.select(
        image_path=image,
        dicom_id="patientId",
        subject_id=pl.Series([patients.get(one) for one in ids], dtype=pl.String),
        study_id="patientId",
        **{_RSNA_FINDING: kind == 2, NORMAL: kind == 0},
    )
    read = films.FilmsRead(
        name="rsna",
        # The challenge asks for attribution and leaves the rest of its terms to be weighed.
        policy="research",
        films=films.film_frame(frame),
        boxes=boxes,
        provenance=[
            f"RSNA 2018: {table.label}, {classes_table.label}. Labels and boxes are radiologists'; "
            "they mark opacity suspicious for pneumonia.",
            _patients_note(ids, patients, nih_mapping),
        ],
        files=[table.path, classes_table.path, *([nih_mapping] if nih_mapping else [])],
    )
    place = images or root
    if missing == "ignore" or not (place / _RSNA_IMAGES).is_dir():
        why = "looked at" if missing == "ignore" else "there"
        read.provenance.append(f"View, sex and age are unknown: the DICOM images were not {why}.")
        return read
    read = films.with_images(read, place, missing)
    facts = [dicom_facts(place / path, path) for path in read.films["image_path"]]
    schema = {"view": pl.String, "gender": pl.String, "age": pl.Float64}
    found = pl.DataFrame(
        [(fact.view, fact.sex, fact.age) for fact in facts], schema=schema, orient="row"
    )
    return msgspec.structs.replace(read, films=read.films.with_columns(found))


def _rsna_classes(root: Path, targets: Table, target: pl.Series) -> tuple[Table, pl.DataFrame]:
    """The class of each image, which every row of the labels must agree with."""
    table, values = _CLASSES.read(root)
    # One row per box here too.
    own = values.with_columns(first=pl.col("class").first().over("patientId"))
    need = "another row of this image has another one"
    refuse_first(table, own["class"] != own["first"], "class", need)
    once = values.unique("patientId", keep="first", maintain_order=True)
    there = targets.frame.select("patientId").join(
        once, on="patientId", how="left", maintain_order="left"
    )["class"]
    need = f"{table.path.name} has no class for it"
    refuse_first(targets, there.is_null(), "patientId", need)
    odd = (target == films.PRESENT) != (there == 2)
    refuse_first(targets, odd, "Target", f"{table.path.name} gives this image another class")
    return table, once


def _rsna_boxes(table: Table, values: pl.DataFrame, image: pl.Expr) -> pl.DataFrame:
    present = values["Target"] == films.PRESENT
    for side in _RSNA_SIDES:
        need = "a row with Target 1 has a box, and no other"
        refuse_first(table, present != values[side].is_not_null(), side, need)
    named = {"category": _OPACITY, "label_text": _OPACITY, "finding": _RSNA_FINDING}
    own = {name: pl.lit(text) for name, text in named.items()}
    own |= {"dicom_id": pl.col("patientId"), "image_path": image}
    boxes = _square_boxes(table, values, _RSNA_SIDES, **own)
    tables.distinct(table, "patientId", *_RSNA_SIDES)
    return boxes.filter(present).select(*films.BOX_SCHEMA, "finding")


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
    has = tables.columns_of(path)
    columns = []
    for names in (_RSNA_NAMES, _NIH_NAMES):
        here = [name for name in names if name in has]
        if not here:
            raise BadInput(f"{path} has no column {' or '.join(names)}. Name the columns so.")
        columns.append(here[0])
    table = tables.read_table(path, columns)
    tables.filled(table, *columns)
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
