"""Trials: every condition of one case, as a reader of these traits is asked (GROUNDING 3-5, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from overread.benchmarks.grounding.boxes import at_resolution, closed, mirrored_share
from overread.benchmarks.grounding.cases import GroundingCase, boxed
from overread.benchmarks.grounding.conditions import PAPER, Filling, Image, image_of, images_of
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.prompts import (
    REASONING_SYSTEM_MESSAGE,
    SENTENCE_SOURCE,
    question,
)
from overread.benchmarks.grounding.subset import Subset
from overread.case import (
    Box,
    Decoding,
    Fill,
    Inline,
    Message,
    Mirror,
    Occlude,
    Picture,
    Request,
    Resize,
    Source,
    Traits,
    Trial,
)

__all__ = ["BLANK", "trials"]

# One word is asked for; a reasoning reader needs room to think first (GROUNDING 5).
_ONE_WORD: Final = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)
_REASONED: Final = Decoding(max_tokens=2048, temperature=0.0, top_logprobs=5)
_SYSTEM: Final = Message("system", (REASONING_SYSTEM_MESSAGE,))

# One black pixel, a PNG: stretched to any size it is the same picture for every case, so that
# equal questions about it are asked once.
BLANK: Final = Inline(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
        "0000000a49444154789c63600000000200014863b6a70000000049454e44ae426082"
    )
)

# What further resolutions and phrasings are asked under, by `Edition.robustness` [D14, D15].
_AT_SIZES: Final = {"boxed": ("original", "target_mask"), "balanced": PAPER}
_IN_WORDS: Final = {"boxed": ("original",), "balanced": ("original", "swap")}
_NO_SUBSET: Final = Subset()
# The share of a box's other side that may itself be hidden, for a fill from there.
_MIRROR_LOST: Final = 0.1


class _Asked(NamedTuple):
    image: str
    phrasing: str
    px: int
    repeat: int = 0


def trials(
    case: GroundingCase,
    traits: Traits,
    edition: Edition,
    options: Options,
    root: str,
    subset: Subset = _NO_SUBSET,
) -> Iterator[Trial]:
    """One trial per condition the case allows: a mask needs its box, a swap its other image.

    First what the headline numbers stand on and the other conditions beside it, then the original
    again, then further resolutions and phrasings if the case is in the sub-sample.
    """
    if traits.modality == "vision" and not _has_finding(case, edition):
        return
    decoding = _REASONED if traits.reasoning else _ONE_WORD
    greedy = traits.adjust(decoding).greedy
    for image, phrasing, px, repeat in _asked(case, traits, edition, options, subset, greedy):
        pictures = _pictures(case, image_of(image), edition, px, root)
        if pictures is None or (not pictures and traits.modality == "vision"):
            continue
        text = question(case.source, case.finding, case.error_sentence, phrasing)
        user = Message("user", (*pictures, text))
        yield Trial(
            case.case_id,
            {"image": image, "phrasing": phrasing, "px": px},
            Request((_SYSTEM, user) if traits.reasoning else (user,), decoding),
            repeat,
        )


def _asked(
    case: GroundingCase,
    traits: Traits,
    edition: Edition,
    options: Options,
    subset: Subset,
    greedy: bool,
) -> Iterator[_Asked]:
    images = _images(options.conditions, options.draws)
    phrasing, px = options.phrasing, options.px
    for image in images:
        yield _Asked(image, phrasing, px)
    if options.repeat == "always" or (options.repeat == "sampled" and not greedy):
        yield _Asked("original", phrasing, px, 1)
    if case.case_id in subset.px:
        for size in options.more_px:
            for image in _AT_SIZES[edition.robustness]:
                if image in images:
                    yield _Asked(image, phrasing, size)
    if case.case_id in subset.phrasing and _reads(traits, edition):
        for words in options.more_phrasings:
            for image in _IN_WORDS[edition.robustness]:
                if image in images:
                    yield _Asked(image, words, px)


_images = lru_cache(images_of)


def _reads(traits: Traits, edition: Edition) -> bool:
    """Whether words can matter to this reader; the authors ask one without text all the same."""
    return traits.modality != "vision" or edition.robustness == "boxed"


def _has_finding(case: GroundingCase, edition: Edition) -> bool:
    """A reader without text only knows findings; a sentence it cannot judge [D23]."""
    if case.source == SENTENCE_SOURCE and edition.vision_on_sentences == "no":
        return False
    return case.finding is not None


def _pictures(
    case: GroundingCase, image: Image, edition: Edition, px: int, root: str
) -> tuple[Picture, ...] | None:
    """What is shown: one picture, or none at all; None where the case has no such image."""
    if image.kind == "none":
        return ()
    resize = Resize(px, px)
    if image.kind == "blank":
        return (Picture(BLANK, (resize,), edition.wire),)
    if image.fill is None:
        path = {
            "original": case.image_path,
            "swap": case.swap_image_path,
            "opposite": case.opposite_image_path,
        }[image.kind]
        return None if path is None else (Picture(Source(root, path), (resize,), edition.wire),)
    hidden = _hidden(case, _boxes(case, image, edition), image.fill, edition, px)
    if not hidden:
        return None
    return (Picture(Source(root, case.image_path), (resize, *hidden), edition.wire),)


def _boxes(case: GroundingCase, image: Image, edition: Edition) -> tuple[Box, ...]:
    """What is hidden: nothing where the case has no such box."""
    if not boxed(case, edition):
        return ()
    if image.kind == "matched":
        return case.draws[image.draw - 1] if image.draw <= len(case.draws) else ()
    return case.targets if image.kind == "target" else case.controls


def _hidden(
    case: GroundingCase, boxes: tuple[Box, ...], fill: Filling, edition: Edition, px: int
) -> tuple[Fill | Occlude | Mirror, ...]:
    """The occluders, placed after the resize; closed masks grow at the final resolution [D11]."""

    def placed(box: Box) -> Box:
        scaled = at_resolution(box, px)
        return closed(scaled) if edition.masks == "closed" else scaled

    scaled = tuple(map(placed, boxes))
    if fill == "black":
        return tuple(map(Fill, scaled))
    if fill == "mirror":
        # The other side must be there to fill from, and must not show the finding itself.
        targets = tuple(map(placed, case.targets))
        apart = tuple(box for box in targets if box not in scaled)
        if not scaled or mirrored_share(scaled, (*scaled, *apart), px) > _MIRROR_LOST:
            return ()
        return (Mirror(scaled, apart),)
    # A case's boxes are hidden by the same noise, so that the place is all that differs.
    seed = blake2b(case.case_id.encode(), digest_size=4).digest() if fill == "noise" else b""
    return tuple(Occlude(box, fill, int.from_bytes(seed)) for box in scaled)
