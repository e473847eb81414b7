"""Items of curation as Med-CMR's rows, and the pictures its sets offer for new ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from overread.benchmarks.curated import Candidate, Item
from overread.benchmarks.letter_parser import LETTERS
from overread.case import Picture, Source

if TYPE_CHECKING:
    from overread.benchmarks.medcmr.benchmark import MedCMR

_TRUE_OR_FALSE = ("True", "False")


def candidates(bench: MedCMR) -> Iterator[Candidate]:
    """The first image of each case that has a caption, once, with what the case says of it."""
    seen: set[str] = set()
    for case in bench.cases():
        image = case.images[0]
        if not case.caption or image in seen:
            continue
        seen.add(image)
        yield Candidate(
            picture=Picture(Source(bench.root, image)),
            caption=case.caption,
            labels=(case.truth,),
            patient=case.patient or "",
            modality=case.modality or "",
            system=case.system or "",
            facts={"dimension": case.dimension} if case.dimension else {},
        )


def row(item: Item, images: Sequence[str]) -> dict[str, Any] | str:
    """An item as a row of a set of one's own, or why it cannot be one.

    A choice is multiple-choice, true or false a choice of these two, a short answer an open item.
    """
    options: tuple[str, ...] = ()
    if item.kind == "multiple":
        return "several_right"
    if item.kind == "bool":
        options = _TRUE_OR_FALSE
        answer = "A" if item.answers[0] == "true" else "B"
    elif item.kind == "single":
        options = item.options
        if not 2 <= len(options) <= len(LETTERS) or item.answers[0] not in options:
            return "no_options"
        answer = LETTERS[options.index(item.answers[0])]
    else:
        answer = item.answers[0]
    return {
        "case_id": item.id,
        "kind": "mcq" if options else "open",
        "question": item.question,
        "images": list(images),
        "options": list(options),
        "answer": answer,
        "caption": item.caption,
        "dimension": item.dimension,
        "subtype": item.subtype,
        "ability": item.ability,
        "modality": item.modality,
        "system": item.system,
        "patient": item.patients[0] if len(item.patients) == 1 else "",
    }
