"""A synthetic blood film under oil immersion, Wright-Giemsa stained: every cell is known.

White cells and platelets lie wholly in the field and touch nothing, so that they can be counted;
red cells may be cut by the field's edge, as on a real film.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import ndimage

# ---------------------------------------------------------------- cells as layers of dye
#
# How much of which dye lies where. Every cell is drawn in a window of its own around its middle.
# `u` and `v` are pixels from there, turned with the cell; a dye is three absorbances (red, green,
# blue) per unit of thickness. Colours are the first axis until a picture is finished: rows of
# pixels are summed faster than pixels of three.

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
    return np.asarray(np.clip(inside / soft + 0.5, 0, 1))


def _dye(colour: tuple[float, float, float], thickness: Field) -> Dyed:
    return thickness.astype(np.float32) * np.asarray(colour, np.float32)[:, None, None]


def _disc(u: Field, v: Field, radius: float, rng: np.random.Generator, odd: float) -> Field:
    """How far inside a round cell whose outline waves a little."""
    angle = np.arctan2(v, u)
    wave: Field = np.zeros_like(angle)
    for k in (2, 3, 4):
        height, phase = np.float32(rng.normal(0, odd / k)), np.float32(rng.uniform(0, 2 * np.pi))
        wave = wave + height * np.cos(k * angle + phase)
    return np.asarray(radius * (1 + wave) - np.hypot(u, v))


# ---------------------------------------------------------------- red cells


def _red(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """A biconcave disc: thin in the middle third."""
    inside = _disc(u, v, radius, rng, 0.035)
    pallor = np.clip((np.clip(1 - inside / radius, 0, 1) - 0.16) / 0.46, 0, 1)
    thick = 0.40 + 0.70 * pallor * pallor * (3 - 2 * pallor)
    return _dye(_HAEMOGLOBIN, thick * _edge(inside) * rng.uniform(0.9, 1.1))


def _pale(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """Small and pale: haemoglobin in a thin rim only."""
    inside = _disc(u, v, radius * rng.uniform(0.70, 0.82), rng, 0.06)
    rim = np.clip((np.clip(1 - inside / (0.76 * radius), 0, 1) - 0.60) / 0.28, 0, 1)
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
    return body * rest + _dye(_NUCLEUS, texture)


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
    body, nucleus = _dye(_GREY, 1 + 0.15 * grain), np.minimum(folded, notch)
    return _white(inside, body, nucleus, grain, 0.25) * np.float32(0.92)


WHITE_CELLS: Final[Mapping[str, Paint]] = {
    "neutrophil": _neutrophil,
    "eosinophil": _eosinophil,
    "lymphocyte": _lymphocyte,
    "monocyte": _monocyte,
}


def _platelet(u: Field, v: Field, radius: float, grain: Field, rng: np.random.Generator) -> Dyed:
    """A small violet fleck without a nucleus, granular in the middle."""
    inside = _disc(u, v, radius, rng, 0.16)
    core = np.clip(inside / (0.7 * radius), 0, 1)
    return _dye(_VIOLET, (0.55 + 0.7 * core * (1 + 0.3 * grain)) * _edge(inside, 2.5))


_CELLS: Final[Mapping[str, Paint]] = {**RED_CELLS, **WHITE_CELLS, "platelet": _platelet}


# ---------------------------------------------------------------- the field

SIDE = 480
"""Films are squares of this side."""

_FINE = 2  # drawn at twice the size, then reduced
_RED, _WHITE, _PLATELET = 16.0, 29.0, 5.2  # radii in the finished picture
_APART = 3.0  # pixels between white cells or platelets and any other cell
_ROOM = {"sickle": 1.65, "monocyte": 1.22, "lymphocyte": 0.82}  # in radii
_DARTS = 6000


class Cell(msgspec.Struct, frozen=True):
    """A cell of the finished picture: its kind, its middle and its radius in pixels."""

    kind: str
    x: float
    y: float
    radius: float


class Smear(msgspec.Struct, frozen=True):
    """A finished picture and every cell on it."""

    pixels: npt.NDArray[np.uint8]
    cells: tuple[Cell, ...]


def smear(
    rng: np.random.Generator,
    *,
    placed: Sequence[Cell] = (),
    whites: Sequence[str] = (),
    platelets: int = 6,
    reds: int = 70,
    red: str = "normal",
    sickled: int = 0,
) -> Smear:
    """One field: these white cells, so many platelets, up to so many red cells of one kind.

    `placed` are cells that have their place already; the others go where there is room.
    `sickled` of the red cells are crescents. Where the field has no room left, red cells are fewer.
    """
    cells = list(placed)
    for kind in whites:
        _place(rng, cells, kind, _WHITE * rng.uniform(0.95, 1.05), within=True)
    for _ in range(sickled):
        _place(rng, cells, "sickle", _RED * 1.15, within=True)
    for _ in range(platelets):
        _place(rng, cells, "platelet", _PLATELET * rng.uniform(0.85, 1.2), within=True)
    for _ in range(max(0, reds - sickled)):
        if not _place(rng, cells, red, _RED * rng.uniform(0.93, 1.07), within=False, darts=300):
            break
    return Smear(_drawn(rng, cells), tuple(cells))


def _place(
    rng: np.random.Generator,
    cells: list[Cell],
    kind: str,
    radius: float,
    *,
    within: bool,
    darts: int = _DARTS,
) -> bool:
    """Put a cell where it touches no other, and say whether there was room."""
    room = _size(kind, radius)
    low = room + 4 if within else -0.4 * radius
    known = [(c.x, c.y, _size(c.kind, c.radius), c.kind not in RED_CELLS) for c in cells]
    others = np.asarray(known, float).reshape(-1, 4)
    needed = others[:, 2] + room + np.where(others[:, 3] > 0, _APART, 1.0 + _APART * within)
    for x, y in rng.uniform(low, SIDE - low, (darts, 2)):
        if ((others[:, 0] - x) ** 2 + (others[:, 1] - y) ** 2 > needed**2).all():
            cells.append(Cell(kind, float(x), float(y), radius))
            return True
    if within:
        raise AssertionError(f"no room for a {kind}; ask for fewer cells")
    return False


def _size(kind: str, radius: float) -> float:
    """The room a cell needs: crescents are longer, monocytes larger than their radius."""
    return radius * _ROOM.get(kind, 1.0)


def _drawn(rng: np.random.Generator, cells: Sequence[Cell]) -> npt.NDArray[np.uint8]:
    grain = ndimage.gaussian_filter(rng.standard_normal((SIDE, SIDE), np.float32), 0.85, truncate=3)
    grain = (grain / grain.std()).repeat(_FINE, axis=0).repeat(_FINE, axis=1)
    dyes = np.zeros((3, *grain.shape), np.float32)
    for cell in cells:
        _add(dyes, cell, grain, rng)
    dyes *= np.float32(-rng.uniform(0.92, 1.1))
    fine = np.exp(dyes, out=dyes)
    passed = sum(fine[:, k::_FINE, j::_FINE] for k in range(_FINE) for j in range(_FINE)) / _FINE**2
    light = [rng.uniform(238, 246), rng.uniform(228, 236), rng.uniform(228, 238)]
    # Uneven light: a little less to the corners, and a drift across the field.
    drift = ndimage.zoom(rng.standard_normal((6, 6), np.float32), SIDE / 6, order=1)
    away = (np.arange(SIDE, dtype=np.float32) / SIDE - 0.5) ** 2
    lamp = 1 + 0.012 * drift - 0.16 * (away[:, None] + away)
    shown = passed * np.asarray(light, np.float32)[:, None, None] * lamp
    blurred = np.moveaxis(ndimage.gaussian_filter(shown, (0, 0.6, 0.6), truncate=3), 0, 2)
    noisy = np.float32(1.6) * rng.standard_normal(blurred.shape, np.float32)
    noisy += blurred
    return np.asarray(np.clip(noisy, 0, 255), np.uint8)


def _add(dyes: Field, cell: Cell, grain: Field, rng: np.random.Generator) -> None:
    """Lay one cell's dye into its window."""
    x, y, radius = cell.x * _FINE, cell.y * _FINE, cell.radius * _FINE
    reach = round(1.25 * _size(cell.kind, radius)) + 3  # outlines wave a little beyond it
    top, left = max(0, round(y) - reach), max(0, round(x) - reach)
    window = (slice(top, round(y) + reach), slice(left, round(x) + reach))
    held = dyes[:, *window]
    rows, columns = (np.arange(size, dtype=np.float32) for size in held.shape[1:])
    down, right = rows[:, None] + np.float32(top - y), columns + np.float32(left - x)
    turn = rng.uniform(0, 2 * np.pi)
    cos, sin = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    u: Field = right * cos + down * sin
    v: Field = down * cos - right * sin
    held += _CELLS[cell.kind](u, v, radius, grain[window], rng)
