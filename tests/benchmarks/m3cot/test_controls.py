"""Controls: they are told their case, say what they are made to, and are recovered."""

from __future__ import annotations

import asyncio
from itertools import permutations, product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import KINDS, STEPS, M3Case, Step
from overread.benchmarks.m3cot.controls import (
    CONTROLS,
    EXPECTED,
    RAMBLES,
    UNKNOWN,
    answer_of,
    m3cot_controls,
    recovered,
    reply_of,
    steps_of,
    wrong_answer,
)
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.trials import (
    ANSWER_FIRST,
    ANSWER_NOW,
    INSTRUCTIONS,
    REASONING_SO_FAR,
    first_half,
    prompt_of,
)
from overread.benchmarks.m3cot.verdicts import ORDERS, path_of
from overread.case import Measure, Prompt, PromptMessage, Reader, Shown
from overread.judging.question import by_name
from support.m3_paths import score_task

OPTIONS = "\nA. pneumonia\nB. effusion\nC. oedema\nD. nothing"
GOLD = {
    "modality": "This is a chest X-ray.",
    "feature": "One costophrenic angle is blunted.",
    "conclusion": "There is fluid in the pleura.",
    "analysis": "Thoracentesis shows what it is.",
}
ANSWERS = {"single": "B", "multiple": "A, C", "bool": "True", "short": "pleural effusion"}
ASKED = {
    "single": f"What is it? (Select one option){OPTIONS}",
    "multiple": f"What may it be? (Select all that apply){OPTIONS}",
    "bool": "True or false: it is an effusion.",
    "short": "What is it?",
}


def case_of(name="1", kind="short", steps=STEPS, task="Diagnosis", **more):
    return M3Case(
        case_id=name,
        index=1,
        question=more.pop("question", f"Record {name}. {ASKED[kind]}"),
        answer=more.pop("answer", ANSWERS[kind]),
        kind=kind,
        task=task,
        image=f"images/{name}.png",
        steps=tuple(Step(step, f"{GOLD[step]}") for step in steps),
        **more,
    )


CASES = [
    case_of(f"{kind}{n}", kind, STEPS[:n]) for kind, n in product(KINDS, range(1, len(STEPS) + 1))
]


def asking(text, case, *pictures):
    return Prompt((PromptMessage("user", (*pictures, text)),), case=case)


def said(control, text, case, cases=CASES):
    return asyncio.run(m3cot_controls(cases)[control].reply(asking(text, case.case_id))).text


# ---------------------------------------------------------------- told the case


@pytest.mark.parametrize("edition", [CORRECTED, AUTHORS])
@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_knows_what_every_prompt_wants(control, edition):
    for case in CASES:
        for mode in ("direct", "cot"):
            told = said(control, prompt_of(case.question, edition, INSTRUCTIONS[mode]), case)
            assert told == reply_of(control, case, mode)
        told = said(control, prompt_of(case.question, edition, ANSWER_FIRST), case)
        assert told == reply_of(control, case, "answer_first")


@pytest.mark.parametrize("control", CONTROLS)
def test_after_half_of_its_reasoning_a_control_gives_its_answer(control):
    for case in CASES:
        half = first_half(reply_of(control, case, "cot"))
        if half is not None:
            told = said(
                control,
                prompt_of(case.question, CORRECTED, REASONING_SO_FAR, half.strip(), ANSWER_NOW),
                case,
            )
            assert told == answer_of(control, case)


def test_a_case_nobody_knows_gets_no_answer():
    assert (
        said(
            "clinician", prompt_of(CASES[0].question, CORRECTED, INSTRUCTIONS["cot"]), case_of("x")
        )
        == UNKNOWN
    )
    asked = Prompt(
        (PromptMessage("user", (prompt_of(CASES[0].question, CORRECTED, INSTRUCTIONS["cot"]),)),)
    )
    told = asyncio.run(m3cot_controls(CASES)["clinician"].reply(asked))
    assert told.text == UNKNOWN  # a prompt without its case is no reader's


def test_one_question_put_to_many_images_is_answered_for_each():
    cases = [case_of(f"i{n}", question="What is it?", answer=f"thing {n}") for n in range(8)]
    asked = prompt_of("What is it?", CORRECTED, INSTRUCTIONS["cot"])
    for control in CONTROLS:
        for case in cases:
            assert said(control, asked, case, cases) == reply_of(control, case, "cot")
    # And scrambled has an order for each, not one for all.
    assert len({steps_of("scrambled", case) for case in cases}) > 2


def test_images_change_nothing():
    control = m3cot_controls(CASES)["clinician"]
    assert control.traits.modality == "text"
    asked = prompt_of(CASES[0].question, CORRECTED, INSTRUCTIONS["cot"])
    shown = Shown("image/png", b"any")
    seen = asyncio.run(control.reply(asking(asked, CASES[0].case_id, shown)))
    assert seen.text == said("clinician", asked, CASES[0])


def test_controls_are_readers_whose_identity_tells_what_they_know():
    controls = m3cot_controls(CASES)
    assert tuple(controls) == CONTROLS == tuple(EXPECTED)
    assert all(isinstance(control, Reader) for control in controls.values())
    assert all(control.name == f"control:{key}" for key, control in controls.items())
    assert all(control.traits.knows_truth for control in controls.values())
    assert all(control.traits.told_case for control in controls.values())
    assert len({control.identity for control in controls.values()}) == len(CONTROLS)
    backwards = m3cot_controls(CASES[::-1])
    mended = [msgspec.structs.replace(CASES[0], answer="corrected"), *CASES[1:]]
    for key, control in controls.items():
        assert backwards[key].identity == control.identity
        assert m3cot_controls(mended)[key].identity != control.identity


# ---------------------------------------------------------------- what they say


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.case_id)
def test_each_control_is_what_it_is_called(case):
    gold = tuple(step.text for step in case.steps)
    assert steps_of("clinician", case) == steps_of("contradicts", case) == gold
    assert steps_of("answer-only", case) == ()
    assert sorted(steps_of("scrambled", case)) == sorted(gold)
    assert (steps_of("scrambled", case) == gold) is (len(gold) == 1)
    rambled = steps_of("rambler", case)
    assert rambled[0] == gold[0]
    assert len(set(rambled)) == RAMBLES + 1
    assert not set(rambled[1:]) & set(gold)
    right = {name for name in CONTROLS if answer_of(name, case) == case.answer}
    assert right == {"clinician", "answer-only", "scrambled"}
    direct = {name for name in CONTROLS if answer_of(name, case, "direct") == case.answer}
    assert direct == right | {"contradicts"}


def test_scrambled_draws_one_of_all_other_orders():
    case = case_of("a")
    gold = tuple(step.text for step in case.steps)
    drawn = {
        steps_of("scrambled", msgspec.structs.replace(case, question=f"Record {n}."))
        for n in range(600)
    }
    assert drawn == set(permutations(gold)) - {gold}


def test_many_steps_are_scrambled_at_once():
    steps = tuple(Step("feature", f"Feature {n}.") for n in range(20))
    case = msgspec.structs.replace(case_of("a"), steps=steps)
    drawn, gold = steps_of("scrambled", case), tuple(step.text for step in steps)
    assert drawn != gold
    assert sorted(drawn) == sorted(gold)


def test_reasoning_is_numbered_and_ends_with_the_answer():
    case = case_of("a", steps=STEPS[:2])
    assert reply_of("clinician", case, "cot") == (
        f"1. {GOLD['modality']}\n2. {GOLD['feature']}\nFinal answer: pleural effusion"
    )
    assert reply_of("answer-only", case, "cot") == "Final answer: pleural effusion"
    assert reply_of("clinician", case, "answer_first").startswith("Final answer: ")
    assert all("\n" not in reply_of(name, case, "direct") for name in CONTROLS)


def test_the_rambler_keeps_off_what_a_case_is_about():
    teeth = case_of("a", question="Which molar has lost its enamel?", answer="the lower molar")
    about = "|".join(steps_of("rambler", teeth)[1:]).casefold()
    assert "molar" not in about
    assert "enamel" not in about
    assert wrong_answer(case_of("b", answer="dental caries")) != "Dental caries"


@pytest.mark.parametrize(
    ("kind", "gold", "wrong"),
    [
        ("bool", "True", "False"),
        ("bool", "false.", "True"),
        ("bool", "Yes", "No"),
        ("single", "A", "B"),
        ("single", "B) effusion", "A"),
        ("single", "(C)", "A"),
        ("multiple", "A, C", "B, D"),
        ("multiple", "A and B", "C, D"),
        ("multiple", "A. pneumonia; B. effusion; C. oedema", "D"),
        ("multiple", "A, B, C, D", "A"),
        ("short", "4", "11"),
        ("short", "A large mass", "Dental caries"),
        ("single", "A large mass", "Dental caries"),
    ],
)
def test_a_wrong_answer_has_the_form_of_the_right_one(kind, gold, wrong):
    assert wrong_answer(case_of("a", kind, answer=gold)) == wrong


@given(st.sampled_from(KINDS), st.text(max_size=20), st.text(max_size=40))
def test_a_wrong_answer_is_never_the_right_one(kind, answer, asked):
    case = case_of("a", kind, answer=answer, question=asked)
    assert wrong_answer(case).casefold() != answer.strip().casefold()


def test_the_scrambled_orders_of_a_task_are_not_one_order():
    cases = [case_of(str(k)) for k in range(12)]

    def paths(control):
        types = {text: step for step, text in GOLD.items()}
        return [tuple(types[text] for text in steps_of(control, case)) for case in cases]

    assert score_task(paths("clinician"), "mode").score == 1
    assert score_task(paths("scrambled"), "medoid").score < 0.8


# ---------------------------------------------------------------- what a fit judge says


def verdict(control, case, asked):
    """The verdict of a judge who compares texts to the letter."""
    told, gold = steps_of(control, case), [step.text for step in case.steps]
    types = {step.text: step.type for step in case.steps}
    if asked == "answer":
        return {"match": answer_of(control, case) == case.answer, "final_answer": "…"}
    if asked == "recall":
        return [text in told for text in gold]
    if asked == "precision":
        return [
            {
                "type": types.get(text, "feature"),
                "judgment": "Match" if text in gold else "Wrong",
                "text": text,
            }
            for text in told
        ]
    order = [types[text] for text in told if text in types]
    named = ["others" if step == "analysis" else step for step in order]
    return {name: named.index(name) + 1 if name in named else 0 for name in ORDERS}


def deserved(control, case, asked, payload=None):
    return list(by_name(questions(CORRECTED))[asked].deserved(control, case, payload))


def check_truth(control, case, asked):
    return tuple(one.truth for one in deserved(control, case, asked))


def check_pairs(control, case, asked, payload):
    made = deserved(control, case, asked, payload)
    return [(one.truth, one.said) for one in made if one.truth is not None]


@pytest.mark.parametrize("asked", ["answer", "precision", "recall", "order"])
@pytest.mark.parametrize("control", CONTROLS)
def test_a_judge_who_compares_to_the_letter_is_fit(control, asked):
    for case in CASES:
        pairs = check_pairs(control, case, asked, verdict(control, case, asked))
        assert all(truth == found for truth, found in pairs)


@pytest.mark.parametrize("asked", ["answer", "precision", "recall", "order"])
def test_every_question_has_both_truths_so_that_no_constant_judge_is_fit(asked):
    case = case_of("a")
    truths = {truth for name in CONTROLS for truth in check_truth(name, case, asked)}
    assert truths >= {True, False}


def test_a_judge_that_says_the_reverse_is_wrong_everywhere():
    case = case_of("a")
    pairs = check_pairs("clinician", case, "recall", [False] * 4)
    assert pairs == [(True, False)] * 4
    assert check_pairs("contradicts", case, "answer", {"match": True}) == [(False, True)]
    backwards = dict(zip(ORDERS, (4, 3, 2, 1), strict=True))
    assert check_pairs("clinician", case, "order", backwards) == [(True, False)]


def test_what_judges_may_differ_on_is_no_test():
    case = case_of("a")
    assert check_truth("answer-only", case, "recall") == (None, False, None, None)
    assert check_truth("answer-only", case, "precision") == (None,)
    assert check_truth("rambler", case, "order") == (None,)
    alone = case_of("b", steps=("conclusion",))
    assert check_truth("scrambled", alone, "order") == (None,)
    assert check_pairs("answer-only", case, "precision", []) == []


def test_a_verdict_that_could_not_be_read_says_nothing():
    case = case_of("a", steps=STEPS[:2])
    assert check_pairs("rambler", case, "recall", None) == [(True, None), (False, None)]
    assert check_pairs("answer-only", case, "recall", None) == [(False, None)]


def test_a_category_beyond_the_gold_ones_does_not_disturb_the_order():
    case = case_of("a", steps=("modality", "feature"))
    ranks = {"modality": 1, "feature": 2, "conclusion": 3, "others": 0}
    assert path_of(ranks) == ("modality", "feature", "conclusion")
    assert check_pairs("clinician", case, "order", ranks) == [(True, True)]
    assert check_pairs("clinician", case, "order", {**ranks, "feature": 0}) == [(True, False)]


# ---------------------------------------------------------------- recovered

COT = {"mode": "cot"}
# Accuracy, precision, recall, F1, consistency and impact as they must come out.
TRUE = {
    "clinician": (1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
    "answer-only": (1.0, 0.0, 0.0, None, None, 0.0),
    "rambler": (0.0, 0.125, 0.3, 0.18, 1.0, 0.0),
    "scrambled": (1.0, 1.0, 1.0, 1.0, 0.7, 0.0),
    "contradicts": (0.0, 1.0, 1.0, 1.0, 1.0, -1.0),
}
NAMES = ("accuracy", "precision", "recall", "f1", "consistency", "impact")


def measures(changed=None, controls=CONTROLS):
    for control in controls:
        values = dict(zip(NAMES, TRUE[control], strict=True)) | (changed or {}).get(control, {})
        for name, value in values.items():
            around = {} if value is None else {"low": value - 0.05, "high": value + 0.05}
            by = COT if name == "accuracy" else {}
            yield Measure(
                reader=f"control:{control}", measure=name, by=by, value=value, n=60, **around
            )
            # By task and judge other numbers stand: they are not looked at.
            yield Measure(
                reader=f"control:{control}", measure=name, by=by | {"task": "Cause"}, value=0.5
            )


def test_controls_that_come_out_as_they_must_are_recovered():
    found = recovered(list(measures()))
    assert [one.control for one in found] == list(EXPECTED)
    assert all(one.ok and one.found == one.expected == EXPECTED[one.control] for one in found)
    assert all(one.note for one in found)


@pytest.mark.parametrize(
    ("control", "measure", "value"),
    [
        ("clinician", "accuracy", 0.7),
        ("clinician", "precision", 0.5),
        ("clinician", "recall", 0.7),
        ("clinician", "impact", -0.5),
        ("answer-only", "recall", 0.5),
        ("answer-only", "accuracy", 0.5),
        ("rambler", "precision", 0.6),
        ("rambler", "recall", 0.9),
        ("rambler", "f1", 0.9),
        ("scrambled", "consistency", 1.0),
        ("scrambled", "accuracy", 0.0),
        ("contradicts", "accuracy", 1.0),
        ("contradicts", "recall", 0.0),
        ("contradicts", "impact", 0.0),
        ("scrambled", "consistency", None),
        ("clinician", "recall", None),
    ],
)
def test_one_measure_out_of_place_is_found_and_named(control, measure, value):
    found = {one.control: one for one in recovered(list(measures({control: {measure: value}})))}
    assert not found[control].ok
    assert measure in found[control].found
    assert found[control].note is None


def test_a_rambler_must_stand_below_the_clinician_and_a_scrambler_too():
    low = dict.fromkeys(("precision", "recall", "f1", "consistency"), 0.1)
    found = {one.control: one.ok for one in recovered(list(measures({"clinician": low})))}
    assert not found["rambler"]
    assert not found["scrambled"]


def test_controls_that_were_not_asked_are_left_out():
    found = recovered(list(measures(controls=["rambler", "scrambled"])))
    assert [(one.control, one.ok) for one in found] == [("rambler", True), ("scrambled", True)]
    assert recovered([]) == []
    assert recovered([Measure(reader="model", measure="recall", value=1.0)]) == []


def test_impact_is_looked_at_only_where_both_modes_were_asked():
    cot_only = [m for m in measures() if m.measure != "impact"]
    assert all(one.ok for one in recovered(cot_only))
    unknown = {name: {"impact": None} for name in CONTROLS}
    assert all(one.ok for one in recovered(list(measures(unknown))))
