"""One heart: who it belongs to, when it beats, and the left ventricle's shape in every frame.

The ventricle is a body of revolution, so that its outline and its volume say the same. Its outline
is a bullet along the axis from the apex (0) to the mitral plane (L): r(y) = R f(y / L). The volume
is pi R^2 L times the integral of f^2. Slices may lie off the axis (a bend); that moves no volume.
As it empties, every slice shrinks and the mitral plane comes nearer to the apex.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

SIDE = 112
"""Clips are squares of this side."""


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change from frame to frame. `ef` is a share; lengths are those at ED."""

    sex: str
    age: int
    ef: float
    # The left ventricle: from apex to mitral plane, its widest radius, its wall.
    length: float
    radius: float
    wall: float
    # The other chambers.
    right: float
    atrium: float
    right_atrium: float
    atrial_height: float
    # How it lies: the apex in pixels, the axis' tilt and the outline's bend to one side.
    apex: tuple[float, float]
    tilt: float
    bend: float
    # The sector: its tip, half its angle, its depth.
    tip: tuple[float, float]
    half_angle: float
    depth: float
    # The machine: gain and dynamic range in decibels, blood's echo, noise in grey levels.
    gain: float
    range: float
    haze: float
    noise: float
    # How brightly the septum, the lateral wall and what lies beyond answer.
    septum: float
    lateral: float
    beyond: float


def patient(rng: np.random.Generator) -> Patient:
    """A new patient; weak hearts are wide ones, as a rule."""
    ef = rng.uniform(0.20, 0.75)
    weak = (0.75 - ef) / 0.55
    length = rng.uniform(52, 58) + 4 * weak
    radius = length * (rng.uniform(0.275, 0.315) + 0.045 * weak)
    across = 56 + rng.uniform(-3, 3)
    tip = rng.uniform(4, 9)
    return Patient(
        sex="FM"[int(rng.integers(2))],
        age=int(rng.integers(21, 90)),
        ef=ef,
        length=length,
        radius=radius,
        wall=rng.uniform(4.2, 6.2),
        right=rng.uniform(15, 21),
        atrium=rng.uniform(14, 18),
        right_atrium=rng.uniform(13, 17),
        atrial_height=rng.uniform(23, 29),
        apex=(across + rng.uniform(1, 6), tip + rng.uniform(9, 13)),
        tilt=rng.uniform(-0.16, 0.06),
        bend=rng.uniform(-1.2, 1.2),
        tip=(across, tip),
        half_angle=rng.uniform(0.68, 0.80),
        depth=rng.uniform(99, 108),
        gain=rng.uniform(-5, 3),
        range=rng.uniform(38, 48),
        haze=rng.uniform(0.02, 0.11),
        noise=rng.uniform(2.0, 5.0),
        septum=rng.uniform(0.5, 0.85),
        lateral=rng.uniform(0.25, 0.5),
        beyond=rng.uniform(0.3, 0.8),
    )


# ---------------------------------------------------------------- the rhythm
#
# When a heart beats and how its volume runs: exact, frame by frame, before anything is drawn.

Volumes = npt.NDArray[np.float64]

# Frames from ED to ES of 10,024 EchoNet-Dynamic clips: at most l in so large a share of them. The
# ends are ours: the longest real distances are no single systole.
_LENGTHS: Final = (5.5, 8.5, 10.5, 11.5, 16.5, 23.5, 30.5, 40.4)
_SHARES: Final = (0, 0.012, 0.045, 0.074, 0.53, 0.952, 0.991, 1)
_RATE: Final = 50  # frames per second of most of them
_AT_RATE: Final = 0.79
_RATES: Final = (30, 70)
_SLOWEST: Final = 45  # beats per minute
_FASTEST: Final = 130
_SYSTOLE: Final = 0.46  # of a beat, at most
_WINDOW: Final = 30  # frames that a window may have


class Rhythm(msgspec.Struct, frozen=True):
    """Frames at whose instant a beat is at its largest and at its smallest.

    `ed[k] < es[k] < ed[k + 1]`; the first and the last beat may reach beyond the clip. `ed_volumes`
    and `es_volumes` are shares of the annotated beat's volume at end-diastole; `beat` is that beat.
    """

    fps: int
    frames: int
    ed: tuple[int, ...]
    es: tuple[int, ...]
    ed_volumes: tuple[float, ...]
    es_volumes: tuple[float, ...]
    beat: int

    @property
    def phases(self) -> tuple[int, int]:
        """ED and ES of the annotated beat."""
        return self.ed[self.beat], self.es[self.beat]

    @property
    def heart_rate(self) -> float:
        """Beats per minute over the whole clip, as its frames have it."""
        return 60 * self.fps * (len(self.ed) - 1) / (self.ed[-1] - self.ed[0])


def rhythm(rng: np.random.Generator, ef: float) -> Rhythm:
    """A new rhythm: 45 to 130 beats per minute as a rule, at 30 to 70 frames per second, EF given.

    l, the frames of systole, are drawn as real clips have them, so that some are too short or too
    long for a window; systole is always shorter than diastole. The annotated beat stands in the
    clip with at least l frames before its ED and after its ES, and with all that a window may show.
    """
    fps, cycle, systole = _pace(rng)
    margin = max(systole, _WINDOW - 1 - systole)
    frames = max(int(rng.integers(88, 112)), -(-12 * cycle // 5) + int(rng.integers(0, 8)))
    at = int(rng.integers(0, cycle)) - 2 * cycle
    ed = [at]
    while at < frames + cycle:
        at += max(2 * systole + 2, cycle + int(rng.integers(-1, 2)))
        ed.append(at)
    es = tuple(first + systole for first in ed)
    whole = [k for k, first in enumerate(ed) if margin <= first < frames - systole - margin]
    beat = whole[int(rng.integers(len(whole)))]
    # Breathing and filling make every beat a little other than the one before.
    large = rng.uniform(0.985, 1.015, len(ed))
    large[beat] = 1.0
    small = large * (1 - ef * rng.uniform(0.97, 1.03, len(ed)))
    small[beat] = 1.0 - ef
    return Rhythm(fps, frames, tuple(ed), es, tuple(large.tolist()), tuple(small.tolist()), beat)


def _pace(rng: np.random.Generator) -> tuple[int, int, int]:
    """Frames per second, frames of a beat, and frames of its systole."""
    length, other = np.interp(rng.random(2), _SHARES, _LENGTHS)
    systole = round(float(length))
    # Few frames, as a rule, are of a systole that was taken slowly, not of a short one.
    fps = (
        _RATE if rng.random() < _AT_RATE else round(float(np.clip(_RATE * length / other, *_RATES)))
    )
    # A fast heart has a short systole: about 0.44 - 0.0016 rate seconds.
    rate = (0.44 - systole / fps + rng.uniform(-0.02, 0.02)) / 0.0016
    cycle = round(60 * fps / min(max(rate, _SLOWEST), _FASTEST))
    return fps, max(cycle, math.ceil(systole / _SYSTOLE)), systole


def volumes(kept: Rhythm) -> Volumes:
    """The volume of every frame, as a share of the annotated beat's at end-diastole.

    Ejection is nearly even; filling is fast, slow and, with the atrium's beat, fast again. Each
    falls or rises all the way, so every phase is the one frame of its beat.
    """
    found = np.empty(kept.ed[-1] - kept.ed[0] + 1)
    for k, (first, following) in enumerate(pairwise(kept.ed)):
        last = kept.es[k]
        out = np.arange(last - first + 1) / (last - first)
        share = np.arange(following - last + 1) / (following - last)
        large, small, after = kept.ed_volumes[k], kept.es_volumes[k], kept.ed_volumes[k + 1]
        ejected = out - 0.25 * np.sin(2 * np.pi * out) / (2 * np.pi)
        early = 1 - (1 - np.clip(share / 0.5, 0, 1)) ** 2
        late = np.clip((share - 0.7) / 0.3, 0, 1) ** 1.5
        filled = 0.52 * early + 0.16 * share + 0.32 * late
        found[first - kept.ed[0] : last - kept.ed[0] + 1] = large - (large - small) * ejected
        found[last - kept.ed[0] : following - kept.ed[0] + 1] = small + (after - small) * filled
    return found[-kept.ed[0] : kept.frames - kept.ed[0]]


def opening(kept: Rhythm) -> Volumes:
    """How far the valves between atria and ventricles stand open in every frame, 0 to 1.

    Shut from ED to ES; widest early in filling, half shut in the middle, open again at its end.
    """
    found = np.zeros(kept.ed[-1] - kept.ed[0] + 1)
    for k, following in enumerate(kept.ed[1:]):
        last = kept.es[k]
        share = np.arange(following - last + 1) / (following - last)
        early = np.exp(-(((share - 0.25) / 0.16) ** 2))
        late = 0.8 * np.exp(-(((share - 0.82) / 0.1) ** 2))
        ends = np.clip(share / 0.08, 0, 1) * np.clip((1 - share) / 0.08, 0, 1)
        widest = np.maximum(np.maximum(early, late), 0.4)
        found[last - kept.ed[0] : following - kept.ed[0] + 1] = ends * widest
    return found[-kept.ed[0] : kept.frames - kept.ed[0]]


# ---------------------------------------------------------------- the left ventricle

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
    return np.asarray(np.sqrt(up * (2 - up)) - _NARROWING * down * down)


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
    window = _around(person, moved)
    grid = np.indices((SIDE, SIDE))[:, *window]
    place = axes(person, moved, *grid.reshape(2, -1))
    radius = moved.sizes[1] * profile(place.share)
    inside = (place.share > 0) & (place.share <= 1) & (np.abs(place.across) < radius)
    masks = np.zeros((len(moved.x), SIDE, SIDE), np.bool_)
    masks[:, *window] = inside.reshape(-1, *grid.shape[1:])
    return masks


def _around(person: Patient, moved: Motion) -> tuple[slice, slice]:
    """Rows and columns that hold the ventricle in every frame, with a pixel to spare."""
    cos, sin = np.cos(person.tilt), np.sin(person.tilt)
    wide, tall = moved.radius.max() + abs(person.bend), moved.length.max()
    corners = [(x, y) for x in (-wide, wide) for y in (0, tall)]
    found = []
    for apex, beside in (
        (moved.y, [y * cos + x * sin for x, y in corners]),
        (moved.x, [x * cos - y * sin for x, y in corners]),
    ):
        first, last = apex.min() + min(beside), apex.max() + max(beside)
        found.append(slice(max(0, math.floor(first) - 1), math.ceil(last) + 2))
    return found[0], found[1]
