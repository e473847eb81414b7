"""One question about one image, with its gold steps, whatever set it comes from; and its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.tables import structs_in

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["single", "multiple", "bool", "short"]
KINDS: Final[tuple[Kind, ...]] = ("single", "multiple", "bool", "short")
StepType: TypeAlias = Literal["modality", "feature", "conclusion", "analysis"]
# In the order of the gold path: modality, feature, key_conclusion, additional_analysis.
STEPS: Final[tuple[StepType, ...]] = ("modality", "feature", "conclusion", "analysis")

FACETS: Final = ("task", "kind")
"""What cards are filtered by, and a sample keeps in proportion."""
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


class CaseRow(M3Case, frozen=True, kw_only=True):
    """The columns of `cases.parquet`: a case, and the case whose image is lent to it."""

    swap: str | None = None


def case_row(case: M3Case, swap: M3Case | None = None) -> CaseRow:
    """A case with the one whose image is lent."""
    return CaseRow(**msgspec.structs.asdict(case), swap=None if swap is None else swap.case_id)


def cases_in(cases: pl.DataFrame) -> dict[str, M3Case]:
    """The cases of a kept table, by their ids."""
    return {case.case_id: case for case in structs_in(cases, M3Case)}
