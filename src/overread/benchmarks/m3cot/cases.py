"""One question about one image, with its gold steps, whatever set it comes from; and its row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.texts import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "KINDS",
    "STEPS",
    "TASKS",
    "Kind",
    "M3Case",
    "Step",
    "StepType",
    "case_row",
    "case_schema",
    "cases_in",
    "kind_of",
]

Kind: TypeAlias = Literal["single", "multiple", "bool", "short"]
KINDS: Final[tuple[Kind, ...]] = ("single", "multiple", "bool", "short")
StepType: TypeAlias = Literal["modality", "feature", "conclusion", "analysis"]
# In the order of the gold path: modality, feature, key_conclusion, additional_analysis.
STEPS: Final[tuple[StepType, ...]] = ("modality", "feature", "conclusion", "analysis")

# The paper's names of the 13 tasks, by the label in type.xlsx (M3COT 1).
TASKS: Final[dict[str, str]] = {
    "Diagnosis": "Diagnosis",
    "Recognition": "Recognition",
    "Treatment": "Action",
    "Localization": "Localization",
    "Cause": "Cause",
    "Modality": "Examination Type",
    "Function": "Function",
    "Refering Recognition": "Referring Recognition",
    "Prediction": "Prediction",
    "Grading": "Grading",
    "Counting": "Counting",
    "Image Quality": "Image Quality",
    "Symptom": "Symptom",
}


class Step(msgspec.Struct, frozen=True):
    """One gold step."""

    type: StepType
    text: str


class M3Case(msgspec.Struct, frozen=True, kw_only=True):
    """A question, its image below the data root, its answer and one to four gold steps in order."""

    case_id: str
    # The position in the authors' file, from 1; a user's own set counts its rows.
    index: int
    question: str
    answer: str
    kind: Kind
    task: str
    image: str
    steps: tuple[Step, ...]
    # Facts a set may state: the examination (one of 24 names), the patient.
    modality: str | None = None
    patient: str | None = None


def kind_of(question: str) -> Kind:
    """The type of a question by its words, lower-cased; the first that is found (M3COT 1)."""
    text = question.lower()
    if "select all that apply" in text:
        return "multiple"
    if "select one option" in text:
        return "single"
    return "bool" if "true or false" in text else "short"


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
    return (*map(_storable_cell, values), None if swap is None else storable(swap.case_id))


def _storable_cell(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return [{key: storable(text) for key, text in step.items()} for step in value]
    return value


def cases_in(cases: pl.DataFrame) -> list[M3Case]:
    """The cases of a kept table."""
    kept = cases.rename({"case": "case_id"}).select(M3Case.__struct_fields__)
    return msgspec.convert(kept.to_dicts(), list[M3Case])
