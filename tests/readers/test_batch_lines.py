"""Lines of batch files: what a request is written as, and what a result line says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overread.case import BadInput, Shown
from overread.readers.batch_lines import (
    LIMITS,
    Batchable,
    batch_limits,
    batch_line,
    check_batch,
    read_result,
)
from overread.readers.guard import Guard
from overread.readers.openai_http import OpenAIReader
from overread.readers.spec import parse_spec

CHOICE = {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
BODY: dict[str, Any] = {"model": "m-1", "choices": [CHOICE], "usage": {"prompt_tokens": 9}}
PUBLIC = "https://api.example.org/v1"


def line(**changes: Any) -> bytes:
    response = {"status_code": 200, "request_id": "r", "body": BODY}
    return json.dumps(
        {"id": "1", "custom_id": "ab", "response": response, "error": None} | changes
    ).encode()


def test_a_request_is_one_line_of_json_with_its_key_and_the_body_as_it_is() -> None:
    picture = Shown("image/png", b"\x89PNG")
    pieces = batch_line(b"\x01\xff", [b'{"a": "', picture, b'"}'])
    assert b"".join(pieces) == (
        b'{"custom_id":"01ff","method":"POST","url":"/v1/chat/completions",'
        b'"body":{"a": "' + picture.base64 + b'"}}\n'
    )


def test_served_models_can_be_put_into_batches() -> None:
    reader = OpenAIReader(parse_spec("openai:m@http://127.0.0.1:1/v1"), Guard("open"), None)
    assert isinstance(reader, Batchable)


def test_a_result_is_read_as_a_live_response_is() -> None:
    name, reply, reason = read_result(line())
    assert (name, reason) == ("ab", "")
    assert reply is not None
    assert (reply.text, reply.finish, reply.model, reply.tokens_in) == ("Yes", "stop", "m-1", 9)


def test_half_an_emoji_and_a_number_that_is_none_are_taken_as_from_a_live_server() -> None:
    said = line().replace(b'"Yes"', rb'"NaN \ud83d"').replace(b"9", b"NaN")
    _, reply, _ = read_result(said)
    assert reply is not None
    assert (reply.text, reply.tokens_in) == ("NaN ?", None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "too\nlate"}},
         "batch_expired: too late"),
        ({"response": None, "error": "gone"}, "batch error: gone"),
        ({"error": {"message": "odd"}}, "batch error: odd"),
        ({"response": {"status_code": 400, "body": {"error": {"message": "bad"}}}},
         "HTTP 400: bad"),
        # As vLLM writes it: both.
        ({"response": {"status_code": 500, "body": None}, "error": {"message": "x"}},
         "HTTP 500: None"),
        ({"response": {"status_code": 200, "body": {"choices": []}}},
         "not a chat completion: there is no choices[0].message"),
    ],
)  # fmt: skip
def test_an_error_is_a_reason_and_never_a_reply(changes: dict[str, Any], reason: str) -> None:
    assert read_result(line(**changes)) == ("ab", None, reason)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (line()[:-30], "no JSON; perhaps it was cut off"),
        (b"[1]", "no result"),
        (b'{"response": null, "error": 1}', "missing required field `custom_id`"),
        (b'{"custom_id": "ab", "method": "POST", "body": {}}', "neither a response nor an error"),
        (b"\xff\xfe", "no JSON"),
        (b'{"custom_id": "ab", "error": ' + b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_result_line_is_said_in_a_few_words(held: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_result(held)


def test_limits_by_the_name_of_a_service_or_as_numbers() -> None:
    assert batch_limits("openai") == batch_limits("50000,200MB")
    assert not batch_limits("vllm").full(10**9, 10**15)
    bounds = batch_limits("3,")
    assert (bounds.full(3, 10**12), bounds.full(4, 1)) == (False, True)
    assert batch_limits(",1MB").full(1, 1_000_001)
    assert set(LIMITS) >= {"openai", "azure", "anthropic", "vllm"}


@pytest.mark.parametrize("words", ["", ",", "0,", ",0MB", "openAI", "5", "5,6", "-1,", "1e9,"])
def test_other_limits_are_refused_with_what_there_is(words: str) -> None:
    with pytest.raises(BadInput, match=r"expected openai, azure, .* or numbers as"):
        batch_limits(words)


def test_a_credentialed_set_needs_both_permissions_and_an_open_one_none() -> None:
    host = ["api.example.org"]
    check_batch(PUBLIC, "m", "open", [], [])
    check_batch(PUBLIC, "m", "research", [], [])
    check_batch("http://127.0.0.1:8000/v1", "m", "credentialed", [], [])
    check_batch(PUBLIC, "m", "credentialed", host, host)
    for shared, kept, lacking in (
        (host, [], 'add batch_with = ["api.example.org"] to'),
        ([], host, 'add share_with = ["api.example.org"] to'),
        ([], ["127.0.0.1"], 'share_with = ["api.example.org"] and batch_with ='),
    ):
        with pytest.raises(BadInput) as refused:
            check_batch(PUBLIC, "m", "credentialed", shared, kept)
        assert lacking in str(refused.value)
        assert "Nothing was written" in str(refused.value)
