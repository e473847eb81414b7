"""Names for requests and replies that are equal exactly when asking again would be waste.

Key of a reply = digest of the canonical request: the reader's identity, messages and picture slots
in order (recipe, source digest, renderer revision, wire format), all decoding fields, the repeat
index; plus the case id when decoding is not greedy, or the reader is told it. Paths never enter a
key, bytes do. A clip's recipe also holds its frames, its masks and the form in which a reader takes
it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from overread.case import Clip, Inline, Overlay, Picture, Request, Source, Trial
from overread.imaging import RENDERER

SourceDigest = Callable[[Source | Inline], bytes]
Slot: TypeAlias = Picture | Clip
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


def clip_digest(clip: Clip, source_digest: SourceDigest) -> bytes:
    """Name a clip by its recipe and its sources' bytes, without decoding it."""
    mask = clip.mask
    return _clip_digest(
        clip,
        source_digest(clip.source),
        b"" if mask is None else source_digest(mask.source),
        tuple(source_digest(o.mask) for o in clip.operations if isinstance(o, Overlay)),
    )


# Once for all trials that share a clip; its sources' bytes are part of what is remembered.
@functools.lru_cache(1024)
def _clip_digest(clip: Clip, source: bytes, masked: bytes, overlaid: tuple[bytes, ...]) -> bytes:
    overlays = iter(overlaid)
    operations: list[object] = [
        ("overlay", next(overlays), o.color, o.alpha) if isinstance(o, Overlay) else o
        for o in clip.operations
    ]
    mask = None if clip.mask is None else (masked, clip.mask.color, clip.mask.alpha)
    recipe = ("clip", RENDERER, source, clip.frames, operations, mask, clip.wire, clip.form)
    return _digest(_encode(recipe))


def digests(request: Request, source_digest: SourceDigest) -> tuple[bytes, dict[Slot, bytes]]:
    """The digest of a request and of each picture and clip in it.

    Two requests share a digest exactly when a reader sees the same.
    """
    pictures: dict[Slot, bytes] = {}
    messages = []
    for message in request.messages:
        parts: list[str | bytes] = []
        for part in message.parts:
            # Text stays text and a picture becomes bytes, so no text can pass for a picture.
            if isinstance(part, str):
                parts.append(part)
                continue
            if isinstance(part, Clip):
                named = clip_digest(part, source_digest)
            else:
                named = picture_digest(part, source_digest)
            pictures[part] = named
            parts.append(named)
        messages.append((message.role, parts))
    return _digest(_encode((messages, request.decoding))), pictures


def request_digest(request: Request, source_digest: SourceDigest) -> bytes:
    """Name a request."""
    return digests(request, source_digest)[0]


def reply_key(
    identity: str, digest: bytes, trial: Trial, *, greedy: bool, told_case: bool = False
) -> bytes:
    """Name the reply of one reader to one trial.

    A sampled reply belongs to its case: two cases with the same question are two draws. So does
    that of a reader who is told which case it is.
    """
    case = trial.case if told_case or not greedy else ""
    return _digest(_encode((identity, digest, trial.repeat, case)))
