"""The two sets of rules of the heartbeat benchmark, and what is asked."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from overread.benchmarks import rules

TASKS: Final = ("t1", "t2")
CONTEXTS: Final = ("original", "segmented", "non_medical")
# T1 has all four; T2 the two single ones.
FORMATS: Final = ("edv_esv", "esv_edv", "edv", "esv")
# The families of published prompts, and what each is called in the two tasks: Qwen3-VL and
# LLaVA-NeXT-Video share their words in T1.
FAMILIES: Final = {
    "structured": {"t1": "structured", "t2": "qwen"},
    "llava": {"t1": "structured", "t2": "llava"},
    "interleave": {"t1": "interleave", "t2": "interleave"},
    "gemma": {"t1": "gemma", "t2": "gemma"},
}
# Seeds lie below this, so that a seed and a pass make one number that no other pair makes.
MOST_SEEDS: Final = 1_000_000
# By how many frames two observers of the same clip differ, least and most.
OBSERVERS: Final = (2, 4)
# A fixed window has at most so many times the frames between the phases.
REACH: Final = 2.5


class Edition(rules.EditionRules, frozen=True, kw_only=True):
    """One set of rules (HEARTBEAT 9). docs/editions.md gives the reason for every difference."""

    table = """
        rule         | authors    | corrected | decides
        window *     | two_thirds | fixed     | The frames shown: a margin of floor(2l/3) with its
            faulty end, or N real frames of every clip.
        wording *    | published  | clean     | The family's own words, slips included, or one
            wording.
        aggregation  | truncated  | plain     | How the passes of a clip become one answer: their
            mean, cut to a whole number or not; in T2 `unparsed_t2` goes with it: the cut mean, or
            the majority.
        unparsed_t2  | dropped    | wrong     | What becomes in T2 of a clip without a parsed pass.
        annotation * | positional | keyed     | Whether ED and ES go by the row's place, as the
            authors' join has it, or by file and frame.
        thinking     | read       | removed   | Numbers in a thinking block, which come first and
            win, or do not count.
        beat         | annotated  | nearest   | Whose frame an answer is held against: the annotated
            beat's, or the nearest of those that volumes or masks show in the window.
        observers    | 0.0        | 3.0       | Frames below which the best constant's error lets
            skill tell nothing.
        boot         | 10000      | 10000     | Resamples of every bootstrap.
        seed         | 0          | 0         | Seed of bootstraps and guesses, of the sample of
            clips and the windows.
    """

    window: Literal["two_thirds", "fixed"]
    wording: Literal["published", "clean"]
    aggregation: Literal["truncated", "plain"]
    unparsed_t2: Literal["dropped", "wrong"]
    annotation: Literal["positional", "keyed"]
    thinking: Literal["read", "removed"]
    beat: Literal["annotated", "nearest"]
    observers: Annotated[float, rules.number(0, 100)]
    boot: rules.Boot
    seed: rules.Seed


def _seeds(text: str) -> tuple[int, ...]:
    """`2020-2029`, or a list such as `1,5,2020-2022`; each seed once, smallest first."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        last = last if dash else first
        plain = all(word.isascii() and word.isdecimal() for word in (first, last))
        if not plain or not all(len(w) <= 12 and int(w) < MOST_SEEDS for w in (first, last)):
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
    return str(rules.one_of(*FAMILIES)("structured" if text == "qwen" else text))


def _split(text: str) -> str | None:
    """A split's name as the dataset has it; `all` takes every clip."""
    if not text:
        raise ValueError("the name of a split, such as VAL, or all")
    return None if text.lower() == "all" else text


class Options(rules.AskedOptions, frozen=True, kw_only=True):
    """What is asked."""

    table = """
        option            | kind           | says
        tasks             |                | What is asked; `t2` alone needs no window.
        contexts          |                | The last two need masks; a clip without is asked in
            `original` only.
        formats           |                | Which phases T1 asks for, in which order; T2 has the
            single ones.
        frames            |                | N of the fixed window, 4 to 512.
        reach             |                | How many times the frames between the phases N may be,
            1 to 100.
        seeds = 2020-2029 |                | A range, or a list such as `1,5,2020-2022`.
        passes            |                | How often each question is put in one seed.
        family            |                | Whose published prompts: `structured` (T2 calls it
            `qwen`), `llava`, `interleave` or `gemma`; `clean` has one wording.
        videos            |                | How many clips are drawn, before any is left out for
            its window.
        split             |                | A split's name as the dataset has it, or `all`.
        root              | files          | Where a csv's clips, masks and volumes stand, if not
            beside it.
        volume            |                | Volumes of masks: 20 discs, or `area` to the power 1.5.
        specialist        | measured files | Csv files of EF predicted by other models, by commas.
    """

    tasks: Annotated[tuple[str, ...], rules.some_of(*TASKS)] = TASKS
    contexts: Annotated[tuple[str, ...], rules.some_of(*CONTEXTS)] = CONTEXTS
    formats: Annotated[tuple[str, ...], rules.some_of(*FORMATS)] = FORMATS
    frames: Annotated[int, rules.whole(4, 512)] = 30
    reach: Annotated[float, rules.number(1, 100)] = REACH
    seeds: Annotated[tuple[int, ...], _seeds] = tuple(range(2020, 2030))
    passes: Annotated[int, rules.whole(1, 1000)] = 3
    family: Annotated[str, _family] = "structured"
    videos: Annotated[int, rules.whole(1, 1_000_000)] = 100
    split: Annotated[str | None, _split] = "VAL"
    root: rules.Folder = None
    volume: Literal["discs", "area"] = "discs"
    specialist: Annotated[str | None, rules.files("a csv of predicted EF")] = None


BOOK: Final = rules.Rulebook("heartbeat", Edition, Options)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
