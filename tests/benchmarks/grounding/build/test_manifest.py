"""The manifest: 26 columns of the paper and six of ours, read back as they were written."""

from __future__ import annotations

import csv
import json
import string
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.manifest import (
    PAPER_COLUMNS,
    Exclusion,
    composition_table,
    exclusions_table,
    set_facts,
    strata,
    write_composition,
    write_exclusions,
    write_manifest,
)
from overread.benchmarks.grounding.cases import GroundingCase, load_cases
from overread.case import Box
from overread.imaging import irrelevant_box, overlap

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
        write_manifest(path, written)
        assert list(load_cases(path)) == written


def test_the_first_26_columns_are_the_papers_in_its_order() -> None:
    with (GOLDEN / "mimic" / "manifest.csv").open(encoding="utf-8") as golden:
        assert list(PAPER_COLUMNS) == next(csv.reader(golden))


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
    write_manifest(tmp_path / "manifest.csv", first)
    assert list(load_cases(tmp_path / "manifest.csv")) == first


# ---------------------------------------------------------------- the composition
# What a set is made of, counted: the paper's Supplementary Table 8 and the facts below it.


def case(number: int = 0, **facts: Any) -> GroundingCase:
    given: dict[str, Any] = {"source": "own", "label": 1, "finding": "edema", "view": "PA"}
    return GroundingCase(case_id=f"c{number}", image_path=f"{number}.png", **{**given, **facts})


@pytest.fixture(scope="module")
def authors() -> list[GroundingCase]:
    return list(load_cases(GOLDEN / "builder" / "expected_manifest.csv"))


def test_the_counts_of_the_authors_own_set(authors: list[GroundingCase]) -> None:
    """Their builder's summary, and their manifest counted by hand."""
    summary = json.loads((GOLDEN / "builder" / "expected_summary.json").read_text())["summary"]
    rows = strata(authors)
    by_source: Counter[str] = Counter()
    for row in rows:
        by_source[row.source] += row.total
    assert by_source == summary["by_source"]
    boxed = {row.finding: row.total for row in rows if row.source == "ms_cxr"}
    assert boxed == summary["mscxr_by_finding"]
    labelled = summary["mimic_by_finding_label"]
    for row in rows:
        if row.source == "mimic_cxr":
            assert row.positive == labelled.get(f"{row.finding}|1", 0)
            assert row.negative == labelled.get(f"{row.finding}|0", 0)
    assert set_facts(authors).boxed == summary["with_target_box"]
    assert set_facts(authors).unswapped == len(authors) - summary["with_swap"]


def test_rows_stand_as_in_the_papers_table(authors: list[GroundingCase]) -> None:
    rows = strata(authors)
    assert list(dict.fromkeys(row.source for row in rows)) == ["ms_cxr", "mimic_cxr", "rexerr"]
    mimic = [row.finding for row in rows if row.source == "mimic_cxr"]
    assert mimic == [*sorted(mimic[:-1]), "no_finding"]
    assert [row.finding for row in rows if row.source == "rexerr"] == [
        "image-dependent errors",
        "text-only errors",
        "no-error controls",
    ]


@pytest.mark.parametrize(
    ("kind", "present", "group"),
    [
        ("Change location", 1, "image-dependent errors"),
        ("Change view", 1, "image-dependent errors"),
        ("Add typo", 1, "text-only errors"),
        ("Add repetition", 1, "text-only errors"),
        ("Add contradiction", 1, "other errors"),
        (None, 0, "no-error controls"),
    ],
)
def test_sentences_are_grouped_by_their_error(kind: str, present: int, group: str) -> None:
    (row,) = strata([case(source="rexerr", error_type=kind, error_present=present, label=present)])
    assert row.finding == group
    assert (row.positive, row.negative) == (present, 1 - present)


marks = st.builds(
    case,
    st.integers(0, 30),
    source=st.sampled_from(["own", "ms_cxr", "other"]),
    label=st.integers(0, 1),
    finding=st.sampled_from(["edema", "no_finding", "line_tip"]),
    view=st.sampled_from(["PA", "AP", "LL", "pa", None]),
)


@given(st.lists(marks, min_size=1, max_size=40))
def test_every_case_is_counted_once_each_way(cases: list[GroundingCase]) -> None:
    rows = strata(cases)
    assert sum(row.total for row in rows) == len(cases)
    assert sum(row.pa + row.ap + row.other for row in rows) == len(cases)
    assert sum(row.positive for row in rows) == sum(each.label for each in cases)
    assert sum(row.pa for row in rows) == sum(each.view == "PA" for each in cases)
    assert sum(row.ap for row in rows) == sum(each.view == "AP" for each in cases)
    keys = [(row.source, row.finding) for row in rows]
    assert len(set(keys)) == len(keys)
    shuffled = strata(sorted(cases, key=lambda each: each.case_id))
    assert sorted(shuffled, key=repr) == sorted(rows, key=repr)


def test_the_facts(authors: list[GroundingCase]) -> None:
    far, middle = Box(10, 10, 60, 60), Box(60, 60, 120, 120)
    cases = [
        case(0, subject_id="p", box=far, irrelevant_box=irrelevant_box(far), swap_match="label",
             swap_image_path="1.png", matched_boxes=(Box(100, 100, 60, 60),), image_digest="d"),
        case(0, subject_id="p", box=middle, irrelevant_box=irrelevant_box(middle),
             swap_match="any", swap_image_path="1.png"),
        case(1, subject_id="q", opposite_image_path="0.png"),
        case(2),
    ]  # fmt: skip
    facts = set_facts(cases)
    assert (facts.cases, facts.films, facts.patients, facts.films_of_nobody) == (4, 3, 2, 1)
    assert (facts.boxed, facts.overlapping) == (2, 1)
    assert (facts.fallback_swaps, facts.unswapped, facts.opposites) == (1, 2, 1)
    assert facts.matched == {1: 1, 0: 1}
    assert facts.digested
    assert not set_facts(authors).digested
    counted = sum(
        overlap(each.box, each.irrelevant_box) > 0
        for each in authors
        if each.box is not None and each.irrelevant_box is not None
    )
    assert set_facts(authors).overlapping == counted > 0


def test_the_table_has_a_subtotal_for_each_source_and_a_total(
    authors: list[GroundingCase],
) -> None:
    rows, facts = strata(authors), set_facts(authors)
    table = composition_table(rows, facts, "signed", ["From a list."])
    assert [row[0] for row in table.rows if row[1] == "subtotal"] == [
        "ms_cxr",
        "mimic_cxr",
        "rexerr",
    ]
    assert table.rows[-1][:2] == ("all", "total")
    assert table.rows[-1][-1] == str(len(authors))
    assert len(table.rows) == len(rows) + 4
    assert table.signature == "signed"
    assert table.notes[-1] == "From a list."
    notes = " ".join(table.notes)
    assert f"covers some of the target in {facts.overlapping:,}," in notes
    assert "The images were not read" in notes


def test_matched_boxes_are_told_once_images_were_read() -> None:
    box = Box(10, 10, 60, 60)
    cases = [
        case(n, box=box, image_digest="d", matched_boxes=(box,) * boxes)
        for n, boxes in enumerate((5, 5, 0))
    ]
    notes = composition_table(strata(cases), set_facts(cases)).notes
    assert any("2 with 5, 1 with 0" in note for note in notes)
    assert not any("not read" in note for note in notes)


def test_the_files_hold_what_the_tables_show(tmp_path: Path, authors: list[GroundingCase]) -> None:
    rows = strata(authors)
    write_composition(tmp_path / "composition.csv", rows)
    with (tmp_path / "composition.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [(row["source"], row["finding"]) for row in read] == [
        (row.source, row.finding) for row in rows
    ]
    assert sum(int(row["total"]) for row in read) == len(authors)
    lost = [Exclusion("own", 'no age, or "unknown"', 1234), Exclusion("own", "lateral", 1)]
    write_exclusions(tmp_path / "exclusions.csv", lost)
    with (tmp_path / "exclusions.csv").open(encoding="utf-8", newline="") as file:
        again = [Exclusion(r["source"], r["reason"], int(r["count"])) for r in csv.DictReader(file)]
    assert again == lost
    assert exclusions_table(lost).rows[0] == ("own", "1,234", 'no age, or "unknown"')
    assert exclusions_table([]).notes == ("Nothing was left out.",)
