"""Texts that a user puts around what a reader is asked: sent, in the key, and on record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.case import BadInput, Inline, Message, Picture, Request, Traits, Trial
from overread.engine import Sources, Store, Studio, ask
from overread.readers import Guard, open_reader, parse_spec
from overread.runs import run
from support.served import served

FILM = Picture(Inline(b"film"))
BASE = "openai:m@http://127.0.0.1:1/v1"


def framed(*messages: Message, **texts: str) -> tuple[Message, ...]:
    return Request(messages).for_reader(Traits(**texts)).messages


def test_a_question_stands_between_before_and_after() -> None:
    (asked,) = framed(Message("user", ("Is it there?",)), before="Look.", after="/no_think")
    assert asked.parts == ("Look.\nIs it there?\n/no_think",)


def test_pictures_keep_their_places() -> None:
    question = Message("user", (FILM, "Is it there?", FILM))
    (asked,) = framed(question, before="Look.", after="/no_think")
    assert asked.parts == ("Look.", FILM, "Is it there?", FILM, "/no_think")


def test_only_the_last_question_is_framed() -> None:
    turns = [Message("user", ("one",)), Message("assistant", ("1",)), Message("user", ("two",))]
    assert [m.parts for m in framed(*turns, after="!")] == [("one",), ("1",), ("two\n!",)]


def test_there_is_one_system_message() -> None:
    question = Message("user", ("q",))
    assert framed(question, system="Be brief.") == (Message("system", ("Be brief.",)), question)
    own = Message("system", ("You are a radiologist.",))
    both = framed(own, question, system="Be brief.")
    assert both == (Message("system", ("Be brief.\nYou are a radiologist.",)), question)


def test_a_text_only_reader_is_framed_too_and_sees_no_picture() -> None:
    question = Message("user", (FILM, "q"))
    (asked,) = framed(question, before="Look.", modality="text")
    assert asked.parts == ("Look.\nq",)


def test_nothing_is_changed_where_nothing_is_asked_for() -> None:
    request = Request((Message("user", (FILM, "q")),))
    assert request.for_reader(Traits()) is request
    assert parse_spec(f"{BASE}?system=&before=&after=").traits == Traits()


def asked(spec: str, store: Path) -> int:
    reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
    trial = Trial("case", {}, Request((Message("user", ("q",)),)))

    async def work(kept: Store, studio: Studio) -> int:
        tally = await ask(lambda: [trial], reader, kept, studio, dataset=1)
        await reader.close()
        return tally.answered

    with Store(store) as kept:
        studio = Studio(Sources(kept, 1))
        try:
            return asyncio.run(work(kept, studio))
        finally:
            studio.close()


def test_what_is_put_around_is_sent_and_asked_anew_when_it_changes(tmp_path: Path) -> None:
    with served("instant", keep=9) as server:
        base = f"openai:m@{server.base_url}"
        texts = ["", "?system=s", "?before=s", "?after=s", "?after=other"]
        for _ in range(2):
            answered = [asked(base + text, tmp_path / "store.sqlite") for text in texts]
        bodies = [json.loads(body)["messages"] for body in server.kept()]
    assert answered == [0] * len(texts), "the second time all of them are kept"
    user: list[dict[str, Any]] = [{"role": "user", "content": c} for c in ("q", "s\nq", "q\ns")]
    plain, before, after = ([message] for message in user)
    system = [{"role": "system", "content": "s"}, *plain]
    assert bodies == [plain, system, before, after, [{"role": "user", "content": "q\nother"}]]


def test_a_table_of_a_study_says_the_same() -> None:
    table = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "after": "a b"}
    assert parse_spec(table) == parse_spec(f"{BASE}?after=a%20b")


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(BadInput, match="before has 100,001 characters"):
        parse_spec({**msgspec.structs.asdict(parse_spec(BASE)), "before": "x" * 100_001})


def test_the_record_of_a_run_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "phantoms"))
    with served(control="looks") as server:
        run(
            "grounding",
            "phantom:16",
            [f"openai:m@{server.base_url}?system=Be brief.&after=/no_think"],
            limit=4,
            out=tmp_path / "run",
            store=tmp_path / "store.sqlite",
        )
    told = (tmp_path / "run" / "run.toml").read_text()
    assert 'system = "Be brief."' in told
    assert 'after = "/no_think"' in told
    assert "before" not in told
