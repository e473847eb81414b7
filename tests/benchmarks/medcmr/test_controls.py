"""Controls: they find their case in any prompt, say what they are made to, and are recovered."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr import prompts
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.choice import read_choice
from overread.benchmarks.medcmr.control_replies import (
    CONTROLS,
    NOTHING,
    leaked,
    letter_of,
    longest_place,
    mcq_reply,
    open_reply,
)
from overread.benchmarks.medcmr.controls import (
    SEVERAL,
    UNKNOWN,
    medcmr_controls,
    told_apart,
    untold,
)
from overread.benchmarks.medcmr.orders import shown_order
from overread.benchmarks.medcmr.recovery import CRITERIA, EXPECTED, recovered
from overread.benchmarks.medcmr.sections import read_sections
from overread.case import Measure, Prompt, PromptMessage, Reader, Shown
from overread.judging.fitness import UNFIT

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
        return prompts.open_ended(case.question)
    if opened:
        return prompts.open_ended(prompts.stem(case.question, case.options))
    return prompts.mcq(case.question, shown_in(case, order))


def prompt_of(text, *pictures, system=""):
    user = PromptMessage("user", (*pictures, text))
    return Prompt((PromptMessage("system", (system,)), user) if system else (user,))


def said(control, text, cases=CASES, reformulated=None, system=""):
    reader = medcmr_controls(cases, 0, reformulated)[control]
    return asyncio.run(reader.reply(prompt_of(text, system=system))).text


def choice(control, case, order, **more):
    """The option of the case that a control's reply names, as the benchmark reads it."""
    letter = read_choice(said(control, asked(case, order), **more), shown_in(case, order)).letter
    return None if letter is None else LETTERS[shown_order(case, order)[LETTERS.index(letter)]]


# ---------------------------------------------------------------- multiple choice


@pytest.mark.parametrize("order", ORDERS)
def test_the_oracle_names_the_right_option_in_whatever_order(order):
    assert all(choice("oracle", case, order) == case.answer for case in MCQS)


@pytest.mark.parametrize("order", ORDERS)
def test_letter_a_says_a_in_whatever_order(order):
    assert all(said("letter-a", asked(case, order)) == "A" for case in MCQS)


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
    replies = {said("format-breaker", asked(case, order)) for case in MCQS}
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


def test_a_question_with_options_is_told_by_both():
    one = mcq_case(1, "A", question="What is it?", options=("gout", "air"))
    two = mcq_case(2, "B", question="What is it?", options=("gout", "a mass"))
    same = mcq_case(3, "B", question="What is it?", options=("air", "gout"))
    cases = [one, two]
    assert choice("oracle", one, 1, cases=cases) == "A"
    assert choice("oracle", two, 1, cases=cases) == "B"
    # The same options, turned, with the same truth: told. With another truth: not.
    assert choice("oracle", same, 0, cases=[*cases, same]) == "B"
    other = msgspec.structs.replace(same, answer="A")
    assert said("oracle", asked(other), cases=[*cases, other]) == SEVERAL
    assert untold([*cases, other], frozenset()) == {"mcq-1", "mcq-3"}
    assert untold([*cases, same], frozenset()) == frozenset()
    assert read_choice(SEVERAL, one.options).letter is None


@pytest.mark.parametrize(
    "question", ["Two\nlines?", " Options: A) this B) that ", "Question: why?"]
)
def test_odd_questions_are_found(question):
    case = mcq_case(question=question)
    for order in ORDERS:
        assert choice("oracle", case, order, cases=[case]) == case.answer
    opened = open_case(question=question)
    assert said("oracle", asked(opened), [opened]) == open_reply("oracle", opened)


# ---------------------------------------------------------------- open questions


def test_the_oracle_says_what_the_caption_says_and_gives_the_answer():
    for case in OPENS:
        read = read_sections(said("oracle", asked(case)))
        assert read.answer == case.answer
        assert " ".join(case.caption.split()).rstrip(".") in read.reasoning
    bare = open_case(caption=None, answer="Answer: gout\nAnswer: air")
    read = read_sections(said("oracle", asked(bare), [bare]))
    assert read.reasoning
    assert read.answer == "Answer: gout Answer: air"


def test_a_reformulated_item_is_found_by_its_stem():
    case = mcq_case(question="What is it? A. gout B. air", options=("gout", "air"), answer="B")
    for reformulated in (None, frozenset({"mcq-1"})):
        told = said("oracle", asked(case, opened=True), [case], reformulated)
        assert read_sections(told).answer == "air"
    assert said("oracle", asked(case, opened=True), [case], frozenset()) == UNKNOWN


def test_letter_a_and_longest_option_say_nothing_of_the_case():
    for control in ("letter-a", "longest-option"):
        replies = {said(control, asked(case)) for case in OPENS}
        assert len(replies) == 1
        assert read_sections(replies.pop()).answer
    assert said("letter-a", "Anything at all") == said("letter-a", asked(OPENS[0]))


@pytest.mark.parametrize("control", ["reads-caption", "format-breaker"])
def test_without_an_answer_section_an_open_reply_is_invalid(control):
    for case in OPENS:
        assert read_sections(said(control, asked(case))).answer is None
    odd = open_case(answer="x\nAnswer: gout")
    assert read_sections(said(control, asked(odd), [odd])).answer is None


def test_the_format_breaker_knows_the_answer():
    assert all(case.answer in said("format-breaker", asked(case)) for case in OPENS)


def test_one_question_with_two_truths_cannot_be_told_apart():
    one, two = open_case(1, question="What is it?"), open_case(2, question="What is\nit? ")
    twins = [open_case(n, question="Where?", answer="here", caption="c") for n in (3, 4)]
    cases = [one, two, *twins]
    assert told_apart(cases) == {"open-3", "open-4"}
    assert untold(cases, frozenset()) == {"open-1", "open-2"}
    assert said("oracle", asked(one), cases) == SEVERAL
    assert read_sections(said("oracle", asked(twins[0]), cases)).answer == "here"
    # Another caption is another truth: the oracle would say what is not to be seen.
    seen = msgspec.structs.replace(twins[0], case_id="open-5", caption="d")
    assert not told_apart([twins[0], seen])


def test_only_items_put_as_open_ones_can_be_mistaken_for_them():
    item = open_case(question="What is it?", answer="gout")
    other = mcq_case(question="What is it?", answer="B")
    for reformulated, told in ((frozenset(), "gout"), (frozenset({"mcq-1"}), None)):
        reply = said("oracle", asked(item), [item, other], reformulated)
        assert read_sections(reply).answer == told
        expected = set() if told else {"open-1", "mcq-1"}
        assert untold([item, other], reformulated) == expected


# ---------------------------------------------------------------- the leak detector


@pytest.mark.parametrize("order", ORDERS)
def test_from_clean_prompts_the_leak_detector_reads_nothing(order):
    for case in CASES:
        text = asked(case, order)
        assert said("reads-caption", text) == NOTHING
        if case.kind == "mcq":
            assert read_choice(NOTHING, shown_in(case, order)).letter is None
    assert said("reads-caption", asked(MCQS[0], opened=True)) == NOTHING


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
            reply = said("reads-caption", text.get(where, clean), system=system)
            named = read_choice(reply, shown).letter
            assert named is not None
            assert shown[LETTERS.index(named)] == case.truth


def test_a_caption_among_the_options_is_read():
    for case in MCQS:
        text = asked(case).replace("\nB) ", f"\n{case.caption}\nB) ")
        assert read_choice(said("reads-caption", text), case.options).letter == case.answer


@pytest.mark.parametrize("mark", ["(correct)", "[Correct answer]", "✓", "✔"])
def test_an_option_that_is_ticked_is_read(mark):
    case = MCQS[1]
    text = asked(case).replace(case.truth, f"{case.truth} {mark}")
    assert leaked(text, case, ())
    assert read_choice(said("reads-caption", text), case.options).letter == case.answer


def test_open_prompts_that_hold_the_caption_or_the_answer_are_read():
    for case in OPENS:
        for given_away in (case.caption, f"Answer: {case.answer}", f"truth = {case.answer}"):
            reply = said("reads-caption", f"{asked(case)}\n{given_away}")
            assert read_sections(reply).answer == case.answer
    other = f"{asked(OPENS[0])}\nAnswer: {OPENS[1].answer}"
    assert said("reads-caption", other) == NOTHING
    assert CAPTION[:20] in said("reads-caption", f"Nobody asked this. {OPENS[2].caption}")


def test_the_case_s_own_words_are_no_leak():
    short = mcq_case(caption="CT", question="What does this CT show?")
    assert said("reads-caption", asked(short), [short]) == NOTHING
    assert said("reads-caption", f"{asked(short)} CT", [short]) != NOTHING
    sided = mcq_case(options=("upper lobe", "upper lobe (right)"), answer="A", caption=None)
    assert said("reads-caption", asked(sided), [sided]) == NOTHING
    marked = mcq_case(question="The right answer is B, he said. Why?", caption=None)
    assert said("reads-caption", asked(marked), [marked]) == NOTHING
    # But a question that holds all of a caption gives it away, whoever wrote it so.
    told = mcq_case(question=f"Given this: Film 1: {CAPTION} What is it?")
    assert said("reads-caption", asked(told), [told]) != NOTHING


# ---------------------------------------------------------------- readers


def test_a_question_nobody_knows_gets_no_answer():
    for text in ("", "What is this?", prompts.mcq("New?", OPTIONS), prompts.open_ended("New?")):
        for control in ("oracle", "longest-option", "format-breaker", "reads-caption"):
            assert said(control, text) == UNKNOWN
    assert read_choice(UNKNOWN, OPTIONS).letter is None
    assert read_sections(UNKNOWN).answer is None


def test_images_change_nothing():
    reader = medcmr_controls(CASES, 0)["oracle"]
    seen = asyncio.run(reader.reply(prompt_of(asked(MCQS[0]), Shown("image/png", b"any"))))
    assert seen.text == said("oracle", asked(MCQS[0]))
    assert reader.traits.modality == "text"


def test_controls_are_readers_whose_identity_tells_what_they_know():
    controls = medcmr_controls(CASES, 0)
    assert tuple(controls) == CONTROLS == tuple(EXPECTED) == tuple(CRITERIA)
    assert all(isinstance(control, Reader) for control in controls.values())
    assert all(control.name == f"control:{key}" for key, control in controls.items())
    knowing = {key for key, control in controls.items() if control.traits.knows_truth}
    assert knowing == {"oracle", "reads-caption", "format-breaker"}
    backwards = medcmr_controls(reversed(CASES), 0)
    mended = [msgspec.structs.replace(CASES[0], caption="corrected"), *CASES[1:]]
    for key, control in controls.items():
        assert backwards[key].identity == control.identity
        assert medcmr_controls(mended, 0)[key].identity != control.identity
        assert medcmr_controls(CASES, 1)[key].identity != control.identity
        assert medcmr_controls(CASES, 0, frozenset())[key].identity != control.identity


def test_fixed_sentences_name_no_letter():
    for text in (NOTHING, UNKNOWN, SEVERAL):
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
