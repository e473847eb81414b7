"""The conditions a case can be asked under: the paper's four, and those beside them.

A condition is chosen by a word (`--set conditions=+blur,-matched`). A word stands for one or more
*images*: what a trial's condition and the answers' column `image` hold. The headline measures read
the paper's four images and nothing else, so no further condition can change them; the category of
`corrected` reads `matched` and `repeat` too, where they were asked.

| word | images | shows |
|---|---|---|
| opposite_swap | opposite_swap | another patient's film with the opposite label |
| blank | blank | a black square |
| no_image | no_image | nothing: the question alone |
| mean, blur, noise, inpaint, mirror | target_FILL, irrelevant_FILL | the boxes filled otherwise |
| matched | matched_1 ... matched_K | black boxes of the target's size elsewhere in the body |
| repeat | original, asked again | what changes when nothing is changed |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

Kind = Literal["original", "swap", "opposite", "target", "irrelevant", "matched", "blank", "none"]
Filling = Literal["black", "mean", "blur", "noise", "inpaint", "mirror"]

PAPER: Final = ("original", "swap", "target_mask", "irrelevant_mask")
# Each is odd in another way than black. Only `mirror` takes an opacity away: docs/measures.md.
FILLS: Final[tuple[Filling, ...]] = ("mean", "blur", "noise", "inpaint", "mirror")
REPEAT: Final = "repeat"
EXTRAS: Final = ("opposite_swap", "blank", "no_image", *FILLS, "matched", REPEAT)
WORDS: Final = (*PAPER, *EXTRAS)
# Asked unless something else is said: a matched box is what the category is tested against.
USUAL: Final = {"authors": PAPER, "corrected": (*PAPER, "matched")}
# Matched boxes of a case where somebody names them; unasked it is one, a single request a case.
DRAWS: Final = 3
UNASKED_DRAWS: Final = 1
MOST_DRAWS: Final = 20


class Image(msgspec.Struct, frozen=True, gc=False):
    """What one image of a case is.

    `fill` says what a masked box is filled with ("black" for the paper's masks and the matched
    boxes), None where nothing is masked; `draw` which matched box it is, from 1, else 0.
    """

    name: str
    kind: Kind
    fill: Filling | None = None
    draw: int = 0


_IMAGES: Final = {
    image.name: image
    for image in (
        Image("original", "original"),
        Image("swap", "swap"),
        Image("target_mask", "target", "black"),
        Image("irrelevant_mask", "irrelevant", "black"),
        Image("opposite_swap", "opposite"),
        Image("blank", "blank"),
        Image("no_image", "none"),
        *(Image(f"target_{fill}", "target", fill) for fill in FILLS),
        *(Image(f"irrelevant_{fill}", "irrelevant", fill) for fill in FILLS),
        *(Image(f"matched_{k}", "matched", "black", k) for k in range(1, MOST_DRAWS + 1)),
    )
}


def image_of(name: str) -> Image:
    """What the image of this name is; `KeyError` if there is no such image."""
    return _IMAGES[name]


def images_of(words: Iterable[str], draws: int = DRAWS) -> tuple[str, ...]:
    """The images these words stand for, in the order of `WORDS`, `draws` of the matched boxes.

    `repeat` adds none: it is the image "original" under `Trial.repeat` = 1.
    """
    chosen = set(words)
    images: list[str] = []
    for word in WORDS:
        if word not in chosen or word == REPEAT:
            continue
        if word in FILLS:
            images += (f"target_{word}", f"irrelevant_{word}")
        elif word == "matched":
            images += (f"matched_{k}" for k in range(1, draws + 1))
        else:
            images.append(word)
    return tuple(images)


def read_conditions(text: str, usual: tuple[str, ...] = PAPER) -> tuple[str, ...]:
    """The words of `--set conditions=`, in the order of `WORDS`; `ValueError` says what is known.

    A plain list is exactly what is asked; one that starts with a plus or a minus is added to the
    `usual`, less what a minus takes away; `all` is every word.
    """
    taken = taken_away(text)
    chosen = {word.strip() for word in text.split(",")}
    if is_relative(text):
        chosen = {word.removeprefix("+").strip() for word in chosen if not word.startswith("-")}
        chosen |= set(usual)
    if "all" in chosen:
        chosen = (chosen - {"all"}) | set(WORDS)
    fits = chosen | taken <= set(WORDS)
    chosen -= taken
    if not fits or "original" not in chosen:
        known = ", ".join(WORDS[1:])
        raise ValueError(
            f"original, and any of {known}, joined by commas; all of them is all, a leading + adds "
            "to what is asked anyway, and a leading - takes away, as in +blur,-matched"
        )
    return tuple(word for word in WORDS if word in chosen)


def is_relative(text: str) -> bool:
    """Whether these words add to what is asked anyway, or take away from it."""
    return text.lstrip().startswith(("+", "-"))


def taken_away(text: str) -> set[str]:
    """What these words take away."""
    words = (word.strip() for word in text.split(",")) if is_relative(text) else ()
    return {word[1:].strip() for word in words if word.startswith("-")}
