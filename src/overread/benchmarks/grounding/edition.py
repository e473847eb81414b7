"""The two sets of rules, and the settings that change one of them.

`authors` does what the paper's code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time. Options say what is
asked, not how it is judged: they stand in the signature but do not change the edition's label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from overread.benchmarks.grounding.prompts import PHRASINGS
from overread.case import BadInput

__all__ = ["AUTHORS", "CONDITIONS", "CORRECTED", "Edition", "Options", "edition", "settings"]

CONDITIONS: Final = ("original", "swap", "target_mask", "irrelevant_mask")


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    name: Literal["authors", "corrected"]
    # 1: "no" anywhere in the text, as published. 2: whole words, thinking removed for all [D10].
    parser: Literal[1, 2]
    # The key to "Is any acute abnormality present?" on a normal film [D1].
    normals: Literal["yes", "no"]
    # Whether a mask blacks w+1 by h+1 pixels or exactly w by h [D11].
    masks: Literal["closed", "half_open"]
    # What is sent: "png" or "jpeg:QUALITY" [D33].
    wire: str
    # How a proportion gets its interval [D16, D17].
    intervals: Literal["bootstrap", "wilson"]
    # Cases CGR, UAR and IS each need before a reader gets a category [D21].
    minimum_n: int
    # GSP from two rates over their own cases, or case by case over the same ones.
    gsp: Literal["difference", "paired"]
    # Whether "uses image" needs a GSP above zero.
    category_needs_gsp: Literal["yes", "no"]
    # P(Yes) without log-probabilities: the answer itself as 0 or 1, or nothing [D9].
    confidence: Literal["hard", "null"]
    # Whose answers the headline IS counts: those correct on the original, or all parsed [D3].
    stability: Literal["correct", "all"]
    # Whether a reader without text is scored on questions about a sentence [D23].
    vision_on_sentences: Literal["yes", "no"]
    # Whether a refusal is parsed like any text, and an unanswered trial counted as unparsed [D28].
    failures: Literal["as_text", "apart"]
    # Whether a ReXErr row without its sentence is asked with the word "nan".
    missing_sentence: Literal["nan", "reject"]
    # Whether a source the paper does not have gets an answer key.
    other_sources: Literal["unkeyed", "label"]
    # Resamples and seed. Without a bootstrapped interval they only serve `sd_boot`.
    boot: int
    seed: int = 0

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+normals=yes`."""
        standard = _EDITIONS[self.name]
        changed = (
            f"+{field}={getattr(self, field)}"
            for field in RULES
            if getattr(self, field) != getattr(standard, field)
        )
        return self.name + "".join(changed)


AUTHORS: Final = Edition(
    name="authors",
    parser=1,
    normals="yes",
    masks="closed",
    wire="jpeg:75",
    intervals="bootstrap",
    minimum_n=0,
    gsp="difference",
    category_needs_gsp="no",
    confidence="hard",
    stability="correct",
    vision_on_sentences="yes",
    failures="as_text",
    missing_sentence="nan",
    other_sources="unkeyed",
    boot=10_000,
)
CORRECTED: Final = Edition(
    name="corrected",
    parser=2,
    normals="no",
    masks="half_open",
    wire="png",
    intervals="wilson",
    minimum_n=100,
    gsp="paired",
    category_needs_gsp="yes",
    confidence="null",
    stability="correct",
    vision_on_sentences="no",
    failures="apart",
    missing_sentence="reject",
    other_sources="label",
    boot=2_000,
)
_EDITIONS: Final = {"corrected": CORRECTED, "authors": AUTHORS}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: resolution, phrasing, conditions, and the folder the images stand in."""

    px: int = 224
    phrasing: str = "default"
    conditions: tuple[str, ...] = CONDITIONS
    root: str | None = None


Reading = Callable[[str], Any]


def _one_of(*values: Any) -> Reading:
    words = {str(value): value for value in values}

    def read(text: str) -> Any:
        if text not in words:
            raise ValueError(" or ".join(words))
        return words[text]

    return read


def _whole(low: int, high: int) -> Reading:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and low <= int(text) <= high):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def _wire(text: str) -> str:
    kind, _, quality = text.partition(":")
    if text != "png" and not (
        kind == "jpeg" and quality.isascii() and quality.isdecimal() and 1 <= int(quality) <= 100
    ):
        raise ValueError("png or jpeg:QUALITY, such as jpeg:75")
    return text


def _conditions(text: str) -> tuple[str, ...]:
    named = {word.strip() for word in text.split(",")}
    if not named <= set(CONDITIONS) or "original" not in named:
        raise ValueError(f"original, and any of {', '.join(CONDITIONS[1:])}, joined by commas")
    return tuple(condition for condition in CONDITIONS if condition in named)


def _folder(text: str) -> str:
    if not text:
        raise ValueError("a folder")
    return str(Path(text).absolute())


RULES: Final[Mapping[str, Reading]] = {
    "parser": _one_of(1, 2),
    "normals": _one_of("yes", "no"),
    "masks": _one_of("closed", "half_open"),
    "wire": _wire,
    "intervals": _one_of("bootstrap", "wilson"),
    "minimum_n": _whole(0, 1_000_000),
    "gsp": _one_of("difference", "paired"),
    "category_needs_gsp": _one_of("yes", "no"),
    "confidence": _one_of("hard", "null"),
    "stability": _one_of("correct", "all"),
    "vision_on_sentences": _one_of("yes", "no"),
    "failures": _one_of("as_text", "apart"),
    "missing_sentence": _one_of("nan", "reject"),
    "other_sources": _one_of("unkeyed", "label"),
    "boot": _whole(100, 10_000_000),
    "seed": _whole(0, 2**32 - 1),
}
_OPTIONS: Final[Mapping[str, Reading]] = {
    "px": _whole(16, 8192),
    "phrasing": _one_of(*PHRASINGS),
    "conditions": _conditions,
    "root": _folder,
}


def edition(name: str, overrides: Mapping[str, str] | None = None) -> Edition:
    """The edition of that name with some rules changed; words as `--set` takes them."""
    if name not in _EDITIONS:
        raise BadInput(f'edition is "{name}"; the editions are {", ".join(_EDITIONS)}.')
    return cast(Edition, _changed(_EDITIONS[name], overrides or {}, RULES))


def settings(name: str, words: Mapping[str, str] | None = None) -> tuple[Edition, Options]:
    """An edition and options from all `--set` words of a command."""
    words = words or {}
    asked = {key: value for key, value in words.items() if key in _OPTIONS}
    rules = {key: value for key, value in words.items() if key not in _OPTIONS}
    return edition(name, rules), cast(Options, _changed(Options(), asked, _OPTIONS))


def _changed(
    standard: msgspec.Struct, words: Mapping[str, str], readings: Mapping[str, Reading]
) -> msgspec.Struct:
    changes = {}
    for key, text in words.items():
        if key not in readings:
            known = ", ".join((*RULES, *_OPTIONS))
            raise BadInput(f'--set {key}={text}: grounding has no "{key}"; it has {known}.')
        try:
            changes[key] = readings[key](text.strip())
        except ValueError as error:
            raise BadInput(f"--set {key}={text}: {key} is {error}.") from None
    return msgspec.structs.replace(standard, **changes)
