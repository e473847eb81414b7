"""CheXpert v1.0, full or small, and CheXpert Plus, from their official files (GROUNDING 1.1, 2.6).

The patient is in the path only; the columns stand in another order than MIMIC's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.files.sheets import inflated
from overread.benchmarks.files.tables import (
    LABEL_CODES,
    LABEL_NEED,
    Table,
    ages,
    codes,
    distinct,
    filled,
    labels,
    matching,
    read_table,
)
from overread.benchmarks.grounding.build.films import (
    LABELS,
    FilmsRead,
    Missing,
    film_frame,
    with_images,
)
from overread.case import BadInput
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "COLUMNS",
    "LATERAL",
    "PLACE",
    "SEXES",
    "chexpert_films",
    "place_of",
    "plus_films",
    "split_by_patient",
    "view_of",
    "with_reports",
]

# ---------------------------------------------------------------- CheXpert v1.0
# CheXpert v1.0, full or small, from its official csv files (GROUNDING 1.1, 2.6).
#
# The patient is in the path only; the columns stand in another order than MIMIC's. CheXpert Plus is
# in `chexpert_plus.py`.


COLUMNS: Final = {label: label.replace("_", " ").title() for label in LABELS}
SEXES: Final = {"Male": "M", "Female": "F", "Unknown": None}
# What a film is, in its path: the split, the patient, the study and the view.
PLACE: Final = r"(train|valid|test)/(patient\d+)/(study\d+)/(view\d+_(?:frontal|lateral))"
LATERAL: Final = "LATERAL"
_SIDES: Final = {"Frontal": "Frontal", "Lateral": "Lateral"}
_VIEWS: Final = {"AP": "AP", "PA": "PA", "LL": "LL", "RL": "RL"}


def chexpert_films(
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
    tables = [_chexpert_table(Path(path)) for path in csv_files]
    frame = pl.concat([_film_rows(table) for table in tables])
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


def _chexpert_table(path: Path) -> Table:
    table = read_table(path, ("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *COLUMNS.values()))
    filled(table, "Frontal/Lateral")
    distinct(table, "Path")
    return table


def _film_rows(table: Table) -> pl.DataFrame:
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


# ---------------------------------------------------------------- CheXpert Plus
# CheXpert Plus: films and report texts of `df_chexpert_plus_240401.csv`, labels of CheXbert.
#
# Labels are JSON lines, `chexbert_labels/{findings,impression,report}_fixed.json`, keyed by
# `path_to_image`. The images are distributed as PNG although the paths say jpg.


_PLUS_KEY: Final = "path_to_image"
_PLUS_COLUMNS: Final = (
    _PLUS_KEY,
    "frontal_lateral",
    "ap_pa",
    "deid_patient_id",
    "age",
    "sex",
    "split",
)
_NOT_MENTIONED: Final = 3


def plus_films(
    csv_file: Path,
    labels_file: Path,
    root: Path | None = None,
    missing: Missing = "refuse",
    *,
    prefix: str = "",
    suffix: str = ".jpg",
) -> FilmsRead:
    """Every film of CheXpert Plus that has labels, with its report's text as `report_path`.

    `image_path` is `prefix` + `path_to_image`, ending in `suffix`: "PNG/" and ".png" for the
    images as distributed.
    """
    import polars as pl

    table = read_table(csv_file, _PLUS_COLUMNS, ("report",))
    filled(table, "frontal_lateral", "deid_patient_id")
    distinct(table, _PLUS_KEY)
    place = place_of(table, _PLUS_KEY)
    sides = codes(
        table,
        "frontal_lateral",
        {"Frontal": "Frontal", "Lateral": "Lateral"},
        "it is Frontal or Lateral",
        pl.String,
    )
    splits = {"train": "train", "valid": "valid", "test": "test"}
    years = ages(table, "age")
    key = _path_key(table.frame[_PLUS_KEY])
    digest, labelled = _chexbert_labels(labels_file)
    joined = pl.DataFrame({_PLUS_KEY: key}).join(
        labelled, on=_PLUS_KEY, how="left", maintain_order="left"
    )
    frame = film_frame(
        {
            "image_path": prefix + table.frame[_PLUS_KEY].str.replace(r"\.\w+$", suffix),
            "report_path": _report_texts(table),
            "dicom_id": place["view"],
            "subject_id": table.frame["deid_patient_id"],
            "study_id": place["patient"] + "/" + place["study"],
            "view": view_of(sides, table.frame["ap_pa"]),
            "gender": codes(table, "sex", SEXES, "it is Male, Female or Unknown", pl.String),
            "split": codes(table, "split", splits, "it is train, valid or test", pl.String),
            "age": years.set(years == 0, None),
            **{name: joined[name] for name in COLUMNS},
        }
    )
    read = FilmsRead(
        name="chexpert",
        policy="credentialed",
        films=frame,
        provenance=[
            f"CheXpert Plus: {table.label}. Labels are CheXbert's, mined from reports: "
            f"{labels_file.name} (sha256 {digest})."
        ],
    )
    bare = int(joined[next(iter(COLUMNS))].is_null().sum())
    if bare == frame.height:
        raise BadInput(
            f"{labels_file.name} names no image of {csv_file.name}. Give its own labels."
        )
    if bare:
        read.provenance.append(f"{bare} films have no line of labels; theirs are null.")
    return read if root is None else with_images(read, root, missing)


def with_reports(read: FilmsRead, csv_file: Path) -> FilmsRead:
    """CheXpert v1.0's films with the texts of CheXpert Plus as `report_path` (GROUNDING 1.2)."""
    import polars as pl

    table = read_table(csv_file, (_PLUS_KEY, "report"))
    filled(table, _PLUS_KEY)
    distinct(table, _PLUS_KEY)
    texts = pl.DataFrame(
        {_PLUS_KEY: _path_key(table.frame[_PLUS_KEY]), "text": table.frame["report"]}
    )
    own = pl.DataFrame({_PLUS_KEY: _path_key(read.films["image_path"])})
    found = own.join(texts, on=_PLUS_KEY, how="left", maintain_order="left")["text"]
    line = (
        f"Report texts are CheXpert Plus's: {table.label}; {found.count()} of {len(found)} films."
    )
    return msgspec.structs.replace(
        read,
        films=read.films.with_columns(report_path=found),
        provenance=[*read.provenance, line],
    )


def _report_texts(table: Table) -> pl.Series:
    import polars as pl

    if "report" in table.frame.columns:
        return table.frame["report"]
    return pl.Series([None], dtype=pl.String).new_from_index(0, table.frame.height)


def _path_key(paths: pl.Series) -> pl.Series:
    """What stays the same whatever folder and format an image is kept in."""
    return paths.str.extract(f"({PLACE})", 1)


def _chexbert_labels(path: Path) -> tuple[str, pl.DataFrame]:
    """The labels by image; a label that is null or not named was not mentioned."""
    import polars as pl

    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()[:8]
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    paths: list[str] = []
    values: dict[str, list[int]] = {name: [] for name in COLUMNS}
    seen: dict[str, int] = {}
    for row, line in enumerate(inflated(path, data).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            film = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadInput(
                f"{path.name} row {row}: it is no JSON object: {error}. Fetch the file again."
            ) from None
        name = film.get(_PLUS_KEY)
        if not isinstance(name, str):
            raise BadInput(f"{path.name} row {row}: it has no {_PLUS_KEY}. Fetch the file again.")
        if seen.setdefault(name, row) != row:
            raise BadInput(
                f'{path.name} row {row}: {_PLUS_KEY} "{name}" stands in row {seen[name]} already. '
                "Fetch the file again."
            )
        paths.append(name)
        for ours, theirs in COLUMNS.items():
            values[ours].append(_label_code(path, row, theirs, film.get(theirs)))
    if not paths:
        raise BadInput(f"{path} has no labels. Fetch the file again.")
    frame = pl.DataFrame(values, schema=dict.fromkeys(COLUMNS, pl.Int8))
    return digest, frame.insert_column(0, _path_key(pl.Series(_PLUS_KEY, paths, dtype=pl.String)))


def _label_code(path: Path, row: int, label: str, value: object) -> int:
    if value is None or value == "":
        return _NOT_MENTIONED
    code = None if isinstance(value, bool) else LABEL_CODES.get(str(value))
    if code is None:
        raise BadInput(
            f'{path.name} row {row}: {label} is "{value}"; {LABEL_NEED}. Fetch the file again.'
        )
    return code
