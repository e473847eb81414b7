"""One thing that does not add up."""

from __future__ import annotations

import msgspec

__all__ = ["Flag"]


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """Where something stands, what is wrong with it, what was found and what was expected.

    `tables` are the tables it concerns by their names on the command line; `reader` the row.
    `note` cites the protocol's row where there is one.
    """

    where: str
    what: str
    found: str
    expected: str
    reader: str = ""
    tables: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        row = f"{self.reader}: " if self.reader else ""
        note = f" [{self.note}]" if self.note else ""
        return (
            f"{self.where}, {row}{self.what}. Found {self.found}; expected {self.expected}.{note}"
        )
