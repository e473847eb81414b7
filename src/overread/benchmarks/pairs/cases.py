"""Pairs of pictures that one question turns on, whatever set they come from.

A table of one's own; MediConfusion's (Sepehri and others, ICLR 2025, arXiv:2409.15477; NaturalBench
has the same idea for photographs); a probe set of chest films with one of the opposite label each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.layouts import Item, SetReader, published
from overread.benchmarks.letter_parser import LETTERS, place_of_answer

YES_NO: Final = ("Yes", "No")


class PairCase(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its options, two pictures, and the place of the right option for each."""

    case_id: str
    question: str
    options: tuple[str, ...]
    images: tuple[str, ...]
    answers: tuple[int, ...]
    group: str | None = None
    patients: tuple[str, ...] = ()


def _own(item: Item, options: Any) -> PairCase | Left:
    """Options stand in option_A, option_B, … or in one list; without any they are Yes and No."""
    lettered = (item.fact(f"option_{letter}") for letter in LETTERS)
    listed = item.texts("options") or tuple(text for text in lettered if text)
    answers = [item.required(f"answer_{at}") for at in (1, 2)]
    patients = [item.fact(f"patient_{at}") for at in (1, 2)]
    return _pair(item, item.required("question"), listed or YES_NO, answers, "group", patients)


def _mediconfusion(item: Item, options: Any) -> PairCase | Left:
    answers = [item.required(f"im_{at}_correct") for at in (1, 2)]
    listed = (item.required("option_A"), item.required("option_B"))
    return _pair(item, item.required("question"), listed, answers, "category_1")


def _opposite(item: Item, options: Any) -> PairCase | Left | None:
    """A film and one of another patient with the opposite label for the same finding."""
    finding = item.fact("finding")
    if finding is None or len(item.images) < 2:
        return None
    answers = YES_NO if item.flag("label") else YES_NO[::-1]
    question = f"Does this chest radiograph show {finding.replace('_', ' ')}?"
    return _pair(item, question, YES_NO, answers, "finding", [item.fact("subject_id")])


def _pair(
    item: Item,
    question: str,
    options: Sequence[str],
    answers: Sequence[str],
    group: str,
    patients: Sequence[str | None] = (),
) -> PairCase | Left:
    """The pair, or why nobody can be asked about it; the first word of a list is the group."""
    places = [place_of_answer(answer, options) for answer in answers]
    if not 2 <= len(set(options)) == len(options) <= len(LETTERS):
        return item.left(f"it needs 2 to {len(LETTERS)} different options")
    if None in places:
        return item.left(f'"{answers[places.index(None)][:60]}" is none of its options')
    if places[0] == places[1] or len(set(item.images)) < 2:
        return item.left("it needs two different pictures with two different answers")
    listed = re.findall(r"'([^']+)'", item.lenient(group))
    return PairCase(
        case_id=item.case_id,
        question=question,
        options=tuple(options),
        images=item.images,
        answers=tuple(place for place in places if place is not None),
        group=listed[0] if listed else item.fact(group),
        patients=tuple(patient for patient in patients if patient),
    )


def _shared_pictures(cases: Sequence[PairCase]) -> list[str]:
    uses = Counter(image for case in cases for image in case.images)
    n = sum(any(uses[image] > 1 for image in case.images) for case in cases)
    return [f"{n} of {len(cases)} pairs share a picture with another."] if n else []


READER: Final = SetReader(
    layouts=(
        published(
            "MediConfusion", (".csv",), ("question", "im_1_local", "im_2_local", "im_1_correct"),
            _mediconfusion, folders=("images", ""), named_by="id",
            images=lambda row: [f"{row.lenient(f'im_{at}_local').strip()}.jpg" for at in (1, 2)],
        ),
        published(
            "opposite films", (".csv",), ("case_id", "finding", "label", "opposite_image_path"),
            _opposite, folders=("", "images"), named_by="case_id",
            images=("image_path", "opposite_image_path"),
        ),
        published(
            "pairs", (".csv", ".jsonl", ".json", ".parquet", ".xlsx"),
            ("question", "image_1", "image_2", "answer_1", "answer_2"),
            _own, folders=("", "images"), named_by="pair", images=("image_1", "image_2"),
        ),
    ),
    case=PairCase,
    expected="a table with question, image_1, image_2, answer_1 and answer_2, MediConfusion's "
    "dataset.csv, or a probe set with opposite_image_path",
    images=lambda case: case.images,
    name=lambda case: case.case_id,
    remarks=_shared_pictures,
    what="set of pairs",
    item="pair",
)  # fmt: skip
