"""Rows of the tables: what was said is kept, whatever it is."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.answers import ANSWER_COLUMNS, CUT_OFF, answer_row
from overread.benchmarks.m3cot.cases import KINDS, STEPS, M3Case, Step
from overread.benchmarks.m3cot.schemas import answer_schema, case_row, case_schema, cases_in
from overread.case import Reply, Request, Trial

ANY = st.text(st.characters(exclude_categories=()), max_size=40)


def trial(mode="cot", image="original", follow="", timed=False):
    told = {"mode": mode, "image": image, "follow": follow, "timed": timed}
    return Trial("7", told, Request(()))


def row(reply, reason="", **told):
    return dict(zip(ANSWER_COLUMNS, answer_row(trial(**told), reply, reason), strict=True))


def kept(*rows):
    return pl.DataFrame(rows, schema=dict(answer_schema()), orient="row")


def test_a_reply_is_a_row():
    reply = Reply("It is A.", finish="stop", seconds=1.5, tokens_out=12)
    assert row(reply, mode="direct", image="blank") == {
        "case": "7",
        "mode": "direct",
        "image": "blank",
        "follow": "",
        "timed": False,
        "outcome": "answered",
        "text": "It is A.",
        "finish": "stop",
        "seconds": 1.5,
        "tokens_out": 12,
        "reason": None,
    }
    assert row(reply, follow="truncated", timed=True)["timed"] is True


def test_no_reply_is_unanswered_with_its_reason():
    found = row(None, "the server is down")
    assert (found["outcome"], found["reason"]) == ("unanswered", "the server is down")
    assert [found[name] for name in ("text", "finish", "seconds", "tokens_out")] == [None] * 4


@pytest.mark.parametrize(
    "reply", [Reply("no", refusal="I cannot."), Reply("A", finish="content_filter")]
)
def test_a_refusal_is_no_answer_and_keeps_its_words(reply):
    found = row(reply)
    assert (found["outcome"], found["text"]) == ("refused", reply.text)
    assert found["reason"] == (f"refusal: {reply.refusal}" if reply.refusal else None)


def test_an_empty_reply_is_a_reply_and_a_cut_one_says_so():
    assert (row(Reply(""))["outcome"], row(Reply(""))["text"]) == ("answered", "")
    assert row(Reply("It", finish="length"))["reason"] == CUT_OFF


def test_error_words_are_only_words():
    assert row(Reply("Refractive Error. Failed accommodation."))["outcome"] == "answered"


@given(
    st.builds(
        Reply,
        text=ANY,
        refusal=st.none() | ANY,
        finish=st.none() | ANY,
        tokens_out=st.none() | st.integers(),
        seconds=st.floats() | st.integers(0, 9),
    )
    | st.none(),
    ANY,
)
def test_whatever_is_said_can_be_stored(reply, reason):
    frame = kept(answer_row(trial(), reply, reason))
    frame.write_ipc(None).getvalue()
    assert frame["outcome"].item() in ("answered", "refused", "unanswered")
    if reply is not None:
        assert len(frame["text"].item()) == len(reply.text)


CASES = st.builds(
    M3Case,
    case_id=st.text(max_size=9),
    index=st.integers(1, 2**40),
    question=st.text(max_size=20),
    answer=st.text(max_size=20),
    kind=st.sampled_from(KINDS),
    task=st.text(max_size=9),
    image=st.text(max_size=9),
    steps=st.lists(st.builds(Step, st.sampled_from(STEPS), st.text(max_size=20)), max_size=4).map(
        tuple
    ),
    modality=st.none() | st.text(max_size=9),
    patient=st.none() | st.text(max_size=9),
)


@given(st.lists(CASES, max_size=4))
def test_cases_come_back_as_they_were(cases):
    rows = [case_row(case, other) for case, other in zip(cases, [None, *cases], strict=False)]
    frame = pl.DataFrame(rows, schema=dict(case_schema()), orient="row")
    assert frame.columns[0] == "case"
    assert cases_in(frame) == cases
    assert frame["swap"].to_list() == [None, *(case.case_id for case in cases)][: len(cases)]


@given(ANY)
def test_odd_texts_of_a_case_can_be_stored(text):
    case = M3Case(
        case_id=text,
        index=1,
        question=text,
        answer=text,
        kind="short",
        task=text,
        image=text,
        steps=(Step("feature", text),),
        patient=text,
    )
    pl.DataFrame([case_row(case, case)], schema=dict(case_schema()), orient="row").write_ipc(None)
