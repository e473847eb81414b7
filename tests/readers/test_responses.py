"""What a server sends back: a reply, or the reason there is none and whether it heals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import ReaderFailure, Reply
from overread.readers.responses import read_response


def completion(message: dict[str, Any], **choice: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, **choice}]}).encode()


def read(body: bytes, status: int = 200, **headers: str) -> Reply:
    return read_response(status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


def test_everything_a_reply_may_hold_is_kept() -> None:
    body = json.dumps(
        {
            "model": "served-model",
            "choices": [
                {
                    "message": {"content": "Yes", "reasoning_content": "I looked."},
                    "finish_reason": "stop",
                    "logprobs": {
                        "content": [
                            {
                                "token": "Yes",
                                "logprob": -0.1,
                                "top_logprobs": [
                                    {"token": "Yes", "logprob": -0.1},
                                    {"token": "No", "logprob": -2.4},
                                ],
                            }
                        ]
                    },
                }
            ],
            "usage": {"prompt_tokens": 12, "completion_tokens": 1},
        }
    ).encode()
    assert read(body) == Reply(
        text="Yes",
        logprobs=(("Yes", -0.1), ("No", -2.4)),
        reasoning="I looked.",
        finish="stop",
        tokens_in=12,
        tokens_out=1,
        model="served-model",
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": ""}, ""),
        ({}, ""),
        ({"content": [{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}]}, "Yes"),
        ({"content": "<think>hm</think> No"}, "<think>hm</think> No"),
    ],
)
def test_content_in_every_shape(message: dict[str, Any], text: str) -> None:
    assert read(completion(message)).text == text


def test_refusals_are_replies() -> None:
    assert read(completion({"content": None, "refusal": "I cannot."})).refused
    assert read(completion({"content": ""}, finish_reason="content_filter")).refused
    assert not read(completion({"content": "Yes"}, finish_reason="stop")).refused


@pytest.mark.parametrize(
    ("status", "heals", "throttled"),
    [
        (400, False, False),
        (401, False, False),
        (403, False, False),
        (404, False, False),
        (413, False, False),
        (408, True, False),
        (429, True, True),
        (500, True, False),
        (502, True, False),
        (503, True, True),
        (504, True, False),
        (301, False, False),
        (307, False, False),
    ],
)
def test_which_statuses_heal(status: int, heals: bool, throttled: bool) -> None:
    with pytest.raises(ReaderFailure) as caught:
        read(b'{"error": {"message": "why\\nnot"}}', status)
    assert (caught.value.heals, caught.value.throttled) == (heals, throttled)
    assert str(status) in caught.value.reason
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(
    ("body", "heals"),
    [
        (b"<html>oops</html>", True),
        (b"", True),
        (b'{"choices": [', True),
        (b"[]", True),
        (b"null", True),
        (b'"Yes"', True),
        (b"{}", True),
        (b'{"choices": []}', True),
        (b'{"choices": [null]}', True),
        (b'{"choices": [{"message": "Yes"}]}', True),
        (b'{"error": {"message": "overloaded"}}', True),
        (b'{"error": {"message": "bad", "code": 400}}', False),
        (b'{"error": {"message": "slow down", "code": "429"}}', True),
        (b'{"error": "it broke"}', True),
        (b"\xff\xfe", True),
    ],
)
def test_a_200_that_is_no_reply_is_never_an_answer(body: bytes, heals: bool) -> None:
    with pytest.raises(ReaderFailure) as caught:
        read(body)
    assert caught.value.heals is heals


def test_retry_after_in_both_forms() -> None:
    with pytest.raises(ReaderFailure) as caught:
        read(b"", 429, Retry_After="7")
    assert caught.value.retry_after == 7
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    with pytest.raises(ReaderFailure) as caught:
        read(b"", 429, Retry_After=later)
    assert 25 < (caught.value.retry_after or 0) <= 30
    with pytest.raises(ReaderFailure) as caught:
        read(b"", 429, Retry_After="soon")
    assert caught.value.retry_after is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "logprobs", "usage", "error", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_reply_or_a_failure_never_a_crash(value: Any) -> None:
    try:
        reply = read(json.dumps(value).encode())
    except ReaderFailure:
        return
    assert isinstance(reply, Reply)


@given(st.binary(max_size=200), st.integers(200, 599))
def test_any_bytes_are_a_failure_never_a_crash(body: bytes, status: int) -> None:
    with pytest.raises(ReaderFailure):
        read(body, status)
