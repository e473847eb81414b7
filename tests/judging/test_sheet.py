"""A sample for a person: written, filled, read back."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import BadInput
from overread.judging.sheet import (
    PERSON,
    Unit,
    guarded,
    person_agreement,
    read_sheet,
    sample,
    write_sheet,
)

CHOICES = {"answer": ("match", "no match"), "recall": ("Matched", "Unmatched")}


def unit(number: int, question: str = "answer", reply: str = "It is B.") -> Unit:
    yes, no = CHOICES[question]
    return Unit(
        item=f"case-{number}",
        question=question,
        reader="some-model",
        asked="Which?",
        gold="B",
        reply=reply,
        choices=(yes, no),
        verdicts={"strict": yes if number % 3 else no, "kind": yes},
    )


UNITS = [unit(n) for n in range(30)] + [unit(n, "recall") for n in range(6)]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, words: dict[str, str]) -> None:
    rows = rows_of(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {PERSON: words.get(row["id"], "")} for row in rows)


def test_a_sample_is_even_over_the_questions_and_the_same_for_a_seed() -> None:
    taken = sample(UNITS, 10, seed=3)
    assert sorted(one.question for one in taken) == ["answer"] * 5 + ["recall"] * 5
    mixed = UNITS[:]
    random.Random(1).shuffle(mixed)
    assert sample(mixed, 10, seed=3) == taken
    assert sample(UNITS, 10, seed=4) != taken
    assert len(sample(UNITS, 1000)) == len(UNITS)
    assert sample(UNITS + UNITS, 1000) == sample(UNITS, 1000)
    assert sample([], 5) == sample(UNITS, 0) == []


def test_the_person_sees_neither_verdicts_nor_judges_nor_readers(tmp_path: Path) -> None:
    write_sheet(UNITS, tmp_path / "sheet.csv", tmp_path / "key.csv")
    shown = (tmp_path / "sheet.csv").read_text("utf-8-sig")
    assert "strict" not in shown
    assert "some-model" not in shown
    rows, key = rows_of(tmp_path / "sheet.csv"), rows_of(tmp_path / "key.csv")
    assert len(rows) == len(UNITS)
    assert {row[PERSON] for row in rows} == {""}
    assert len(key) == 2 * len(UNITS)


def test_agreement_of_each_judge_with_the_person(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.csv"
    write_sheet(UNITS, sheet, key)
    words = {one.key: one.verdicts["strict"].upper() + " " for one in UNITS[:20]}
    fill(sheet, words)
    found = {
        (one.second, one.group): one for one in person_agreement(sheet, key, CHOICES, n_boot=200)
    }
    strict, kind = found["strict", "answer"], found["kind", "answer"]
    assert strict.first == kind.first == PERSON
    assert (strict.n, strict.missing, strict.percent.point, strict.kappa.point) == (20, 10, 1, 1)
    same = sum(number % 3 != 0 for number in range(20))
    assert kind.percent.point == same / 20
    assert kind.kappa.point == 0
    assert (kind.percent.low or 0) < same / 20 < (kind.percent.high or 0)
    assert found["strict", "recall"].n == 0


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", " =cmd", "\t=x", "\r=x", "\n=x", "＝1", "\x00=1"]
)
def test_no_cell_is_a_formula(cell: str, tmp_path: Path) -> None:
    assert guarded(cell).startswith("'")
    write_sheet([unit(1, reply=cell)], tmp_path / "s.csv", tmp_path / "k.csv")
    (row,) = rows_of(tmp_path / "s.csv")
    assert row["reply"].startswith("'")


@given(st.text(st.characters(codec=None)))
def test_any_reply_can_be_written(text: str) -> None:
    made = guarded(text)
    made.encode("utf-8")
    assert "\x00" not in made
    assert made[:1] not in tuple("=+-@")
    unit(1, reply=text).key.encode()


def test_a_cell_that_a_spreadsheet_would_cut_is_cut_and_says_so() -> None:
    assert len(guarded("x" * 50_000)) < 32_767
    assert guarded("x" * 50_000).endswith("more characters]")


def test_a_sheet_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    sheet, key = tmp_path / "s.csv", tmp_path / "k.csv"
    key.write_text("mine")
    with pytest.raises(BadInput, match="there already"):
        write_sheet(UNITS, sheet, key)
    assert not sheet.exists()
    assert key.read_text() == "mine"
    with pytest.raises(BadInput, match="no folder"):
        write_sheet(UNITS, tmp_path / "none" / "s.csv", tmp_path / "other.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.csv"]


def test_a_persons_word_is_taken_in_any_case_and_with_marks_around_it(tmp_path: Path) -> None:
    sheet, key = tmp_path / "s.csv", tmp_path / "k.csv"
    write_sheet(UNITS[:2], sheet, key)
    fill(sheet, {UNITS[0].key: " No  MATCH.", UNITS[1].key: "'match"})
    assert read_sheet(sheet, CHOICES) == {UNITS[0].key: "no match", UNITS[1].key: "match"}


def test_faults_in_a_filled_sheet_are_one_line_with_the_row(tmp_path: Path) -> None:
    sheet, key = tmp_path / "s.csv", tmp_path / "k.csv"
    write_sheet(UNITS[:2], sheet, key)
    with pytest.raises(BadInput, match="no row has anything"):
        person_agreement(sheet, key, CHOICES)
    fill(sheet, {UNITS[1].key: "perhaps"})
    with pytest.raises(
        BadInput, match=r's\.csv row 3: person is "perhaps"; expected match, no match'
    ):
        read_sheet(sheet, CHOICES)
    fill(sheet, {UNITS[1].key: "match"})
    other = tmp_path / "other.csv"
    write_sheet(UNITS[5:7], tmp_path / "x.csv", other)
    with pytest.raises(BadInput, match=r"is not in other\.csv"):
        person_agreement(sheet, other, CHOICES)
    with pytest.raises(BadInput, match="question is"):
        read_sheet(sheet, {"recall": ("Matched",)})
    text = sheet.read_text()
    sheet.write_text(
        text + text.splitlines()[-1].replace("match\n", "").rsplit(",", 1)[0] + ",no match\n"
    )
    with pytest.raises(BadInput, match="judged twice"):
        read_sheet(sheet, CHOICES)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"id;question;person\na;answer;match\n", "has no column id, question, person"),
        (b"", "has no column"),
        (b"id,question,person\na,answer\n", "row 2: it has 2 cells and the header 3"),
        (b'id,question,person\na,answer,"match\n', "row 2: "),
        (b"id,question,person\n\xff,answer,match\n", "is not UTF-8"),
    ],
)
def test_a_sheet_that_a_spreadsheet_spoilt_is_one_line(
    tmp_path: Path, data: bytes, said: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        read_sheet(path, CHOICES)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_sheet_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_sheet(tmp_path / "none.csv", CHOICES)
