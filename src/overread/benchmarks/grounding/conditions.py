"""The conditions a case can be asked under: the paper's four, and those beside them.

A condition is chosen by a word (`--set conditions=+blur,+matched`). A word stands for one or more
*images*: what a trial's condition and the answers' column `image` hold. The headline measures read
the paper's four images and nothing else, so no further condition can change them.

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
DRAWS: Final = 3
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


def read_conditions(text: str) -> tuple[str, ...]:
    """The words of `--set conditions=`, in the order of `WORDS`; `ValueError` says what is known.

    A plain list is exactly what is asked; one that starts with a plus is added to the paper's four;
    `all` is every word.
    """
    words = [word.strip() for word in text.split(",")]
    added = words[0].startswith("+")
    if added:
        words = [word.removeprefix("+").strip() for word in words]
    chosen = {*words, *PAPER} if added else set(words)
    if "all" in chosen:
        chosen = (chosen - {"all"}) | set(WORDS)
    if not chosen <= set(WORDS) or "original" not in chosen:
        known = ", ".join(WORDS[1:])
        raise ValueError(
            f"original, and any of {known}, joined by commas; all of them is all, and a leading + "
            "adds to the paper's four, as in +blur,+matched"
        )
    return tuple(word for word in WORDS if word in chosen)
