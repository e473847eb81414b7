"""The left ventricle as a body of revolution, so that its outline and its volume say the same.

Its outline is a bullet along the axis from the apex (0) to the mitral plane (L): r(y) = R f(y / L).
The volume is pi R^2 L times the integral of f^2. Slices may lie off the axis (a bend); that moves
no volume. As it empties, every slice shrinks and the mitral plane comes nearer to the apex.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from overread.phantoms.heart_patient import SIDE, Patient
from overread.phantoms.heart_rhythm import Volumes

__all__ = ["Axes", "Field", "Motion", "axes", "cavity", "full_volume", "motion", "profile"]

Field = npt.NDArray[np.floating[Any]]  # of 32 bits, for speed
Masks = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_WIDEST = 0.6  # of the way from apex to base
_NARROWING = 0.2  # of the radius, from there to the base
_SHORTENING = 0.24  # L goes with the volume to this power; R takes the rest


class Motion(msgspec.Struct, frozen=True):
    """The ventricle frame by frame: volume in pixels cubed, L, R, and where its apex is."""

    volume: Volumes
    length: Volumes
    radius: Volumes
    x: Volumes
    y: Volumes

    def part(self, frames: slice) -> Motion:
        """The same of some frames."""
        return Motion(*(getattr(self, field)[frames] for field in self.__struct_fields__))

    @property
    def sizes(self) -> tuple[Field, Field]:
        """L and R, to be set against the pixels of each frame."""
        length, radius = (a[:, None].astype(np.float32) for a in (self.length, self.radius))
        return length, radius


class Axes(msgspec.Struct, frozen=True):
    """Pixels in the heart's own axes, frames x pixels: y from apex to base, x to the image's right.

    `across` is x less the bend. `share` is y / L.
    """

    x: Field
    y: Field
    across: Field
    share: Field


def profile(share: Field) -> Field:
    """f: the radius at a share of the length, as a share of R; 0 above the apex."""
    up = np.clip(share / _WIDEST, 0, 1)
    down = np.clip((share - _WIDEST) / (1 - _WIDEST), 0, None)
    found: Field = np.sqrt(up * (2 - up)) - _NARROWING * down * down
    return found


@cache
def _mean_square() -> float:
    middles = (np.arange(20_000) + 0.5) / 20_000
    return float(np.mean(profile(middles.astype(np.float32)).astype(np.float64) ** 2))


def full_volume(person: Patient) -> float:
    """The volume at end-diastole of the annotated beat, pixels cubed."""
    return np.pi * person.radius**2 * person.length * _mean_square()


def motion(rng: np.random.Generator, person: Patient, shares: Volumes, still: bool) -> Motion:
    """The ventricle of a patient whose volume runs as `shares`, shifted a little by breathing."""
    frames = np.arange(len(shares))
    length = person.length * shares**_SHORTENING
    volume = full_volume(person) * shares
    radius = np.sqrt(volume / (np.pi * length * _mean_square()))
    period, phase = rng.uniform(120, 260), rng.uniform(0, 2 * np.pi, 2)
    sway = rng.uniform(0.3, 1.2, 2) * (0.0 if still else 1.0)
    place = np.asarray(person.apex) + rng.uniform(-0.5, 0.5, 2)
    x, y = (place[k] + sway[k] * np.sin(2 * np.pi * frames / period + phase[k]) for k in range(2))
    return Motion(volume, length, radius, x, y)


def axes(person: Patient, moved: Motion, rows: Places, columns: Places) -> Axes:
    """The given pixels in the heart's axes, in every frame."""
    right = columns.astype(np.float32) - moved.x[:, None].astype(np.float32)
    down = rows.astype(np.float32) - moved.y[:, None].astype(np.float32)
    cos, sin = np.float32(np.cos(person.tilt)), np.float32(np.sin(person.tilt))
    x, y = right * cos + down * sin, down * cos - right * sin
    share = y / moved.sizes[0]
    bend = 4 * person.bend * np.clip(share, 0, 1) * (1 - np.clip(share, 0, 1))
    return Axes(x, y, x - bend, share)


def cavity(person: Patient, moved: Motion) -> Masks:
    """The pixels whose centres are inside the ventricle, frame by frame."""
    rows, columns = (grid.ravel() for grid in np.indices((SIDE, SIDE)))
    place = axes(person, moved, rows, columns)
    radius = moved.sizes[1] * profile(place.share)
    inside = (place.share > 0) & (place.share <= 1) & (np.abs(place.across) < radius)
    return inside.reshape(-1, SIDE, SIDE)
