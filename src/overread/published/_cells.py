"""The notation of the data files: what one printed cell says, to the last printed digit."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

import msgspec

__all__ = ["Cell", "read_cell"]

_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e\d+)?"
_CELL: Final = re.compile(
    rf"(?P<value>N/A|{_NUMBER}|-)?"
    rf"(?: ± (?P<spread>{_NUMBER}))?"
    rf"(?: \[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\])?"
    r"(?: ?q(?P<q>[<>=]\d\.\d+))?"
    r"(?: p(?P<p>[<>=]\d\.\d+))?"
    r"(?: n=(?P<n>\d+))?"
    r"(?P<dagger> †)?"
)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed: numbers as decimals, so that 33.0 is known to be neither 33 nor 33.00."""

    value: Decimal | None = None
    spread: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    q: str | None = None
    p: str | None = None
    n: int | None = None
    dagger: bool = False


def read_cell(text: str) -> Cell:
    """`33.5 ± 2.4 [28.7, 38.3] n=373` and what may be left out of it; ValueError otherwise.

    `N/A` and a dash are printed where there is no number.
    """
    found = _CELL.fullmatch(text)
    if found is None:
        raise ValueError(f'not a cell: "{text}"')

    def number(name: str) -> Decimal | None:
        word = found[name]
        return None if word in (None, "N/A", "-") else Decimal(word)

    return Cell(
        value=number("value"),
        spread=number("spread"),
        low=number("low"),
        high=number("high"),
        q=found["q"],
        p=found["p"],
        n=None if found["n"] is None else int(found["n"]),
        dagger=found["dagger"] is not None,
    )
