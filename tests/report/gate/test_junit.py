"""The JUnit file: valid whatever names hold, and red whenever the gate is."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from overread.report.gate import Gated, junit
from overread.report.gate.judging import Ruling
from overread.report.gate.weighing import Outcome

HOSTILE = "a\x00\x1b[31m<b>&\"'\u202e\ud800]]>\ufffe b"


def ruling(outcome: Outcome, **fields: str) -> Ruling:
    given: dict[str, str] = {
        "rule": "a rule", "why": "Its reason.", "run": "runs/one", "benchmark": "grounding",
        "reader": "a", "measure": "accuracy", "demanded": "accuracy at least 0.8",
        "found": "0.9 n=10", "says": "what it means", "signature": "grounding|edition:corrected",
    }  # fmt: skip
    return Ruling(**(given | fields), by={}, outcome=outcome, edition="corrected")  # type: ignore[arg-type]


def gated(*rulings: Ruling, title: str = "A gate") -> Gated:
    return Gated(
        title=title, policy="gate.toml", policy_sha256="0", overread="0", outcome="fail",
        exit_code=1, counts={}, rulings=list(rulings), disclaimer="not a clearance",
    )  # fmt: skip


def test_a_suite_for_each_run_and_reader_and_a_case_for_each_rule() -> None:
    made = gated(
        ruling("pass"),
        ruling("fail", rule="another"),
        ruling("cannot tell", reader="b"),
        ruling("skipped", reader="b", rule="another"),
        ruling("fail", run=""),
    )
    root = ElementTree.fromstring(junit(made))
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "3", "1")
    assert [suite.get("name") for suite in root] == ["runs/one: a", "runs/one: b", "no run: a"]
    first, second, _ = root
    assert [case.get("name") for case in first.iter("testcase")] == ["a rule", "another"]
    assert (second.get("tests"), second.get("failures"), second.get("skipped")) == ("2", "1", "1")
    facts = {one.get("name"): one.get("value") for one in first.iter("property")}
    assert facts["signature"] == "grounding|edition:corrected"
    assert facts["disclaimer"] == "not a clearance"


def test_what_the_data_cannot_tell_is_red() -> None:
    root = ElementTree.fromstring(junit(gated(ruling("cannot tell"))))
    (failure,) = root.iter("failure")
    assert failure.get("type") == "cannot tell"
    assert "what it means" in (failure.get("message") or "")
    assert "Its reason." in (failure.text or "")
    assert not list(root.iter("skipped"))
    assert not list(ElementTree.fromstring(junit(gated(ruling("pass")))).iter("failure"))


def test_a_hostile_name_is_harmless() -> None:
    data = junit(gated(ruling("fail", reader=HOSTILE, says=HOSTILE, why=HOSTILE), title=HOSTILE))
    assert b"\x1b" not in data
    assert b"\x00" not in data
    assert "\u202e" not in data.decode()
    root = ElementTree.fromstring(data)
    (case,) = root.iter("testcase")
    assert case.get("classname") == "grounding.a[31m<b>&\"']]> b"


@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_makes_a_valid_document(text: str) -> None:
    made = gated(*(ruling(one, reader=text, says=text) for one in ("pass", "fail", "skipped")))
    root = ElementTree.fromstring(junit(made))
    assert len(list(root.iter("testcase"))) == 3
