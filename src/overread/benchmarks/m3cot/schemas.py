"""The columns of cases.parquet and answers.parquet. Imports polars only when asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from overread.benchmarks.m3cot.answers import ANSWER_COLUMNS
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.texts import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["answer_schema", "case_row", "case_schema", "cases_in"]


@cache
def case_schema() -> Mapping[str, Any]:
    """The fields of a case, with `case_id` as `case`; `swap` is the case whose image is lent."""
    import polars as pl

    step = pl.Struct({"type": pl.String, "text": pl.String})
    other: dict[str, Any] = {"index": pl.Int64, "steps": pl.List(step)}
    first, *fields = M3Case.__struct_fields__
    assert first == "case_id"
    named = {field: other.get(field, pl.String) for field in fields}
    return {"case": pl.String, **named, "swap": pl.String}


def case_row(case: M3Case, swap: M3Case | None = None) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    values = msgspec.to_builtins(case).values()
    return (*map(_kept, values), None if swap is None else storable(swap.case_id))


def _kept(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return [{key: storable(text) for key, text in step.items()} for step in value]
    return value


def cases_in(cases: pl.DataFrame) -> list[M3Case]:
    """The cases of a kept table."""
    kept = cases.rename({"case": "case_id"}).select(M3Case.__struct_fields__)
    return msgspec.convert(kept.to_dicts(), list[M3Case])


@cache
def answer_schema() -> Mapping[str, Any]:
    """One row per trial; the run puts the column `reader` before these."""
    import polars as pl

    other: dict[str, Any] = {"timed": pl.Boolean, "seconds": pl.Float64, "tokens_out": pl.Int64}
    return {column: other.get(column, pl.String) for column in ANSWER_COLUMNS}
