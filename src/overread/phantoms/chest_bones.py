"""Bones of the chest: ribs, spine, clavicles, shoulder blades, the heads of the humeri."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from overread.phantoms.chest_patient import Patient, walls
from overread.phantoms.chest_shapes import AXIS, GRID, Field, band, blurred, canvas, inked, smooth

__all__ = ["bones"]


def ribs(person: Patient, rng: np.random.Generator) -> Field:
    """Ten pairs: a posterior limb from the spine, a lateral turn and a fainter anterior limb.

    The limbs are drawn apart, because where they cross the beam meets both.
    """
    back, back_pen = canvas()
    front, front_pen = canvas()
    gap = (person.lungs[0].dome - person.lungs[0].apex) / 9.4
    theta = np.linspace(0, math.pi / 2, 24)
    for lung in person.lungs:
        lateral = walls(lung)[1]
        for k in range(10):
            start = lung.apex + 0.004 + gap * k * 0.985 + rng.uniform(-0.002, 0.002)
            fall = 0.05 + 0.0105 * min(k, 8)
            edge = float(np.interp(min(start + fall, 0.99), AXIS, lateral)) + 0.012
            edge = max(edge, 0.16 + 0.02 * k)
            a = 0.035 + (edge - 0.035) * np.sin(theta)
            v = start + fall * (1 - np.cos(theta)) - 0.016 * np.sin(2 * theta)
            line = np.column_stack([person.midline + lung.side * a, v])
            wide = 21 - 0.35 * k
            band(line, back_pen, wide, 205)
            if k > 7:
                continue
            end = 0.15 + 0.008 * k
            a = end + (edge - end) * np.cos(theta)
            v = (
                start
                + fall
                + (0.055 + 0.011 * k) * (0.55 * np.sin(theta) + 0.45 * theta * 2 / math.pi)
            )
            line = np.column_stack([person.midline + lung.side * a, v])
            band(line, front_pen, wide + 4, 185)
    # Cartilage is invisible: the anterior limbs fade toward the sternum.
    fade = smooth((np.abs(AXIS - person.midline) - 0.22) / 0.08)[None, :]
    return 0.215 * inked(back) + 0.14 * fade * inked(front)


def bones(person: Patient, rng: np.random.Generator) -> Field:
    """Ribs, spine, clavicles, shoulder blades and the heads of the humeri."""
    u, v = (AXIS - person.midline)[None, :], AXIS[:, None]
    phase = rng.uniform(0, 1)
    discs = 0.5 + 0.5 * np.cos(2 * math.pi * (v / 0.066 + phase))
    column = np.exp(-((u / 0.036) ** 6)) * (0.22 - 0.17 * discs**6)
    spinous = 0.09 * np.exp(-((u / 0.007) ** 2)) * (1 - discs) ** 2
    spine = column + spinous

    image, pen = canvas()
    lift = rng.uniform(-0.012, 0.012)
    s = np.linspace(0, 1, 24)
    for side in (-1, 1):
        a = 0.032 + 0.30 * s
        y = 0.205 - 0.085 * s + 0.020 * np.sin(2 * math.pi * s) + lift + rng.uniform(-0.004, 0.004)
        line = np.column_stack([person.midline + side * a, y])
        band(line, pen, 30, 230)
    drawn = blurred(ribs(person, rng) + 0.34 * inked(image), 1)

    return np.asarray(spine + drawn + 0.28 * shoulders(person, rng), dtype=np.float32)


def shoulders(person: Patient, rng: np.random.Generator) -> Field:
    """Shoulder blades and humeri: lateral in PA, where the arms roll them off the lungs."""
    small = GRID // 2  # they lie out of focus, so a small canvas blurs them cheaply
    image = Image.new("L", (small, small))
    pen = ImageDraw.Draw(image)
    blade = ((0.02, 0.17), (0.13, 0.16), (0.115, 0.27), (0.05, 0.45), (0.02, 0.46), (0.0, 0.30))
    for side in (-1, 1):
        shape = [
            (
                (person.midline + side * (person.scapula + x)) * small,
                (y + rng.uniform(-0.006, 0.006)) * small,
            )
            for x, y in blade
        ]
        pen.polygon(shape, fill=140)
        pen.line([*shape[2:], shape[0]], 225, 3)
        x, y, r = (person.midline + side * 0.43) * small, 0.19 * small, 0.058 * small
        pen.ellipse((x - r, y - r, x + r, y + r), 235)
        pen.line([(x, y), (x + side * 0.09 * small, y + 0.6 * small)], 205, small // 17)
    soft = image.filter(ImageFilter.GaussianBlur(1.0))
    wide = soft.resize((GRID, GRID), Image.Resampling.BILINEAR)
    return np.asarray(wide, np.float32) * np.float32(1 / 255)
