"""One question about one image, with its gold steps, whatever set it comes from."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["KINDS", "STEPS", "TASKS", "Kind", "M3Case", "Step", "StepType", "kind_of"]

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
