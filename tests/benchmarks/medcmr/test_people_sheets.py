"""Errors sampled, labelled by people, read back, and counted."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overread.benchmarks.files.sheets import as_filled
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import CORRECTED, Options
from overread.benchmarks.medcmr.people_measures import error_measures
from overread.benchmarks.medcmr.people_sheets import (
    COLUMNS,
    ERRORS,
    ErrorRow,
    read_error_sheet,
    sample_errors,
    write_error_sheet,
)
from overread.benchmarks.medcmr.study import Study
from overread.benchmarks.medcmr.trials import reformulated_items
from overread.case import BadInput
from overread.judging.sheet import guarded
from support.med_tables import FIVE, chose, found, mcq, tables_of

DIMENSIONS = ("SOD", "CR", "FDD", None)
CASES = [mcq(at, "A", DIMENSIONS[at % 4]) for at in range(80)]
# r is wrong on all items but every tenth; s is right on the even ones.
ANSWERS = [
    *(chose("r", at, "A" if at % 10 == 0 else "B", text=f"B {at}") for at in range(78)),
    chose("r", 78, "!"),
    chose("r", 79, "?", text="/S"),
    *(chose("s", at, "C" if at % 2 else "A") for at in range(80)),
    *(chose("r", at, "B", image="blank") for at in range(80)),
    *(chose("r", at, "A", order=1) for at in range(80)),
]
TABLES = tables_of(CASES, ANSWERS)
# Cells that try to be formulas, rows or bytes that they are not.
HOSTILE = st.text(
    st.sampled_from("=+-@＝\t\r\n\"',; \0\ud800\ufffdéa'") | st.characters(), max_size=12
)


def filled(path: Path, label, note="") -> Path:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(row | {"label": label(row), "note": note} for row in rows)
    return path


def shares(*paths: Path, tables=TABLES):
    study = Study(tables, None, CORRECTED)
    options = Options(errors=",".join(map(str, paths)))
    return error_measures(study, tables, options)


def test_a_sample_holds_so_many_wrong_replies_of_each_dimension() -> None:
    rows = sample_errors(TABLES, "r", 5, seed=1)
    assert [row.dimension for row in rows] == ["SOD"] * 5 + ["FDD"] * 5 + ["CR"] * 5 + [""] * 5
    everything = sample_errors(TABLES, "r", 1000)
    wrong = {f"mcq-{at}" for at in range(80) if at % 10} - {"mcq-78"}
    assert {row.case for row in everything} == wrong, "a refusal has nothing to label"
    one = next(row for row in everything if row.case == "mcq-1")
    assert one == ErrorRow(
        case="mcq-1", reader="r", dimension="CR", question="?", images="1.png",
        options="\n".join(f"{a}) {b}" for a, b in zip("ABCDE", FIVE, strict=True)),
        right="A) aa", given="B) bbbb", reply="B 1",
    )  # fmt: skip
    assert next(row for row in everything if row.case == "mcq-79").given == ""


def test_a_sample_is_the_same_for_a_seed_and_a_part_of_a_larger_one() -> None:
    rows = sample_errors(TABLES, "r", 5, seed=1)
    mixed = msgspec.structs.replace(
        TABLES,
        cases=TABLES.cases.sample(fraction=1, shuffle=True, seed=3),
        answers=TABLES.answers.sample(fraction=1, shuffle=True, seed=4),
    )
    assert sample_errors(mixed, "r", 5, seed=1) == rows
    assert sample_errors(TABLES, "r", 5, seed=2) != rows
    assert set(map(str, rows)) < set(map(str, sample_errors(TABLES, "r", 6, seed=1)))


def test_what_a_medical_model_lost_against_its_base() -> None:
    rows = sample_errors(TABLES, "r", 100, right_for="s")
    assert {row.case for row in rows} == {f"mcq-{at}" for at in range(0, 78, 2) if at % 10}


def test_a_reader_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match='reader is "q"; the readers of this run are r, s'):
        sample_errors(TABLES, "q")
    with pytest.raises(BadInput, match='reader is "q"'):
        sample_errors(TABLES, "r", right_for="q")


def test_shares_by_hand(tmp_path: Path) -> None:
    rows = sample_errors(TABLES, "r", 4)
    write_error_sheet(tmp_path / "e.csv", rows)
    words = {"SOD": "Recognition", "FDD": " medical  knowledge", "CR": "QUESTION misunderstanding"}
    filled(tmp_path / "e.csv", lambda row: words.get(row["dimension"], ""))
    records = shares(tmp_path / "e.csv")
    third = found(records, "error_share", "r", error="recognition")
    assert (third.value, third.k, third.n) == (1 / 3, 4, 12)
    assert third.note == "4 not labelled"
    z = 1.959963984540054
    wilsons = (4 + z * z / 2 - z * math.sqrt(4 * 8 / 12 + z * z / 4)) / (12 + z * z)
    exact = sum(math.comb(12, k) * third.low**k * (1 - third.low) ** (12 - k) for k in range(4, 13))
    assert exact == pytest.approx(0.07)  # Clopper and Pearson's one-sided bound lies further out
    assert third.low < wilsons
    whole = found(records, "error_share", "r", dimension="FDD", error="knowledge")
    assert (whole.value, whole.n) == (1, 4)
    assert found(records, "error_share", "r", dimension="CR", error="format").value == 0
    for dimension in ("SOD", "FDD", "CR"):
        some = [
            found(records, "error_share", "r", dimension=dimension, error=error).value
            for error in ERRORS
        ]
        assert sum(some) == 1


def test_two_sheets_are_read_as_one_and_what_is_right_now_is_left_out(tmp_path: Path) -> None:
    rows = sample_errors(TABLES, "r", 3)
    write_error_sheet(tmp_path / "a.csv", rows[:2])
    right = msgspec.structs.replace(rows[2], case="mcq-20")
    write_error_sheet(tmp_path / "b.csv", [right])
    for name in "ab":
        filled(tmp_path / f"{name}.csv", lambda row: "format")
    record = found(shares(tmp_path / "a.csv", tmp_path / "b.csv"), "error_share", error="format")
    assert (record.n, record.flags) == (2, ("few",))
    assert record.note == "1 right under these rules, left out"
    write_error_sheet(tmp_path / "c.csv", rows[:1])
    with pytest.raises(BadInput, match=r"c.csv row 2: the same case and reader as a.csv row 2"):
        shares(tmp_path / "a.csv", tmp_path / "c.csv")


def test_no_file_no_shares() -> None:
    assert error_measures(Study(TABLES, None, CORRECTED), TABLES, Options()) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"label": "vision"}, 'e.csv row 2: label is "vision"; expected recognition, reasoning'),
        ({"label": "=1"}, 'e.csv row 2: label is "'),
        ({"case": "mcq-999"}, 'e.csv row 2: case is "mcq-999", which is no multiple-choice item'),
        ({"case": ""}, "e.csv row 2: case is empty"),
        ({"reader": "someone"}, 'e.csv row 2: reader is "someone"; the readers of this run are r'),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change, complaint: str) -> None:
    path = tmp_path / "e.csv"
    write_error_sheet(path, [msgspec.structs.replace(sample_errors(TABLES, "r", 1)[0], **change)])
    with pytest.raises(BadInput) as caught:
        shares(path)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_row_twice_or_no_file_is_said(tmp_path: Path) -> None:
    row = sample_errors(TABLES, "r", 1)[0]
    write_error_sheet(tmp_path / "e.csv", [row, row])
    with pytest.raises(BadInput, match="the same case and reader as row 2"):
        read_error_sheet(tmp_path / "e.csv")
    with pytest.raises(BadInput, match="there is no such file"):
        read_error_sheet(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="is there already"):
        write_error_sheet(tmp_path / "e.csv", [row])


def test_the_sheet_says_which_items_to_reformulate(tmp_path: Path) -> None:
    rows = sample_errors(TABLES, "r", 3, right_for="s")
    write_error_sheet(tmp_path / "e.csv", rows)
    cases = [
        MedCase(case_id=f"mcq-{at}", index=at, kind="mcq", question="?", images=(), answer="A", options=FIVE)
        for at in range(80)
    ]  # fmt: skip
    options = Options(reformulate=str(tmp_path / "e.csv"))
    assert reformulated_items(cases, options, 0) == {row.case for row in rows}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, st.sampled_from(("", *ERRORS))), max_size=5))
@example([("=1+1", "r", '"', "format"), ("'=1+1", "r", "\r\n", "")])
@example([("a", "r", "\ud800\0", "question")])
def test_what_is_written_and_labelled_reads_back(cells) -> None:
    rows = [
        ErrorRow(
            case=case, reader=reader, dimension="SOD", question=text, options=text, images=text,
            right=text, given=text, reply=text, label=label, note=text,
        )
        for case, reader, text, label in cells
    ]  # fmt: skip
    names = [(as_filled(row.case), as_filled(row.reader)) for row in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "e.csv"
        write_error_sheet(path, rows)
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        if len(set(names)) < len(names) or not all(a and b for a, b in names):
            if rows:
                with pytest.raises(BadInput):
                    read_error_sheet(path)
            return
        found_ = read_error_sheet(path)
    assert [(one.case, one.reader) for one in found_] == names
    assert [one.error for one in found_] == [row.label or None for row in rows]


@given(HOSTILE)
def test_names_are_compared_as_they_come_back(text: str) -> None:
    assert as_filled(as_filled(text)) == as_filled(text) or text.lstrip().startswith("'")
    if text.isalnum():
        assert as_filled(text) == text
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t"))


def test_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = sample_errors(TABLES, "r", 5)
    mixed = rows[:]
    random.Random(1).shuffle(mixed)
    for name, some in (("a", rows), ("b", mixed)):
        write_error_sheet(tmp_path / f"{name}.csv", some)
        filled(tmp_path / f"{name}.csv", lambda row: list(ERRORS)[int(row["case"][4:]) % 5])
    assert shares(tmp_path / "a.csv") == shares(tmp_path / "b.csv")
