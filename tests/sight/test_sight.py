"""`overread sight` against servers whose sight is known."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from overread.sight import DIGITS, PICTURES, ask_for_digits, digit_picture, digits_of
from support.commands import Overread
from support.reads_digits import read
from support.served import served


@pytest.mark.parametrize(
    ("sight", "verdict", "code"),
    [
        ("blind", "does not arrive", 1),
        ("arrives", "arrives", 0),
        ("constant", "cannot tell", 1),
    ],
)
def test_what_each_server_is(overread: Overread, sight: str, verdict: str, code: int) -> None:
    with served("digits", sight=sight) as server:
        done = overread("sight", f"openai:m@{server.base_url}", "--json")
        assert server.stats()["pictures"] == {"1": 2 * PICTURES, "0": 2}
    assert (done.code, json.loads(done.out)["verdict"]) == (code, verdict)


@pytest.mark.parametrize("seed", range(3))
def test_saying_something_else_each_time_is_no_sight(overread: Overread, seed: int) -> None:
    # One at a time: what is said follows the order of asking, and one drawing in a hundred would
    # look like sight at this level.
    with served("digits", sight="random") as server:
        reader = f"openai:m@{server.base_url}?concurrency=1"
        done = overread("sight", reader, "--seed", seed, "--json")
    assert (done.code, json.loads(done.out)["verdict"]) == (1, "does not arrive")


def test_a_reader_that_reads(overread: Overread) -> None:
    with served(control="support.reads_digits:Reads") as server:
        done = overread("sight", f"openai:m@{server.base_url}")
    assert done.code == 0
    assert done.out.startswith("m: arrives and reads\n")
    assert f"digits read: {PICTURES * DIGITS} of {PICTURES * DIGITS}" in done.out


def test_a_model_that_the_server_does_not_list_is_said(overread: Overread) -> None:
    with served("digits", sight="arrives") as server:
        for model, said in (("overread-bnch", True), ("overread-bench", False)):
            done = overread("sight", f"openai:{model}@{server.base_url}")
            assert ("does not list overread-bnch, but overread-bench" in done.out) is said


def test_every_check_is_asked_afresh(overread: Overread) -> None:
    with served("digits", sight="arrives") as server:
        for times in (1, 2):
            overread("sight", f"openai:m@{server.base_url}")
            assert server.stats()["requests"] == times * 2 * (PICTURES + 1)


def test_a_reader_declared_text_only_is_not_asked(overread: Overread) -> None:
    with served("digits") as server:
        done = overread("sight", f"openai:m@{server.base_url}?modality=text")
        assert server.stats()["requests"] == 0
    assert (done.code, "does not arrive" in done.out) == (1, True)


def test_a_server_that_is_down_is_said_so(overread: Overread) -> None:
    done = overread("sight", "openai:m@http://127.0.0.1:1/v1?attempts=1")
    assert done.code == 3
    assert "cannot connect" in done.complaint


# ---------------------------------------------------------------- the pictures


def test_the_digits_follow_the_seed() -> None:
    assert digits_of(3) == digits_of(3) != digits_of(4)
    assert {len(digits) for digits in digits_of(3)} == {DIGITS}


@pytest.mark.parametrize("digits", ["0000", "1111", "8888", "4071"])
def test_the_digits_lie_inside_the_picture_and_can_be_read(digits: str) -> None:
    png = digit_picture(digits)
    ink = Image.open(io.BytesIO(png)).point(lambda v: 255 - v).getbbox()
    assert ink is not None
    left, top, right, bottom = ink
    assert min(left, top, 336 - right, 336 - bottom) > 0
    assert read(png) == digits


def test_every_picture_is_shown_twice_and_the_bare_question_put_twice() -> None:
    trials = list(ask_for_digits(0))
    assert len(trials) == 2 * (PICTURES + 1)
    assert sum(not trial.request.pictures for trial in trials) == 2
