"""What people said of a sample of judged replies puts the judges' numbers right."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import numpy as np
import pytest

from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.measures import measure_judged
from overread.case import BadInput
from overread.judging.checking import FEWEST, CheckedReply, people_said
from overread.judging.sheet import units_of, write_sheet
from overread.stats import prediction_powered
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

QUICK = msgspec.structs.replace(CORRECTED, boot=100)
QUESTIONS = questions(QUICK)
N = 40
# By item: what the judge says of the answer; people see a third of what it calls right otherwise.
JUDGED = [index % 4 != 0 for index in range(N)]
TRUE = [said and index % 3 != 0 for index, said in enumerate(JUDGED)]


@pytest.fixture
def run():
    """Answers of one reader in both modes, with reasoning judged; items 36 to 39 have no reply."""
    cases = [case(index, patient=f"p{index // 2}") for index in range(N)]
    silent = range(N - 4, N)
    replies = [
        answer("r", index, mode, None if index in silent else f"{mode} {index}")
        for index in range(N)
        for mode in ("cot", "direct")
    ]
    verdicts = [
        verdict("j", "answer", "r", index, {"match": said, "final_answer": "x"})
        for index, said in enumerate(JUDGED)
        if index not in silent
    ]
    return msgspec.structs.replace(tables_of(cases, replies), verdicts=verdicts_of(verdicts))


def filled(run, folder: Path, words: dict[int, str], name: str = "sheet") -> Path:
    """The sheet of all that was judged, with a person's words on the answers to these items."""
    units = units_of(QUESTIONS, cases_in(run.cases), run.answers, run.verdicts)
    sheet = folder / f"{name}.csv"
    write_sheet(units, sheet, folder / f"{name}-key.csv")
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"person": words.get(int(row["item"][1:]), "")})
    return sheet


def words(items) -> dict[int, str]:
    return {index: "right" if TRUE[index] else "wrong" for index in items}


def measured(run, *sheets: Path, edition=QUICK):
    return measure_judged(run, QUESTIONS, edition, veiled=False, sheets=sheets)


def test_accuracy_as_people_would_have_it_stands_beside_that_of_the_judge(run, tmp_path) -> None:
    items = range(0, 36, 2)
    records = measured(run, filled(run, tmp_path, words(items)))
    made, judged = (found(records, name, mode="cot") for name in ("accuracy_checked", "accuracy"))
    people = np.full(N, np.nan)
    people[list(items)] = [TRUE[index] for index in items]
    values = np.where(np.arange(N) < 36, JUDGED, 0.0)
    by_hand, spread, weight = prediction_powered(
        values, people, np.arange(N) // 2, (0.0, 1.0), np.arange(N) >= 36
    )
    assert (made.value, made.low, made.high) == (by_hand.point, by_hand.low, by_hand.high)
    assert made.n == judged.n == N
    assert made.as_wrong == judged.as_wrong == {"unanswered": 4}
    assert made.beside == (judged.value, np.mean([TRUE[index] for index in items]))
    assert made.how.checked == len(items)
    assert (made.how.weight, made.how.effect) == (weight, spread.effect)
    assert judged.label == "judge not checked"
    # Whatever the judge is worth, people have seen to it.
    assert made.label is None


def test_where_people_checked_all_their_number_is_left(run, tmp_path) -> None:
    made = found(
        measured(run, filled(run, tmp_path, words(range(N)))), "accuracy_checked", mode="cot"
    )
    assert made.value == pytest.approx(sum(TRUE[:36]) / N)
    assert made.how.checked == 36


def test_no_sheet_too_few_checks_and_the_authors_give_no_such_number(run, tmp_path) -> None:
    few = filled(run, tmp_path, words(range(FEWEST - 1)))
    enough = filled(run, tmp_path, words(range(FEWEST)), "enough")

    def there(*sheets, edition=QUICK) -> bool:
        made = measured(run, *sheets, edition=edition)
        return any(record.measure == "accuracy_checked" for record in made)

    assert not there()
    assert not there(few)
    assert there(enough)
    assert not there(enough, edition=msgspec.structs.replace(AUTHORS, boot=100))


def test_no_other_number_moves(run, tmp_path) -> None:
    sheet = filled(run, tmp_path, words(range(20)))
    left = [one for one in measured(run, sheet) if one.measure != "accuracy_checked"]
    assert left == measured(run)


def said_in(run, *sheets: Path, names=("answer",)):
    return people_said(sheets, QUESTIONS, names, cases_in(run.cases), run.answers)


def test_sheets_are_read_by_what_was_judged(run, tmp_path) -> None:
    one = filled(run, tmp_path, words([1]))
    two = filled(run, tmp_path, words([1, 2]), "two")
    assert said_in(run, one, two) == {
        CheckedReply("answer", "r", "m1", "cot 1"): "right",
        CheckedReply("answer", "r", "m2", "cot 2"): "right",
    }
    # What is asked about steps is no whole reply.
    assert said_in(run, two, names=()) == {}


def test_two_people_who_differ_are_refused(run, tmp_path) -> None:
    one = filled(run, tmp_path, {1: "right"})
    two = filled(run, tmp_path, {1: "wrong"}, "two")
    with pytest.raises(BadInput, match=r"two\.csv row 3: \w+ is judged in two ways; keep one row"):
        said_in(run, one, two)


def test_a_sheet_of_another_run_is_refused(run, tmp_path) -> None:
    sheet = filled(run, tmp_path, words([1]))
    other = msgspec.structs.replace(
        run, answers=run.answers.with_columns(text=run.answers["text"] + ", later")
    )
    with pytest.raises(BadInput, match=r"sheet\.csv row 3: id \w+ is no reply of this run\. Give"):
        said_in(other, sheet)
