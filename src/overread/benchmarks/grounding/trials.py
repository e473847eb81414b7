"""Trials: every condition of one case, as a reader of these traits is asked (GROUNDING 3-5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.grounding.boxes import at_resolution, closed
from overread.benchmarks.grounding.cases import GroundingCase, boxed
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.prompts import (
    REASONING_SYSTEM_MESSAGE,
    SENTENCE_SOURCE,
    question,
)
from overread.case import (
    Box,
    Decoding,
    Fill,
    Message,
    Picture,
    Request,
    Resize,
    Source,
    Traits,
    Trial,
)

__all__ = ["trials"]

# One word is asked for; a reasoning reader needs room to think first (GROUNDING 5).
_ONE_WORD: Final = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)
_REASONED: Final = Decoding(max_tokens=2048, temperature=0.0, top_logprobs=5)
_SYSTEM: Final = Message("system", (REASONING_SYSTEM_MESSAGE,))


def trials(
    case: GroundingCase, traits: Traits, edition: Edition, options: Options, root: str
) -> Iterator[Trial]:
    """One trial per condition the case allows: masks need their box, a swap its other image."""
    if traits.modality == "vision" and not _has_finding(case, edition):
        return
    text = question(case.source, case.finding, case.error_sentence, options.phrasing)
    decoding = _REASONED if traits.reasoning else _ONE_WORD
    for image in options.conditions:
        picture = _picture(case, image, edition, options, root)
        if picture is None:
            continue
        user = Message("user", (picture, text))
        yield Trial(
            case.case_id,
            {"image": image, "phrasing": options.phrasing, "px": options.px},
            Request((_SYSTEM, user) if traits.reasoning else (user,), decoding),
        )


def _has_finding(case: GroundingCase, edition: Edition) -> bool:
    """A reader without text only knows findings; a sentence it cannot judge [D23]."""
    if case.source == SENTENCE_SOURCE and edition.vision_on_sentences == "no":
        return False
    return case.finding is not None


def _picture(
    case: GroundingCase, image: str, edition: Edition, options: Options, root: str
) -> Picture | None:
    path: str | None = case.image_path
    box: Box | None = None
    if image == "swap":
        path = case.swap_image_path
    elif image != "original":
        box = case.box if image == "target_mask" else case.irrelevant_box
        if box is None or not boxed(case, edition):
            return None
    if path is None:
        return None
    resize = Resize(options.px, options.px)
    operations = (resize,) if box is None else (resize, _mask(box, edition, options.px))
    return Picture(Source(root, path), operations, edition.wire)


def _mask(box: Box, edition: Edition, px: int) -> Fill:
    """A black rectangle, placed after the resize; closed masks grow at the final resolution."""
    scaled = at_resolution(box, px)
    return Fill(closed(scaled) if edition.masks == "closed" else scaled)
