"""An item of a published set as a case: what the layouts have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.gathering import answer_among, same_text
from overread.benchmarks.medcmr.vocabulary import MODALITIES, modality_of

__all__ = [
    "MODALITY_PATHOLOGY",
    "choice",
    "free",
    "modality_named",
    "names_of",
    "text_of",
    "yes_or_no",
]

MODALITY_PATHOLOGY: Final = MODALITIES[0]
_YES_NO: Final[Mapping[str, tuple[str, tuple[str, str]]]] = {
    "yes": ("A", ("yes", "no")),
    "no": ("B", ("yes", "no")),
    "是": ("A", ("是", "否")),
    "是的": ("A", ("是", "否")),
    "否": ("B", ("是", "否")),
    "不是": ("B", ("是", "否")),
}
# How sets call their modalities, by the letters alone; the paper's names are known without.
_MODALITIES: Final[Mapping[str, str]] = {
    "xray": "X-ray & Fluoroscopy",
    "radiograph": "X-ray & Fluoroscopy",
    "ctcomputedtomography": "CT",
    "computedtomography": "CT",
    "mr": "MRI",
    "mrmagneticresonanceimaging": "MRI",
    "magneticresonanceimaging": "MRI",
    "dermoscopy": "Photography / Dermatology",
    "digitalphotography": "Photography / Dermatology",
    "fundusphotography": "Ophthalmology / Optical",
    "infraredreflectanceimaging": "Ophthalmology / Optical",
    "octopticalcoherencetomography": "Ophthalmology / Optical",
    "oct": "Ophthalmology / Optical",
    "microscopyimages": "Pathology / Microscopy",
    "microscopy": "Pathology / Microscopy",
    "histopathology": "Pathology / Microscopy",
    "colposcopy": "Endoscopy",
}


def text_of(record: Mapping[str, Any], name: str) -> str:
    """A field as text: a number as it is printed, nothing for null or for what is no text."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def modality_named(text: str) -> str | None:
    """The paper's name of a modality, else the set's own word; None where there is none.

    >>> modality_named("X-Ray"), modality_named("Thermography"), modality_named(" ")
    ('X-ray & Fluoroscopy', 'Thermography', None)
    """
    word = text.strip()
    plain = re.sub(r"[\W_]+", "", word.casefold())
    return modality_of(word) or _MODALITIES.get(plain) or word or None


def yes_or_no(answer: str) -> tuple[str, tuple[str, str]] | None:
    """The letter and the options of a question answered by yes or no; None of any other."""
    return _YES_NO.get(same_text(answer).rstrip("."))


def free(
    case_id: str, index: int, question: str, answer: str, *, closed: bool = True, **facts: Any
) -> MedCase:
    """A question without options: one of yes or no where it is `closed`, else an open one."""
    either = yes_or_no(answer) if closed else None
    letter, options = either or (answer.strip(), ())
    return MedCase(
        case_id=case_id,
        index=index,
        kind="mcq" if either else "open",
        question=question,
        answer=letter,
        options=options,
        **facts,
    )


def names_of(records: Sequence[Mapping[str, Any]], field: str) -> list[str]:
    """What items are called: by the set's own ids where each has its own, else by their places."""
    own = [text_of(record, field).strip() for record in records]
    if all(own) and len(set(own)) == len(own):
        return own
    return [str(place) for place in range(1, len(records) + 1)]


def choice(
    where: str,
    case_id: str,
    index: int,
    question: str,
    answer: str,
    options: Sequence[str],
    *,
    texts: bool = True,
    **facts: Any,
) -> MedCase | Left:
    """A question with options; left out where the answer is not exactly one of them.

    Letters that all options carry (`A. left`) are taken off: the prompt has its own.
    """
    letter, kept = answer_among(answer, options, texts=texts)
    if letter is None or len(kept) > len(LETTERS):
        shown = " ".join(answer.split())[:60]
        return Left(case_id, f'{where}: answer is "{shown}", not exactly one of its options')
    return MedCase(
        case_id=case_id,
        index=index,
        kind="mcq",
        question=question,
        answer=letter,
        options=kept,
        **facts,
    )
