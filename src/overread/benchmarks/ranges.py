"""What measures are counted in that no `Spec` declares: their units, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from overread.measuring.units import AMOUNT, ANY, POINTS, SHARE, SKILL, Unit

Range: TypeAlias = Unit
_KINDS: Final[Mapping[str, Unit]] = {
    "share": SHARE, "signed": POINTS, "skill": SKILL, "amount": AMOUNT, "any": ANY,
}  # fmt: skip


def declared(**names: str) -> dict[str, Unit]:
    """Units of measures, whose names stand in a line for each kind: `share="accuracy cgr"`."""
    return {name: _KINDS[kind] for kind, line in names.items() for name in line.split()}
