"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

Each gets the same prompt as any reader and decides from the question and the frames it is given,
never from a truth. `area` measures the ventricle; the others do not look, so none of them may beat
the best constant, but for `length-prior` where the window's length gives the answer away.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from overread.benchmarks.base import Recovered
from overread.benchmarks.heartbeat.authors.prompt_texts import AREAS
from overread.case import Limits, Measure, Modality, Prompt, Reader, Reply, Shown, Traits

__all__ = [
    "EXPECTED",
    "REVISION",
    "Asked",
    "Control",
    "asked_of",
    "expected",
    "heartbeat_controls",
    "recovered",
]

REVISION = 3
"""Raised whenever a control may answer differently; it enters the key of every reply."""

_NOTHING_ASKED: Final = "I was not asked for a frame."


class Asked(msgspec.Struct, frozen=True):
    """What a question wants: phases in its order, what it calls them, and which indices it allows.

    `count` is the number of frames it states.
    """

    phases: tuple[str, ...]
    names: tuple[str, ...]
    count: int
    low: int
    high: int
    # What stands before the first name in the reply that is wanted: "Frame: " or nothing.
    opening: str

    def line(self, indices: Mapping[str, int]) -> str:
        """The reply in the very form that is wanted."""
        named = zip(self.names, self.phases, strict=True)
        return self.opening + ", ".join(f"{name}={indices[phase]}" for name, phase in named)


Decide = Callable[[Asked, Prompt], Mapping[str, int]]


class Control(msgspec.Struct, frozen=True):
    """A reader that is a function: from a question and its frames to an index for each phase.

    One that leaves nothing to chance is asked once for all seeds and passes.
    """

    key: str
    decide: Decide
    modality: Modality = "text"
    chance: bool = False

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        return f"{self.name}:{REVISION}"

    @property
    def traits(self) -> Traits:
        return Traits(modality=self.modality, temperature=None if self.chance else 0.0)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        asked = asked_of(prompt.text)
        if asked is None:
            text = _NOTHING_ASKED
        elif self.modality == "text":
            text = asked.line(self.decide(asked, prompt))
        else:  # decoding would hold the loop
            text = asked.line(await asyncio.to_thread(self.decide, asked, prompt))
        return Reply(text, finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


def heartbeat_controls() -> Mapping[str, Reader]:
    """The six controls, each by the word that follows `control:`."""
    controls = (
        Control("first-frame", _first),
        Control("middle-frame", _middle),
        # Its frames are part of what it is seeded by, so that it guesses anew for every clip.
        Control("random", _random, modality="multimodal", chance=True),
        Control("order-biased", _order),
        Control("length-prior", _length),
        Control("area", _area, modality="multimodal"),
    )
    return {control.key: control for control in controls}


# ---------------------------------------------------------------- the question

_PHASE_OF: Final = {**{name: phase for phase, name in AREAS.items()}, "EDV": "EDV", "ESV": "ESV"}
_WANTED: Final = re.compile(rf"(Frame: )?\b({'|'.join(_PHASE_OF)})=<")
_MORE: Final = re.compile(rf"\b({'|'.join(_PHASE_OF)})=<")
_COUNT: Final = re.compile(r"\bexactly (\d+) (?:consecutive )?frames\b")
_RANGE: Final = re.compile(r"\[(\d+), (\d+)\]|\bindices run from (\d+) to (\d+)\b")


def asked_of(text: str) -> Asked | None:
    """What a question of any task, context, format and family asks for, or None."""
    wanted, count = _WANTED.search(text), _COUNT.search(text)
    if wanted is None or count is None:
        return None
    # A family may repeat the form it wants.
    names = tuple(dict.fromkeys(match[1] for match in _MORE.finditer(text)))
    frames, bounds = int(count[1]), _RANGE.search(text)
    low, high = 0, frames - 1
    if bounds is not None:
        low, high = (int(number) for number in bounds.groups() if number is not None)
    phases = tuple(_PHASE_OF[name] for name in names)
    return Asked(phases, names, frames, low, high, wanted[1] or "")


# ---------------------------------------------------------------- how each decides


def _first(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    return dict.fromkeys(asked.phases, asked.low)


def _middle(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    return dict.fromkeys(asked.phases, asked.low + asked.count // 2)


def _random(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """Uniform over the range named, by a digest of the prompt: the same prompt, the same answer."""
    size = asked.high - asked.low + 1
    return {phase: asked.low + _lot(prompt.digest, phase) % size for phase in asked.phases}


def _lot(*words: str) -> int:
    return int.from_bytes(hashlib.blake2b("|".join(words).encode(), digest_size=16).digest())


def _order(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """The two frames in the middle, the earlier for whichever phase is named first."""
    earlier = asked.low + max(0, asked.count // 2 - 1)
    return {phase: min(earlier + k, asked.high) for k, phase in enumerate(asked.phases)}


def _length(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """Both phases from the stated number of frames (HEARTBEAT 2), end-diastole taken to be first.

    Of two frames it says 0 and 1.
    """
    from overread.benchmarks.heartbeat.authors.rules import length_guess

    early, late = (0, 1) if asked.count == 2 else length_guess(asked.count)
    return {"EDV": asked.low + early, "ESV": asked.low + late}


def _area(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """The frames between which the ventricle empties; without frames, the first."""
    if not prompt.pictures:
        return _first(asked, prompt)
    largest, smallest = _emptied(prompt.pictures)
    return {"EDV": asked.low + largest, "ESV": asked.low + smallest}


# All formats of a question share their frames; these are measured once.
@lru_cache(maxsize=64)
def _emptied(pictures: tuple[Shown, ...]) -> tuple[int, int]:
    from overread.benchmarks.heartbeat.volumes import area_curve, ejected
    from overread.imaging import pixels

    return ejected(area_curve([pixels(picture) for picture in pictures]))


# ---------------------------------------------------------------- what must come out

NO_SKILL: Final = "no better than a constant"
SEES: Final = "sees the ventricle"
READS_LENGTH: Final = "reads the window's length"
FOLLOWS_ORDER: Final = "follows the order of the question"

EXPECTED: Final[Mapping[str, str]] = {
    "first-frame": NO_SKILL,
    "middle-frame": NO_SKILL,
    "random": NO_SKILL,
    "order-biased": FOLLOWS_ORDER,
    "length-prior": NO_SKILL,
    "area": SEES,
}
"""What each control is by construction, in windows of one length (the corrected edition's)."""


def expected(window: str = "fixed") -> Mapping[str, str]:
    """What each control is by construction under an edition's window."""
    return EXPECTED if window == "fixed" else {**EXPECTED, "length-prior": READS_LENGTH}


def _held(control: str, window: str) -> bool:
    """Whether the rule for a control is held against it.

    The published window may reach the next beat, whose ventricle is as large: there `area` may be
    a whole beat off, and be right.
    """
    return control != "area" or window == "fixed"


def recovered(measures: Sequence[Measure], window: str = "fixed") -> list[Recovered]:
    """Whether a run's measures show each control for what it is; controls not asked are left out.

    `area` errs by at most one frame on average with a skill surely above 1/2, in every context and
    format; who reads the length makes no error; of the rest none has a skill surely above 0.
    """
    found = []
    for control, word in expected(window).items():
        own = [m for m in measures if m.reader == f"control:{control}"]
        if own:
            judged = _judged(control, word, own)
            if not judged.ok and not _held(control, window):
                judged = msgspec.structs.replace(judged, ok=True)
            found.append(judged)
    return found


def _judged(control: str, word: str, own: Sequence[Measure]) -> Recovered:
    t1 = [m for m in own if m.by.get("task") == "t1"]
    errors = [m.value for m in t1 if m.measure == "mae"]
    lows = [m.low for m in t1 if m.measure == "skill"]
    known = [error for error in errors if error is not None]
    bounds = [low for low in lows if low is not None]
    if not known or not bounds or len(known) < len(errors) or len(bounds) < len(lows):
        return _verdict(control, word, "not every error and skill is known", False)
    worst = max(known)
    if word == SEES:
        said = f"mae up to {worst:.2f}, skill above {min(bounds):.2f}"
        return _verdict(control, word, said, worst <= 1 and min(bounds) > 0.5)
    if word == READS_LENGTH:
        return _verdict(control, word, f"mae up to {worst:.2f}", worst == 0)
    said, ok = f"skill's lower bounds up to {max(bounds):.2f}", max(bounds) <= 0
    if word == FOLLOWS_ORDER:
        # Over both orders of the question a reader who only follows it has a bias of one half.
        both = [m.value for m in t1 if m.measure == "order_bias" and "format" not in m.by]
        biases = [bias for bias in both if bias is not None]
        said += f", order bias {min(biases):.2f}" if biases else ", order bias not asked"
        ok = ok and all(bias > 0.45 for bias in biases)
    return _verdict(control, word, said, ok)


def _verdict(control: str, word: str, said: str, ok: bool) -> Recovered:
    """Where the measures do not bear the word out, they are what was found."""
    return Recovered(
        control=control, expected=word, found=word if ok else said, ok=ok, note=said if ok else None
    )
