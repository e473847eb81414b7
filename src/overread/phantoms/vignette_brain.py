"""Views of the head: one slice, or two of different dates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from PIL import Image

from overread.phantoms.vignette_head import (
    DISEASES,
    MM,
    REGIONS,
    SHAPES,
    Focus,
    Grey,
    head,
    ruled,
    specks,
)
from overread.phantoms.vignette_pictures import panels
from overread.phantoms.vignette_view import Facts, Pixels, View, numbers

__all__ = ["BRAIN", "CHANGES", "focus_in", "half"]

BAR = 20
"""Millimetres of the bar on slices that have one."""
CHANGES: Final[Mapping[str, float]] = {
    "shrunk to about half": 0.5,
    "shrunk by about a quarter": 0.74,
    "stayed about the same": 1.0,
    "grown by about a third": 1.35,
    "grown to about double": 2.0,
}
_LOOKS: Final[Mapping[str, str]] = {
    "subdural haematoma": "a crescent-shaped high density along the whole inner table on the "
    "patient's {side}, its inner boundary concave",
    "epidural haematoma": "a lens-shaped high density that bulges from the inner table on the "
    "patient's {side}, its inner boundary convex",
    "intracerebral haemorrhage": "a homogeneous mass of high density with a wavy boundary deep in "
    "the patient's {side} hemisphere",
    "territorial infarct": "a wedge of low density with straight boundaries in the "
    "patient's {side} hemisphere, without the texture of folds",
    "hydrocephalus": "both ventricles wide, plump and of low density with smooth boundaries",
}
_TALL, _CUT = (124, 150), 22


def half(pixels: Grey) -> Grey:
    """A slice as one of two panels."""
    image = Image.fromarray(pixels[:, _CUT:-_CUT])
    return np.asarray(image.resize(_TALL, Image.Resampling.LANCZOS))


def focus_in(region: str, mm: float, shape: str = SHAPES[0]) -> Focus:
    """A lesion in a region."""
    return Focus(*REGIONS[region], mm * MM, shape)


def _ct(rng: np.random.Generator, facts: Facts) -> Pixels:
    dots = specks(rng, int(facts["specks"]))
    return head(rng, disease=facts["disease"], side=facts["side"], foci=dots)


def _dots(count: str) -> str:
    return "1 tiny round dot" if count == "1" else f"{count} tiny round dots"


def _ct_seen(facts: Facts) -> str:
    look = _LOOKS[facts["disease"]].format(side=facts["side"])
    return (
        f"Axial CT of the head: {look}. Within the skull {_dots(facts['specks'])} of bone "
        "density with a sharp boundary."
    )


def _mri(rng: np.random.Generator, facts: Facts) -> Pixels:
    focus = focus_in(facts["region"], int(facts["across"]), facts["shape"])
    return ruled(head(rng, mri=True, foci=[focus]), BAR)


def _mri_seen(facts: Facts) -> str:
    return (
        "Axial T2-weighted MRI of the head: bright slender ventricles, grey brain of folded "
        f"texture. In the {facts['region']} a bright lesion, {facts['shape']}, with a sharp "
        f"boundary and a longest diameter of {facts['across']} mm. The bar is {BAR} mm."
    )


def _followed(rng: np.random.Generator, facts: Facts) -> Pixels:
    ratio = CHANGES[facts["change"]]
    # Whatever the change, the larger of the two diameters fits its lobe and says nothing.
    larger = rng.uniform(24, 28)
    sizes = (larger, larger * ratio) if ratio <= 1 else (larger / ratio, larger)
    first, second = (
        half(head(rng, mri=True, foci=[focus_in(facts["region"], mm)])) for mm in sizes
    )
    return panels(first, second)


def _followed_seen(facts: Facts) -> str:
    return (
        "Two axial T2-weighted MRI slices of one head, the earlier on the left. Each shows one "
        f"round, solid, bright lesion with a sharp boundary in the {facts['region']}; from left to "
        f"right its diameter has {facts['change']}."
    )


def counted(facts: Facts) -> tuple[int, int]:
    """Dots of the earlier and of the later slice, which a line through both continues."""
    step = int(facts["step"])
    return int(facts["next"]) - 2 * step, int(facts["next"]) - step


def _course(rng: np.random.Generator, facts: Facts) -> Pixels:
    first, second = (half(head(rng, foci=specks(rng, count))) for count in counted(facts))
    return panels(first, second)


def _course_seen(facts: Facts) -> str:
    first, second = (_dots(str(count)) for count in counted(facts))
    return (
        "Two axial CT slices of one head, the earlier on the left, with normal slender ventricles. "
        f"Within the skull {first} of the density of bone on the left and {second} on the right, "
        "each with a sharp boundary."
    )


_NERVES: Final = {"system": "Nervous"}
BRAIN: Final[Mapping[str, View]] = {
    "ct": View(
        modality="CT",
        facets={"disease": DISEASES, "side": ("left", "right"), "specks": numbers(1, 6)},
        draw=_ct,
        caption=_ct_seen,
        **_NERVES,
    ),
    "mri": View(
        modality="MRI",
        facets={"region": tuple(REGIONS), "shape": SHAPES, "across": numbers(8, 24, 4)},
        draw=_mri,
        caption=_mri_seen,
        **_NERVES,
    ),
    "followed": View(
        modality="MRI",
        facets={"change": tuple(CHANGES), "region": tuple(REGIONS)},
        draw=_followed,
        caption=_followed_seen,
        **_NERVES,
    ),
    "course": View(
        modality="CT",
        facets={"next": numbers(7, 12), "step": numbers(1, 3)},
        draw=_course,
        caption=_course_seen,
        **_NERVES,
    ),
}
