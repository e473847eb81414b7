"""Tables of structs: a column for each field, and back again."""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.tables import (
    Int8,
    Int32,
    alternatives_of,
    answers_frame,
    cells_of,
    frame_of,
    joined_notes,
    notes_of,
    read_again,
    schema_of,
    storable,
    structs_in,
    tokens_of,
)
from overread.case import Reply


class Step(msgspec.Struct, frozen=True):
    type: str
    text: str


class Case(msgspec.Struct, frozen=True, kw_only=True):
    case_id: str
    kind: Literal["a", "b"]
    px: Int32
    label: Int8 | None = None
    index: int = 0
    age: float | None = None
    images: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


class Read(msgspec.Struct, frozen=True, kw_only=True):
    answer: Int8 | None = None
    note: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    case: str
    pass_: Int32
    text: str | None
    answer: Int8 | None = None
    refused: bool = False
    note: str | None = None


def test_columns_are_the_fields_in_order() -> None:
    assert schema_of(Case) == {
        "case": pl.String,
        "kind": pl.String,
        "px": pl.Int32,
        "label": pl.Int8,
        "index": pl.Int64,
        "age": pl.Float64,
        "images": pl.List(pl.String),
        "steps": pl.List(pl.Struct({"type": pl.String, "text": pl.String})),
    }
    assert list(schema_of(Answer)) == ["case", "pass", "text", "answer", "refused", "note"]


def test_what_is_kept_is_read_back() -> None:
    cases = [
        Case(case_id="1", kind="a", px=224),
        Case(case_id="2", kind="b", px=5, label=1, age=3.5, images=("x",), steps=(Step("s", "t"),)),
    ]
    frame = frame_of(Case, cases)
    assert dict(frame.schema) == schema_of(Case)
    assert structs_in(frame, Case) == cases
    assert frame_of(Case, structs_in(frame, Case)).equals(frame)


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_can_be_kept(text: str) -> None:
    kept = cells_of(Case(case_id=text, kind="a", px=1, images=(text,), steps=(Step("s", text),)))
    kept[0].encode("utf-8")
    assert kept[0] == kept[6][0] == kept[7][0]["text"] == storable(text)


def test_replies_are_read_again_and_others_kept() -> None:
    rows = [
        ("r1", Answer(case="1", pass_=1, text="yes", answer=0)),
        ("r1", Answer(case="2", pass_=1, text=None, note="gone")),
    ]
    answers = answers_frame(Answer, rows)
    assert answers.columns[0] == "reader"

    def read(row: Answer) -> Read | None:
        return None if row.text is None else Read(answer=1, note=f"{row.pass_} {row.text}")

    again = read_again(answers, Answer, Read, read)
    assert again["answer"].to_list() == [1, None]
    assert again["note"].to_list() == ["1 yes", "gone"]
    assert again.schema == answers.schema


@pytest.mark.parametrize(
    ("reply", "reason", "notes"),
    [
        (None, "timed out", "timed out"),
        (None, "", None),
        (Reply(text="x"), "", None),
        (Reply(text="x", finish="length"), "late", "late; cut off at the token limit"),
        (Reply(text="", refusal="no"), "", "refusal: no"),
    ],
)
def test_what_is_noted_of_a_reply(reply: Reply | None, reason: str, notes: str | None) -> None:
    assert joined_notes(notes_of(reply, reason)) == notes


def test_counts_and_alternatives_of_tokens() -> None:
    assert tokens_of(Reply(text="x", tokens_out=9)) == 9
    assert tokens_of(Reply(text="x", tokens_out=-1)) is None
    assert alternatives_of(Reply(text="x")) == (None, None)
    assert alternatives_of(Reply(text="x", logprobs=(("A", -1),))) == (["A"], [-1.0])
