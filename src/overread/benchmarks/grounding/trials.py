"""Trials: every condition of one case, as a reader of these traits is asked (GROUNDING 3-5, 12).

Also what can be asked of a set at all, and of which cases further sizes and phrasings are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

import overread.case as oc
from overread.benchmarks.draws import even_shares
from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.conditions import FILLS, PAPER, Filling, image_of, images_of
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.prompts import (
    NORMAL,
    REASONING_SYSTEM_MESSAGE,
    SENTENCE_SOURCE,
    question,
)
from overread.imaging import at_resolution, closed, mirrored_share

# ---------------------------------------------------------------- what can be asked
# Whether what was chosen can be asked of these cases at all.
#
# Single cases may lack a box or an opposite image; they are then not asked under that condition. If
# all of them lack it, the condition would silently be empty, and the choice was a mistake.


def askable(
    cases: Iterable[GroundingCase], edition: Edition, options: Options, name: str
) -> Iterator[GroundingCase]:
    """The cases as they come; after the last, `BadInput` if a choice fits none of them.

    A run reads every case before it asks anything, so this is known before the first call. `name`
    is the manifest's, for the message.
    """
    any_box = any_opposite = any_key = False
    source = None
    most_matched = 0
    for case in cases:
        if boxed(case, edition):
            any_box = True
            most_matched = max(most_matched, len(case.draws))
        any_opposite = any_opposite or case.opposite_image_path is not None
        any_key = any_key or truth(case, edition) >= 0
        source = case.source
        yield case
    if source is not None and not any_key and edition.other_sources == "unkeyed":
        raise oc.BadInput(
            f'{name}: edition {edition.name} has no key for "{source}", so no answer could be '
            "right or wrong. Use --edition corrected, or add --set other_sources=label."
        )
    fills = [word for word in FILLS if word in options.conditions]
    build = "Build the manifest with overread build, or leave the condition out"
    for words, there, lack, remedy in (
        (fills, any_box, "no case has a box to hide", f"Leave {', '.join(fills)} out"),
        (["opposite_swap"], any_opposite, "opposite_image_path is empty throughout", build),
        (["matched"], most_matched, "matched_boxes is empty throughout", build),
    ):
        for word in words:
            if word in options.conditions and word not in options.where_there and not there:
                raise oc.BadInput(
                    f"{name}: condition {word} cannot be asked of any case: {lack}. {remedy}."
                )
    if "matched" in options.conditions and 0 < most_matched < options.draws:
        raise oc.BadInput(
            f"{name}: --set draws={options.draws}, but no case has more than {most_matched} "
            f"matched boxes. Use --set draws={most_matched}, or build the manifest with more."
        )
    if options.more_px and not any_box:
        sizes = ",".join(map(str, (options.px, *options.more_px)))
        raise oc.BadInput(
            f"{name}: --set px={sizes}: further sizes are asked of cases with a box, and there is "
            "none. Give one size."
        )


# ---------------------------------------------------------------- the sub-sample
# The sub-sample that further resolutions and phrasings are asked of (GROUNDING 12, [D14], [D15]).
#
# To ask everything again at every size and in every phrasing would cost a multiple of the audit; a
# hundred cases show whether a number depends on either.


class Subset(msgspec.Struct, frozen=True):
    """Ids of the cases that are asked at further resolutions, and in further phrasings."""

    px: frozenset[str] = frozenset()
    phrasing: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """What a draw goes by."""

    case: str
    answer: int
    finding: str


def robustness_subset(cases: Iterable[GroundingCase], edition: Edition, n: int) -> Subset:
    """n cases for further resolutions and n for further phrasings; all that qualify if n is 0.

    Resolutions are asked of boxed cases, for what they may change is whether a mask matters.
    Phrasings are asked of the same cases by the authors, all of them positive, so that always-Yes
    is always right; in `corrected`, of cases of both answers, whatever their source, unless the
    question is about a sentence [D14].
    """
    with_box, about_findings = [], []
    for case in cases:
        candidate = Candidate(case.case_id, truth(case, edition), case.finding or "")
        if boxed(case, edition):
            with_box.append(candidate)
        if case.source != SENTENCE_SOURCE and candidate.answer >= 0:
            about_findings.append(candidate)
    if edition.robustness == "boxed":
        from overread.benchmarks.grounding.authors import any_sample

        both = frozenset(any_sample([c.case for c in with_box], n))
        return Subset(both, both)
    return Subset(
        frozenset(balanced_sample(with_box, n, edition.seed)),
        frozenset(balanced_sample(about_findings, n, edition.seed)),
    )


def balanced_sample(candidates: Iterable[Candidate], n: int, seed: int = 0) -> tuple[str, ...]:
    """n ids: half of either answer, and within an answer as many of each finding as there can be.

    Where one runs short the others take its places. Within a stratum the draw goes by a digest of
    seed and id, so it does not depend on the order of the cases.
    """
    strata: dict[int, dict[str, list[str]]] = {}
    for case, answer, finding in candidates:
        strata.setdefault(answer, {}).setdefault(finding, []).append(case)
    held = {a: sum(map(len, findings.values())) for a, findings in strata.items()}
    chosen: list[str] = []

    def lot(case: str) -> bytes:
        return blake2b(f"{seed}:{case}".encode(), digest_size=16).digest()

    for answer, share in even_shares(n or sum(held.values()), held).items():
        findings = strata[answer]
        sizes = {finding: len(ids) for finding, ids in findings.items()}
        for finding, k in even_shares(share, sizes).items():
            chosen += sorted(findings[finding], key=lot)[:k]
    return tuple(chosen)


# ---------------------------------------------------------------- trials


# One word is asked for; a reasoning reader needs room to think first (GROUNDING 5).
DECODING: Final = {
    reasoning: oc.Decoding(max_tokens=tokens, temperature=0.0, top_logprobs=5)
    for reasoning, tokens in ((False, 10), (True, 2048))
}
"""How readers are decoded, by whether they reason."""
_SYSTEM: Final = oc.Message("system", (REASONING_SYSTEM_MESSAGE,))

# One black pixel, a PNG: stretched to any size it is the same picture for every case, so that
# equal questions about it are asked once.
BLANK: Final = oc.Inline(
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


def trials(
    case: GroundingCase,
    traits: oc.Traits,
    edition: Edition,
    options: Options,
    root: str,
    subset: Subset = _NO_SUBSET,
) -> Iterator[oc.Trial]:
    """One trial per condition the case allows: a mask needs its box, a swap its other image.

    First what the headline numbers stand on and the other conditions beside it, then the original
    again, then further resolutions and phrasings if the case is in the sub-sample.
    """
    wordless = traits.modality == "vision"
    # A reader without text only knows findings; a sentence it cannot judge [D23].
    no_sentences = edition.vision_on_sentences == "no" and case.source == SENTENCE_SOURCE
    if wordless and (no_sentences or case.finding is None):
        return
    for image, phrasing, px, repeat in _asked(case, traits, edition, options, subset):
        pictures = _pictures(case, image, edition, px, root)
        if pictures is None or (not pictures and wordless):
            continue
        text = question(case.source, case.finding, case.error_sentence, phrasing)
        user = oc.Message("user", (*pictures, text))
        messages = (_SYSTEM, user) if traits.reasoning else (user,)
        topic = _topic(case, edition) if wordless else ""
        request = oc.Request(messages, DECODING[traits.reasoning], topic)
        yield oc.Trial(
            case.case_id, {"image": image, "phrasing": phrasing, "px": px}, request, repeat
        )


def _topic(case: GroundingCase, edition: Edition) -> str:
    """What a reader without text is asked: whether the finding is there.

    Of a normal film the question is about any abnormality, which is there where the label is not;
    the published key has it the other way round [D1].
    """
    turned = case.finding == NORMAL and edition.normals == "no"
    return f"not {case.finding}" if turned else case.finding or ""


def _asked(
    case: GroundingCase, traits: oc.Traits, edition: Edition, options: Options, subset: Subset
) -> Iterator[tuple[str, str, int, int]]:
    """Image, phrasing, px and repeat of each question."""
    images = _chosen_images(options.conditions, options.draws)
    phrasing, px = options.phrasing, options.px
    for image in images:
        yield image, phrasing, px, 0
    greedy = traits.adjust(DECODING[traits.reasoning]).greedy
    if options.repeat == "always" or (options.repeat == "sampled" and not greedy):
        yield "original", phrasing, px, 1
    if case.case_id in subset.px:
        for size in options.more_px:
            for image in _AT_SIZES[edition.robustness]:
                if image in images:
                    yield image, phrasing, size, 0
    # Words cannot matter to a reader without text; the authors ask it all the same.
    reads = traits.modality != "vision" or edition.robustness == "boxed"
    if case.case_id in subset.phrasing and reads:
        for words in options.more_phrasings:
            for image in _IN_WORDS[edition.robustness]:
                if image in images:
                    yield image, words, px, 0


_chosen_images = lru_cache(images_of)


def _pictures(
    case: GroundingCase, shown: str, edition: Edition, px: int, root: str
) -> tuple[oc.Picture, ...] | None:
    """What is shown: one picture, or none at all; None where the case has no such image."""
    image = image_of(shown)
    if image.kind == "none":
        return ()
    resize = oc.Resize(px, px)
    if image.kind == "blank":
        return (oc.Picture(BLANK, (resize,), edition.wire),)
    if image.fill is None:
        path = {
            "original": case.image_path,
            "swap": case.swap_image_path,
            "opposite": case.opposite_image_path,
        }[image.kind]
        return (
            None if path is None else (oc.Picture(oc.Source(root, path), (resize,), edition.wire),)
        )
    if image.kind == "matched":
        boxes = case.draws[image.draw - 1] if image.draw <= len(case.draws) else ()
    else:
        boxes = case.targets if image.kind == "target" else case.controls
    hidden = _occluders(case, boxes, image.fill, edition, px) if boxed(case, edition) else ()
    if not hidden:
        return None
    return (oc.Picture(oc.Source(root, case.image_path), (resize, *hidden), edition.wire),)


def _occluders(
    case: GroundingCase, boxes: tuple[oc.Box, ...], fill: Filling, edition: Edition, px: int
) -> tuple[oc.Fill | oc.Occlude | oc.Mirror, ...]:
    """The occluders, placed after the resize; closed masks grow at the final resolution [D11]."""

    def placed(box: oc.Box) -> oc.Box:
        scaled = at_resolution(box, px)
        return closed(scaled) if edition.masks == "closed" else scaled

    scaled = tuple(map(placed, boxes))
    if fill == "black":
        return tuple(map(oc.Fill, scaled))
    if fill == "mirror":
        # The other side must be there to fill from, and must not show the finding itself.
        targets = tuple(map(placed, case.targets))
        apart = tuple(box for box in targets if box not in scaled)
        if not scaled or mirrored_share(scaled, (*scaled, *apart), px) > _MIRROR_LOST:
            return ()
        return (oc.Mirror(scaled, apart),)
    # A case's boxes are hidden by the same noise, so that the place is all that differs.
    seed = blake2b(case.case_id.encode(), digest_size=4).digest() if fill == "noise" else b""
    return tuple(oc.Occlude(box, fill, int.from_bytes(seed)) for box in scaled)
