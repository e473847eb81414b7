"""The paper's datasets from their official files: MIMIC-CXR-JPG, MS-CXR, ReXErr and CheXpert."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import polars as pl

from overread.benchmarks.files.tables import FIX, Table, find_table, matching, refuse_first
from overread.benchmarks.grounding.build import films
from overread.benchmarks.grounding.build.films import KEY, TEXT, Column, FilmsRead, Sheet, one_of
from overread.case import BadInput
from overread.files import read_bytes

# ---------------------------------------------------------------- MIMIC-CXR-JPG
# MIMIC-CXR-JPG from its official files, with ages and sexes from MIMIC-IV (GROUNDING 1.1).
#
# `mimic-cxr-<version>-{metadata,split,chexpert,negbio}.csv(.gz)`, and MIMIC-IV's
# `hosp/patients.csv(.gz)`. Release 2.1.0 has files named 2.0.0 as well, so any version is read.


Labeler = Literal["chexpert", "negbio"]

# The folders of the images are made of their digits.
_NUMBER: Final = Column("it is a number of 8 digits", pattern=r"\d{8}", filled=True)
_STUDY: Final = ("subject_id", "study_id")
_STUDY_KEYS: Final = dict.fromkeys(_STUDY, KEY)
_OFFICIAL_SPLITS: Final = {"train": "train", "validate": "valid", "test": "test"}
_METADATA: Final = Sheet(
    file="mimic-cxr-[0-9]*-metadata.csv",
    columns={
        "dicom_id": KEY,
        **dict.fromkeys(_STUDY, _NUMBER),
        "ViewPosition": films.VIEW,
        "StudyDate": TEXT,
    },
    once=("dicom_id",),
)
_SPLIT: Final = Sheet(
    file="mimic-cxr-[0-9]*-split.csv",
    columns={"dicom_id": KEY, **_STUDY_KEYS, "split": one_of(_OFFICIAL_SPLITS, filled=True)},
    once=("dicom_id",),
)
_YEARS: Final = Column("it is a whole number, 0 or more", kind="number", least=0)
_PATIENTS: Final = Sheet(
    columns={
        "subject_id": KEY,
        "gender": one_of(films.SEX),
        "anchor_age": _YEARS,
        "anchor_year": _YEARS,
    },
    once=("subject_id",),
)


def mimic_films(root: Path, patients: Path, labeler: Labeler = "chexpert") -> FilmsRead:
    """Every film of MIMIC-CXR-JPG, in the order of the metadata.

    Labels are per study and so the same for all its films; 1.0, 0.0, -1.0 and empty become 1, 0, 2
    and 3. `image_path` is files/p10/p10000032/s50414267/DICOM.jpg; `report_path` is below the
    reports' own root. `patients` is MIMIC-IV's list of patients or where it stands; for a patient
    not listed there age and gender are null.
    """
    patients = _patients_file(patients)
    metadata, table = _METADATA.read(root)
    splits, split = _SPLIT.read(root)
    labels = Sheet(
        file=f"mimic-cxr-[0-9]*-{labeler}.csv", columns=_STUDY_KEYS, once=_STUDY, labeled=True
    )
    labelled, values = labels.read(root)
    # The split file and the metadata must agree on whose film it is.
    own = metadata.frame.select("dicom_id", *_STUDY)
    both = splits.frame.join(own, on="dicom_id", how="left", maintain_order="left", suffix="_there")
    need = f"{metadata.path.name} gives another one to this dicom_id"
    for column in reversed(_STUDY):
        refuse_first(splits, both[column] != both[f"{column}_there"], column, need)
    table = table.join(
        split.select("dicom_id", "split"), on="dicom_id", how="left", maintain_order="left"
    ).join(values.select(*_STUDY, *films.LABELS), on=_STUDY, how="left", maintain_order="left")
    provenance = [
        f"MIMIC-CXR-JPG: {metadata.label}, {splits.label}.",
        f"Labels are the {labeler} labeler's, mined from reports, per study: {labelled.label}.",
    ]
    unlabelled = table.filter(pl.col(films.LABELS[0]).is_null())["study_id"].n_unique()
    if unlabelled:
        provenance.append(f"{unlabelled} studies have no row of labels; theirs are null.")
    table, said = _with_ages_and_sexes(table, metadata, patients)
    subject, study = pl.col("subject_id"), pl.col("study_id")
    folder = pl.format("files/p{}/p{}/s{}", subject.str.slice(0, 2), subject, study)
    frame = table.with_columns(
        image_path=pl.format("{}/{}.jpg", folder, "dicom_id"),
        report_path=pl.format("{}.txt", folder),
        view="ViewPosition",
    )
    read = FilmsRead(
        name="mimic_cxr",
        policy="credentialed",
        films=films.film_frame(frame.drop("ViewPosition", "StudyDate")),
        provenance=[*provenance, *said],
        files=[metadata.path, splits.path, labelled.path, patients],
    )
    return films.leave_out(read, read.films["split"].is_null(), "no row in the split file")


def _patients_file(place: Path) -> Path:
    """MIMIC-IV's list of patients: the file itself, or in MIMIC-IV's folder or MIMIC-CXR-JPG's."""
    if not place.is_dir():
        return place
    for folder in (place, place / "hosp", place / "core"):
        if any((folder / name).is_file() for name in ("patients.csv", "patients.csv.gz")):
            return find_table(folder, "patients.csv")
    raise BadInput(
        f"{place} has no patients.csv. Give MIMIC-IV's hosp/patients.csv.gz with --patients: ages "
        "and sexes are not in MIMIC-CXR-JPG, and only films with both are taken."
    )


def _with_ages_and_sexes(
    listed: pl.DataFrame, metadata: Table, path: Path
) -> tuple[pl.DataFrame, list[str]]:
    """Age at the study and sex of each film's patient: anchor_age + year of study - anchor_year.

    Dates are shifted per patient, in MIMIC-CXR and MIMIC-IV alike, so years may be subtracted.
    """
    table, patients = _PATIENTS.read(path)
    matching(metadata, "StudyDate", r"\d{8}(?:\.0)?", "a date is YYYYMMDD")
    year = pl.col("StudyDate").str.slice(0, 4).cast(pl.Float64)
    joined = listed.join(patients, on="subject_id", how="left", maintain_order="left").with_columns(
        age=pl.col("anchor_age") + (year - pl.col("anchor_year"))
    )
    provenance = [
        f"Ages and sexes are MIMIC-IV's: {table.label}. Age is anchor_age + year of study - "
        "anchor_year; everyone older than 89 at the anchor stands there as 91."
    ]
    early = int((joined["age"] < 0).sum())
    if early:
        provenance.append(
            f"{early} films are dated before their patient's birth; their age is null."
        )
    unknown = joined.filter(pl.col("gender").is_null())["subject_id"].n_unique()
    if unknown:
        provenance.append(f"{unknown} patients are not in MIMIC-IV or have no sex there.")
    known = pl.when(pl.col("age") >= 0).then("age").alias("age")
    return joined.with_columns(known).drop("anchor_age", "anchor_year"), provenance


# ---------------------------------------------------------------- MS-CXR
# MS-CXR's local alignments: a phrase of a report and the box that shows it.
#
# The csv (v1.0 and v1.1, which appends a `split` that no rule here uses) and the COCO json hold the
# same boxes (FORMATS: one row per box, in pixels of the original image).


JPG_ROOT: Final = "mimic-cxr-jpg"
_BOXES: Final = Sheet(
    columns={
        **dict.fromkeys(("dicom_id", "category_name", "path"), KEY),
        "label_text": TEXT,
        **dict.fromkeys(
            (*films.SIDES, *films.SIZES), Column(films.PIXELS, kind="number", filled=True)
        ),
    }
)
_AGAIN: Final = "Fetch the file again."


def read_boxes(path: Path) -> pl.DataFrame:
    """The boxes of a local-alignment file, csv (plain or gzipped) or COCO json, in its order."""
    if path.suffix.lower() == ".json":
        return _boxes_from_coco(path)
    table, values = _BOXES.read(path)
    for name in ("w", "h", *films.SIZES):
        refuse_first(table, values[name] <= 0, name, "a side is above 0")
    paths = pl.Series([_image_path(name) for name in values["path"]], dtype=pl.String)
    boxes = values.with_columns(category="category_name", image_path=paths)
    return boxes.select(*films.BOX_SCHEMA)


def _image_path(path: str) -> str:
    """Where the film stands: `mimic-cxr-jpg/files/...`, with or without `files/` in the list."""
    name = path.removeprefix(f"{JPG_ROOT}/").removeprefix("files/")
    return f"{JPG_ROOT}/files/{name}"


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


def _boxes_from_coco(path: Path) -> pl.DataFrame:
    try:
        coco = msgspec.json.decode(read_bytes(path), type=_Coco)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} is not COCO json: {error}. {_AGAIN}") from None
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
        if not min(box.bbox[2:]) > 0:
            raise BadInput(f"{where}: bbox is {list(box.bbox)}; a side is above 0. {_AGAIN}")
        if not (image.width > 0 and image.height > 0):
            size = f"{image.width:g} x {image.height:g}"
            raise BadInput(f"{where}: its image is {size}; a side is above 0. {_AGAIN}")
        category, text = categories[box.category_id], (box.label_text or "").strip() or None
        named = (Path(image.path).stem, category, text, _image_path(image.path))
        rows.append((*named, *box.bbox, image.width, image.height))
    if not rows:
        raise BadInput(f"{path.name} has no annotations. {_AGAIN}")
    return pl.DataFrame(rows, schema=dict(films.BOX_SCHEMA), orient="row")


# ---------------------------------------------------------------- ReXErr
# ReXErr-v1, sentence level: sentences of reports with and without an injected error.


# Stored as floats: 0 unchanged, 1 an error, 2 neutral, such as a reference to an earlier film.
_ERROR_CODES: Final = {f"{code}{end}": code for code in (0, 1, 2) for end in ("", ".0")}
_SENTENCES: Final = Sheet(
    columns={
        **dict.fromkeys(films.SENTENCE_SCHEMA, TEXT),
        **_STUDY_KEYS,
        "error_present": Column("it is 0, 1, 2 or empty", _ERROR_CODES),
    }
)


def read_sentences(path: Path) -> pl.DataFrame:
    """`ReXErr-sentence-level_test.csv` as a sentence table, its rows and their order untouched.

    `dicom_id` may be empty or list all films of the study; `original_sentence` is null where the
    error is an inserted sentence. What is not asked about is dropped by the sampling, with a count.
    """
    _, values = _SENTENCES.read(path)
    return values.with_columns(identifiers(pl.col(*_STUDY))).select(*films.SENTENCE_SCHEMA)


def identifiers(words: pl.Expr) -> pl.Expr:
    """The same ids however a table was saved: `1213.0` is patient `1213`."""
    return words.str.replace(r"^(\d+)\.0+$", "${1}")


# ---------------------------------------------------------------- CheXpert
# CheXpert v1.0, full or small (GROUNDING 1.1, 2.6).
#
# The patient is in the path only; the columns stand in another order than MIMIC's.


# What a film is, in its path: the split, the patient, the study and the view.
_PLACE: Final = r"(train|valid|test)/(patient\d+)/(study\d+)/(view\d+_(?:frontal|lateral))"
_SEXES: Final = {"Male": "M", "Female": "F", "Unknown": None}
_FRONTAL_OR_LATERAL: Final = one_of(("Frontal", "Lateral"), filled=True)
_V1: Final = Sheet(
    columns={
        "Path": Column(
            "a path ends in train/patient00001/study1/view1_frontal.jpg",
            pattern=rf"(?:[^/]+/)*{_PLACE}\.(?:jpg|png)",
            filled=True,
        ),
        "Sex": one_of(_SEXES),
        "Age": films.AGE,
        "Frontal/Lateral": _FRONTAL_OR_LATERAL,
        "AP/PA": one_of(("AP", "PA", "LL", "RL"), empty=True),
    },
    once=("Path",),
    labeled=True,
)


def chexpert_films(place: Path) -> FilmsRead:
    """Every film of a csv, or of train.csv and valid.csv of CheXpert's folder, where they are.

    `image_path` is the file's own `Path`, so the images' root is the folder that holds
    `CheXpert-v1.0` or `CheXpert-v1.0-small`.

    A label 1.0, 0.0, -1.0 or empty is 1, 0, 2 or 3. The authors' list has no 3 (GROUNDING 1.1); an
    empty cell cannot have been an absent finding there, for their set has only 30 films without
    `pleural_other` (2.6), which hardly any report denies and most leave unmentioned. So 3 is kept,
    and the rule that draws absent findings from 0 alone gives what they had.

    `dicom_id` is the stem of the file's name, as in the authors' manifest, and so not unique here.
    """
    files = [place]
    if place.is_dir():
        names = [f"{part}.csv" for part in ("train", "valid")]
        there = [n for n in names if any((place / f"{n}{end}").is_file() for end in ("", ".gz"))]
        files = [find_table(place, name) for name in there or names[:1]]
    tables, frames = zip(*map(_V1.read, files), strict=True)
    split, patient, study, view = (pl.col("Path").str.extract(_PLACE, n) for n in range(1, 5))
    listed = pl.concat(frames).select(
        *films.LABELS,
        image_path="Path",
        dicom_id=view,
        subject_id=patient,
        study_id=patient + "/" + study,
        view=_view_of("Frontal/Lateral", "AP/PA"),
        gender="Sex",
        split=split,
        # An age of 0 is one that is missing: CheXpert has adults only.
        age=pl.when(pl.col("Age") != 0).then("Age"),
    )
    twice = listed["image_path"].is_duplicated()
    if twice.any():
        name = listed["image_path"].filter(twice)[0]
        raise BadInput(f"{name} stands in two of the csv files. Give each file once.")
    return FilmsRead(
        name="chexpert",
        policy="credentialed",
        films=films.film_frame(listed),
        provenance=[
            f"CheXpert v1.0: {', '.join(table.label for table in tables)}. Labels of train are the "
            "labeler's, mined from reports; those of valid and test are radiologists'."
        ],
        files=files,
    )


def _view_of(side: str, projection: str) -> pl.Expr:
    """LATERAL, or a frontal's AP/PA, where empty AP (GROUNDING 1.2)."""
    frontal = pl.col(projection).fill_null("AP")
    return pl.when(pl.col(side) == "Frontal").then(frontal).otherwise(pl.lit(films.LATERAL))


_TEST_SHARE: Final = 0.2


def split_by_patient(read: FilmsRead, seed: int) -> FilmsRead:
    """Put 20 % of the patients, rounded, into the split `test` with all their films.

    The authors used a split of their own, 20 % test, which is unpublished [D31]; this is another
    one of that size. Which patients depends on their ids and the seed alone, not on the order or
    the number of files. Films that have a test split keep it.
    """
    if (read.films["split"] == "test").any():
        return read

    def lot(patient: str) -> tuple[bytes, str]:
        return hashlib.sha256(f"{seed}|{patient}".encode()).digest(), patient

    patients = sorted(read.films["subject_id"].drop_nulls().unique(), key=lot)
    drawn = patients[: round(_TEST_SHARE * len(patients))]
    split = pl.when(pl.col("subject_id").is_in(drawn)).then(pl.lit("test")).otherwise("split")
    line = (
        f"The test split is drawn by patient: {len(drawn)} of {len(patients)} patients, seed "
        f"{seed}. The authors' own 20 % split is unpublished [D31]."
    )
    return msgspec.structs.replace(
        read, films=read.films.with_columns(split=split), provenance=[*read.provenance, line]
    )


_REPORTS: Final = Sheet(columns={"path_to_image": KEY, "report": TEXT}, once=("path_to_image",))


def with_reports(read: FilmsRead, place: Path) -> FilmsRead:
    """CheXpert v1.0's films with the texts of CheXpert Plus as `report_path` (GROUNDING 1.2).

    `place` is the csv of CheXpert Plus, `df_chexpert_plus_240401.csv`, or the folder it stands in.
    """
    path = find_table(place, "df_chexpert_plus_*.csv") if place.is_dir() else place
    table, values = _REPORTS.read(path)
    # What stays the same whatever folder and format an image is kept in.
    texts = values.select("report", key=pl.col("path_to_image").str.extract(f"({_PLACE})"))
    own = read.films.select(key=pl.col("image_path").str.extract(f"({_PLACE})"))
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


# ---------------------------------------------------------------- the authors' lists
# The authors' master lists are derivatives of their own and unpublished; whoever has one, or makes
# an equivalent, gets their probe sets (GROUNDING 1.1).


_LISTED_STUDY: Final = r"patient[^/]+/study[^/]+"


def _master_list(label_codes: Sequence[int], own: dict[str, Column]) -> Sheet:
    """A list of films: the columns both have, and its own."""
    # Whole numbers, which pandas writes as 1.0 once a column has an empty cell.
    words = {f"{code}{end}": code for code in label_codes for end in ("", ".0")}
    label = Column(f"a label is {', '.join(map(str, label_codes))} or empty", words)
    splits = _OFFICIAL_SPLITS | {"valid": "valid"}
    return Sheet(
        columns={
            "subject_id": KEY,
            "split": Column("it is train, valid or test", splits, filled=True),
            "age": Column("an age is a number, 0 or more, or empty", kind="number", least=0),
            **dict.fromkeys(films.LABELS, label),
            **own,
        },
        remedy=FIX,
    )


_MIMIC_LIST: Final = _master_list(
    (0, 1, 2, 3),
    {
        **dict.fromkeys(("study_id", "jpg_rel_path"), KEY),
        **dict.fromkeys(("report_rel_path", "view"), TEXT),
        "gender": one_of(films.SEX, empty=True),
    },
)
_CHEXPERT_LIST: Final = _master_list(
    (0, 1, 2),
    {
        "jpg_rel_path": Column(
            "a path ends in patientN/studyM/FILE",
            pattern=f"(?:.*/)?{_LISTED_STUDY}/[^/]+",
            filled=True,
        ),
        "view": _FRONTAL_OR_LATERAL,
        "AP_PA": TEXT,
        "gender": one_of(_SEXES, empty=True),
    },
)


def read_mimic_list(path: Path) -> pl.DataFrame:
    """MIMIC's master list: label codes 0 to 3; gender M, F or empty; age a number or empty."""
    return _listed_films(
        _MIMIC_LIST,
        path,
        report_path=pl.col("report_rel_path"),
        study_id=identifiers(pl.col("study_id")),
    )


def read_chexpert_list(path: Path) -> pl.DataFrame:
    """CheXpert's master list: label codes 0 to 2; gender Female, Male, Unknown or empty.

    A frontal without AP_PA is AP. The study is `patientN/studyM` of the path (GROUNDING 1.2, 2.6).
    """
    study = pl.col("jpg_rel_path").str.extract(f"({_LISTED_STUDY})/[^/]+$")
    return _listed_films(_CHEXPERT_LIST, path, study_id=study, view=_view_of("view", "AP_PA"))


def _listed_films(sheet: Sheet, path: Path, **own: pl.Expr) -> pl.DataFrame:
    """The films of a master list, whose names are ours (GROUNDING 1.1)."""
    _, values = sheet.read(path)
    image = pl.col("jpg_rel_path")
    columns = {name: pl.col(name) for name in ("view", "gender", "split", "age", *films.LABELS)} | {
        "image_path": image,
        "dicom_id": image.str.extract(films.STEM),
        "subject_id": identifiers(pl.col("subject_id")),
    }
    return films.film_frame(values.select(**columns | own))
