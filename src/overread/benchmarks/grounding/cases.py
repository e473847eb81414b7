"""The cases: what is known of each, how a manifest is read, and the columns of cases.parquet.

A manifest has one row per case, 26 columns (GROUNDING 1.2), and is read as a stream and checked.
An error names the file and the row. Rows are counted as an editor counts lines: the header is row
1, and a row that holds line breaks inside quotes is named by the line it starts on.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.files.card import read_card
from overread.benchmarks.files.fields import Fields, read_fields, refuse_twice
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding.edition import CORRECTED, Edition
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.benchmarks.tables import Int8, Int32
from overread.case import BadInput, Box
from overread.files import MOST_TABLE, open_file
from overread.imaging import overlap_fraction

# ---------------------------------------------------------------- injected errors
# The errors injected into report sentences, by what it takes to notice them [D34].


CONTROL: Final = "control"
ERROR_GROUPS: Final = {
    "image_dependent": (
        *("add_medical_device", "change_location", "change_name_of_device"),
        *("change_position_of_device", "change_severity", "change_view"),
        *("false_negation", "false_prediction"),
    ),
    "text_only": ("add_repetition", "add_typo", "change_to_homophone"),
}


@lru_cache
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


_BOX: Final = ("box_x", "box_y", "box_w", "box_h")
_IRRELEVANT: Final = tuple(f"irrelevant_{side}" for side in _BOX)
# Written by `overread build` beyond the paper's 26 columns.
EXTRA_COLUMNS: Final = (
    *("label_value", "swap_match", "opposite_image_path", "matched_boxes"),
    *("image_digest", "swap_image_digest"),
)
# And where a film has several boxes of its finding.
UNION_COLUMNS: Final = ("more_boxes", "more_irrelevant_boxes")
# Names of images below the data root.
IMAGE_COLUMNS: Final = ("image_path", "swap_image_path", "opposite_image_path")
# Without these nothing can be asked or scored. The other columns of 1.2 describe a case and may be
# missing; columns beyond the 26 are ignored.
NEEDED: Final = (
    *("case_id", "source", "image_path", "subject_id", "finding", "label", *_BOX),
    *("error_sentence", "error_present", "swap_image_path", *_IRRELEVANT),
)
# The sources the authors' code has a key for, and ours: phantoms are built like MS-CXR.
KEYED_BY_LABEL: Final = frozenset({"ms_cxr", "mimic_cxr", "chexpert", "phantom"})
_EVERY_CASE: Final = "every case needs one"
# Columns that are taken as they are.
_TEXTS: Final = (
    *("subject_id", "study_id", "dicom_id", "report_path", "view", "gender", "label_text"),
    *("original_sentence", "error_sentence", "error_type", "swap_image_path", "swap_match"),
    *("opposite_image_path", "image_digest", "swap_image_digest"),
)
BOXED_SOURCES: Final = frozenset({"ms_cxr", "phantom"})


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a case and its row of cases.parquet have alike; what is empty in a manifest is None."""

    case_id: str
    source: str
    image_path: str
    report_path: str | None = None
    dicom_id: str | None = None
    subject_id: str | None = None
    study_id: str | None = None
    view: str | None = None
    age: float | None = None
    gender: str | None = None
    finding: str | None = None
    label: Int8
    label_text: str | None = None
    original_sentence: str | None = None
    error_sentence: str | None = None
    error_type: str | None = None
    error_present: Int8 | None = None
    swap_image_path: str | None = None


class GroundingCase(_Facts, frozen=True, kw_only=True):
    """One row of the manifest."""

    box: Box | None = None
    irrelevant_box: Box | None = None
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
    counts = edition.other_sources != "unkeyed" or case.source in BOXED_SOURCES
    return counts and case.box is not None


# ---------------------------------------------------------------- loading


def dataset_at(path: str | Path) -> tuple[str, str]:
    """What the cases of a manifest are called, by the card beside it if there is one; a digest."""
    manifest = manifest_path(path)
    card = read_card(manifest.parent / "dataset.toml")
    folder = manifest.absolute().parent.name
    name = card.get("name") or (folder if manifest.name == "manifest.csv" else manifest.stem)
    with open_file(manifest, at_most=MOST_TABLE) as file:
        return name, hashlib.file_digest(file, "sha256").hexdigest()[:8]


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
    taken: dict[str, str] = {}
    for row in read_fields(manifest, NEEDED):
        case = _case_of(row, edition)
        refuse_twice(taken, case.case_id, row.where, "Give each case its own id.")
        yield case
    if not taken:
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
    ours = {"case_id", "source", "swap_image_path"} & set(header)
    if ours or not {"image", *_FILM_NAMES["image"]} & set(header):
        return
    words = ["overread", "build", "grounding", "--folder", str(path)]
    for column, theirs in _FILM_NAMES.items():
        named = next((name for name in (column, *theirs) if name in header), None)
        if named is None and column == "finding":
            words += ["--finding", "FINDING"]
        elif named != column:
            words += ["--column", f"{column}={named or 'COLUMN'}"]
    words += ["--out", f"{path.stem}-probe"]
    raise BadInput(
        f"{path} lists films and is no manifest (no column case_id). Make a probe set of it: "
        f"{shlex.join(words)}"
    )


def _case_of(row: Fields, edition: Edition) -> GroundingCase:
    source = row.required("source", _EVERY_CASE)
    is_sentence = source == SENTENCE_SOURCE
    if is_sentence and edition.missing_sentence == "reject":
        row.required("error_sentence", _EVERY_CASE)
    facts: dict[str, Any] = row.facts(_TEXTS)
    facts |= {column: row.boxes(column) for column in ("matched_boxes", *UNION_COLUMNS)}
    need = "it is 0, 1, 2 (uncertain) or 3 (not mentioned)"
    return GroundingCase(
        case_id=row.required("case_id", _EVERY_CASE),
        source=source,
        image_path=row.required("image_path", _EVERY_CASE),
        label=row.flag("label"),
        finding=row.fact("finding") if is_sentence else row.required("finding", _EVERY_CASE),
        age=row.if_given("age", lambda age: row.number(age, "an age is 0 or more", low=0)),
        box=row.box(_BOX),
        irrelevant_box=row.box(_IRRELEVANT),
        error_present=row.flag("error_present") if is_sentence else None,
        label_value=row.if_given(
            "label_value", lambda value: row.whole(value, need, low=0, high=3)
        ),
        **facts,
    )


# ---------------------------------------------------------------- the table


class CaseRow(_Facts, frozen=True, kw_only=True):
    """One row of cases.parquet: the manifest's columns, and how far the boxes overlap."""

    box_x: Int32 | None = None
    box_y: Int32 | None = None
    box_w: Int32 | None = None
    box_h: Int32 | None = None
    irrelevant_box_x: Int32 | None = None
    irrelevant_box_y: Int32 | None = None
    irrelevant_box_w: Int32 | None = None
    irrelevant_box_h: Int32 | None = None
    overlap: float | None = None
    label_value: Int8 | None
    swap_match: str | None


_COPIED: Final = tuple(
    field for field in CaseRow.__struct_fields__ if field in GroundingCase.__struct_fields__
)


def row_of(case: GroundingCase) -> CaseRow:
    """A case as a row of the cases table."""
    facts = {field: getattr(case, field) for field in _COPIED}
    for name, box in (("box", case.box), ("irrelevant_box", case.irrelevant_box)):
        if box is not None:
            facts |= {f"{name}_{side}": getattr(box, side) for side in "xywh"}
    if case.box and case.irrelevant_box:
        facts["overlap"] = overlap_fraction(case.targets, case.controls)
    return CaseRow(**facts)
