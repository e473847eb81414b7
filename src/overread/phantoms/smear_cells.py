"""The cells of a stained blood film, each as a layer of dye: how much of which lies where.

Every cell is drawn in a window of its own around its middle. `u` and `v` are pixels from there,
turned with the cell; a dye is three absorbances (red, green, blue) per unit of thickness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["RED_CELLS", "WHITE_CELLS", "Dyed", "Field", "Paint", "platelet"]

Field: TypeAlias = npt.NDArray[np.floating[Any]]
Dyed: TypeAlias = npt.NDArray[np.float32]
# Offsets, the cell's radius and a grain of unit spread, to absorbances of the three colours.
Paint: TypeAlias = Callable[[Field, Field, float, Field, np.random.Generator], Dyed]

# Eosin, the blue-violet of nuclei, and what stains each cytoplasm.
_HAEMOGLOBIN: Final = (0.085, 0.42, 0.37)
_NUCLEUS: Final = (0.98, 1.55, 0.50)
_PINK: Final = (0.05, 0.21, 0.10)
_ORANGE: Final = (0.06, 0.62, 0.85)
_BLUE: Final = (0.42, 0.26, 0.03)
_GREY: Final = (0.27, 0.27, 0.11)
_VIOLET: Final = (0.42, 0.75, 0.22)


def _edge(inside: Field, soft: float = 2.0) -> Field:
    """1 inside, 0 outside, with a ramp; `inside` in pixels."""
    found: Field = np.clip(inside / soft + 0.5, 0, 1)
    return found


def _dye(colour: tuple[float, float, float], thickness: Field) -> Dyed:
    found: Dyed = thickness.astype(np.float32)[..., None] * np.asarray(colour, np.float32)
    return found


def _disc(u: Field, v: Field, radius: float, rng: np.random.Generator, odd: float) -> Field:
    """How far inside a round cell whose outline waves a little."""
    angle = np.arctan2(v, u)
    wave: Field = np.zeros_like(angle)
    for k in (2, 3, 4):
        height, phase = np.float32(rng.normal(0, odd / k)), np.float32(rng.uniform(0, 2 * np.pi))
        wave = wave + height * np.cos(k * angle + phase)
    found: Field = radius * (1 + wave) - np.hypot(u, v)
    return found


# ---------------------------------------------------------------- red cells


def _red(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """A biconcave disc: thin in the middle third."""
    inside = _disc(u, v, radius, rng, 0.035)
    share = np.clip(1 - inside / radius, 0, 1)
    pallor = np.clip((share - 0.16) / 0.46, 0, 1)
    thick = 0.40 + 0.70 * pallor * pallor * (3 - 2 * pallor)
    return _dye(_HAEMOGLOBIN, thick * _edge(inside) * rng.uniform(0.9, 1.1))


def _pale(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """Small and pale: haemoglobin in a thin rim only."""
    inside = _disc(u, v, radius * rng.uniform(0.70, 0.82), rng, 0.06)
    share = np.clip(1 - inside / (0.76 * radius), 0, 1)
    rim = np.clip((share - 0.60) / 0.28, 0, 1)
    thick = 0.10 + 0.72 * rim * rim * (3 - 2 * rim)
    return _dye(_HAEMOGLOBIN, thick * _edge(inside) * rng.uniform(0.85, 1.05))


def _sickle(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """A dense crescent with pointed ends."""
    long, wide = radius * rng.uniform(1.45, 1.65), radius * rng.uniform(0.36, 0.44)
    along = np.clip(1 - (u / long) ** 2, 0, None)
    bent = v + rng.uniform(0.22, 0.36) * radius * ((u / long) ** 2 * 2.2 - 0.6)
    return _dye(_HAEMOGLOBIN, 1.3 * _edge(wide * along**0.8 - np.abs(bent)) * (along > 0))


RED_CELLS: Final[Mapping[str, Paint]] = {"normal": _red, "pale": _pale, "sickle": _sickle}


# ---------------------------------------------------------------- white cells


def _white(
    cytoplasm: Field, body: Dyed, nucleus: Field, grain: Field, chromatin: float = 0.16
) -> Dyed:
    """A cell of its cytoplasm's dye with a nucleus in it that hides what lies beneath."""
    core = _edge(nucleus, 2.5)
    texture = np.clip(1 + chromatin * grain, 0.5, 1.5) * core
    rest = (_edge(cytoplasm, 3) * (1 - core)).astype(np.float32)
    found: Dyed = body * rest[..., None] + _dye(_NUCLEUS, texture)
    return found


def _lobes(u: Field, v: Field, places: list[tuple[float, float, float]], strand: float) -> Field:
    """Inside round lobes or the strands between one and the next."""
    found: Field = np.full_like(u, -1e3)
    for x, y, radius in places:
        found = np.maximum(found, radius - np.hypot(u - x, v - y))
    for (x0, y0, _), (x1, y1, _) in pairwise(places):
        along = ((u - x0) * (x1 - x0) + (v - y0) * (y1 - y0)) / ((x1 - x0) ** 2 + (y1 - y0) ** 2)
        t = np.clip(along, 0, 1)
        found = np.maximum(found, strand - np.hypot(u - x0 - t * (x1 - x0), v - y0 - t * (y1 - y0)))
    return found


def _arc(
    rng: np.random.Generator, count: int, radius: float, size: float, turn: float
) -> list[tuple[float, float, float]]:
    places = []
    for k in range(count):
        angle = (k - (count - 1) / 2) * turn + rng.normal(0, 0.08)
        far = radius * rng.uniform(0.92, 1.08)
        places.append((far * np.cos(angle), far * np.sin(angle), size * rng.uniform(0.9, 1.12)))
    return places


def _neutrophil(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """Three to five lobes joined by strands; fine pale granules."""
    count = int(rng.integers(3, 6))
    lobes = _arc(rng, count, 0.46 * radius, 0.27 * radius, 4.4 / count)
    body = _dye(_PINK, 1 + 0.35 * grain)
    inside = _disc(u, v, radius, rng, 0.03)
    return _white(inside, body, _lobes(u, v, lobes, 0.07 * radius) + 0.6 * grain, grain)


def _eosinophil(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """Two lobes, and coarse orange granules that fill the cell."""
    lobes = _arc(rng, 2, 0.42 * radius, 0.36 * radius, 1.9)
    coarse = 0.80 + 0.28 * np.clip(1.4 * grain, -1, 1)
    inside = _disc(u, v, radius, rng, 0.03)
    nucleus = _lobes(u, v, lobes, 0.09 * radius)
    return _white(inside, _dye(_ORANGE, coarse), nucleus, grain)


def _lymphocyte(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """Nearly all nucleus, round and dense, with a thin blue rim."""
    inside = _disc(u, v, 0.78 * radius, rng, 0.03)
    shift = rng.normal(0, 0.03 * radius, 2)
    nucleus = _disc(u - shift[0], v - shift[1], 0.65 * radius, rng, 0.04)
    return _white(inside, _dye(_BLUE, 1 + 0.1 * grain), nucleus, grain, 0.22)


def _monocyte(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """The largest: a folded, kidney-shaped nucleus in grey-blue."""
    size = 1.18 * radius
    inside = _disc(u, v, size, rng, 0.05)
    whole = _disc(u + 0.1 * size, v, 0.66 * size, rng, 0.05)
    notch = np.hypot(u - 0.62 * size, 0.8 * v) - 0.36 * size
    folded = whole - 0.12 * size * np.exp(-np.clip(notch, 0, None) / (0.1 * size))
    nucleus = np.minimum(folded, notch)
    found = _white(inside, _dye(_GREY, 1 + 0.15 * grain), nucleus, grain, 0.25)
    return found * np.float32(0.92)


WHITE_CELLS: Final[Mapping[str, Paint]] = {
    "neutrophil": _neutrophil,
    "eosinophil": _eosinophil,
    "lymphocyte": _lymphocyte,
    "monocyte": _monocyte,
}


def platelet(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """A small violet fleck without a nucleus, granular in the middle."""
    inside = _disc(u, v, radius, rng, 0.16)
    core = np.clip(inside / (0.7 * radius), 0, 1)
    return _dye(_VIOLET, (0.55 + 0.7 * core * (1 + 0.3 * grain)) * _edge(inside, 2.5))
