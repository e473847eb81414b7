"""A synthetic blood film under oil immersion, Wright-Giemsa stained: every cell is known.

White cells and platelets lie wholly in the field and touch nothing, so that they can be counted;
red cells may be cut by the field's edge, as on a real film.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from overread.phantoms.smear_cells import RED_CELLS, WHITE_CELLS, Field, Paint, platelet

__all__ = ["SIDE", "Cell", "Smear", "smear"]

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

    def count(self, *kinds: str) -> int:
        return sum(cell.kind in kinds for cell in self.cells)


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


# ---------------------------------------------------------------- the picture


def _drawn(rng: np.random.Generator, cells: Sequence[Cell]) -> npt.NDArray[np.uint8]:
    grain = ndimage.gaussian_filter(rng.standard_normal((SIDE, SIDE), np.float32), 0.85, truncate=3)
    grain = (grain / grain.std()).repeat(_FINE, axis=0).repeat(_FINE, axis=1)
    dyes = np.zeros((*grain.shape, 3), np.float32)
    for cell in cells:
        _add(dyes, cell, grain, rng)
    dyes *= np.float32(-rng.uniform(0.92, 1.1))
    fine = np.exp(dyes, out=dyes)
    passed = sum(fine[k::_FINE, j::_FINE] for k in range(_FINE) for j in range(_FINE)) / _FINE**2
    light = [rng.uniform(238, 246), rng.uniform(228, 236), rng.uniform(228, 238)]
    shown = passed * np.asarray(light, np.float32) * _lamp(rng)[..., None]
    blurred = ndimage.gaussian_filter(shown, (0.6, 0.6, 0), truncate=3)
    blurred += np.float32(1.6) * rng.standard_normal(blurred.shape, np.float32)
    found: npt.NDArray[np.uint8] = np.clip(blurred, 0, 255).astype(np.uint8)
    return found


def _lamp(rng: np.random.Generator) -> Field:
    """Uneven light: a little less to the corners, and a drift across the field."""
    drift = ndimage.zoom(rng.standard_normal((6, 6), np.float32), SIDE / 6, order=1)
    away = (np.arange(SIDE, dtype=np.float32) / SIDE - 0.5) ** 2
    found: Field = 1 + 0.012 * drift - 0.16 * (away[:, None] + away)
    return found


def _add(dyes: Field, cell: Cell, grain: Field, rng: np.random.Generator) -> None:
    """Lay one cell's dye into its window."""
    x, y, radius = cell.x * _FINE, cell.y * _FINE, cell.radius * _FINE
    reach = round(1.25 * _size(cell.kind, radius)) + 3  # outlines wave a little beyond it
    top, left = max(0, round(y) - reach), max(0, round(x) - reach)
    window = (slice(top, round(y) + reach), slice(left, round(x) + reach))
    held = dyes[window]
    rows, columns = (np.asarray(grid) for grid in np.indices(held.shape[:2], np.float32))
    down, right = rows + np.float32(top - y), columns + np.float32(left - x)
    turn = rng.uniform(0, 2 * np.pi)
    cos, sin = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    u: Field = right * cos + down * sin
    v: Field = down * cos - right * sin
    held += _paint(cell.kind)(u, v, radius, grain[window], rng)


def _paint(kind: str) -> Paint:
    return platelet if kind == "platelet" else {**RED_CELLS, **WHITE_CELLS}[kind]
