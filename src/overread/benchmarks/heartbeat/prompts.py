"""The question put to a reader about one clip, and where the frames stand in it (HEARTBEAT 3).

The words stand in questions.toml: the published ones to the letter, and a clean wording of ours. It
asks the same and wants the same reply. Where nothing medical is meant, no medical word stands; the
published two-frame question names the echocardiogram there.
"""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

Wording: TypeAlias = Literal["published", "clean"]

# The phases a format asks for, in its order, as they are called in a reply.
PHASES: Final = {
    "edv_esv": ("EDV", "ESV"),
    "esv_edv": ("ESV", "EDV"),
    "edv": ("EDV",),
    "esv": ("ESV",),
}
# What a phase is called where nothing medical is.
AREAS: Final = {"EDV": "LARGEST_AREA_INDEX", "ESV": "SMALLEST_AREA_INDEX"}
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


class Numbers(NamedTuple):
    """How many frames a prompt says there are, and the range of indices it names."""

    frames: int
    low: int
    high: int


class Question(NamedTuple):
    """What is asked, and how the family shows the frames: before or after the text, and as what.

    `images` is what the published scripts hand over; a reader that declares how it takes clips gets
    them its own way.
    """

    system: str | None
    text: str
    visual: Literal["before", "after"]
    images: Literal["video", "frames"]


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """System message and text of every question, by task/context/family_format."""
    found = tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))
    return {
        key: (found["systems"][one["system"]], one["text"])
        for one in found["questions"]
        for key in one["asked"]
    }


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
    if task == "t1" and window_numbers is None:
        raise ValueError("a question about a window needs its numbers")
    name = "clean" if wording == "clean" else FAMILIES[family][task]
    system, text = _texts()[f"{task}/{context}/{name}_{output}"]
    if window_numbers is not None:
        text = text.format(**window_numbers._asdict())
    if name == "clean":
        return Question(system, text, "before", "frames")
    if name in _IMAGES_LAST:
        return Question(system, text, "after", "frames")
    return Question(system, text, "before", "video")
