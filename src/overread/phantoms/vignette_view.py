"""A kind of picture: what may be true of it, how it is drawn, and what an expert writes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = ["Facts", "Pixels", "View", "numbers"]

Pixels: TypeAlias = npt.NDArray[np.uint8]
# Facet by facet, what is true of one picture.
Facts: TypeAlias = Mapping[str, str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Facets are independent: any value of one goes with any value of another.

    `caption` says what is seen, and `draw` shows it; both follow from the facts alone.
    """

    modality: str
    system: str
    facets: Mapping[str, tuple[str, ...]]
    draw: Callable[[np.random.Generator, Facts], npt.NDArray[Any]]
    caption: Callable[[Facts], str]


def numbers(first: int, last: int, step: int = 1) -> tuple[str, ...]:
    """Whole numbers as words of a facet, both ends included."""
    return tuple(map(str, range(first, last + 1, step)))
