"""From a healthy chest to a film: the findings, exposure, grain, the lead marker, and the box of
what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import gcd
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from overread.case import Box
from overread.imaging import irrelevant_box, rescale_box
from overread.phantoms import chest_body as body
from overread.phantoms.chest_body import (
    AXIS,
    FILM,
    GRID,
    Field,
    Layers,
    Lung,
    Patient,
    shifted,
    smooth,
)

# ---------------------------------------------------------------- the eight findings
#
# Each is a change to the layers of a healthy chest. Sizes and places vary, within what keeps a box
# at least 50 pixels wide and high at 224.


class Afflicted(msgspec.Struct, frozen=True):
    """A chest with a finding, the words a report would have for it, and where in a lung it is."""

    layers: Layers
    phrase: str
    side: str = ""
    zone: str = ""


# The same chest with a finding drawn at random from what that finding may look like.
Onset: TypeAlias = Callable[[Layers, Patient, np.random.Generator], Afflicted]


# ---------------------------------------------------------------- opacities within one lung


def _side(lung: Lung) -> str:
    return "right" if lung.side < 0 else "left"


def _one_lung(person: Patient, rng: np.random.Generator) -> tuple[int, Lung, Field, Field]:
    """Which, the lung itself, and how far outward and how far down every pixel is."""
    which = int(rng.integers(2))
    lung = person.lungs[which]
    return which, lung, body.outward(person, lung.side)[None, :], AXIS[:, None]


def _patch(
    healthy: Layers,
    person: Patient,
    rng: np.random.Generator,
    *,
    rows: tuple[float, float],
    ragged: float,
    edge: float,
) -> tuple[Field, str, str]:
    """A ragged patch within one lung, 0 to 1, and its side and zone."""
    which, lung, a, v = _one_lung(person, rng)
    v0 = rng.uniform(*rows)
    a0 = rng.uniform(0.185, 0.225)
    across, down = rng.uniform(0.125, 0.155), rng.uniform(0.12, 0.155)
    far = np.sqrt(((a - a0) / across) ** 2 + ((v - v0) / down) ** 2)
    patch = smooth((1.0 - far + ragged * shifted("cloud", rng)) / edge)
    # Disease stays within the lung; cloud far from the patch is not disease.
    patch = patch * smooth((1.5 - far) / 0.2) * _parenchyma(healthy, which)
    zone = "upper" if v0 < 0.34 else "mid" if v0 < 0.5 else "lower"
    return patch.astype(np.float32), _side(lung), zone


def _parenchyma(healthy: Layers, *which: int) -> Field:
    """Where there is lung to fall ill, 0 to 1."""
    lung = sum(healthy.air[k] for k in which)
    return smooth((lung - 0.25) / 0.2) * (1.0 - 0.8 * smooth((healthy.heart - 0.3) / 0.3))


def _with(healthy: Layers, added: Field, **changed: Any) -> Layers:
    return msgspec.structs.replace(healthy, findings=healthy.findings + added, **changed)


def consolidation(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Dense and even, with air bronchograms: dark branching lines within the white."""
    patch, side, zone = _patch(healthy, person, rng, rows=(0.27, 0.60), ragged=0.10, edge=0.35)
    bronchi = np.clip(healthy.vessels / 0.2, 0, 1)
    dense = rng.uniform(0.55, 0.68) * patch * (1.0 - 0.12 * bronchi) - 0.7 * patch * healthy.vessels
    return Afflicted(_with(healthy, dense), f"consolidation in the {side} {zone} lung", side, zone)


def pneumonia(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Patchy: clouds of unequal density that run together."""
    patch, side, zone = _patch(healthy, person, rng, rows=(0.38, 0.60), ragged=0.20, edge=0.5)
    clouds = 0.62 + 0.38 * smooth(shifted("cloud", rng) / 0.9)
    dense = rng.uniform(0.36, 0.56) * patch * clouds
    phrase = f"patchy airspace disease in the {side} {zone} lung, pneumonia"
    return Afflicted(_with(healthy, dense), phrase, side, zone)


def lung_opacity(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """A haze through which the vessels still show."""
    patch, side, zone = _patch(healthy, person, rng, rows=(0.25, 0.60), ragged=0.14, edge=0.6)
    sick = _with(healthy, rng.uniform(0.22, 0.44) * patch)
    return Afflicted(sick, f"opacity in the {side} {zone} lung", side, zone)


def atelectasis(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Volume lost at one base: a raised hemidiaphragm, plates above it and haze between."""
    which, lung, a, v = _one_lung(person, rng)
    raised = msgspec.structs.replace(lung, dome=lung.dome - rng.uniform(0.03, 0.05))
    airs = list(healthy.air)
    airs[which] = body.air(person, raised)
    above = body.floor(person, raised)[None, :] - v
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
    return Afflicted(sick, f"{_side(lung)} basilar atelectasis", _side(lung))


# ---------------------------------------------------------------- pleura


def pleural_effusion(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Fluid at one base, higher along the chest wall: the angle is blunt, the diaphragm gone."""
    which, lung, a, v = _one_lung(person, rng)
    reach = np.clip((a - 0.05) / (lung.width - 0.05), 0, 1)
    level = lung.dome - rng.uniform(0.06, 0.12) - rng.uniform(0.06, 0.10) * reach**3
    fluid = smooth((v - level) / 0.022)
    airs = list(healthy.air)
    lost = airs[which] * fluid
    airs[which] = airs[which] - 0.9 * lost
    vessels = healthy.vessels * (1 - fluid * (a > 0))
    sick = _with(healthy, 0.10 * lost, air=(airs[0], airs[1]), vessels=vessels)
    return Afflicted(sick, f"{_side(lung)} pleural effusion", _side(lung))


def pneumothorax(healthy: Layers, person: Patient, rng: np.random.Generator) -> Afflicted:
    """Air outside a collapsed lung: no markings beyond a thin pleural line."""
    which, lung, a, v = _one_lung(person, rng)
    sunk = msgspec.structs.replace(lung, apex=lung.apex + rng.uniform(0.11, 0.15))
    medial, lateral = body.walls(sunk)
    end = rng.uniform(0.46, 0.56)
    gap = rng.uniform(0.055, 0.085) * smooth((end - AXIS) / 0.09)
    pleura = (lateral - gap)[:, None]
    lung_left = smooth((pleura - a) / 0.005) * smooth((v - sunk.apex) / 0.006)
    whole = healthy.air[which]
    free = smooth((whole - 0.15) / 0.15) * (1.0 - lung_left) * smooth((end + 0.02 - v) / 0.03)
    line = np.exp(-(((pleura - a) / 0.0042) ** 2)) * (v > sunk.apex) * (v < end - 0.03)
    line = line * (a > medial[:, None] + 0.02) * (whole > 0.15)
    dense = 0.12 * line - 0.30 * free + 0.05 * lung_left * smooth((end - 0.1 - v) / 0.1) * whole
    sick = _with(healthy, dense.astype(np.float32), vessels=healthy.vessels * (1.0 - free))
    return Afflicted(sick, f"{_side(lung)} apical pneumothorax", _side(lung))


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
    heart = msgspec.structs.replace(
        person.heart,
        wide=rng.uniform(1.33, 1.52) * (1.03 if person.view == "AP" else 1.0),
        tall=person.heart.tall * rng.uniform(1.06, 1.12),
    )
    sick = msgspec.structs.replace(healthy, heart=body.heart_shadow(person, heart))
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


# ---------------------------------------------------------------- from attenuation to a film

CHANGED = 6
"""A pixel belongs to a finding when the finding changes it by more than this many grey levels."""

_DARKEST, _BRIGHTEST = 14.0, 212.0
_FLOOR, _CEILING = 8, 222  # grain stays off pure black, which masks use, and off the marker's white
# The shortest stretches of the grid and of the film that fall together.
_CELLS, _PIXELS = GRID // gcd(GRID, FILM), FILM // gcd(GRID, FILM)
_MARKER = 84
_EDGE = 64
_PLACES = [
    (x, y)
    for x in (_EDGE, FILM - _EDGE)
    for y in (_EDGE, 200, 340, 480, 620, 760, 880, FILM - _EDGE)
] + [(190, _EDGE), (FILM - 190, _EDGE)]

Pixels = npt.NDArray[np.uint8]


class Film(msgspec.Struct, frozen=True):
    """A finished film and its truth. `box` is in source pixels; `at` is the marker's corner.

    `side` and `zone` say where in a lung its finding lies, or are empty.
    """

    pixels: Pixels
    person: Patient
    at: tuple[int, int] | None
    box: Box | None = None
    phrase: str = ""
    side: str = ""
    zone: str = ""


def film(
    rng: np.random.Generator, *, view: str, finding: str | None = None, marker: bool = False
) -> Film:
    """One film of one new patient, healthy or with one finding."""
    person = body.patient(rng, view=view)
    healthy = body.layers(person)
    noise = grain(rng)
    attenuation = healthy.attenuation()
    middle = float(np.median(attenuation[::4, ::4]))
    plain = exposed(attenuation, person, middle)
    if finding is None:
        at = marker_place(rng, None) if marker else None
        return Film(stamp(developed(plain, noise), at), person, at)
    while True:
        # Mottle can nibble a patch below the least size a box may have: such a draw is drawn again.
        sick = FINDINGS[finding](healthy, person, rng)
        grey = exposed(sick.layers.attenuation(), person, middle)
        box = changed_box(plain, grey, noise)
        if box is not None and rescale_box(box.x, box.y, box.w, box.h, FILM, FILM) is not None:
            at = marker_place(rng, box) if marker else None
            pixels = stamp(developed(grey, noise), at)
            return Film(pixels, person, at, box, sick.phrase, sick.side, sick.zone)


def grain(rng: np.random.Generator) -> Field:
    """Quantum mottle of the detector, in grey levels."""
    return shifted("film", rng) * np.float32(rng.uniform(1.7, 2.4))


def exposed(attenuation: Field, person: Patient, middle: float) -> Field:
    """Grey levels: a sigmoid characteristic curve, set so that the healthy chest's median
    attenuation (`middle`) prints at the patient's exposure, as automatic exposure control does."""
    share = (person.exposure - _DARKEST) / (_BRIGHTEST - _DARKEST)
    width = 0.72 * person.contrast
    centre = middle - width * np.log(share / (1.0 - share))
    curve = np.exp((centre - attenuation) * np.float32(1.0 / width))
    span = np.float32(_BRIGHTEST - _DARKEST)
    return np.asarray(np.float32(_DARKEST) + span / (np.float32(1.0) + curve))


def developed(grey: Field, noise: Field) -> Pixels:
    """The film, or a part of it, at the size of its noise."""
    # Pillow's float resize keeps the steps of 8 bits from showing as contours.
    full = Image.fromarray(grey).resize(noise.shape[::-1], Image.Resampling.BILINEAR)
    shown = np.asarray(full) + noise
    return np.clip(shown, _FLOOR, _CEILING, out=shown).astype(np.uint8)


def changed_box(without: Field, having: Field, noise: Field) -> Box | None:
    """The smallest box around every pixel the finding changed by more than `CHANGED` levels.

    Only what is near a grey level that differs is developed: the films agree elsewhere.
    """
    differ = without != having
    rows, columns = _near(differ.any(axis=1)), _near(differ.any(axis=0))
    on_film = noise[_film_pixels(rows), _film_pixels(columns)]
    before, after = (developed(grey[rows, columns], on_film) for grey in (without, having))
    changed = np.abs(after.astype(np.int16) - before) > CHANGED
    down, across = body.span(changed.any(axis=1)), body.span(changed.any(axis=0))
    if down.start == down.stop:
        return None
    y, x = _film_pixels(rows).start + down.start, _film_pixels(columns).start + across.start
    return Box(x, y, across.stop - across.start, down.stop - down.start)


def _near(differ: npt.NDArray[np.bool_]) -> slice:
    """Whole stretches of the grid, with one to spare on either side for the resize."""
    found = body.span(differ)
    first, last = found.start // _CELLS - 1, -(-found.stop // _CELLS) + 1
    return slice(max(0, first * _CELLS), min(GRID, last * _CELLS))


def _film_pixels(cells: slice) -> slice:
    """The pixels of some stretches of the grid."""
    return slice(cells.start // _CELLS * _PIXELS, cells.stop // _CELLS * _PIXELS)


# ---------------------------------------------------------------- the marker


@cache
def glyph() -> Field:
    """A lead marker, "P" in a ring, as opacity 0 to 1."""
    big = 4 * _MARKER
    image = Image.new("L", (big, big))
    pen = ImageDraw.Draw(image)
    pen.ellipse((0, 0, big - 1, big - 1), outline=255, width=48)
    pen.rectangle((116, 88, 160, 256), fill=255)
    pen.rounded_rectangle((116, 88, 232, 188), radius=50, outline=255, width=40)
    return np.asarray(image.reduce(4), np.float32) * np.float32(1 / 255)


def marker_place(rng: np.random.Generator, box: Box | None) -> tuple[int, int]:
    """A place along the film's edge that neither the target box nor the irrelevant box covers.

    Boxes are those at 224, with three pixels to spare for rounding at other resolutions.
    """
    half = _MARKER // 2
    corners = [(x - half, y - half) for x, y in _PLACES]
    if box is not None:
        target = rescale_box(box.x, box.y, box.w, box.h, FILM, FILM)
        assert target is not None
        boxes = (target, irrelevant_box(target))
        corners = [at for at in corners if not any(_covers(b, at) for b in boxes)]
    return corners[int(rng.integers(len(corners)))]


def _covers(box: Box, at: tuple[int, int], spare: int = 3) -> bool:
    scale = FILM / 224
    x, y = at
    return (
        x < (box.x + box.w + spare) * scale
        and x + _MARKER > (box.x - spare) * scale
        and y < (box.y + box.h + spare) * scale
        and y + _MARKER > (box.y - spare) * scale
    )


def stamp(pixels: Pixels, at: tuple[int, int] | None) -> Pixels:
    """The film with the marker's upper left corner at `at`, or as it was."""
    if at is None:
        return pixels
    x, y = at
    marked = pixels.copy()
    window = marked[y : y + _MARKER, x : x + _MARKER]
    window[...] = np.rint(window + (255.0 - window) * glyph()).astype(np.uint8)
    return marked
