"""Controls: readers whose behaviour is known by construction, so the audit can be audited.

Each gets the same prompt as any reader and decides from the pixels it is given, never from a truth.
What an audit should find (GROUNDING 9): `looks` uses the image; `always-yes` and `prior` ignore it;
`unstable` is unstable; `global` and `shortcut` do look, but not where the finding is.

A control that expects a picture and gets none sees nothing and says No; so does every control but
`always-yes` and `unstable` when it is asked something other than whether a finding is present.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

from overread.benchmarks.controls import Control, Said
from overread.benchmarks.grounding.prompts import DISPLAY_NAMES, NORMAL
from overread.case import Prompt, Reader, Shown, Traits

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

_ASKED_FINDING = re.compile(r"\bIs (.+?) present\b")
_BY_DISPLAY = {words: finding for finding, words in DISPLAY_NAMES.items()}
_BRIGHT_FILM = 116  # between the medians of the two exposures, bedside and upright
_WHITE = 238  # lead prints whiter than anything in a chest
_MARKER_SHARE = 10 / 224**2
_UNSEEN = 0.05


def _said(decide: Callable[[Prompt], float], graded: bool, prompt: Prompt) -> Said:
    """The word that a probability of Yes means; `graded` controls report the probability too."""
    p = decide(prompt)
    alternatives = (("Yes", math.log(p)), ("No", math.log1p(-p))) if graded else None
    return Said("Yes" if p >= 0.5 else "No", alternatives)


def grounding_controls() -> Mapping[str, Reader]:
    """The six controls, each by the word that follows `control:`."""
    graded = {"looks", "global"}
    deciding: dict[str, Callable[[Prompt], float]] = {
        "always-yes": lambda prompt: 1.0,
        "prior": _decide_prior,
        "looks": _decide_looks,
        "global": _decide_global,
        "shortcut": _decide_shortcut,
        "unstable": _decide_unstable,
    }
    return {
        key: Control(
            key=key,
            says=partial(_said, decide, key in graded),
            revision=str(REVISION),
            traits=Traits(modality="text" if key == "prior" else "multimodal"),
        )
        for key, decide in deciding.items()
    }


def asked_finding(text: str) -> str | None:
    """The finding a question asks for, in any of the three phrasings (GROUNDING 4.2), or None."""
    asked = _ASKED_FINDING.search(text)
    return _BY_DISPLAY.get(asked.group(1)) if asked else None


# ---------------------------------------------------------------- how each decides


def _decide_prior(prompt: Prompt) -> float:
    """From the finding's name alone: what is common is taken to be there."""
    return float(asked_finding(prompt.text) in COMMON)


def _decide_looks(prompt: Prompt) -> float:
    """Measures the asked finding where it would show. Any abnormality is the likeliest of all."""
    finding = asked_finding(prompt.text)
    if finding is None or not prompt.pictures:
        return _UNSEEN
    seen = _view(prompt.pictures[0])
    return max(_probability(seen, f) for f in (_SCORES if finding == NORMAL else (finding,)))


def _decide_global(prompt: Prompt) -> float:
    """Thresholds the whole picture's median: bedside films are brighter, and more often sick.

    A mask hides too little of a film to carry its median across the gap between the exposures.
    """
    if asked_finding(prompt.text) is None or not prompt.pictures:
        return _UNSEEN
    median = float(np.median(_decoded(prompt.pictures[0])))
    return 1.0 / (1.0 + math.exp((_BRIGHT_FILM - median) / 12.0))


def _decide_shortcut(prompt: Prompt) -> float:
    """Reads the burnt-in marker and nothing else."""
    if asked_finding(prompt.text) is None or not prompt.pictures:
        return 0.0
    return float((_decoded(prompt.pictures[0]) > _WHITE).mean() >= _MARKER_SHARE)


def _decide_unstable(prompt: Prompt) -> float:
    """One bit of a digest of all pixels: any change anywhere tosses the coin again."""
    digest = hashlib.blake2b(digest_size=1)
    for shown in prompt.pictures:
        digest.update(_decoded(shown).tobytes())
    return float(digest.digest()[0] & 1)


# Several controls may be shown the same bytes; a picture is decoded once for those that follow.
@lru_cache(maxsize=32)
def _decoded(shown: Shown) -> npt.NDArray[np.uint8]:
    from overread.imaging import pixels

    found = pixels(shown)
    found.setflags(write=False)
    return found


# ---------------------------------------------------------------- a detector that looks
# It measures the asked finding where that finding would show.
#
# Simple film reading, not learned: the two lungs are compared with each other, the hila with the
# periphery, the heart with the chest. It was made for the phantoms' geometry, is never told a
# truth, and is no use on patients. What is painted black shows nothing, so it is no evidence for
# anything.


Grey: TypeAlias = npt.NDArray[np.float32]

_VIEW_SIDE = 224
_BLACK = 6  # a film's own darkest grey lies above; JPEG leaves a mask at or below
_DARK, _BRIGHT = 6.0, 230.0
_ENOUGH_SHOWN = 0.6  # the share of a zone that must be visible for the zone to count


class View(msgspec.Struct, frozen=True):
    """A film as the detector sees it: 224 x 224, on a scale where equal steps are equal tissue.

    `density` is NaN where the film is black. `lungs` holds the left half of the film mirrored and
    the right half, so that column c of both lies c pixels from the midline.
    """

    density: Grey
    lungs: tuple[Grey, Grey]


@lru_cache(maxsize=32)
def _view(shown: Shown) -> View:
    """Any picture brought to the detector's size and scale."""
    image = Image.fromarray(_decoded(shown)).convert("L")
    if image.size != (_VIEW_SIDE, _VIEW_SIDE):
        image = image.resize((_VIEW_SIDE, _VIEW_SIDE), Image.Resampling.BILINEAR)
    grey = np.asarray(image, np.float32)
    share = np.clip((grey - _DARK) / (_BRIGHT - _DARK), 0.01, 0.99)
    density = np.log(share / (1.0 - share)).astype(np.float32)  # undoes the film's S-shaped curve
    density[_grown(grey <= _BLACK)] = np.nan
    middle = _VIEW_SIDE // 2
    return View(density, (density[:, :middle][:, ::-1], density[:, middle:]))


def _grown(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The mask and its neighbours: an edge is half black after resizing or JPEG."""
    wide = np.pad(mask, 1)
    rows = wide[:-2] | wide[1:-1] | wide[2:]
    return np.asarray(rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:])


def _probability(seen: View, finding: str) -> float:
    """P(finding) between 0 and 1; what the detector has no measure for counts as not seen."""
    if finding not in _SCORES:
        return _UNSEEN
    score, threshold, scale = _SCORES[finding](seen)
    if math.isnan(score):
        return _UNSEEN
    return 1.0 / (1.0 + math.exp(-max(-8.0, min(8.0, (score - threshold) / scale))))


# ---------------------------------------------------------------- measures

_Span: TypeAlias = tuple[float, float]
_Score: TypeAlias = tuple[float, float, float]
"""What was measured, from where on it means Yes, and how soft that bound is."""


def _zone(half: Grey, out: _Span, down: _Span) -> float:
    """Mean density of a zone of one half; NaN where too much of it is black.

    `out` and `down` are shares of the film: from the midline outward, from the top downward.
    """
    c0, c1, r0, r1 = (round(v * _VIEW_SIDE) for v in (*out, *down))
    zone = half[r0:r1, c0:c1]
    shown = ~np.isnan(zone)
    return float(zone[shown].mean()) if shown.mean() >= _ENOUGH_SHOWN else math.nan


def _asymmetry(seen: View, out: _Span, down: _Span) -> float:
    """How much denser the left half of the film is than the right half in mirrored zones."""
    return _zone(seen.lungs[0], out, down) - _zone(seen.lungs[1], out, down)


def _most_uneven(seen: View, zones: Iterable[tuple[_Span, _Span]]) -> float:
    """The most by which the lungs differ in any of these zones, as far as they can be seen."""
    found = (abs(_asymmetry(seen, out, down)) for out, down in zones)
    return max((one for one in found if not math.isnan(one)), default=math.nan)


def _opacity(seen: View, rows: tuple[float, ...]) -> _Score:
    """Denser than the other lung in any zone at these heights. Zones keep clear of the heart."""
    zones = (((0.19, 0.31), (height - 0.045, height + 0.045)) for height in rows)
    return _most_uneven(seen, zones), 0.5, 0.12


def _free_air(seen: View) -> _Score:
    """One upper lung blacker than the other, as where no vessels and no lung are left."""
    zones = (((0.10, 0.22), (0.17, 0.25)), ((0.17, 0.28), (0.22, 0.32)))
    return _most_uneven(seen, zones), 0.4, 0.12


def _wings(seen: View) -> _Score:
    """Hila denser than the periphery on both sides at once."""
    down = (0.40, 0.51)
    sides = [_zone(h, (0.125, 0.20), down) - _zone(h, (0.27, 0.32), down) for h in seen.lungs]
    return min(sides) if not any(math.isnan(s) for s in sides) else math.nan, 0.3, 0.12


def _heart(seen: View) -> _Score:
    """Width of the heart as a share of the chest's, where the heart is widest."""
    reach = 0.0
    for half in seen.lungs:
        rows = half[round(0.58 * _VIEW_SIDE) : round(0.66 * _VIEW_SIDE), : round(0.32 * _VIEW_SIDE)]
        shown = ~np.isnan(rows)
        if shown.mean() < _ENOUGH_SHOWN:
            return math.nan, 0.0, 1.0
        profile = np.nanmean(np.where(shown.any(axis=0), rows, 0.0), axis=0)
        border = 0.5 * (np.median(profile[: round(0.05 * _VIEW_SIDE)]) + profile.min())
        outside = np.flatnonzero(profile < border)
        reach += float(outside[0]) if len(outside) else len(profile)
    return reach / (0.72 * _VIEW_SIDE), 0.45, 0.015


_anywhere = partial(_opacity, rows=(0.26, 0.32, 0.38, 0.44, 0.50, 0.56, 0.62))
_lung_base = partial(_opacity, rows=(0.56, 0.61, 0.66))
_SCORES: Mapping[str, Callable[[View], _Score]] = {
    "atelectasis": _lung_base,
    "cardiomegaly": _heart,
    "consolidation": _anywhere,
    "edema": _wings,
    "enlarged_cardiomediastinum": _heart,
    "lung_opacity": _anywhere,
    "pleural_effusion": _lung_base,
    "pneumonia": _anywhere,
    "pneumothorax": _free_air,
}
