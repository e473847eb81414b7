"""A picture with what a question needs to know of it: who it is of and what is seen."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from scipy import ndimage

from overread.phantoms.chest_film import film
from overread.phantoms.heart import echo
from overread.phantoms.heart_body import SIDE as ECHO
from overread.phantoms.heart_body import Patient, motion, patient
from overread.phantoms.sets import one_of, read_facts
from overread.phantoms.smear import Smear, smear

# ---------------------------------------------------------------- what is known


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition: its name, what it looks like, and what a clinician adds.

    `{side}` and `{zone}` in a look stand for where a film shows it. Each list of true statements
    goes with one sentence of reasoning.
    """

    name: str
    looks: tuple[str, ...]
    actions: tuple[str, ...]
    causes: tuple[str, ...]
    predictions: tuple[str, ...]
    symptoms: tuple[str, ...]
    action: str
    cause: str
    prediction: str
    symptom: str


class _Examination(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its name in an answer, which of the paper's 24 kinds it is, how a gold step names it."""

    name: str
    kind: str
    forms: tuple[str, ...]
    look: str


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a truth is put, with words in braces.

    `ask` asks for one answer and `every` for each; `claim` states one answer `{x}`. `told` are the
    steps of reasoning after the one that names the examination: feature, conclusion, analysis.
    """

    ask: tuple[str, ...]
    claim: str
    told: tuple[str, ...]
    every: str = ""


class _Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The textbook facts, by the keys of findings, of smears, of cells and valves, of questions."""

    chest: dict[str, Condition]
    smear: dict[str, Condition]
    functions: dict[str, str]
    wrong: dict[str, tuple[str, ...]]
    cells: dict[str, str]
    chambers: dict[str, str]
    states: dict[str, dict[str, tuple[str, ...]]]
    examinations: dict[str, _Examination]
    asked: dict[str, Asked]


FACTS: Final = read_facts("question_facts.toml", _Facts)


# ---------------------------------------------------------------- pictures

Pixels: TypeAlias = npt.NDArray[np.uint8]

_FILM = 640  # a film's side in a question; readers are shown 768 at most
_ECHO = 448
_GAP = 12
_RED = (220, 30, 30)


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
        corners = (across - half, down - half, across + half, down + half)
        left, top, right, bottom = (float(corner * scale) for corner in corners)
        boxes[name] = (left, top, right, bottom)
    return boxes


# ---------------------------------------------------------------- what a question adds


def coloured(pixels: Pixels) -> Pixels:
    """The same in three channels."""
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def marked(pixels: Pixels, box: tuple[float, float, float, float]) -> Pixels:
    """The picture with a red frame around a region."""
    image = Image.fromarray(coloured(pixels))
    ImageDraw.Draw(image).rectangle(box, outline=_RED, width=3)
    return np.asarray(image)


def side_by_side(left: Pixels, right: Pixels, gap: int = _GAP) -> Pixels:
    """Two pictures of one height as one, as the published sets pair them."""
    white = np.full((left.shape[0], gap, *left.shape[2:]), 255, np.uint8)
    return np.hstack([left, white, right])


def degraded(rng: np.random.Generator, pixels: Pixels) -> Pixels:
    """The same picture out of focus, of low contrast and noisy."""
    sigma = (3.2, 3.2, 0)[: pixels.ndim]
    dull = 0.55 * ndimage.gaussian_filter(pixels.astype(np.float32), sigma) + 60
    noisy = dull + rng.normal(0, 14, pixels.shape)
    return np.asarray(np.clip(noisy, 0, 255), np.uint8)


# ---------------------------------------------------------------- scenes


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, its patient, and the first two steps of any reasoning about it."""

    pixels: Pixels
    sex: str
    age: int
    # One of the paper's 24 names.
    examination: str
    modality: str
    look: str = ""
    condition: Condition | None = None
    side: str = ""
    heart: Heart | None = None


def _scene(
    rng: np.random.Generator, source: str, pixels: Pixels, sex: str, age: int, view: str = ""
) -> Scene:
    shown = FACTS.examinations[source]
    step = one_of(rng, shown.forms).format(view=view)
    return Scene(pixels=pixels, sex=sex, age=age, examination=shown.kind, modality=step)


def film_of(rng: np.random.Generator, *findings: str) -> Scene:
    """A film with one of these findings, or any."""
    finding = one_of(rng, findings or tuple(FACTS.chest))
    view, condition = one_of(rng, ("PA", "AP")), FACTS.chest[finding]
    shown = film(rng, view=view, finding=finding)
    small = Image.fromarray(shown.pixels).resize((_FILM, _FILM), Image.Resampling.BOX)
    scene = _scene(rng, "chest", np.asarray(small), shown.person.sex, shown.person.age, view)
    look = one_of(rng, condition.looks).format(side=shown.side, zone=shown.zone)
    return msgspec.structs.replace(scene, look=look, condition=condition, side=shown.side)


def echo_scene(rng: np.random.Generator, *, dilated: bool = False, opened: bool = False) -> Scene:
    """An echo frame; what is seen is for the question to say."""
    shown = heart(rng, dilated=dilated, opened=opened)
    scene = _scene(rng, "heart", shown.pixels, shown.person.sex, shown.person.age)
    return msgspec.structs.replace(scene, heart=shown)


def blood(rng: np.random.Generator, field: Smear) -> Scene:
    """A smear of somebody; what is seen is for the question to say."""
    sex, age = one_of(rng, "FM"), int(rng.integers(19, 90))
    return _scene(rng, "smear", field.pixels, sex, age)


def sick_blood(rng: np.random.Generator) -> Scene:
    """A smear that shows one of the conditions."""
    key = one_of(rng, tuple(FACTS.smear))
    platelets, reds = int(rng.integers(4, 9)), int(rng.integers(55, 75))
    if key == "eosinophilia":
        whites = ["eosinophil"] * int(rng.integers(3, 6)) + ["neutrophil"]
        field = smear(rng, whites=whites, platelets=platelets, reds=reds)
    elif key == "pale":
        field = smear(rng, whites=["lymphocyte"], platelets=platelets, reds=reds, red="pale")
    else:
        sickled = int(rng.integers(9, 16))
        field = smear(rng, whites=["neutrophil"], platelets=platelets, reds=reds, sickled=sickled)
    condition = FACTS.smear[key]
    look = one_of(rng, condition.looks)  # before the patient is drawn
    return msgspec.structs.replace(blood(rng, field), look=look, condition=condition)
