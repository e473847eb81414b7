"""The columns of cases.parquet and answers.parquet. Imports polars only when asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.texts import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ANSWER_COLUMNS", "answer_schema", "case_row", "case_schema", "cases_in"]

# `form` is how the item was put: mcq, open, or reformulated (a multiple-choice item asked as an
# open one); `order` which order of the options was shown, 0 the set's own. `choice` is the option
# named, by the letter it has in the case; `shown` the letter it had in the question; `rung` how it
# was read. `reasoning` and `answer` are the sections of an open reply. `probabilities` are the
# options' by first token, in the order of the case, normalised over the options;
# `tokens` and `logprobs` are what the reader gave for its first token.
ANSWER_COLUMNS: Final = (
    "case",
    "form",
    "image",
    "order",
    "outcome",
    "choice",
    "shown",
    "rung",
    "probabilities",
    "reasoning",
    "answer",
    "text",
    "tokens",
    "logprobs",
    "finish",
    "seconds",
    "tokens_out",
    "reason",
)


@cache
def case_schema() -> Mapping[str, Any]:
    """The fields of a case, with `case_id` as `case`; `swap` is the case whose image is lent."""
    import polars as pl

    texts = pl.List(pl.String)
    other: dict[str, Any] = {"index": pl.Int64, "images": texts, "options": texts}
    first, *fields = MedCase.__struct_fields__
    assert first == "case_id"
    named = {field: other.get(field, pl.String) for field in fields}
    return {"case": pl.String, **named, "swap": pl.String}


def case_row(case: MedCase, swap: MedCase | None = None) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    values = (getattr(case, field) for field in MedCase.__struct_fields__)
    return (*map(_kept, values), None if swap is None else storable(swap.case_id))


def _kept(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return [storable(text) for text in value] if isinstance(value, tuple) else value


def cases_in(cases: pl.DataFrame) -> list[MedCase]:
    """The cases of a kept table."""
    kept = cases.rename({"case": "case_id"}).select(MedCase.__struct_fields__)
    return msgspec.convert(kept.to_dicts(), list[MedCase])


@cache
def answer_schema() -> Mapping[str, Any]:
    """One row per trial; the run puts the column `reader` before these."""
    import polars as pl

    other: dict[str, Any] = {
        "order": pl.Int8,
        "probabilities": pl.List(pl.Float64),
        "tokens": pl.List(pl.String),
        "logprobs": pl.List(pl.Float64),
        "seconds": pl.Float64,
        "tokens_out": pl.Int64,
    }
    return {column: other.get(column, pl.String) for column in ANSWER_COLUMNS}
