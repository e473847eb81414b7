"""Controls as readers, and what their measures show them to be."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from overread.benchmarks.controls import (
    Control,
    Criterion,
    Said,
    Verdict,
    by_criteria,
    known_of,
    recovered,
)
from overread.case import Measure, Prompt, PromptMessage, Traits

EXPECTED = {"good": "reasons well", "bad": "rambles", "other": "something else"}
CRITERIA = {
    "good": (
        Criterion(measure="accuracy", end="low", least=0.8, reason="every answer is right"),
        Criterion(measure="impact", least=-0.1, most=0.1, needed=False, reason="in both modes"),
    ),
    "bad": (
        Criterion(measure="precision", end="high", most=0.5, versus="good", reason="one in eight"),
        Criterion(measure="rate", least=1, by=(("kind", "open"),), needed_with="accuracy"),
    ),
}


class Case(msgspec.Struct, frozen=True):
    case_id: str
    answer: str


def record(control: str, measure: str, value: float | None, **more: object) -> Measure:
    return Measure(reader=f"control:{control}", measure=measure, value=value, n=9, **more)


def test_a_control_is_a_reader_that_says_what_its_function_says() -> None:
    control = Control(
        key="echo",
        says=lambda prompt: Said(prompt.text.upper(), (("A", -0.1),)),
        revision="3:ab",
        traits=Traits(modality="text"),
    )
    reply = asyncio.run(control.reply(Prompt((PromptMessage("user", ("why",)),))))
    assert (control.name, control.identity) == ("control:echo", "control:echo:3:ab")
    assert (reply.text, reply.logprobs, reply.finish) == ("WHY", (("A", -0.1),), "stop")
    assert reply.model == control.identity


def test_what_controls_know_has_a_digest_that_no_order_changes() -> None:
    cases = [Case("b", "x"), Case("a", "y")]
    known = known_of(cases, lambda case: (case.case_id, case.answer))
    assert list(known.by_id) == ["a", "b"]
    assert known == known_of(cases[::-1], lambda case: (case.case_id, case.answer))
    assert known.digest != known_of([Case("a", "z")], lambda case: case.answer).digest


def judged(*records: Measure) -> dict[str, tuple[bool, str, str | None]]:
    found = recovered(records, EXPECTED, by_criteria(CRITERIA))
    return {one.control: (one.ok, one.found, one.note) for one in found}


def test_a_bound_that_is_kept_or_broken() -> None:
    good = record("good", "accuracy", 0.9, low=0.85, high=0.95)
    assert judged(good) == {"good": (True, "reasons well", "accuracy at least 0.85")}
    low = msgspec.structs.replace(good, low=0.7)
    assert judged(low)["good"] == (False, "accuracy at least 0.70 (every answer is right)", None)
    both = (good, record("good", "impact", 0.5))
    assert judged(*both)["good"] == (False, "impact 0.50 (in both modes)", None)
    unknown = record("good", "f1", 1.0)
    assert judged(unknown)["good"] == (False, "accuracy is not known", None)


def test_a_control_may_have_to_lie_below_another() -> None:
    bad = record("bad", "precision", 0.2, low=0.1, high=0.3)
    assert judged(bad)["bad"] == (True, "rambles", "precision at most 0.30")
    good = record("good", "precision", 0.4, low=0.35, high=0.6)
    assert judged(bad, good)["bad"][2] == "precision at most 0.30, below good's"
    close = record("good", "precision", 0.4, low=0.25, high=0.6)
    told = "precision at most 0.30, not below good's (one in eight)"
    assert judged(bad, close)["bad"] == (False, told, None)
    needed = record("bad", "accuracy", 0.5)
    assert judged(bad, needed)["bad"] == (False, "rate of open is not known", None)


def test_what_is_passed_over_tells_nothing() -> None:
    good = record("good", "accuracy", 0.9, label="judge unfit")
    decide = by_criteria(CRITERIA, lambda measure: measure.label == "judge unfit")
    (found,) = recovered([good], EXPECTED, decide)
    assert (found.ok, found.found) == (False, "nothing was measured that tells")


def test_other_readers_and_controls_not_asked_are_left_out() -> None:
    records = [Measure(reader="model", measure="accuracy", value=1.0), record("good", "x", 1.0)]
    found = recovered(records, EXPECTED, lambda control, own: Verdict(f"{len(own)} seen", True))
    assert [(one.control, one.note) for one in found] == [("good", "1 seen")]


@pytest.mark.parametrize("end", ["low", "high"])
def test_without_an_interval_the_value_counts(end: str) -> None:
    criterion = Criterion(measure="f1", end=end, least=0.5)  # type: ignore[arg-type]
    assert criterion.kept(record("good", "f1", 0.6), None)[1]
