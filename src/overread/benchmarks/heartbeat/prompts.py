"""The question put to a reader about one clip, and where the frames stand in it (HEARTBEAT 3).

The published words stand in `authors`. The clean wording is one of ours for every task, context and
format: the published facts without the slips. The same is asked and the same reply is wanted. Where
nothing medical is meant, no medical word stands; the published two-frame question names the
echocardiogram there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.heartbeat.authors.prompt_texts import (
    AREAS,
    PHASES,
    Numbers,
    published_system,
    published_text,
)

# ---------------------------------------------------------------- the clean wording

_CLEAN_SYSTEM: Final = {
    "original": "You are an expert in echocardiography. Use only the frames provided.",
    "segmented": "You are an expert in echocardiography. Use only the frames provided.",
    "non_medical": "You are an expert in video analysis. Use only the frames provided.",
}
_CAVITY: Final = {
    "EDV": "EDV (largest left ventricular cavity)",
    "ESV": "ESV (smallest left ventricular cavity)",
}
_RED_SIZE: Final = {"EDV": "largest", "ESV": "smallest"}
_REPLY_WITH: Final = "Reply with exactly one line in this format, and nothing else:\n"


def clean_text(task: str, context: str, output: str, numbers: Numbers | None) -> str:
    """The text of a question; the two-frame task has no numbers."""
    phases, plain = PHASES[output], context == "non_medical"
    names = [AREAS[phase] if plain else phase for phase in phases]
    if task == "t2":
        lines = _two_frame_lines(context, phases[0])
        reply = f"{names[0]}=<0 or 1>" if plain else f"{names[0]}=<int>"
    elif numbers is None:
        raise ValueError("a question about a window needs its numbers")
    else:
        lines = _window_lines(context, phases, numbers)
        reply = "Frame: " + ", ".join(f"{name}=<int>" for name in names)
    return "\n".join((*lines, _REPLY_WITH + reply))


def _window_lines(context: str, phases: tuple[str, ...], numbers: Numbers) -> tuple[str, ...]:
    count, low, high = numbers
    video = "video" if context == "non_medical" else "echocardiogram"
    given = (
        f"You are given exactly {count} consecutive frames of one {video}, in order. "
        f"Their indices run from {low} to {high}. Use only these {count} frames."
    )
    if context == "non_medical":
        areas = [f"the index of the frame with the {_RED_SIZE[p]} red area" for p in phases]
        marked = "A red region is drawn on every frame. Ignore everything else."
        return given, marked, f"Find {' and '.join(areas)}."
    find = " and ".join(f"the index of the frame at {_CAVITY[p]}" for p in phases)
    if context == "original":
        return given, f"Find {find}."
    return (
        given,
        "The left ventricle is marked in red in every frame.",
        f"Find {find}.",
        *(f"The frame at {p} is the one with the {_RED_SIZE[p]} red area." for p in phases),
    )


def _two_frame_lines(context: str, phase: str) -> tuple[str, ...]:
    video = "video" if context == "non_medical" else "echocardiogram"
    given = (
        f"You are given exactly 2 frames of one {video}. "
        "The first frame has index 0 and the second has index 1. Use only these 2 frames."
    )
    if context == "non_medical":
        return (
            given,
            "The order of the frames is arbitrary.",
            "A red region is drawn on both frames. Ignore everything else.",
            f"Decide which frame has the {_RED_SIZE[phase]} red area.",
        )
    shared = (
        given,
        "The order of the frames is arbitrary and does not show which one is EDV or ESV.",
        f"Exactly one frame is at {_CAVITY['EDV']} and the other is at {_CAVITY['ESV']}.",
    )
    if context == "original":
        return *shared, f"Decide which frame is at {phase}."
    return (
        *shared,
        "The left ventricle is marked in red in both frames.",
        f"Decide which frame is at {phase}, the one with the {_RED_SIZE[phase]} red area.",
    )


# ---------------------------------------------------------------- either wording

Wording: TypeAlias = Literal["published", "clean"]

# The families of published prompts, and what each is called in the two tasks: Qwen3-VL and
# LLaVA-NeXT-Video share their words in T1.
FAMILIES: Final = {
    "structured": {"t1": "structured", "t2": "qwen"},
    "llava": {"t1": "structured", "t2": "llava"},
    "interleave": {"t1": "interleave", "t2": "interleave"},
    "gemma": {"t1": "gemma", "t2": "gemma"},
}
# The prompts that have their frames as images behind the text; the others begin with a video.
_IMAGES_LAST: Final = ("interleave", "qwen")


class Question(NamedTuple):
    """What is asked, and how the family shows the frames: before or after the text, and as what.

    `images` is what the published scripts hand over; a reader that declares how it takes clips gets
    them its own way.
    """

    system: str | None
    text: str
    visual: Literal["before", "after"]
    images: Literal["video", "frames"]


@lru_cache(4096)
def question(
    task: str,
    context: str,
    output: str,
    window_numbers: Numbers | None,
    family: str,
    wording: Wording,
) -> Question:
    """The question of a task in a context and an output format.

    `window_numbers` are those of the window in T1 and None in T2. The clean wording is the same for
    every family, its frames first.
    """
    if wording == "clean":
        text = clean_text(task, context, output, window_numbers)
        return Question(_CLEAN_SYSTEM[context], text, "before", "frames")
    name = FAMILIES[family][task]
    system = published_system(task, context, output, name)
    text = published_text(task, context, output, name, window_numbers)
    if name in _IMAGES_LAST:
        return Question(system, text, "after", "frames")
    return Question(system, text, "before", "video")
