"""Recorded replies are found by the digest of the request, and only so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from overread.case import BadInput, Prompt, ReaderFailure, Reply
from overread.readers import Guard, open_reader


def open_(path: Path):
    return open_reader(f"recorded:{path}", guard=Guard(), environment={}, controls={})


def test_a_recorded_reply_is_found_by_digest(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(
        '{"request": "aa", "text": "Yes", "logprobs": [["Yes", -0.1]], "seconds_of_work": 3}\n'
        "\n"
        '{"request": "bb", "text": "No", "finish": "stop"}\n'
    )
    reader = open_(file)
    found = asyncio.run(reader.reply(Prompt((), digest="aa")))
    assert found == Reply(text="Yes", logprobs=(("Yes", -0.1),))
    with pytest.raises(ReaderFailure, match="not recorded") as caught:
        asyncio.run(reader.reply(Prompt((), digest="cc")))
    assert not caught.value.heals


def test_another_file_is_another_reader(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_text('{"request": "aa", "text": "Yes"}\n')
    two.write_text('{"request": "aa", "text": "No"}\n')
    assert open_(one).identity != open_(two).identity


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"request": "aa", "text": "Yes"}\nnot json\n', "line 2"),
        ('{"text": "Yes"}\n', "line 1"),
        ('{"request": "aa", "text": 3}\n', "line 1"),
        ('{"request": "aa", "text": "a"}\n{"request": "aa", "text": "b"}\n', "twice"),
        ("\xff\xfe\n", "line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadInput, match=says):
        open_(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gone.jsonl"):
        open_(tmp_path / "gone.jsonl")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"request": "aa", "text": "Yes"}\n')
    assert asyncio.run(open_(file).reply(Prompt((), digest="aa"))).text == "Yes"
