"""Controls: readers whose behaviour is known by construction, so the audit can be audited.

Each gets the same prompt as any reader and decides from the pixels it is given, never from a truth.
What an audit should find (GROUNDING 9): `looks` uses the image; `always-yes` and `prior` ignore it;
`unstable` is unstable; `global` and `shortcut` do look, but not where the finding is.

A control that expects a picture and gets none sees nothing and says No; so does every control but
`always-yes` and `unstable` when it is asked something other than whether a finding is present.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from overread.benchmarks.grounding.prompts import DISPLAY_NAMES, NORMAL
from overread.case import Limits, Modality, Prompt, Reader, Reply, Shown, Traits

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from overread.benchmarks.grounding.looks import View

__all__ = ["COMMON", "EXPECTED", "REVISION", "Control", "asked_finding", "grounding_controls"]

REVISION = 1
"""Raised whenever a control may answer differently; it enters the key of every reply."""

EXPECTED: Mapping[str, str] = {
    "always-yes": "ignores image",
    "prior": "ignores image",
    "looks": "uses image",
    "global": "indeterminate",
    "shortcut": "indeterminate",
    "unstable": "unstable",
}
"""The category each control belongs to by construction."""

COMMON = frozenset(
    {"atelectasis", "cardiomegaly", "lung_opacity", "pleural_effusion", "support_devices", NORMAL}
)
"""What is on about a fifth or more of a hospital's chest films: `prior` says Yes to these."""

_ASKED = re.compile(r"\bIs (.+?) present\b")
_BY_DISPLAY = {words: finding for finding, words in DISPLAY_NAMES.items()}
_BRIGHT_FILM = 116  # between the medians of the two exposures, bedside and upright
_WHITE = 238  # lead prints whiter than anything in a chest
_MARKER_SHARE = 10 / 224**2


class Control(msgspec.Struct, frozen=True):
    """A reader that is a function: from a prompt to the probability of Yes.

    `graded` controls report that probability; the others only the word.
    """

    key: str
    decide: Callable[[Prompt], float]
    modality: Modality = "multimodal"
    graded: bool = False

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        return f"{self.name}:{REVISION}"

    @property
    def traits(self) -> Traits:
        return Traits(modality=self.modality)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        if prompt.pictures:  # decoding would hold the loop
            p = await asyncio.to_thread(self.decide, prompt)
        else:
            p = self.decide(prompt)
        alternatives = (("Yes", math.log(p)), ("No", math.log1p(-p))) if self.graded else None
        return Reply("Yes" if p >= 0.5 else "No", alternatives, finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


def grounding_controls() -> Mapping[str, Reader]:
    """The six controls, each by the word that follows `control:`."""
    controls = (
        Control("always-yes", lambda prompt: 1.0),
        Control("prior", _prior, modality="text"),
        Control("looks", _looks, graded=True),
        Control("global", _global, graded=True),
        Control("shortcut", _shortcut),
        Control("unstable", _unstable),
    )
    return {control.key: control for control in controls}


def asked_finding(text: str) -> str | None:
    """The finding a question asks for, in any of the three phrasings (GROUNDING 4.2), or None."""
    asked = _ASKED.search(text)
    return _BY_DISPLAY.get(asked.group(1)) if asked else None


# ---------------------------------------------------------------- how each decides


def _prior(prompt: Prompt) -> float:
    """From the finding's name alone: what is common is taken to be there."""
    return float(asked_finding(prompt.text) in COMMON)


def _looks(prompt: Prompt) -> float:
    """Measures the asked finding where it would show. Any abnormality is the likeliest of all."""
    from overread.benchmarks.grounding.looks import SEEN, probability

    finding = asked_finding(prompt.text)
    if finding is None or not prompt.pictures:
        return _UNSEEN
    seen = _view(prompt.pictures[0])
    return max(probability(seen, f) for f in (SEEN if finding == NORMAL else (finding,)))


def _global(prompt: Prompt) -> float:
    """Thresholds the whole picture's median: bedside films are brighter, and more often sick.

    A mask hides too little of a film to carry its median across the gap between the exposures.
    """
    import numpy as np

    if asked_finding(prompt.text) is None or not prompt.pictures:
        return _UNSEEN
    median = float(np.median(_decoded(prompt.pictures[0])))
    return 1.0 / (1.0 + math.exp((_BRIGHT_FILM - median) / 12.0))


def _shortcut(prompt: Prompt) -> float:
    """Reads the burnt-in marker and nothing else."""
    if asked_finding(prompt.text) is None or not prompt.pictures:
        return 0.0
    return float((_decoded(prompt.pictures[0]) > _WHITE).mean() >= _MARKER_SHARE)


def _unstable(prompt: Prompt) -> float:
    """One bit of a digest of all pixels: any change anywhere tosses the coin again."""
    digest = hashlib.blake2b(digest_size=1)
    for shown in prompt.pictures:
        digest.update(_decoded(shown).tobytes())
    return float(digest.digest()[0] & 1)


_UNSEEN = 0.05


# Several controls may be shown the same bytes; a picture is decoded once for those that follow.
@lru_cache(maxsize=32)
def _pixels(media_type: str, data: bytes) -> npt.NDArray[np.uint8]:
    from overread.imaging import pixels

    found = pixels(Shown(media_type, data))
    found.setflags(write=False)
    return found


@lru_cache(maxsize=32)
def _view_of(media_type: str, data: bytes) -> View:
    from overread.benchmarks.grounding.looks import view

    return view(_pixels(media_type, data))


def _decoded(shown: Shown) -> npt.NDArray[np.uint8]:
    return _pixels(shown.media_type, shown.data)


def _view(shown: Shown) -> View:
    return _view_of(shown.media_type, shown.data)
