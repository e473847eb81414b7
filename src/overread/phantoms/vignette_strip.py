"""A synthetic rhythm strip on ruled paper: every wave is known.

A large square is ten pixels, 0.2 s wide and 5 mm high, as on paper of 25 mm/s.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

__all__ = ["RHYTHMS", "Beat", "paper", "regular", "rhythm"]

RHYTHMS: Final = (
    "sinus rhythm",
    "atrial fibrillation",
    "2:1 atrioventricular block",
    "ventricular bigeminy",
    "ventricular tachycardia",
)

_WIDTH, _HEIGHT, _SQUARE = 256, 128, 10
_FINE = 4
_SECOND, _MM = 5 * _SQUARE, _SQUARE / 5  # in pixels

Field: TypeAlias = npt.NDArray[np.floating[Any]]


class Beat(msgspec.Struct, frozen=True):
    """Waves about an instant in seconds: a narrow or a wide complex, or a P wave alone.

    `st` is how far the segment after the complex lies off the line, in millimetres.
    """

    at: float
    wide: bool = False
    wave: bool = True
    complex: bool = True
    st: float = 0.0


def paper(
    rng: np.random.Generator, beats: list[Beat], tremble: float = 0.0
) -> npt.NDArray[np.uint8]:
    """The strip of these beats; `tremble` is the height of a disordered baseline in millimetres."""
    x = np.arange(_WIDTH * _FINE) / _FINE
    height = _trace(x / _SECOND, beats)
    if tremble:
        phases = rng.uniform(0, 2 * np.pi, 4)
        paces = 2 * np.pi * np.asarray([5.3, 6.1, 7.4, 8.2])
        waves = np.sin(x[:, None] / _SECOND * paces + phases)
        height = height + tremble * waves.sum(axis=1) / 2
    height = height + rng.normal(0, 0.05, len(x))
    y = 0.64 * _HEIGHT - height * _MM
    image = Image.new("RGB", (_WIDTH * _FINE, _HEIGHT * _FINE), (255, 247, 244))
    pen = ImageDraw.Draw(image)
    for step, colour, width in ((2, (250, 226, 222), 2), (_SQUARE, (236, 168, 160), 4)):
        for at in range(0, _WIDTH, step):
            pen.line((at * _FINE, 0, at * _FINE, _HEIGHT * _FINE), colour, width)
            if at < _HEIGHT:
                pen.line((0, at * _FINE, _WIDTH * _FINE, at * _FINE), colour, width)
    pen.line(list(zip((x * _FINE).tolist(), (y * _FINE).tolist(), strict=True)), (25, 22, 35), 5)
    return np.asarray(image.reduce(_FINE))


def regular(interval: float, *, st: float = 0.0, first: float = 0.5) -> list[Beat]:
    """Beats at even intervals of seconds for all of the strip."""
    ends = _WIDTH / _SECOND + interval
    return [Beat(float(at), st=st) for at in np.arange(first - interval, ends, interval)]


def rhythm(rng: np.random.Generator, name: str) -> npt.NDArray[np.uint8]:
    """A strip of one of RHYTHMS."""
    first = rng.uniform(0.35, 0.55)
    if name == "sinus rhythm":
        return paper(rng, regular(rng.uniform(0.78, 0.92), first=first))
    if name == "atrial fibrillation":
        gaps = rng.permutation([0.42, 0.5, 0.62, 0.75, 0.88, 1.0, 0.46, 0.7, 0.55])
        return paper(
            rng, [Beat(float(at), wave=False) for at in first + np.cumsum(gaps) - gaps[0]], 0.7
        )
    if name == "2:1 atrioventricular block":
        gap = rng.uniform(0.56, 0.64)
        beats = [Beat(float(at), complex=k % 2 == 0) for k, at in enumerate(_even(first, gap))]
        return paper(rng, beats)
    if name == "ventricular bigeminy":
        gap = rng.uniform(1.25, 1.4)
        pairs = [(at, at + 0.46) for at in _even(first, gap)]
        beats = [
            Beat(float(at), wide=wide, wave=not wide)
            for two in pairs
            for at, wide in zip(two, (False, True), strict=True)
        ]
        return paper(rng, beats)
    gap = rng.uniform(0.33, 0.37)
    return paper(rng, [Beat(float(at), wide=True, wave=False) for at in _even(first - gap, gap)])


def _even(first: float, gap: float) -> Field:
    return np.arange(first, _WIDTH / _SECOND + gap, gap)


# ---------------------------------------------------------------- waves, in millimetres


def _trace(seconds: Field, beats: list[Beat]) -> Field:
    found: Field = np.zeros_like(seconds)
    for beat in beats:
        t = seconds - beat.at
        if beat.wave:
            found = found + 2.0 * _bump(t + 0.17, 0.028)
        if beat.complex and beat.wide:
            found = found + 15 * _bump(t, 0.05) - 7 * _bump(t - 0.16, 0.055)
        elif beat.complex:
            sharp = 13 * _bump(t, 0.011) - 3 * _bump(t - 0.032, 0.011) - 1.2 * _bump(t + 0.03, 0.01)
            plateau = (
                beat.st * np.clip((t - 0.035) / 0.015, 0, 1) * np.clip((0.24 - t) / 0.06, 0, 1)
            )
            found = found + sharp + plateau + 2.6 * _bump(t - 0.26, 0.042)
    return found


def _bump(t: Field, width: float) -> Field:
    found: Field = np.exp(-((t / width) ** 2) / 2)
    return found
