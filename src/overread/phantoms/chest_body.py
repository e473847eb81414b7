"""The healthy chest as layers of attenuation that the beam crosses."""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

# ---------------------------------------------------------------- shapes
#
# Anatomy is smooth, so it is drawn on a coarse grid. Film coordinates: u runs from 0 at the left
# edge to 1 at the right, v from 0 at the top to 1 at the bottom.

FILM = 1024
"""Side of a film in pixels."""
GRID = 384
"""Side of the grid anatomy is drawn on: ample for what is smooth, at a seventh of the cost."""
_CANVAS = 2 * GRID

Field: TypeAlias = npt.NDArray[np.float32]
AXIS: Field = ((np.arange(GRID, dtype=np.float32) + 0.5) / GRID).astype(np.float32)


def span(held: npt.NDArray[np.bool_]) -> slice:
    """From the first place where it holds to the last: elsewhere there is nothing to draw."""
    places = np.flatnonzero(held)
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)


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
    if tilt:
        c, s = math.cos(tilt), math.sin(tilt)
        u, v = c * u + s * v, c * v - s * u
    across, down = u / radii[0], v / radii[1]
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
    """A periodic noise tile of unit variance, the same in every process, twice each way.

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
    return np.tile((tile / tile.std()).astype(np.float32), (2, 2))


def shifted(kind: Grain, rng: np.random.Generator) -> Field:
    """The tile moved and mirrored: another patient's noise without a copy."""
    tiles = grain(kind)
    side = len(tiles) // 2
    y, x = (side - int(moved) for moved in rng.integers(side, size=2))
    tile = tiles[y : y + side, x : x + side]
    return tile[:, ::-1] if rng.random() < 0.5 else tile


# ---------------------------------------------------------------- strokes


Run: TypeAlias = npt.NDArray[np.float64]


def band(x: Run, y: Run, pen: ImageDraw.ImageDraw, width: float, ink: int) -> None:
    """A bone's shadow, `width` film pixels: brighter at both edges, where cortex is in profile."""
    points = np.column_stack([x, y])
    along = np.empty_like(points)
    along[1:-1] = points[2:] - points[:-2]
    along[0], along[-1] = points[1] - points[0], points[-1] - points[-2]
    normal = along[:, ::-1] * (-1.0, 1.0) / (FILM * np.hypot(along[:, :1], along[:, 1:]))
    for half, grey in ((width / 2, ink), (width / 2 - 3, int(0.74 * ink))):
        rim = np.concatenate([points + half * normal, (points - half * normal)[::-1]])
        pen.polygon((rim * _CANVAS).ravel().tolist(), fill=grey)


def strokes(lines: Run, widths: Run, pen: ImageDraw.ImageDraw) -> None:
    """Lines, each through points x, y and some film pixels wide; the wider, the brighter."""
    points = (lines.reshape(len(lines), -1) * _CANVAS).tolist()
    thick = np.maximum(1, np.rint(widths * _CANVAS / FILM)).astype(int).tolist()
    inks = np.minimum(255, 70 + 17 * widths).astype(int).tolist()
    for line, ink, width in zip(points, inks, thick, strict=True):
        pen.line(line, ink, width)


def canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("L", (_CANVAS, _CANVAS))
    return image, ImageDraw.Draw(image)


def inked(image: Image.Image) -> Field:
    """What was drawn on a canvas, 0 to 1, at the grid's size."""
    return np.asarray(image.reduce(2), np.float32) * np.float32(1 / 255)


# ---------------------------------------------------------------- the patient
#
# As one film shows them: who they are and how their chest is built. The right lung is on the left
# of the film. Within one side, `a` is the distance from the midline outward.

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


# ---------------------------------------------------------------- bones


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
            wide = 21 - 0.35 * k
            band(person.midline + lung.side * a, v, back_pen, wide, 205)
            if k > 7:
                continue
            end = 0.15 + 0.008 * k
            a = end + (edge - end) * np.cos(theta)
            down = 0.55 * np.sin(theta) + 0.45 * theta * 2 / math.pi
            v = start + fall + (0.055 + 0.011 * k) * down
            band(person.midline + lung.side * a, v, front_pen, wide + 4, 185)
    # Cartilage is invisible: the anterior limbs fade toward the sternum.
    fade = smooth((np.abs(AXIS - person.midline) - 0.22) / 0.08)[None, :]
    return 0.215 * inked(back) + 0.14 * fade * inked(front)


def bones(person: Patient, rng: np.random.Generator) -> Field:
    """Ribs, spine, clavicles, shoulder blades and the heads of the humeri."""
    u, v = (AXIS - person.midline)[None, :], AXIS[:, None]
    phase = rng.uniform(0, 1)
    discs = 0.5 + 0.5 * np.cos(2 * math.pi * (v / 0.066 + phase))
    column = np.exp(-((u / 0.036) ** 6)) * (0.22 - 0.17 * discs**6)
    spine = column + 0.09 * np.exp(-((u / 0.007) ** 2)) * (1 - discs) ** 2

    image, pen = canvas()
    lift = rng.uniform(-0.012, 0.012)
    s = np.linspace(0, 1, 24)
    for side in (-1, 1):
        a = 0.032 + 0.30 * s
        y = 0.205 - 0.085 * s + 0.020 * np.sin(2 * math.pi * s) + lift + rng.uniform(-0.004, 0.004)
        band(person.midline + side * a, y, pen, 30, 230)
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


# ---------------------------------------------------------------- layers


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
    out = outward(person, lung.side)
    rows, columns = span(lung.apex < AXIS), span(out > 0)
    a, v = out[None, columns], AXIS[rows, None]
    medial, lateral = (w[rows, None] for w in walls(lung))
    bottom = floor(person, lung)[None, columns]
    inside = smooth((lateral - a) / 0.006) * smooth((a - medial) / 0.012)
    inside = inside * smooth((bottom - v) / 0.007) * smooth((v - lung.apex) / 0.004 - 1.0)
    rim = np.sqrt(np.clip(1.0 - (1.0 - np.clip((lateral - a) / 0.13, 0, 1)) ** 2, 0, None))
    top = 0.72 + 0.28 * np.clip((v - lung.apex) / 0.20, 0, 1)
    base = 1.0 - 0.16 * np.clip((v - bottom + 0.16) / 0.16, 0, 1) ** 2
    depth = np.zeros((GRID, GRID), np.float32)
    depth[rows, columns] = inside * (0.42 + 0.58 * rim) * top * base
    return depth


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
    shadow[rows, columns] = blurred(reduce(np.maximum, parts) * above, 2)
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
        rows = span(lung.dome - 0.03 < AXIS)
        a = outward(person, lung.side)
        under = smooth((v[rows] - floor(person, lung)[None, :]) / 0.03)
        belly[rows] += 0.12 * under * smooth((a[None, :] + 0.01) / 0.02) * trunk[rows]
    trachea = 0.30 * np.exp(-(((u - 0.004) / 0.017) ** 4)) * smooth((0.335 - v) / 0.05)
    total = body + mediastinum + belly - trachea
    rows = span((AXIS > 0.31) & (AXIS < 0.42))  # of the carina
    v_there = v[rows]
    total[rows] -= sum(
        0.14
        * np.exp(-(((u - s * (v_there - 0.325) * 0.9) / 0.012) ** 2))
        * smooth((v_there - 0.325) / 0.012)
        * smooth((0.385 - v_there) / 0.03)
        for s in (-1, 1)
    )
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
        side, lateral = lung.side, walls(lung)[1]
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
            strokes(lines, width, pen)
            spread = rng.uniform(0.18, 0.42, len(at))
            at, angle = np.vstack([to, to]), np.concatenate([bend - spread, bend + spread])
            width = np.tile(width, 2) * rng.uniform(0.6, 0.82, len(at))
            # A twig that has left the lung would be cut away below: prune it with its offspring.
            wall = np.interp(at[:, 1], AXIS, lateral)
            inside = (at[:, 0] > 0.05) & (at[:, 0] < wall) & (at[:, 1] < lung.dome + 0.06)
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
