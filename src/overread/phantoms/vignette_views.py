"""Kinds of pictures: what may be true of one, how it is drawn, and what an expert writes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import combinations, combinations_with_replacement, product
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from overread.phantoms import vignette_pictures as pictures
from overread.phantoms.smear import WHITE_CELLS

Pixels: TypeAlias = npt.NDArray[np.uint8]
# Facet by facet, what is true of one picture.
Facts: TypeAlias = Mapping[str, str]


class View(msgspec.Struct, frozen=True):
    """Facets are independent: any value of one goes with any value of another.

    `seen` is what an expert writes, with facets in braces, and `draw` shows it; both follow from
    the facts alone. `also` gives further words for what is written.
    """

    modality: str
    system: str
    facets: Mapping[str, tuple[str, ...]]
    draw: Callable[[np.random.Generator, Facts], npt.NDArray[Any]]
    seen: str
    also: Callable[[Facts], dict[str, str]] = lambda facts: {}

    def caption(self, facts: Facts) -> str:
        """What is seen: a thing that has looks by its looks, anything else by its name.

        `{pair_1}` and `{pair_2}` are the two things that the facet `pair` names.
        """
        words: dict[str, str] = {}
        for facet, value in facts.items():
            words[facet] = LOOKS.get(value, value).format(**facts)
            for place, part in enumerate(re.split(" and | with ", value), 1):
                words[f"{facet}_{place}"] = LOOKS.get(part, part)
        return self.seen.format(**words | self.also(facts))


def numbers(first: int, last: int, step: int = 1) -> tuple[str, ...]:
    """Whole numbers as words of a facet, both ends included."""
    return tuple(map(str, range(first, last + 1, step)))


def capitalized(text: str) -> str:
    """With a capital letter at its beginning."""
    return text[0].upper() + text[1:]


# ---------------------------------------------------------------- the words

_CELLS: Final[Mapping[str, str]] = {
    "neutrophil": "a nucleus of several lobes on thin strands in pale pink cytoplasm",
    "eosinophil": "a bilobed nucleus amid coarse orange granules",
    "lymphocyte": "a dense round nucleus that leaves a thin blue rim",
    "monocyte": "an indented, kidney-shaped nucleus in wide grey-blue cytoplasm",
}
PAIRS: Final = tuple(
    " and ".join(two) for two in combinations_with_replacement(sorted(WHITE_CELLS), 2)
)
PLACES: Final[Mapping[str, tuple[float, float]]] = {
    f"{down} {across}" if (down, across) != ("middle", "centre") else "very centre": (x, y)
    for down, y in (("upper", 0.17), ("middle", 0.5), ("lower", 0.83))
    for across, x in (("left", 0.17), ("centre", 0.5), ("right", 0.83))
}
CONDITIONS: Final[Mapping[str, str]] = {
    "sickle cell disease": "many red cells are dense crescents with pointed ends",
    "iron deficiency": "the red cells are small rings of thin density with a wide pale middle",
    "eosinophilia": "five white cells have two-lobed nuclei and coarse orange granules",
    "lymphocytosis": "five white cells have dense round nuclei of smooth boundary and a thin rim",
    "monocytosis": "five white cells are large with folded, kidney-shaped nuclei in grey-blue",
}
_SIDES: Final = ("left", "right")
# What a film shows of a finding, on a side of the patient or not.
_SITED: Final[Mapping[str, str]] = {
    "pneumothorax": "a thin sharp line at the {side} apex with black, structureless space beyond "
    "it",
    "pleural effusion": "a homogeneous density over the {side} base whose upper boundary rises to "
    "the side wall",
    "pneumonia": "a patchy density of cloudy texture and ill-defined boundary in the {side} lung",
    "atelectasis": "a raised {side} hemidiaphragm with band-shaped densities above it",
}
_UNSITED: Final[Mapping[str, str]] = {
    "pulmonary edema": "a symmetric haze around both hila shaped like wings, with blurred vessel "
    "boundaries",
    "cardiomegaly": "a smooth cardiac silhouette wider than half of the chest, between clear lungs",
}
SITED: Final = tuple(f"{side} {kind}" for kind in _SITED for side in _SIDES)
FINDINGS: Final = (*SITED, *_UNSITED)
CHAMBERS: Final = tuple(
    " and ".join(two)
    for two in combinations(("left ventricle", "right ventricle", "left atrium", "right atrium"), 2)
)
_METAL: Final[Mapping[str, str]] = {
    "coin": "a homogeneous round disc",
    "finger ring": "a circular band around an empty middle",
    "sewing needle": "a thin straight line",
    "fish hook": "a stem that bends back into a barbed curve",
    "screw": "a stem with a flat head and a regular thread",
    "key": "a round bow on a stem with two teeth at its end",
}
CHANGES: Final[Mapping[str, float]] = {
    "shrunk to about half": 0.5,
    "shrunk by about a quarter": 0.74,
    "stayed about the same": 1.0,
    "grown by about a third": 1.35,
    "grown to about double": 2.0,
}
_HEADS: Final[Mapping[str, str]] = {
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
BEATS: Final = ("second", "third", "fourth", "fifth", "sixth")
SHIFTS: Final[Mapping[str, int]] = {
    "4 mm below the line": -4,
    "2 mm below the line": -2,
    "level with the line": 0,
    "2 mm above the line": 2,
    "4 mm above the line": 4,
}
_STRIPS: Final[Mapping[str, str]] = {
    "sinus rhythm": "narrow complexes at even distances, each after a small rounded wave",
    "atrial fibrillation": "narrow complexes at uneven distances on a finely trembling baseline "
    "without rounded waves before them",
    "2:1 atrioventricular block": "narrow complexes at even distances and two small rounded waves "
    "for each of them",
    "ventricular bigeminy": "narrow and wide complexes in turn, a pause after each wide one",
    "ventricular tachycardia": "wide complexes of one shape, fast, without a flat baseline between",
}
LOOKS: Final[Mapping[str, str]] = {
    **_CELLS,
    **CONDITIONS,
    **{f"{side} {kind}": _SITED[kind].format(side=side) for kind in _SITED for side in _SIDES},
    **_UNSITED,
    **_METAL,
    **_HEADS,
    **_STRIPS,
}
"""What is seen of a thing; `{side}` is another facet of the picture."""
_THREE_FINDINGS: Final = ("left pneumothorax", "right pleural effusion", "cardiomegaly")
_THREE_RHYTHMS: Final = ("sinus rhythm", "atrial fibrillation", "ventricular tachycardia")
_THREE_CONDITIONS: Final = ("sickle cell disease", "iron deficiency", "lymphocytosis")
FILM_AND_STRIP: Final = tuple(map(" with ".join, product(_THREE_FINDINGS, _THREE_RHYTHMS)))
BLOOD_AND_FILM: Final = tuple(map(" with ".join, product(_THREE_CONDITIONS, _THREE_FINDINGS)))
_FEW: Final = numbers(2, 9)
_FLECKS: Final = (
    "Between the cells lie {platelets} small violet flecks of granular texture without a nucleus."
)
_STRIP: Final = "Rhythm strip on ruled paper, a thin sharp line: "
_BAR: Final = 20  # millimetres of the bar on slices that have one


# ---------------------------------------------------------------- the pictures

_CONDITIONS_DRAWN: Final[Mapping[str, dict[str, Any]]] = {
    "sickle cell disease": {"sickled": 12},
    "iron deficiency": {"red": "pale"},
    "eosinophilia": {"whites": ["eosinophil"] * 5},
    "lymphocytosis": {"whites": ["lymphocyte"] * 5},
    "monocytosis": {"whites": ["monocyte"] * 5},
}


def _one_cell(rng: np.random.Generator, facts: Facts) -> Pixels:
    cell = pictures.cell_at(rng, "lymphocyte", *PLACES[facts["place"]])
    return pictures.blood(rng, placed=[cell], platelets=int(facts["platelets"]))


def _condition(rng: np.random.Generator, condition: str, platelets: int) -> Pixels:
    return pictures.blood(rng, platelets=platelets, **_CONDITIONS_DRAWN[condition])


def _finding(rng: np.random.Generator, finding: str, clips: int = 0) -> Pixels:
    side, _, kind = finding.partition(" ") if finding in SITED else ("", "", finding)
    # What the films' generator calls it.
    name = "edema" if kind == "pulmonary edema" else kind.replace(" ", "_")
    return pictures.chest(rng, name, side, clips=clips)


def _focus(region: str, mm: float, shape: str = pictures.SHAPES[0]) -> pictures.Focus:
    return pictures.Focus(*pictures.REGIONS[region], mm * pictures.MM, shape)


def _ct(rng: np.random.Generator, facts: Facts) -> Pixels:
    dots = pictures.specks(rng, int(facts["specks"]))
    return pictures.head(rng, disease=facts["disease"], side=facts["side"], foci=dots)


def _dots(count: str | int) -> str:
    return f"{count} tiny round dot{'s' * (str(count) != '1')}"


def _mri(rng: np.random.Generator, facts: Facts) -> Pixels:
    focus = _focus(facts["region"], int(facts["across"]), facts["shape"])
    return pictures.ruled(pictures.head(rng, mri=True, foci=[focus]), _BAR)


def _followed(rng: np.random.Generator, facts: Facts) -> Pixels:
    ratio = CHANGES[facts["change"]]
    # Whatever the change, the larger of the two diameters fits its lobe and says nothing.
    larger = rng.uniform(24, 28)
    sizes = (larger, larger * ratio) if ratio <= 1 else (larger / ratio, larger)
    foci = (_focus(facts["region"], mm) for mm in sizes)
    return pictures.panels(
        *(pictures.narrow_slice(pictures.head(rng, mri=True, foci=[focus])) for focus in foci)
    )


def _counted(facts: Facts) -> tuple[int, int]:
    """Dots of the earlier and of the later slice, which a line through both continues."""
    step = int(facts["step"])
    return int(facts["next"]) - 2 * step, int(facts["next"]) - step


def _course(rng: np.random.Generator, facts: Facts) -> Pixels:
    slices = (pictures.head(rng, foci=pictures.specks(rng, count)) for count in _counted(facts))
    return pictures.panels(*map(pictures.narrow_slice, slices))


def _pace(rng: np.random.Generator, facts: Facts) -> Pixels:
    gap, shift = 0.2 * int(facts["squares"]), SHIFTS[facts["segment"]]
    return pictures.paper(rng, pictures.regular(gap, st=shift, first=rng.uniform(0.3, 0.5)))


def _ectopic(rng: np.random.Generator, facts: Facts) -> Pixels:
    beats = [beat for beat in pictures.regular(0.7, first=0.35) if beat.at > 0]
    odd = 1 + BEATS.index(facts["beat"])
    early = msgspec.structs.replace(beats[odd], at=beats[odd].at - 0.16, wide=True, wave=False)
    return pictures.paper(rng, [*beats[:odd], early, *beats[odd + 1 :]])


def _film_strip(rng: np.random.Generator, facts: Facts) -> Pixels:
    finding, name = facts["both"].split(" with ")
    return pictures.panels(
        pictures.reduced(_finding(rng, finding), 124), pictures.rhythm(rng, name)[:124, :124]
    )


def _blood_film(rng: np.random.Generator, facts: Facts) -> Pixels:
    condition, finding = facts["both"].split(" with ")
    left = pictures.reduced(_condition(rng, condition, 5), 124)
    return pictures.panels(left, pictures.reduced(_finding(rng, finding), 124))


def _shared(facts: Facts) -> str:
    """The region in which both slices have a lesion: another than the one of MRI alone."""
    regions = tuple(pictures.REGIONS)
    return regions[(regions.index(facts["further"]) + int(facts["turn"])) % len(regions)]


def _scans(rng: np.random.Generator, facts: Facts) -> Pixels:
    both, alone = _focus(_shared(facts), 20), _focus(facts["further"], 20)
    ct, mri = pictures.head(rng, foci=[both]), pictures.head(rng, mri=True, foci=[both, alone])
    return pictures.panels(pictures.narrow_slice(ct), pictures.narrow_slice(mri))


# ---------------------------------------------------------------- the views

_SMEAR: Final = ("Pathology / Microscopy", "Other / NA")
_ECHO: Final = ("Ultrasound", "Cardiovascular")
_PAPER: Final = ("Physiologic Signals", "Cardiovascular")
_CT: Final = ("CT", "Nervous")
_MRI: Final = ("MRI", "Nervous")

VIEWS: Final[Mapping[str, View]] = {
    "two white cells": View(
        *_SMEAR,
        facets={"pair": PAIRS, "platelets": _FEW},
        draw=lambda rng, facts: pictures.blood(
            rng, whites=facts["pair"].split(" and "), platelets=int(facts["platelets"])
        ),
        seen="Stained blood film: pink discs with smooth round boundaries and two nucleated cells, "
        f"one with {{pair_1}}, one with {{pair_2}}. {_FLECKS}",
    ),
    "one white cell": View(
        *_SMEAR,
        facets={"place": tuple(PLACES), "platelets": _FEW},
        draw=_one_cell,
        seen="Stained blood film: pink discs with smooth round boundaries and one nucleated cell "
        f"with {_CELLS['lymphocyte']}, in the {{place}} of the field. {_FLECKS}",
    ),
    "blood": View(
        *_SMEAR,
        facets={"condition": tuple(CONDITIONS), "platelets": _FEW},
        draw=lambda rng, facts: _condition(rng, facts["condition"], int(facts["platelets"])),
        seen=f"Stained blood film. {{condition}}. {_FLECKS}",
        also=lambda facts: {"condition": capitalized(CONDITIONS[facts["condition"]])},
    ),
    "film": View(
        "X-ray & Fluoroscopy",
        "Respiratory",
        facets={"finding": FINDINGS, "clips": numbers(1, 6)},
        draw=lambda rng, facts: _finding(rng, facts["finding"], int(facts["clips"])),
        seen="Frontal chest film with {finding}. Over the lungs {clips} short bright metal {lie}, "
        "each a straight line with a sharp boundary.",
        also=lambda facts: {"lie": "clip lies" if facts["clips"] == "1" else "clips lie"},
    ),
    "swallowed": View(
        "X-ray & Fluoroscopy",
        "Digestive",
        facets={"object": pictures.OBJECTS, "corner": tuple(pictures.CORNERS)},
        draw=lambda rng, facts: pictures.chest(
            rng, swallowed=facts["object"], corner=facts["corner"]
        ),
        seen="Frontal chest film with clear lungs of normal vascular texture. In the midline an "
        "object of metal density with a sharp boundary: {object}. A ringed lead letter stands in "
        "the {corner} of the film.",
    ),
    "chambers": View(
        *_ECHO,
        facets={"pair": CHAMBERS, "valve": ("open", "shut")},
        draw=lambda rng, facts: pictures.chambers(
            rng, facts["pair"].split(" and "), facts["valve"] == "open"
        ),
        seen="Apical four-chamber echocardiogram: black chambers of smooth boundary in walls of "
        "speckled texture, the left ventricle at the upper right. The mitral leaflets are "
        "{valve}. Red frames stand in the {pair_1} and in the {pair_2}.",
    ),
    "beat": View(
        *_ECHO,
        facets={"ejected": numbers(20, 70, 10)},
        draw=lambda rng, facts: pictures.beat_pair(rng, int(facts["ejected"]) / 100),
        seen="Two apical four-chamber echocardiograms: end-diastole on the left, end-systole on "
        "the right. The left ventricle is a black, bullet-shaped chamber of smooth boundary in "
        "walls of speckled texture; its volume is smaller on the right by about {ejected} percent.",
    ),
    "ct": View(
        *_CT,
        facets={"disease": pictures.DISEASES, "side": _SIDES, "specks": numbers(1, 6)},
        draw=_ct,
        seen="Axial CT of the head: {disease}. Within the skull {specks} of bone density with a "
        "sharp boundary.",
        also=lambda facts: {"specks": _dots(facts["specks"])},
    ),
    "mri": View(
        *_MRI,
        facets={
            "region": tuple(pictures.REGIONS),
            "shape": pictures.SHAPES,
            "across": numbers(8, 24, 4),
        },
        draw=_mri,
        seen="Axial T2-weighted MRI of the head: bright slender ventricles, grey brain of folded "
        "texture. In the {region} a bright lesion, {shape}, with a sharp boundary and a longest "
        f"diameter of {{across}} mm. The bar is {_BAR} mm.",
    ),
    "followed": View(
        *_MRI,
        facets={"change": tuple(CHANGES), "region": tuple(pictures.REGIONS)},
        draw=_followed,
        seen="Two axial T2-weighted MRI slices of one head, the earlier on the left. Each shows "
        "one round, solid, bright lesion with a sharp boundary in the {region}; from left to right "
        "its diameter has {change}.",
    ),
    "course": View(
        *_CT,
        facets={"next": numbers(7, 12), "step": numbers(1, 3)},
        draw=_course,
        seen="Two axial CT slices of one head, the earlier on the left, with normal slender "
        "ventricles. Within the skull {earlier} of the density of bone on the left and {later} on "
        "the right, each with a sharp boundary.",
        also=lambda facts: dict(
            zip(("earlier", "later"), map(_dots, _counted(facts)), strict=True)
        ),
    ),
    "rhythm": View(
        *_PAPER,
        facets={"rhythm": pictures.RHYTHMS},
        draw=lambda rng, facts: pictures.rhythm(rng, facts["rhythm"]),
        seen=f"{_STRIP}{{rhythm}}.",
    ),
    "pace": View(
        *_PAPER,
        facets={"squares": numbers(2, 6), "segment": tuple(SHIFTS)},
        draw=_pace,
        seen=f"{_STRIP}narrow complexes at even distances of {{squares}} large squares, each after "
        "a small rounded wave. The segment after each complex is {segment}.",
    ),
    "ectopic": View(
        *_PAPER,
        facets={"beat": BEATS},
        draw=_ectopic,
        seen=f"{_STRIP}narrow complexes, each after a small rounded wave, but the {{beat}} complex "
        "is wide, early and of another shape, and a pause comes after it.",
    ),
    "film and strip": View(
        "X-ray & Fluoroscopy",
        "Cardiovascular",
        facets={"both": FILM_AND_STRIP},
        draw=_film_strip,
        seen="On the left a frontal chest film with {both_1}. On the right a rhythm strip: "
        "{both_2}.",
    ),
    "blood and film": View(
        "Pathology / Microscopy",
        "Respiratory",
        facets={"both": BLOOD_AND_FILM},
        draw=_blood_film,
        seen="On the left a stained blood film: {both_1}. On the right a frontal chest film with "
        "{both_2}.",
    ),
    "ct and mri": View(
        *_MRI,
        facets={"further": tuple(pictures.REGIONS), "turn": numbers(1, 5)},
        draw=_scans,
        seen="One head, axial CT on the left and T2-weighted MRI on the right. Both show a round "
        "lesion of high density or signal with a sharp boundary in the {shared}; on the MRI alone "
        "there is another in the {further}.",
        also=lambda facts: {"shared": _shared(facts)},
    ),
}
