"""MIMIC-CXR-JPG and what is made of it, MS-CXR's boxes and ReXErr's sentences: official files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from overread.benchmarks.files.tables import (
    Table,
    codes,
    distinct,
    filled,
    find_table,
    first,
    labels,
    matching,
    numbers,
    read_table,
    refuse_first,
)
from overread.benchmarks.grounding.build.films import (
    LABELS,
    FilmsRead,
    box_schema,
    film_frame,
    identifiers,
    leave_out,
    sentence_schema,
)
from overread.case import BadInput
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["mimic_films", "patients_file", "read_boxes", "read_sentences"]

# ---------------------------------------------------------------- MIMIC-CXR-JPG
# MIMIC-CXR-JPG from its official files, with ages and sexes from MIMIC-IV (GROUNDING 1.1).
#
# `mimic-cxr-<version>-{metadata,split,chexpert,negbio}.csv(.gz)`, and MIMIC-IV's
# `hosp/patients.csv(.gz)`. Release 2.1.0 has files named 2.0.0 as well, so any version is read.


Labeler = Literal["chexpert", "negbio"]

_COLUMNS: Final = {label: label.replace("_", " ").title() for label in LABELS}
_SPLITS: Final = {"train": "train", "validate": "valid", "test": "test"}
_STUDY_IDS: Final = ("subject_id", "study_id")


def mimic_films(
    root: Path, patients: Path | None = None, labeler: Labeler = "chexpert", prefix: str = "files"
) -> FilmsRead:
    """Every film of MIMIC-CXR-JPG, in the order of the metadata.

    Labels are per study and so the same for all its films; 1.0, 0.0, -1.0 and empty become 1, 0, 2
    and 3. `image_path` is `prefix`/p10/p10000032/s50414267/DICOM.jpg: give "mimic-cxr-jpg/files"
    where the images' root is the folder above. `report_path` is below the reports' own root.
    Without `patients`, and for a patient not listed there, age and gender are null.
    """
    import polars as pl

    metadata = _metadata_table(find_table(root, "mimic-cxr-[0-9]*-metadata.csv"))
    splits = read_table(
        find_table(root, "mimic-cxr-[0-9]*-split.csv"), ("dicom_id", *_STUDY_IDS, "split")
    )
    labelled = _study_labels(find_table(root, f"mimic-cxr-[0-9]*-{labeler}.csv"))
    table = metadata.frame.with_columns(_split_of_films(splits, metadata))
    table = table.join(
        labelled[1], on=["subject_id", "study_id"], how="left", maintain_order="left"
    )
    provenance = [
        f"MIMIC-CXR-JPG: {metadata.label}, {splits.label}.",
        f"Labels are the {labeler} labeler's, mined from reports, per study: {labelled[0].label}.",
    ]
    unlabelled = table.filter(pl.col(LABELS[0]).is_null())["study_id"].n_unique()
    if unlabelled:
        provenance.append(f"{unlabelled} studies have no row of labels; theirs are null.")
    if patients is None:
        provenance.append("No ages and sexes: MIMIC-IV's patients.csv was not given.")
        people: dict[str, pl.Series] = {}
    else:
        people, said = _ages_and_sexes(metadata, patients_file(patients))
        provenance += said
    subject, study = pl.col("subject_id"), pl.col("study_id")
    folder = pl.format("p{}/p{}/s{}", subject.str.slice(0, 2), subject, study)
    paths = table.select(
        pl.format("{}/{}/{}.jpg", pl.lit(prefix.rstrip("/")), folder, "dicom_id").alias("image"),
        pl.format("files/{}.txt", folder).alias("report"),
    )
    frame = film_frame(
        {
            "image_path": paths["image"],
            "report_path": paths["report"],
            "view": table["ViewPosition"].str.to_uppercase(),
            **{name: table[name] for name in ("dicom_id", "subject_id", "study_id", "split")},
            **{name: table[name] for name in LABELS},
            **people,
        }
    )
    read = FilmsRead(name="mimic_cxr", policy="credentialed", films=frame, provenance=provenance)
    return leave_out(read, frame["split"].is_null(), "no row in the split file")


def _metadata_table(path: Path) -> Table:
    columns = ("dicom_id", "subject_id", "study_id", "ViewPosition", "StudyDate")
    table = read_table(path, columns)
    filled(table, "dicom_id", *_STUDY_IDS)
    for column in _STUDY_IDS:  # the folders of the images are made of their digits
        matching(table, column, r"\d{8}", "it is a number of 8 digits")
    distinct(table, "dicom_id")
    return table


def _split_of_films(table: Table, metadata: Table) -> pl.Series:
    """The split of each film of the metadata; the two files must agree on whose film it is."""
    import polars as pl

    filled(table, *table.frame.columns)
    distinct(table, "dicom_id")
    named = codes(table, "split", _SPLITS, "it is train, validate or test", pl.String)
    own = metadata.frame.select("dicom_id", their_study="study_id", their_subject="subject_id")
    both = table.frame.join(own, on="dicom_id", how="left", maintain_order="left")
    for column, theirs in (("study_id", "their_study"), ("subject_id", "their_subject")):
        need = f"{metadata.path.name} gives another one to this dicom_id"
        refuse_first(table, both[column] != both[theirs], column, need)
    splits = table.frame.select("dicom_id").with_columns(named.alias("split"))
    joined = metadata.frame.join(splits, on="dicom_id", how="left", maintain_order="left")
    return joined["split"]


def _study_labels(path: Path) -> tuple[Table, pl.DataFrame]:
    table = read_table(path, (*_STUDY_IDS, *_COLUMNS.values()))
    filled(table, *_STUDY_IDS)
    distinct(table, *_STUDY_IDS)
    return table, table.frame.select(*_STUDY_IDS).hstack(labels(table, _COLUMNS))


# ---------------------------------------------------------------- ages and sexes


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


def _ages_and_sexes(metadata: Table, path: Path) -> tuple[dict[str, pl.Series], list[str]]:
    """Age at the study and sex of each film's patient: anchor_age + year of study - anchor_year.

    Dates are shifted per patient, in MIMIC-CXR and MIMIC-IV alike, so years may be subtracted.
    """
    import polars as pl

    table = read_table(path, ("subject_id", "gender", "anchor_age", "anchor_year"))
    filled(table, "subject_id")
    distinct(table, "subject_id")
    matching(metadata, "StudyDate", r"\d{8}(?:\.0)?", "a date is YYYYMMDD")
    sexes = codes(table, "gender", {"M": "M", "F": "F"}, "it is M or F", pl.String)
    need = "it is a whole number, 0 or more"
    listed = pl.DataFrame(
        {
            "subject_id": table.frame["subject_id"],
            "gender": sexes,
            "anchor_age": numbers(table, "anchor_age", need, least=0),
            "anchor_year": numbers(table, "anchor_year", need, least=0),
        }
    )
    joined = metadata.frame.join(listed, on="subject_id", how="left", maintain_order="left")
    year = metadata.frame["StudyDate"].str.slice(0, 4).cast(pl.Float64)
    age = joined["anchor_age"] + (year - joined["anchor_year"])
    early = age < 0
    provenance = [
        f"Ages and sexes are MIMIC-IV's: {table.label}. Age is anchor_age + year of study - "
        "anchor_year; everyone older than 89 at the anchor stands there as 91."
    ]
    if first(early) is not None:
        count = int(early.sum())
        provenance.append(
            f"{count} films are dated before their patient's birth; their age is null."
        )
        age = pl.DataFrame({"age": age}).select(pl.when(pl.col("age") >= 0).then("age"))["age"]
    unknown = metadata.frame.filter(joined["gender"].is_null())["subject_id"].n_unique()
    if unknown:
        provenance.append(f"{unknown} patients are not in MIMIC-IV or have no sex there.")
    return {"age": age, "gender": joined["gender"]}, provenance


# ---------------------------------------------------------------- MS-CXR
# MS-CXR's local alignments: a phrase of a report and the box that shows it.
#
# The csv (v1.0 and v1.1, which appends a `split` that no rule here uses) and the COCO json hold the
# same boxes (FORMATS: one row per box, in pixels of the original image).


_JPG_ROOT: Final = "mimic-cxr-jpg"
_BOX_TEXTS: Final = ("dicom_id", "category_name", "label_text", "path")
_BOX_NUMBERS: Final = ("x", "y", "w", "h", "image_width", "image_height")
_BOX_SIDES: Final = ("w", "h", "image_width", "image_height")
_AGAIN: Final = "Fetch the file again."


def read_boxes(path: str | Path) -> pl.DataFrame:
    """The boxes of a local-alignment file, csv (plain or gzipped) or COCO json, in its order."""
    file = Path(path)
    return _boxes_from_coco(file) if file.suffix.lower() == ".json" else _boxes_from_csv(file)


def image_path(path: str) -> str:
    """Where the film stands: `mimic-cxr-jpg/files/...`, with or without `files/` in the list."""
    name = path.removeprefix(f"{_JPG_ROOT}/")
    return f"{_JPG_ROOT}/{name}" if name.startswith("files/") else f"{_JPG_ROOT}/files/{name}"


def _boxes_from_csv(path: Path) -> pl.DataFrame:
    import polars as pl

    table = read_table(path, (*_BOX_TEXTS, *_BOX_NUMBERS))
    filled(table, "dicom_id", "category_name", "path", *_BOX_NUMBERS)
    columns = {name: numbers(table, name, "it is a number of pixels") for name in _BOX_NUMBERS}
    for name in _BOX_SIDES:
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


def _boxes_from_coco(path: Path) -> pl.DataFrame:
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


# ---------------------------------------------------------------- ReXErr
# ReXErr-v1, sentence level: sentences of reports with and without an injected error.


# Stored as floats: 0 unchanged, 1 an error, 2 neutral, such as a reference to an earlier film.
_ERROR_CODES: Final = {f"{code}{end}": code for code in (0, 1, 2) for end in ("", ".0")}


def read_sentences(path: str | Path) -> pl.DataFrame:
    """`ReXErr-sentence-level_test.csv` as a sentence table, its rows and their order untouched.

    `dicom_id` may be empty or list all films of the study; `original_sentence` is null where the
    error is an inserted sentence. What is not asked about is dropped by the sampling, with a count.
    """
    import polars as pl

    table = read_table(Path(path), tuple(sentence_schema()))
    filled(table, "study_id", "subject_id")
    present = codes(table, "error_present", _ERROR_CODES, "it is 0, 1, 2 or empty", pl.Int8)
    ids = {name: identifiers(table.frame[name]) for name in ("study_id", "subject_id")}
    columns = {name: table.frame[name] for name in sentence_schema()} | ids
    return pl.DataFrame(columns | {"error_present": present}, schema=dict(sentence_schema()))
