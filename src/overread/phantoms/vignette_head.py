"""A synthetic axial slice of a head, as CT or T2-weighted MRI shows it: every lesion is known.

Places are shares of the picture's side from its middle, x to the image's right and y down. The
patient's right is on the image's left and the forehead is on top, as slices are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import ndimage

__all__ = [
    "DISEASES",
    "HEAD",
    "MM",
    "REGIONS",
    "SHAPES",
    "Focus",
    "Grey",
    "head",
    "ruled",
    "scattered",
    "specks",
]

HEAD = 256
"""Slices are squares of this side."""
MM = 1.25
"""Pixels of a millimetre."""

Field: TypeAlias = npt.NDArray[np.floating[Any]]
Grey: TypeAlias = npt.NDArray[np.uint8]

REGIONS: Final[Mapping[str, tuple[float, float]]] = {
    "right frontal lobe": (-0.15, -0.25),
    "left frontal lobe": (0.15, -0.25),
    "right temporal lobe": (-0.235, 0.03),
    "left temporal lobe": (0.235, 0.03),
    "right occipital lobe": (-0.14, 0.26),
    "left occipital lobe": (0.14, 0.26),
}
SHAPES: Final = (
    "round and solid",
    "ring-like with a dark centre",
    "elongated and oval",
    "spiculated like a star",
    "two-lobed like a dumbbell",
)
DISEASES: Final = (
    "subdural haematoma",
    "epidural haematoma",
    "intracerebral haemorrhage",
    "territorial infarct",
    "hydrocephalus",
)

_WIDE, _HIGH, _BONE = 0.375, 0.455, 0.032  # the skull's outer half axes and its thickness
# Grey levels: outside, scalp, bone, brain, fluid of the ventricles, a focus.
_CT: Final = (6, 88, 248, 112, 52, 232)
_MRI: Final = (6, 150, 18, 104, 226, 206)
_BLOOD, _DEAD = 186, 78


class Focus(msgspec.Struct, frozen=True):
    """A lesion: its middle, its longest diameter in pixels, and one of SHAPES."""

    x: float
    y: float
    across: float
    shape: str = SHAPES[0]


def head(
    rng: np.random.Generator,
    *,
    mri: bool = False,
    disease: str = "",
    side: str = "",
    foci: Sequence[Focus] = (),
) -> Grey:
    """One slice; `side` is the patient's."""
    air, scalp, bone, brain, fluid, bright = _MRI if mri else _CT
    u, v = _places()
    sway = 1 + rng.uniform(-0.015, 0.015, 2)
    inner = _inside(u, v, (_WIDE - _BONE) * sway[0], (_HIGH - _BONE) * sway[1])
    skull = _inside(u, v, _WIDE * sway[0], _HIGH * sway[1])
    skin = _inside(u, v, (_WIDE + 0.022) * sway[0], (_HIGH + 0.022) * sway[1])
    folds = ndimage.gaussian_filter(rng.standard_normal((HEAD, HEAD)), 3.0)
    folds = folds / folds.std() * np.clip((0.10 - inner) / 0.10, 0, 1)
    tissue = brain + (8 if mri else -6) * np.clip(folds, -0.5, 2)
    tissue = _over(tissue, -np.abs(u) + 0.004, brain - 20 if mri else brain + 30)  # the falx
    wide = 2.3 if disease == "hydrocephalus" else 1.0
    for hand in (-1, 1):
        tissue = _over(tissue, _ventricle(u * hand, v, wide), fluid)
    if disease not in ("", "hydrocephalus"):
        tissue = _ill(tissue, disease, (-u if side == "right" else u), v, inner)
    shown = _over(np.full_like(u, air), skin, scalp)
    shown = _over(_over(shown, skull, bone), inner, tissue)
    for focus in foci:
        shown = _focus(shown, focus, u, v, bright, brain - 45)
    shown = ndimage.gaussian_filter(shown, 0.7) + rng.normal(0, 3.2, shown.shape)
    found: Grey = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
    return found


def ruled(pixels: Grey, mm: int) -> Grey:
    """The slice with a bar of so many millimetres in its lower left corner."""
    found = pixels.copy()
    found[HEAD - 12 : HEAD - 9, 8 : 8 + round(mm * MM)] = 255
    return found


def scattered(
    rng: np.random.Generator, count: int, apart: float = 0.075
) -> list[tuple[float, float]]:
    """So many places in the brain, apart from each other and from the ventricles."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        x, y = rng.uniform(-0.27, 0.27), rng.uniform(-0.36, 0.36)
        free = (x / 0.28) ** 2 + (y / 0.37) ** 2 < 1 and (abs(x) > 0.12 or abs(y) > 0.22)
        if free and abs(x) > 0.03 and all(np.hypot(x - a, y - b) > apart for a, b in found):
            found.append((float(x), float(y)))
    return found


def specks(rng: np.random.Generator, count: int) -> list[Focus]:
    """So many dots of a few pixels."""
    return [Focus(x, y, rng.uniform(5.5, 7.0)) for x, y in scattered(rng, count)]


# ---------------------------------------------------------------- shapes, as shares inside


def _places() -> tuple[Field, Field]:
    at = (np.arange(HEAD) + 0.5) / HEAD - 0.5
    u, v = np.meshgrid(at, at)
    return u, v


def _inside(u: Field, v: Field, wide: float, high: float) -> Field:
    """About how far inside an ellipse."""
    found: Field = (1 - np.hypot(u / wide, v / high)) * min(wide, high)
    return found


def _over(below: Field, inside: Field, above: Field | float) -> Field:
    """One field laid on another where `inside` is above 0, with a ramp of a pixel."""
    share = np.clip(inside * HEAD + 0.5, 0, 1)
    found: Field = below * (1 - share) + above * share
    return found


def _ventricle(u: Field, v: Field, wide: float) -> Field:
    """One lateral ventricle, at u > 0: a bent slender body."""
    bent = u - 0.035 * wide**0.5 - 0.9 * v * v
    return _inside(bent, v + 0.01, 0.024 * wide, 0.125 * wide**0.35)


def _ill(tissue: Field, disease: str, u: Field, v: Field, inner: Field) -> Field:
    """The disease at u > 0."""
    if disease == "subdural haematoma":
        away = _inside(u + 0.06, v - 0.01, _WIDE - _BONE, _HIGH - _BONE)
        return _over(tissue, np.minimum(-away, inner), _BLOOD)
    if disease == "epidural haematoma":
        lens = 0.17 - np.hypot(u - 0.43, (v + 0.04) * 0.9)
        return _over(tissue, lens, _BLOOD)
    if disease == "intracerebral haemorrhage":
        wave = 0.008 * np.cos(3 * np.arctan2(v - 0.02, u - 0.18) + 0.7)
        return _over(tissue, 0.075 + wave - np.hypot(u - 0.18, v - 0.02), _BLOOD)
    angle = np.arctan2(v, u)
    wedge = np.minimum(0.62 - np.abs(angle - 0.2), (np.hypot(u, v) - 0.14)) * 0.3
    return _over(tissue, wedge, _DEAD)


def _focus(shown: Field, focus: Focus, u: Field, v: Field, bright: float, dark: float) -> Field:
    radius = focus.across / HEAD / 2
    x, y = u - focus.x, v - focus.y
    far = np.hypot(x, y)
    if focus.shape == SHAPES[1]:
        return _over(_over(shown, radius - far, bright), 0.55 * radius - far, dark)
    if focus.shape == SHAPES[2]:
        return _over(shown, _inside(x, y, 0.45 * radius, radius), bright)
    if focus.shape == SHAPES[3]:
        spikes = 0.38 + 0.62 * np.abs(np.cos(3 * np.arctan2(y, x))) ** 2.5
        return _over(shown, radius * spikes - far, bright)
    if focus.shape == SHAPES[4]:
        lobes = 0.5 * radius - np.minimum(
            np.hypot(x, y - 0.5 * radius), np.hypot(x, y + 0.5 * radius)
        )
        return _over(shown, lobes, bright)
    return _over(shown, radius - far, bright)
