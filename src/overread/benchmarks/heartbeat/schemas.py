"""The columns of cases.parquet and answers.parquet. Imports polars only when asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from overread.benchmarks.heartbeat.answers import ANSWER_COLUMNS
from overread.benchmarks.heartbeat.case_volumes import Volumes
from overread.benchmarks.heartbeat.cases import HeartbeatCase

__all__ = ["answer_schema", "case_row", "case_schema"]

_NONE: Final = Volumes()


@cache
def case_schema() -> Mapping[str, Any]:
    """The fields of a case, and its volumes; `case_id` is `case` in every table."""
    import polars as pl

    other: dict[str, Any] = dict.fromkeys(("frames", "ed", "es", "width", "height"), pl.Int32)
    other |= dict.fromkeys(("fps", "age", "ef", "ed_volume", "es_volume"), pl.Float64)
    first, *fields = HeartbeatCase.__struct_fields__
    assert first == "case_id"
    return {
        "case": pl.String,
        **{field: other.get(field, pl.String) for field in fields},
        "frame_volumes": pl.List(pl.Float64),
        "volume_method": pl.String,
        "volume_fault": pl.String,
        "frame_areas": pl.List(pl.Int32),
        "other_ed": pl.List(pl.Int32),
        "other_es": pl.List(pl.Int32),
    }


def case_row(case: HeartbeatCase, volumes: Volumes = _NONE) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    return (*(getattr(case, field) for field in case.__struct_fields__), *volumes)


@cache
def answer_schema() -> Mapping[str, Any]:
    """One row per trial; the run puts the column `reader` before these."""
    import polars as pl

    whole = ("pass", "truth_ed", "truth_es", "start", "count", "stated")
    other: dict[str, Any] = dict.fromkeys(whole, pl.Int32)
    # A model may name any number, and it is kept.
    wide = ("seed", "pred_ed", "pred_es", "lenient_ed", "lenient_es")
    other |= dict.fromkeys(wide, pl.Int64)
    other |= dict.fromkeys(("out_of_range", "refused", "recorded"), pl.Boolean)
    return {column: other.get(column, pl.String) for column in ANSWER_COLUMNS}
