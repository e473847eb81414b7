"""The healthy chest as layers of attenuation that the beam crosses."""

from __future__ import annotations

import msgspec
import numpy as np

from overread.phantoms.chest_bones import bones
from overread.phantoms.chest_patient import Heart, Lung, Patient, floor, outward, walls
from overread.phantoms.chest_shapes import (
    AXIS,
    GRID,
    Field,
    blurred,
    canvas,
    curve,
    ellipse,
    inked,
    line,
    shifted,
    smooth,
)

__all__ = ["Layers", "heart_shadow", "layers"]


class Layers(msgspec.Struct, frozen=True):
    """What the beam crosses, one field per tissue; `findings` is what disease adds."""

    tissue: Field
    bones: Field
    air: tuple[Field, Field]
    vessels: Field
    heart: Field
    findings: Field

    def attenuation(self) -> Field:
        # Lung gives way to the heart that lies in front of it.
        lungs = (self.air[0] + self.air[1]) * (1.0 - 0.8 * np.minimum(self.heart, 1.0))
        total = self.tissue + self.bones + self.vessels + self.findings
        return (total + 0.50 * self.heart - 0.92 * lungs).astype(np.float32)


def air(person: Patient, lung: Lung) -> Field:
    """Depth of air along the beam in one lung, about 0 to 1."""
    a = outward(person, lung.side)[None, :]
    v = AXIS[:, None]
    medial, lateral = (w[:, None] for w in walls(lung))
    bottom = floor(person, lung)[None, :]
    inside = smooth((lateral - a) / 0.006) * smooth((a - medial) / 0.012)
    inside = inside * smooth((bottom - v) / 0.007) * smooth((v - lung.apex) / 0.004 - 1.0)
    rim = np.sqrt(np.clip(1.0 - (1.0 - np.clip((lateral - a) / 0.13, 0, 1)) ** 2, 0, None))
    top = 0.72 + 0.28 * np.clip((v - lung.apex) / 0.20, 0, 1)
    base = 1.0 - 0.16 * np.clip((v - bottom + 0.16) / 0.16, 0, 1) ** 2
    return np.asarray(inside * (0.42 + 0.58 * rim) * top * base, dtype=np.float32)


def heart_shadow(person: Patient, heart: Heart) -> Field:
    """Thickness of heart and great vessels: two chambers, the aortic arch and the vena cava."""
    rows, columns = slice(GRID // 10, GRID * 9 // 10), slice(GRID // 5, GRID * 9 // 10)
    u = (AXIS[columns] - person.midline)[None, :]
    v = (AXIS[rows] - heart.drop)[:, None]
    w, h = heart.wide, heart.tall
    ventricle = ellipse(u - 0.055 * w, v - 0.640, (0.168 * w, 0.112 * h), 0.62)
    atrium = 0.92 * ellipse(u + 0.026 * w, v - 0.615, (0.088 * w, 0.125 * h), -0.1)
    outflow = 0.85 * ellipse(u - 0.035 * w, v - 0.52, (0.082 * w, 0.13 * h), -0.25)
    cava = 0.55 * ellipse(u + 0.022, v - 0.36, (0.045, 0.22))
    arch = 0.60 * ellipse(u - 0.044, v - 0.292, (0.036, 0.040))
    aorta = 0.50 * ellipse(u - 0.040, v - 0.45, (0.038, 0.24))
    pulmonary = 0.62 * ellipse(u - 0.058, v - 0.405, (0.042, 0.062))
    parts = [ventricle, atrium, outflow, cava, arch, aorta, pulmonary]
    shadow = np.zeros((GRID, GRID), np.float32)
    # Below the diaphragm the liver hides what there is of it.
    above = smooth((person.lungs[0].dome + 0.05 - AXIS[rows]) / 0.03)[:, None]
    shadow[rows, columns] = blurred(np.maximum.reduce(parts) * above, 2)
    return shadow


def tissue(person: Patient, rng: np.random.Generator) -> Field:
    """Everything soft but lungs and heart: trunk, neck, shoulders, abdomen, breasts, airways."""
    u, v = (AXIS - person.midline)[None, :], AXIS[:, None]
    slope = rng.uniform(-0.012, 0.012)
    b = person.body
    half = curve(
        AXIS,
        [(0, 0.115), (0.03, 0.12), (0.06, 0.16), (0.10, 0.27 + slope), (0.14, 0.37 + slope),
         (0.19, b), (0.26, b + 0.035), (0.40, b + 0.02), (0.55, b - 0.005), (1.0, b - 0.012)],
    )[:, None]  # fmt: skip
    t = np.clip(np.abs(u) / half, 0, 1)
    trunk = np.sqrt(1.0 - t * t * t)
    thick = curve(
        AXIS,
        [(0, 0.86), (0.1, 0.92), (0.25, 1.12), (0.5, 1.2), (0.7, 1.26), (0.82, 1.36), (1, 1.42)],
    )
    body = trunk * thick[:, None] + 0.12 * smooth((half - np.abs(u)) / 0.004)
    mediastinum = 0.15 * np.exp(-((u / 0.050) ** 4)) * smooth((v - 0.10) / 0.1)
    belly = np.zeros_like(body)
    for lung in person.lungs:
        a = outward(person, lung.side)
        under = smooth((v - floor(person, lung)[None, :]) / 0.03)
        belly += 0.12 * under * smooth((a[None, :] + 0.01) / 0.02) * trunk
    trachea = 0.30 * np.exp(-(((u - 0.004) / 0.017) ** 4)) * smooth((0.335 - v) / 0.05)
    carina = sum(
        0.14
        * np.exp(-(((u - s * (v - 0.325) * 0.9) / 0.012) ** 2))
        * smooth((v - 0.325) / 0.012)
        * smooth((0.385 - v) / 0.03)
        for s in (-1, 1)
    )
    total = body + mediastinum + belly - trachea - carina
    if rng.random() < 0.75:
        x, y = rng.uniform(0.13, 0.2), person.lungs[1].dome + rng.uniform(0.05, 0.075)
        bubble = ellipse(
            u - x, v - y, (rng.uniform(0.05, 0.075), rng.uniform(0.028, 0.04)), soft=True
        )
        total = total - 0.5 * bubble
    if person.sex == "F":
        low = rng.uniform(0.66, 0.74)
        for s in (-1, 1):
            breast = ellipse(u - s * 0.235, v - low + 0.09, (0.19, 0.175), soft=True)
            total = total + rng.uniform(0.16, 0.24) * breast
    # Nothing but air stops the beam beside the body: the film is blackest there.
    return np.asarray(total - 0.45 * smooth((np.abs(u) - half) / 0.006), dtype=np.float32)


def vessels(person: Patient, rng: np.random.Generator) -> Field:
    """Hila and the branching markings that thin out toward the chest wall."""
    image, pen = canvas()
    for lung in person.lungs:
        side = lung.side
        angle = np.linspace(-1.45, 1.5, 11)
        at = np.column_stack([np.full(11, 0.085), (0.415 if side < 0 else 0.40) + 0.035 * angle])
        angle = angle + rng.normal(0, 0.14, 11)
        width = rng.uniform(6, 11, 11)
        for _ in range(5):
            half = rng.uniform(0.023, 0.038, (len(at), 1))
            bend = angle + rng.normal(0, 0.2, len(at))
            mid = at + half * np.column_stack([np.cos(angle), np.sin(angle)])
            to = mid + half * np.column_stack([np.cos(bend), np.sin(bend)])
            lines = np.stack([at, mid, to], axis=1)
            lines[:, :, 0] = person.midline + side * lines[:, :, 0]
            for stroke, thick in zip(lines.reshape(-1, 6).tolist(), width.tolist(), strict=True):
                line(stroke, pen, thick, int(min(255, 70 + 17 * thick)))
            spread = rng.uniform(0.18, 0.42, len(at))
            at, angle = np.vstack([to, to]), np.concatenate([bend - spread, bend + spread])
            width = np.tile(width, 2) * rng.uniform(0.6, 0.82, len(at))
            # A twig that has left the lung would be cut away below: prune it with its offspring.
            lateral = np.interp(at[:, 1], AXIS, walls(lung)[1])
            inside = (at[:, 0] > 0.05) & (at[:, 0] < lateral) & (at[:, 1] < lung.dome + 0.06)
            at, angle, width = at[inside], angle[inside], width[inside]
    u, v = (AXIS - person.midline)[None, :], AXIS[:, None]
    hila = sum(
        np.exp(-(((u - s * 0.083) / 0.030) ** 2)) * np.exp(-(((v - h) / 0.055) ** 2))
        for s, h in ((-1, 0.42), (1, 0.40))
    )
    return np.asarray(0.21 * blurred(inked(image), 1) + 0.17 * hila, dtype=np.float32)


def layers(person: Patient) -> Layers:
    """The healthy chest of this patient."""
    rng = np.random.default_rng(person.seed)
    soft, hard, lines = tissue(person, rng), bones(person, rng), vessels(person, rng)
    left, right = (air(person, lung) for lung in person.lungs)
    within = left + right
    shadow = heart_shadow(person, person.heart)
    cloud = shifted("mottle", rng)
    soft = soft + 0.035 * cloud * np.minimum(soft, 1.0) + person.haze * within
    return Layers(
        tissue=soft.astype(np.float32),
        bones=hard * smooth((soft - 0.1) / 0.1),
        air=(left, right),
        vessels=lines * (0.1 + 0.9 * np.minimum(within, 1.0)) * (1.0 - 0.75 * shadow),
        heart=shadow,
        findings=np.zeros((GRID, GRID), np.float32),
    )
