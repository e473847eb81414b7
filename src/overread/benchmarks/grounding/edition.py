"""The two sets of rules, and the settings that change one of them.

`authors` does what the paper's code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time. Options say what is
asked, not how it is judged: they stand in the signature but do not change the edition's label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from overread.benchmarks.grounding.conditions import (
    DRAWS,
    MOST_DRAWS,
    PAPER,
    REPEAT,
    read_conditions,
)
from overread.benchmarks.grounding.prompts import PHRASINGS
from overread.benchmarks.rules import (
    Reading,
    files,
    folder,
    label_of,
    one_of,
    read_words,
    whole,
)
from overread.case import BadInput

__all__ = [
    "AUTHORS",
    "CONDITIONS",
    "CORRECTED",
    "SHOWS",
    "Edition",
    "Options",
    "edition",
    "settings",
]

CONDITIONS: Final = PAPER


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
    # Whom further resolutions and phrasings are asked of: boxed cases only, under as few conditions
    # as the paper; or cases balanced over findings and answers, swapped too [D14, D15].
    robustness: Literal["boxed", "balanced"]
    # Whether a swapped image that matches nothing still counts in UAR [D22].
    fallback_swaps: Literal["count", "leave_out"]
    # Whether IS and GSP count a case whose irrelevant box covers some of the target [2.7].
    overlapping_controls: Literal["count", "leave_out"]
    # AUROC with one step per case, ties in any order, or by mid-ranks [D6].
    auroc: Literal["stepwise", "midrank"]
    # The headline `ece`: P(Yes) against correctness, or confidence in the answer given [D7].
    ece: Literal["authors", "answer"]
    # Whether calibration is also withheld where over a tenth of the confidences are missing [D9].
    missing_confidence: Literal["ignore", "withhold"]
    # Unparsed answers as incorrect and as flips, or parsed answers only [D8].
    regimes: Literal["figure", "parsed"]
    # Whether the groups of injected errors are the code's names or all there are [D34].
    error_groups: Literal["published", "complete"]
    # One family for all text-only baselines, self-comparisons in it, or one each [D5, D24].
    families: Literal["pooled", "per_baseline"]
    # Whether UAR by view is tested too [D35].
    subgroup_tests: Literal["five", "six"]
    # How p-values of groups are got: a thousand shuffles of cases, or patients as the units.
    permutations: Literal["cases", "patients"]
    # Whether a mask answer that is not there counts as no flip where boxes are rated [D4].
    coverage_unparsed: Literal["no_flip", "leave_out"]
    # The name of the bins of age: the third holds age 70 [D20].
    age_names: Literal["published", "exact"]
    # Resamples and seed of every bootstrap.
    boot: int
    seed: int = 0

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+normals=yes`."""
        return label_of(self, _EDITIONS[self.name], RULES)


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
    robustness="boxed",
    fallback_swaps="count",
    overlapping_controls="count",
    auroc="stepwise",
    ece="authors",
    missing_confidence="ignore",
    regimes="figure",
    error_groups="published",
    families="pooled",
    subgroup_tests="five",
    permutations="cases",
    coverage_unparsed="no_flip",
    age_names="published",
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
    robustness="balanced",
    fallback_swaps="leave_out",
    overlapping_controls="leave_out",
    auroc="midrank",
    ece="answer",
    missing_confidence="withhold",
    regimes="parsed",
    error_groups="complete",
    families="per_baseline",
    subgroup_tests="six",
    permutations="patients",
    coverage_unparsed="leave_out",
    age_names="exact",
    boot=10_000,
)
_EDITIONS: Final = {"corrected": CORRECTED, "authors": AUTHORS}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: resolutions, phrasings, conditions, and the folder the images stand in.

    The headline numbers come from `px` and `phrasing`. `more_px` and `more_phrasings` are asked of
    a sub-sample of `subset` cases (0: of all), to see whether the numbers depend on them.
    """

    px: int = 224
    more_px: tuple[int, ...] = ()
    phrasing: str = "default"
    more_phrasings: tuple[str, ...] = ()
    subset: int = 100
    # Words of `conditions.WORDS`, in that order.
    conditions: tuple[str, ...] = PAPER
    # How many of a case's matched boxes are tried, where `matched` is among the conditions.
    draws: int = DRAWS
    # Whether the original is asked twice: of a reader whose decoding is not greedy the second
    # reply says how much changes by chance alone.
    repeat: Literal["sampled", "always", "never"] = "sampled"
    root: str | None = None
    # Sheets on which people rated the boxes: see coverage.py.
    ratings: str | None = None


def _wire(text: str) -> str:
    kind, _, quality = text.partition(":")
    if text != "png" and not (
        kind == "jpeg"
        and quality.isascii()
        and quality.isdecimal()
        and len(quality) <= 3
        and 1 <= int(quality) <= 100
    ):
        raise ValueError("png or jpeg:QUALITY, such as jpeg:75")
    return text


def _some(one: Reading) -> Reading:
    """A list joined by commas, each value once."""

    def read(text: str) -> tuple[Any, ...]:
        values = tuple(one(word.strip()) for word in text.split(","))
        if len(set(values)) < len(values):
            raise ValueError("a list joined by commas that names each value once")
        return values

    return read


RULES: Final[Mapping[str, Reading]] = {
    "parser": one_of(1, 2),
    "normals": one_of("yes", "no"),
    "masks": one_of("closed", "half_open"),
    "wire": _wire,
    "intervals": one_of("bootstrap", "wilson"),
    "minimum_n": whole(0, 1_000_000),
    "gsp": one_of("difference", "paired"),
    "category_needs_gsp": one_of("yes", "no"),
    "confidence": one_of("hard", "null"),
    "stability": one_of("correct", "all"),
    "vision_on_sentences": one_of("yes", "no"),
    "failures": one_of("as_text", "apart"),
    "missing_sentence": one_of("nan", "reject"),
    "other_sources": one_of("unkeyed", "label"),
    "robustness": one_of("boxed", "balanced"),
    "fallback_swaps": one_of("count", "leave_out"),
    "overlapping_controls": one_of("count", "leave_out"),
    "auroc": one_of("stepwise", "midrank"),
    "ece": one_of("authors", "answer"),
    "missing_confidence": one_of("ignore", "withhold"),
    "regimes": one_of("figure", "parsed"),
    "error_groups": one_of("published", "complete"),
    "families": one_of("pooled", "per_baseline"),
    "subgroup_tests": one_of("five", "six"),
    "permutations": one_of("cases", "patients"),
    "coverage_unparsed": one_of("no_flip", "leave_out"),
    "age_names": one_of("published", "exact"),
    "boot": whole(100, 10_000_000),
    "seed": whole(0, 2**32 - 1),
}
_OPTIONS: Final[Mapping[str, Reading]] = {
    "px": _some(whole(16, 8192)),
    "phrasing": _some(one_of(*PHRASINGS)),
    "subset": whole(0, 1_000_000),
    "conditions": read_conditions,
    "draws": whole(1, MOST_DRAWS),
    "root": folder,
    "ratings": files("a csv of ratings, or a returned packet's folder"),
}


# The settings that say what readers are shown, and of which cases.
SHOWS: Final = frozenset(
    {"masks", "wire", "missing_sentence", "robustness", "conditions", "draws", "subset", "root"}
)


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
    return edition(name, rules), _options(name, asked)


def _options(name: str, words: Mapping[str, str]) -> Options:
    given = _read(words, _OPTIONS)
    for first, others in (("px", "more_px"), ("phrasing", "more_phrasings")):
        if first in given:
            given[first], *rest = given[first]
            given[others] = tuple(rest)
    if REPEAT in given.get("conditions", ()):
        given["repeat"] = "always"
    elif name == "authors" or not words.get("conditions", "+").lstrip().startswith("+"):
        # The paper never asks twice; and a plain list of conditions is exactly what is asked.
        given["repeat"] = "never"
    return Options(**given)


def _read(words: Mapping[str, str] | None, readings: Mapping[str, Reading]) -> dict[str, Any]:
    return read_words("grounding", words or {}, readings, (*RULES, *_OPTIONS))
