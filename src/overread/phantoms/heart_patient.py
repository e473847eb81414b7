"""One patient's heart and the way it is scanned: sizes in pixels, drawn once for a whole clip."""

from __future__ import annotations

import msgspec
import numpy as np

__all__ = ["SIDE", "Patient", "patient"]

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
