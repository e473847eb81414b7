"""The two sets of rules of the heartbeat benchmark, and what is asked.

`authors` does what the published code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time. Options say what is
asked, not how it is judged: they stand in the signature but do not change the edition's label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from overread.benchmarks.heartbeat.prompts import FAMILIES
from overread.benchmarks.rules import (
    Reading,
    files,
    folder,
    label_of,
    number,
    one_of,
    read_words,
    some_of,
    whole,
)
from overread.case import BadInput

__all__ = [
    "AUTHORS",
    "CONTEXTS",
    "CORRECTED",
    "FORMATS",
    "MOST_SEEDS",
    "OBSERVERS",
    "REACH",
    "RULES",
    "SHOWS",
    "TASKS",
    "Edition",
    "Options",
    "edition",
    "settings",
]

TASKS: Final = ("t1", "t2")
CONTEXTS: Final = ("original", "segmented", "non_medical")
# T1 has all four; T2 the two single ones.
FORMATS: Final = ("edv_esv", "esv_edv", "edv", "esv")
# Seeds lie below this, so that a seed and a pass make one number that no other pair makes.
MOST_SEEDS: Final = 1_000_000
# By how many frames two observers of the same clip differ, least and most.
OBSERVERS: Final = (2, 4)
# A fixed window has at most so many times the frames between the phases.
REACH: Final = 2.5


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules (HEARTBEAT 9). docs/editions.md gives the reason for every difference."""

    name: Literal["authors", "corrected"]
    # "two_thirds": margin floor(2l/3) and its faulty end; "fixed": N real frames for every clip.
    window: Literal["two_thirds", "fixed"]
    # The prompt family's own words, slips included, or one clean wording.
    wording: Literal["published", "clean"]
    # How the passes of a clip become one answer: their mean, cut to a whole number or not. In T2
    # `unparsed_t2` goes with it: the cut mean, or the majority.
    aggregation: Literal["truncated", "plain"]
    # Whether a clip without a parsed pass is dropped from T2, or counts as wrong.
    unparsed_t2: Literal["dropped", "wrong"]
    # Whether ED and ES go by the row's place, as the authors' join has it, or by (file, frame).
    annotation: Literal["positional", "keyed"]
    # Whether numbers in a thinking block are read like any text; there they come first and win.
    thinking: Literal["read", "removed"]
    # Whose frame an answer is held against: the annotated beat's alone, or the nearest of those
    # that volumes or masks show in the window.
    beat: Literal["annotated", "nearest"]
    # Skill cannot tell where the best constant errs by fewer frames than this; 0 lets it tell all.
    observers: float
    # Resamples and seed of every bootstrap; the seed also places the fixed windows.
    boot: int = 10_000
    seed: int = 0

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+window=two_thirds`."""
        return label_of(self, _EDITIONS[self.name], RULES)


AUTHORS: Final = Edition(
    name="authors",
    window="two_thirds",
    wording="published",
    aggregation="truncated",
    unparsed_t2="dropped",
    annotation="positional",
    thinking="read",
    beat="annotated",
    observers=0.0,
)
CORRECTED: Final = Edition(
    name="corrected",
    window="fixed",
    wording="clean",
    aggregation="plain",
    unparsed_t2="wrong",
    annotation="keyed",
    thinking="removed",
    beat="nearest",
    observers=sum(OBSERVERS) / 2,
)
_EDITIONS: Final = {"corrected": CORRECTED, "authors": AUTHORS}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    tasks: tuple[str, ...] = TASKS
    contexts: tuple[str, ...] = CONTEXTS
    formats: tuple[str, ...] = FORMATS
    # N of the fixed window, and how many times the frames between the phases it may be.
    frames: int = 30
    reach: float = REACH
    seeds: tuple[int, ...] = tuple(range(2020, 2030))
    passes: int = 3
    # The family of published prompts: structured (qwen in T2), llava, interleave, gemma.
    family: str = "structured"
    videos: int = 100
    split: str | None = "VAL"
    root: str | None = None
    # How volumes are got from masks: 20 discs, or the declared fallback area^1.5.
    volume: Literal["discs", "area"] = "discs"
    # csv files of EF predicted by models made for it.
    specialist: str | None = None


def _is_whole(text: str, low: int, high: int) -> bool:
    plain = text.isascii() and text.isdecimal() and len(text) <= 12
    return plain and low <= int(text) <= high


def _seeds(text: str) -> tuple[int, ...]:
    """`2020-2029`, or a list such as `1,5,2020-2022`; each seed once, smallest first."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        last = last if dash else first
        if not all(_is_whole(word, 0, MOST_SEEDS - 1) for word in (first, last)):
            raise ValueError(f"{_SEEDS_ARE} from 0 to {MOST_SEEDS - 1}")
        if int(last) < int(first) or len(seeds) + int(last) - int(first) >= 1000:
            raise ValueError(f"{_SEEDS_ARE}, the smaller first, at most 1000 of them")
        seeds += range(int(first), int(last) + 1)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"{_SEEDS_ARE}, each once")
    return tuple(sorted(seeds))


_SEEDS_ARE: Final = "a range such as 2020-2029 or a list of whole numbers"


def _family(text: str) -> str:
    # T2 calls the first family qwen.
    return str(one_of(*FAMILIES)("structured" if text == "qwen" else text))


def _split(text: str) -> str | None:
    """A split's name as the dataset has it; `all` takes every clip."""
    if not text:
        raise ValueError("the name of a split, such as VAL, or all")
    return None if text.lower() == "all" else text


RULES: Final[Mapping[str, Reading]] = {
    "window": one_of("two_thirds", "fixed"),
    "wording": one_of("published", "clean"),
    "aggregation": one_of("truncated", "plain"),
    "unparsed_t2": one_of("dropped", "wrong"),
    "annotation": one_of("positional", "keyed"),
    "thinking": one_of("read", "removed"),
    "beat": one_of("annotated", "nearest"),
    "observers": number(0, 100),
    "boot": whole(100, 10_000_000),
    "seed": whole(0, 2**32 - 1),
}
_OPTIONS: Final[Mapping[str, Reading]] = {
    "tasks": some_of(*TASKS),
    "contexts": some_of(*CONTEXTS),
    "formats": some_of(*FORMATS),
    "frames": whole(4, 512),
    "reach": number(1, 100),
    "seeds": _seeds,
    "passes": whole(1, 1000),
    "family": _family,
    "videos": whole(1, 1_000_000),
    "split": _split,
    "root": folder,
    "volume": one_of("discs", "area"),
    "specialist": files("a csv of predicted EF"),
}
# The settings that say what readers are shown, and what is kept of it.
SHOWS: Final = frozenset({"window", "wording", "annotation", *_OPTIONS} - {"specialist"})


def edition(name: str, overrides: Mapping[str, str] | None = None) -> Edition:
    """The edition of that name with some rules changed; words as `--set` takes them."""
    if name not in _EDITIONS:
        raise BadInput(f'edition is "{name}"; the editions are {", ".join(_EDITIONS)}.')
    return msgspec.structs.replace(_EDITIONS[name], **_read(overrides, RULES))


def settings(name: str, words: Mapping[str, str] | None = None) -> tuple[Edition, Options]:
    """An edition and options from all `--set` words of a command."""
    words = words or {}
    asked = {key: value for key, value in words.items() if key in _OPTIONS}
    rules = {key: value for key, value in words.items() if key not in _OPTIONS}
    return edition(name, rules), Options(**_read(asked, _OPTIONS))


def _read(words: Mapping[str, str] | None, readings: Mapping[str, Reading]) -> dict[str, Any]:
    return read_words("heartbeat", words or {}, readings, (*RULES, *_OPTIONS))
