"""The two sets of rules, and what is asked (`overread.benchmarks.rules` says how they are kept)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from overread.benchmarks import rules
from overread.benchmarks.grounding.conditions import (
    DRAWS,
    MOST_DRAWS,
    PAPER,
    REPEAT,
    UNASKED_DRAWS,
    USUAL,
    is_relative,
    read_conditions,
    taken_away,
)
from overread.benchmarks.grounding.prompts import PHRASINGS


def _wire(text: str) -> str:
    if not re.fullmatch(r"png|jpeg:(100|0?[1-9][0-9]|0{0,2}[1-9])", text):
        raise ValueError("png or jpeg:QUALITY, such as jpeg:75")
    return text


def _some(one: rules.Reading) -> rules.Reading:
    """A list joined by commas, each value once."""

    def read(text: str) -> tuple[Any, ...]:
        values = tuple(one(word.strip()) for word in text.split(","))
        if len(set(values)) < len(values):
            raise ValueError("a list joined by commas that names each value once")
        return values

    return read


class Edition(rules.EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    table = """
        rule                 | authors    | corrected    | decides
        parser               | 1          | 2            | 1: "no" anywhere in the text, as
            published. 2: whole words, thinking removed for all [D10].
        normals              | yes        | no           | The key to "Is any acute abnormality
            present?" on a normal film [D1].
        masks *              | closed     | half_open    | Whether a mask blacks w+1 by h+1 pixels
            or exactly w by h [D11].
        wire *               | jpeg:75    | png          | What is sent: `png` or `jpeg:QUALITY`
            [D33].
        intervals            | bootstrap  | wilson       | How a proportion gets its interval [D16,
            D17].
        minimum_n            | 0          | 100          | Cases CGR, UAR and IS each need before a
            model gets a category [D21].
        gsp                  | difference | paired       | GSP from two rates over their own cases,
            or case by case over the same.
        category_needs_gsp   | no         | yes          | Whether "uses image" needs a GSP above
            zero.
        category             | points     | tested       | Whether rates as they stand make the
            category, or one-sided tests and the ends of intervals.
        margin               | 0.02       | 0.02         | The share of answers that changed images
            may change at most in a model that ignores them (tested).
        confidence           | hard       | null         | P(Yes) without log-probabilities: the
            answer itself as 0 or 1, or nothing [D9].
        stability            | correct    | correct      | Whose answers the headline IS counts:
            those correct on the original, or all parsed [D3].
        vision_on_sentences  | yes        | no           | Whether a model without text is scored
            on questions about a sentence [D23].
        failures             | as_text    | apart        | Whether a refusal is parsed like any
            text, and an unanswered trial counted as unparsed [D28].
        missing_sentence *   | nan        | reject       | Whether a ReXErr row without its sentence
            is asked with the word "nan".
        other_sources        | unkeyed    | label        | Whether a source the paper does not have
            gets an answer key.
        robustness *         | boxed      | balanced     | Whom further resolutions and phrasings
            are asked of: boxed cases only, under as few conditions as the paper; or cases balanced
            over findings and answers, swapped too [D14, D15].
        fallback_swaps       | count      | leave_out    | Whether a swapped image that matches
            nothing still counts in UAR [D22].
        overlapping_controls | count      | leave_out    | Whether IS and GSP count a case whose
            irrelevant box covers some of the target [2.7].
        auroc                | stepwise   | midrank      | AUROC with one step per case, ties in any
            order, or by mid-ranks [D6].
        ece                  | authors    | answer       | The headline `ece`: P(Yes) against
            correctness, or confidence in the answer given [D7].
        missing_confidence   | ignore     | withhold     | Whether calibration is also withheld
            where over a tenth of the confidences are missing [D9].
        regimes              | figure     | parsed       | Unparsed answers as incorrect and as
            flips, or parsed answers only [D8].
        error_groups         | published  | complete     | Whether the groups of injected errors are
            the code's names or all there are [D34].
        families             | pooled     | per_baseline | One family for all text-only baselines,
            self-comparisons in it, or one each [D5, D24].
        subgroup_tests       | five       | six          | Whether UAR by view is tested too [D35].
        permutations         | cases      | patients     | How p-values of groups are got: a
            thousand shuffles of cases, or patients as the units.
        coverage_unparsed    | no_flip    | leave_out    | Whether a mask answer that is not there
            counts as no flip where boxes are rated [D4].
        age_names            | published  | exact        | The name of the bins of age: the third
            holds age 70 [D20].
        boot                 | 10000      | 10000        | Resamples of every bootstrap.
        seed                 | 0          | 0            | Seed of every bootstrap and of the
            sub-sample.
    """

    parser: Literal[1, 2]
    normals: Literal["yes", "no"]
    masks: Literal["closed", "half_open"]
    wire: Annotated[str, _wire]
    intervals: Literal["bootstrap", "wilson"]
    minimum_n: Annotated[int, rules.whole(0, 1_000_000)]
    gsp: Literal["difference", "paired"]
    category_needs_gsp: Literal["yes", "no"]
    category: Literal["points", "tested"]
    margin: Annotated[float, rules.number(0.001, 0.5)]
    confidence: Literal["hard", "null"]
    stability: Literal["correct", "all"]
    vision_on_sentences: Literal["yes", "no"]
    failures: Literal["as_text", "apart"]
    missing_sentence: Literal["nan", "reject"]
    other_sources: Literal["unkeyed", "label"]
    robustness: Literal["boxed", "balanced"]
    fallback_swaps: Literal["count", "leave_out"]
    overlapping_controls: Literal["count", "leave_out"]
    auroc: Literal["stepwise", "midrank"]
    ece: Literal["authors", "answer"]
    missing_confidence: Literal["ignore", "withhold"]
    regimes: Literal["figure", "parsed"]
    error_groups: Literal["published", "complete"]
    families: Literal["pooled", "per_baseline"]
    subgroup_tests: Literal["five", "six"]
    permutations: Literal["cases", "patients"]
    coverage_unparsed: Literal["no_flip", "leave_out"]
    age_names: Literal["published", "exact"]
    boot: rules.Boot
    seed: rules.Seed


class Options(rules.AskedOptions, frozen=True, kw_only=True):
    """What is asked: resolutions, phrasings, conditions, and the folder the images stand in.

    The headline numbers come from `px` and `phrasing`. `more_px` and `more_phrasings` are asked of
    a sub-sample of `subset` cases (0: of all), to see whether the numbers depend on them.
    `where_there` are conditions nobody named: asked of the cases that allow it, if any does.
    """

    table = """
        option                 | kind           | says
        px                     | measured       | Sizes that images are stretched to: the headline's
            first, further ones asked of a sub-sample.
        phrasing               | measured       | Phrasings of the question: the headline's first,
            further ones asked of a sub-sample.
        subset                 |                | How many cases further sizes and phrasings are
            asked of; 0: all.
        conditions = +original |                | What is shown: the paper's four, and in
            `corrected` a matched box where the set has one; `+blur` adds, `-matched` takes away,
            a plain list is exactly that, `all` is everything.
        draws                  |                | Matched boxes tried of each case; 3 where
            `matched` is named.
        root                   | files          | Where pictures stand, if not beside the list.
        ratings                | measured files | Sheets on which people rated the boxes.
    """

    px: Annotated[int, _some(rules.whole(16, 8192))] = 224
    more_px: tuple[int, ...] = ()
    phrasing: Annotated[str, _some(rules.one_of(*PHRASINGS))] = "default"
    more_phrasings: tuple[str, ...] = ()
    subset: Annotated[int, rules.whole(0, 1_000_000)] = 100
    conditions: Annotated[tuple[str, ...], read_conditions] = PAPER
    where_there: tuple[str, ...] = ()
    draws: Annotated[int, rules.whole(1, MOST_DRAWS)] = DRAWS
    repeat: Literal["sampled", "always", "never"] = "sampled"
    root: rules.Folder = None
    ratings: Annotated[
        str | None, rules.files("a csv of ratings, or a returned packet's folder")
    ] = None


def _complete(name: str, words: Mapping[str, str], given: dict[str, Any]) -> Options:
    for first, others in (("px", "more_px"), ("phrasing", "more_phrasings")):
        if first in given:
            given[first], *rest = given[first]
            given[others] = tuple(rest)
    text = words.get("conditions", "+original").strip()
    if is_relative(text):
        named = read_conditions(text)
        given["conditions"] = asked = read_conditions(text, USUAL[name])
        given["where_there"] = tuple(word for word in asked if word not in named)
        if "matched" in given["where_there"]:
            given.setdefault("draws", UNASKED_DRAWS)
    if REPEAT in given["conditions"]:
        given["repeat"] = "always"
    elif name == "authors" or not is_relative(text) or REPEAT in taken_away(text):
        # The paper never asks twice; and a plain list of conditions is exactly what is asked.
        given["repeat"] = "never"
    return Options(**given)


BOOK: Final = rules.Rulebook("grounding", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
