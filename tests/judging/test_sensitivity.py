"""Harmless changes, and how many verdicts they change."""

from __future__ import annotations

import json

import pytest

from overread.judging.lexical import judged
from overread.judging.rubric import Rubric, frame, sections_of
from overread.judging.sensitivity import Variant, changed, restored, variants

NAMES = ("question", "steps", "reply")
RUBRIC = Rubric(name="r", role="steps", question="recall", template="{sections}", sections=NAMES)
FIXED = Rubric(
    name="f", role="steps", question="recall", template="{reply}{steps}{question}", sections=NAMES
)
GOLD = [
    {"step_index": 0, "step_type": "modality or examination types", "content": "A chest X-ray."},
    {"step_index": 1, "step_type": "key conclusions", "content": "Pleural effusion on the left."},
]
SECTIONS = {
    "question": "What is it?",
    "steps": json.dumps(GOLD),
    "reply": "1. This is an MRI of the knee.\n2. Pleural effusion on the left.",
}


def test_each_change_changes_one_thing_and_nothing_of_what_is_said() -> None:
    by = {variant.change: variant for variant in variants(RUBRIC, SECTIONS)}
    assert list(by) == ["sections", "steps", "length"]
    assert by["sections"].sections == SECTIONS
    assert list(by["sections"].sections) == list(reversed(SECTIONS))
    turned = json.loads(by["steps"].sections["steps"])
    assert [step["content"] for step in turned] == [step["content"] for step in reversed(GOLD)]
    assert [step["step_index"] for step in turned] == [0, 1]
    assert by["length"].sections["reply"].endswith(SECTIONS["reply"])
    for variant in by.values():
        assert sections_of(str(frame(RUBRIC, variant.sections)[-1].parts[0])) == variant.sections


def test_changes_that_would_change_nothing_are_left_out() -> None:
    found = variants(FIXED, SECTIONS | {"steps": json.dumps(GOLD[:1]), "reply": " "})
    assert found == []
    assert [variant.change for variant in variants(FIXED, SECTIONS)] == ["steps", "length"]
    assert "steps" not in [v.change for v in variants(RUBRIC, SECTIONS | {"steps": "no JSON"})]


def test_verdicts_on_turned_steps_are_put_back() -> None:
    variant = Variant("steps", {}, (2, 1, 0))
    assert restored(["c", "b", "a"], variant) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="2 verdicts on 3 steps"):
        restored(["c", "b"], variant)


def test_the_lexical_judge_is_not_moved_by_order_or_length() -> None:
    def said(sections: dict[str, str]) -> list[str]:
        text = str(frame(RUBRIC, sections)[-1].parts[0])
        return [entry["judgment"] for entry in json.loads(judged(text))]

    before = said(SECTIONS)
    assert before == ["Unmatched", "Matched"]
    for variant in variants(RUBRIC, SECTIONS):
        after = said(variant.sections)
        assert (restored(after, variant) if variant.steps else after) == before


def test_the_share_of_verdicts_that_change_has_an_interval() -> None:
    found = changed("length", ["yes", "no", "yes", None, "no"], ["yes", "yes", "yes", "no", None])
    assert (found.changed, found.n, found.missing) == (1, 3, 2)
    assert found.share.point == pytest.approx(1 / 3)
    none = changed("steps", ["yes"] * 10, ["yes"] * 10)
    assert none.share.point == 0
    assert (none.share.high or 0) > 0
    assert changed("steps", [], []).share.point is None
