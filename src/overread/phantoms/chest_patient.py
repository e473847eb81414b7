"""A patient as one film shows them: who they are and how their chest is built.

The patient's right lung is on the left of the film. Within one side, `a` is the distance from the
midline outward.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
import numpy as np

from overread.phantoms.chest_shapes import AXIS, Field

__all__ = ["Heart", "Lung", "Patient", "Side", "floor", "outward", "patient", "walls"]

Side: TypeAlias = Literal[-1, 1]


class Lung(msgspec.Struct, frozen=True):
    """One lung's outline. `side` is -1 on the left of the film and 1 on the right."""

    side: Side
    apex: float
    width: float
    dome: float
    angle: float


class Heart(msgspec.Struct, frozen=True):
    """The heart's shadow: how wide and how tall beside the reference, and how far it hangs down."""

    wide: float
    tall: float
    drop: float


class Patient(msgspec.Struct, frozen=True):
    """One patient as one film shows them. All that differs between healthy films stands here."""

    view: str
    sex: str
    age: int
    midline: float
    body: float
    lungs: tuple[Lung, Lung]
    heart: Heart
    exposure: float
    contrast: float
    haze: float
    scapula: float
    seed: int


def patient(rng: np.random.Generator, *, view: str) -> Patient:
    """Draw a patient. AP films are of the bedridden: a larger heart shadow, a higher diaphragm."""
    bedside = view == "AP"
    sex = "F" if rng.random() < 0.5 else "M"
    size = rng.uniform(0.96, 1.03) * (0.985 if sex == "F" else 1.0)
    apex = rng.uniform(0.085, 0.115) + (0.015 if bedside else 0.0)
    dome = rng.uniform(0.715, 0.765) - (0.035 if bedside else 0.0)
    return Patient(
        view=view,
        sex=sex,
        age=int(np.clip(rng.normal(66 if bedside else 56, 14), 19, 93)),
        midline=rng.uniform(0.49, 0.51),
        body=rng.uniform(0.455, 0.50) + (0.012 if bedside else 0.0),
        lungs=(
            Lung(
                -1, apex + rng.uniform(-0.004, 0.004), 0.362 * size, dome, rng.uniform(0.085, 0.11)
            ),
            Lung(
                1,
                apex + rng.uniform(-0.004, 0.004),
                0.362 * size * rng.uniform(0.985, 1.01),
                dome + rng.uniform(0.012, 0.03),
                rng.uniform(0.085, 0.11),
            ),
        ),
        heart=Heart(
            wide=rng.uniform(0.92, 1.04) * (1.11 if bedside else 1.0),
            tall=rng.uniform(0.95, 1.06),
            drop=dome - 0.735 + rng.uniform(-0.006, 0.006),
        ),
        exposure=rng.uniform(148, 157) if bedside else rng.uniform(80, 90),
        contrast=rng.uniform(0.50, 0.56) if bedside else rng.uniform(0.42, 0.48),
        haze=rng.uniform(0.10, 0.16) if bedside else rng.uniform(0.0, 0.04),
        scapula=rng.uniform(0.255, 0.285) if bedside else rng.uniform(0.375, 0.40),
        seed=int(rng.integers(2**31)),
    )


# ---------------------------------------------------------------- outlines


def walls(lung: Lung) -> tuple[Field, Field]:
    """Medial and lateral wall of a lung at every row, as distances from the midline."""
    reach = np.sqrt(np.clip(1.0 - (1.0 - np.clip((AXIS - lung.apex) / 0.26, 0, 1)) ** 2, 0, None))
    wide = lung.width - 0.045 * np.clip((0.62 - AXIS) / 0.4, 0, 1) ** 1.5
    lateral = 0.125 + (wide - 0.125) * reach
    down = np.sqrt(np.clip(1.0 - (1.0 - np.clip((AXIS - lung.apex) / 0.10, 0, 1)) ** 2, 0, None))
    medial = 0.125 - 0.068 * down
    return medial.astype(np.float32), lateral.astype(np.float32)


def outward(person: Patient, side: Side) -> Field:
    """Distance from the midline toward one side, per column; negative on the other side."""
    return (side * (AXIS - person.midline)).astype(np.float32)


def floor(person: Patient, lung: Lung) -> Field:
    """Height of the hemidiaphragm at every column: a dome that falls to the costophrenic angle."""
    a = np.maximum(outward(person, lung.side), 0.0)
    out = np.clip((a - 0.17) / (lung.width - 0.17), 0, 1.2)
    inward = np.clip((0.17 - a) / 0.17, 0, 1)
    return (lung.dome + lung.angle * out**2.4 + 0.035 * inward**2).astype(np.float32)
