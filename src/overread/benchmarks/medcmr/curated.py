"""Items of curation as Med-CMR's rows, and the pictures its sets offer for new ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.curated import Candidate, Item, Put, Turned
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MedCase
from overread.benchmarks.medcmr.trials import mcq_prompt, orders_of, shown_order
from overread.case import Picture, Source

if TYPE_CHECKING:
    from overread.benchmarks.medcmr.benchmark import MedCMR

LABELS: Final = {"dimension": tuple(DIMENSIONS), "ability": tuple(ABILITIES)}
_TRUE_OR_FALSE = ("True", "False")


def candidates(bench: MedCMR) -> Iterator[Candidate]:
    """The first image of each case that has a caption, once, with what the case says of it.

    Its answer is no label: it says what is true of a question, not of the picture.
    """
    seen: set[str] = set()
    for case in bench.cases():
        image = case.images[0]
        if not case.caption or image in seen:
            continue
        seen.add(image)
        yield Candidate(
            picture=Picture(Source(bench.root, image)),
            caption=case.caption,
            patient=case.patient or "",
            modality=case.modality or "",
            system=case.system or "",
            facts={"dimension": case.dimension} if case.dimension else {},
        )


def put(item: Item) -> Put | None:
    """A choice as it is asked, and read by its letter; an open item needs judges."""
    if item.kind not in ("single", "bool"):
        return None
    options = _TRUE_OR_FALSE if item.kind == "bool" else item.options
    place = _place(item, options)
    if place is None:
        return None
    case = MedCase(
        case_id=item.id, index=0, kind="mcq", question=item.question, images=(), options=options,
        answer=LETTERS[place],
    )  # fmt: skip

    def turned(orders: int, seed: int, name: str) -> tuple[Turned, ...]:
        drawn = orders_of(msgspec.structs.replace(case, case_id=name), orders - 1, seed)
        return tuple(_turned(case, order) for order in drawn)

    own = _turned(case, 0)
    return Put(own.text, lambda reply: own.taken(reply) == place, turned)


def _turned(case: MedCase, order: int) -> Turned:
    places = shown_order(case, order)
    shown = [case.options[place] for place in places]

    def taken(reply: str) -> int | None:
        letter = read_choice(reply, shown).letter
        return None if letter is None else places[LETTERS.index(letter)]

    return Turned(order, mcq_prompt(case.question, shown), taken)


def _place(item: Item, options: Sequence[str]) -> int | None:
    """Where the right one stands among the options; None where they are no choice."""
    if len(item.answers) != 1 or not 2 <= len(options) <= len(LETTERS):
        return None
    if item.kind == "bool":
        return {"true": 0, "false": 1}.get(item.answers[0])
    return options.index(item.answers[0]) if item.answers[0] in options else None


def row(item: Item, images: Sequence[str]) -> dict[str, Any] | str:
    """An item as a row of a set of one's own, or why it cannot be one.

    A choice is multiple-choice, true or false a choice of these two, a short answer an open item.
    """
    options: tuple[str, ...] = ()
    answer = item.answers[0]
    if item.kind == "multiple":
        return "several_right"
    if item.kind in ("single", "bool"):
        options = _TRUE_OR_FALSE if item.kind == "bool" else item.options
        place = _place(item, options)
        if place is None:
            return "no_options"
        answer = LETTERS[place]
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
