"""Kept verdicts read again: what a judge said stays, what it is taken for may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from overread.judging import Read

if TYPE_CHECKING:
    import polars as pl


def reread(verdicts: pl.DataFrame, read: Callable[[Mapping[str, Any]], Read]) -> pl.DataFrame:
    """Every row with what `read` makes of it.

    Rows without the judge's words (an import of verdicts alone) are kept as they are.
    """
    import polars as pl

    made: dict[str, list[Any]] = {"outcome": [], "how": [], "payload": [], "reason": []}
    for row in verdicts.iter_rows(named=True):
        if row["text"] is None:
            for column, cells in made.items():
                cells.append(row[column])
            continue
        found = read(row)
        made["outcome"].append("judged" if found.valid else "invalid")
        made["how"].append(found.how)
        made["payload"].append(msgspec.json.encode(found.value).decode() if found.valid else None)
        made["reason"].append(found.fault)
    return verdicts.with_columns(
        pl.Series(column, cells, dtype=pl.String) for column, cells in made.items()
    )
