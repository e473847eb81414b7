"""What values a measure can have: a bound beyond them checks nothing, or was typed as percent."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final, NamedTuple

__all__ = ["AMOUNT", "ANY", "SHARE", "SIGNED", "SKILL", "Range", "declared"]


class Range(NamedTuple):
    """The smallest and the largest value that a measure can have."""

    low: float
    high: float

    @property
    def of_shares(self) -> bool:
        """Whether values are shares of one, which people also write as percent."""
        return self.high == 1


SHARE: Final = Range(0.0, 1.0)
SIGNED: Final = Range(-1.0, 1.0)
SKILL: Final = Range(-inf, 1.0)
AMOUNT: Final = Range(0.0, inf)
ANY: Final = Range(-inf, inf)


def declared(**names: str) -> dict[str, Range]:
    """Ranges of measures, whose names stand in a line for each kind: `share="accuracy cgr"`."""
    kinds: Mapping[str, Range] = {
        "share": SHARE, "signed": SIGNED, "skill": SKILL, "amount": AMOUNT, "any": ANY,
    }  # fmt: skip
    return {name: kinds[kind] for kind, line in names.items() for name in line.split()}
