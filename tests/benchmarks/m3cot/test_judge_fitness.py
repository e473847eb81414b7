"""What should not matter: the order of the material, the length of a reply."""

from __future__ import annotations

import json

import pytest

from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.edition import CORRECTED
from overread.benchmarks.m3cot.judge_questions import questions
from overread.judging.fitness import fitness_in, shift_measures
from overread.judging.question import question_trials, roles_of
from overread.judging.rubric import sections_of
from overread.runs import open_cases, phantom_cases
from overread.stats import wilson
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

STEPS = ("modality", "feature", "conclusion")


def variant_of(about):
    """What was changed before it was judged; empty where nothing was."""
    return json.loads(about).get("variant", "")


TABLES = tables_of([case(i, steps=STEPS) for i in (1, 2)], [answer("r", 1), answer("r", 2)])
CASES = cases_in(TABLES.cases)
BARE = {"m1": cases_in(tables_of([case(1, steps=("feature",))], [answer("r", 1)]).cases)["m1"]}
CONTROL = "control:clinician"
QUESTIONS = questions(CORRECTED)
CHANGES = {
    "answer": ["sections", "length"],
    "precision": ["sections", "steps", "length"],
    "recall": ["sections", "steps", "length"],
    "order": ["sections", "length"],
}


def asked(role, varied, cases=CASES):
    row = answer(CONTROL, 1) | {"check": 1}
    return list(question_trials(QUESTIONS, row, role, cases["m1"], varied=varied))


def checked(question, value, index=1, judge="j", **variant):
    return verdict(judge, question, CONTROL, index, value, check=True, **variant)


def shift(rows, question, change):
    return found(
        shift_measures(QUESTIONS, verdicts_of(rows), CASES),
        "judge_shift",
        judge="j",
        question=question,
        change=change,
    )


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize("role", roles_of(QUESTIONS))
def test_each_question_is_asked_again_with_one_thing_changed(role):
    plain, varied = asked(role, False), asked(role, True)
    assert [trial for trial in varied if not variant_of(trial.condition["about"])] == plain
    for question in (one.name for one in QUESTIONS if one.role == role):
        own = [trial for trial in varied if trial.condition["question"] == question]
        changes = [variant_of(trial.condition["about"]) for trial in own]
        assert changes == ["", *CHANGES[question]]
        # All else is the same, so that a verdict is read and found as any other.
        for trial in own:
            told = json.loads(trial.condition["about"])
            told.pop("variant", None)
            assert told == json.loads(own[0].condition["about"])
            others = {"role", "question", "reader", "check", "prompt"}
            assert all(trial.condition[key] == own[0].condition[key] for key in others)
        texts = [str(trial.request.messages[-1].parts[0]) for trial in own]
        assert len(set(texts)) == len(texts)
        shown = dict(zip(changes, map(sections_of, texts), strict=True))
        assert list(shown["sections"]) == list(reversed(shown[""]))
        assert shown["sections"] == shown[""]
        assert shown["length"]["reply"].endswith(shown[""]["reply"])


def test_one_gold_step_has_no_other_order():
    trials = asked("steps", True, BARE)
    assert {variant_of(t.condition["about"]) for t in trials} == {"", "sections", "length"}


@pytest.fixture(scope="module")
def questions():
    return phantom_cases("m3cot", "phantom:26")


@pytest.mark.parametrize("n", [0, 3])
def test_the_first_items_of_the_checks_are_varied_and_no_readers(questions, n):
    bench = open_cases("m3cot", questions, "corrected", {"variants": str(n), "checks": "5"})
    assert isinstance(bench, M3CoT)
    # A sample without the items that would be drawn from all.
    chosen = frozenset(one.case_id for one in bench.cases()) - bench.check_cases(None)
    bench.sample_from(chosen)
    checks = bench.check_cases(chosen)

    def varied(check):
        return {
            one.case_id
            for one in bench.cases()
            for row in [answer("r", 1) | {"case": one.case_id, "check": check}]
            for trial in bench.judge_trials(row, "answer")
            if variant_of(trial.condition["about"])
        }

    assert len(varied(1)) == n
    assert varied(1) <= checks <= chosen
    assert varied(0) == set()


# ---------------------------------------------------------------- what is measured


def test_the_share_of_answers_that_change_has_its_interval():
    said = {"final_answer": "x"}
    rows = [checked("answer", said | {"match": True}, i) for i in (1, 2)]
    rows += [checked("answer", said | {"match": i == 1}, i, variant="length") for i in (1, 2)]
    record = shift(rows, "answer", "length")
    assert (record.reader, record.value, record.k, record.n) == ("", 0.5, 1, 2)
    assert (record.low, record.high) == (wilson(1, 2).low, wilson(1, 2).high)
    assert record.method == "wilson"
    assert record.note is None


def test_what_is_said_of_turned_gold_steps_goes_back_to_their_place():
    before = checked("recall", [True, False, False])
    same = checked("recall", [False, False, True], variant="steps")
    assert shift([before, same], "recall", "steps").k == 0
    # A judge that goes by places says of other steps what it said of the first.
    placed = checked("recall", [True, False, False], variant="steps")
    record = shift([before, placed], "recall", "steps")
    assert (record.k, record.n) == (2, 3)
    # Parts in another order leave the gold steps where they are.
    assert shift([before, checked("recall", [False, False, True], variant="sections")], "recall", "sections").k == 2  # fmt: skip


def test_what_cannot_be_read_is_no_change_but_is_told():
    rows = [checked("recall", [True] * 3), checked("recall", None, variant="steps")]
    rows += [checked("recall", [True] * 3, 2), checked("recall", [True] * 3, 2, variant="steps")]
    record = shift(rows, "recall", "steps")
    assert (record.value, record.k, record.n) == (0, 0, 3)
    assert record.note == "3 without a verdict both times"
    alone = shift(rows[:2], "recall", "steps")
    assert (alone.value, alone.n, alone.method) == (None, 0, None)


def test_polite_words_may_be_others():
    before = {"modality": 1, "feature": 2, "conclusion": 3, "others": 0}
    after = {"modality": 2, "feature": 3, "conclusion": 4, "others": 1}
    rows = [checked("order", before)]
    rows += [checked("order", after, variant=change) for change in ("length", "sections")]
    assert shift(rows, "order", "length").k == 0
    assert shift(rows, "order", "sections").k == 1
    turned = checked("order", before | {"modality": 2, "feature": 1}, variant="length")
    assert shift([rows[0], turned], "order", "length").k == 1


def test_judges_stand_apart_and_readers_are_left_out():
    said = {"match": True, "final_answer": "x"}
    rows = [
        checked("answer", said | {"match": judge == "g" or not variant}, judge=judge, **variant)
        for judge in ("g", "j")
        for variant in ({}, {"variant": "length"})
    ]
    rows.append(verdict("j", "answer", "r", 1, said))
    records = list(shift_measures(QUESTIONS, verdicts_of(rows), CASES))
    assert [(one.by["judge"], one.value) for one in records] == [("g", 0), ("j", 1)]
    assert list(shift_measures(QUESTIONS, verdicts_of(rows[:1]), CASES)) == []


def test_variants_do_not_make_a_judge_fit_or_unfit():
    said = {"match": True, "final_answer": "x"}
    rows = [checked("answer", said, i) for i in (1, 2)]
    varied = [checked("answer", None, i, variant=change) for i in (1, 2) for change in ("length", "sections")]  # fmt: skip
    assert fitness_in(QUESTIONS, verdicts_of([*rows, *varied]), CASES) == fitness_in(
        QUESTIONS, verdicts_of(rows), CASES
    )


def test_no_number_of_a_reader_knows_of_variants():
    said = {"match": True, "final_answer": "x"}
    rows = [verdict("j", "answer", "r", i, said) for i in (1, 2)]
    rows += [checked("answer", said, i) for i in (1, 2)]
    # Even where the control is itself a reader of the run.
    varied = [checked("answer", said | {"match": False}, i, variant="length") for i in (1, 2)]
    tables = tables_of([case(i) for i in (1, 2)], [answer(name, i) for name in ("r", CONTROL) for i in (1, 2)])  # fmt: skip
    bench = M3CoT.of_run("d", "open", words={"boot": "100"})

    def measured(some):
        from msgspec.structs import replace

        return bench.measure(replace(tables, verdicts=verdicts_of(some)))

    plain, more = measured(rows), measured([*rows, *varied])
    assert [one for one in more if one.measure != "judge_shift"] == plain
    assert [one.value for one in more if one.measure == "judge_shift"] == [1]
