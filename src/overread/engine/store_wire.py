"""What a served store and its clients say to each other: typed messages in msgpack, one at a time.

A message is one struct of those below, named by its type, and has one answer. Each may be sent
again: a client that heard nothing does not know whether it was done, and doing it twice is as doing
it once.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from overread.case import Policy, Reply
from overread.engine.reply_store import Asker, Enrolment, Kept, Listed
from overread.engine.store import Session
from overread.engine.store_file import Life

REVISION: Final = 1
PATH: Final = "/store"
KIND: Final = "application/msgpack"
# Of a message; a commit that is longer is sent in parts. Answers are bounded by the client.
MOST_BYTES: Final = 64_000_000
ENOUGH_BYTES: Final = 8_000_000
MOST_KEYS: Final = 20_000

Key: TypeAlias = Annotated[bytes, Meta(min_length=1, max_length=64)]
Keys: TypeAlias = Annotated[list[Key], Meta(max_length=MOST_KEYS)]
Word: TypeAlias = Annotated[str, Meta(max_length=20_000)]
Readers: TypeAlias = Annotated[list[Enrolment], Meta(max_length=10_000)]


class Message(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Something a client says."""


class Hello(Message, frozen=True):
    """Answer: `Session`, of somebody who opens the store now."""

    revision: int
    life: Life


class Join(Message, frozen=True):
    """Answer: the session with its row, for whoever is about to ask."""

    session: Session


class Leave(Message, frozen=True):
    """Its claims are let go. Answer: None."""

    session: Session


class Beat(Message, frozen=True):
    """Answer: None."""

    session: Session


class Claim(Message, frozen=True):
    """Answer: `Claimed`."""

    keys: Keys
    asker: Asker
    session: Session


class Commit(Message, frozen=True):
    """Answer: None."""

    replies: list[tuple[Key, int, Reply]]
    failures: list[tuple[Key, int, Word]]
    asker: Asker


class Get(Message, frozen=True):
    """Answer: `Gotten`."""

    keys: Keys
    asker: Asker
    session: Session


class Gotten(msgspec.Struct, frozen=True):
    """Replies to the first of the keys, as many as were looked at before there was enough."""

    looked_at: int
    replies: dict[bytes, Kept]


class KnownOf(Message, frozen=True):
    """Answer: the set of keys that have a reply."""

    keys: Keys
    asker: Asker


class FailuresOf(Message, frozen=True):
    """Answer: reasons by key."""

    keys: Keys


class DataSet(Message, frozen=True):
    """Answer: its number."""

    benchmark: Word
    dataset: Word
    policy: Policy


class Enrol(Message, frozen=True):
    """Answer: an `Asker` for each."""

    readers: Readers
    dataset: int
    fresh: bool


class Foresee(Message, frozen=True):
    """Answer: an `Asker` for each."""

    readers: Readers
    benchmark: Word
    dataset: Word


class NoteServed(Message, frozen=True):
    """Answer: how it was listed before, and the `Asker` from now on."""

    asker: Asker
    served: Word


class ReaderRows(Message, frozen=True):
    """Answer: label and listing by row."""

    numbers: Annotated[list[int], Meta(max_length=MOST_KEYS)]


class Rate(Message, frozen=True):
    """Answer: replies a second, or None."""

    identity: Word


class List(Message, frozen=True):
    """Answer: `Listed` of everything."""


Said: TypeAlias = (
    Hello
    | Join
    | Leave
    | Beat
    | Claim
    | Commit
    | Get
    | KnownOf
    | FailuresOf
    | DataSet
    | Enrol
    | Foresee
    | NoteServed
    | ReaderRows
    | Rate
    | List
)
Listing: TypeAlias = list[Listed]


def size_of(reply: Reply) -> int:
    """About so many bytes."""
    texts = (reply.text, reply.reasoning, reply.refusal, reply.model, reply.fingerprint)
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts if text)


encode: Final = msgspec.msgpack.Encoder().encode
read_message: Final = msgspec.msgpack.Decoder(Said).decode
