"""Who judges what."""

from __future__ import annotations

import pytest

from overread.case import BadInput
from overread.judging import Role
from overread.judging.panel import panel_of, parse_judge

ROLES: tuple[Role, ...] = ("answer", "steps", "order")
SERVED = "openai:m@http://127.0.0.1:8000/v1?max_tokens=4096&extra={}"


@pytest.mark.parametrize(
    ("text", "roles", "spec"),
    [
        (SERVED, (), SERVED),
        (f"answer={SERVED}", ("answer",), SERVED),
        (f" Steps = {SERVED} ", ("steps",), SERVED),
        ("score=control:lexical-judge", ("score",), "control:lexical-judge"),
        ("recorded:a=b.jsonl", (), "recorded:a=b.jsonl"),
    ],
)
def test_a_role_is_a_word_before_a_spec_that_may_have_equals_signs(
    text: str, roles: tuple[str, ...], spec: str
) -> None:
    assert parse_judge(text) == (roles, spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"marks={SERVED}", '"marks" is no role'),
        (f"={SERVED}", '"" is no role'),
        ("answer=", "a judge is missing"),
        (" ", "a judge is missing"),
    ],
)
def test_a_bad_option_is_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_judge(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_judge_without_a_role_has_every_role() -> None:
    panel = panel_of(["control:a", "answer=control:b"], ROLES, "m3cot")
    assert list(panel.items()) == [("control:a", ROLES), ("control:b", ("answer",))]


def test_judges_come_in_the_order_of_the_roles() -> None:
    panel = panel_of(["steps=control:a", "answer=control:b"], ROLES, "m3cot")
    assert list(panel.items()) == [("control:b", ("answer",)), ("control:a", ("steps",))]
    assert panel_of([], ROLES, "m3cot") == {}


def test_a_role_the_benchmark_lacks_and_a_judge_given_twice_are_one_line() -> None:
    with pytest.raises(BadInput, match="m3cot has no role score; its roles are answer, steps"):
        panel_of(["score=control:a"], ROLES, "m3cot")
    with pytest.raises(BadInput, match="given twice for the role answer"):
        panel_of(["control:a", "answer=control:a"], ROLES, "m3cot")


@pytest.mark.parametrize(
    "text",
    [
        "marks=m?mine=hunter2",
        "score=m?mine=hunter2",
        "steps=m?a=hunter2",
        "openai:m@https://user:hunter2@h/v1",
        "score=openai:m@https://user:hunter2@h/v1",
        "marks=openai:hunter2@https://h/v1",
    ],
)
def test_the_spec_of_a_judge_is_repeated_in_no_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        panel_of([text, text], ("answer", "steps"), "m3cot")
    assert "hunter2" not in str(caught.value)
