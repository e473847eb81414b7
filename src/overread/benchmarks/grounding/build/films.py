"""What a probe set is drawn from: films, boxes on films, and sentences about films.

Every reader of an official dataset ends in these tables, so that one set of sampling rules serves
them all. Polars frames, in the order of the files: sampling depends on it (GROUNDING 2.1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import polars as pl

from overread.benchmarks.files import tables
from overread.benchmarks.files.tables import Table
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.case import BadInput, Policy

LABELS: Final = (*FINDINGS, NORMAL)
# The codes of a label column, as the authors' master lists have them (GROUNDING 1.1).
ABSENT: Final = 0
PRESENT: Final = 1
UNCERTAIN: Final = 2
NOT_MENTIONED: Final = 3

LATERAL: Final = "LATERAL"
SIDES: Final = ("x", "y", "w", "h")
SIZES: Final = ("image_width", "image_height")
SEX: Final = {"M": "M", "F": "F"}
# A file's name without folder and ending (GROUNDING 1.1).
STEM: Final = r"([^/]+?)(?:\.[^./]*)?$"

_FILM_TEXTS: Final = (
    *("image_path", "report_path", "dicom_id", "subject_id", "study_id", "view", "gender", "split"),
)
# One row per film. `image_path` is relative to the images' root and ends in the manifest. `view` is
# PA, AP or another word; `gender` M or F or null; `split` train, valid or test, or null where the
# dataset has none; each of the 14 label columns holds 0, 1, 2, 3 or null.
FILM_SCHEMA: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_FILM_TEXTS, pl.String),
    "age": pl.Float64,
    **dict.fromkeys(LABELS, pl.Int8),
}
# One row per box, in source pixels; `category` as the dataset writes it.
BOX_SCHEMA: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("dicom_id", "category", "label_text", "image_path"), pl.String),
    **dict.fromkeys((*SIDES, *SIZES), pl.Float64),
}
_SENTENCE_TEXTS: Final = (
    *("dicom_id", "study_id", "subject_id", "original_sentence", "error_sentence", "error_type"),
)
# One row per sentence; `dicom_id` may still be a comma-separated list.
SENTENCE_SCHEMA: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_SENTENCE_TEXTS, pl.String),
    "error_present": pl.Int8,
}


# ---------------------------------------------------------------- an official file


class Column(msgspec.Struct, frozen=True):
    """What stands in one column of a file; a row with anything else is refused with `need`."""

    need: str = ""
    # The words that may stand there, and what they stand for.
    words: Mapping[str, Any] | None = None
    kind: Literal["text", "view", "number", "age"] = "text"
    least: float | None = None
    # What a text matches from end to end.
    pattern: str | None = None
    filled: bool = False

    def values(self, table: Table, name: str) -> pl.Series:
        """The column as what it stands for; an empty cell is null."""
        if self.kind == "age":
            return tables.ages(table, name)
        if self.kind == "view":
            return table.frame[name].str.to_uppercase()
        if self.kind == "number":
            return tables.numbers(table, name, self.need, least=self.least)
        if self.pattern is not None:
            tables.matching(table, name, self.pattern, self.need)
        if self.words is None:
            return table.frame[name]
        whole = any(isinstance(value, int) for value in self.words.values())
        return tables.codes(table, name, self.words, self.need, pl.Int8 if whole else pl.String)


TEXT: Final = Column()
KEY: Final = Column(filled=True)
AGE: Final = Column(kind="age")
VIEW: Final = Column(kind="view")
PIXELS: Final = "it is a number of pixels"
# A labeler's columns under our names.
_LABELER: Final = {label: label.replace("_", " ").title() for label in LABELS}


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """One official file: its name, its columns, and what no two rows have in common."""

    # As it stands in the dataset's folder, plain or gzipped.
    file: str = ""
    columns: Mapping[str, Column]
    optional: Sequence[str] = ()
    once: tuple[str, ...] = ()
    # Whether the 14 columns of a labeler follow.
    labeled: bool = False
    remedy: str = tables.FETCH

    def read(self, place: Path) -> tuple[Table, pl.DataFrame]:
        """The file as text, which can say what is wrong with a row, and what its cells stand for.

        `place` is the file, or for a sheet that has a name the folder it stands in.
        """
        path = tables.find_table(place, self.file) if self.file else place
        needed = (*self.columns, *(_LABELER.values() if self.labeled else ()))
        table = tables.read_table(path, needed, self.optional, remedy=self.remedy)
        tables.filled(table, *(name for name, column in self.columns.items() if column.filled))
        if self.once:
            tables.distinct(table, *self.once)
        values = table.frame.with_columns(
            column.values(table, name).alias(name) for name, column in self.columns.items()
        )
        return table, values.hstack(tables.labels(table, _LABELER)) if self.labeled else values


def one_of(
    words: Mapping[str, Any] | Sequence[str], *, filled: bool = False, empty: bool = False
) -> Column:
    """A column of these words, which a refusal lists; `empty` says that there may be none.

    Words of a sequence stand for themselves.
    """
    *others, last = (*words, "empty") if empty else tuple(words)
    known = words if isinstance(words, Mapping) else {word: word for word in words}
    return Column(f"it is {', '.join(others)} or {last}", known, filled=filled)


# ---------------------------------------------------------------- a dataset as it was read


# What becomes of a film whose image is not there: an error, an exclusion that is counted, or
# nothing, for the images are not looked at.
Missing = Literal["refuse", "exclude", "ignore"]


class FilmsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Films in file order, what reading left out, and lines for whoever reads the set's card.

    `films` has the columns of `FILM_SCHEMA`, and for a folder one more per finding of its own.
    `boxes` has the columns of `BOX_SCHEMA`, and, but for MS-CXR's, `finding`: our name of the
    category. `sentences` has those of `SENTENCE_SCHEMA`.
    """

    name: str
    policy: Policy
    films: pl.DataFrame
    exclusions: list[Exclusion] = []
    provenance: list[str] = []
    boxes: pl.DataFrame | None = None
    sentences: pl.DataFrame | None = None
    # The tables that were read.
    files: list[Path] = []


def film_frame(columns: Mapping[str, pl.Series] | pl.DataFrame) -> pl.DataFrame:
    """A film table of these columns; those not given are null, further ones stand at the end."""
    found = pl.DataFrame(columns)
    return found.select(
        *(
            (pl.col(name) if name in found.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in FILM_SCHEMA.items()
        ),
        pl.exclude(*FILM_SCHEMA),
    )


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


def with_images(read: FilmsRead, root: Path, missing: Missing) -> FilmsRead:
    """Only films whose image lies below the root.

    Optional: a set can be drawn from the tables alone, and only its own images fetched afterwards.
    """
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds the images.")
    base = str(root)
    paths = read.films["image_path"]
    flags = pl.Series([not os.path.isfile(f"{base}/{path}") for path in paths], dtype=pl.Boolean)
    if missing == "refuse" and flags.any():
        gone = paths.filter(flags)
        folder = gone[0].partition("/")[0]
        if len(gone) == len(paths) and root.name == folder:
            raise BadInput(
                f"{root} has no {gone[0]}: the names already begin with {folder}. "
                f"Give the folder above, {root.parent}."
            )
        raise BadInput(
            f"{read.name}: {gone[0]} is listed and not below {root} ({len(gone)} of {len(paths)} "
            "images are missing). Fetch them, or leave such films out with --skip-missing."
        )
    return leave_out(read, flags, "the image is not there")
