"""The cases: what is known of each, how a manifest is read, and the columns of cases.parquet.

A manifest has one row per case, 26 columns (GROUNDING 1.2), and is read as a stream and checked.
An error names the file and the row. Rows are counted as an editor counts lines: the header is row
1, and a row that holds line breaks inside quotes is named by the line it starts on.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from overread.benchmarks.files.card import read_card
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding.boxes import overlap_fraction
from overread.benchmarks.grounding.edition import CORRECTED, Edition
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Box
from overread.files import MOST_TABLE, open_file

__all__ = [
    "CONTROL",
    "ERROR_GROUPS",
    "EXTRA_COLUMNS",
    "UNION_COLUMNS",
    "Dataset",
    "GroundingCase",
    "boxed",
    "case_row",
    "case_schema",
    "error_name",
    "group_of",
    "load_cases",
    "manifest_path",
    "refuse_films",
    "truth",
]

# ---------------------------------------------------------------- injected errors
# The errors injected into report sentences, by what it takes to notice them [D34].


CONTROL: Final = "control"
ERROR_GROUPS: Final = {
    "image_dependent": (
        "add_medical_device",
        "change_location",
        "change_name_of_device",
        "change_position_of_device",
        "change_severity",
        "change_view",
        "false_negation",
        "false_prediction",
    ),
    "text_only": ("add_repetition", "add_typo", "change_to_homophone"),
}


def error_name(text: str) -> str:
    """An error type as one canonical word: "Change location" and change_location are one type."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def group_of(error_type: str | None, error_present: int | None) -> str | None:
    """The group of a sentence, or None for an error of a type that belongs to none."""
    if error_present == 0:
        return CONTROL
    if error_present is None or error_type is None:
        return None
    name = error_name(error_type)
    return next((group for group, types in ERROR_GROUPS.items() if name in types), None)


# ---------------------------------------------------------------- cases
# The manifest: one row per case, 26 columns (GROUNDING 1.2), read as a stream and checked.
#
# An error names the file and the row. Rows are counted as an editor counts lines: the header is row
# 1, and a row that holds line breaks inside quotes is named by the line it starts on.


_BOX: Final = ("box_x", "box_y", "box_w", "box_h")
_IRRELEVANT: Final = tuple(f"irrelevant_{side}" for side in _BOX)
# Written by `overread build` beyond the paper's 26 columns.
EXTRA_COLUMNS: Final = (
    "label_value",
    "swap_match",
    "opposite_image_path",
    "matched_boxes",
    "image_digest",
    "swap_image_digest",
)
# And where a film has several boxes of its finding.
UNION_COLUMNS: Final = ("more_boxes", "more_irrelevant_boxes")
# Without these nothing can be asked or scored. The other columns of 1.2 describe a case and may be
# missing; columns beyond the 26 are ignored.
# Names of images below the data root.
IMAGE_COLUMNS: Final = ("image_path", "swap_image_path", "opposite_image_path")
NEEDED: Final = (
    "case_id",
    "source",
    "image_path",
    "subject_id",
    "finding",
    "label",
    *_BOX,
    "error_sentence",
    "error_present",
    "swap_image_path",
    *_IRRELEVANT,
)
# The sources the authors' code has a key for, and ours: phantoms are built like MS-CXR.
KEYED_BY_LABEL: Final = frozenset({"ms_cxr", "mimic_cxr", "chexpert", "phantom"})
_FARTHEST: Final = 100_000
_FLAGS: Final = {"yes": 1, "present": 1, "no": 0, "absent": 0}
BOXED_SOURCES: Final = frozenset({"ms_cxr", "phantom"})


class GroundingCase(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the manifest; what is empty there is None here."""

    case_id: str
    source: str
    image_path: str
    label: int
    finding: str | None = None
    subject_id: str | None = None
    study_id: str | None = None
    dicom_id: str | None = None
    report_path: str | None = None
    view: str | None = None
    age: float | None = None
    gender: str | None = None
    label_text: str | None = None
    box: Box | None = None
    irrelevant_box: Box | None = None
    original_sentence: str | None = None
    error_sentence: str | None = None
    error_type: str | None = None
    error_present: int | None = None
    swap_image_path: str | None = None
    # What `overread build` adds to the paper's 26 columns. The label as the dataset has it (0, 1,
    # 2 uncertain, 3 not mentioned), since an absent finding may only be one not mentioned [D22].
    label_value: int | None = None
    # What the swapped image was matched on: "label"; "free" where the case has no finding to match;
    # "any" where no image matched [D22].
    swap_match: str | None = None
    # Another patient's image of the opposite label for the same finding.
    opposite_image_path: str | None = None
    # Boxes of the target's size inside the body that do not touch it, in the order drawn. Where a
    # case has several targets every draw is as many boxes, in their order.
    matched_boxes: tuple[Box, ...] = ()
    # SHA-256 of the image files, where the builder could read them.
    image_digest: str | None = None
    swap_image_digest: str | None = None
    # Further boxes of the finding, all hidden together with `box`, and theirs elsewhere.
    more_boxes: tuple[Box, ...] = ()
    more_irrelevant_boxes: tuple[Box, ...] = ()

    @property
    def targets(self) -> tuple[Box, ...]:
        """All boxes of the finding."""
        return () if self.box is None else (self.box, *self.more_boxes)

    @property
    def controls(self) -> tuple[Box, ...]:
        """The boxes that should not matter, as large as the targets."""
        if self.irrelevant_box is None:
            return ()
        return (self.irrelevant_box, *self.more_irrelevant_boxes)

    @property
    def draws(self) -> tuple[tuple[Box, ...], ...]:
        """The matched boxes, draw by draw."""
        size, boxes = max(1, len(self.targets)), self.matched_boxes
        return tuple(boxes[at : at + size] for at in range(0, len(boxes) - size + 1, size))


def truth(case: GroundingCase, edition: Edition) -> int:
    """The right answer: 1 (Yes), 0 (No), or -1 where the edition has no key (GROUNDING 4.3)."""
    if case.source == SENTENCE_SOURCE:
        return -1 if case.error_present is None else 1 - case.error_present
    if case.source not in KEYED_BY_LABEL and edition.other_sources == "unkeyed":
        return -1
    if case.finding == NORMAL and edition.normals == "no":
        # label says "this film is normal"; the question is whether anything is abnormal [D1].
        return 1 - case.label
    return case.label


def boxed(case: GroundingCase, edition: Edition) -> bool:
    """Whether CGR and IS count this case: it has a target box (in the paper, MS-CXR only)."""
    if edition.other_sources == "unkeyed" and case.source not in BOXED_SOURCES:
        return False
    return case.box is not None


# ---------------------------------------------------------------- loading


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cases stand, and what they are called."""

    manifest: Path
    name: str
    digest: str

    @property
    def label(self) -> str:
        return f"{self.name}@{self.digest}"

    @classmethod
    def at(cls, path: str | Path) -> Dataset:
        """The dataset of a manifest, with its card `dataset.toml` if one stands beside it."""
        manifest = manifest_path(path)
        card = read_card(manifest.parent / "dataset.toml")
        folder = manifest.absolute().parent.name
        name = card.get("name") or (folder if manifest.name == "manifest.csv" else manifest.stem)
        with open_file(manifest, at_most=MOST_TABLE) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:8]
        return cls(manifest=manifest, name=name, digest=digest)


def manifest_path(path: str | Path) -> Path:
    """The manifest: the file itself, or `manifest.csv` in the folder given."""
    found = Path(path)
    if found.is_dir():
        found = found / "manifest.csv"
        if not found.is_file():
            raise BadInput(f"{path} is a folder without manifest.csv. Give the manifest's path.")
    if not found.is_file():
        raise BadInput(f"{path}: there is no such file. Give a manifest, or phantom:N.")
    return found


def load_cases(path: str | Path, edition: Edition = CORRECTED) -> Iterator[GroundingCase]:
    """Every case of a manifest in its order, checked; the first bad row raises `BadInput`."""
    manifest = manifest_path(path)
    refuse_films(manifest)
    seen: dict[str, int] = {}
    for line, row in rows_of(manifest, NEEDED):
        case = _Row(manifest, line, row).case(edition)
        first = seen.setdefault(case.case_id, line)
        if first != line:
            raise BadInput(
                f'{manifest} row {line}: case_id "{case.case_id}" stands in row {first} already. '
                "Give each case its own id."
            )
        yield case
    if not seen:
        raise BadInput(f"{manifest} has a header but no cases. Give a manifest with rows.")


# What lists of films call the columns that `overread build grounding --folder` needs.
_FILM_NAMES: Final = {
    "image": ("image_path", "path", "file", "filename", "file_name", "Image Index"),
    "finding": ("Finding", "finding_label", "category"),
    "label": ("Label", "target", "Target", "present"),
}


def refuse_films(path: Path) -> None:
    """A list of films is no manifest yet: say how to make one of it."""
    header = next((cells for _, cells in rows_of(path, ())), {})
    if {"case_id", "source", "swap_image_path"} & set(header):
        return
    if not {"image", *_FILM_NAMES["image"]} & set(header):
        return
    words = ["overread", "build", "grounding", "--folder", str(path)]
    for ours, theirs in _FILM_NAMES.items():
        if ours in header:
            continue
        named = next((name for name in theirs if name in header), None)
        if named is None and ours == "finding":
            words += ["--finding", "FINDING"]
        else:
            words += ["--column", f"{ours}={named or 'COLUMN'}"]
    words += ["--out", f"{path.stem}-probe"]
    raise BadInput(
        f"{path} lists films and is no manifest (no column case_id). Make a probe set of it: "
        f"{shlex.join(words)}"
    )


class _Row:
    """One row being read: knows its file and line, so every complaint can name them."""

    def __init__(self, path: Path, line: int, cells: Mapping[str, str]) -> None:
        self.path, self.line, self.cells = path, line, cells

    def case(self, edition: Edition) -> GroundingCase:
        source = self.required("source")
        is_sentence = source == SENTENCE_SOURCE
        if is_sentence and edition.missing_sentence == "reject":
            self.required("error_sentence")
        return GroundingCase(
            case_id=self.required("case_id"),
            source=source,
            image_path=self.required("image_path"),
            label=self.flag("label"),
            finding=self.text("finding") if is_sentence else self.required("finding"),
            subject_id=self.text("subject_id"),
            study_id=self.text("study_id"),
            dicom_id=self.text("dicom_id"),
            report_path=self.text("report_path"),
            view=self.text("view"),
            age=self.age(),
            gender=self.text("gender"),
            label_text=self.text("label_text"),
            box=self.box(_BOX),
            irrelevant_box=self.box(_IRRELEVANT),
            original_sentence=self.text("original_sentence"),
            error_sentence=self.text("error_sentence"),
            error_type=self.text("error_type"),
            error_present=self.flag("error_present") if is_sentence else None,
            swap_image_path=self.text("swap_image_path"),
            label_value=self.label_value(),
            swap_match=self.text("swap_match"),
            opposite_image_path=self.text("opposite_image_path"),
            matched_boxes=self.boxes("matched_boxes"),
            image_digest=self.text("image_digest"),
            swap_image_digest=self.text("swap_image_digest"),
            more_boxes=self.boxes("more_boxes"),
            more_irrelevant_boxes=self.boxes("more_irrelevant_boxes"),
        )

    def text(self, column: str) -> str | None:
        return self.cells.get(column, "").strip() or None

    def required(self, column: str) -> str:
        return self.text(column) or self.wrong(column, "every case needs one")

    def flag(self, column: str) -> int:
        word = (self.text(column) or "").lower()
        if word in _FLAGS:
            return _FLAGS[word]
        value = self.whole(column)
        if value not in (0, 1):
            self.wrong(column, "it is 0 or 1")
        return value

    def whole(self, column: str) -> int:
        value = self.number(column)
        if value != int(value):
            self.wrong(column, "it is a whole number")
        return int(value)

    def pixels(self, column: str) -> int:
        value = self.whole(column)
        if abs(value) > _FARTHEST:
            self.wrong(column, f"boxes are in pixels of the working resolution, below {_FARTHEST}")
        return value

    def number(self, column: str) -> float:
        try:
            value = float(self.text(column) or "nothing")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.wrong(column, "it is a number")
        return value

    def age(self) -> float | None:
        if self.text("age") is None:
            return None
        age = self.number("age")
        if age < 0:
            self.wrong("age", "an age is 0 or more")
        return age

    def box(self, columns: tuple[str, ...]) -> Box | None:
        given = [column for column in columns if self.text(column) is not None]
        if not given:
            return None
        if len(given) < len(columns):
            empty = next(column for column in columns if column not in given)
            self.wrong(empty, f"a box needs all of {', '.join(columns)}, or none")
        x, y, w, h = (self.pixels(column) for column in columns)
        if w <= 0:
            self.wrong(columns[2], "a box needs a width above 0")
        if h <= 0:
            self.wrong(columns[3], "a box needs a height above 0")
        return Box(x, y, w, h)

    def label_value(self) -> int | None:
        if self.text("label_value") is None:
            return None
        value = self.whole("label_value")
        if value not in (0, 1, 2, 3):
            self.wrong("label_value", "it is 0, 1, 2 (uncertain) or 3 (not mentioned)")
        return value

    def boxes(self, column: str) -> tuple[Box, ...]:
        """`x y w h` of each box, joined by semicolons."""
        boxes = []
        for words in (self.text(column) or "").split(";"):
            if not words.strip():
                continue
            sides = words.split()
            if len(sides) != 4 or not all(side.isascii() and side.isdecimal() for side in sides):
                self.wrong(column, 'a box is "x y w h" in pixels, joined by ";"')
            x, y, w, h = map(int, sides)
            if not w or not h or max(x, y, w, h) > _FARTHEST:
                self.wrong(column, f"sides are above 0, and all below {_FARTHEST}")
            boxes.append(Box(x, y, w, h))
        return tuple(boxes)

    def wrong(self, column: str, need: str) -> NoReturn:
        value = self.cells.get(column, "")
        shown = value if len(value) <= 40 else value[:40] + "…"
        raise BadInput(
            f'{self.path.name} row {self.line}: {column} is "{shown}"; {need}. Fix the row.'
        )


# ---------------------------------------------------------------- the table
# The columns of cases.parquet and answers.parquet. Imports polars only when asked.


@cache
def case_schema() -> Mapping[str, Any]:
    """The manifest's columns (`case_id` is `case` in every table) and the overlap of the boxes."""
    import polars as pl

    texts = ("source", "image_path", "report_path", "dicom_id", "subject_id", "study_id", "view")
    schema: dict[str, Any] = {"case": pl.String, **dict.fromkeys(texts, pl.String)}
    schema |= {"age": pl.Float64, "gender": pl.String, "finding": pl.String, "label": pl.Int8}
    schema |= dict.fromkeys(
        ("label_text", "original_sentence", "error_sentence", "error_type"), pl.String
    )
    schema |= {"error_present": pl.Int8, "swap_image_path": pl.String}
    for box in ("box", "irrelevant_box"):
        schema |= dict.fromkeys((f"{box}_{side}" for side in "xywh"), pl.Int32)
    schema |= {"overlap": pl.Float64, "label_value": pl.Int8, "swap_match": pl.String}
    return schema


def case_row(case: GroundingCase) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    target, control = case.box, case.irrelevant_box
    return (
        case.case_id,
        case.source,
        case.image_path,
        case.report_path,
        case.dicom_id,
        case.subject_id,
        case.study_id,
        case.view,
        case.age,
        case.gender,
        case.finding,
        case.label,
        case.label_text,
        case.original_sentence,
        case.error_sentence,
        case.error_type,
        case.error_present,
        case.swap_image_path,
        *((None,) * 4 if target is None else (target.x, target.y, target.w, target.h)),
        *((None,) * 4 if control is None else (control.x, control.y, control.w, control.h)),
        overlap_fraction(case.targets, case.controls) if target and control else None,
        case.label_value,
        case.swap_match,
    )
