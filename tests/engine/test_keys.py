"""Keys are equal exactly when asking again would be waste."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread import imaging
from overread.case import (
    Box,
    Clip,
    ClipMask,
    Decoding,
    Fill,
    Inline,
    Message,
    Overlay,
    Picture,
    Request,
    Resize,
    Source,
    Traits,
    Trial,
)
from overread.engine import reply_key, request_digest

FILM = Picture(Source("/a", "film.png"), (Resize(224, 224),))
MASKED = Picture(FILM.source, (*FILM.operations, Fill(Box(1, 2, 3, 4))))


def by_path(source: Source | Inline) -> bytes:
    return source.data if isinstance(source, Inline) else source.name.encode()


def request(*parts: str | Picture, **decoding: object) -> Request:
    return Request((Message("user", parts),), Decoding(**decoding))


def digest(asked: Request) -> bytes:
    return request_digest(asked, by_path)


VARIANTS = [
    request(FILM, "q"),
    request("q", FILM),
    request(FILM, "Q"),
    request(MASKED, "q"),
    request("q"),
    request("q", "q"),
    request(msgspec.structs.replace(FILM, wire="jpeg:75"), "q"),
    request(Picture(FILM.source, (Resize(225, 224),)), "q"),
    request(Picture(Source("/a", "other.png"), FILM.operations), "q"),
    request(Picture(FILM.source, (*FILM.operations, Overlay(Inline(b"m")))), "q"),
    request(Picture(FILM.source, (*FILM.operations, Overlay(Inline(b"n")))), "q"),
    request(FILM, "q", max_tokens=11),
    request(FILM, "q", temperature=0.5),
    request(FILM, "q", temperature=None),
    request(FILM, "q", top_logprobs=5),
    request(FILM, "q", seed=1),
    Request((Message("system", (FILM, "q")),)),
    Request((Message("user", (FILM,)), Message("user", ("q",)))),
]


def test_whatever_a_reader_can_tell_apart_has_its_own_digest() -> None:
    assert len({digest(variant) for variant in VARIANTS}) == len(VARIANTS)


def test_a_moved_data_set_keeps_its_keys() -> None:
    moved = Picture(Source("/elsewhere", "film.png"), FILM.operations)
    assert digest(request(moved, "q")) == digest(request(FILM, "q"))


@given(st.text())
def test_no_text_passes_for_a_picture(text: str) -> None:
    assert digest(request(text)) != digest(request(FILM))


def test_a_text_only_readers_swap_and_mask_trials_share_one_key() -> None:
    text_only = Traits(modality="text")
    asked = {digest(r.for_reader(text_only)) for r in (request(FILM, "q"), request(MASKED, "q"))}
    assert len(asked) == 1


@pytest.mark.parametrize(("greedy", "keys"), [(True, 1), (False, 2)])
def test_a_sampled_reply_belongs_to_its_case(greedy: bool, keys: int) -> None:
    asked = request("q")
    trials = [Trial(case, {}, asked) for case in ("a", "b")]
    found = {reply_key("reader", digest(asked), trial, greedy=greedy) for trial in trials}
    assert len(found) == keys


def test_reader_and_repeat_are_in_the_key() -> None:
    asked, trial = request("q"), Trial("a", {}, request("q"))
    again = Trial("a", {}, asked, repeat=1)
    keys = {
        reply_key("one", digest(asked), trial, greedy=True),
        reply_key("two", digest(asked), trial, greedy=True),
        reply_key("one", digest(asked), again, greedy=True),
    }
    assert len(keys) == 3


# ---------------------------------------------------------------- keys of stores that are there

BEAT = Clip(
    Source("/a", "heart.avi"),
    (3, 4, 5),
    (Resize(112, 112),),
    mask=ClipMask(Source("/a", "heart.npz"), (255, 0, 0)),
)
KEPT = {
    "39087027df610ef78c72108c3cef35f0": request(FILM, "q"),
    "a76cee6cce1cfd879de6477f38e13c16": request(MASKED, "q", max_tokens=7),
    "cfde2f525b839272f9db1cf33ab04839": Request((Message("user", (BEAT, "Which?")),)),
}


@pytest.mark.parametrize("encoder", [imaging.ENCODER, 1, 999])
def test_the_keys_of_kept_replies_stay_whatever_encodes_the_pixels(
    encoder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written down from a store of before: with other keys everybody would be asked again."""
    monkeypatch.setattr(imaging, "ENCODER", encoder)
    found = [
        reply_key("openai:m@h", digest(asked), Trial("a", {}, asked), greedy=True).hex()
        for asked in KEPT.values()
    ]
    assert found == list(KEPT)
