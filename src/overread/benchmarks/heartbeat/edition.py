"""The two sets of rules of the heartbeat benchmark, and what is asked.

`authors` does what the published code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time. Options say what is
asked, not how it is judged: they stand in the signature but do not change the edition's label.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from overread.benchmarks.heartbeat.prompts import FAMILIES
from overread.benchmarks.rules import (
    SEEDS,
    Boot,
    EditionRules,
    Option,
    Rule,
    Rulebook,
    files,
    folder,
    number,
    one_of,
    some_of,
    whole,
)

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


class Edition(EditionRules, frozen=True, kw_only=True):
    """One set of rules (HEARTBEAT 9). docs/editions.md gives the reason for every difference."""

    window: Annotated[
        Literal["two_thirds", "fixed"],
        Rule(
            "two_thirds",
            "The frames shown: a margin of floor(2l/3) with its faulty end, or N real frames of "
            "every clip.",
            shown=True,
        ),
    ] = "fixed"
    wording: Annotated[
        Literal["published", "clean"],
        Rule("published", "The family's own words, slips included, or one wording.", shown=True),
    ] = "clean"
    aggregation: Annotated[
        Literal["truncated", "plain"],
        Rule(
            "truncated",
            "How the passes of a clip become one answer: their mean, cut to a whole number or not; "
            "in T2 `unparsed_t2` goes with it: the cut mean, or the majority.",
        ),
    ] = "plain"
    unparsed_t2: Annotated[
        Literal["dropped", "wrong"],
        Rule("dropped", "What becomes in T2 of a clip without a parsed pass."),
    ] = "wrong"
    annotation: Annotated[
        Literal["positional", "keyed"],
        Rule(
            "positional",
            "Whether ED and ES go by the row's place, as the authors' join has it, or by file and "
            "frame.",
            shown=True,
        ),
    ] = "keyed"
    thinking: Annotated[
        Literal["read", "removed"],
        Rule("read", "Numbers in a thinking block, which come first and win, or do not count."),
    ] = "removed"
    beat: Annotated[
        Literal["annotated", "nearest"],
        Rule(
            "annotated",
            "Whose frame an answer is held against: the annotated beat's, or the nearest of those "
            "that volumes or masks show in the window.",
        ),
    ] = "nearest"
    observers: Annotated[
        float,
        Rule(
            0.0,
            "Frames below which the best constant's error lets skill tell nothing.",
            number(0, 100),
        ),
    ] = sum(OBSERVERS) / 2
    boot: Boot = 10_000
    seed: Annotated[
        int,
        Rule(0, "Seed of bootstraps and guesses, of the sample of clips and the windows.", SEEDS),
    ] = 0


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


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    tasks: Annotated[
        tuple[str, ...], Option("What is asked; `t2` alone needs no window.", some_of(*TASKS))
    ] = TASKS
    contexts: Annotated[
        tuple[str, ...],
        Option(
            "The last two need masks; a clip without is asked in `original` only.",
            some_of(*CONTEXTS),
        ),
    ] = CONTEXTS
    formats: Annotated[
        tuple[str, ...],
        Option(
            "Which phases T1 asks for, in which order; T2 has the single ones.", some_of(*FORMATS)
        ),
    ] = FORMATS
    frames: Annotated[int, Option("N of the fixed window, 4 to 512.", whole(4, 512))] = 30
    reach: Annotated[
        float,
        Option("How many times the frames between the phases N may be, 1 to 100.", number(1, 100)),
    ] = REACH
    seeds: Annotated[
        tuple[int, ...],
        Option("A range, or a list such as `1,5,2020-2022`.", _seeds, written="2020-2029"),
    ] = tuple(range(2020, 2030))
    passes: Annotated[
        int, Option("How often each question is put in one seed.", whole(1, 1000))
    ] = 3
    family: Annotated[
        str,
        Option(
            "Whose published prompts: `structured` (T2 calls it `qwen`), `llava`, `interleave` or "
            "`gemma`; `clean` has one wording.",
            _family,
        ),
    ] = "structured"
    videos: Annotated[
        int,
        Option("How many clips are drawn, before any is left out for its window.",
               whole(1, 1_000_000)),
    ] = 100  # fmt: skip
    split: Annotated[
        str | None, Option("A split's name as the dataset has it, or `all`.", _split)
    ] = "VAL"
    root: Annotated[
        str | None,
        Option(
            "Where a csv's clips, masks and volumes stand, if not beside it.", folder, place=True
        ),
    ] = None
    volume: Annotated[
        Literal["discs", "area"], Option("Volumes of masks: 20 discs, or `area` to the power 1.5.")
    ] = "discs"
    specialist: Annotated[
        str | None,
        Option(
            "Csv files of EF predicted by other models, by commas.",
            files("a csv of predicted EF"),
            shown=False,
            place=True,
        ),
    ] = None


BOOK: Final = Rulebook("heartbeat", Edition, Options)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
