"""What a measure is counted in: the values it can have, and how it is printed.

A bound outside these values checks nothing, or was typed as percent; the gate refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest and largest value, and the print: `scale` times the value, digits, suffix.

    `signed` numbers show their sign: they are differences. `significant` ones have so many digits
    wherever the point stands, so that 0.154 and 93.9 both say something.
    """

    low: float = -inf
    high: float = inf
    scale: float = 1.0
    digits: int = 3
    suffix: str = ""
    signed: bool = False
    significant: bool = False

    @property
    def of_shares(self) -> bool:
        """Whether values are shares of one, which people also write as percent."""
        return self.high == 1

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high


SHARE: Final = Unit(low=0.0, high=1.0, scale=100.0, digits=1, suffix=" %")
POINTS: Final = Unit(low=-1.0, high=1.0, scale=100.0, digits=1, suffix=" points", signed=True)
"""A difference of two shares, in percentage points."""
INDEX: Final = Unit(low=-1.0, high=1.0, digits=2)
"""A correlation, a kappa: between -1 and 1, and no percentage."""
SKILL: Final = Unit(high=1.0, digits=2)
FRAMES: Final = Unit(low=0.0, digits=2, suffix=" frames")
SECONDS: Final = Unit(low=0.0, suffix=" s", significant=True)
RATIO: Final = Unit(low=0.0, significant=True)
"""How many times as long, as often, as much."""
AMOUNT: Final = Unit(low=0.0)
ANY: Final = Unit()
WORD: Final = Unit()
"""A record whose finding is its label: it has no number."""
_KINDS: Final[Mapping[str, Unit]] = {
    "share": SHARE, "signed": POINTS, "skill": SKILL, "amount": AMOUNT, "any": ANY,
}  # fmt: skip


def declared(**names: str) -> dict[str, Unit]:
    """Units of measures that no `Spec` makes, in a line for each kind: `share="rho chance"`."""
    return {name: _KINDS[kind] for kind, line in names.items() for name in line.split()}
