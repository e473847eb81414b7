"""The wire: what is sent is what was meant, and a text-only reader is sent no pixels."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import time
from collections.abc import Callable
from typing import BinaryIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from overread.case import (
    BadInput,
    Decoding,
    Message,
    Prompt,
    PromptMessage,
    ReaderFailure,
    Reply,
    Request,
    Shown,
    Trial,
)
from overread.engine import reply_key, request_digest
from overread.readers import Guard, Secret, open_reader, parse_spec
from overread.readers.openai_http import request_body
from support.answering import answering, raw_server, response
from support.served import digest_of, served

OPEN = Guard("open")


def png() -> bytes:
    file = io.BytesIO()
    Image.new("L", (8, 8), 77).save(file, "PNG")
    return file.getvalue()


FILM = Shown("image/png", png())
NASTY = 'Is "it" there?\n\\ \u2028 \x00 </script> é 💓 data:image/png;base64,AAAA'


def prompt(*parts: str | Shown, **decoding: object) -> Prompt:
    system = PromptMessage("system", ("Be brief.",))
    return Prompt((system, PromptMessage("user", parts)), Decoding(**decoding))


def sent(asked: Prompt, spec: str = "openai:org/m@http://127.0.0.1:1/v1") -> dict:
    return json.loads(request_body(asked, parse_spec(spec)))


def test_pictures_are_spliced_and_text_is_escaped() -> None:
    body = sent(prompt(FILM, NASTY, max_tokens=7, temperature=0.0, top_logprobs=5, seed=3))
    assert body["model"] == "org/m"
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    picture, text = body["messages"][1]["content"]
    prefix = "data:image/png;base64,"
    assert picture["image_url"]["url"].startswith(prefix)
    assert base64.b64decode(picture["image_url"]["url"][len(prefix) :]) == FILM.data
    assert text == {"type": "text", "text": NASTY}
    rest = {k: v for k, v in body.items() if k not in ("model", "messages")}
    assert rest == {
        "max_tokens": 7,
        "temperature": 0.0,
        "logprobs": True,
        "top_logprobs": 5,
        "seed": 3,
    }


def test_what_is_unset_is_not_sent() -> None:
    body = sent(prompt("q", temperature=None))
    assert {"temperature", "logprobs", "top_logprobs", "seed"} & set(body) == set()
    assert body["messages"][1]["content"] == "q"


def test_the_budget_may_have_its_newer_name() -> None:
    spec = "openai:m@http://127.0.0.1:1/v1?max_tokens_name=max_completion_tokens"
    body = sent(prompt("q"), spec)
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 10


def open_(spec: str, **environment: str):
    return open_reader(spec, guard=OPEN, environment=environment, controls={})


def reply_of(spec: str, asked: Prompt, **environment: str):
    async def go():
        reader = open_(spec, **environment)
        try:
            return await reader.reply(asked)
        finally:
            await reader.close()

    return asyncio.run(go())


def test_a_reply_over_the_wire_carries_the_digest_of_what_was_sent() -> None:
    with served("instant", tally=True, keep=1) as server:
        reply = reply_of(f"openai:m@{server.base_url}", prompt(FILM, NASTY, top_logprobs=5))
        kept = server.kept()[0]
        assert server.bodies() == {digest_of(kept.encode()): {"asked": 1, "answered": 1}}
    assert reply.text == "Yes"
    assert reply.logprobs is not None
    assert reply.tokens_in is not None
    assert len(reply.sent) == 32
    assert json.loads(kept)["messages"][1]["content"][1]["text"] == NASTY


def test_a_text_only_reader_refuses_pixels_outright() -> None:
    with pytest.raises(AssertionError, match="text-only"):
        reply_of("openai:m@http://127.0.0.1:1/v1?modality=text", prompt(FILM, "q"))


def test_a_server_that_is_not_there_is_a_failure_that_may_heal() -> None:
    with pytest.raises(ReaderFailure, match="cannot connect") as caught:
        reply_of("openai:m@http://127.0.0.1:9/v1", prompt("q"))
    assert caught.value.heals


def test_a_server_that_hangs_times_out() -> None:
    with served("slow", delay=5) as server, pytest.raises(ReaderFailure, match="timeout"):
        reply_of(f"openai:m@{server.base_url}?timeout=0.2", prompt("q"))


def test_identity_holds_what_changes_replies_and_nothing_else() -> None:
    base = "openai:m@http://127.0.0.1:8000/v1"
    same = [base, base + "?label=x&price_in=3&concurrency=9&timeout=5&group=g&params_b=7"]
    assert len({open_(spec).identity for spec in same}) == 1
    other = [
        base,
        "openai:n@http://127.0.0.1:8000/v1",
        "openai:m@http://127.0.0.1:8001/v1",
        base + "?revision=2",
        base + "?identity=my-model-at-fp8",
        base + '?extra={"top_k":1}',
        "openai:m@http://127.0.0.1:8000/team-a/v1",  # gateways serve several models by path
        "openai:m@http://127.0.0.1:8000/team-b/v1",
    ]
    assert len({open_(spec).identity for spec in other}) == len(other)
    alike = [base + '?extra={"a":1,"b":{"c":2,"d":3}}', base + '/?extra={"b":{"d":3,"c":2},"a":1}']
    assert len({open_(spec).identity for spec in alike}) == 1
    moved = [f"openai:m@http://10.0.0.{n}/v1?identity=mine" for n in (1, 2)]
    assert len({open_(spec).identity for spec in moved}) == 1


def test_what_is_kept_in_stores_keeps_its_name() -> None:
    """Written down from the version before HTTP of our own: bodies, `sent`, identity and key."""
    said = '{"top_k":1}'
    reader = open_(f"openai:org/m@http://127.0.0.1:8000/v1?revision=2&extra={said}")
    assert reader.identity == '["openai","org/m","2","127.0.0.1:8000/v1",{"top_k":1}]'
    film = Shown("image/png", b"a film")
    decoding = {"max_tokens": 7, "temperature": 0.0, "top_logprobs": 5, "seed": 3}
    asked = prompt(film, 'Is "it" there?', **decoding)
    body = (
        b'{"model":"org/m","messages":[{"role":"system","content":"Be brief."},{"role":"user",'
        b'"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,YSBmaWxt"}},'
        b'{"type":"text","text":"Is \\"it\\" there?"}]}],"max_tokens":7,"temperature":0.0,'
        b'"logprobs":true,"top_logprobs":5,"seed":3,"top_k":1}'
    )
    got: list[bytes] = []

    async def go() -> Reply:
        async with answering(lambda request: got.append(request) or response(GOOD % b"")) as url:
            asking = open_(f"openai:org/m@{url}?extra={said}")
            try:
                return await asking.reply(asked)
            finally:
                await asking.close()

    assert asyncio.run(go()).sent == "7b5a9317ac6eca23c58a64ee9c8168e8"
    assert got[0].partition(b"\r\n\r\n")[2] == body
    request = Request((Message("user", ("Is it there?",)),))
    trial, named = Trial("case 1", {}, request, 2), request_digest(request, lambda _: b"")
    keys = [reply_key(reader.identity, named, trial, greedy=greedy).hex() for greedy in (1, 0)]
    assert keys == ["9063f9d5b23d5fad4e13b2801cf5d0ec", "7b1c9501cab52349a0591917ddaef919"]


def test_keys_come_from_the_environment_and_show_nowhere() -> None:
    reader = open_("openai:m@https://api.example.org/v1", OPENAI_API_KEY="hunter2")
    assert "hunter2" not in repr(reader) + reader.identity + repr(reader.spec)
    secret = Secret("hunter2")
    assert "hunter2" not in f"{secret}{secret!r}{secret!s}"
    with pytest.raises(BadInput, match="MY_KEY"):
        open_("openai:m@https://api.example.org/v1?key_env=MY_KEY")


def test_dated_endpoints_get_their_key_and_version_where_they_want_them() -> None:
    got: list[bytes] = []

    async def go(options: str) -> str:
        async with answering(lambda request: got.append(request) or response(GOOD % b"")) as url:
            asking = open_(f"openai:m@{url}{options}", OPENAI_API_KEY="hunter2")
            try:
                await asking.reply(prompt("q"))
                return asking.identity
            finally:
                await asking.close()

    plain = asyncio.run(go(""))
    dated = asyncio.run(go("?auth=api-key&api_version=2024-10-21"))
    assert "api-version" not in plain
    assert "?api-version=2024-10-21" in dated
    usual, other = (request.partition(b"\r\n\r\n")[0].lower() for request in got)
    assert b"authorization: bearer hunter2" in usual
    assert b"/chat/completions?api-version=2024-10-21 http" in other
    assert b"api-key: hunter2" in other
    assert b"authorization" not in other


@pytest.mark.parametrize(
    "options", ["auth=hunter2-hunter2-hunter2", "api_version=a%26b", "auth=api-key&auth=bearer"]
)
def test_how_a_key_is_sent_is_one_of_two_words_and_no_key(options: str) -> None:
    with pytest.raises(BadInput) as refused:
        open_(f"openai:m@https://h.example/v1?{options}")
    assert "hunter2" not in str(refused.value)


def test_a_key_does_not_travel_unencrypted_to_a_public_host() -> None:
    with pytest.raises(BadInput, match="https"):
        open_("openai:m@http://api.example.org/v1", OPENAI_API_KEY="hunter2")
    open_("openai:m@http://127.0.0.1:8000/v1", OPENAI_API_KEY="hunter2")


def test_a_key_does_not_travel_unencrypted_through_a_public_proxy() -> None:
    for server in ("http://10.0.0.5/v1", "http://api.example.org/v1"):
        with pytest.raises(BadInput, match="unencrypted to proxy.example"):
            open_(f"openai:m@{server}?proxy=http://proxy.example:3128", OPENAI_API_KEY="hunter2")
    private = "proxy=http://10.0.0.1:3128"
    with pytest.raises(BadInput, match=r"unencrypted to api\.example\.org"):
        open_(f"openai:m@http://api.example.org/v1?{private}", OPENAI_API_KEY="hunter2")
    open_(f"openai:m@http://10.0.0.5/v1?{private}", OPENAI_API_KEY="hunter2")
    public = "proxy=http://proxy.example:3128"  # which sees nothing of what is inside https
    open_(f"openai:m@https://api.example.org/v1?{public}", OPENAI_API_KEY="hunter2")


def reply_to(raw: bytes, options: str = "", path: str = "/v1", **environment: str):
    """The reply of a server that sends these bytes, whatever it is asked."""

    async def go():
        async with answering(lambda _: raw) as url:
            where = url.removesuffix("/v1") + path
            reader = open_(f"openai:m@{where}?timeout=30{options}", **environment)
            try:
                return await reader.reply(prompt("q"))
            finally:
                await reader.close()

    return asyncio.run(go())


@pytest.mark.parametrize(
    "raw",
    [
        response(b'{"error": {"message": "Incorrect API key: hunter2"}}', 401),
        response(b"Bearer hunter2 is not known here", 403),
        response(b"I know hunter2"),
        response(b'{"error": {"message": "bad header Bearer hunter2"}}'),
        response(b"", 302, b"Location: http://h/login?key=hunter2"),
    ],
)
def test_a_server_that_repeats_the_key_does_not_have_it_shown(raw: bytes) -> None:
    with pytest.raises(ReaderFailure) as caught:
        reply_to(raw, OPENAI_API_KEY="hunter2")
    assert "hunter2" not in caught.value.reason
    assert "****" in caught.value.reason


@pytest.mark.parametrize("before", range(280, 300, 3))
def test_no_part_of_the_key_is_left_where_a_message_is_cut(before: int) -> None:
    said = "x" * before + "correct-horse-battery-staple"
    raw = response(json.dumps({"error": {"message": said}}).encode(), 401)
    with pytest.raises(ReaderFailure) as caught:
        reply_to(raw, OPENAI_API_KEY="correct-horse-battery-staple")
    said, _, hint = caught.value.reason.partition(" (")
    assert said.startswith("HTTP 401: xxx")
    assert "c" not in said
    assert hint == "the key came from OPENAI_API_KEY)"
    assert not caught.value.heals


LONG = "sk-correct-horse-battery-staple-4"


@pytest.mark.parametrize("field", ["text", "reasoning", "refusal", "finish", "model", "token"])
def test_a_reply_that_repeats_the_key_is_kept_without_it(field: str) -> None:
    said = {"text": "Yes", "reasoning": None, "refusal": None, "finish": "stop", "model": "m"}
    said = {**said, "token": "Yes", field: f"<{LONG}>"}
    choice = {
        "message": {
            "content": said["text"],
            "reasoning_content": said["reasoning"],
            "refusal": said["refusal"],
        },
        "finish_reason": said["finish"],
        "logprobs": {"content": [{"token": said["token"], "logprob": -1}]},
    }
    raw = response(json.dumps({"model": said["model"], "choices": [choice]}).encode())
    reply = reply_to(raw, OPENAI_API_KEY=LONG)
    found = {**msgspec.structs.asdict(reply), "token": reply.logprobs[0][0]}
    assert found[field] == "<****>"
    rest = {name: value for name, value in said.items() if name != field}
    assert {name: found[name] for name in rest} == rest


@pytest.mark.parametrize("word", ["EMPTY", "none", "x", "anything", "placeholder"])
def test_a_word_in_place_of_a_key_is_left_in_replies(word: str) -> None:
    """Servers that need no key are given one all the same, and a reader may say the word."""
    said = f"No, {word}; I see {word} there"
    raw = response(json.dumps({"choices": [{"message": {"content": said}}]}).encode())
    assert reply_to(raw, OPENAI_API_KEY=word).text == said


@pytest.mark.parametrize("spelt", [str.lower, str.upper, str.swapcase])
def test_a_key_in_other_letters_is_hidden_too(spelt: Callable[[str], str]) -> None:
    key = "Zq7vLm2Xw9Tn4Rb8Kd3F"
    secret, text = Secret(key), f"İ invalid key {spelt(key)} ({spelt(key[3:14])})"
    assert secret.hide(text) == "İ invalid key **** (****)"
    assert secret.hidden(Reply(text=text)).text == "İ invalid key **** (****)"
    raw = response(json.dumps({"error": {"message": text}}).encode(), 400)
    with pytest.raises(ReaderFailure) as caught:
        reply_to(raw, OPENAI_API_KEY=key)
    assert "invalid key **** (****)" in caught.value.reason


def test_a_word_in_place_of_a_key_is_hidden_only_as_it_is_spelt() -> None:
    assert Secret("EMPTY").hide("EMPTY is sent; the reply is empty") == (
        "**** is sent; the reply is empty"
    )


@pytest.mark.parametrize("where", ["label={}", "before=a+{}+b", 'extra={{"user":"{}"}}'])
def test_a_spec_that_holds_the_value_of_its_keys_variable_is_refused(where: str) -> None:
    key = "Zq7vLm2Xw9Tn4Rb8Kd3F"
    spec = "openai:m@https://h/v1?key_env=MINE&"
    for value in (key, key.lower()):
        with pytest.raises(BadInput, match="value of MINE") as caught:
            open_(spec + where.format(value), MINE=key)
        assert value not in str(caught.value)
    open_(spec + where.format("another"), MINE=key)


@pytest.mark.parametrize("word", ["x", "EMPTY", "lm-studio", "placeholder"])
def test_a_word_in_place_of_a_key_may_stand_in_a_spec(word: str) -> None:
    assert open_(f"openai:{word}@http://127.0.0.1:1234/v1?label={word}", OPENAI_API_KEY=word)


@given(st.text("ab/+-_.", min_size=8, max_size=40), st.text("ab", max_size=9), st.integers(0, 40))
def test_a_secret_hides_itself_and_nothing_else(key: str, before: str, cut: int) -> None:
    secret = Secret(key)
    assert secret.hide(f"{before}|{key}|") == f"{before}|****|" or key[:8] in before
    part = key[cut : cut + 8]
    hidden = secret.hide(f"[{part}]")
    assert hidden == ("[****]" if len(part) == 8 else f"[{part}]")
    assert secret.hide("What is shown is a heart.") == "What is shown is a heart."


def test_a_redirect_to_bytes_that_are_no_text_is_a_failure() -> None:
    with pytest.raises(ReaderFailure, match="HTTP 302: redirects") as caught:
        reply_to(response(b"", 302, b"Location: http://x/\xff\xfe"))
    assert not caught.value.heals


@pytest.mark.parametrize(
    ("environment", "hint"),
    [
        ({}, "OPENAI_API_KEY holds no key"),
        ({"OPENAI_API_KEY": "hunter2"}, "the key came from OPENAI_API_KEY"),
        ({"HOUSE_KEY": "hunter2"}, "the key came from HOUSE_KEY"),
    ],
)
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(
    environment: dict[str, str], hint: str, status: int
) -> None:
    options = "&key_env=HOUSE_KEY" if "HOUSE_KEY" in environment else ""
    with pytest.raises(ReaderFailure) as caught:
        reply_to(response(b"no", status), options, **environment)
    assert caught.value.reason == f"HTTP {status}: no ({hint})"


def test_a_path_that_is_not_there_hints_at_v1() -> None:
    with pytest.raises(ReaderFailure, match=r"HTTP 404: no \(the base URL ends in /api; most"):
        reply_to(response(b"no", 404), path="/api")
    with pytest.raises(ReaderFailure, match=r"ends in the host; most end in /v1"):
        reply_to(response(b"no", 404), path="")
    with pytest.raises(ReaderFailure, match=r"is m served there\?"):
        reply_to(response(b"no", 404))


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_byte_now_and_then_does_not_put_off_the_timeout(head: bytes) -> None:
    def trickle(_: bytes, wire: BinaryIO) -> None:
        wire.write(head)
        for _ in range(300):
            wire.write(b"x")
            wire.flush()
            time.sleep(0.1)

    began = time.monotonic()
    with raw_server(trickle) as url, pytest.raises(ReaderFailure) as caught:
        reply_of(f"openai:m@{url}?timeout=1", prompt("q"))
    assert time.monotonic() - began < 15
    assert caught.value.reason == (
        "timeout: no reply within 1 s; raise timeout= or lower concurrency= (64) if it is slow"
    )


@pytest.mark.slow
def test_a_reply_of_over_a_million_characters_is_too_long() -> None:
    long = "x" * 1_000_001
    for message in ({"content": long}, {"content": "", "reasoning": long}):
        body = json.dumps({"choices": [{"message": message}]}).encode()
        with pytest.raises(ReaderFailure, match="too long: a reply of 1,000,001 char") as caught:
            reply_to(response(body))
        assert not caught.value.heals
    body = json.dumps({"choices": [{"message": {"content": long[:-1]}}]}).encode()
    assert reply_to(response(body)).text == long[:-1]
    many = [{"token": "x", "logprob": -1}] * 200_000  # of which only the first token's are kept
    message = {"content": "x"}
    body = json.dumps({"choices": [{"message": message, "logprobs": {"content": many}}]}).encode()
    assert len(body) > 5_000_000
    assert reply_to(response(body)).text == "x"


GOOD = b'{"choices": [{"message": {"content": "Yes"}}]%s}'


def test_a_compressed_reply_is_read() -> None:
    packed = gzip.compress(GOOD % b"")
    assert reply_to(response(packed, 200, b"Content-Encoding: gzip")).text == "Yes"


def test_a_reply_is_measured_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overread.readers.http_client.MOST_BYTES", 400_000)
    body = GOOD % (b" " * 800_000)
    packed = gzip.compress(body)
    assert len(packed) < 4000
    for raw in (response(packed, 200, b"Content-Encoding: gzip"), response(body)):
        with pytest.raises(ReaderFailure, match="too long") as caught:
            reply_to(raw)
        assert not caught.value.heals


def test_extra_may_not_replace_what_the_engine_sends() -> None:
    with pytest.raises(BadInput, match="temperature"):
        open_('openai:m@http://127.0.0.1/v1?extra={"temperature":1}')
    body = json.loads(request_body(prompt("q"), parse_spec("openai:m@http://h/v1"), b',"top_k":1'))
    assert body["top_k"] == 1
