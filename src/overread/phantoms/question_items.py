"""What each task asks of a phantom: a picture, and what is true of it by construction.

Steps keep to themselves: a feature names no examination and a conclusion no feature, so that their
order can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from overread.benchmarks.m3cot.cases import Kind
from overread.phantoms.question_compared import better_picture, larger_heart, more_sickled
from overread.phantoms.question_facts import CHEST, SMEAR, WRONG
from overread.phantoms.question_scenes import EXAMINATIONS, Scene, film_of, sick_blood
from overread.phantoms.question_seen import (
    cell_function,
    cell_place,
    cell_recognised,
    cell_referred,
    cells_counted,
    chamber_referred,
    echo_scene_of,
    heart_diagnosis,
    valve_function,
    valve_recognised,
)
from overread.phantoms.question_words import Truth, one_of, steps

__all__ = ["BUILDERS", "Builder", "Item", "kinds_of"]

Item: TypeAlias = tuple[Scene, Truth]
Builder: TypeAlias = Callable[[np.random.Generator], Item]

_SCENES: Final[Mapping[str, Callable[[np.random.Generator], Scene]]] = {
    "chest": film_of,
    "smear": sick_blood,
}
# What a clinician adds, by task: the facts, the sentence, how it is asked and claimed.
_ADDED: Final[Mapping[str, tuple[str, str, tuple[str, ...], str, str]]] = {
    "Action": (
        "actions",
        "action",
        ("What is the appropriate next step?", "Which measure is appropriate here?"),
        "Which of these measures are appropriate?",
        "an appropriate measure here is: {x}.",
    ),
    "Cause": (
        "causes",
        "cause",
        ("What is a typical cause of this condition?", "What may well have led to this?"),
        "Which of the following are potential causes of this condition?",
        "a potential cause of this condition is: {x}.",
    ),
    "Prediction": (
        "predictions",
        "prediction",
        ("What is to be expected of this condition?", "How may this condition develop?"),
        "Which of these developments are to be expected of this condition?",
        "of this condition one may say: {x}.",
    ),
    "Symptom": (
        "symptoms",
        "symptom",
        ("Which symptom is this patient likely to have?", "What is the patient likely to feel?"),
        "Which of these symptoms is this patient likely to have?",
        "the patient is likely to have this symptom: {x}.",
    ),
}


def _added(task: str, source: str) -> Builder:
    """A question about what lies beyond the picture: four steps."""
    facts, sentence, ask, every, claim = _ADDED[task]

    def build(rng: np.random.Generator) -> Item:
        scene = _SCENES[source](rng)
        condition = scene.condition
        assert condition is not None
        wrong = [WRONG[facts][int(k)] for k in rng.permutation(len(WRONG[facts]))]
        told = steps(
            scene.modality,
            scene.look,
            _diagnosed(rng, condition.name),
            getattr(condition, sentence),
        )
        return scene, Truth(
            ask=ask,
            every=every,
            claim=claim,
            right=getattr(condition, facts),
            wrong=tuple(wrong),
            steps=told,
        )

    return build


def _diagnosed(rng: np.random.Generator, name: str) -> str:
    return one_of(rng, (f"The likely diagnosis is {name}.", f"The findings point to {name}."))


def _diagnosis(source: str) -> Builder:
    known = CHEST if source == "chest" else SMEAR

    def build(rng: np.random.Generator) -> Item:
        scene = _SCENES[source](rng)
        condition = scene.condition
        assert condition is not None
        others = [one.name for one in known.values() if one is not condition]
        more = [] if len(others) > 2 else ["polycythaemia vera", "malaria"]
        return scene, Truth(
            ask=(
                "What is the correct diagnosis based on this image?",
                "Which diagnosis does the image show?",
            ),
            claim="the image shows {x}.",
            right=(condition.name,),
            wrong=(*others, *more),
            steps=steps(scene.modality, scene.look, _diagnosed(rng, condition.name)),
        )

    return build


def _examination(source: str) -> Builder:
    looks = {
        "chest": "Ribs and lungs in shades of grey by their density, with the mediastinum between.",
        "heart": "A fan-shaped sector with speckled walls around four black chambers.",
        "smear": "Pink discs without nuclei, larger violet-stained cells and small flecks.",
    }

    def build(rng: np.random.Generator) -> Item:
        scene = echo_scene_of(rng) if source == "heart" else _SCENES[source](rng)
        others = [name for key, name in EXAMINATIONS.items() if key != source]
        return scene, Truth(
            ask=("Which examination is this?", "By which examination was this image made?"),
            claim="this image comes from {x}.",
            right=(EXAMINATIONS[source],),
            wrong=(*others, "colonoscopy", "dermoscopy"),
            steps=steps(scene.modality, looks[source]),
        )

    return build


def _chest_place(rng: np.random.Generator) -> Item:
    scene = film_of(rng, "pneumothorax", "pleural_effusion", "pneumonia")
    condition = scene.condition
    assert condition is not None
    other = "left" if scene.side == "right" else "right"
    return scene, Truth(
        ask=(f"Where is the {condition.name}?", f"On which side does the {condition.name} lie?"),
        claim=f"the {condition.name} lies on {{x}}.",
        right=(f"the patient's {scene.side} side",),
        wrong=(f"the patient's {other} side", "both sides"),
        steps=steps(
            scene.modality,
            scene.look,
            f"The {condition.name} lies on the patient's {scene.side} side.",
        ),
    )


BUILDERS: Final[Mapping[str, tuple[Builder, ...]]] = {
    "Diagnosis": (_diagnosis("chest"), _diagnosis("smear"), heart_diagnosis),
    "Recognition": (cell_recognised, valve_recognised),
    "Action": (_added("Action", "chest"), _added("Action", "smear")),
    "Localization": (_chest_place, cell_place),
    "Cause": (_added("Cause", "smear"), _added("Cause", "chest")),
    "Examination Type": tuple(map(_examination, ("heart", "smear", "chest"))),
    "Function": (cell_function, valve_function),
    "Referring Recognition": (chamber_referred, cell_referred),
    "Prediction": (_added("Prediction", "chest"), _added("Prediction", "smear")),
    "Grading": (larger_heart, more_sickled),
    "Counting": (cells_counted,),
    "Image Quality": (better_picture("heart"), better_picture("chest"), better_picture("smear")),
    "Symptom": (_added("Symptom", "smear"), _added("Symptom", "chest")),
}
"""By task, the ways to make an item, which take turns."""

_ALL: Final[tuple[Kind, ...]] = ("multiple", "bool", "single", "short")
_ONE: Final[tuple[Kind, ...]] = ("single", "short", "bool")
# Open questions have one answer; of these there are several as good.
_SEVERAL: Final[tuple[Kind, ...]] = ("multiple", "bool", "single")


def kinds_of(task: str) -> tuple[Kind, ...]:
    """The kinds of question a task may be put as, which take turns."""
    if task in _ADDED:
        return _SEVERAL
    return _ALL if task == "Function" else _ONE
