"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

Each gets the same prompt as any reader and decides from the question and the frames it is given,
never from a truth. `area` measures the ventricle; the others do not look, so none of them may beat
the best constant, but for `length-prior` where the window's length gives the answer away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

import msgspec

from overread.benchmarks.base import Recovered
from overread.benchmarks.controls import Control, Said, Verdict, recovered
from overread.benchmarks.heartbeat.trials import AREAS
from overread.case import Measure, Prompt, Reader, Shown, Traits

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


def heartbeat_controls() -> Mapping[str, Reader]:
    """The six controls, each by the word that follows `control:`.

    One that leaves nothing to chance is asked once for all seeds and passes.
    """
    seeing, text = (
        Traits(modality="multimodal", temperature=0.0),
        Traits(modality="text", temperature=0.0),
    )
    controls: Mapping[str, tuple[Decide, Traits]] = {
        "first-frame": (_say_first, text),
        "middle-frame": (_say_middle, text),
        # Its frames are part of what it is seeded by, so that it guesses anew for every clip.
        "random": (_say_at_random, msgspec.structs.replace(seeing, temperature=None)),
        "order-biased": (_say_in_order, text),
        "length-prior": (_say_by_length, text),
        "area": (_say_by_area, seeing),
    }

    def says(decide: Decide, prompt: Prompt) -> Said:
        asked = asked_of(prompt.text)
        return Said(_NOTHING_ASKED if asked is None else asked.line(decide(asked, prompt)))

    return {
        key: Control(key=key, says=partial(says, decide), revision=str(REVISION), traits=traits)
        for key, (decide, traits) in controls.items()
    }


# ---------------------------------------------------------------- the question

_PHASE_OF: Final = {**{name: phase for phase, name in AREAS.items()}, "EDV": "EDV", "ESV": "ESV"}
_WANTED: Final = re.compile(rf"(Frame: )?\b({'|'.join(_PHASE_OF)})=<")
_COUNT: Final = re.compile(r"\bexactly (\d+) (?:consecutive )?frames\b")
_RANGE: Final = re.compile(r"\[(\d+), (\d+)\]|\bindices run from (\d+) to (\d+)\b")


def asked_of(text: str) -> Asked | None:
    """What a question of any task, context, format and family asks for, or None."""
    wanted, count = _WANTED.search(text), _COUNT.search(text)
    if wanted is None or count is None:
        return None
    # A family may repeat the form it wants.
    names = tuple(dict.fromkeys(match[2] for match in _WANTED.finditer(text)))
    frames, bounds = int(count[1]), _RANGE.search(text)
    low, high = 0, frames - 1
    if bounds is not None:
        low, high = (int(number) for number in bounds.groups() if number is not None)
    phases = tuple(_PHASE_OF[name] for name in names)
    return Asked(phases, names, frames, low, high, wanted[1] or "")


# ---------------------------------------------------------------- how each decides


def _say_first(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    return dict.fromkeys(asked.phases, asked.low)


def _say_middle(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    return dict.fromkeys(asked.phases, asked.low + asked.count // 2)


def _say_at_random(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """Uniform over the range named, by a digest of the prompt: the same prompt, the same answer."""

    def guess(phase: str) -> int:
        digest = hashlib.blake2b(f"{prompt.digest}|{phase}".encode(), digest_size=16).digest()
        return asked.low + int.from_bytes(digest) % (asked.high - asked.low + 1)

    return {phase: guess(phase) for phase in asked.phases}


def _say_in_order(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """The two frames in the middle, the earlier for whichever phase is named first."""
    earlier = asked.low + max(0, asked.count // 2 - 1)
    return {phase: min(earlier + k, asked.high) for k, phase in enumerate(asked.phases)}


def _say_by_length(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """Both phases from the stated number of frames (HEARTBEAT 2), end-diastole taken to be first.

    Of two frames it says 0 and 1.
    """
    from overread.benchmarks.heartbeat.authors.rules import length_guess

    early, late = (0, 1) if asked.count == 2 else length_guess(asked.count)
    return {"EDV": asked.low + early, "ESV": asked.low + late}


def _say_by_area(asked: Asked, prompt: Prompt) -> Mapping[str, int]:
    """The frames between which the ventricle empties; without frames, the first."""
    if not prompt.pictures:
        return _say_first(asked, prompt)
    largest, smallest = _emptying_frames(prompt.pictures)
    return {"EDV": asked.low + largest, "ESV": asked.low + smallest}


# All formats of a question share their frames; these are measured once.
@lru_cache(maxsize=64)
def _emptying_frames(pictures: tuple[Shown, ...]) -> tuple[int, int]:
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


def recovered_controls(measures: Sequence[Measure], window: str = "fixed") -> list[Recovered]:
    """Whether a run's measures show each control for what it is; controls not asked are left out.

    `area` errs by at most one frame on average with a skill surely above 1/2, in every context and
    format; who reads the length makes no error; of the rest none has a skill surely above 0.
    """
    words = expected(window)
    # The published window may reach the next beat, whose ventricle is as large: there `area` may
    # be a whole beat off, and be right.
    lenient = () if window == "fixed" else ("area",)

    def decide(control: str, measures: Sequence[Measure]) -> Verdict:
        own = [m for m in measures if m.reader == control and m.by.get("task") == "t1"]
        verdict = _verdict(words[control], own)
        return verdict._replace(ok=verdict.ok or control in lenient)

    return recovered(measures, words, decide)


def _verdict(word: str, t1: Sequence[Measure]) -> Verdict:
    errors = [m.value for m in t1 if m.measure == "mae"]
    lows = [m.low for m in t1 if m.measure == "skill"]
    known = [error for error in errors if error is not None]
    bounds = [low for low in lows if low is not None]
    if not known or not bounds or len(known) < len(errors) or len(bounds) < len(lows):
        return Verdict("not every error and skill is known", False)
    worst = max(known)
    if word == SEES:
        said = f"mae up to {worst:.2f}, skill above {min(bounds):.2f}"
        return Verdict(said, worst <= 1 and min(bounds) > 0.5)
    if word == READS_LENGTH:
        return Verdict(f"mae up to {worst:.2f}", worst == 0)
    said, ok = f"skill's lower bounds up to {max(bounds):.2f}", max(bounds) <= 0
    if word == FOLLOWS_ORDER:
        # Over both orders of the question a reader who only follows it has a bias of one half.
        both = [m.value for m in t1 if m.measure == "order_bias" and "format" not in m.by]
        biases = [bias for bias in both if bias is not None]
        said += f", order bias {min(biases):.2f}" if biases else ", order bias not asked"
        ok = ok and all(bias > 0.45 for bias in biases)
    return Verdict(said, ok)
