"""The two sets of rules of the heartbeat benchmark, and what is asked."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["AUTHORS", "CONTEXTS", "CORRECTED", "FORMATS", "TASKS", "Edition", "Options"]

TASKS: Final = ("t1", "t2")
CONTEXTS: Final = ("original", "segmented", "non_medical")
# T1 has all four; T2 the two single ones.
FORMATS: Final = ("edv_esv", "esv_edv", "edv", "esv")


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules (HEARTBEAT 9). docs/editions.md gives the reason for every difference."""

    name: Literal["authors", "corrected"]
    # "two_thirds": margin floor(2l/3) and its faulty end; "fixed": N real frames for every clip.
    window: Literal["two_thirds", "fixed"]
    # The prompt family's own words, slips included, or one clean wording.
    wording: Literal["published", "clean"]
    # How the passes of a clip become one answer: mean cut to a whole number, or mean / majority.
    aggregation: Literal["truncated", "plain"]
    # Whether a clip without a parsed pass is dropped from T2, or counts as wrong.
    unparsed_t2: Literal["dropped", "wrong"]
    # Whether ED and ES go by the row's place, as the authors' join has it, or by (file, frame).
    annotation: Literal["positional", "keyed"]
    boot: int = 10_000
    seed: int = 0


AUTHORS: Final = Edition(
    name="authors",
    window="two_thirds",
    wording="published",
    aggregation="truncated",
    unparsed_t2="dropped",
    annotation="positional",
)
CORRECTED: Final = Edition(
    name="corrected",
    window="fixed",
    wording="clean",
    aggregation="plain",
    unparsed_t2="wrong",
    annotation="keyed",
)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    tasks: tuple[str, ...] = TASKS
    contexts: tuple[str, ...] = CONTEXTS
    formats: tuple[str, ...] = FORMATS
    # N of the fixed window.
    frames: int = 24
    seeds: tuple[int, ...] = tuple(range(2020, 2030))
    passes: int = 3
    # The family of published prompts: structured (qwen in T2), interleave, gemma, llava.
    family: str = "structured"
    videos: int = 100
    split: str | None = "VAL"
    root: str | None = None
