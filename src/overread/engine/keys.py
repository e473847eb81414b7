"""Names for requests and replies that are equal exactly when asking again would be waste.

Key of a reply = digest of the canonical request: the reader's identity, messages and picture slots
in order (recipe, source digest, renderer revision, wire format), all decoding fields, the repeat
index; plus the case id when decoding is not greedy. Paths never enter a key, bytes do.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from overread.case import Inline, Overlay, Picture, Request, Source, Trial
from overread.imaging import RENDERER

__all__ = ["digests", "picture_digest", "reply_key", "request_digest"]

SourceDigest = Callable[[Source | Inline], bytes]
_encode = msgspec.msgpack.Encoder().encode


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def picture_digest(picture: Picture, source_digest: SourceDigest) -> bytes:
    """Name a picture by its recipe and its source's bytes, without rendering it."""
    operations = [
        ("overlay", source_digest(o.mask), o.color, o.alpha) if isinstance(o, Overlay) else o
        for o in picture.operations
    ]
    recipe = (RENDERER, source_digest(picture.source), operations, picture.wire)
    return _digest(_encode(recipe))


def digests(request: Request, source_digest: SourceDigest) -> tuple[bytes, dict[Picture, bytes]]:
    """The digest of a request and of each picture in it.

    Two requests share a digest exactly when a reader sees the same.
    """
    pictures: dict[Picture, bytes] = {}
    messages = []
    for message in request.messages:
        parts: list[str | bytes] = []
        for part in message.parts:
            # Text stays text and a picture becomes bytes, so no text can pass for a picture.
            if isinstance(part, str):
                parts.append(part)
            else:
                named = pictures[part] = picture_digest(part, source_digest)
                parts.append(named)
        messages.append((message.role, parts))
    return _digest(_encode((messages, request.decoding))), pictures


def request_digest(request: Request, source_digest: SourceDigest) -> bytes:
    """Name a request."""
    return digests(request, source_digest)[0]


def reply_key(identity: str, digest: bytes, trial: Trial, *, greedy: bool) -> bytes:
    """Name the reply of one reader to one trial.

    A sampled reply belongs to its case: two cases with the same question are two draws.
    """
    case = "" if greedy else trial.case
    return _digest(_encode((identity, digest, trial.repeat, case)))
