"""NIH ChestX-ray14: `Data_Entry_2017_v2020.csv` (or the first release) and `BBox_List_2017.csv`.

Labels are text-mined. Two headers hold a comma within brackets and so make two columns each; the
list of boxes has one header for four columns and calls Infiltration Infiltrate.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from overread.benchmarks.files.tables import (
    FETCH,
    Table,
    ages,
    codes,
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
    box_schema,
)
from overread.benchmarks.grounding.build.films_read import (
    FilmsRead,
    Missing,
    film_frame,
    leave_out,
    refuse_missing,
)
from overread.benchmarks.grounding.prompts import NORMAL
from overread.case import BadInput
from overread.files import read_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FINDING_OF", "films_and_boxes"]

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
_NONE: Final = "No Finding"
_SIDE: Final = 1024.0
# Ages beyond it are slips of the first release (a few stand there as 411).
_OLDEST: Final = 120
_SEX_COLUMNS: Final = ("Patient Gender", "Patient Sex")
_ENTRY: Final = ("Image Index", "Finding Labels", "Follow-up #", "Patient ID", "Patient Age")
_BOX: Final = ("Bbox [x", "y", "w", "h]")


def films_and_boxes(
    root: Path, missing: Missing = "refuse", images: Path | None = None
) -> FilmsRead:
    """Every film of NIH ChestX-ray14 and its boxes, in pixels of the 1024 x 1024 PNG.

    A finding listed is 1. With "No Finding" every finding NIH looks for is 0; else a finding not
    listed is 3, for the text miner lists what it found and does not deny the rest. Findings NIH has
    no word for are null. Images are sought in `images/` and `images_*/images/` of `images`, by
    default `root`; where no such folder is, they are taken to be in `images/` and nothing is
    checked.
    """
    import polars as pl

    table = read_table(
        find_table(root, "Data_Entry_2017*.csv"), (*_ENTRY, "View Position"), _SEX_COLUMNS
    )
    filled(table, "Image Index", "Finding Labels", "Patient ID")
    distinct(table, "Image Index")
    matching(table, "Image Index", r"\d{8}_\d{3}\.png", "a name is like 00000001_000.png")
    patient = _patients(table)
    years = ages(table, "Patient Age")
    values, unmapped = _labels(table)
    place = images or root
    found = _places(place)
    paths = [found.get(name, f"images/{name}") for name in table.frame["Image Index"]]
    frame = film_frame(
        {
            "image_path": pl.Series(paths, dtype=pl.String),
            "dicom_id": table.frame["Image Index"].str.slice(0, 12),
            "subject_id": patient,
            "study_id": patient + "_" + table.frame["Follow-up #"].fill_null("0"),
            "view": table.frame["View Position"].str.to_uppercase(),
            "gender": _sexes(table),
            "split": _splits(root, table.frame["Image Index"]),
            "age": years.set(years > _OLDEST, None),
            **values,
        }
    )
    boxes_table = _box_table(root)
    boxes, exclusions = _boxes(boxes_table, frame)
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


def _patients(table: Table) -> pl.Series:
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


def _sexes(table: Table) -> pl.Series:
    import polars as pl

    column = next((name for name in _SEX_COLUMNS if name in table.frame.columns), None)
    if column is None:
        raise BadInput(f"{table.path} has no column {' or '.join(_SEX_COLUMNS)}. {FETCH}.")
    return codes(table, column, {"M": "M", "F": "F"}, "it is M or F", pl.String)


def _labels(table: Table) -> tuple[dict[str, pl.Series], list[tuple[str, int]]]:
    """A column per finding, and how often each finding is listed that has no name of ours."""
    import polars as pl

    words = table.frame["Finding Labels"].str.split("|")
    known = [*FINDING_OF, *_UNMAPPED, _NONE]
    odd = ~words.list.eval(pl.element().str.strip_chars().is_in(known)).list.all()
    refuse_first(table, odd, "Finding Labels", f"the findings are {', '.join(known)}")
    normal = words.list.contains(_NONE)
    both = normal & (words.list.len() > 1)
    refuse_first(table, both, "Finding Labels", f"{_NONE} stands alone")
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


def _places(root: Path) -> dict[str, str]:
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


def _splits(root: Path, names: pl.Series) -> pl.Series:
    """train or test by the official lists, if they are there."""
    import polars as pl

    split: dict[str, str] = {}
    for file, word in (("train_val_list.txt", "train"), ("test_list.txt", "test")):
        if (root / file).is_file():
            split |= dict.fromkeys(read_text(root / file).split(), word)
    return names.replace_strict(split or {"": ""}, default=None, return_dtype=pl.String)


# ---------------------------------------------------------------- boxes


def _box_table(root: Path) -> Table:
    """`Image Index,Finding Label,Bbox [x,y,w,h],,,`: the rows have six values, or nine cells."""
    return read_table(
        find_table(root, "BBox_List_2017.csv"), ("Image Index", "Finding Label", *_BOX)
    )


def _boxes(table: Table, films: pl.DataFrame) -> tuple[pl.DataFrame, list[Exclusion]]:
    import polars as pl

    filled(table, *table.frame.columns)
    findings = codes(
        table, "Finding Label", FINDING_OF, f"it is one of {', '.join(FINDING_OF)}", pl.String
    )
    columns = {
        side: numbers(table, column, "it is a number of pixels of 1024", least=0)
        for side, column in zip("xywh", _BOX, strict=True)
    }
    for side, column, along in (("w", _BOX[2], "x"), ("h", _BOX[3], "y")):
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
