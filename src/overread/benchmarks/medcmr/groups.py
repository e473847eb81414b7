"""Groups of items: by dimension, family, ability, modality, system and subtype."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.drafts import Mask
from overread.benchmarks.medcmr.marks import Facts
from overread.benchmarks.medcmr.vocabulary import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS, VISUAL

__all__ = ["Group", "family_of", "groups_of"]


class Group(NamedTuple):
    """Items, and the keys of their records."""

    by: dict[str, str]
    members: Mask


def family_of(dimension: str) -> str | None:
    """`visual` or `reasoning`; None of a dimension that is not the paper's."""
    if dimension not in DIMENSIONS:
        return None
    return "visual" if dimension in VISUAL else "reasoning"


def groups_of(facts: Facts, kind: str) -> list[Group]:
    """All items of a kind, and every group that has any of them; names in the paper's order."""
    these = facts.of(kind)
    found = [Group({}, these)]
    if not these.any():
        return found
    dimensions = _names(facts.dimension[these], DIMENSIONS)
    found += [Group({"dimension": one}, these & (facts.dimension == one)) for one in dimensions]
    for family in ("visual", "reasoning"):
        some = [one for one in dimensions if family_of(one) == family]
        if some:
            found.append(Group({"family": family}, these & np.isin(facts.dimension, some)))
    for key, values, known in (
        ("ability", facts.ability, ABILITIES),
        ("modality", facts.modality, MODALITIES),
        ("system", facts.system, SYSTEMS),
    ):
        for name in _names(values[these], known):
            found.append(Group({key: name}, these & (values == name)))
    for dimension in dimensions:
        inside = these & (facts.dimension == dimension)
        for subtype in _names(facts.subtype[inside], ()):
            by = {"dimension": dimension, "subtype": subtype}
            found.append(Group(by, inside & (facts.subtype == subtype)))
    return found


def _names(values: NDArray[np.str_], known: Iterable[str]) -> list[str]:
    """The names that occur: those known in their order, then others by the alphabet."""
    present = set(np.unique(values).tolist()) - {""}
    order = list(known)
    return [name for name in order if name in present] + sorted(present - set(order))
