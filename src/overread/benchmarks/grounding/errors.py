"""The errors injected into report sentences, by what it takes to notice them [D34]."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CONTROL", "ERROR_GROUPS", "error_name", "group_of"]

CONTROL: Final = "control"
ERROR_GROUPS: Final = {
    "image_dependent": (
        "add_medical_device",
        "change_location",
        "change_name_of_device",
        "change_position_of_device",
        "change_severity",
        "change_view",
        "false_negation",
        "false_prediction",
    ),
    "text_only": ("add_repetition", "add_typo", "change_to_homophone"),
}


def error_name(text: str) -> str:
    """An error type as one canonical word: "Change location" and change_location are one type."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def group_of(error_type: str | None, error_present: int | None) -> str | None:
    """The group of a sentence, or None for an error of a type that belongs to none."""
    if error_present == 0:
        return CONTROL
    if error_present is None or error_type is None:
        return None
    name = error_name(error_type)
    return next((group for group, types in ERROR_GROUPS.items() if name in types), None)
