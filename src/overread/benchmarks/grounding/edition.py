"""The two sets of rules, and what is asked.

`authors` does what the paper's code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time. Options say what is
asked, not how it is judged: they stand in the signature but do not change the edition's label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

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
    SEEDS,
    Boot,
    EditionRules,
    Option,
    Reading,
    Root,
    Rule,
    Rulebook,
    files,
    one_of,
    whole,
)

CONDITIONS: Final = PAPER


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


class Edition(EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    parser: Annotated[
        Literal[1, 2],
        Rule(
            1,
            '1: "no" anywhere in the text, as published. 2: whole words, thinking removed for all '
            "[D10].",
        ),
    ] = 2
    normals: Annotated[
        Literal["yes", "no"],
        Rule("yes", 'The key to "Is any acute abnormality present?" on a normal film [D1].'),
    ] = "no"
    masks: Annotated[
        Literal["closed", "half_open"],
        Rule(
            "closed", "Whether a mask blacks w+1 by h+1 pixels or exactly w by h [D11].", None, True
        ),
    ] = "half_open"
    wire: Annotated[
        str, Rule("jpeg:75", "What is sent: `png` or `jpeg:QUALITY` [D33].", _wire, True)
    ] = "png"
    intervals: Annotated[
        Literal["bootstrap", "wilson"],
        Rule("bootstrap", "How a proportion gets its interval [D16, D17]."),
    ] = "wilson"
    minimum_n: Annotated[
        int,
        Rule(
            0,
            "Cases CGR, UAR and IS each need before a reader gets a category [D21].",
            whole(0, 1_000_000),
        ),
    ] = 100
    gsp: Annotated[
        Literal["difference", "paired"],
        Rule(
            "difference", "GSP from two rates over their own cases, or case by case over the same."
        ),
    ] = "paired"
    category_needs_gsp: Annotated[
        Literal["yes", "no"], Rule("no", 'Whether "uses image" needs a GSP above zero.')
    ] = "yes"
    confidence: Annotated[
        Literal["hard", "null"],
        Rule(
            "hard",
            "P(Yes) without log-probabilities: the answer itself as 0 or 1, or nothing [D9].",
        ),
    ] = "null"
    stability: Annotated[
        Literal["correct", "all"],
        Rule(
            "correct",
            "Whose answers the headline IS counts: those correct on the original, or all parsed "
            "[D3].",
        ),
    ] = "correct"
    vision_on_sentences: Annotated[
        Literal["yes", "no"],
        Rule("yes", "Whether a reader without text is scored on questions about a sentence [D23]."),
    ] = "no"
    failures: Annotated[
        Literal["as_text", "apart"],
        Rule(
            "as_text",
            "Whether a refusal is parsed like any text, and an unanswered trial counted as "
            "unparsed [D28].",
        ),
    ] = "apart"
    missing_sentence: Annotated[
        Literal["nan", "reject"],
        Rule(
            "nan",
            'Whether a ReXErr row without its sentence is asked with the word "nan".',
            None,
            True,
        ),
    ] = "reject"
    other_sources: Annotated[
        Literal["unkeyed", "label"],
        Rule("unkeyed", "Whether a source the paper does not have gets an answer key."),
    ] = "label"
    robustness: Annotated[
        Literal["boxed", "balanced"],
        Rule(
            "boxed",
            "Whom further resolutions and phrasings are asked of: boxed cases only, under as few "
            "conditions as the paper; or cases balanced over findings and answers, swapped too "
            "[D14, D15].",
            None,
            True,
        ),
    ] = "balanced"
    fallback_swaps: Annotated[
        Literal["count", "leave_out"],
        Rule("count", "Whether a swapped image that matches nothing still counts in UAR [D22]."),
    ] = "leave_out"
    overlapping_controls: Annotated[
        Literal["count", "leave_out"],
        Rule(
            "count",
            "Whether IS and GSP count a case whose irrelevant box covers some of the target [2.7].",
        ),
    ] = "leave_out"
    auroc: Annotated[
        Literal["stepwise", "midrank"],
        Rule("stepwise", "AUROC with one step per case, ties in any order, or by mid-ranks [D6]."),
    ] = "midrank"
    ece: Annotated[
        Literal["authors", "answer"],
        Rule(
            "authors",
            "The headline `ece`: P(Yes) against correctness, or confidence in the answer given "
            "[D7].",
        ),
    ] = "answer"
    missing_confidence: Annotated[
        Literal["ignore", "withhold"],
        Rule(
            "ignore",
            "Whether calibration is also withheld where over a tenth of the confidences are "
            "missing [D9].",
        ),
    ] = "withhold"
    regimes: Annotated[
        Literal["figure", "parsed"],
        Rule("figure", "Unparsed answers as incorrect and as flips, or parsed answers only [D8]."),
    ] = "parsed"
    error_groups: Annotated[
        Literal["published", "complete"],
        Rule(
            "published",
            "Whether the groups of injected errors are the code's names or all there are [D34].",
        ),
    ] = "complete"
    families: Annotated[
        Literal["pooled", "per_baseline"],
        Rule(
            "pooled",
            "One family for all text-only baselines, self-comparisons in it, or one each [D5, "
            "D24].",
        ),
    ] = "per_baseline"
    subgroup_tests: Annotated[
        Literal["five", "six"], Rule("five", "Whether UAR by view is tested too [D35].")
    ] = "six"
    permutations: Annotated[
        Literal["cases", "patients"],
        Rule(
            "cases",
            "How p-values of groups are got: a thousand shuffles of cases, or patients as the "
            "units.",
        ),
    ] = "patients"
    coverage_unparsed: Annotated[
        Literal["no_flip", "leave_out"],
        Rule(
            "no_flip",
            "Whether a mask answer that is not there counts as no flip where boxes are rated [D4].",
        ),
    ] = "leave_out"
    age_names: Annotated[
        Literal["published", "exact"],
        Rule("published", "The name of the bins of age: the third holds age 70 [D20]."),
    ] = "exact"
    boot: Boot = 10_000
    seed: Annotated[int, Rule(0, "Seed of every bootstrap and of the sub-sample.", SEEDS)] = 0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: resolutions, phrasings, conditions, and the folder the images stand in.

    The headline numbers come from `px` and `phrasing`. `more_px` and `more_phrasings` are asked of
    a sub-sample of `subset` cases (0: of all), to see whether the numbers depend on them.
    """

    px: Annotated[
        int,
        Option(
            "Sizes that images are stretched to: the headline's first, further ones asked of a "
            "sub-sample.",
            _some(whole(16, 8192)),
            shown=False,
        ),
    ] = 224
    more_px: Annotated[tuple[int, ...], Option("", inner=True)] = ()
    phrasing: Annotated[
        str,
        Option(
            "Phrasings of the question: the headline's first, further ones asked of a sub-sample.",
            _some(one_of(*PHRASINGS)),
            shown=False,
        ),
    ] = "default"
    more_phrasings: Annotated[tuple[str, ...], Option("", inner=True)] = ()
    subset: Annotated[
        int,
        Option(
            "How many cases further sizes and phrasings are asked of; 0: all.", whole(0, 1_000_000)
        ),
    ] = 100
    conditions: Annotated[
        tuple[str, ...],
        Option(
            "What is shown; `+blur,+matched` adds to the paper's four, `all` is everything.",
            read_conditions,
            written="+original",
        ),
    ] = PAPER
    draws: Annotated[
        int, Option("Matched boxes tried of each case, with `matched`.", whole(1, MOST_DRAWS))
    ] = DRAWS
    # Whether the original is asked twice: of a reader whose decoding is not greedy the second
    # reply says how much changes by chance alone.
    repeat: Annotated[Literal["sampled", "always", "never"], Option("", inner=True)] = "sampled"
    root: Root = None
    ratings: Annotated[
        str | None,
        Option(
            "Sheets on which people rated the boxes.",
            files("a csv of ratings, or a returned packet's folder"),
            shown=False,
            place=True,
        ),
    ] = None


def _complete(name: str, words: Mapping[str, str], given: dict[str, Any]) -> Options:
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


BOOK: Final = Rulebook("grounding", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
