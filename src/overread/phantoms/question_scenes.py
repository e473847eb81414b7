"""A picture with what a question needs to know of it: who it is of and what is seen."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from overread.phantoms.question_facts import CHEST, SMEAR, Condition
from overread.phantoms.question_pictures import Heart, Pixels, chest, heart
from overread.phantoms.question_words import one_of
from overread.phantoms.smear import Smear, smear

__all__ = ["EXAMINATIONS", "Scene", "blood", "echo_scene", "examination", "film_of", "sick_blood"]

EXAMINATIONS: Final = {
    "chest": "chest X-ray",
    "heart": "transthoracic echocardiography",
    "smear": "peripheral blood smear",
}


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, its patient, and the first two steps of any reasoning about it."""

    pixels: Pixels
    sex: str
    age: int
    # One of the paper's 24 names.
    examination: str
    modality: str
    look: str
    condition: Condition | None = None
    side: str = ""
    zone: str = ""
    heart: Heart | None = None
    smear: Smear | None = None


def examination(rng: np.random.Generator, source: str, view: str = "") -> str:
    """The gold step that names the examination."""
    forms = {
        "chest": (
            f"This is a frontal chest X-ray in {view} projection.",
            f"The examination is a chest X-ray, {view} projection.",
        ),
        "heart": (
            "This is a transthoracic echocardiography frame, apical four-chamber view.",
            "The examination is transthoracic echocardiography in the apical four-chamber view.",
        ),
        "smear": (
            "This is a peripheral blood smear with Wright-Giemsa stain under the microscope.",
            "The examination is light microscopy of a stained peripheral blood smear.",
        ),
    }
    return one_of(rng, forms[source])


def film_of(rng: np.random.Generator, *findings: str) -> Scene:
    """A film with one of these findings, or any."""
    finding = one_of(rng, findings or tuple(CHEST))
    shown, condition = chest(rng, finding), CHEST[finding]
    return Scene(
        pixels=shown.pixels,
        sex=shown.sex,
        age=shown.age,
        examination="X-ray",
        modality=examination(rng, "chest", shown.view),
        look=one_of(rng, condition.looks).format(side=shown.side, zone=shown.zone),
        condition=condition,
        side=shown.side,
        zone=shown.zone,
    )


def echo_scene(rng: np.random.Generator, *, dilated: bool = False, opened: bool = False) -> Scene:
    """An echo frame; what is seen is for the question to say."""
    shown = heart(rng, dilated=dilated, opened=opened)
    return Scene(
        pixels=shown.pixels,
        sex=shown.person.sex,
        age=shown.person.age,
        examination="ultrasound",
        modality=examination(rng, "heart"),
        look="",
        heart=shown,
    )


def blood(rng: np.random.Generator, field: Smear, look: str = "", **more: Condition) -> Scene:
    """A smear of somebody."""
    return Scene(
        pixels=field.pixels,
        sex="FM"[int(rng.integers(2))],
        age=int(rng.integers(19, 90)),
        examination="cytology",
        modality=examination(rng, "smear"),
        look=look,
        smear=field,
        condition=more.get("condition"),
    )


def sick_blood(rng: np.random.Generator) -> Scene:
    """A smear that shows one of the conditions."""
    key = one_of(rng, tuple(SMEAR))
    platelets, reds = int(rng.integers(4, 9)), int(rng.integers(55, 75))
    if key == "eosinophilia":
        whites = ["eosinophil"] * int(rng.integers(3, 6)) + ["neutrophil"]
        field = smear(rng, whites=whites, platelets=platelets, reds=reds)
    elif key == "pale":
        field = smear(rng, whites=["lymphocyte"], platelets=platelets, reds=reds, red="pale")
    else:
        sickled = int(rng.integers(9, 16))
        field = smear(rng, whites=["neutrophil"], platelets=platelets, reds=reds, sickled=sickled)
    condition = SMEAR[key]
    return blood(rng, field, one_of(rng, condition.looks), condition=condition)
