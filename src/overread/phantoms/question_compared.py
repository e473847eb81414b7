"""Two pictures side by side: which has more of something, which is the better picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
import numpy as np

from overread.phantoms.question_pictures import degraded, heart, side_by_side
from overread.phantoms.question_scenes import Scene, blood, echo_scene, film_of
from overread.phantoms.question_words import Truth, one_of, steps
from overread.phantoms.smear import smear

__all__ = ["better_picture", "larger_heart", "more_sickled"]

Item: TypeAlias = tuple[Scene, Truth]


def larger_heart(rng: np.random.Generator) -> Item:
    """Two hearts, one ventricle dilated."""
    scene = echo_scene(rng, dilated=True)
    other = heart(rng).pixels
    where, side = _sides(rng, scene, other)
    return side, Truth(
        ask=("In which image is the dilatation of the left ventricle more severe?",),
        claim="the dilatation of the left ventricle is more severe in {x}.",
        right=(f"the {where} image",),
        wrong=(f"the {_opposite(where)} image",),
        steps=steps(
            scene.modality,
            f"The largest chamber is round and wide on the {where}, slender on the "
            f"{_opposite(where)}.",
            f"Dilatation of the left ventricle is more severe in the {where} image.",
        ),
    )


def more_sickled(rng: np.random.Generator) -> Item:
    """Two fields, one with many crescents and one with few."""
    many, few = int(rng.integers(12, 17)), int(rng.integers(2, 5))
    fields = [smear(rng, sickled=k, platelets=int(rng.integers(3, 8))) for k in (many, few)]
    scene = blood(rng, fields[0])
    where, side = _sides(rng, scene, fields[1].pixels)
    return side, Truth(
        ask=("In which image is the sickling more severe?",),
        claim="sickling is more severe in {x}.",
        right=(f"the {where} image",),
        wrong=(f"the {_opposite(where)} image",),
        steps=steps(
            scene.modality,
            f"There are {many} crescents on the {where} and {few} on the {_opposite(where)}.",
            f"The severity of sickling is greater in the {where} image.",
        ),
    )


def better_picture(source: str) -> Callable[[np.random.Generator], Item]:
    """The same picture twice, once out of focus and noisy."""

    def build(rng: np.random.Generator) -> Item:
        if source == "heart":
            scene = echo_scene(rng)
        elif source == "chest":
            scene = film_of(rng)
        else:
            scene = blood(rng, smear(rng, whites=["neutrophil", "lymphocyte"], platelets=5))
        where, side = _sides(rng, scene, degraded(rng, scene.pixels))
        return side, Truth(
            ask=("Which image is of higher quality?", "Which of the two images is the better one?"),
            claim="{x} is of higher quality than the other.",
            right=(f"the {where} image",),
            wrong=(f"the {_opposite(where)} image",),
            steps=steps(
                scene.modality,
                f"Edges are sharp on the {where}; on the {_opposite(where)} they are blurred, dull "
                "and noisy.",
                f"Diagnostic quality is higher in the {where} image.",
            ),
        )

    return build


def _sides(
    rng: np.random.Generator, scene: Scene, other: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> tuple[str, Scene]:
    """Where the scene's own picture stands, and both as one."""
    where = one_of(rng, ("left", "right"))
    pair = (scene.pixels, other) if where == "left" else (other, scene.pixels)
    return where, msgspec.structs.replace(scene, pixels=side_by_side(*pair))


def _opposite(side: str) -> str:
    return "right" if side == "left" else "left"
