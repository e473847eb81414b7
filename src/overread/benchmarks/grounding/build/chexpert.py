"""CheXpert v1.0, full or small, and CheXpert Plus, from their official files (GROUNDING 1.1, 2.6).

The patient is in the path only; the columns stand in another order than MIMIC's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from overread.benchmarks.files.sheets import inflated
from overread.benchmarks.files.tables import FIX, LABEL_CODES, LABEL_NEED, find_table
from overread.benchmarks.grounding.build.films import (
    AGE,
    KEY,
    LABELER,
    LABELS,
    NOT_MENTIONED,
    TEXT,
    Column,
    FilmsRead,
    Missing,
    Sheet,
    film_frame,
    list_columns,
    listed_films,
    one_of,
    same,
    with_images,
)
from overread.case import BadInput
from overread.files import read_bytes

# What a film is, in its path: the split, the patient, the study and the view.
PLACE: Final = r"(train|valid|test)/(patient\d+)/(study\d+)/(view\d+_(?:frontal|lateral))"
LATERAL: Final = "LATERAL"
_PATH: Final = Column(
    "a path ends in train/patient00001/study1/view1_frontal.jpg",
    pattern=rf"(?:[^/]+/)*{PLACE}\.(?:jpg|png)",
    filled=True,
)
_SEXES: Final = {"Male": "M", "Female": "F", "Unknown": None}
_SIDE: Final = one_of(same("Frontal", "Lateral"), filled=True)
_V1: Final = Sheet(
    columns={
        "Path": _PATH,
        "Sex": one_of(_SEXES),
        "Age": AGE,
        "Frontal/Lateral": _SIDE,
        "AP/PA": one_of(same("AP", "PA", "LL", "RL"), empty=True),
    },
    once=("Path",),
    labeled=True,
)


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
    if not csv_files:
        raise BadInput("CheXpert: no csv file was given. Give train.csv, valid.csv or both.")
    tables, frames = zip(*(_V1.read(Path(path)) for path in csv_files), strict=True)
    columns = _film_columns("Path", "Frontal/Lateral", "AP/PA", "Sex", "Age")
    frame = film_frame(pl.concat(frames).select(**columns))
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
        files=[table.path for table in tables],
    )
    return read if root is None else with_images(read, root, missing)


def chexpert_files(place: Path) -> list[Path]:
    """The csv itself, or train.csv and valid.csv of CheXpert's folder, whichever are there."""
    if not place.is_dir():
        return [place]
    parts = [
        f"{part}.csv"
        for part in ("train", "valid")
        if any((place / f"{part}.csv{end}").is_file() for end in ("", ".gz"))
    ]
    return [find_table(place, part) for part in parts or ["train.csv"]]


def _film_columns(path: str, side: str, projection: str, sex: str, age: str) -> dict[str, pl.Expr]:
    """The columns of a film, from the path and the columns that are called so."""
    split, patient, study, view = (pl.col(path).str.extract(PLACE, n) for n in range(1, 5))
    return {
        "image_path": pl.col(path),
        "dicom_id": view,
        "subject_id": patient,
        "study_id": patient + "/" + study,
        "view": _view_of(side, projection),
        "gender": pl.col(sex),
        "split": split,
        # An age of 0 is one that is missing: CheXpert has adults only.
        "age": pl.when(pl.col(age) != 0).then(age),
        **{label: pl.col(label) for label in LABELS},
    }


def _view_of(side: str, projection: str) -> pl.Expr:
    """LATERAL, or a frontal's AP/PA, where empty AP (GROUNDING 1.2)."""
    frontal = pl.col(projection).fill_null("AP")
    return pl.when(pl.col(side) == "Frontal").then(frontal).otherwise(pl.lit(LATERAL))


# ---------------------------------------------------------------- the authors' list
# Unpublished, like that of MIMIC: see `mimic.py`.


_STUDY: Final = r"patient[^/]+/study[^/]+"
_LIST: Final = Sheet(
    columns={
        **list_columns((0, 1, 2)),
        "jpg_rel_path": Column(
            "a path ends in patientN/studyM/FILE",
            pattern=f"(?:.*/)?{_STUDY}/[^/]+",
            filled=True,
        ),
        "view": _SIDE,
        "AP_PA": TEXT,
        "gender": one_of(_SEXES, empty=True),
    },
    remedy=FIX,
)


def read_chexpert_list(path: str | Path) -> pl.DataFrame:
    """CheXpert's master list: label codes 0 to 2; gender Female, Male, Unknown or empty.

    A frontal without AP_PA is AP. The study is `patientN/studyM` of the path (GROUNDING 1.2, 2.6).
    """
    _, values = _LIST.read(Path(path))
    study = pl.col("jpg_rel_path").str.extract(f"({_STUDY})/[^/]+$")
    return listed_films(values, study_id=study, view=_view_of("view", "AP_PA"))


# ---------------------------------------------------------------- a test split where there is none


def split_by_patient(read: FilmsRead, share: float = 0.2, seed: int = 42) -> FilmsRead:
    """Put `share` of the patients, rounded, into the split `test` with all their films.

    The authors used a split of their own, 20 % test, which is unpublished [D31]; this is another
    one of that size. Which patients depends on their ids and the seed alone, not on the order or
    the number of files.
    """
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
_PLUS_FILE: Final = "df_chexpert_plus_*.csv"
_PLUS: Final = Sheet(
    columns={
        _PLUS_KEY: _PATH,
        "frontal_lateral": _SIDE,
        "ap_pa": TEXT,
        "deid_patient_id": KEY,
        "age": AGE,
        "sex": one_of(_SEXES),
        "split": one_of(same("train", "valid", "test")),
    },
    optional=("report",),
    once=(_PLUS_KEY,),
)
_REPORTS: Final = Sheet(columns={_PLUS_KEY: KEY, "report": TEXT}, once=(_PLUS_KEY,))


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
    table, values = _PLUS.read(csv_file)
    digest, labelled = _chexbert_labels(labels_file)
    joined = values.with_columns(key=_path_key(_PLUS_KEY)).join(
        labelled, on="key", how="left", maintain_order="left"
    )
    columns = _film_columns(_PLUS_KEY, "frontal_lateral", "ap_pa", "sex", "age") | {
        "image_path": prefix + pl.col(_PLUS_KEY).str.replace(r"\.\w+$", suffix),
        "report_path": pl.col("report") if "report" in values.columns else pl.lit(None),
        "subject_id": pl.col("deid_patient_id"),
        "split": pl.col("split"),
    }
    frame = film_frame(joined.select(**columns))
    read = FilmsRead(
        name="chexpert",
        policy="credentialed",
        films=frame,
        provenance=[
            f"CheXpert Plus: {table.label}. Labels are CheXbert's, mined from reports: "
            f"{labels_file.name} (sha256 {digest})."
        ],
        files=[csv_file, labels_file],
    )
    bare = frame[LABELS[0]].null_count()
    if bare == frame.height:
        raise BadInput(
            f"{labels_file.name} names no image of {csv_file.name}. Give its own labels."
        )
    if bare:
        read.provenance.append(f"{bare} films have no line of labels; theirs are null.")
    return read if root is None else with_images(read, root, missing)


def with_reports(read: FilmsRead, place: Path) -> FilmsRead:
    """CheXpert v1.0's films with the texts of CheXpert Plus as `report_path` (GROUNDING 1.2).

    `place` is the csv of CheXpert Plus, or the folder it stands in.
    """
    table, values = _REPORTS.read(find_table(place, _PLUS_FILE) if place.is_dir() else place)
    texts = values.select("report", key=_path_key(_PLUS_KEY))
    own = read.films.select(key=_path_key("image_path"))
    found = own.join(texts, on="key", how="left", maintain_order="left")["report"]
    line = (
        f"Report texts are CheXpert Plus's: {table.label}; {found.count()} of {len(found)} films."
    )
    return msgspec.structs.replace(
        read,
        films=read.films.with_columns(report_path=found),
        provenance=[*read.provenance, line],
        files=[*read.files, table.path],
    )


def _path_key(column: str) -> pl.Expr:
    """What stays the same whatever folder and format an image is kept in."""
    return pl.col(column).str.extract(f"({PLACE})", 1)


def _chexbert_labels(path: Path) -> tuple[str, pl.DataFrame]:
    """The labels by image; a label that is null or not named was not mentioned."""
    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()[:8]
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    paths: list[str] = []
    values: dict[str, list[int]] = {name: [] for name in LABELER}
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
        for ours, theirs in LABELER.items():
            values[ours].append(_label_code(path, row, theirs, film.get(theirs)))
    if not paths:
        raise BadInput(f"{path} has no labels. Fetch the file again.")
    frame = pl.DataFrame(values, schema=dict.fromkeys(LABELER, pl.Int8))
    named = pl.DataFrame({_PLUS_KEY: paths}).select(key=_path_key(_PLUS_KEY))
    return digest, named.hstack(frame)


def _label_code(path: Path, row: int, label: str, value: object) -> int:
    if value is None or value == "":
        return NOT_MENTIONED
    code = None if isinstance(value, bool) else LABEL_CODES.get(str(value))
    if code is None:
        raise BadInput(
            f'{path.name} row {row}: {label} is "{value}"; {LABEL_NEED}. Fetch the file again.'
        )
    return code
