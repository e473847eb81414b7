"""Ids as they are compared: text, without the `.0` of a whole number once kept as a float."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["identifiers"]


def identifiers(words: pl.Series) -> pl.Series:
    """The same ids however a table was saved: `1213.0` is patient `1213`."""
    return words.str.replace(r"^(\d+)\.0+$", "${1}")
