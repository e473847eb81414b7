"""What judges are asked about one reply, and how they are asked again."""

from __future__ import annotations

import json

import msgspec
import pytest

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.judged import REMINDER, about_of, judge_trials, reminded, said_in
from overread.benchmarks.medcmr.rubrics import RUBRICS
from overread.judging.asking import variant_of
from overread.judging.rubric import asked_of, sections_of
from support.med_tables import chose, wrote

CASE = MedCase(
    case_id="open-1",
    index=1,
    kind="open",
    question="What is it?",
    images=("1.png",),
    answer="a mass",
    caption="A round opacity.",
)
BARE = msgspec.structs.replace(CASE, caption=None)
SAID = {"text": "Reasoning: dense\nAnswer: a mass", "reasoning": "dense", "answer": "a mass"}


def row(check=0, **told):
    return wrote("r", 1, **(SAID | told)) | {"check": check}


def asked(case=CASE, varied=False, **told):
    return list(judge_trials(row(**told), "score", case, RUBRICS, varied=varied))


def shown(trial):
    return sections_of(trial.request.messages[-1].parts[0])


def test_one_question_about_each_open_reply():
    (trial,) = asked()
    assert trial.case == "open-1"
    assert trial.condition == {
        "role": "score",
        "question": "score",
        "reader": "r",
        "about": '{"form":"open","image":"original","order":0}',
        "check": 0,
        "prompt": RUBRICS["score"].digest,
    }
    assert shown(trial) == {
        "question": "What is it?",
        "caption": "A round opacity.",
        "truth": "a mass",
        "reasoning": "dense",
        "answer": "a mass",
    }
    assert trial.request.decoding.temperature == 0.0
    assert not trial.request.pictures


def test_without_a_caption_vision_is_not_asked_for():
    (trial,) = asked(BARE)
    assert trial.condition["question"] == "score_uncaptioned"
    assert "caption" not in shown(trial)
    assert asked_of(trial.request.messages[-1].parts[0]) == "score_uncaptioned"


@pytest.mark.parametrize("image", ["original", "blank", "swap", "text"])
def test_replies_under_every_image_are_judged_but_only_plain_ones_of_controls(image):
    (trial,) = asked(image=image)
    assert json.loads(trial.condition["about"])["image"] == image
    assert bool(asked(image=image, check=1)) is (image == "original")


def test_reformulated_items_are_judged_by_the_text_of_the_right_option():
    case = msgspec.structs.replace(
        CASE, case_id="mcq-1", kind="mcq", options=("gout", "a mass"), answer="B"
    )
    (trial,) = asked(case, form="reformulated")
    assert shown(trial)["truth"] == "a mass"
    assert json.loads(trial.condition["about"])["form"] == "reformulated"


def test_letters_need_no_judge():
    letter = chose("r", 1, "A") | {"check": 0}
    assert list(judge_trials(letter, "score", CASE, RUBRICS)) == []
    assert list(judge_trials(row(), "answer", CASE, RUBRICS)) == []


@pytest.mark.parametrize(
    "told",
    [
        {"text": None, "outcome": "unanswered"},
        {"text": "", "outcome": "answered"},
        {"text": " \n", "outcome": "unparsed"},
        {"text": "I will not say.", "outcome": "refused"},
    ],
)
def test_silence_and_refusals_are_sent_to_nobody(told):
    assert asked(**told) == []
    assert said_in(row(**told)) is None


def test_a_reply_without_an_answer_is_all_reasoning():
    (trial,) = asked(text="It is a mass.", outcome="unparsed", reasoning=None, answer=None)
    assert (shown(trial)["reasoning"], shown(trial)["answer"]) == ("It is a mass.", "")
    (trial,) = asked(reasoning=None)
    assert (shown(trial)["reasoning"], shown(trial)["answer"]) == ("", "a mass")
    # Nothing in either section: what is there is judged.
    (trial,) = asked(text="Reasoning:\nAnswer:", reasoning="", answer="")
    assert shown(trial)["reasoning"] == "Reasoning:\nAnswer:"


def test_variants_change_one_harmless_thing_each():
    plain, *others = asked(varied=True, check=1)
    assert [variant_of(trial.condition["about"]) for trial in others] == ["sections", "length"]
    turned, longer = others
    assert shown(turned) == shown(plain)
    assert list(shown(turned)) == list(reversed(shown(plain)))
    assert shown(longer)["reasoning"].endswith(shown(plain)["reasoning"])
    assert len(shown(longer)["reasoning"]) > 100
    assert variant_of(about_of(row())) == ""


def test_a_judge_is_reminded_once_however_often_it_is_asked():
    (trial,) = asked()
    once = reminded(trial, 1)
    twice = reminded(once, 2)
    text = twice.request.messages[-1].parts[0]
    assert text.endswith(f"\n\n{REMINDER}")
    assert text.count(REMINDER) == 1
    assert (once.repeat, twice.repeat) == (1, 2)
    assert once.condition == trial.condition
    assert twice.request == once.request
    assert sections_of(text) == shown(trial)
