"""Trials: all that a reader is asked about one item (M3COT 2, 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.draws import lot
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.edition import MODES, Edition, Options
from overread.benchmarks.m3cot.prompts import answer_first, question, truncated
from overread.benchmarks.m3cot.sentences import first_half
from overread.case import (
    Box,
    Condition,
    Decoding,
    Fill,
    Message,
    Operation,
    Picture,
    Reply,
    Request,
    Source,
    Traits,
    Trial,
    Within,
)

__all__ = ["condition", "follow_ups", "timed", "trials"]

# What is timed is asked anew: a reply from the store took no time.
_TIMED: Final = 1


def trials(
    case: M3Case,
    traits: Traits,
    edition: Edition,
    options: Options,
    root: str,
    swap: M3Case | None = None,
) -> Iterator[Trial]:
    """Every image in every mode; `swap` is the item whose image is lent, if there is one.

    A reader without text cannot be asked.
    """
    if traits.modality == "vision":
        return
    for image in options.images:
        picture = _picture(case, image, options, root, swap)
        if picture is None:
            continue
        for mode in options.modes:
            text = question(case.question, mode, edition)
            yield _trial(case, condition(mode, image), picture, text, options)


def follow_ups(
    case: M3Case,
    said: Sequence[tuple[Trial, Reply]],
    traits: Traits,
    edition: Edition,
    options: Options,
    root: str,
) -> Iterator[Trial]:
    """What is asked once the reader has reasoned about the original image.

    `truncated`: the same question with the first half of its own reasoning, by sentences, and a
    request for the answer now; not asked where it refused or said less than two sentences.
    `answer_first`: the answer demanded before any reasoning.
    """
    if traits.modality == "vision":
        return
    picture = _picture(case, "original", options, root, None)
    assert picture is not None
    for follow in options.follow:
        if follow == "answer_first":
            text = answer_first(case.question, edition)
        else:
            half = _half(case, said)
            if half is None:
                continue
            text = truncated(case.question, half, edition)
        yield _trial(case, condition("cot", "original", follow), picture, text, options)


def timed(
    case: M3Case, traits: Traits, edition: Edition, options: Options, root: str
) -> Iterator[Trial]:
    """Both modes of a timed item, one after the other, asked anew.

    Which comes first is drawn for each item: a server may still have the image of the first.
    """
    if traits.modality == "vision":
        return
    picture = _picture(case, "original", options, root, None)
    assert picture is not None
    modes = MODES if lot("first", edition.seed, case.case_id) % 2 else MODES[::-1]
    for mode in modes:
        text = question(case.question, mode, edition)
        told = condition(mode, "original", timed=True)
        yield _trial(case, told, picture, text, options, _TIMED)


def condition(mode: str, image: str, follow: str = "", *, timed: bool = False) -> Condition:
    """What a trial is called in every table."""
    return {"mode": mode, "image": image, "follow": follow, "timed": timed}


def _half(case: M3Case, said: Sequence[tuple[Trial, Reply]]) -> str | None:
    wanted = condition("cot", "original")
    for trial, reply in said:
        if trial.case == case.case_id and trial.condition == wanted:
            return None if reply.refused else first_half(reply.text)
    return None


def _picture(
    case: M3Case, image: str, options: Options, root: str, swap: M3Case | None
) -> Picture | None:
    """The image within `px` pixels; black throughout where it is `blank`."""
    shown = swap if image == "swap" else case
    if shown is None:
        return None
    operations: tuple[Operation, ...] = (Within(options.px),)
    if image == "blank":
        operations += (Fill(Box(0, 0, options.px, options.px)),)
    return Picture(Source(root, shown.image), operations)


def _trial(
    case: M3Case,
    told: Condition,
    picture: Picture,
    text: str,
    options: Options,
    repeat: int = 0,
) -> Trial:
    decoding = Decoding(max_tokens=options.max_tokens, temperature=options.temperature)
    request = Request((Message("user", (picture, text)),), decoding)
    return Trial(case.case_id, told, request, repeat)
