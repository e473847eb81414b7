"""Readers behind HTTP: controls, and readers of digits that cannot read them."""

from __future__ import annotations

import hashlib
import importlib
import math
import random
from typing import TYPE_CHECKING

from chat_server.clips import thinned
from chat_server.wire import completion, completion_of, prompt_of, refusal

if TYPE_CHECKING:
    from overread.case import Reader


def reader_named(name: str) -> Reader:
    """A grounding control by name, or any reader as `module:attribute` (called if callable)."""
    if ":" in name:
        module, _, attribute = name.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        reader: Reader = found() if callable(found) else found
        return reader
    from overread.benchmarks.grounding.controls import grounding_controls

    controls = grounding_controls()
    if name not in controls:
        raise SystemExit(f"no control is named {name!r}; there are {', '.join(sorted(controls))}.")
    return controls[name]


async def read_aloud(reader: Reader, body: bytes, *, videos: bool, thin: int) -> bytes:
    """What the reader says to this body, as a response. `thin` frames reach it at most; 0: all."""
    from overread.case import ReaderFailure

    try:
        prompt = prompt_of(body, videos=videos)
        return completion_of(await reader.reply(thinned(prompt, thin) if thin else prompt))
    except ReaderFailure as failure:
        status = 429 if failure.throttled else 500 if failure.heals else 400
        return refusal(status, failure.reason)
    except (ValueError, KeyError, TypeError) as fault:
        return refusal(400, f"{type(fault).__name__}: {fault}")


SIGHTS = ("blind", "arrives", "random", "constant")


def sight_reply(sight: str, body: bytes, turn: int) -> bytes:
    """A reader of digits that cannot read them, in four ways.

    blind: pictures change nothing, not even the tokens counted. arrives: they change tokens,
    log-probabilities and text, but the digits are not read. random: as blind, but no two replies
    agree, so change alone is no proof. constant: one word, no usage, no log-probabilities.
    """
    if sight == "constant":
        return completion("I cannot help with that.")
    prompt = prompt_of(body)
    basis: list[object] = [prompt.text]
    tokens = 12 + len(prompt.text) // 4
    if sight == "arrives":
        basis += [hashlib.sha256(shown.data).hexdigest() for shown in prompt.pictures]
        tokens += 64 * len(prompt.pictures)
    elif sight == "random":
        basis.append(turn)
    draw = random.Random(repr(basis))
    weights = {digit: draw.expovariate(1.0) for digit in "0123456789"}
    ranked = sorted(weights.items(), key=lambda each: -each[1])
    total = sum(weights.values())
    text = ranked[0][0] + "".join(draw.choices("0123456789", k=3))
    top = tuple((digit, math.log(w / total)) for digit, w in ranked[: prompt.decoding.top_logprobs])
    return completion(text, top or None, (tokens, 4))
