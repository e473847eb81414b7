"""The names of dimensions, abilities, modalities and systems, and how a set may spell them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = [
    "ABILITIES",
    "DIMENSIONS",
    "MODALITIES",
    "SYSTEMS",
    "VISUAL",
    "ability_of",
    "dimension_of",
    "modality_of",
    "system_of",
]

DIMENSIONS: Final[Mapping[str, str]] = {
    "SOD": "small-object detection",
    "FDD": "fine-detail discrimination",
    "SU": "spatial understanding",
    "TP": "temporal prediction",
    "CR": "causal reasoning",
    "LTG": "long-tail generalization",
    "MSI": "multi-source integration",
}
VISUAL: Final = ("SOD", "FDD", "SU")
"""The visual dimensions; the others are of reasoning."""
ABILITIES: Final[Mapping[str, str]] = {
    "CDS": "clinical decision support",
    "DX": "diagnosis",
    "PA": "pathophysiologic analysis",
    "PRA": "procedural risk assessment",
    "SEE": "staging and extent evaluation",
    "TRE": "treatment response evaluation",
}
MODALITIES: Final = (
    "Pathology / Microscopy",
    "Photography / Dermatology",
    "CT",
    "X-ray & Fluoroscopy",
    "MRI",
    "Ultrasound",
    "Endoscopy",
    "Ophthalmology / Optical",
    "Nuclear Medicine / PET",
    "Physiologic Signals",
    "Radiotherapy",
    "Derived / Meta",
)
SYSTEMS: Final = (
    "Digestive",
    "Integumentary",
    "Nervous",
    "Skeletal",
    "Other / NA",
    "Respiratory",
    "Cardiovascular",
    "Reproductive",
    "Muscular",
    "Urinary",
    "Endocrine",
)


def _folded(text: str) -> str:
    """Letters and digits alone, in small letters."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _names(known: Mapping[str, str]) -> dict[str, str]:
    short = {_folded(name): name for name in known}
    return short | {_folded(words): name for name, words in known.items()}


_DIMENSIONS: Final = _names(DIMENSIONS) | {
    # British spelling, and the words apart.
    "longtailgeneralisation": "LTG",
}
_ABILITIES: Final = _names(ABILITIES) | {
    # As the paper's Table 3 prints it.
    "psychophysiologicanalysis": "PA",
    "pathophysiologicalanalysis": "PA",
}
_MODALITIES: Final = {_folded(name): name for name in MODALITIES}
_SYSTEMS: Final = {_folded(name): name for name in SYSTEMS}


def dimension_of(text: str) -> str | None:
    """The abbreviation of a dimension given by it or by its name; None where it is not known.

    >>> dimension_of("Long-Tail Generalization"), dimension_of("sod"), dimension_of("?")
    ('LTG', 'SOD', None)
    """
    return _DIMENSIONS.get(_folded(text))


def ability_of(text: str) -> str | None:
    """The abbreviation of a medical-intelligence label; None where it is not known."""
    return _ABILITIES.get(_folded(text))


def modality_of(text: str) -> str | None:
    """One of the twelve modalities as the paper spells it; None where it is not known."""
    return _MODALITIES.get(_folded(text))


def system_of(text: str) -> str | None:
    """One of the eleven body systems as the paper spells it; None where it is not known."""
    found = _SYSTEMS.get(_folded(text))
    # "Respiratory system" is the respiratory system.
    return found or _SYSTEMS.get(_folded(text).removesuffix("system"))
