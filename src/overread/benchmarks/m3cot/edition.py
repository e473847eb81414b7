"""The two sets of rules of the M3CoT benchmark, and what is asked (M3COT 10).

`authors` does what the published code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from overread.benchmarks.rules import (
    Reading,
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
    "CORRECTED",
    "FOLLOWS",
    "FOR_JUDGES",
    "IMAGES",
    "MODES",
    "RULES",
    "SHOWS",
    "Edition",
    "Options",
    "edition",
    "settings",
]

MODES: Final = ("direct", "cot")
IMAGES: Final = ("original", "blank", "swap")
FOLLOWS: Final = ("truncated", "answer_first")


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    name: Literal["authors", "corrected"]
    # Whether options are looked for in the question and printed a second time (M3COT 2).
    options: Literal["repeated", "once"]
    # What a reply is judged over: "judged" leaves skipped items out, "all" counts them as wrong.
    denominator: Literal["judged", "all"]
    # "truthy": any truthy `match`, the string "false" too; "boolean": true, false and their words.
    match: Literal["truthy", "boolean"]
    # How verdicts are read: fences cut and strict JSON / backslashes doubled and repaired, as each
    # of the authors' scripts does; or strict first, then repaired.
    verdicts: Literal["published", "strict_first"]
    # Step types by exact spelling, or trimmed, case-folded and by alias.
    step_types: Literal["exact", "folded"]
    # No steps: the authors drop the item from precision and count 0 for recall; ours count 0 twice.
    no_steps: Literal["published", "zero"]
    # Failed and empty paths: the empty path inside the task, or left out (failed) and never the
    # reference where others are (empty).
    empty_paths: Literal["kept", "apart"]
    # Which replies count as failed while they are timed: any text with Error or Failed, or none.
    error_text: Literal["searched", "ignored"]
    # Judge replies that cannot be read are asked again this often.
    reask: int
    # Resamples and seed of every bootstrap; the seed also draws the swaps and the timed items.
    boot: int = 10_000
    seed: int = 0

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+match=truthy`."""
        return label_of(self, _EDITIONS[self.name], RULES)


AUTHORS: Final = Edition(
    name="authors",
    options="repeated",
    denominator="judged",
    match="truthy",
    verdicts="published",
    step_types="exact",
    no_steps="published",
    empty_paths="kept",
    error_text="searched",
    reask=0,
)
CORRECTED: Final = Edition(
    name="corrected",
    options="once",
    denominator="all",
    match="boolean",
    verdicts="strict_first",
    step_types="folded",
    no_steps="zero",
    empty_paths="apart",
    error_text="ignored",
    reask=2,
)
_EDITIONS: Final = {"corrected": CORRECTED, "authors": AUTHORS}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    modes: tuple[str, ...] = MODES
    # Beyond the paper: the same items with a black image and with another item's of the same task.
    images: tuple[str, ...] = ("original",)
    # Beyond the paper: the answer asked for after half of the reasoning, and before any of it.
    follow: tuple[str, ...] = ()
    # The longer side of an image at most.
    px: int = 768
    max_tokens: int = 3000
    temperature: float = 0.1
    # Items timed one at a time, the two modes in turn; 0 times none.
    timing: int = 0
    # Items whose control replies each judge judges first.
    checks: int = 20
    # Of these, items whose replies each judge also judges with one harmless thing changed.
    variants: int = 0
    # A folder with the user's own words for judges: answer.txt, precision.txt and so on.
    rubrics: str | None = None
    root: str | None = None


RULES: Final[Mapping[str, Reading]] = {
    "options": one_of("repeated", "once"),
    "denominator": one_of("judged", "all"),
    "match": one_of("truthy", "boolean"),
    "verdicts": one_of("published", "strict_first"),
    "step_types": one_of("exact", "folded"),
    "no_steps": one_of("published", "zero"),
    "empty_paths": one_of("kept", "apart"),
    "error_text": one_of("searched", "ignored"),
    "reask": whole(0, 10),
    "boot": whole(100, 10_000_000),
    "seed": whole(0, 2**32 - 1),
}
_OPTIONS: Final[Mapping[str, Reading]] = {
    "modes": some_of(*MODES),
    "images": some_of(*IMAGES),
    "follow": some_of(*FOLLOWS, none="none"),
    "px": whole(16, 8192),
    "max_tokens": whole(1, 1_000_000),
    "temperature": number(0, 2),
    "timing": whole(0, 1_000_000),
    "checks": whole(0, 1_000_000),
    "variants": whole(0, 1_000_000),
    "rubrics": folder,
    "root": folder,
}
# The settings that say what readers and judges are shown.
SHOWS: Final = frozenset({"options", "reask", *_OPTIONS})
# Those that say what judges are asked, and nothing else: a run may be judged later with others.
FOR_JUDGES: Final = frozenset({"checks", "variants", "rubrics"})


def edition(name: str, overrides: Mapping[str, str] | None = None) -> Edition:
    """The edition of that name with some rules changed; words as `--set` takes them."""
    if name not in _EDITIONS:
        raise BadInput(f'edition is "{name}"; the editions are {", ".join(_EDITIONS)}.')
    changed = read_words("m3cot", overrides or {}, RULES, (*RULES, *_OPTIONS))
    return msgspec.structs.replace(_EDITIONS[name], **changed)


def settings(name: str, words: Mapping[str, str] | None = None) -> tuple[Edition, Options]:
    """An edition and options from all `--set` words of a command."""
    words = words or {}
    asked = {key: value for key, value in words.items() if key in _OPTIONS}
    rules = {key: value for key, value in words.items() if key not in _OPTIONS}
    options = Options(**read_words("m3cot", asked, _OPTIONS, (*RULES, *_OPTIONS)))
    if options.follow and not ("cot" in options.modes and "original" in options.images):
        # What follows is made of the reader's own reasoning about the original image.
        raise BadInput(
            f"--set follow={words['follow']}: it follows the mode cot on the original image. Add "
            "cot to modes and original to images."
        )
    if options.variants > options.checks:
        raise BadInput(
            f"--set variants={words['variants']}: variants are made of the items of checks, here "
            f"{options.checks}. Give at most that, or more checks."
        )
    return edition(name, rules), options
