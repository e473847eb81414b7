"""The eight findings, each a change to the layers of a healthy chest.

Sizes and places vary, within what keeps a box at least 50 pixels wide and high at 224.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec
import numpy as np

from overread.phantoms.chest_anatomy import Layers, air, heart_shadow
from overread.phantoms.chest_patient import Lung, Patient, floor, outward, walls
from overread.phantoms.chest_shapes import AXIS, Field, shifted, smooth

__all__ = ["FINDINGS", "Afflicted", "afflict"]


class Afflicted(msgspec.Struct, frozen=True):
    """A chest with a finding, and the words a report would have for it."""

    layers: Layers
    phrase: str


Onset: TypeAlias = Callable[[Layers, Patient, np.random.Generator], Afflicted]


def afflict(healthy: Layers, person: Patient, finding: str, rng: np.random.Generator) -> Afflicted:
    """The same chest with one finding drawn at random from what that finding may look like."""
    return FINDINGS[finding](healthy, person, rng)


# ---------------------------------------------------------------- opacities within one lung


def _zone(v: float) -> str:
    return "upper" if v < 0.34 else "mid" if v < 0.5 else "lower"


def _side(lung: Lung) -> str:
    return "right" if lung.side < 0 else "left"


def _one_lung(person: Patient, rng: np.random.Generator) -> tuple[int, Lung]:
    which = int(rng.integers(2))
    return which, person.lungs[which]


def _patch(
    healthy: Layers,
    person: Patient,
    rng: np.random.Generator,
    *,
    rows: tuple[float, float],
    ragged: float,
    edge: float,
) -> tuple[Field, str]:
    """A ragged patch within one lung, 0 to 1, and where it lies."""
    which, lung = _one_lung(person, rng)
    v0 = rng.uniform(*rows)
    a0 = rng.uniform(0.185, 0.225)
    across, down = rng.uniform(0.125, 0.155), rng.uniform(0.12, 0.155)
    a, v = outward(person, lung.side)[None, :], AXIS[:, None]
    far = np.sqrt(((a - a0) / across) ** 2 + ((v - v0) / down) ** 2)
    patch = smooth((1.0 - far + ragged * shifted("cloud", rng)) / edge)
    # Disease stays within the lung; cloud far from the patch is not disease.
    patch = patch * smooth((1.5 - far) / 0.2) * _parenchyma(healthy, which)
    return patch.astype(np.float32), f"{_side(lung)} {_zone(v0)} lung"


def _parenchyma(healthy: Layers, *which: int) -> Field:
    """Where there is lung to fall ill, 0 to 1."""
    lung = sum(healthy.air[k] for k in which)
    return smooth((lung - 0.25) / 0.2) * (1.0 - 0.8 * smooth((healthy.heart - 0.3) / 0.3))


def _with(healthy: Layers, added: Field) -> Layers:
    return msgspec.structs.replace(healthy, findings=healthy.findings + added)


def consolidation(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Dense and even, with air bronchograms: dark branching lines within the white."""
    patch, where = _patch(healthy, person, rng, rows=(0.27, 0.60), ragged=0.10, edge=0.35)
    bronchi = np.clip(healthy.vessels / 0.2, 0, 1)
    dense = rng.uniform(0.55, 0.68) * patch * (1.0 - 0.12 * bronchi) - 0.7 * patch * healthy.vessels
    return Afflicted(_with(healthy, dense), f"consolidation in the {where}")


def pneumonia(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Patchy: clouds of unequal density that run together."""
    patch, where = _patch(healthy, person, rng, rows=(0.38, 0.60), ragged=0.20, edge=0.5)
    clouds = 0.62 + 0.38 * smooth(shifted("cloud", rng) / 0.9)
    dense = rng.uniform(0.36, 0.56) * patch * clouds
    return Afflicted(_with(healthy, dense), f"patchy airspace disease in the {where}, pneumonia")


def lung_opacity(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """A haze through which the vessels still show."""
    patch, where = _patch(healthy, person, rng, rows=(0.25, 0.60), ragged=0.14, edge=0.6)
    return Afflicted(_with(healthy, rng.uniform(0.22, 0.44) * patch), f"opacity in the {where}")


def atelectasis(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Volume lost at one base: a raised hemidiaphragm, plates above it and haze between."""
    which, lung = _one_lung(person, rng)
    raised = msgspec.structs.replace(lung, dome=lung.dome - rng.uniform(0.03, 0.05))
    airs = list(healthy.air)
    airs[which] = air(person, raised)
    a, v = outward(person, lung.side)[None, :], AXIS[:, None]
    above = floor(person, raised)[None, :] - v
    plates = np.zeros(healthy.findings.shape)
    for height in (rng.uniform(0.05, 0.08), rng.uniform(0.11, 0.15)):
        middle, tilt = rng.uniform(0.18, 0.24), rng.uniform(-0.35, 0.35)
        run = (v - raised.dome + height) - tilt * (a - middle)
        ends = smooth((rng.uniform(0.07, 0.11) - np.abs(a - middle)) / 0.03)
        plates = plates + np.exp(-((run / rng.uniform(0.009, 0.013)) ** 2)) * ends
    deep = rng.uniform(0.17, 0.20)
    haze = 0.40 * smooth((deep - above + 0.02 * shifted("cloud", rng)) / 0.06)
    haze = haze * smooth((a - 0.075) / 0.02)
    sick = msgspec.structs.replace(healthy, air=(airs[0], airs[1]))
    dense = rng.uniform(0.75, 1.1) * (0.22 * plates + haze) * _parenchyma(sick, which)
    sick = _with(sick, dense.astype(np.float32))
    return Afflicted(sick, f"{_side(lung)} basilar atelectasis")


# ---------------------------------------------------------------- pleura


def pleural_effusion(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Fluid at one base, higher along the chest wall: the angle is blunt, the diaphragm gone."""
    which, lung = _one_lung(person, rng)
    a, v = outward(person, lung.side)[None, :], AXIS[:, None]
    reach = np.clip((a - 0.05) / (lung.width - 0.05), 0, 1)
    level = lung.dome - rng.uniform(0.06, 0.12) - rng.uniform(0.06, 0.10) * reach**3
    fluid = smooth((v - level) / 0.022)
    airs = list(healthy.air)
    lost = airs[which] * fluid
    airs[which] = airs[which] - 0.9 * lost
    sick = msgspec.structs.replace(
        _with(healthy, 0.10 * lost),
        air=(airs[0], airs[1]),
        vessels=healthy.vessels * (1 - fluid * (a > 0)),
    )
    return Afflicted(sick, f"{_side(lung)} pleural effusion")


def pneumothorax(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Air outside a collapsed lung: no markings beyond a thin pleural line."""
    which, lung = _one_lung(person, rng)
    a, v = outward(person, lung.side)[None, :], AXIS[:, None]
    sunk = msgspec.structs.replace(lung, apex=lung.apex + rng.uniform(0.11, 0.15))
    medial, lateral = walls(sunk)
    end = rng.uniform(0.46, 0.56)
    gap = rng.uniform(0.055, 0.085) * smooth((end - AXIS) / 0.09)
    pleura = (lateral - gap)[:, None]
    lung_left = smooth((pleura - a) / 0.005) * smooth((v - sunk.apex) / 0.006)
    whole = healthy.air[which]
    free = smooth((whole - 0.15) / 0.15) * (1.0 - lung_left) * smooth((end + 0.02 - v) / 0.03)
    line = np.exp(-(((pleura - a) / 0.0042) ** 2)) * (v > sunk.apex) * (v < end - 0.03)
    line = line * (a > medial[:, None] + 0.02) * (whole > 0.15)
    bare = healthy.vessels * (1.0 - free)
    dense = 0.12 * line - 0.30 * free + 0.05 * lung_left * smooth((end - 0.1 - v) / 0.1) * whole
    sick = msgspec.structs.replace(_with(healthy, dense.astype(np.float32)), vessels=bare)
    return Afflicted(sick, f"{_side(lung)} apical pneumothorax")


# ---------------------------------------------------------------- both lungs, and the heart


def edema(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Haze spreading from both hila like wings, with vessels grown thick and blurred."""
    v0, down = rng.uniform(0.44, 0.48), rng.uniform(0.115, 0.13)
    across = rng.uniform(0.115, 0.14)
    a, v = np.abs(AXIS - person.midline)[None, :], AXIS[:, None]
    far = np.sqrt(((a - 0.12) / across) ** 2 + ((v - v0) / down) ** 2)
    wings = smooth((1.0 - far + 0.14 * shifted("cloud", rng)) / 0.6) * smooth((1.4 - far) / 0.2)
    wings = wings * _parenchyma(healthy, 0, 1)
    dense = wings * (rng.uniform(0.32, 0.50) + 0.25 * healthy.vessels)
    return Afflicted(_with(healthy, dense), "bilateral perihilar haze, pulmonary edema")


def cardiomegaly(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """A heart wider than half the chest."""
    bedside = person.view == "AP"
    heart = msgspec.structs.replace(
        person.heart,
        wide=rng.uniform(1.33, 1.52) * (1.03 if bedside else 1.0),
        tall=person.heart.tall * rng.uniform(1.06, 1.12),
    )
    sick = msgspec.structs.replace(healthy, heart=heart_shadow(person, heart))
    return Afflicted(sick, "enlarged cardiac silhouette")


FINDINGS: Mapping[str, Onset] = {
    "atelectasis": atelectasis,
    "cardiomegaly": cardiomegaly,
    "consolidation": consolidation,
    "edema": edema,
    "lung_opacity": lung_opacity,
    "pleural_effusion": pleural_effusion,
    "pneumonia": pneumonia,
    "pneumothorax": pneumothorax,
}
