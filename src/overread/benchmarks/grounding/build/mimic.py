"""MIMIC-CXR-JPG and what is made of it, MS-CXR's boxes and ReXErr's sentences: official files."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec
import polars as pl

from overread.benchmarks.files.tables import FIX, Table, find_table, matching, refuse_first
from overread.benchmarks.grounding.build.films import (
    KEY,
    LABELS,
    SEX,
    SIDES,
    TEXT,
    Column,
    FilmsRead,
    Sheet,
    box_schema,
    film_frame,
    identifiers,
    leave_out,
    list_columns,
    listed_films,
    one_of,
    sentence_schema,
)
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
_SPLITS: Final = {"train": "train", "validate": "valid", "test": "test"}
_METADATA: Final = Sheet(
    file="mimic-cxr-[0-9]*-metadata.csv",
    columns={
        "dicom_id": KEY,
        **dict.fromkeys(_STUDY, _NUMBER),
        "ViewPosition": TEXT,
        "StudyDate": TEXT,
    },
    once=("dicom_id",),
)
_SPLIT: Final = Sheet(
    file="mimic-cxr-[0-9]*-split.csv",
    columns={
        "dicom_id": KEY,
        **dict.fromkeys(_STUDY, KEY),
        "split": one_of(_SPLITS, filled=True),
    },
    once=("dicom_id",),
)
_YEARS: Final = Column("it is a whole number, 0 or more", kind="number", least=0)
_PATIENTS: Final = Sheet(
    columns={
        "subject_id": KEY,
        "gender": one_of(SEX),
        "anchor_age": _YEARS,
        "anchor_year": _YEARS,
    },
    once=("subject_id",),
)


def mimic_films(
    root: Path, patients: Path | None = None, labeler: Labeler = "chexpert", prefix: str = "files"
) -> FilmsRead:
    """Every film of MIMIC-CXR-JPG, in the order of the metadata.

    Labels are per study and so the same for all its films; 1.0, 0.0, -1.0 and empty become 1, 0, 2
    and 3. `image_path` is `prefix`/p10/p10000032/s50414267/DICOM.jpg: give "mimic-cxr-jpg/files"
    where the images' root is the folder above. `report_path` is below the reports' own root.
    Without `patients`, and for a patient not listed there, age and gender are null.
    """
    metadata, table = _METADATA.read(root)
    splits, split = _SPLIT.read(root)
    labels = Sheet(
        file=f"mimic-cxr-[0-9]*-{labeler}.csv",
        columns=dict.fromkeys(_STUDY, KEY),
        once=_STUDY,
        labeled=True,
    )
    labelled, values = labels.read(root)
    _refuse_other_films(splits, metadata)
    table = table.join(
        split.select("dicom_id", "split"), on="dicom_id", how="left", maintain_order="left"
    ).join(values.select(*_STUDY, *LABELS), on=_STUDY, how="left", maintain_order="left")
    provenance = [
        f"MIMIC-CXR-JPG: {metadata.label}, {splits.label}.",
        f"Labels are the {labeler} labeler's, mined from reports, per study: {labelled.label}.",
    ]
    unlabelled = table.filter(pl.col(LABELS[0]).is_null())["study_id"].n_unique()
    if unlabelled:
        provenance.append(f"{unlabelled} studies have no row of labels; theirs are null.")
    files = [metadata.path, splits.path, labelled.path]
    if patients is None:
        provenance.append("No ages and sexes: MIMIC-IV's patients.csv was not given.")
    else:
        files.append(patients_file(patients))
        table, said = _with_ages_and_sexes(table, metadata, files[-1])
        provenance += said
    subject, study = pl.col("subject_id"), pl.col("study_id")
    folder = pl.format("p{}/p{}/s{}", subject.str.slice(0, 2), subject, study)
    image = pl.format("{}/{}/{}.jpg", pl.lit(prefix.rstrip("/")), folder, "dicom_id")
    frame = table.with_columns(
        image_path=image,
        report_path=pl.format("files/{}.txt", folder),
        view=pl.col("ViewPosition").str.to_uppercase(),
    )
    read = FilmsRead(
        name="mimic_cxr",
        policy="credentialed",
        films=film_frame(frame.drop("ViewPosition", "StudyDate")),
        provenance=provenance,
        files=files,
    )
    return leave_out(read, read.films["split"].is_null(), "no row in the split file")


def _refuse_other_films(splits: Table, metadata: Table) -> None:
    """The split file and the metadata must agree on whose film it is."""
    own = metadata.frame.select("dicom_id", *_STUDY)
    both = splits.frame.join(own, on="dicom_id", how="left", maintain_order="left", suffix="_there")
    need = f"{metadata.path.name} gives another one to this dicom_id"
    for column in reversed(_STUDY):
        refuse_first(splits, both[column] != both[f"{column}_there"], column, need)


def patients_file(place: Path) -> Path:
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
    films: pl.DataFrame, metadata: Table, path: Path
) -> tuple[pl.DataFrame, list[str]]:
    """Age at the study and sex of each film's patient: anchor_age + year of study - anchor_year.

    Dates are shifted per patient, in MIMIC-CXR and MIMIC-IV alike, so years may be subtracted.
    """
    table, listed = _PATIENTS.read(path)
    matching(metadata, "StudyDate", r"\d{8}(?:\.0)?", "a date is YYYYMMDD")
    year = pl.col("StudyDate").str.slice(0, 4).cast(pl.Float64)
    joined = films.join(listed, on="subject_id", how="left", maintain_order="left").with_columns(
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


# ---------------------------------------------------------------- the authors' list
# The authors' master lists are derivatives of their own and unpublished; whoever has one, or makes
# an equivalent, gets their probe sets (GROUNDING 1.1).


_LIST: Final = Sheet(
    columns={
        **list_columns((0, 1, 2, 3)),
        "study_id": KEY,
        "jpg_rel_path": KEY,
        "report_rel_path": TEXT,
        "view": TEXT,
        "gender": one_of(SEX, empty=True),
    },
    remedy=FIX,
)


def read_mimic_list(path: str | Path) -> pl.DataFrame:
    """MIMIC's master list: label codes 0 to 3; gender M, F or empty; age a number or empty."""
    _, values = _LIST.read(Path(path))
    return listed_films(
        values,
        report_path=pl.col("report_rel_path"),
        study_id=identifiers(pl.col("study_id")),
    )


# ---------------------------------------------------------------- MS-CXR
# MS-CXR's local alignments: a phrase of a report and the box that shows it.
#
# The csv (v1.0 and v1.1, which appends a `split` that no rule here uses) and the COCO json hold the
# same boxes (FORMATS: one row per box, in pixels of the original image).


_JPG_ROOT: Final = "mimic-cxr-jpg"
_PIXELS: Final = Column("it is a number of pixels", kind="number", filled=True)
_BOX_SIZES: Final = ("w", "h", "image_width", "image_height")
_BOXES: Final = Sheet(
    columns={
        **dict.fromkeys(("dicom_id", "category_name", "path"), KEY),
        "label_text": TEXT,
        **dict.fromkeys((*SIDES, "image_width", "image_height"), _PIXELS),
    }
)
_AGAIN: Final = "Fetch the file again."


def read_boxes(path: str | Path) -> pl.DataFrame:
    """The boxes of a local-alignment file, csv (plain or gzipped) or COCO json, in its order."""
    file = Path(path)
    if file.suffix.lower() == ".json":
        return _boxes_from_coco(file)
    table, values = _BOXES.read(file)
    for name in _BOX_SIZES:
        refuse_first(table, values[name] <= 0, name, "a side is above 0")
    paths = pl.Series([image_path(name) for name in values["path"]], dtype=pl.String)
    return values.with_columns(category="category_name", image_path=paths).select(*box_schema())


def image_path(path: str) -> str:
    """Where the film stands: `mimic-cxr-jpg/files/...`, with or without `files/` in the list."""
    name = path.removeprefix(f"{_JPG_ROOT}/")
    return f"{_JPG_ROOT}/{name}" if name.startswith("files/") else f"{_JPG_ROOT}/files/{name}"


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


# ---------------------------------------------------------------- ReXErr
# ReXErr-v1, sentence level: sentences of reports with and without an injected error.


# Stored as floats: 0 unchanged, 1 an error, 2 neutral, such as a reference to an earlier film.
_ERROR_CODES: Final = {f"{code}{end}": code for code in (0, 1, 2) for end in ("", ".0")}
_SENTENCES: Final = Sheet(
    columns={
        **dict.fromkeys(sentence_schema(), TEXT),
        **dict.fromkeys(_STUDY, KEY),
        "error_present": Column("it is 0, 1, 2 or empty", _ERROR_CODES),
    }
)


def read_sentences(path: str | Path) -> pl.DataFrame:
    """`ReXErr-sentence-level_test.csv` as a sentence table, its rows and their order untouched.

    `dicom_id` may be empty or list all films of the study; `original_sentence` is null where the
    error is an inserted sentence. What is not asked about is dropped by the sampling, with a count.
    """
    _, values = _SENTENCES.read(Path(path))
    return values.with_columns(identifiers(pl.col(*_STUDY))).select(*sentence_schema())
