"""Views of blood: two white cells, one white cell somewhere, or a condition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any, Final

import numpy as np

from overread.phantoms.smear_cells import WHITE_CELLS
from overread.phantoms.vignette_pictures import blood, cell_at
from overread.phantoms.vignette_view import Facts, Pixels, View, numbers

__all__ = ["BLOOD", "CONDITIONS", "PAIRS", "PLACES", "condition_field"]

_LOOKS: Final = {
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
    "sickle cell disease": "Many red cells are dense crescents with pointed ends",
    "iron deficiency": "The red cells are small rings of thin density with a wide pale middle",
    "eosinophilia": "Five white cells have two-lobed nuclei and coarse orange granules",
    "lymphocytosis": "Five white cells have dense round nuclei of smooth boundary and a thin rim",
    "monocytosis": "Five white cells are large with folded, kidney-shaped nuclei in grey-blue",
}
_DRAWN: Final[Mapping[str, dict[str, Any]]] = {
    "sickle cell disease": {"sickled": 12},
    "iron deficiency": {"red": "pale"},
    "eosinophilia": {"whites": ["eosinophil"] * 5},
    "lymphocytosis": {"whites": ["lymphocyte"] * 5},
    "monocytosis": {"whites": ["monocyte"] * 5},
}
_FEW: Final = numbers(2, 9)


def _flecks(facts: Facts) -> str:
    return (
        f"Between the cells lie {facts['platelets']} small violet flecks of granular texture "
        "without a nucleus."
    )


def _pair(rng: np.random.Generator, facts: Facts) -> Pixels:
    return blood(rng, whites=facts["pair"].split(" and "), platelets=int(facts["platelets"]))


def _pair_seen(facts: Facts) -> str:
    one, other = facts["pair"].split(" and ")
    return (
        "Stained blood film: pink discs with smooth round boundaries and two nucleated cells, "
        f"one with {_LOOKS[one]}, one with {_LOOKS[other]}. {_flecks(facts)}"
    )


def _field(rng: np.random.Generator, facts: Facts) -> Pixels:
    cell = cell_at(rng, "lymphocyte", *PLACES[facts["place"]])
    return blood(rng, placed=[cell], platelets=int(facts["platelets"]))


def _field_seen(facts: Facts) -> str:
    return (
        "Stained blood film: pink discs with smooth round boundaries and one nucleated cell with "
        f"{_LOOKS['lymphocyte']}, in the {facts['place']} of the field. {_flecks(facts)}"
    )


def condition_field(rng: np.random.Generator, condition: str, platelets: int) -> Pixels:
    """A field that shows a condition."""
    return blood(rng, platelets=platelets, **_DRAWN[condition])


def _condition(rng: np.random.Generator, facts: Facts) -> Pixels:
    return condition_field(rng, facts["condition"], int(facts["platelets"]))


def _condition_seen(facts: Facts) -> str:
    return f"Stained blood film. {CONDITIONS[facts['condition']]}. {_flecks(facts)}"


_SMEAR: Final = {"modality": "Pathology / Microscopy", "system": "Other / NA"}
BLOOD: Final[Mapping[str, View]] = {
    "two white cells": View(
        facets={"pair": PAIRS, "platelets": _FEW}, draw=_pair, caption=_pair_seen, **_SMEAR
    ),
    "one white cell": View(
        facets={"place": tuple(PLACES), "platelets": _FEW},
        draw=_field,
        caption=_field_seen,
        **_SMEAR,
    ),
    "blood": View(
        facets={"condition": tuple(CONDITIONS), "platelets": _FEW},
        draw=_condition,
        caption=_condition_seen,
        **_SMEAR,
    ),
}
