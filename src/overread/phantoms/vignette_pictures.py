"""The pictures of phantom vignettes that other phantoms already draw, reduced and furnished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from overread.phantoms.chest_film import FILM, film, stamp
from overread.phantoms.heart_echo import echo
from overread.phantoms.heart_patient import patient
from overread.phantoms.heart_shape import motion
from overread.phantoms.question_pictures import heart, marked
from overread.phantoms.smear import SIDE, Cell, smear

__all__ = [
    "CORNERS",
    "OBJECTS",
    "Pixels",
    "beat_pair",
    "blood",
    "cell_at",
    "chambers",
    "chest",
    "panels",
    "reduced",
]

Pixels: TypeAlias = npt.NDArray[np.uint8]

OBJECTS: Final = ("coin", "finger ring", "sewing needle", "fish hook", "screw", "key")
CORNERS: Final[Mapping[str, tuple[int, int]]] = {
    "upper left corner": (20, 20),
    "upper right corner": (FILM - 104, 20),
    "middle of the left edge": (20, FILM // 2 - 42),
    "middle of the right edge": (FILM - 104, FILM // 2 - 42),
    "lower left corner": (20, FILM - 104),
    "lower right corner": (FILM - 104, FILM - 104),
}
_WIDEST = 256
_METAL = 250


def reduced(pixels: Pixels, side: int = _WIDEST) -> Pixels:
    """The picture with its longer side at most so long."""
    image = Image.fromarray(pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return np.asarray(image)


def panels(left: Pixels, right: Pixels, gap: int = 8) -> Pixels:
    """Two pictures of one height side by side, a white gap between them."""
    both = [
        side if side.ndim == 3 else np.repeat(side[..., None], 3, axis=2) for side in (left, right)
    ]
    white = np.full((both[0].shape[0], gap, 3), 255, np.uint8)
    return np.hstack([both[0], white, both[1]])


# ---------------------------------------------------------------- films


def chest(
    rng: np.random.Generator,
    finding: str | None = None,
    side: str = "",
    *,
    clips: int = 0,
    swallowed: str = "",
    corner: str = "",
) -> Pixels:
    """A film of a finding on the patient's side, with metal on it and a lead marker."""
    while True:
        one = film(rng, view="PA", finding=finding)
        if side in one.phrase.split() or not side:
            break
    pixels = stamp(one.pixels, CORNERS[corner]) if corner else one.pixels
    image = Image.fromarray(pixels)
    pen = ImageDraw.Draw(image)
    for x, y in _apart(rng, clips):
        turn = rng.uniform(0, np.pi)
        across, down = 15 * np.cos(turn), 15 * np.sin(turn)
        pen.line((x - across, y - down, x + across, y + down), _METAL, 9)
    if swallowed:
        _swallowed(pen, swallowed, rng)
    return reduced(np.asarray(image))


def _apart(rng: np.random.Generator, count: int) -> list[tuple[float, float]]:
    """Places within the lungs, well apart."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        x, y = rng.uniform(0.16, 0.36) * FILM, rng.uniform(0.25, 0.62) * FILM
        x = x if rng.integers(2) else FILM - x
        if all(np.hypot(x - a, y - b) > 80 for a, b in found):
            found.append((float(x), float(y)))
    return found


def _swallowed(pen: ImageDraw.ImageDraw, name: str, rng: np.random.Generator) -> None:
    """Metal in the stomach or the gullet."""
    x, y = 0.5 * FILM + rng.uniform(-25, 25), rng.uniform(0.28, 0.72) * FILM
    if name == "coin":
        pen.ellipse((x - 50, y - 50, x + 50, y + 50), _METAL)
    elif name == "finger ring":
        pen.ellipse((x - 48, y - 48, x + 48, y + 48), outline=_METAL, width=14)
    elif name == "sewing needle":
        pen.line((x - 20, y - 85, x + 20, y + 85), _METAL, 9)
    elif name == "fish hook":
        pen.line((x + 38, y - 80, x + 38, y + 30), _METAL, 13)
        pen.arc((x - 38, y - 10, x + 44, y + 74), 0, 190, _METAL, 13)
        pen.line((x - 34, y + 26, x - 14, y + 6), _METAL, 13)
    elif name == "screw":
        pen.rectangle((x - 38, y - 84, x + 38, y - 62), _METAL)
        pen.line((x, y - 70, x, y + 84), _METAL, 20)
        for k in range(5):
            pen.line((x - 26, y - 36 + 26 * k, x + 26, y - 24 + 26 * k), _METAL, 9)
    else:
        pen.ellipse((x - 36, y - 92, x + 36, y - 20), outline=_METAL, width=16)
        pen.line((x, y - 24, x, y + 88), _METAL, 15)
        pen.rectangle((x, y + 40, x + 32, y + 52), _METAL)
        pen.rectangle((x, y + 72, x + 38, y + 86), _METAL)


# ---------------------------------------------------------------- hearts


def chambers(rng: np.random.Generator, names: Sequence[str], opened: bool) -> Pixels:
    """A four-chamber view with a red frame in each of these chambers."""
    one = heart(rng, opened=opened)
    pixels = one.pixels
    for name in names:
        pixels = marked(pixels, one.chambers[name])
    return reduced(pixels, 224)


def beat_pair(rng: np.random.Generator, ejected: float) -> Pixels:
    """End-diastole on the left and end-systole on the right, of a beat that ejects this share."""
    drawn = patient(rng)
    person = msgspec.structs.replace(drawn, ef=ejected, gain=rng.uniform(-3, 3))
    moved = motion(rng, person, np.asarray([1.0, 1.0 - ejected]), still=True)
    frames = echo(rng, person, moved, np.zeros(2))
    large = [
        np.asarray(Image.fromarray(frame).resize((124, 124), Image.Resampling.BICUBIC))
        for frame in frames
    ]
    return panels(large[0], large[1])


# ---------------------------------------------------------------- blood


def cell_at(rng: np.random.Generator, kind: str, across: float, down: float) -> Cell:
    """A white cell about that place, in shares of the field's side."""
    x, y = (share * SIDE + rng.uniform(-22, 22) for share in (across, down))
    return Cell(kind, float(x), float(y), 29.0)


def blood(
    rng: np.random.Generator,
    *,
    placed: Sequence[Cell] = (),
    whites: Sequence[str] = (),
    platelets: int = 5,
    red: str = "normal",
    sickled: int = 0,
) -> Pixels:
    """A field, reduced."""
    field = smear(
        rng, placed=placed, whites=whites, platelets=platelets, reds=60, red=red, sickled=sickled
    )
    return reduced(field.pixels)
