"""The two sets of rules of the M3CoT benchmark, and what is asked (M3COT 10).

`authors` does what the published code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field here, so `--set field=value` tries one rule at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from overread.benchmarks.rules import (
    SEEDS,
    Boot,
    EditionRules,
    Option,
    Rule,
    Rulebook,
    check_variants,
    folder,
    number,
    some_of,
    whole,
)
from overread.case import BadInput

MODES: Final = ("direct", "cot")
IMAGES: Final = ("original", "blank", "swap")
FOLLOWS: Final = ("truncated", "answer_first")
_MANY: Final = whole(0, 1_000_000)


class Edition(EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    options: Annotated[
        Literal["repeated", "once"],
        Rule(
            "repeated",
            "Whether options are looked for in the question and printed a second time.",
            shown=True,
        ),
    ] = "once"
    denominator: Annotated[
        Literal["judged", "all"],
        Rule("judged", "Accuracy leaves items without a verdict out, or counts them as wrong."),
    ] = "all"
    match: Annotated[
        Literal["truthy", "boolean"],
        Rule(
            "truthy",
            'A right answer by any truthy `match`, the string "false" too; or by true, false and '
            "their words.",
        ),
    ] = "boolean"
    verdicts: Annotated[
        Literal["published", "strict_first"],
        Rule(
            "published",
            "How verdicts are read: fences cut and strict JSON, or backslashes doubled and "
            "repaired, as each of the authors' scripts does; or strict first, then repaired.",
        ),
    ] = "strict_first"
    step_types: Annotated[
        Literal["exact", "folded"],
        Rule("exact", "Step types by exact spelling, or trimmed, case-folded and by alias."),
    ] = "folded"
    no_steps: Annotated[
        Literal["published", "zero"],
        Rule(
            "published",
            "Without steps the authors drop the item from precision and count 0 for recall; ours "
            "count 0 twice.",
        ),
    ] = "zero"
    empty_paths: Annotated[
        Literal["kept", "apart"],
        Rule(
            "kept",
            "Failed and empty paths: the empty path inside the task; or left out (failed) and "
            "never the reference where others are (empty).",
        ),
    ] = "apart"
    error_text: Annotated[
        Literal["searched", "ignored"],
        Rule(
            "searched",
            "Which replies count as failed while they are timed: any text with Error or Failed, "
            "or none.",
        ),
    ] = "ignored"
    reask: Annotated[
        int,
        Rule(
            0,
            "How often a judge that cannot be read is asked again, 0 to 10; with "
            "`verdicts=published` that of the order at least twice.",
            whole(0, 10),
            shown=True,
        ),
    ] = 2
    boot: Boot = 10_000
    seed: Annotated[
        int,
        Rule(
            0,
            "Seed of bootstraps and sign flips, of the swaps, the timed items and those that "
            "judges are checked on.",
            SEEDS,
        ),
    ] = 0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    modes: Annotated[
        tuple[str, ...],
        Option("What is asked; steps and order are judged of `cot` only.", some_of(*MODES)),
    ] = MODES
    # Beyond the paper, as is what follows.
    images: Annotated[
        tuple[str, ...],
        Option(
            "Also `blank`, a black image of the same size, and `swap`, another item's of the same "
            "task.",
            some_of(*IMAGES),
        ),
    ] = ("original",)
    follow: Annotated[
        tuple[str, ...],
        Option(
            "Also `truncated`, the answer after half of the reader's own reasoning, and "
            "`answer_first`, before any.",
            some_of(*FOLLOWS, none="none"),
            written="none",
        ),
    ] = ()
    px: Annotated[int, Option("The longer side of an image at most.", whole(16, 8192))] = 768
    max_tokens: Annotated[int, Option("Tokens of a reply at most.", whole(1, 1_000_000))] = 3000
    temperature: Annotated[
        float, Option("Temperature, unless the reader's spec has one.", number(0, 2))
    ] = 0.1
    timing: Annotated[
        int, Option("How many items are timed, one at a time, the two modes in turn.", _MANY)
    ] = 0
    checks: Annotated[
        int,
        Option(
            "Items whose control replies each judge judges first, to see whether it is fit; 0 "
            "checks nobody.",
            _MANY,
            for_judges=True,
        ),
    ] = 20
    variants: Annotated[
        int,
        Option(
            "How many of these are judged again with one harmless thing changed "
            "([judging.md](judging.md#what-should-not-matter)).",
            _MANY,
            for_judges=True,
        ),
    ] = 0
    rubrics: Annotated[
        str | None,
        Option(
            "A folder with your own words for judges ([judging.md](judging.md#your-own-words)).",
            folder,
            for_judges=True,
            place=True,
        ),
    ] = None
    root: Annotated[
        str | None,
        Option("Where images stand, if not beside the questions.", folder, place=True),
    ] = None


def _complete(name: str, words: Mapping[str, str], given: dict[str, Any]) -> Options:
    """The options, unless they do not go together."""
    options = Options(**given)
    if options.follow and not ("cot" in options.modes and "original" in options.images):
        # What follows is made of the reader's own reasoning about the original image.
        raise BadInput(
            f"--set follow={words['follow']}: it follows the mode cot on the original image. Add "
            "cot to modes and original to images."
        )
    check_variants(words, options.variants, options.checks)
    return options


BOOK: Final = Rulebook("m3cot", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
