"""What a server sends back: a reply, or the reason there is none and whether it heals."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import ReaderFailure, Reply
from overread.readers.responses import read_listing, read_response


def completion(message: dict[str, Any], **choice: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, **choice}]}).encode()


def read(body: bytes, status: int = 200, **headers: str) -> Reply:
    return read_response(status, {k.lower().replace("_", "-"): v for k, v in headers.items()}, body)


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
        (501, False, False),
        (503, True, True),
        (504, True, False),
        (505, False, False),
        (507, True, False),
        (521, True, False),
        (529, True, True),
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
    ("status", "heals"), [(500, False), (502, False), (429, True), (503, True)]
)
@pytest.mark.parametrize(
    "said", ["image input is not supported", "Unsupported", "does not support"]
)
def test_what_a_server_cannot_do_does_not_heal_unless_it_is_only_busy(
    status: int, heals: bool, said: str
) -> None:
    with pytest.raises(ReaderFailure) as caught:
        read(json.dumps({"error": {"message": f"{said} at the moment"}}).encode(), status)
    assert caught.value.heals is heals


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
        (b"[" * 100_000, True),
        (b'{"choices": ' + b"[" * 100_000, True),
        (b'{"error": {"message": "no", "code": "\xc2\xb2"}}', True),
        (b'{"error": {"message": "no", "code": "' + b"9" * 5000 + b'"}}', True),
        (b'{"error": {"message": "no", "code": "\xd9\xa4\xd9\xa0\xd9\xa0"}}', False),  # ٤٠٠
        (b'{"error": {"message": ' + b"9" * 5000 + b"}}", True),
    ],
)
def test_a_200_that_is_no_reply_is_never_an_answer(body: bytes, heals: bool) -> None:
    with pytest.raises(ReaderFailure) as caught:
        read(body)
    assert caught.value.heals is heals


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"error": ' * 100_000])
def test_an_error_nested_without_end_is_a_failure(body: bytes) -> None:
    with pytest.raises(ReaderFailure, match="HTTP 500") as caught:
        read(body, 500)
    assert caught.value.heals
    assert len(caught.value.reason) < 400


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 500])
def test_an_error_nested_as_deeply_as_can_just_be_read_is_a_failure(status: int) -> None:
    limit = sys.getrecursionlimit()
    for depth in range(limit - 200, limit + 10):
        for shape in (b'{"error": %s%s}', b'{"choices": [{"message": {}, "error": %s%s}]}'):
            with pytest.raises(ReaderFailure):
                read(shape % (b"[" * depth, b"]" * depth), status)


@pytest.mark.parametrize("content", ["", "Half an ans", None])
def test_an_error_inside_a_choice_is_a_failure_not_an_empty_answer(content: str | None) -> None:
    broke = {"code": 502, "message": "Upstream broke off"}
    with pytest.raises(ReaderFailure, match="HTTP 502: Upstream broke off") as caught:
        read(completion({"content": content}, finish_reason="error", error=broke))
    assert caught.value.heals
    with pytest.raises(ReaderFailure) as caught:
        read(completion({"content": content}, error={"code": 400, "message": "bad"}))
    assert not caught.value.heals
    assert read(completion({"content": content}, error=None)).text == (content or "")


@pytest.mark.parametrize("content", ['"Yes"', "null"])  # in the ordinary shape and in another
@pytest.mark.parametrize("tokens", [2**63, 2**70, -5, True, 12.5, "12"])
def test_a_count_that_cannot_be_one_is_left_out(content: str, tokens: object) -> None:
    usage = json.dumps({"prompt_tokens": tokens, "completion_tokens": 2**63 - 1})
    body = f'{{"choices": [{{"message": {{"content": {content}}}}}], "usage": {usage}}}'
    reply = read(body.encode())
    assert (reply.tokens_in, reply.tokens_out) == (None, 2**63 - 1)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=Reply) == reply


@pytest.mark.parametrize("content", [b'"Yes"', b"null"])
@pytest.mark.parametrize("number", [b"-1" + b"0" * 400, b"NaN", b"-Infinity", b"-1e400", b"null"])
def test_a_log_probability_that_is_no_number_is_left_out(content: bytes, number: bytes) -> None:
    tokens = b'{"token": "Yes", "logprob": -0.5}, {"token": "No", "logprob": %s}' % number
    body = b"""{"choices": [{"message": {"content": %s}, "logprobs": {"content": [
        {"token": "Yes", "logprob": -0.5, "top_logprobs": [%s]}]}}]}""" % (content, tokens)
    assert read(body).logprobs == (("Yes", -0.5),)


GOOD = b'{"choices": [{"message": {"content": "Yes%s"}}], "usage": {"prompt_tokens": 3}, "x": %s}'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (GOOD % (b" \\ud83d", b"1"), "Yes ?"),  # half an emoji, as a cut-off stream leaves it
        (GOOD % (b" \xed\xa0\xbd", b"1"), "Yes ?"),
        (GOOD % (b"", b"NaN"), "Yes"),
        (GOOD % (b"", b"[Infinity, -Infinity]"), "Yes"),
        (b"\xef\xbb\xbf" + GOOD % (b"", b"1"), "Yes"),
    ],
    ids=["escaped surrogate", "raw surrogate", "NaN", "infinities", "byte order mark"],
)
def test_a_good_reply_in_json_that_is_not_quite_json_is_read(body: bytes, text: str) -> None:
    reply = read(body)
    assert (reply.text, reply.tokens_in) == (text, 3)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=Reply) == reply


def test_half_an_emoji_is_replaced_wherever_it_stands() -> None:
    message = {"content": [{"type": "text", "text": "a\ud83d"}], "reasoning": "b\ud83d"}
    tokens = {"content": [{"token": "c\ud83d", "logprob": -1}]}
    reply = read(completion(message, finish_reason="d\ud83d", logprobs=tokens))
    assert (reply.text, reply.reasoning, reply.finish) == ("a?", "b?", "d?")
    assert reply.logprobs == (("c?", -1.0),)


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


# ---------------------------------------------------------------- what the server says of itself


def test_the_fingerprint_is_kept_in_every_shape() -> None:
    whole = {"choices": [{"message": {"content": "x"}}], "model": "m", "system_fingerprint": "fp"}
    odd = whole | {"usage": "none"}  # read by hand
    for body in (whole, odd):
        reply = read_response(200, {}, json.dumps(body).encode())
        assert (reply.model, reply.fingerprint) == ("m", "fp")
    assert read_response(200, {}, json.dumps(whole | {"system_fingerprint": 7}).encode())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"data": [{"id": "m", "root": "/w", "created": 5}]}, "id m, root /w, created 5"),
        ({"data": [{"id": "other"}, {"id": "m"}]}, "id m"),
        ({"data": [{"id": "the only one"}]}, "id the only one"),
        ({"data": [{"id": "a"}, {"id": "b"}]}, ""),
        ({"data": [{"id": "m", "root": 7, "created": "x"}, None, 3]}, "id m"),
        ({"data": [{"id": "m", "created": int(time.time()) + 60}]}, "id m"),
        ({"data": "none"}, ""),
        ([], ""),
    ],
)
def test_a_list_of_models_says_what_is_served(body: object, told: str) -> None:
    assert read_listing(json.dumps(body).encode(), "m", None) == told


def test_a_list_that_is_none_says_nothing() -> None:
    for body in (b"", b"\xff", b"<html>", b"[" * 100_000):
        assert read_listing(body, "m", None) == ""
