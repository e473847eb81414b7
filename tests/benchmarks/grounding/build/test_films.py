"""Ids are compared as text, however a table was saved."""

from __future__ import annotations

import polars as pl

from overread.benchmarks.grounding.build.films import identifiers


def test_a_whole_number_kept_as_a_float_is_the_same_id():
    ids = pl.Series("id", ["1213", "1213.0", "1213.00", "p12.0", "1.5", "0012", None])
    found = ids.to_frame().select(identifiers(pl.col("id")))["id"]
    assert found.to_list() == ["1213", "1213", "1213", "p12.0", "1.5", "0012", None]
