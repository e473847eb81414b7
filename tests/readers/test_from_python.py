"""A model of one's own: a class with a name and a reply."""

from __future__ import annotations

import pytest

import overread as ov
from overread.case import Prompt, ReaderFailure, Reply
from overread.readers import PythonReader


class Says(ov.Model):
    name = "says"

    def __init__(self, said: object) -> None:
        self.said = said

    def reply(self, prompt: Prompt) -> str | Reply:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said  # type: ignore[return-value]


async def _asked(said: object) -> Reply:
    return await PythonReader(Says(said)).reply(Prompt(()))


def asked(said: object) -> Reply:
    import asyncio

    return asyncio.run(_asked(said))


def test_text_and_replies_are_replies() -> None:
    assert asked("Yes").text == "Yes"
    assert asked(Reply("No", seconds=2.0)).seconds == 2.0


@pytest.mark.parametrize(
    ("said", "why"),
    [(3, "reply returned int"), (ValueError("no\nmemory"), "ValueError: no memory")],
)
def test_whatever_else_leaves_the_trial_unanswered(said: object, why: str) -> None:
    with pytest.raises(ReaderFailure, match=why) as failure:
        asked(said)
    assert not failure.value.heals


def test_new_weights_are_another_reader() -> None:
    class New(Says):
        revision = "2"

    assert PythonReader(Says("")).identity != PythonReader(New("")).identity
