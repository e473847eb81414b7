"""Shapes that anatomy is drawn with, on a coarse grid: anatomy is smooth.

Film coordinates: u runs from 0 at the left edge to 1 at the right, v from 0 at the top to 1 at the
bottom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

__all__ = [
    "AXIS",
    "FILM",
    "GRID",
    "Field",
    "band",
    "blurred",
    "canvas",
    "curve",
    "ellipse",
    "inked",
    "line",
    "shifted",
    "smooth",
]

FILM = 1024
"""Side of a film in pixels."""
GRID = 384
"""Side of the grid anatomy is drawn on: ample for what is smooth, at a seventh of the cost."""
_CANVAS = 2 * GRID

Field: TypeAlias = npt.NDArray[np.float32]
AXIS: Field = ((np.arange(GRID, dtype=np.float32) + 0.5) / GRID).astype(np.float32)


def smooth(x: npt.ArrayLike) -> Field:
    """0 below -1, 1 above 1, and a smooth step between."""
    t = np.clip(np.asarray(x, dtype=np.float32) * 0.5 + 0.5, 0.0, 1.0)
    return np.asarray(t * t * (3.0 - 2.0 * t), dtype=np.float32)


def curve(at: Field, knots: list[tuple[float, float]], soften: int = 31) -> Field:
    """A smooth curve near the knots (position, value), sampled at `at`."""
    x, y = zip(*knots, strict=True)
    line = np.interp(at, x, y)
    padded = np.pad(line, soften // 2, mode="edge")
    weights = np.hanning(soften + 2)[1:-1]
    return np.convolve(padded, weights / weights.sum(), mode="valid").astype(np.float32)


def ellipse(
    u: Field, v: Field, radii: tuple[float, float], tilt: float = 0.0, *, soft: bool = False
) -> Field:
    """Thickness of an egg seen from the front: 1 in the middle, 0 at its rim and beyond.

    `tilt` turns the first axis clockwise as the film hangs; `soft` fades toward the rim.
    """
    c, s = math.cos(tilt), math.sin(tilt)
    across, down = (c * u + s * v) / radii[0], (c * v - s * u) / radii[1]
    thick = np.maximum(1.0 - across * across - down * down, 0.0)
    return np.asarray(thick * thick if soft else np.sqrt(thick), dtype=np.float32)


def blurred(field: Field, passes: int) -> Field:
    """Binomial smoothing: `passes` of the kernel 1-2-1 along rows and columns, borders kept."""
    out = field.copy()
    for _ in range(passes):
        pairs = out[1:] + out[:-1]
        out[1:-1] = 0.25 * (pairs[1:] + pairs[:-1])
        pairs = out[:, 1:] + out[:, :-1]
        out[:, 1:-1] = 0.25 * (pairs[:, 1:] + pairs[:, :-1])
    return out


Grain: TypeAlias = Literal["mottle", "cloud", "film"]


@cache
def grain(kind: Grain) -> Field:
    """A periodic noise tile of unit variance, the same in every process.

    `mottle` textures tissue and `cloud`, smoother, shapes disease, both at the grid's size; `film`
    is the fine noise of the detector, at the film's.
    """
    side = FILM if kind == "film" else GRID
    rng = np.random.default_rng({"mottle": 20260, "film": 20261, "cloud": 20262}[kind])
    f = np.hypot(np.fft.rfftfreq(side)[None, :], np.fft.fftfreq(side)[:, None]) * side
    shape = {
        "mottle": 1.0 / (1.0 + (f / 9.0) ** 2) ** 0.75,
        "cloud": 1.0 / (1.0 + (f / 10.0) ** 2) ** 1.5,
        "film": np.exp(-((f / 420.0) ** 2)),
    }[kind]
    shape[0, 0] = 0.0
    spectrum = np.fft.rfft2(rng.standard_normal((side, side))) * shape
    tile = np.fft.irfft2(spectrum, s=(side, side))
    return np.asarray(tile / tile.std(), dtype=np.float32)


def shifted(kind: Grain, rng: np.random.Generator) -> Field:
    """The tile moved and mirrored: another patient's noise at the price of a copy."""
    tile = grain(kind)
    dy, dx = (int(v) for v in rng.integers(tile.shape[0], size=2))
    rolled = np.roll(tile, (dy, dx), axis=(0, 1))
    return rolled[:, ::-1] if rng.random() < 0.5 else rolled


# ---------------------------------------------------------------- strokes


def band(points: npt.NDArray[np.float64], pen: ImageDraw.ImageDraw, width: float, ink: int) -> None:
    """A bone's shadow, `width` film pixels: brighter at both edges, where cortex is in profile."""
    along = np.empty_like(points)
    along[1:-1] = points[2:] - points[:-2]
    along[0], along[-1] = points[1] - points[0], points[-1] - points[-2]
    normal = along[:, ::-1] * (-1.0, 1.0) / (FILM * np.hypot(along[:, :1], along[:, 1:]))
    for half, grey in ((width / 2, ink), (width / 2 - 3, int(0.74 * ink))):
        rim = np.concatenate([points + half * normal, (points - half * normal)[::-1]])
        pen.polygon((rim * _CANVAS).ravel().tolist(), fill=grey)


def line(points: Sequence[float], pen: ImageDraw.ImageDraw, width: float, ink: int) -> None:
    """A line of `width` film pixels through points given as x, y, x, y, ..."""
    pen.line([p * _CANVAS for p in points], ink, max(1, round(width * _CANVAS / FILM)))


def canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("L", (_CANVAS, _CANVAS))
    return image, ImageDraw.Draw(image)


def inked(image: Image.Image) -> Field:
    """What was drawn on a canvas, 0 to 1, at the grid's size."""
    return np.asarray(image.reduce(2), np.float32) * np.float32(1 / 255)
