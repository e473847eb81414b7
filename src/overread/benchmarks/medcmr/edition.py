"""The two sets of rules of the Med-CMR benchmark, and what is asked.

The paper's scripts are not public: `authors` does what the paper says, and where it is silent, what
its figures point to. Every rule in which the editions differ is one field here, so that
`--set field=value` tries one rule at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

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
    "CORRECTED",
    "FOR_JUDGES",
    "IMAGES",
    "RULES",
    "SHOWS",
    "Edition",
    "Options",
    "edition",
    "settings",
]

IMAGES: Final = ("original", "blank", "swap", "text")
"""The item's images; the same all black; those of another item of the dimension; none at all."""


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    name: Literal["authors", "corrected"]
    # What intervals resample: items, as if none shared its image; or images (patients, if known).
    clusters: Literal["item", "image"]
    # What is compared with the reference for leakage: all of the reply, or its answer alone.
    leakage: Literal["reply", "answer"]
    # How a multiple-choice reply is read: by its words, or by the first token's probabilities.
    letters: Literal["text", "logprobs"] = "text"
    # A judge that cannot be read is asked again this often.
    reask: int = 2
    # Resamples and seed of every bootstrap; the seed also draws swaps, orders and samples.
    boot: int = 10_000
    seed: int = 0

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+clusters=item`."""
        return label_of(self, _EDITIONS[self.name], RULES)


AUTHORS: Final = Edition(name="authors", clusters="item", leakage="reply")
CORRECTED: Final = Edition(name="corrected", clusters="image", leakage="answer")
_EDITIONS: Final = {"corrected": CORRECTED, "authors": AUTHORS}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and files that people filled."""

    kinds: tuple[str, ...] = ("mcq", "open")
    images: tuple[str, ...] = ("original",)
    # Further orders of a multiple-choice item's options.
    orders: int = 0
    # Multiple-choice items also asked as open ones: none, so many of them, or those of a csv with
    # a column `case`.
    reformulate: str = "none"
    # The longer side of an image at most; 0 leaves images as they are.
    px: int = 0
    letter_tokens: int = 16
    open_tokens: int = 2048
    temperature: float = 0.0
    # Alternatives of the first token asked for with a letter.
    logprobs: int = 10
    # Which items of a set in several languages.
    language: str = "all"
    # Items whose control replies each judge judges first; of these, items judged with a change.
    checks: int = 20
    variants: int = 0
    # A folder with the user's own words for judges: score.txt, score_uncaptioned.txt.
    rubrics: str | None = None
    root: str | None = None
    # Errors that people labelled, and rankings they gave.
    errors: str | None = None
    ranks: str | None = None
    # Readers to set beside each other: BASE>MEDICAL, several by commas.
    pairs: tuple[tuple[str, str], ...] = ()

    def check_pairs(self, readers: Sequence[str]) -> None:
        """Refuse a pair that is not among these readers."""
        for base, medical in self.pairs:
            for name in (base, medical):
                if name not in readers:
                    raise BadInput(
                        f"--set pairs={base}>{medical}: the run has no reader {name}; it has "
                        f"{', '.join(readers)}. Give names of these."
                    )


def _reformulated(text: str) -> str:
    if text == "none":
        return text
    if text.isascii() and text.isdecimal() and 0 < len(text) <= 9 and int(text) > 0:
        return str(int(text))
    if not text or text.isdecimal():
        raise ValueError("none, a whole number from 1, or a csv with a column case")
    return str(Path(text).absolute())


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in text.split(","):
        base, mark, medical = (word.strip() for word in part.partition(">"))
        if not (base and mark and medical) or base == medical or ">" in medical:
            raise ValueError("BASE>MEDICAL, the names of two readers; several by commas")
        found.append((base, medical))
    if len(set(found)) < len(found):
        raise ValueError("BASE>MEDICAL, each pair once; several by commas")
    return tuple(found)


RULES: Final[Mapping[str, Reading]] = {
    "clusters": one_of("item", "image"),
    "leakage": one_of("reply", "answer"),
    "letters": one_of("text", "logprobs"),
    "reask": whole(0, 10),
    "boot": whole(100, 10_000_000),
    "seed": whole(0, 2**32 - 1),
}
# What is only looked at when numbers are made.
_MEASURING: Final[Mapping[str, Reading]] = {
    "errors": files("a csv of labelled errors"),
    "ranks": files("a csv of rankings"),
    "pairs": _pairs,
}
_OPTIONS: Final[Mapping[str, Reading]] = {
    "kinds": some_of("mcq", "open"),
    "images": some_of(*IMAGES),
    "orders": whole(0, 9),
    "reformulate": _reformulated,
    "px": whole(0, 8192),
    "letter_tokens": whole(1, 1_000_000),
    "open_tokens": whole(1, 1_000_000),
    "temperature": number(0, 2),
    "logprobs": whole(0, 100),
    "language": one_of("all", "en", "zh"),
    "checks": whole(0, 1_000_000),
    "variants": whole(0, 1_000_000),
    "rubrics": folder,
    "root": folder,
    **_MEASURING,
}
# The settings that say what readers and judges are shown.
SHOWS: Final = frozenset({"reask", *_OPTIONS} - set(_MEASURING))
# Those that say what judges are asked, and nothing else: a run may be judged later with others.
FOR_JUDGES: Final = frozenset({"checks", "variants", "rubrics"})


def edition(name: str, overrides: Mapping[str, str] | None = None) -> Edition:
    """The edition of that name with some rules changed; words as `--set` takes them."""
    if name not in _EDITIONS:
        raise BadInput(f'edition is "{name}"; the editions are {", ".join(_EDITIONS)}.')
    changed = read_words("medcmr", overrides or {}, RULES, (*RULES, *_OPTIONS))
    return msgspec.structs.replace(_EDITIONS[name], **changed)


def settings(name: str, words: Mapping[str, str] | None = None) -> tuple[Edition, Options]:
    """An edition and options from all `--set` words of a command."""
    words = words or {}
    asked = {key: value for key, value in words.items() if key in _OPTIONS}
    rules = {key: value for key, value in words.items() if key not in _OPTIONS}
    options = Options(**read_words("medcmr", asked, _OPTIONS, (*RULES, *_OPTIONS)))
    if options.variants > options.checks:
        raise BadInput(
            f"--set variants={words['variants']}: variants are made of the items of checks, here "
            f"{options.checks}. Give at most that, or more checks."
        )
    return edition(name, rules), options
