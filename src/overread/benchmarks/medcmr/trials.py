"""Trials: all that a reader is asked about one item (MEDCMR, "Asking")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.medcmr import prompts
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.orders import orders_of, shown_order
from overread.case import (
    Box,
    Condition,
    Decoding,
    Fill,
    Message,
    Operation,
    Picture,
    Request,
    Source,
    Traits,
    Trial,
    Within,
)

__all__ = ["REASONED_TOKENS", "condition", "trials"]

# A reasoning reader needs room to think before its letter.
REASONED_TOKENS: Final = 2048
# Larger than any image; what lies outside is ignored.
_ALL: Final = Box(0, 0, 1_000_000, 1_000_000)


def trials(
    case: MedCase,
    traits: Traits,
    edition: Edition,
    options: Options,
    root: str,
    swap: MedCase | None,
    reformulated: bool,
) -> Iterator[Trial]:
    """Every image the options name; `swap` is the item whose images are lent, if there is one.

    Further orders of the options, and a multiple-choice item put as an open one, are asked with
    the item's own images alone. A reader without text cannot be asked.
    """
    if traits.modality == "vision":
        return
    for image in options.images:
        pictures = _pictures(case, image, options, root, swap)
        if pictures is None:
            continue
        own = image == "original"
        if case.kind == "open":
            if "open" in options.kinds:
                yield _open(case, condition("open", image), pictures, case.question, options)
            continue
        if "mcq" in options.kinds:
            for order in orders_of(case, options.orders if own else 0, edition.seed):
                yield _mcq(case, image, order, pictures, traits, options)
        if reformulated and own:
            told = condition("reformulated", image)
            stem = prompts.stem(case.question, case.options)
            yield _open(case, told, pictures, stem, options)


def condition(form: str, image: str = "original", order: int = 0) -> Condition:
    """What a trial is called in every table."""
    return {"form": form, "image": image, "order": order}


def _mcq(
    case: MedCase,
    image: str,
    order: int,
    pictures: tuple[Picture, ...],
    traits: Traits,
    options: Options,
) -> Trial:
    options_shown = case.options
    if order:
        options_shown = tuple(case.options[place] for place in shown_order(case, order))
    text = prompts.mcq(case.question, options_shown)
    if traits.reasoning:
        # The first token is then of the thinking: its alternatives say nothing of the letter.
        tokens, alternatives = max(options.letter_tokens, REASONED_TOKENS), 0
    else:
        tokens, alternatives = options.letter_tokens, options.logprobs
    decoding = Decoding(tokens, options.temperature, alternatives)
    request = Request((Message("user", (*pictures, text)),), decoding)
    return Trial(case.case_id, condition("mcq", image, order), request)


def _open(
    case: MedCase,
    told: Condition,
    pictures: tuple[Picture, ...],
    question: str,
    options: Options,
) -> Trial:
    text = prompts.open_ended(question)
    decoding = Decoding(options.open_tokens, options.temperature)
    return Trial(case.case_id, told, Request((Message("user", (*pictures, text)),), decoding))


def _pictures(
    case: MedCase, image: str, options: Options, root: str, swap: MedCase | None
) -> tuple[Picture, ...] | None:
    """The images within `px` pixels, all black where `blank`; None where this cannot be asked."""
    if image == "text":
        return ()
    shown = swap if image == "swap" else case
    # An item without images has nothing to be hidden or swapped.
    if shown is None or (image != "original" and not case.images):
        return None
    operations: tuple[Operation, ...] = (Within(options.px),) if options.px else ()
    if image == "blank":
        operations += (Fill(_ALL),)
    return tuple(Picture(Source(root, name), operations) for name in shown.images)
