"""The questions: published strings to the letter, and one clean wording of each."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.answers import parse_strict
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.trials import FAMILIES, Numbers, question

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_prompts.json").read_text("utf-8")
)
NUMBERS = Numbers(GOLDEN["NUM"], GOLDEN["idx_low"], GOLDEN["idx_high"])
ASKED = [("t1", f) for f in FORMATS] + [("t2", "edv"), ("t2", "esv")]
EVERY = [(task, c, f) for (task, f), c in product(ASKED, CONTEXTS)]


def named(key):
    """Task, context, family and format of a golden prompt's name."""
    task, context, name = key.split("/")
    family, _, output = name.partition("_")
    return task.lower(), context, "structured" if family == "qwen" else family, output


def texts(content):
    return [content] if isinstance(content, str) else [c["text"] for c in content if "text" in c]


def clean(task, context, output, numbers=NUMBERS):
    return question(task, context, output, numbers if task == "t1" else None, "gemma", "clean")


@pytest.mark.parametrize("key", GOLDEN["prompts"])
def test_every_published_prompt_is_equal_to_the_letter(key):
    task, context, family, output = named(key)
    numbers = NUMBERS if task == "t1" else None
    asked = question(task, context, output, numbers, family, "published")
    system, user = GOLDEN["prompts"][key]
    assert (system["role"], user["role"]) == ("system", "user")
    assert [asked.system] == texts(system["content"])
    assert [asked.text] == texts(user["content"])
    kinds = [part["type"] for part in user["content"]]
    # A template without a slot gets its images behind the text (HEARTBEAT 3).
    assert (asked.visual == "before") == (kinds[0] == "video")


def test_the_golden_file_holds_every_published_question():
    found = {named(key) for key in GOLDEN["prompts"]}
    t1 = {("t1", c, f, o) for c in CONTEXTS for f in FAMILIES if f != "llava" for o in FORMATS}
    t2 = {("t2", c, f, o) for c in CONTEXTS for f in FAMILIES for o in ("edv", "esv")}
    assert found == t1 | t2


def test_llava_has_the_structured_words_for_a_window():
    for context, output in product(CONTEXTS, FORMATS):
        asked = [
            question("t1", context, output, NUMBERS, family, "published")
            for family in ("llava", "structured")
        ]
        assert asked[0] == asked[1]


def test_the_numbers_of_a_window_stand_as_they_are_even_where_they_disagree():
    # An overrunning window: 30 frames decoded, indices up to 34 offered (HEARTBEAT 2).
    text = question("t1", "original", "edv", Numbers(30, 0, 34), "gemma", "published").text
    assert "exactly 30 frames" in text
    assert "[0, 34]" in text


@pytest.mark.parametrize(("task", "context", "output"), EVERY)
def test_the_clean_wording_has_the_published_facts_and_reply(task, context, output):
    ours = clean(task, context, output)
    theirs = question(
        task, context, output, NUMBERS if task == "t1" else None, "structured", "published"
    )
    form = re.compile(r"(?:Frame: )?\w+=<[^>]+>(?:, \w+=<[^>]+>)*")
    assert form.findall(ours.text)[-1] == form.findall(theirs.text)[-1]
    assert ours.visual == "before"
    for number in NUMBERS if task == "t1" else (0, 1, 2):
        assert re.search(rf"\b{number}\b", ours.text)
    assert not re.search(r" {2}| \n| $|\bis1\b|and from|\.[A-Z]", ours.text)
    assert ("red" in ours.text) == (context != "original")


@pytest.mark.parametrize(("task", "context", "output"), EVERY)
def test_a_reply_in_the_form_a_question_shows_is_parsed(task, context, output):
    for wording, family in product(("clean", "published"), FAMILIES):
        numbers = NUMBERS if task == "t1" else None
        text = question(task, context, output, numbers, family, wording).text
        form = text.rpartition("Frame: ")[2] if task == "t1" else text
        reply = re.sub(r"<(?:int|0 or 1)>", "1", form)
        found = parse_strict(reply, output, context)
        assert (found.ed, found.es) == (
            1 if "edv" in output else None,
            1 if "esv" in output else None,
        )


def test_the_clean_wording_is_one_for_all_families_and_different_for_every_question():
    for task, context, output in EVERY:
        numbers = NUMBERS if task == "t1" else None
        assert len({question(task, context, output, numbers, f, "clean") for f in FAMILIES}) == 1
    assert len({clean(*one).text for one in EVERY}) == len(EVERY)


def test_nothing_medical_stands_in_the_clean_non_medical_questions():
    medical = re.compile(
        "EDV|ESV|echo|ultrasound|heart|cardi|ventric|anatom|medic|radiolog|chamber|diasto|systo",
        re.IGNORECASE,
    )
    for task, context, output in EVERY:
        asked = clean(task, context, output)
        said = f"{asked.system} {asked.text}"
        assert bool(medical.search(said)) == (context != "non_medical")


@pytest.mark.parametrize("wording", ["clean", "published"])
def test_a_window_needs_its_numbers(wording):
    with pytest.raises(ValueError, match="numbers"):
        question("t1", "original", "edv", None, "gemma", wording)
