"""The manifest: 26 columns of the paper and six of ours, read back as they were written."""

from __future__ import annotations

import csv
import string
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.manifest import COLUMNS, PAPER_COLUMNS, write_manifest
from overread.benchmarks.grounding.cases import EXTRA_COLUMNS, GroundingCase, load_cases
from overread.case import Box

GOLDEN = Path(__file__).parents[3] / "golden" / "grounding"

# What a cell can hold: not a NUL, and no blanks at its ends, which are not read.
words = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
    .map(str.strip)
    .filter(bool)
)
tricky = st.sampled_from(
    ['a "quoted" one', "two,parts", "line\nbreak", "old\rMac", "DOS\r\nend", "'", "nan", "=1+1"]
)
texts = st.none() | words | tricky
pixels = st.integers(-3, 300)
sides = st.integers(1, 300)
boxes = st.builds(Box, pixels, pixels, sides, sides)
matched = st.builds(Box, st.integers(0, 223), st.integers(0, 223), sides, sides)
ages = st.none() | st.integers(0, 110).map(float) | st.floats(0, 110, allow_nan=False)
digests = st.none() | st.text(string.hexdigits.lower()[:16], min_size=64, max_size=64)


def cases() -> st.SearchStrategy[GroundingCase]:
    free = (
        *("subject_id", "study_id", "dicom_id", "report_path", "view", "gender", "label_text"),
        *("original_sentence", "error_type", "swap_image_path", "opposite_image_path"),
    )
    shared: dict[str, Any] = {
        "case_id": words | tricky,
        "image_path": words | tricky,
        "label": st.integers(0, 1),
        "age": ages,
        "box": st.none() | boxes,
        "irrelevant_box": st.none() | boxes,
        "label_value": st.none() | st.integers(0, 3),
        "swap_match": st.sampled_from([None, "label", "any"]),
        "matched_boxes": st.lists(matched, max_size=5).map(tuple),
        "more_boxes": st.lists(matched, max_size=2).map(tuple),
        "more_irrelevant_boxes": st.lists(matched, max_size=2).map(tuple),
        "image_digest": digests,
        "swap_image_digest": digests,
        **dict.fromkeys(free, texts),
    }
    finding = st.builds(
        GroundingCase,
        **shared,
        source=words.filter(lambda word: word != "rexerr"),
        finding=words | tricky,
        error_sentence=texts,
        error_present=st.none(),
    )
    sentence = st.builds(
        GroundingCase,
        **shared,
        source=st.just("rexerr"),
        finding=texts,
        error_sentence=words | tricky,
        error_present=st.integers(0, 1),
    )
    return finding | sentence


@given(st.lists(cases(), min_size=1, max_size=6, unique_by=lambda case: case.case_id))
def test_what_is_read_back_is_what_was_written(written: list[GroundingCase]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.csv"
        assert write_manifest(path, written) == len(written)
        assert list(load_cases(path)) == written


def test_the_first_26_columns_are_the_papers_in_its_order() -> None:
    with (GOLDEN / "mimic" / "manifest.csv").open(encoding="utf-8") as golden:
        assert list(PAPER_COLUMNS) == next(csv.reader(golden))
    assert (*PAPER_COLUMNS, *EXTRA_COLUMNS) == COLUMNS


def test_cells_are_written_plainly(tmp_path: Path) -> None:
    case = GroundingCase(
        case_id="c",
        source="s",
        image_path="a.png",
        finding="edema",
        label=1,
        age=61.0,
        box=Box(1, 2, 3, 4),
        matched_boxes=(Box(5, 6, 3, 4), Box(7, 8, 3, 4)),
    )
    write_manifest(tmp_path / "manifest.csv", [case])
    data = (tmp_path / "manifest.csv").read_bytes()
    assert b"\r" not in data
    header, row = (line.split(",") for line in data.decode().splitlines())
    cells = dict(zip(header, row, strict=True))
    assert cells["age"] == "61"
    assert [cells[f"box_{side}"] for side in "xywh"] == ["1", "2", "3", "4"]
    assert cells["matched_boxes"] == "5 6 3 4;7 8 3 4"
    assert cells["irrelevant_box_x"] == cells["view"] == cells["image_digest"] == ""


def test_a_manifest_of_the_authors_survives_a_second_writing(tmp_path: Path) -> None:
    first = list(load_cases(GOLDEN / "mimic" / "manifest.csv"))
    write_manifest(tmp_path / "manifest.csv", iter(first))
    assert list(load_cases(tmp_path / "manifest.csv")) == first
