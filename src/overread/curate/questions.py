"""What a step asks models, and what it hears: the protocol between steps and whoever asks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Literal, TypeAlias

import msgspec

from overread.case import Condition, Decoding, Message, Picture, Reply, Request, Trial
from overread.curate.records import Record

ATTEMPT = "attempt"
"""The word in `Question.about` that counts how often it was put."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question to one model about one item or candidate.

    `to` is a seat, as `Wanted.seats` names it; `item` the id of what it is about; `about` tells it
    from the other questions about that.
    """

    to: str
    item: str
    about: Condition
    messages: tuple[Message, ...]
    decoding: Decoding = Decoding(max_tokens=1024)
    repeat: int = 0

    def again(self, said: str, remark: str) -> Question:
        """The same put once more, after a reply that cannot be used, with a remark on it."""
        return msgspec.structs.replace(
            self,
            about={**self.about, ATTEMPT: int(self.about.get(ATTEMPT, 1)) + 1},
            messages=(
                *self.messages,
                Message("assistant", (said,)),
                Message("user", (remark,)),
            ),
        )

    @property
    def trial(self) -> Trial:
        return Trial(self.item, self.about, Request(self.messages, self.decoding), self.repeat)


def user(*parts: str | Picture) -> tuple[Message, ...]:
    """A single turn of a person: pictures and text in order."""
    return (Message("user", parts),)


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a question: the text of the reply, or why there is none to read.

    `by` is the identity of the model that was asked.
    """

    question: Question
    by: str
    text: str | None = None
    lack: Literal["", "refused", "unanswered"] = ""
    reply: Reply | None = None


Steps: TypeAlias = Generator[Sequence[Question], Sequence[Heard], Sequence[Record]]
"""Rounds of questions, each answered by what was heard, in the end the records."""
