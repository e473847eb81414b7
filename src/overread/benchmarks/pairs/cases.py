"""Pairs of pictures that one question turns on, from a table of one's own, MediConfusion's, or a
probe set of chest films that have a counterpart of the opposite label.

MediConfusion: Sepehri and others, ICLR 2025 (arXiv:2409.15477). NaturalBench: Li and others, NeurIPS
2024, has the same idea for photographs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.fields import Fields
from overread.benchmarks.files.layouts import Item, SetReader, published
from overread.benchmarks.letter_parser import LETTERS

__all__ = ["READER", "PairCase"]

YES_NO: Final = ("Yes", "No")
_TABLES: Final = (".csv", ".jsonl", ".json", ".parquet", ".xlsx")


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
    """Columns question, image_1, image_2, answer_1, answer_2; options as option_A … or a list."""
    listed = item.texts("options") or tuple(
        text for letter in LETTERS if (text := item.fact(f"option_{letter}"))
    )
    return _pair(
        item,
        item.required("question"),
        listed or YES_NO,
        [item.required(f"answer_{at}") for at in (1, 2)],
        group=item.fact("group"),
        patients=tuple(p for at in (1, 2) if (p := item.fact(f"patient_{at}"))),
    )


def _mediconfusion(item: Item, options: Any) -> PairCase | Left:
    named = [re.findall(r"'([^']+)'", item.lenient(f"category_{at}")) for at in (1, 2)]
    both = [name for name in named[0] if name in named[1]]
    return _pair(
        item,
        item.required("question"),
        (item.required("option_A"), item.required("option_B")),
        [item.required(f"im_{at}_correct") for at in (1, 2)],
        group=next(iter(both or named[0]), None),
    )


def _opposite(item: Item, options: Any) -> PairCase | Left | None:
    """A film and one of another patient with the opposite label for the same finding."""
    finding = item.fact("finding")
    if finding is None or len(item.images) < 2:
        return None
    said = finding.replace("_", " ")
    patient = item.fact("subject_id")
    return _pair(
        item,
        f"Does this chest radiograph show {said}?",
        YES_NO,
        list(YES_NO if item.flag("label") else YES_NO[::-1]),
        group=finding,
        patients=() if patient is None else (patient,),
    )


def _pair(
    item: Item,
    question: str,
    options: Sequence[str],
    answers: Sequence[str],
    *,
    group: str | None,
    patients: tuple[str, ...] = (),
) -> PairCase | Left:
    """The pair, or why nobody can be asked about it."""
    places = [_place(answer, options) for answer in answers]
    if not 2 <= len(set(options)) == len(options) <= len(LETTERS):
        return item.left(f"it needs 2 to {len(LETTERS)} different options")
    if None in places:
        wrong = answers[places.index(None)]
        return item.left(f'"{wrong[:60]}" is none of its options, nor a letter of one')
    if places[0] == places[1]:
        return item.left("both pictures have the same answer, so that nothing turns on them")
    if len(set(item.images)) < 2:
        return item.left("it needs two different pictures")
    return PairCase(
        case_id=item.case_id,
        question=question,
        options=tuple(options),
        images=item.images,
        answers=tuple(place for place in places if place is not None),
        group=group,
        patients=patients,
    )


def _place(answer: str, options: Sequence[str]) -> int | None:
    """Where an answer stands among the options: by its own words, else by its letter."""
    words = [option.casefold() for option in options]
    if answer.casefold() in words:
        return words.index(answer.casefold())
    letters = LETTERS[: len(options)]
    return letters.index(answer.upper()) if len(answer) == 1 and answer.upper() in letters else None


def _named(*columns: str, suffix: str = "") -> Any:
    def images(row: Fields) -> list[str]:
        given = [row.lenient(column).strip() for column in columns]
        return [name + suffix for name in given if name]

    return images


_IMAGES: Final = ("image_1", "image_2")
_FILMS: Final = ("image_path", "opposite_image_path")
_LOCAL: Final = ("im_1_local", "im_2_local")
READER: Final = SetReader(
    layouts=(
        published(
            "MediConfusion", (".csv", ".json"), ("question", "option_A", *_LOCAL, "im_1_correct"),
            _mediconfusion, images=_named(*_LOCAL, suffix=".jpg"), folders=("images", ""),
            named_by="id",
        ),
        published(
            "opposite films", (".csv",), ("case_id", "finding", "label", *_FILMS),
            _opposite, images=_named(*_FILMS), folders=("", "images"), named_by="case_id",
        ),
        published(
            "pairs", _TABLES, ("question", *_IMAGES, "answer_1", "answer_2"),
            _own, images=_named(*_IMAGES), folders=("", "images"), named_by="pair",
        ),
    ),
    expected=(
        "a table with the columns question, image_1, image_2, answer_1 and answer_2, "
        "MediConfusion's dataset.csv, or a probe set with opposite_image_path"
    ),
    images=lambda case: case.images,
    name=lambda case: case.case_id,
    what="set of pairs",
    item="pair",
)  # fmt: skip
