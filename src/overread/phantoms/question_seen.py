"""Questions about cells, chambers and valves: what it is, where, how many, what it does."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
import numpy as np

from overread.phantoms.question_facts import FUNCTIONS, HEART
from overread.phantoms.question_pictures import marked
from overread.phantoms.question_scenes import Scene, blood, echo_scene
from overread.phantoms.question_words import Truth, one_of, steps
from overread.phantoms.smear import SIDE, Cell, Smear, smear
from overread.phantoms.smear_cells import WHITE_CELLS

__all__ = [
    "cell_function",
    "cell_place",
    "cell_recognised",
    "cell_referred",
    "cells_counted",
    "chamber_referred",
    "echo_scene_of",
    "heart_diagnosis",
    "valve_function",
    "valve_recognised",
]

Item: TypeAlias = tuple[Scene, Truth]

_LOOKS: Final = {
    "neutrophil": "Three to five nuclear lobes on thin strands in pale pink cytoplasm.",
    "eosinophil": "A bilobed nucleus amid coarse orange granules.",
    "lymphocyte": "A dense round nucleus that leaves only a thin blue rim.",
    "monocyte": "A large body in grey-blue with an indented, kidney-shaped nucleus.",
}
_SHUT: Final = "Two leaflets meet in a line between the lower right and the upper right chamber."
_OPEN: Final = "Two leaflets point apart into the upper right chamber and leave a gap."


def echo_scene_of(rng: np.random.Generator) -> Scene:
    return echo_scene(rng, opened=bool(rng.integers(2)))


# ---------------------------------------------------------------- the heart


def heart_diagnosis(rng: np.random.Generator) -> Item:
    dilated = bool(rng.integers(2))
    scene = echo_scene(rng, dilated=dilated)
    looks = ("slender, much longer than wide", "round and wide, bulging to both sides")
    name = HEART["dilated" if dilated else "normal"]
    other = HEART["normal" if dilated else "dilated"]
    return scene, Truth(
        ask=("What does the image show of the left ventricle?",),
        claim="the image shows a {x}.",
        right=(name,),
        wrong=(other, "left ventricle filled by a tumour"),
        steps=steps(
            scene.modality,
            f"The largest chamber is {looks[dilated]}.",
            f"The conclusion is a {name}.",
        ),
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
        steps=steps(scene.modality, _OPEN if opened else _SHUT, f"The mitral valve is {state}."),
    )


def valve_function(rng: np.random.Generator) -> Item:
    scene = echo_scene(rng)
    others = [text for name, text in FUNCTIONS.items() if name != "mitral valve"]
    return scene, Truth(
        ask=("What is the function of the valve on the right of this image?",),
        every="Which of these is a function of the valve on the right of this image?",
        claim="of the valve on the right of this image one may say: {x}.",
        right=(FUNCTIONS["mitral valve"],),
        wrong=tuple(others),
        steps=steps(
            scene.modality,
            _SHUT,
            "The structure is the mitral valve.",
            "Shut in systole, it stops regurgitation into the left atrium.",
        ),
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
        steps=steps(
            scene.modality,
            f"The frame lies in the {places[name]} of four dark cavities, the apex being on top.",
            f"The marked structure is the {name}.",
        ),
    )


# ---------------------------------------------------------------- blood


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
        steps=steps(scene.modality, scene.look, f"The cell is recognised as {_a(cell.kind)}."),
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
        steps=steps(
            scene.modality,
            f"Within the frame: {scene.look}",
            f"The marked cell is {_a(cell.kind)}.",
        ),
    )


def cell_function(rng: np.random.Generator) -> Item:
    field, cell = _with_one(rng)
    scene = blood(rng, field, _LOOKS[cell.kind])
    others = [text for name, text in FUNCTIONS.items() if name != cell.kind]
    does = FUNCTIONS[cell.kind].removeprefix("It ")
    return scene, Truth(
        ask=("What is the function of the white cell in this image?",),
        every="Which of these is a function of the white cell in this image?",
        claim="of the white cell in this image one may say: {x}.",
        right=(FUNCTIONS[cell.kind],),
        wrong=tuple(others),
        steps=steps(
            scene.modality, scene.look, f"The cell is {_a(cell.kind)}.", f"This kind {does}."
        ),
    )


def cell_place(rng: np.random.Generator) -> Item:
    while True:
        field, cell = _with_one(rng)
        # A cell on a border between quarters has no quarter.
        if abs(cell.x - SIDE / 2) > cell.radius and abs(cell.y - SIDE / 2) > cell.radius:
            break
    scene = blood(rng, field, _LOOKS[cell.kind])
    place = _quarter(cell)
    quarters = [f"{v} {h}" for v in ("upper", "lower") for h in ("left", "right")]
    return scene, Truth(
        ask=("In which quarter of the image is the white cell?", "Where is the white cell?"),
        claim="the white cell lies in the {x}.",
        right=(f"{place} quarter",),
        wrong=tuple(f"{other} quarter" for other in quarters if other != place),
        steps=steps(
            scene.modality, scene.look, f"The white cell is located in the {place} quarter."
        ),
    )


def _quarter(cell: Cell) -> str:
    across = "left" if cell.x < SIDE / 2 else "right"
    return f"{'upper' if cell.y < SIDE / 2 else 'lower'} {across}"


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
        steps=steps(
            scene.modality,
            f"Scattered between the pink discs lie {look}.",
            f"The count of {what} is {count}.",
        ),
    )
