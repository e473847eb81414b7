"""Trials: what a reader is asked about one case."""

from __future__ import annotations

import pytest

from overread.benchmarks.grounding.edition import AUTHORS, CONDITIONS, CORRECTED, Options, settings
from overread.benchmarks.grounding.prompts import REASONING_SYSTEM_MESSAGE
from overread.benchmarks.grounding.trials import trials
from overread.case import Box, Fill, Picture, Resize, Source, Traits


def ask(case, traits=None, rules=CORRECTED, **options):
    return list(trials(case, traits or Traits(), rules, Options(**options), "/data"))


def picture(trial) -> Picture:
    (found,) = trial.request.pictures
    return found


def test_a_boxed_case_is_asked_under_four_conditions(bench):
    asked = ask(bench.case("c"))
    assert [t.condition["image"] for t in asked] == list(CONDITIONS)
    assert all(t.case == "c" and t.repeat == 0 for t in asked)
    assert asked[0].condition == {"image": "original", "phrasing": "default", "px": 224}
    resize = Resize(224, 224)
    assert picture(asked[0]) == Picture(Source("/data", "c.jpg"), (resize,), "png")
    assert picture(asked[1]) == Picture(Source("/data", "swap.jpg"), (resize,), "png")
    assert picture(asked[2]).operations == (resize, Fill(Box(10, 20, 60, 70)))
    assert picture(asked[3]).operations == (resize, Fill(Box(164, 154, 60, 70)))


def test_the_picture_comes_first_and_the_question_is_the_same_throughout(bench):
    asked = ask(bench.case("c"))
    for trial in asked:
        (message,) = trial.request.messages
        assert message.role == "user"
        shown, text = message.parts
        assert isinstance(shown, Picture)
        assert text == (
            "Is pulmonary edema present in this chest X-ray? Answer with a single word: Yes or No."
        )


def test_decoding_is_greedy_and_short(bench):
    (trial, *_) = ask(bench.case("c"))
    decoding = trial.request.decoding
    assert (decoding.max_tokens, decoding.temperature, decoding.top_logprobs) == (10, 0.0, 5)


def test_a_reasoning_reader_gets_room_and_a_system_message(bench):
    (trial, *_) = ask(bench.case("c"), Traits(reasoning=True))
    assert trial.request.decoding.max_tokens == 2048
    system, user = trial.request.messages
    assert system.role == "system"
    assert system.parts == (REASONING_SYSTEM_MESSAGE,)
    assert user.role == "user"


def test_the_authors_mask_is_a_row_and_a_column_larger_and_sent_as_jpeg(bench):
    """[D11], [D33]"""
    asked = ask(bench.case("c"), rules=AUTHORS)
    assert picture(asked[2]).operations[1] == Fill(Box(10, 20, 61, 71))
    assert picture(asked[0]).wire == "jpeg:75"
    assert picture(ask(bench.case("c"))[0]).wire == "png"


def test_at_512_the_box_is_scaled_first_and_closed_after(bench):
    case = bench.case("c", box=Box(100, 40, 60, 80))
    assert picture(ask(case, px=512)[2]).operations == (
        Resize(512, 512),
        Fill(Box(228, 91, 137, 182)),
    )
    closed = picture(ask(case, rules=AUTHORS, px=512)[2]).operations[1]
    assert closed == Fill(Box(228, 91, 138, 183))


@pytest.mark.parametrize(
    ("facts", "conditions"),
    [
        ({"box": None, "irrelevant_box": None}, ["original", "swap"]),
        ({"swap_image_path": None}, ["original", "target_mask", "irrelevant_mask"]),
        ({"irrelevant_box": None}, ["original", "swap", "target_mask"]),
        ({"box": None}, ["original", "swap"]),
    ],
)
def test_only_what_the_case_allows_is_asked(bench, facts, conditions):
    assert [t.condition["image"] for t in ask(bench.case("c", **facts))] == conditions


def test_only_the_conditions_asked_for(bench):
    asked = ask(bench.case("c"), conditions=("original", "target_mask"))
    assert [t.condition["image"] for t in asked] == ["original", "target_mask"]


def test_the_phrasing_is_part_of_the_condition(bench):
    (trial, *_) = ask(bench.case("c"), phrasing="brief")
    assert trial.condition["phrasing"] == "brief"
    assert trial.request.messages[0].parts[1] == "Is pulmonary edema present? Yes or No."


def test_a_reader_without_text_is_asked_about_findings_only(bench):
    """[D23] It cannot judge a sentence; the authors score it as if it could."""
    vision = Traits(modality="vision")
    sentence = bench.case(
        "r", source="rexerr", error_sentence="x", error_present=0, box=None, irrelevant_box=None
    )
    assert ask(sentence, vision) == []
    assert len(ask(sentence, vision, AUTHORS)) == 2
    assert ask(bench.case("r", source="rexerr", finding=None), vision, AUTHORS) == []
    assert len(ask(bench.case("c"), vision)) == 4
    assert len(ask(sentence)) == 2


def test_a_text_reader_costs_one_call_per_case(bench):
    """[D30] Without pictures all four conditions are one request."""
    traits = Traits(modality="text")
    requests = {t.request.for_reader(traits) for t in ask(bench.case("c"), traits)}
    assert len(requests) == 1


def test_settings_reach_the_trials(bench):
    rules, options = settings("corrected", {"masks": "closed", "px": "448"})
    found = list(trials(bench.case("c"), Traits(), rules, options, "/data"))
    assert picture(found[2]).operations[1] == Fill(Box(20, 40, 121, 141))
