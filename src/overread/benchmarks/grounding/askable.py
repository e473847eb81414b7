"""Whether what was chosen can be asked of these cases at all.

Single cases may lack a box or an opposite image; they are then not asked under that condition. If
all of them lack it, the condition would silently be empty, and the choice was a mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.conditions import FILLS
from overread.benchmarks.grounding.edition import Edition, Options
from overread.case import BadInput

__all__ = ["askable"]


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
        raise BadInput(
            f'{name}: edition {edition.name} has no key for "{source}", so no answer could be '
            "right or wrong. Use --edition corrected, or add --set other_sources=label."
        )
    chosen = options.conditions
    fills = [word for word in FILLS if word in chosen]
    if fills and not any_box:
        _refuse(name, fills[0], "no case has a box to hide", f"Leave {', '.join(fills)} out")
    if "opposite_swap" in chosen and not any_opposite:
        _refuse(name, "opposite_swap", "opposite_image_path is empty throughout", _BUILD)
    if "matched" in chosen and not most_matched:
        _refuse(name, "matched", "matched_boxes is empty throughout", _BUILD)
    if "matched" in chosen and most_matched < options.draws:
        raise BadInput(
            f"{name}: --set draws={options.draws}, but no case has more than {most_matched} "
            f"matched boxes. Use --set draws={most_matched}, or build the manifest with more."
        )
    if options.more_px and not any_box:
        sizes = ",".join(map(str, (options.px, *options.more_px)))
        raise BadInput(
            f"{name}: --set px={sizes}: further sizes are asked of cases with a box, and there is "
            "none. Give one size."
        )


_BUILD = "Build the manifest with overread build, or leave the condition out"


def _refuse(name: str, word: str, lack: str, remedy: str) -> None:
    raise BadInput(f"{name}: condition {word} cannot be asked of any case: {lack}. {remedy}.")
