"""What a probe set is drawn from: films, boxes on films, and sentences about films.

Every reader of an official dataset ends in these tables, so that one set of sampling rules serves
them all. Polars frames, in the order of the files: sampling depends on it (GROUNDING 2.1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import polars as pl

from overread.benchmarks.files.tables import (
    FETCH,
    Table,
    ages,
    codes,
    distinct,
    filled,
    find_table,
    labels,
    matching,
    numbers,
    read_table,
    refuse_first,
)
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.case import BadInput, Policy

LABELS: Final = (*FINDINGS, NORMAL)
# The codes of a label column, as the authors' master lists have them (GROUNDING 1.1).
ABSENT: Final = 0
PRESENT: Final = 1
UNCERTAIN: Final = 2
NOT_MENTIONED: Final = 3

SIDES: Final = ("x", "y", "w", "h")
SEX: Final = {"M": "M", "F": "F"}
# A file's name without folder and ending (GROUNDING 1.1).
STEM: Final = r"([^/]+?)(?:\.[^./]*)?$"
# The splits of a master list.
_SPLITS: Final = {"train": "train", "valid": "valid", "validate": "valid", "test": "test"}


@cache
def film_schema() -> Mapping[str, Any]:
    """One row per film. `image_path` is relative to the images' root and ends in the manifest.

    `view` is PA, AP or another word; `gender` M or F or null; `split` train, valid or test, or null
    where the dataset has none; each of the 14 label columns holds 0, 1, 2, 3 or null.
    """
    texts = ("image_path", "report_path", "dicom_id", "subject_id", "study_id", "view", "gender")
    schema: dict[str, Any] = {**dict.fromkeys(texts, pl.String), "split": pl.String}
    return schema | {"age": pl.Float64} | dict.fromkeys(LABELS, pl.Int8)


@cache
def box_schema() -> Mapping[str, Any]:
    """One row per box, in source pixels; `category` as the dataset writes it."""
    texts = ("dicom_id", "category", "label_text", "image_path")
    sides = (*SIDES, "image_width", "image_height")
    return {**dict.fromkeys(texts, pl.String), **dict.fromkeys(sides, pl.Float64)}


@cache
def sentence_schema() -> Mapping[str, Any]:
    """One row per sentence; `dicom_id` may still be a comma-separated list."""
    texts = ("dicom_id", "study_id", "subject_id", "original_sentence", "error_sentence")
    return {**dict.fromkeys(texts, pl.String), "error_type": pl.String, "error_present": pl.Int8}


# ---------------------------------------------------------------- an official file


class Column(msgspec.Struct, frozen=True):
    """What stands in one column of a file; a row with anything else is refused with `need`."""

    need: str = ""
    # The words that may stand there, and what they stand for.
    words: Mapping[str, Any] | None = None
    kind: Literal["text", "number", "age"] = "text"
    least: float | None = None
    # What a text matches from end to end.
    pattern: str | None = None
    filled: bool = False

    def values(self, table: Table, name: str) -> pl.Series:
        """The column as what it stands for; an empty cell is null."""
        if self.kind == "age":
            return ages(table, name)
        if self.kind == "number":
            return numbers(table, name, self.need, least=self.least)
        if self.pattern is not None:
            matching(table, name, self.pattern, self.need)
        if self.words is None:
            return table.frame[name]
        whole = any(isinstance(value, int) for value in self.words.values())
        return codes(table, name, self.words, self.need, pl.Int8 if whole else pl.String)


TEXT: Final = Column()
KEY: Final = Column(filled=True)
AGE: Final = Column(kind="age")
# A labeler's columns under our names.
LABELER: Final = {label: label.replace("_", " ").title() for label in LABELS}


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """One official file: its name, its columns, and what no two rows have in common."""

    # As it stands in the dataset's folder, plain or gzipped.
    file: str = ""
    columns: Mapping[str, Column]
    optional: Sequence[str] = ()
    once: tuple[str, ...] = ()
    # Whether the 14 columns of a labeler follow.
    labeled: bool = False
    remedy: str = FETCH

    def read(self, place: Path) -> tuple[Table, pl.DataFrame]:
        """The file as text, which can say what is wrong with a row, and what its cells stand for.

        `place` is the file, or for a sheet that has a name the folder it stands in.
        """
        path = find_table(place, self.file) if self.file else place
        theirs = LABELER.values() if self.labeled else ()
        table = read_table(path, (*self.columns, *theirs), self.optional, remedy=self.remedy)
        filled(table, *(name for name, column in self.columns.items() if column.filled))
        if self.once:
            distinct(table, *self.once)
        values = table.frame.with_columns(
            column.values(table, name).alias(name) for name, column in self.columns.items()
        )
        return table, values.hstack(labels(table, LABELER)) if self.labeled else values


def same(*words: str) -> dict[str, str]:
    """Words that stand for themselves."""
    return {word: word for word in words}


def one_of(words: Mapping[str, Any], *, filled: bool = False, empty: bool = False) -> Column:
    """A column of these words, which a refusal lists; `empty` says that there may be none."""
    *others, last = (*words, "empty") if empty else tuple(words)
    return Column(f"it is {', '.join(others)} or {last}", words, filled=filled)


def refuse_outside(table: Table, boxes: pl.DataFrame, names: Sequence[str], side: float) -> None:
    """Refuse a box without a width or height, or one that leaves its square image."""
    x, y, w, h = names
    for along, length in ((x, w), (y, h)):
        refuse_first(table, boxes[length] <= 0, length, "a side is above 0")
        over = boxes[along] + boxes[length] > side * 1.02  # by a hair, some do
        need = f"the box leaves the image of {side:g} x {side:g} pixels"
        refuse_first(table, over, length, need)


# ---------------------------------------------------------------- a dataset as it was read


# What becomes of a film whose image is not there: an error, an exclusion that is counted, or
# nothing, for the images are not looked at.
Missing = Literal["refuse", "exclude", "ignore"]


class FilmsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Films in file order, what reading left out, and lines for whoever reads the set's card.

    `films` has the columns of `film_schema`, and for a folder one more per finding of its own.
    `boxes` has the columns of `box_schema`, and `finding`: our name of the category.
    """

    name: str
    policy: Policy
    films: pl.DataFrame
    exclusions: list[Exclusion] = []
    provenance: list[str] = []
    boxes: pl.DataFrame | None = None
    # The tables that were read.
    files: list[Path] = []


def film_frame(columns: Mapping[str, pl.Series] | pl.DataFrame) -> pl.DataFrame:
    """A film table of these columns; those not given are null, further ones stand at the end."""
    found = pl.DataFrame(columns)
    schema = film_schema()
    return found.select(
        *(
            (pl.col(name) if name in found.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in schema.items()
        ),
        pl.exclude(*schema),
    )


def listed_films(values: pl.DataFrame, **own: pl.Expr) -> pl.DataFrame:
    """The films of a master list, whose names are ours (GROUNDING 1.1)."""
    path = pl.col("jpg_rel_path")
    shared = ("view", "gender", "split", "age", *LABELS)
    columns = {name: pl.col(name) for name in shared} | {
        "image_path": path,
        "dicom_id": path.str.extract(STEM),
        "subject_id": identifiers(pl.col("subject_id")),
    }
    return film_frame(values.select(**columns | own))


def list_columns(label_codes: Sequence[int]) -> dict[str, Column]:
    """The columns both master lists have."""
    # Whole numbers, which pandas writes as 1.0 once a column has an empty cell.
    words = {f"{code}{end}": code for code in label_codes for end in ("", ".0")}
    label = Column(f"a label is {', '.join(map(str, label_codes))} or empty", words)
    return {
        "subject_id": KEY,
        "split": Column("it is train, valid or test", _SPLITS, filled=True),
        "age": Column("an age is a number, 0 or more, or empty", kind="number", least=0),
        **dict.fromkeys(LABELS, label),
    }


def leave_out(read: FilmsRead, out: pl.Series, reason: str) -> FilmsRead:
    """The same without the films flagged, nor their boxes, and with the count of them."""
    count = int(out.sum())
    if not count:
        return read
    boxes = read.boxes
    if boxes is not None:
        gone = read.films.filter(out)["image_path"].to_list()
        boxes = boxes.filter(~pl.col("image_path").is_in(gone))
    return msgspec.structs.replace(
        read,
        films=read.films.filter(~out),
        boxes=boxes,
        exclusions=[*read.exclusions, Exclusion(read.name, reason, count)],
    )


def with_images(read: FilmsRead, root: Path, missing: Missing = "refuse") -> FilmsRead:
    """Only films whose image lies below the root.

    Optional: a set can be drawn from the tables alone, and only its own images fetched afterwards.
    """
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds the images.")
    base = str(root)
    paths = read.films["image_path"]
    gone = pl.Series([not os.path.isfile(f"{base}/{path}") for path in paths], dtype=pl.Boolean)
    if missing == "refuse" and gone.any():
        refuse_missing(read.name, root, paths.filter(gone).to_list(), len(paths))
    return leave_out(read, gone, "the image is not there")


def refuse_missing(name: str, root: Path, gone: list[str], listed: int) -> None:
    """One line on images that are listed and not there."""
    folder = gone[0].partition("/")[0]
    if len(gone) == listed and root.name == folder:
        raise BadInput(
            f"{root} has no {gone[0]}: the names already begin with {folder}. "
            f"Give the folder above, {root.parent}."
        )
    raise BadInput(
        f"{name}: {gone[0]} is listed and not below {root} ({len(gone)} of {listed} images are "
        "missing). Fetch them, or leave such films out with --skip-missing."
    )


# ---------------------------------------------------------------- ids
# Ids as they are compared: text, without the `.0` of a whole number once kept as a float.


def identifiers(words: pl.Expr) -> pl.Expr:
    """The same ids however a table was saved: `1213.0` is patient `1213`."""
    return words.str.replace(r"^(\d+)\.0+$", "${1}")
