"""Controls: they say what they are made to, and the whole way finds them to be what they are."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.medcmr.answers import Answer, answer_of, read_sections
from overread.benchmarks.medcmr.cases import CaseRow, MedCase, case_row, cases_in
from overread.benchmarks.medcmr.controls import (
    CONTROLS,
    CRITERIA,
    EXPECTED,
    NOTHING,
    UNKNOWN,
    leaked,
    letter_of,
    longest_place,
    mcq_reply,
    medcmr_controls,
    open_reply,
    recovered,
)
from overread.benchmarks.medcmr.edition import BOOK
from overread.benchmarks.medcmr.judged_questions import CHECKED, questions
from overread.benchmarks.medcmr.measures import measure
from overread.benchmarks.medcmr.trials import (
    mcq_prompt,
    open_prompt,
    question_stem,
    shown_order,
    trials,
)
from overread.benchmarks.medcmr.verdict_parser import lexical_judge, read_verdict
from overread.benchmarks.tables import answers_frame, frame_of
from overread.case import Measure, Prompt, PromptMessage, Reader, Shown
from overread.judging import VERDICT_COLUMNS
from overread.judging.fitness import UNFIT, fitness_in, labels_of
from overread.judging.question import question_trials
from support.med_verdicts import verdicts_of

# ---------------------------------------------------------------- controls
# Controls: they are told their case, say what they are made to, and are recovered.

OPTIONS = ("gout", "a round mass", "an effusion", "none of these at all", "air")
CAPTION = "A dense round shadow stands in the left upper lobe.\nIts border is sharp."


def mcq_case(n=1, answer="B", options=OPTIONS, **more):
    return MedCase(
        case_id=f"mcq-{n}",
        index=n,
        kind="mcq",
        question=more.pop("question", f"What does film {n} show?"),
        images=(f"{n}.png",),
        options=options,
        answer=answer,
        caption=more.pop("caption", f"Film {n}: {CAPTION}"),
        **more,
    )


def open_case(n=1, **more):
    return MedCase(
        case_id=f"open-{n}",
        index=n,
        kind="open",
        question=more.pop("question", f"Name what film {n} shows."),
        images=(f"o{n}.png",),
        answer=more.pop("answer", f"mass number {n}"),
        caption=more.pop("caption", f"Plate {n}: {CAPTION}"),
        **more,
    )


MCQS = [mcq_case(n, LETTERS[n % 5]) for n in range(10)]
OPENS = [open_case(n) for n in range(5)]
CASES = [*MCQS, *OPENS]
ORDERS = range(5)


def shown_in(case, order):
    return tuple(case.options[place] for place in shown_order(case, order))


def asked(case, order=0, *, opened=False):
    if case.kind == "open":
        return open_prompt(case.question)
    if opened:
        return open_prompt(question_stem(case.question, case.options))
    return mcq_prompt(case.question, shown_in(case, order))


def prompt_of(text, case, *pictures, system=""):
    user = PromptMessage("user", (*pictures, text))
    messages = (PromptMessage("system", (system,)), user) if system else (user,)
    return Prompt(messages, case=case.case_id)


def said(control, case, text=None, cases=None, system=""):
    """What a control says of a case to a prompt, by default that of the case."""
    reader = medcmr_controls(cases or [*CASES, case], 0)[control]
    prompt = prompt_of(asked(case) if text is None else text, case, system=system)
    return asyncio.run(reader.reply(prompt)).text


def choice(control, case, order, **more):
    """The option of the case that a control's reply names, as the benchmark reads it."""
    told = said(control, case, asked(case, order), **more)
    letter = read_choice(told, shown_in(case, order)).letter
    return None if letter is None else LETTERS[shown_order(case, order)[LETTERS.index(letter)]]


# ---------------------------------------------------------------- multiple choice


@pytest.mark.parametrize("order", ORDERS)
def test_the_oracle_names_the_right_option_in_whatever_order(order):
    assert all(choice("oracle", case, order) == case.answer for case in MCQS)


@pytest.mark.parametrize("order", ORDERS)
def test_letter_a_says_a_in_whatever_order(order):
    assert all(said("letter-a", case, asked(case, order)) == "A" for case in MCQS)


@pytest.mark.parametrize("order", ORDERS)
def test_the_longest_option_is_the_same_in_whatever_order(order):
    assert all(choice("longest-option", case, order) == "D" for case in MCQS)
    # Among equals the first in the case's own order.
    tied = mcq_case(options=("ox", "elk", "cat", "dog"), answer="A")
    assert longest_place(tied) == 1
    if order < 4:
        assert choice("longest-option", tied, order, cases=[tied]) == "B"


@pytest.mark.parametrize("order", ORDERS)
def test_the_format_breaker_cannot_be_read_in_whatever_order(order):
    replies = {said("format-breaker", case, asked(case, order)) for case in MCQS}
    assert all(choice("format-breaker", case, order) is None for case in MCQS)
    assert len(replies) > 3


@given(st.integers(0, 10**6), st.sampled_from(LETTERS[:5]), st.sampled_from(list(ORDERS)))
def test_no_form_of_the_format_breaker_is_ever_read(seed, answer, order):
    case = mcq_case(answer=answer)
    text = mcq_reply("format-breaker", case, shown_in(case, order), seed)
    assert read_choice(text, shown_in(case, order)).letter is None


@pytest.mark.parametrize(
    "options",
    [
        ("Yes", "No"),
        ("A", "B", "C"),
        ("1", "2", "3", "4"),
        ("first", "second", "third"),
        ("S", "T"),
        ("one",),
        ("It is A", "B or C"),
        ("top", "from", "or", "answer", "counted"),
    ],
)
def test_the_format_breaker_names_no_option_by_its_text(options):
    for seed in range(12):
        for answer in LETTERS[: len(options)]:
            case = mcq_case(answer=answer, options=options)
            text = mcq_reply("format-breaker", case, options, seed)
            if text == "/S":
                continue
            assert not any(option.casefold() in text.casefold() for option in options)
            assert read_choice(text, options).letter is None


def test_equal_texts_are_told_by_the_rotation():
    case = mcq_case(options=("a cat", "a dog", "a cat", "an ox"), answer="C")
    for order in range(4):
        assert choice("oracle", case, order, cases=[case]) == "C"
    assert letter_of(case, 2, ("elsewhere",)) == "C"


def test_one_question_put_to_many_images_is_answered_for_each():
    one = mcq_case(1, "A", question="What is it?", options=("gout", "air"))
    same = mcq_case(2, "B", question="What is it?", options=("gout", "air"))
    turned = mcq_case(3, "A", question="What is it?", options=("air", "gout"))
    cases = [one, same, turned]
    for case in cases:
        for order in range(2):
            assert choice("oracle", case, order, cases=cases) == case.answer
    opened = [open_case(n, question="What is it?") for n in range(4)]
    for case in opened:
        assert read_sections(said("oracle", case, cases=[*opened, *cases])).answer == case.answer


@pytest.mark.parametrize(
    "question", ["Two\nlines?", " Options: A) this B) that ", "Question: why?"]
)
def test_odd_questions_are_found(question):
    case = mcq_case(question=question)
    for order in ORDERS:
        assert choice("oracle", case, order, cases=[case]) == case.answer
    opened = open_case(question=question)
    assert said("oracle", opened) == open_reply("oracle", opened)


# ---------------------------------------------------------------- open questions


def test_the_oracle_says_what_the_caption_says_and_gives_the_answer():
    for case in OPENS:
        read = read_sections(said("oracle", case))
        assert read.answer == case.answer
        assert " ".join(case.caption.split()).rstrip(".") in read.reasoning
    bare = open_case(caption=None, answer="Answer: gout\nAnswer: air")
    read = read_sections(said("oracle", bare))
    assert read.reasoning
    assert read.answer == "Answer: gout Answer: air"


def test_a_reformulated_item_is_answered_in_words():
    case = mcq_case(question="What is it? A. gout B. air", options=("gout", "air"), answer="B")
    assert read_sections(said("oracle", case, asked(case, opened=True))).answer == "air"


def test_letter_a_and_longest_option_say_nothing_of_the_case():
    for control in ("letter-a", "longest-option"):
        replies = {said(control, case) for case in OPENS}
        assert len(replies) == 1
        assert read_sections(replies.pop()).answer
    assert said("letter-a", OPENS[0], "Anything at all") == said("letter-a", OPENS[0])


@pytest.mark.parametrize("control", ["reads-caption", "format-breaker"])
def test_without_an_answer_section_an_open_reply_is_invalid(control):
    for case in OPENS:
        assert read_sections(said(control, case)).answer is None
    odd = open_case(answer="x\nAnswer: gout")
    assert read_sections(said(control, odd)).answer is None


def test_the_format_breaker_knows_the_answer():
    assert all(case.answer in said("format-breaker", case) for case in OPENS)


# ---------------------------------------------------------------- the leak detector


@pytest.mark.parametrize("order", ORDERS)
def test_from_clean_prompts_the_leak_detector_reads_nothing(order):
    for case in CASES:
        assert said("reads-caption", case, asked(case, order)) == NOTHING
        if case.kind == "mcq":
            assert read_choice(NOTHING, shown_in(case, order)).letter is None
    assert said("reads-caption", MCQS[0], asked(MCQS[0], opened=True)) == NOTHING


LEAKS = {
    "caption": lambda case, letter: case.caption,
    "caption in other case and lines": lambda case, letter: case.caption.upper().replace(" ", "\n"),
    "json": lambda case, letter: f'{{"index": 1, "answer": "{letter}"}}',
    "letter": lambda case, letter: f"Correct answer: {letter}",
    "letter in words": lambda case, letter: f"The correct option is {letter}.",
    "the set's own letter": lambda case, letter: f"answer={case.answer}",
    "text": lambda case, letter: f"Ground truth: {case.truth}",
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("where", ["before", "behind", "system"])
def test_whatever_gives_the_answer_away_is_read(leak, where):
    for case in MCQS:
        for order in (0, 3):
            shown = shown_in(case, order)
            given_away = leak(case, letter_of(case, LETTERS.index(case.answer), shown))
            clean = asked(case, order)
            text = {"before": f"{given_away}\n{clean}", "behind": f"{clean}\n{given_away}"}
            system = given_away if where == "system" else ""
            reply = said("reads-caption", case, text.get(where, clean), system=system)
            named = read_choice(reply, shown).letter
            assert named is not None
            assert shown[LETTERS.index(named)] == case.truth


def test_a_caption_among_the_options_is_read():
    for case in MCQS:
        text = asked(case).replace("\nB) ", f"\n{case.caption}\nB) ")
        assert read_choice(said("reads-caption", case, text), case.options).letter == case.answer


@pytest.mark.parametrize("mark", ["(correct)", "[Correct answer]", "✓", "✔"])
def test_an_option_that_is_ticked_is_read(mark):
    case = MCQS[1]
    text = asked(case).replace(case.truth, f"{case.truth} {mark}")
    assert leaked(text, case, ())
    assert read_choice(said("reads-caption", case, text), case.options).letter == case.answer


def test_open_prompts_that_hold_the_caption_or_the_answer_are_read():
    for case in OPENS:
        for given_away in (case.caption, f"Answer: {case.answer}", f"truth = {case.answer}"):
            reply = said("reads-caption", case, f"{asked(case)}\n{given_away}")
            assert read_sections(reply).answer == case.answer
    other = f"{asked(OPENS[0])}\nAnswer: {OPENS[1].answer}"
    assert said("reads-caption", OPENS[0], other) == NOTHING
    odd = f"Nobody asked this. {OPENS[2].caption}"
    assert CAPTION[:20] in said("reads-caption", OPENS[2], odd)


def test_the_case_s_own_words_are_no_leak():
    short = mcq_case(caption="CT", question="What does this CT show?")
    assert said("reads-caption", short) == NOTHING
    assert said("reads-caption", short, f"{asked(short)} CT") != NOTHING
    sided = mcq_case(options=("upper lobe", "upper lobe (right)"), answer="A", caption=None)
    assert said("reads-caption", sided) == NOTHING
    marked = mcq_case(question="The right answer is B, he said. Why?", caption=None)
    assert said("reads-caption", marked) == NOTHING
    # But a question that holds all of a caption gives it away, whoever wrote it so.
    told = mcq_case(question=f"Given this: Film 1: {CAPTION} What is it?")
    assert said("reads-caption", told) != NOTHING


# ---------------------------------------------------------------- readers


def test_a_case_nobody_knows_gets_no_answer():
    for case in (mcq_case(99), open_case(99)):
        for control in ("oracle", "longest-option", "format-breaker", "reads-caption"):
            assert said(control, case, cases=CASES) == UNKNOWN
    assert read_choice(UNKNOWN, OPTIONS).letter is None
    assert read_sections(UNKNOWN).answer is None


def test_images_change_nothing():
    reader = medcmr_controls(CASES, 0)["oracle"]
    shown = Shown("image/png", b"any")
    seen = asyncio.run(reader.reply(prompt_of(asked(MCQS[0]), MCQS[0], shown)))
    assert seen.text == said("oracle", MCQS[0])
    assert reader.traits.modality == "text"


def test_controls_are_readers_whose_identity_tells_what_they_know():
    controls = medcmr_controls(CASES, 0)
    assert tuple(controls) == CONTROLS == tuple(EXPECTED) == tuple(CRITERIA)
    assert all(isinstance(control, Reader) for control in controls.values())
    assert all(control.name == f"control:{key}" for key, control in controls.items())
    assert all(control.traits.told_case for control in controls.values())
    knowing = {key for key, control in controls.items() if control.traits.knows_truth}
    assert knowing == {"oracle", "reads-caption", "format-breaker"}
    backwards = medcmr_controls(CASES[::-1], 0)
    mended = [msgspec.structs.replace(CASES[0], caption="corrected"), *CASES[1:]]
    for key, control in controls.items():
        assert backwards[key].identity == control.identity
        assert medcmr_controls(mended, 0)[key].identity != control.identity
        assert medcmr_controls(CASES, 1)[key].identity != control.identity


def test_fixed_sentences_name_no_letter():
    for text in (NOTHING, UNKNOWN):
        assert not re.search(r"\b[A-J]\b", text)


# ---------------------------------------------------------------- recovered

A = (("position", "A"),)
OPEN = (("kind", "open"),)
# What must come out, by control: measure, by, value.
TRUE = {
    "oracle": {
        ("accuracy", ()): 1, ("invalid_rate", ()): 0, ("position_share", A): 0.2, ("longest_rate", ()): 0.2,
        ("order_consistency", ()): 1, ("visual", ()): 1, ("truth", ()): 1, ("score", ()): 1, ("invalid_rate", OPEN): 0,
    },
    "letter-a": {
        ("accuracy", ()): 0.2, ("invalid_rate", ()): 0, ("position_share", A): 1, ("longest_rate", ()): 0.2,
        ("order_consistency", ()): 0, ("visual", ()): 0, ("truth", ()): 0.1, ("score", ()): 0.1, ("invalid_rate", OPEN): 0,
    },
    "longest-option": {
        ("accuracy", ()): 0.3, ("invalid_rate", ()): 0, ("position_share", A): 0.2, ("longest_rate", ()): 1,
        ("order_consistency", ()): 1, ("visual", ()): 0, ("truth", ()): 0, ("score", ()): 0.2, ("invalid_rate", OPEN): 0,
    },
    "reads-caption": {
        ("accuracy", ()): 0, ("invalid_rate", ()): 1, ("position_share", A): None, ("longest_rate", ()): 0,
        ("order_consistency", ()): 0, ("visual", ()): 0, ("truth", ()): 0, ("score", ()): 0.1, ("invalid_rate", OPEN): 1,
    },
    "format-breaker": {
        ("accuracy", ()): 0, ("invalid_rate", ()): 1, ("position_share", A): None, ("longest_rate", ()): 0,
        ("order_consistency", ()): 0, ("visual", ()): 0, ("truth", ()): 0.75, ("score", ()): 0.5, ("invalid_rate", OPEN): 1,
    },
}  # fmt: skip


def measures(changed=None, controls=CONTROLS, without=(), label=None):
    for control in controls:
        for (name, by), value in (TRUE[control] | (changed or {}).get(control, {})).items():
            if name in without:
                continue
            given = {"reader": f"control:{control}", "measure": name, "label": label}
            yield Measure(**given, by=dict(by), value=value, n=0 if value is None else 40)
            # By dimension other numbers stand: they are not looked at.
            yield Measure(**given, by=dict(by) | {"dimension": "SU"}, value=0.5, n=4)


JUDGED = ("visual", "truth", "score")


@pytest.mark.parametrize(
    "without", [(), ("order_consistency",), JUDGED, (*JUDGED, "order_consistency")]
)
def test_controls_that_come_out_as_they_must_are_recovered(without):
    found = recovered(list(measures(without=without)))
    assert [one.control for one in found] == list(EXPECTED)
    assert all(one.ok and one.found == one.expected == EXPECTED[one.control] for one in found)
    assert all(one.note for one in found)


@pytest.mark.parametrize(
    ("control", "measure", "by", "value"),
    [
        ("oracle", "accuracy", (), 0.9),
        ("oracle", "invalid_rate", (), 0.1),
        ("oracle", "order_consistency", (), 0.8),
        ("oracle", "truth", (), 0.5),
        ("oracle", "visual", (), 0.5),
        ("letter-a", "position_share", A, 0.9),
        ("letter-a", "position_share", A, None),
        ("letter-a", "invalid_rate", (), 1),
        ("letter-a", "truth", (), 1),
        ("longest-option", "longest_rate", (), 0.5),
        ("longest-option", "longest_rate", (), None),
        ("longest-option", "order_consistency", (), 0),
        ("reads-caption", "accuracy", (), 0.02),
        ("reads-caption", "invalid_rate", (), 0.98),
        ("reads-caption", "invalid_rate", OPEN, 0.5),
        ("reads-caption", "truth", (), 1),
        ("format-breaker", "invalid_rate", (), 0.98),
        ("format-breaker", "accuracy", (), 0.02),
        ("format-breaker", "invalid_rate", OPEN, 0),
    ],
)
def test_one_measure_out_of_place_is_found_and_named(control, measure, by, value):
    changed = {control: {(measure, by): value}}
    found = {one.control: one for one in recovered(list(measures(changed)))}
    assert not found[control].ok
    assert measure in found[control].found
    assert found[control].note is None
    assert all(one.ok for name, one in found.items() if name != control)


def test_no_control_passes_for_another():
    for control in CONTROLS:
        for other in CONTROLS:
            taken = [
                msgspec.structs.replace(one, reader=f"control:{other}")
                for one in measures(controls=[control])
            ]
            (found,) = recovered(taken)
            # Both read nothing; one of them knows the truth, which only judges can see.
            alike = {control, other} == {"reads-caption", "format-breaker"}
            assert found.ok is (control == other or (alike and other == "format-breaker"))


def test_what_an_unfit_judge_says_is_not_looked_at():
    wrong = {"oracle": {("truth", ()): 0, ("visual", ()): 0, ("score", ()): 0}}
    assert not recovered(list(measures(wrong)))[0].ok
    assert recovered(list(measures(wrong, without=("accuracy",), label=UNFIT)))[0].ok is False
    lettered = [m for m in measures(wrong, label=None) if m.measure not in JUDGED]
    judged = [m for m in measures(wrong, label=UNFIT) if m.measure in JUDGED]
    assert recovered([*lettered, *judged])[0].ok


def test_a_run_of_open_items_alone_is_told_by_judges():
    letters = ("accuracy", "position_share", "longest_rate", "order_consistency")
    opened = [
        one for one in measures(without=letters) if one.by or one.measure != "invalid_rate"
    ]  # fmt: skip
    found = {one.control: one.ok for one in recovered(opened)}
    assert all(found.values())
    unjudged = [one for one in opened if one.measure not in JUDGED]
    found = {one.control: one for one in recovered(unjudged)}
    assert not found["oracle"].ok
    assert found["oracle"].found == "nothing was measured that tells"
    assert found["reads-caption"].ok


def test_controls_that_were_not_asked_are_left_out():
    found = recovered(list(measures(controls=["letter-a"])))
    assert [(one.control, one.ok) for one in found] == [("letter-a", True)]
    assert recovered([]) == []
    assert recovered([Measure(reader="model", measure="accuracy", value=1.0, n=9)]) == []


# ---------------------------------------------------------------- recovery
# The whole way: controls are asked, read, judged and measured, and found to be what they are.

WORDS = ("round", "oval", "dense", "pale", "sharp", "blurred", "small", "dark", "bright", "smooth")
ORGANS = ("lung", "liver", "kidney", "spleen", "heart", "brain", "bone", "skin", "retina", "colon")
ORGAN_CASES = [
    MedCase(
        case_id=f"{kind}-{n}",
        index=n,
        kind=kind,
        question=f"What does the {ORGANS[n]} of record {n} {kind} hold?",
        images=(f"{kind}{n}.png",),
        options=tuple(f"a {word} tumor {'of long standing' * (k == n % 3)}" for k, word in enumerate(WORDS[:5]))
        if kind == "mcq"
        else (),
        answer=LETTERS[n % 5] if kind == "mcq" else f"a {WORDS[n]} cyst of the {ORGANS[n]}",
        caption=f"One {WORDS[n]} shadow with a {WORDS[-1 - n]} border in the {ORGANS[n]}.",
        dimension=("SOD", "CR")[n % 2],
    )
    for kind in ("mcq", "open")
    for n in range(10)
]  # fmt: skip


def reply(reader, request, case=""):
    messages = tuple(
        PromptMessage(m.role, tuple(p for p in m.parts if isinstance(p, str)))
        for m in request.messages
    )
    return asyncio.run(reader.reply(Prompt(messages, case=case)))


def run(name, words):
    """Tables of all five controls on all cases, judged by words."""
    rules, options = BOOK.settings(name, words)
    reformulated = (
        frozenset(c.case_id for c in ORGAN_CASES[:3]) if "reformulate" in words else frozenset()
    )
    judge, answers, verdicts = lexical_judge(), [], []
    controls = medcmr_controls(ORGAN_CASES, rules.seed)
    for key, control in controls.items():
        for case in ORGAN_CASES:
            asked = trials(
                case, control.traits, rules, options, "/", None, case.case_id in reformulated
            )
            for trial in asked:
                said = reply(control, trial.request, trial.case)
                answer = answer_of(trial, said, rules, case)
                answers.append((control.name, answer))
                row = msgspec.structs.asdict(answer) | {"reader": control.name}
                for check in (0, 1) if key in CHECKED else (0,):
                    for asking in question_trials(
                        questions(rules), row | {"check": check}, "score", case
                    ):
                        text = reply(judge, asking.request).text
                        read = read_verdict(str(asking.condition["question"]), text)
                        assert read.how == "lines"
                        told = {
                            **asking.condition, "judge": judge.name, "case": case.case_id,
                            "check": bool(check), "attempts": 1, "outcome": "judged", "text": text,
                            "payload": msgspec.json.encode(read.value).decode(),
                        }  # fmt: skip
                        verdicts.append({column: told.get(column) for column in VERDICT_COLUMNS})
    tables = Tables(
        cases=frame_of(CaseRow, map(case_row, ORGAN_CASES)),
        answers=answers_frame(Answer, answers),
        verdicts=verdicts_of(verdicts),
        readers=tuple(ReaderRecord(name=c.name, traits=c.traits) for c in controls.values()),
    )
    return tables, rules, options


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [{}, {"orders": "4"}, {"orders": "2", "reformulate": "3", "images": "original,blank"}],
    ids=["plain", "orders", "reformulated"],
)
@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_both_editions_recover_all_five(edition, words):
    tables, rules, options = run(edition, words | {"boot": "100"})
    found = fitness_in(questions(rules), tables.verdicts, cases_in(tables.cases))
    assert {(one.part, one.label) for one in found} == {("visual", None), ("truth", None)}
    judged = tables.verdicts.filter(~tables.verdicts["check"])
    records = measure(
        tables, judged, rules, options, labels=labels_of(questions(rules), judged, found)
    )
    told = recovered(records)
    assert [one.control for one in told] == list(EXPECTED)
    assert [one.found for one in told] == list(EXPECTED.values())
    assert all(one.ok for one in told)
    assert all("truth" in (one.note or "") for one in told[:4])
