"""Trials: all that a reader is asked about one clip (HEARTBEAT 3-5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import MOST_SEEDS, Edition, Options
from overread.benchmarks.heartbeat.order import ed_position
from overread.benchmarks.heartbeat.prompts import Numbers, question
from overread.benchmarks.heartbeat.windows import Window
from overread.case import Clip, ClipMask, Decoding, Message, Request, Source, Traits, Trial

__all__ = ["clip_of", "t2_formats", "trials"]

_ONE_LINE: Final = 30  # new tokens, as published (HEARTBEAT 5)
_REASONED: Final = 2048  # room to think first
_SINGLE: Final = ("edv", "esv")


class _Turn(NamedTuple):
    """One pass of one seed, the same for every clip and question."""

    seed: int
    number: int
    decoding: Decoding
    repeat: int


def trials(
    case: HeartbeatCase,
    window: Window | None,
    place: int,
    traits: Traits,
    edition: Edition,
    options: Options,
    root: str,
) -> Iterator[Trial]:
    """Every context, format, seed and pass of T1, then of T2; `place` is the clip's in the set.

    A context with an overlay needs masks, T1 a window. Frames, clips and messages are made once and
    shared by all seeds and passes, so that thousands of trials weigh little.
    """
    contexts = [c for c in options.contexts if c == "original" or case.mask is not None]
    turns = _turns(options.seeds, options.passes, traits)
    if "t1" in options.tasks and window is not None:
        numbers = Numbers(window.count, 0, window.stated - 1)
        frames = window.frames
        for context in contexts:
            clip = clip_of(case, frames, context, root)
            for output in options.formats:
                messages = _messages("t1", context, output, numbers, clip, edition, options)
                for turn in turns:
                    yield _trial(case, "t1", context, output, turn, messages)
    if "t2" in options.tasks:
        # By the position of the ED frame.
        orders = (case.ed, case.es), (case.es, case.ed)
        for context in contexts:
            clips = [clip_of(case, frames, context, root) for frames in orders]
            for output in t2_formats(options):
                shown = [
                    _messages("t2", context, output, None, clip, edition, options) for clip in clips
                ]
                for turn in turns:
                    messages = shown[ed_position(place, turn.seed)]
                    yield _trial(case, "t2", context, output, turn, messages)


def t2_formats(options: Options) -> tuple[str, ...]:
    """The single formats among those asked for; both where only pairs are."""
    return tuple(output for output in _SINGLE if output in options.formats) or _SINGLE


@lru_cache(64)
def _turns(seeds: tuple[int, ...], passes: int, traits: Traits) -> tuple[_Turn, ...]:
    """Every pass of every seed. Sampling is the server's own unless the user set it.

    A seed and a pass make one number, whatever other seeds and passes are asked: it seeds the
    sampling and tells equal requests apart. Greedy decoding has no chance in it, so there all
    passes are one request.
    """
    tokens = _REASONED if traits.reasoning else _ONE_LINE
    found = []
    for seed in seeds:
        for number in range(passes):
            own = seed + MOST_SEEDS * number
            decoding = Decoding(max_tokens=tokens, temperature=None, seed=own)
            if traits.adjust(decoding).greedy:
                own, decoding = 0, _greedy(tokens)
            found.append(_Turn(seed, number, decoding, own))
    return tuple(found)


@lru_cache(8)
def _greedy(tokens: int) -> Decoding:
    # The reader's own temperature replaces this one; without a seed all passes share a key.
    return Decoding(max_tokens=tokens, temperature=0.0)


def clip_of(case: HeartbeatCase, frames: tuple[int, ...], context: str, root: str) -> Clip:
    """These frames of a case as a context shows them."""
    mask = None
    if context != "original" and case.mask is not None:
        mask = ClipMask(Source(root, case.mask))
    return Clip(Source(root, case.clip), frames, mask=mask)


def _messages(
    task: str,
    context: str,
    output: str,
    numbers: Numbers | None,
    clip: Clip,
    edition: Edition,
    options: Options,
) -> tuple[Message, ...]:
    asked = question(task, context, output, numbers, options.family, edition.wording)
    parts = (clip, asked.text) if asked.visual == "before" else (asked.text, clip)
    user = Message("user", parts)
    return (user,) if asked.system is None else (_system(asked.system), user)


@lru_cache(64)
def _system(text: str) -> Message:
    return Message("system", (text,))


def _trial(
    case: HeartbeatCase,
    task: str,
    context: str,
    output: str,
    turn: _Turn,
    messages: tuple[Message, ...],
) -> Trial:
    condition: dict[str, str | int] = {
        "task": task,
        "context": context,
        "format": output,
        "seed": turn.seed,
        "pass": turn.number,
    }
    return Trial(case.case_id, condition, Request(messages, turn.decoding), turn.repeat)
