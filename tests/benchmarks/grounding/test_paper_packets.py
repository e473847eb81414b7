"""The packets of the paper's reader study, held against what the authors' builder made."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.base import Tables
from overread.benchmarks.grounding import paper_packets as pp
from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.cases import GroundingCase, load_cases, truth
from overread.benchmarks.grounding.edition import AUTHORS
from overread.case import BadInput

GOLDEN = Path(__file__).parents[2] / "golden" / "grounding"
PACKETS = GOLDEN / "reader_study" / "packets"
DIFFICULTY = (
    *("vlm_grounded", "vlm_selective_binaryconf"),
    *("vlm_grayzone_ties", "vlm_missing_conditions"),
)
ERRED = ("vlm_selective_binaryconf", "vlm_grounded", "vision_probe")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def cases() -> dict[str, GroundingCase]:
    return {one.case_id: one for one in load_cases(GOLDEN / "mimic" / "manifest.csv", AUTHORS)}


@pytest.fixture(scope="module")
def wrong(cases) -> dict[str, list[pp.Error]]:
    return {model: _errors(model, cases)[0] for model in ERRED}


@pytest.fixture(scope="module")
def chosen(cases) -> list[pp.Chosen]:
    right = [_errors(model, cases)[1] for model in DIFFICULTY]
    return pp.presence_cases(
        cases.values(), lambda case: sum(case in own for own in right), len(right), 40
    )


def _errors(model: str, cases: dict[str, GroundingCase]) -> tuple[list[pp.Error], set[str]]:
    """A model's wrong answers to films as they are, and the cases it answered rightly."""
    wrong, right = [], set()
    for row in rows(GOLDEN / "mimic" / "responses" / model / "original.csv"):
        answer = int(row["parsed_answer"])
        if answer == truth(cases[row["case_id"]], AUTHORS):
            right.add(row["case_id"])
        elif answer in (0, 1):
            wrong.append(pp.Error(model, row["case_id"], answer, float(row["confidence"])))
    return wrong, right


def agree(packets: pp.Packets, task: str) -> None:
    """Every file of a task, row by row, columns in their order."""
    made = {name: sheet for name, sheet in packets.items() if name.startswith(task)}
    assert set(made) == {f"{p.parent.name}/{p.name}" for p in PACKETS.glob(f"{task}*/*.csv")}
    for name, sheet in made.items():
        theirs = rows(PACKETS / name)
        assert [*map(dict, sheet)] == theirs
        assert list(sheet[0]) == list(theirs[0])


def test_boxes_to_rate_are_the_papers(cases):
    agree(pp.box_sheets(cases.values()), "task_A")


def test_films_their_sessions_and_their_order_are_the_papers(chosen):
    first, second = (dict(pp.presence_sheets(chosen, second=which)) for which in (False, True))
    agree(first, "task_B")
    # The second reader's key is the first's, and goes with his sheets once they are filled.
    decodes = second.pop("task_C_reader2_agreement/case_mapping.csv")
    assert decodes == first["task_B_finding_presence/case_mapping.csv"]
    agree(second, "task_C")


def test_errors_to_name_are_the_papers(cases, wrong):
    agree(pp.error_sheets(wrong, cases), "task_D")


def test_a_case_is_in_each_session_once_and_under_each_condition_once(chosen):
    shown = pp.sessions_of(chosen)
    assert len({(one.case.case_id, one.session) for one in shown}) == len(shown)
    assert len({(one.case.case_id, one.condition) for one in shown}) == len(shown)


def test_one_finding_gives_at_most_eight_errors_and_films_without_one_as_many_as_there_are():
    some = [pp.Error("m", f"{k:02d}", 1, 0.9) for k in range(40)]
    shown, _ = pp.errors_to_name({"m": some}, {one.case: "edema" for one in some})
    assert len(shown) == 8
    shown, letters = pp.errors_to_name({"m": some}, {one.case: None for one in some})
    assert (len(shown), letters) == (40, {"m": "A"})


def test_where_too_few_are_above_the_bound_the_surest_are_taken():
    some = [pp.Error("m", f"{k:02d}", 1, k / 60) for k in range(60)]
    of_three = {name: [one._replace(model=name) for one in some] for name in "xyz"}
    shown, letters = pp.errors_to_name(of_three, {one.case: None for one in some})
    # 15 of 60 are in the upper quarter, where 17, 17 and 16 are wanted.
    assert sorted(one.case for one in shown if one.model == "x") == [f"{k}" for k in range(43, 60)]
    assert (len(shown), sorted(letters.values())) == (50, ["A", "B", "C"])


# ---------------------------------------------------------------- the same, on the page


@pytest.fixture(scope="module")
def bench() -> Grounding:
    return Grounding.open(GOLDEN / "mimic" / "manifest.csv", "authors", {"px": "512"})


@pytest.fixture(scope="module")
def tables() -> Tables:
    answers = [
        ("original", "default", 0, model, row["case_id"], int(row["parsed_answer"]), sure)
        for model in {*DIFFICULTY, *ERRED}
        for row in rows(GOLDEN / "mimic" / "responses" / model / "original.csv")
        for sure in [float(row["confidence"])]
    ]
    columns = ["image", "phrasing", "repeat", "reader", "case", "answer", "p_yes"]
    return Tables(
        cases=pl.DataFrame(),
        answers=pl.DataFrame(answers, schema=columns, orient="row"),
        readers=(),
    )


def test_readers_are_shown_the_papers_films_in_its_sessions_and_its_order(bench, tables):
    theirs = rows(PACKETS / "task_B_finding_presence" / "case_mapping.csv")
    shown = [*bench.people_as_published("presence", tables, DIFFICULTY, 40)]
    assert [(str(one.session), one.case, one.condition) for one in shown] == [
        (row["session"], row["case_id"], row["condition"]) for row in theirs
    ]
    asked = rows(PACKETS / "task_B_finding_presence" / "cases.csv")
    assert [one.asks[0].text for one in shown] == [row["question"] for row in asked]


def test_readers_are_shown_the_papers_boxes_and_errors_in_its_order(bench, tables):
    boxes = [*bench.people_as_published("boxes", None, (), 0)]
    theirs = rows(PACKETS / "task_A_box_validation" / "case_mapping.csv")
    assert [one.case for one in boxes] == [row["case_id"] for row in theirs]
    errors = [*bench.people_as_published("failures", tables, ERRED, 0)]
    theirs = rows(PACKETS / "task_D_failure_taxonomy" / "case_mapping.csv")
    assert [(one.case, one.facts["model"], one.condition) for one in errors] == [
        (row["case_id"], row["source_model"], row["model_label"]) for row in theirs
    ]
    assert {one.session for one in (*boxes, *errors)} == {1}


def test_without_models_there_is_nothing_to_call_easy_or_hard(bench):
    with pytest.raises(BadInput, match="Name their run and the models"):
        bench.people_as_published("presence", None, (), 0)
