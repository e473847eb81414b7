"""From attenuation to a film: exposure, grain, the lead marker, and the box of what changed."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from overread.benchmarks.grounding.boxes import irrelevant_box, rescale_box
from overread.case import Box
from overread.phantoms.chest_anatomy import layers
from overread.phantoms.chest_findings import afflict
from overread.phantoms.chest_patient import Patient, patient
from overread.phantoms.chest_shapes import FILM, Field, shifted

__all__ = ["CHANGED", "FILM", "Film", "changed_box", "film", "stamp"]

CHANGED = 6
"""A pixel belongs to a finding when the finding changes it by more than this many grey levels."""

_DARKEST, _BRIGHTEST = 14.0, 212.0
_FLOOR, _CEILING = 8, 222  # grain stays off pure black, which masks use, and off the marker's white
_MARKER = 84
_EDGE = 64
_PLACES = [
    (x, y)
    for x in (_EDGE, FILM - _EDGE)
    for y in (_EDGE, 200, 340, 480, 620, 760, 880, FILM - _EDGE)
] + [(190, _EDGE), (FILM - 190, _EDGE)]

Pixels = npt.NDArray[np.uint8]


class Film(msgspec.Struct, frozen=True):
    """A finished film and its truth. `box` is in source pixels; `at` is the marker's corner."""

    pixels: Pixels
    person: Patient
    box: Box | None
    phrase: str
    at: tuple[int, int] | None


def film(
    rng: np.random.Generator, *, view: str, finding: str | None = None, marker: bool = False
) -> Film:
    """One film of one new patient, healthy or with one finding."""
    person = patient(rng, view=view)
    healthy = layers(person)
    noise = grain(rng)
    attenuation = healthy.attenuation()
    middle = float(np.median(attenuation[::4, ::4]))
    plain = developed(attenuation, person, middle, noise)
    if finding is None:
        at = marker_place(rng, None) if marker else None
        return Film(stamp(plain, at), person, None, "", at)
    while True:
        # Mottle can nibble a patch below the least size a box may have: such a draw is drawn again.
        sick = afflict(healthy, person, finding, rng)
        pixels = developed(sick.layers.attenuation(), person, middle, noise)
        box = changed_box(plain, pixels)
        if box is not None and rescale_box(box.x, box.y, box.w, box.h, FILM, FILM) is not None:
            at = marker_place(rng, box) if marker else None
            return Film(stamp(pixels, at), person, box, sick.phrase, at)


def grain(rng: np.random.Generator) -> Field:
    """Quantum mottle of the detector, in grey levels."""
    return shifted("film", rng) * np.float32(rng.uniform(1.7, 2.4))


def developed(attenuation: Field, person: Patient, middle: float, noise: Field) -> Pixels:
    """The film: a sigmoid characteristic curve, set so that the healthy chest's median attenuation
    (`middle`) prints at the patient's exposure, as automatic exposure control does."""
    share = (person.exposure - _DARKEST) / (_BRIGHTEST - _DARKEST)
    width = 0.72 * person.contrast
    centre = middle - width * np.log(share / (1.0 - share))
    curve = np.exp((centre - attenuation) * np.float32(1.0 / width))
    grey = np.float32(_DARKEST) + np.float32(_BRIGHTEST - _DARKEST) / (np.float32(1.0) + curve)
    # Pillow's float resize keeps the steps of 8 bits from showing as contours.
    full = np.asarray(Image.fromarray(grey).resize((FILM, FILM), Image.Resampling.BILINEAR))
    return np.clip(full + noise, _FLOOR, _CEILING).astype(np.uint8)


def changed_box(without: Pixels, having: Pixels) -> Box | None:
    """The smallest box around every pixel the finding changed by more than `CHANGED` levels."""
    changed = np.abs(having.astype(np.int16) - without) > CHANGED
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not len(rows):
        return None
    x, y = int(columns[0]), int(rows[0])
    return Box(x, y, int(columns[-1]) + 1 - x, int(rows[-1]) + 1 - y)


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
