"""The question put to a reader about one clip, and where the frames stand in it (HEARTBEAT 3)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.heartbeat.prompt_texts import Numbers, published_system, published_text
from overread.benchmarks.heartbeat.prompt_texts_clean import clean_system, clean_text

__all__ = ["FAMILIES", "Numbers", "Question", "Wording", "question"]

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
        return Question(clean_system(context), text, "before", "frames")
    name = FAMILIES[family][task]
    system = published_system(task, context, output, name)
    text = published_text(task, context, output, name, window_numbers)
    if name in _IMAGES_LAST:
        return Question(system, text, "after", "frames")
    return Question(system, text, "before", "video")
