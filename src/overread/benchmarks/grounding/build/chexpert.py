"""CheXpert v1.0, full or small, from its official csv files (GROUNDING 1.1, 2.6).

The patient is in the path only; the columns stand in another order than MIMIC's. CheXpert Plus
is in `chexpert_plus.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.files.tables import (
    Table,
    ages,
    codes,
    distinct,
    filled,
    labels,
    matching,
    read_table,
)
from overread.benchmarks.grounding.build.films import LABELS
from overread.benchmarks.grounding.build.films_read import (
    FilmsRead,
    Missing,
    film_frame,
    with_images,
)
from overread.case import BadInput

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "COLUMNS",
    "LATERAL",
    "PLACE",
    "SEXES",
    "films",
    "place_of",
    "split_by_patient",
    "view_of",
]

COLUMNS: Final = {label: label.replace("_", " ").title() for label in LABELS}
SEXES: Final = {"Male": "M", "Female": "F", "Unknown": None}
# What a film is, in its path: the split, the patient, the study and the view.
PLACE: Final = r"(train|valid|test)/(patient\d+)/(study\d+)/(view\d+_(?:frontal|lateral))"
LATERAL: Final = "LATERAL"
_SIDES: Final = {"Frontal": "Frontal", "Lateral": "Lateral"}
_VIEWS: Final = {"AP": "AP", "PA": "PA", "LL": "LL", "RL": "RL"}


def films(
    csv_files: Sequence[Path], root: Path | None = None, missing: Missing = "refuse"
) -> FilmsRead:
    """Every film of these files (train.csv, valid.csv, test.csv), one after the other.

    `image_path` is the file's own `Path`, so the images' root is the folder that holds
    `CheXpert-v1.0` or `CheXpert-v1.0-small`; with `root` the images are looked for there.

    A label 1.0, 0.0, -1.0 or empty is 1, 0, 2 or 3. The authors' list has no 3 (GROUNDING 1.1); an
    empty cell cannot have been an absent finding there, for their set has only 30 films without
    `pleural_other` (2.6), which hardly any report denies and most leave unmentioned. So 3 is kept,
    and the rule that draws absent findings from 0 alone gives what they had.

    `dicom_id` is the stem of the file's name, as in the authors' manifest, and so not unique here.
    """
    import polars as pl

    if not csv_files:
        raise BadInput("CheXpert: no csv file was given. Give train.csv, valid.csv or both.")
    tables = [_table(Path(path)) for path in csv_files]
    frame = pl.concat([_films(table) for table in tables])
    twice = frame["image_path"].is_duplicated()
    if twice.any():
        name = frame["image_path"].filter(twice)[0]
        raise BadInput(f"{name} stands in two of the csv files. Give each file once.")
    read = FilmsRead(
        name="chexpert",
        policy="credentialed",
        films=frame,
        provenance=[
            f"CheXpert v1.0: {', '.join(table.label for table in tables)}. Labels of train are the "
            "labeler's, mined from reports; those of valid and test are radiologists'."
        ],
    )
    return read if root is None else with_images(read, root, missing)


def place_of(table: Table, column: str) -> pl.DataFrame:
    """What the paths of a column say: `split`, `patient`, `study` and `view`."""
    import polars as pl

    need = "a path ends in train/patient00001/study1/view1_frontal.jpg"
    filled(table, column)
    matching(table, column, rf"(?:[^/]+/)*{PLACE}\.(?:jpg|png)", need)
    parts = ("split", "patient", "study", "view")
    return table.frame.select(
        *(pl.col(column).str.extract(PLACE, n).alias(name) for n, name in enumerate(parts, 1))
    )


def view_of(sides: pl.Series, projections: pl.Series) -> pl.Series:
    """LATERAL, or a frontal's AP/PA, where empty AP (GROUNDING 1.2)."""
    import polars as pl

    columns = pl.DataFrame({"side": sides, "projection": projections})
    frontal = pl.col("projection").fill_null("AP")
    chosen = pl.when(pl.col("side") == "Frontal").then(frontal).otherwise(pl.lit(LATERAL))
    return columns.select(view=chosen)["view"]


def _table(path: Path) -> Table:
    table = read_table(path, ("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *COLUMNS.values()))
    filled(table, "Frontal/Lateral")
    distinct(table, "Path")
    return table


def _films(table: Table) -> pl.DataFrame:
    import polars as pl

    place = place_of(table, "Path")
    sides = codes(table, "Frontal/Lateral", _SIDES, "it is Frontal or Lateral", pl.String)
    known = codes(table, "AP/PA", _VIEWS, "it is AP, PA, LL, RL or empty", pl.String)
    years = ages(table, "Age")
    return film_frame(
        {
            "image_path": table.frame["Path"],
            "dicom_id": place["view"],
            "subject_id": place["patient"],
            "study_id": place["patient"] + "/" + place["study"],
            "view": view_of(sides, known),
            "gender": codes(table, "Sex", SEXES, "it is Male, Female or Unknown", pl.String),
            "split": place["split"],
            # An age of 0 is one that is missing: CheXpert has adults only.
            "age": years.set(years == 0, None),
            **labels(table, COLUMNS).to_dict(),
        }
    )


# ---------------------------------------------------------------- a test split where there is none


def split_by_patient(read: FilmsRead, share: float = 0.2, seed: int = 42) -> FilmsRead:
    """Put `share` of the patients, rounded, into the split `test` with all their films.

    The authors used a split of their own, 20 % test, which is unpublished [D31]; this is another
    one of that size. Which patients depends on their ids and the seed alone, not on the order or
    the number of files.
    """
    import polars as pl

    if not 0 < share < 1:
        raise BadInput(
            f"the share of patients in the test split is {share}; it is above 0, below 1."
        )
    if (read.films["split"] == "test").any():
        raise BadInput(f"{read.name} has a test split already. Leave out its file, or draw none.")
    patients = read.films["subject_id"].drop_nulls().unique().to_list()
    drawn = sorted(patients, key=lambda patient: _lot(seed, patient))[
        : round(share * len(patients))
    ]
    split = pl.when(pl.col("subject_id").is_in(drawn)).then(pl.lit("test")).otherwise("split")
    line = (
        f"The test split is drawn by patient: {len(drawn)} of {len(patients)} patients, seed "
        f"{seed}. The authors' own 20 % split is unpublished [D31]."
    )
    return msgspec.structs.replace(
        read,
        films=read.films.with_columns(split=split),
        provenance=[*read.provenance, line],
    )


def _lot(seed: int, patient: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}|{patient}".encode()).digest(), patient
