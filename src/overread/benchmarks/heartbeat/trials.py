"""Which frames of a clip are shown, and all that a reader is asked about them (HEARTBEAT 2-5).

The words of the questions stand in questions.toml: the published ones to the letter, and a clean
wording of ours. It asks the same and wants the same reply. Where nothing medical is meant, no
medical word stands; the published two-frame question names the echocardiogram there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from overread.benchmarks.base import Left
from overread.benchmarks.draws import lot
from overread.benchmarks.heartbeat.authors.rules import authors_window, t2_orders
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import (
    FAMILIES,
    FORMATS,
    MOST_SEEDS,
    REACH,
    Edition,
    Options,
)
from overread.case import Clip, ClipMask, Decoding, Message, Request, Source, Traits, Trial

# ---------------------------------------------------------------- the window of T1


def window_of(case: HeartbeatCase, edition: Edition, options: Options) -> Window | Left:
    """The window of a case under an edition; the same in all contexts, seeds and passes."""
    if edition.window == "fixed":
        return fixed_window(case, options.frames, edition.seed, options.reach)
    return authors_window(case.ed, case.es, case.frames)


def fixed_window(case: HeartbeatCase, n: int, seed: int, reach: float = REACH) -> Window | Left:
    """N real frames whose start is uniform among the windows that hold both phases.

    Every window of a run has the same N, so its length says nothing of the answer (HEARTBEAT 9).
    Left out: phases too far apart to fit, a beat so short that neighbouring ones would enter
    (N > `reach` l), and a clip of fewer than N frames.
    """
    length = case.length
    if length + 1 > n:
        return Left(
            case.case_id, f"its phases are {length} frames apart: a window of {n} cannot hold both"
        )
    if n > reach * length:
        return Left(
            case.case_id,
            f"its phases are {length} frames apart: a neighbouring beat may enter a window of {n}",
        )
    if case.frames < n:
        return Left(case.case_id, f"it has {case.frames} frames, fewer than a window of {n}")
    earliest = max(0, max(case.ed, case.es) - n + 1)
    latest = min(min(case.ed, case.es), case.frames - n)
    # 128 bits: the remainder's bias is far below anything that could be seen.
    start = earliest + lot("window", seed, case.case_id) % (latest - earliest + 1)
    return Window(start=start, count=n, stated=n, ed=case.ed - start, es=case.es - start)


# -------------------------------------------------- the order of the two frames of T2 (HEARTBEAT 4)


def ed_position(place: int, seed: int) -> int:
    """The position of the ED frame of the video at `place` (from 0) in the set."""
    return _kept_orders(1 << max(8, place.bit_length()), seed)[place]


@lru_cache(256)
def _kept_orders(n_videos: int, seed: int) -> bytes:
    return bytes(t2_orders(n_videos, seed))


# --------------------------- the question, and where the frames stand in it (HEARTBEAT 3)

# The phases a format asks for, in its order, as they are called in a reply.
PHASES: Final = {wanted: tuple(wanted.upper().split("_")) for wanted in FORMATS}
# What a phase is called where nothing medical is.
AREAS: Final = {"EDV": "LARGEST_AREA_INDEX", "ESV": "SMALLEST_AREA_INDEX"}
# The prompts that have their frames as images behind the text; the others begin with a video.
_IMAGES_LAST: Final = ("interleave", "qwen")


class Numbers(NamedTuple):
    """How many frames a prompt says there are, and the range of indices it names."""

    frames: int
    low: int
    high: int


class Question(NamedTuple):
    """What is asked, and where the family shows the frames: before or after the text."""

    system: str
    text: str
    visual: Literal["before", "after"]


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """System message and text of every question, by task/context/family_format."""
    found = tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))
    return {
        key: (found["systems"][one["system"]], one["text"])
        for one in found["questions"]
        for key in one["asked"]
    }


@lru_cache(4096)
def question(
    task: str,
    context: str,
    output: str,
    window_numbers: Numbers | None,
    family: str,
    wording: Literal["published", "clean"],
) -> Question:
    """The question of a task in a context and an output format.

    `window_numbers` are those of the window in T1 and None in T2. The clean wording is the same for
    every family, its frames first.
    """
    if task == "t1" and window_numbers is None:
        raise ValueError("a question about a window needs its numbers")
    name = "clean" if wording == "clean" else FAMILIES[family][task]
    system, text = _texts()[f"{task}/{context}/{name}_{output}"]
    if window_numbers is not None:
        text = text.format(**window_numbers._asdict())
    return Question(system, text, "after" if name in _IMAGES_LAST else "before")


# ------------------------------------------------------------- every context, format, seed and pass

_ONE_LINE_TOKENS: Final = 30  # new tokens, as published (HEARTBEAT 5)
_REASONED_TOKENS: Final = 2048  # room to think first
_SINGLE_FORMATS: Final = ("edv", "esv")


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
    turns = _turns_of(options.seeds, options.passes, traits)

    def asked(
        task: str,
        formats: Sequence[str],
        numbers: Numbers | None,
        orders: Sequence[tuple[int, ...]],
    ) -> Iterator[Trial]:
        """Of a task, every context and format of these frames, by the position of the ED frame."""
        for context in contexts:
            clips = [clip_of(case, frames, context, root) for frames in orders]
            for output in formats:
                told = question(task, context, output, numbers, options.family, edition.wording)
                first = told.visual == "before"
                parts = [(clip, told.text) if first else (told.text, clip) for clip in clips]
                system = Message("system", (told.system,))
                shown = [(system, Message("user", both)) for both in parts]
                for turn in turns:
                    at = ed_position(place, turn.seed) if task == "t2" else 0
                    condition: dict[str, str | int] = {
                        "task": task,
                        "context": context,
                        "format": output,
                        "seed": turn.seed,
                        "pass": turn.number,
                    }
                    request = Request(shown[at], turn.decoding)
                    yield Trial(case.case_id, condition, request, turn.repeat)

    if "t1" in options.tasks and window is not None:
        numbers = Numbers(window.count, 0, window.stated - 1)
        yield from asked("t1", options.formats, numbers, [window.frames])
    if "t2" in options.tasks:
        yield from asked("t2", t2_formats(options), None, [(case.ed, case.es), (case.es, case.ed)])


def t2_formats(options: Options) -> tuple[str, ...]:
    """The single formats among those asked for; both where only pairs are."""
    return (
        tuple(output for output in _SINGLE_FORMATS if output in options.formats) or _SINGLE_FORMATS
    )


@lru_cache(64)
def _turns_of(seeds: tuple[int, ...], passes: int, traits: Traits) -> tuple[_Turn, ...]:
    """Every pass of every seed. Sampling is the server's own unless the user set it.

    A seed and a pass make one number, whatever other seeds and passes are asked: it seeds the
    sampling and tells equal requests apart. Greedy decoding has no chance in it, so there all
    passes are one request.
    """
    tokens = _REASONED_TOKENS if traits.reasoning else _ONE_LINE_TOKENS
    # The reader's own temperature replaces this one; without a seed all passes share a key.
    greedy = Decoding(max_tokens=tokens, temperature=0.0)
    found = []
    for seed in seeds:
        for number in range(passes):
            own = seed + MOST_SEEDS * number
            decoding = Decoding(max_tokens=tokens, temperature=None, seed=own)
            if traits.adjust(decoding).greedy:
                own, decoding = 0, greedy
            found.append(_Turn(seed, number, decoding, own))
    return tuple(found)


def clip_of(case: HeartbeatCase, frames: tuple[int, ...], context: str, root: str) -> Clip:
    """These frames of a case as a context shows them."""
    mask = None
    if context != "original" and case.mask is not None:
        mask = ClipMask(Source(root, case.mask))
    return Clip(Source(root, case.clip), frames, mask=mask)
