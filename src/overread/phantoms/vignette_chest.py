"""Views of the chest: films with a finding and clips or something swallowed, and hearts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Final

import numpy as np

from overread.phantoms.vignette_pictures import CORNERS, OBJECTS, beat_pair, chambers, chest
from overread.phantoms.vignette_view import Facts, Pixels, View, numbers

__all__ = ["CHAMBERS", "CHEST", "FINDINGS", "SITED", "finding_film", "seen_of"]

# What a film generator calls each finding, and what is seen of it.
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "pneumothorax": (
        "pneumothorax",
        "a thin sharp line at the {side} apex with black, structureless space beyond it",
    ),
    "pleural effusion": (
        "pleural_effusion",
        "a homogeneous density over the {side} base whose upper boundary rises to the side wall",
    ),
    "pneumonia": (
        "pneumonia",
        "a patchy density of cloudy texture and ill-defined boundary in the {side} lung",
    ),
    "atelectasis": (
        "atelectasis",
        "a raised {side} hemidiaphragm with band-shaped densities above it",
    ),
    "pulmonary edema": (
        "edema",
        "a symmetric haze around both hila shaped like wings, with blurred vessel boundaries",
    ),
    "cardiomegaly": (
        "cardiomegaly",
        "a smooth cardiac silhouette wider than half of the chest, between clear lungs",
    ),
}
SITED: Final = tuple(
    f"{side} {kind}"
    for kind, (_, look) in _KINDS.items()
    if "{side}" in look
    for side in ("left", "right")
)
FINDINGS: Final = (*SITED, "pulmonary edema", "cardiomegaly")
_CHAMBERS: Final = ("left ventricle", "right ventricle", "left atrium", "right atrium")
CHAMBERS: Final = tuple(" and ".join(two) for two in combinations(_CHAMBERS, 2))
_METAL: Final[Mapping[str, str]] = {
    "coin": "a homogeneous round disc",
    "finger ring": "a circular band around an empty middle",
    "sewing needle": "a thin straight line",
    "fish hook": "a stem that bends back into a barbed curve",
    "screw": "a stem with a flat head and a regular thread",
    "key": "a round bow on a stem with two teeth at its end",
}


def _split(finding: str) -> tuple[str, str]:
    """The kind and the patient's side, if it has one."""
    side, _, kind = finding.partition(" ")
    return (kind, side) if side in ("left", "right") else (finding, "")


def seen_of(finding: str) -> str:
    """What a film shows of a finding."""
    kind, side = _split(finding)
    return _KINDS[kind][1].format(side=side)


def finding_film(rng: np.random.Generator, finding: str, clips: int = 0) -> Pixels:
    """A film with a finding on its side."""
    kind, side = _split(finding)
    return chest(rng, _KINDS[kind][0], side, clips=clips)


def _film(rng: np.random.Generator, facts: Facts) -> Pixels:
    return finding_film(rng, facts["finding"], int(facts["clips"]))


def _film_seen(facts: Facts) -> str:
    many = "clip lies" if facts["clips"] == "1" else "clips lie"
    return (
        f"Frontal chest film with {seen_of(facts['finding'])}. Over the lungs {facts['clips']} "
        f"short bright metal {many}, each a straight line with a sharp boundary."
    )


def _object(rng: np.random.Generator, facts: Facts) -> Pixels:
    return chest(rng, swallowed=facts["object"], corner=facts["corner"])


def _object_seen(facts: Facts) -> str:
    return (
        "Frontal chest film with clear lungs of normal vascular texture. In the midline an object "
        f"of metal density with a sharp boundary: {_METAL[facts['object']]}. A ringed lead letter "
        f"stands in the {facts['corner']} of the film."
    )


def _chambers(rng: np.random.Generator, facts: Facts) -> Pixels:
    return chambers(rng, facts["pair"].split(" and "), facts["valve"] == "open")


def _chambers_seen(facts: Facts) -> str:
    one, other = facts["pair"].split(" and ")
    return (
        "Apical four-chamber echocardiogram: black chambers of smooth boundary in walls of "
        "speckled texture, the left ventricle at the upper right. The mitral leaflets are "
        f"{facts['valve']}. Red frames stand in the {one} and in the {other}."
    )


def _beat(rng: np.random.Generator, facts: Facts) -> Pixels:
    return beat_pair(rng, int(facts["ejected"]) / 100)


def _beat_seen(facts: Facts) -> str:
    return (
        "Two apical four-chamber echocardiograms: end-diastole on the left, end-systole on the "
        "right. The left ventricle is a black, bullet-shaped chamber of smooth boundary in walls "
        "of speckled texture; its volume is smaller on the right by about "
        f"{facts['ejected']} percent."
    )


_FILM: Final = {"modality": "X-ray & Fluoroscopy"}
_ECHO: Final = {"modality": "Ultrasound", "system": "Cardiovascular"}
CHEST: Final[Mapping[str, View]] = {
    "film": View(
        facets={"finding": FINDINGS, "clips": numbers(1, 6)},
        system="Respiratory",
        draw=_film,
        caption=_film_seen,
        **_FILM,
    ),
    "swallowed": View(
        facets={"object": OBJECTS, "corner": tuple(CORNERS)},
        system="Digestive",
        draw=_object,
        caption=_object_seen,
        **_FILM,
    ),
    "chambers": View(
        facets={"pair": CHAMBERS, "valve": ("open", "shut")},
        draw=_chambers,
        caption=_chambers_seen,
        **_ECHO,
    ),
    "beat": View(facets={"ejected": numbers(20, 70, 10)}, draw=_beat, caption=_beat_seen, **_ECHO),
}
