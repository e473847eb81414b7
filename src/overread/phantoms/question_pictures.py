"""The pictures of phantom questions: one film, one echo frame or one smear, marked or in pairs."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from scipy import ndimage

from overread.phantoms.chest_film import film
from overread.phantoms.heart_echo import echo
from overread.phantoms.heart_patient import SIDE as ECHO
from overread.phantoms.heart_patient import Patient, patient
from overread.phantoms.heart_shape import motion

__all__ = ["Chest", "Heart", "Pixels", "chest", "degraded", "heart", "marked", "side_by_side"]

Pixels: TypeAlias = npt.NDArray[np.uint8]

_FILM = 640  # a film's side in a question; readers are shown 768 at most
_ECHO = 448
_GAP = 12
_RED = (220, 30, 30)


class Chest(msgspec.Struct, frozen=True):
    """A film as a question shows it. `side` and `zone` say where its finding lies, or are empty."""

    pixels: Pixels
    view: str
    sex: str
    age: int
    side: str
    zone: str


def chest(rng: np.random.Generator, finding: str | None) -> Chest:
    one = film(rng, view=("PA", "AP")[int(rng.integers(2))], finding=finding)
    words = one.phrase.replace(",", " ").split()
    small = Image.fromarray(one.pixels).resize((_FILM, _FILM), Image.Resampling.BOX)
    return Chest(
        np.asarray(small),
        one.person.view,
        one.person.sex,
        one.person.age,
        next((word for word in words if word in ("right", "left")), ""),
        next((word for word in words if word in ("upper", "mid", "lower")), ""),
    )


class Heart(msgspec.Struct, frozen=True):
    """An echo frame; `chambers` are boxes (left, top, right, bottom) within each chamber."""

    pixels: Pixels
    person: Patient
    chambers: dict[str, tuple[float, float, float, float]]


def heart(rng: np.random.Generator, *, dilated: bool = False, opened: bool = False) -> Heart:
    """One frame at rest: valves shut at end-diastole, or open while the ventricle fills."""
    drawn = patient(rng)
    share = rng.uniform(0.385, 0.415) if dilated else rng.uniform(0.255, 0.285)
    length = rng.uniform(54, 58)
    person = msgspec.structs.replace(
        drawn,
        length=length,
        radius=share * length,
        right=rng.uniform(14, 17),
        tilt=rng.uniform(-0.1, 0.0),
        gain=rng.uniform(-3, 3),
    )
    still = motion(rng, person, np.asarray([0.8 if opened else 1.0]), still=True)
    frame = echo(rng, person, still, np.asarray([1.0 if opened else 0.0]))[0]
    large = Image.fromarray(frame).resize((_ECHO, _ECHO), Image.Resampling.BICUBIC)
    place = (float(still.x[0]), float(still.y[0]))
    size = (float(still.length[0]), float(still.radius[0]))
    return Heart(np.asarray(large), person, _chambers(person, place, size))


def _chambers(
    person: Patient, apex: tuple[float, float], size: tuple[float, float]
) -> dict[str, tuple[float, float, float, float]]:
    """A box well inside each chamber, from the heart's own axes to the picture's pixels."""
    length, radius = size
    atria = length + 0.5 * person.atrial_height
    beside = 1 - person.atrium - 3.2 - person.right_atrium
    middles = {
        "left ventricle": (0.0, 0.62 * length, 0.55 * radius),
        "right ventricle": (-radius - person.wall - 0.45 * person.right, 0.8 * length, 4.5),
        "left atrium": (1.0, atria, 0.45 * person.atrium),
        "right atrium": (beside, atria, 0.45 * person.right_atrium),
    }
    cos, sin, scale = np.cos(person.tilt), np.sin(person.tilt), _ECHO / ECHO
    boxes = {}
    for name, (x, y, half) in middles.items():
        across, down = apex[0] + x * cos - y * sin, apex[1] + y * cos + x * sin
        boxes[name] = (
            float((across - half) * scale),
            float((down - half) * scale),
            float((across + half) * scale),
            float((down + half) * scale),
        )
    return boxes


# ---------------------------------------------------------------- what a question adds


def _coloured(pixels: Pixels) -> Pixels:
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def marked(pixels: Pixels, box: tuple[float, float, float, float]) -> Pixels:
    """The picture with a red frame around a region."""
    image = Image.fromarray(_coloured(pixels))
    ImageDraw.Draw(image).rectangle(box, outline=_RED, width=3)
    return np.asarray(image)


def side_by_side(left: Pixels, right: Pixels) -> Pixels:
    """Two pictures of one size as one, as the published set pairs them."""
    gap = np.full((left.shape[0], _GAP, *left.shape[2:]), 255, np.uint8)
    return np.hstack([left, gap, right])


def degraded(rng: np.random.Generator, pixels: Pixels) -> Pixels:
    """The same picture out of focus, of low contrast and noisy."""
    sigma = (3.2, 3.2, 0)[: pixels.ndim]
    dull = 0.55 * ndimage.gaussian_filter(pixels.astype(np.float32), sigma) + 60
    noisy = dull + rng.normal(0, 14, pixels.shape)
    found: Pixels = np.clip(noisy, 0, 255).astype(np.uint8)
    return found
