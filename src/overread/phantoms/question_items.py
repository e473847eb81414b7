"""What each task asks of a phantom: a picture, and what is true of it by construction.

Steps keep to themselves: a feature names no examination and a conclusion no feature, so that their
order can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_uppercase
from typing import Final, TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import Kind
from overread.phantoms.question_scenes import (
    EXAMINATIONS,
    FACTS,
    Pixels,
    Scene,
    blood,
    degraded,
    echo_scene,
    film_of,
    heart,
    marked,
    sick_blood,
    side_by_side,
)
from overread.phantoms.sets import one_of
from overread.phantoms.smear import SIDE, WHITE_CELLS, Cell, Smear, smear

# ---------------------------------------------------------------- how a question is put
#
# The same truth as a choice, as several, as true or false, or open. Every question opens with a
# line on the patient whose record number no other has, so that no two questions of a set are alike.


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a picture, before it is put as a question.

    `ask` asks for one answer and `every` for each; `claim` states one answer `{x}`. `told` are the
    steps of reasoning after the one that names the examination: feature, conclusion, analysis.
    """

    ask: tuple[str, ...]
    claim: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    told: tuple[str, ...]
    every: str = ""


def opening(rng: np.random.Generator, record: int, sex: str, age: int) -> str:
    """Who the patient is. `record` is unique within a set."""
    who = f"{age}-year-old {'woman' if sex == 'F' else 'man'}"
    a = "an" if str(age)[0] == "8" else "a"
    forms = (
        f"Record {record:05d}: {a} {who}.",
        f"The image belongs to record {record:05d}, of {a} {who}.",
        f"Patient of record {record:05d} ({who}).",
    )
    return one_of(rng, forms)


def asked(rng: np.random.Generator, truth: Truth, kind: Kind, opened: str) -> tuple[str, str]:
    """The question of that kind, and its answer."""
    if kind == "bool":
        holds = bool(rng.integers(2))
        x = one_of(rng, truth.right if holds else truth.wrong)
        x = x[0].lower() + x[1:] if x[:2] != "It" and not truth.claim.startswith("{x}") else x
        return f"{opened} True or false: {truth.claim.format(x=x)}", str(holds)
    if kind == "short":
        return f"{opened} {one_of(rng, truth.ask)}", truth.right[0]
    if kind == "single":
        right, stem = truth.right[:1], f"{one_of(rng, truth.ask)} (Select one option)"
    else:
        right, stem = truth.right, f"{truth.every} (Select all that apply)"
    options = [*right, *truth.wrong[: 5 - len(right)]]
    order = rng.permutation(len(options))
    lines = [f"{letter}. {options[k]}" for letter, k in zip(ascii_uppercase, order, strict=False)]
    letters = [letter for letter, k in zip(ascii_uppercase, order, strict=False) if k < len(right)]
    return "\n".join((f"{opened} {stem}", *lines)), ", ".join(letters)


Item: TypeAlias = tuple[Scene, Truth]
Builder: TypeAlias = Callable[[np.random.Generator], Item]

_LOOKS: Final = {
    "neutrophil": "Three to five nuclear lobes on thin strands in pale pink cytoplasm.",
    "eosinophil": "A bilobed nucleus amid coarse orange granules.",
    "lymphocyte": "A dense round nucleus that leaves only a thin blue rim.",
    "monocyte": "A large body in grey-blue with an indented, kidney-shaped nucleus.",
}
_SHUT: Final = "Two leaflets meet in a line between the lower right and the upper right chamber."
_OPEN: Final = "Two leaflets point apart into the upper right chamber and leave a gap."


# ---------------------------------------------------------------- the heart


def heart_diagnosis(rng: np.random.Generator) -> Item:
    dilated = bool(rng.integers(2))
    scene = echo_scene(rng, dilated=dilated)
    looks = ("slender, much longer than wide", "round and wide, bulging to both sides")
    names = ("left ventricle of normal size", "dilated left ventricle")
    name, other = names[dilated], names[not dilated]
    return scene, Truth(
        ask=("What does the image show of the left ventricle?",),
        claim="the image shows a {x}.",
        right=(name,),
        wrong=(other, "left ventricle filled by a tumour"),
        told=(f"The largest chamber is {looks[dilated]}.", f"The conclusion is a {name}."),
    )


def valve_recognised(rng: np.random.Generator) -> Item:
    opened = bool(rng.integers(2))
    scene = echo_scene(rng, opened=opened)
    state, other = ("open", "closed") if opened else ("closed", "open")
    return scene, Truth(
        ask=("Is the mitral valve open or closed?", "In which state is the mitral valve?"),
        claim="the mitral valve is {x}.",
        right=(state,),
        wrong=(other,),
        told=(_OPEN if opened else _SHUT, f"The mitral valve is {state}."),
    )


def valve_function(rng: np.random.Generator) -> Item:
    return _function(
        echo_scene(rng),
        "mitral valve",
        "the valve on the right of this image",
        _SHUT,
        "The structure is the mitral valve.",
        "Shut in systole, it stops regurgitation into the left atrium.",
    )


def _function(scene: Scene, name: str, what: str, *told: str) -> Item:
    """What the thing of that name does; `what` it is called in the question."""
    return scene, Truth(
        ask=(f"What is the function of {what}?",),
        every=f"Which of these is a function of {what}?",
        claim=f"of {what} one may say: {{x}}.",
        right=(FACTS.functions[name],),
        wrong=tuple(text for other, text in FACTS.functions.items() if other != name),
        told=told,
    )


def chamber_referred(rng: np.random.Generator) -> Item:
    scene = echo_scene(rng)
    assert scene.heart is not None
    names = list(scene.heart.chambers)
    name = one_of(rng, names)
    places = {
        "left ventricle": "upper right",
        "right ventricle": "upper left",
        "left atrium": "lower right",
        "right atrium": "lower left",
    }
    framed = marked(scene.pixels, scene.heart.chambers[name])
    return msgspec.structs.replace(scene, pixels=framed), Truth(
        ask=("Which structure does the red frame mark?", "What lies within the red frame?"),
        claim="the red frame marks the {x}.",
        right=(name,),
        wrong=tuple(other for other in names if other != name),
        told=(
            f"The frame lies in the {places[name]} of four dark cavities, the apex being on top.",
            f"The marked structure is the {name}.",
        ),
    )


# ---------------------------------------------------------------- cells: what, where and how many


def _a(kind: str) -> str:
    return f"{'an' if kind[0] == 'e' else 'a'} {kind}"


def _with_one(rng: np.random.Generator) -> tuple[Smear, Cell]:
    """A field with a single white cell."""
    kind = one_of(rng, tuple(WHITE_CELLS))
    field = smear(rng, whites=[kind], platelets=int(rng.integers(2, 9)))
    return field, next(cell for cell in field.cells if cell.kind == kind)


def cell_recognised(rng: np.random.Generator) -> Item:
    field, cell = _with_one(rng)
    scene = blood(rng, field, _LOOKS[cell.kind])
    return scene, Truth(
        ask=("Which kind of leukocyte is seen?", "What type of white cell does the image show?"),
        claim="the white cell in the image is of the type {x}.",
        right=(cell.kind,),
        wrong=tuple(kind for kind in WHITE_CELLS if kind != cell.kind),
        told=(scene.look, f"The cell is recognised as {_a(cell.kind)}."),
    )


def cell_referred(rng: np.random.Generator) -> Item:
    kinds = [one_of(rng, tuple(WHITE_CELLS)) for _ in range(3)]
    field = smear(rng, whites=kinds, platelets=int(rng.integers(2, 9)))
    cell = next(cell for cell in field.cells if cell.kind in WHITE_CELLS)
    reach = 1.4 * cell.radius
    box = (cell.x - reach, cell.y - reach, cell.x + reach, cell.y + reach)
    scene = blood(rng, field, _LOOKS[cell.kind])
    return msgspec.structs.replace(scene, pixels=marked(field.pixels, box)), Truth(
        ask=("Which cell does the red frame mark?", "What is the cell within the red frame?"),
        claim="the cell in the red frame is of the type {x}.",
        right=(cell.kind,),
        wrong=tuple(kind for kind in WHITE_CELLS if kind != cell.kind),
        told=(f"Within the frame: {scene.look}", f"The marked cell is {_a(cell.kind)}."),
    )


def cell_function(rng: np.random.Generator) -> Item:
    field, cell = _with_one(rng)
    scene = blood(rng, field, _LOOKS[cell.kind])
    does = FACTS.functions[cell.kind].removeprefix("It ")
    what = "the white cell in this image"
    told = (scene.look, f"The cell is {_a(cell.kind)}.", f"This kind {does}.")
    return _function(scene, cell.kind, what, *told)


def cell_place(rng: np.random.Generator) -> Item:
    while True:
        field, cell = _with_one(rng)
        # A cell on a border between quarters has no quarter.
        if abs(cell.x - SIDE / 2) > cell.radius and abs(cell.y - SIDE / 2) > cell.radius:
            break
    scene = blood(rng, field, _LOOKS[cell.kind])
    place = (
        f"{'upper' if cell.y < SIDE / 2 else 'lower'} {'left' if cell.x < SIDE / 2 else 'right'}"
    )
    quarters = [f"{v} {h}" for v in ("upper", "lower") for h in ("left", "right")]
    return scene, Truth(
        ask=("In which quarter of the image is the white cell?", "Where is the white cell?"),
        claim="the white cell lies in the {x}.",
        right=(f"{place} quarter",),
        wrong=tuple(f"{other} quarter" for other in quarters if other != place),
        told=(scene.look, f"The white cell is located in the {place} quarter."),
    )


def cells_counted(rng: np.random.Generator) -> Item:
    whites = [one_of(rng, tuple(WHITE_CELLS)) for _ in range(int(rng.integers(1, 7)))]
    platelets, sickled = int(rng.integers(2, 10)), int(rng.integers(3, 9))
    what = one_of(rng, ("white cells", "platelets", "sickled red cells"))
    field = smear(
        rng,
        whites=whites,
        platelets=platelets,
        reds=50,
        sickled=sickled if what == "sickled red cells" else 0,
    )
    looks = {
        "white cells": (len(whites), "large bodies with violet nuclei"),
        "platelets": (platelets, "small violet flecks without a nucleus"),
        "sickled red cells": (sickled, "pointed crescents"),
    }
    count, look = looks[what]
    scene = blood(rng, field)
    near = [count + d for d in (1, -1, 3, 2) if count + d > 0]
    return scene, Truth(
        ask=(f"How many {what} are there in this image?", f"What is the number of {what} shown?"),
        claim=f"the number of {what} in this image is {{x}}.",
        right=(str(count),),
        wrong=tuple(map(str, near[:3])),
        told=(f"Scattered between the pink discs lie {look}.", f"The count of {what} is {count}."),
    )


# ---------------------------------------------------------------- two pictures side by side


def _compared(
    rng: np.random.Generator,
    scene: Scene,
    other: Pixels,
    ask: tuple[str, ...],
    claim: str,
    *told: str,
) -> Item:
    """The scene's own picture is the one asked for, on either side; `{here}` and `{there}`."""
    here, there = ("left", "right") if rng.integers(2) == 0 else ("right", "left")
    pair = (scene.pixels, other) if here == "left" else (other, scene.pixels)
    return msgspec.structs.replace(scene, pixels=side_by_side(*pair)), Truth(
        ask=ask,
        claim=claim,
        right=(f"the {here} image",),
        wrong=(f"the {there} image",),
        told=tuple(text.format(here=here, there=there) for text in told),
    )


def larger_heart(rng: np.random.Generator) -> Item:
    """Two hearts, one ventricle dilated."""
    return _compared(
        rng,
        echo_scene(rng, dilated=True),
        heart(rng).pixels,
        ("In which image is the dilatation of the left ventricle more severe?",),
        "the dilatation of the left ventricle is more severe in {x}.",
        "The largest chamber is round and wide on the {here}, slender on the {there}.",
        "Dilatation of the left ventricle is more severe in the {here} image.",
    )


def more_sickled(rng: np.random.Generator) -> Item:
    """Two fields, one with many crescents and one with few."""
    many, few = int(rng.integers(12, 17)), int(rng.integers(2, 5))
    fields = [smear(rng, sickled=k, platelets=int(rng.integers(3, 8))) for k in (many, few)]
    return _compared(
        rng,
        blood(rng, fields[0]),
        fields[1].pixels,
        ("In which image is the sickling more severe?",),
        "sickling is more severe in {x}.",
        f"There are {many} crescents on the {{here}} and {few} on the {{there}}.",
        "The severity of sickling is greater in the {here} image.",
    )


def better_picture(source: str) -> Builder:
    """The same picture twice, once out of focus and noisy."""

    def build(rng: np.random.Generator) -> Item:
        if source == "heart":
            scene = echo_scene(rng)
        elif source == "chest":
            scene = film_of(rng)
        else:
            scene = blood(rng, smear(rng, whites=["neutrophil", "lymphocyte"], platelets=5))
        return _compared(
            rng,
            scene,
            degraded(rng, scene.pixels),
            ("Which image is of higher quality?", "Which of the two images is the better one?"),
            "{x} is of higher quality than the other.",
            "Edges are sharp on the {here}; on the {there} they are blurred, dull and noisy.",
            "Diagnostic quality is higher in the {here} image.",
        )

    return build


# ---------------------------------------------------------------- what is known of a condition

_SCENES: Final[Mapping[str, Callable[[np.random.Generator], Scene]]] = {
    "chest": film_of,
    "heart": lambda rng: echo_scene(rng, opened=bool(rng.integers(2))),
    "smear": sick_blood,
}
# What a clinician adds, by task: the facts, how they are asked for and claimed.
_ADDED: Final[Mapping[str, tuple[str, tuple[str, ...], str, str]]] = {
    "Action": (
        "actions",
        ("What is the appropriate next step?", "Which measure is appropriate here?"),
        "Which of these measures are appropriate?",
        "an appropriate measure here is: {x}.",
    ),
    "Cause": (
        "causes",
        ("What is a typical cause of this condition?", "What may well have led to this?"),
        "Which of the following are potential causes of this condition?",
        "a potential cause of this condition is: {x}.",
    ),
    "Prediction": (
        "predictions",
        ("What is to be expected of this condition?", "How may this condition develop?"),
        "Which of these developments are to be expected of this condition?",
        "of this condition one may say: {x}.",
    ),
    "Symptom": (
        "symptoms",
        ("Which symptom is this patient likely to have?", "What is the patient likely to feel?"),
        "Which of these symptoms is this patient likely to have?",
        "the patient is likely to have this symptom: {x}.",
    ),
}


def _added(task: str, source: str) -> Builder:
    """A question about what lies beyond the picture: four steps."""
    facts, ask, every, claim = _ADDED[task]

    def build(rng: np.random.Generator) -> Item:
        scene = _SCENES[source](rng)
        condition = scene.condition
        assert condition is not None
        wrong = [FACTS.wrong[facts][int(k)] for k in rng.permutation(len(FACTS.wrong[facts]))]
        diagnosed = _diagnosed(rng, condition.name)
        return scene, Truth(
            ask=ask,
            every=every,
            claim=claim,
            right=getattr(condition, facts),
            wrong=tuple(wrong),
            told=(scene.look, diagnosed, getattr(condition, facts.removesuffix("s"))),
        )

    return build


def _diagnosed(rng: np.random.Generator, name: str) -> str:
    return one_of(rng, (f"The likely diagnosis is {name}.", f"The findings point to {name}."))


def _diagnosis(source: str) -> Builder:
    known = FACTS.chest if source == "chest" else FACTS.smear

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
            told=(scene.look, _diagnosed(rng, condition.name)),
        )

    return build


def _examination(source: str) -> Builder:
    looks = {
        "chest": "Ribs and lungs in shades of grey by their density, with the mediastinum between.",
        "heart": "A fan-shaped sector with speckled walls around four black chambers.",
        "smear": "Pink discs without nuclei, larger violet-stained cells and small flecks.",
    }

    def build(rng: np.random.Generator) -> Item:
        scene = _SCENES[source](rng)
        others = [name for key, name in EXAMINATIONS.items() if key != source]
        return scene, Truth(
            ask=("Which examination is this?", "By which examination was this image made?"),
            claim="this image comes from {x}.",
            right=(EXAMINATIONS[source],),
            wrong=(*others, "colonoscopy", "dermoscopy"),
            told=(looks[source],),
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
        told=(scene.look, f"The {condition.name} lies on the patient's {scene.side} side."),
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
