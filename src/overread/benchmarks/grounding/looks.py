"""A detector that looks: it measures the asked finding where that finding would show.

Simple film reading, not learned: the two lungs are compared with each other, the hila with the
periphery, the heart with the chest. It was made for the phantoms' geometry, is never told a truth,
and is no use on patients. What is painted black shows nothing, so it is no evidence for anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

__all__ = ["SEEN", "View", "probability", "view"]

Grey: TypeAlias = npt.NDArray[np.float32]

_SIDE = 224
_BLACK = 6  # a film's own darkest grey lies above; JPEG leaves a mask at or below
_DARK, _BRIGHT = 6.0, 230.0
_ENOUGH = 0.6  # the share of a zone that must be visible for the zone to count


class View(msgspec.Struct, frozen=True):
    """A film as the detector sees it: 224 x 224, on a scale where equal steps are equal tissue.

    `density` is NaN where the film is black. `lungs` holds the left half of the film mirrored and
    the right half, so that column c of both lies c pixels from the midline.
    """

    density: Grey
    lungs: tuple[Grey, Grey]


def view(pixels: npt.NDArray[np.uint8]) -> View:
    """Bring any picture to the detector's size and scale."""
    image = Image.fromarray(pixels).convert("L")
    if image.size != (_SIDE, _SIDE):
        image = image.resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
    grey = np.asarray(image, np.float32)
    share = np.clip((grey - _DARK) / (_BRIGHT - _DARK), 0.01, 0.99)
    density = np.log(share / (1.0 - share)).astype(np.float32)  # undoes the film's S-shaped curve
    density[_grown(grey <= _BLACK)] = np.nan
    middle = _SIDE // 2
    return View(density, (density[:, :middle][:, ::-1], density[:, middle:]))


def _grown(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The mask and its neighbours: an edge is half black after resizing or JPEG."""
    wide = np.pad(mask, 1)
    rows = wide[:-2] | wide[1:-1] | wide[2:]
    return np.asarray(rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:])


def probability(seen: View, finding: str) -> float:
    """P(finding) between 0 and 1; what the detector has no measure for counts as not seen."""
    measure = SEEN.get(finding)
    if measure is None:
        return 0.05
    score, threshold, scale = measure(seen)
    if math.isnan(score):
        return 0.05
    return 1.0 / (1.0 + math.exp(-max(-8.0, min(8.0, (score - threshold) / scale))))


# ---------------------------------------------------------------- measures

Reading: TypeAlias = tuple[float, float, float]
"""What was measured, from where on it means Yes, and how soft that bound is."""


def _zone(half: Grey, out: tuple[float, float], down: tuple[float, float]) -> float:
    """Mean density of a zone of one half; NaN where too much of it is black.

    `out` and `down` are shares of the film: from the midline outward, from the top downward.
    """
    c0, c1, r0, r1 = (round(v * _SIDE) for v in (*out, *down))
    zone = half[r0:r1, c0:c1]
    shown = ~np.isnan(zone)
    return float(zone[shown].mean()) if shown.mean() >= _ENOUGH else math.nan


def _asymmetry(seen: View, out: tuple[float, float], down: tuple[float, float]) -> float:
    """How much denser the left half of the film is than the right half in mirrored zones."""
    return _zone(seen.lungs[0], out, down) - _zone(seen.lungs[1], out, down)


def _most(values: list[float]) -> float:
    kept = [v for v in values if not math.isnan(v)]
    return max(kept) if kept else math.nan


def _opacity(seen: View, rows: tuple[float, ...], threshold: float) -> Reading:
    """Denser than the other lung in any zone at these heights. Zones keep clear of the heart."""
    zones = [abs(_asymmetry(seen, (0.19, 0.31), (v - 0.045, v + 0.045))) for v in rows]
    return _most(zones), threshold, 0.12


def _anywhere(seen: View) -> Reading:
    return _opacity(seen, (0.26, 0.32, 0.38, 0.44, 0.50, 0.56, 0.62), 0.5)


def _base(seen: View) -> Reading:
    return _opacity(seen, (0.56, 0.61, 0.66), 0.5)


def _free_air(seen: View) -> Reading:
    """One upper lung blacker than the other, as where no vessels and no lung are left."""
    zones = [
        abs(_asymmetry(seen, (0.10, 0.22), (0.17, 0.25))),
        abs(_asymmetry(seen, (0.17, 0.28), (0.22, 0.32))),
    ]
    return _most(zones), 0.4, 0.12


def _wings(seen: View) -> Reading:
    """Hila denser than the periphery on both sides at once."""
    down = (0.40, 0.51)
    sides = [_zone(h, (0.125, 0.20), down) - _zone(h, (0.27, 0.32), down) for h in seen.lungs]
    return min(sides) if not any(math.isnan(s) for s in sides) else math.nan, 0.3, 0.12


def _heart(seen: View) -> Reading:
    """Width of the heart as a share of the chest's, where the heart is widest."""
    reach = 0.0
    for half in seen.lungs:
        rows = half[round(0.58 * _SIDE) : round(0.66 * _SIDE), : round(0.32 * _SIDE)]
        shown = ~np.isnan(rows)
        if shown.mean() < _ENOUGH:
            return math.nan, 0.0, 1.0
        profile = np.nanmean(np.where(shown.any(axis=0), rows, 0.0), axis=0)
        border = 0.5 * (np.median(profile[: round(0.05 * _SIDE)]) + profile.min())
        outside = np.flatnonzero(profile < border)
        reach += float(outside[0]) if len(outside) else len(profile)
    return reach / (0.72 * _SIDE), 0.45, 0.015


SEEN: Mapping[str, Callable[[View], Reading]] = {
    "atelectasis": _base,
    "cardiomegaly": _heart,
    "consolidation": _anywhere,
    "edema": _wings,
    "enlarged_cardiomediastinum": _heart,
    "lung_opacity": _anywhere,
    "pleural_effusion": _base,
    "pneumonia": _anywhere,
    "pneumothorax": _free_air,
}
