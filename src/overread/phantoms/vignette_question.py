"""One way to ask for a facet of a picture, and how its answers are put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

__all__ = ["PATIENT", "Question", "said"]

PATIENT: Final = "The patient's left is on the right of the image."


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One way to ask for a facet of a view.

    `says` gives, value by value, the answer that is then true; values it leaves out are not asked
    for. Each answer is wrong for every value that has another. `asks` are forms of the question,
    none of which hints at the answer.
    """

    subtype: str
    ability: str
    view: str
    facet: str
    asks: tuple[str, ...]
    says: Mapping[str, str]


def said(form: str, values: Iterable[str]) -> dict[str, str]:
    """Answers that open with a capital letter."""
    texts = {value: form.format(value) for value in values}
    return {value: text[0].upper() + text[1:] for value, text in texts.items()}
