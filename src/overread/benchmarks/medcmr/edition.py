"""The two sets of rules of the Med-CMR benchmark, and what is asked.

The paper's scripts are not public: `authors` does what the paper says, and where it is silent, what
its figures point to. Every rule in which the editions differ is one field here, so that
`--set field=value` tries one rule at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from overread.benchmarks.medcmr.cases import KINDS
from overread.benchmarks.rules import (
    SEEDS,
    Boot,
    EditionRules,
    Option,
    Root,
    Rule,
    Rulebook,
    check_variants,
    files,
    folder,
    number,
    some_of,
    whole,
)
from overread.case import BadInput

IMAGES: Final = ("original", "blank", "swap", "text")
"""The item's images; the same all black; those of another item of the dimension; none at all."""
_MANY: Final = whole(0, 1_000_000)
_TOKENS: Final = whole(1, 1_000_000)
_ERRORS_ARE, _RANKS_ARE = "a csv of labelled errors", "a csv of rankings"


def _none_some_or_listed(text: str) -> str:
    if text == "none":
        return text
    if text.isascii() and text.isdecimal() and 0 < len(text) <= 9 and int(text) > 0:
        return str(int(text))
    if not text or text.isdecimal():
        raise ValueError("none, a whole number from 1, or a csv with a column case")
    return str(Path(text).absolute())


def _reader_pairs(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in text.split(","):
        base, mark, medical = (word.strip() for word in part.partition(">"))
        if not (base and mark and medical) or base == medical or ">" in medical:
            raise ValueError("BASE>MEDICAL, the names of two readers; several by commas")
        found.append((base, medical))
    if len(set(found)) < len(found):
        raise ValueError("BASE>MEDICAL, each pair once; several by commas")
    return tuple(found)


class Edition(EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    clusters: Annotated[
        Literal["item", "image"],
        Rule("item", "What intervals resample: items, or all that share an image or a patient."),
    ] = "image"
    leakage: Annotated[
        Literal["reply", "answer"],
        Rule("reply", "What is held against the reference for leakage: the reply, or its answer."),
    ] = "answer"
    letters: Annotated[
        Literal["text", "logprobs"],
        Rule("text", "A letter is read by the reply's words, or by its first token's logprobs."),
    ] = "text"
    reask: Annotated[
        int, Rule(2, "A judge that cannot be read is asked again this often.", whole(0, 10), True)
    ] = 2
    boot: Boot = 10_000
    seed: Annotated[
        int, Rule(0, "Of bootstraps and sign flips, of swaps, orders and samples.", SEEDS)
    ] = 0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and files that people filled."""

    kinds: Annotated[tuple[str, ...], Option("Which items are asked.", some_of(*KINDS))] = KINDS
    images: Annotated[
        tuple[str, ...],
        Option(
            "Also `blank`, black of the same size; `swap`, another item's of the same dimension; "
            "`text`, none.",
            some_of(*IMAGES),
        ),
    ] = ("original",)
    orders: Annotated[
        int, Option("Further orders of the options, at most one less than there are.", whole(0, 9))
    ] = 0
    reformulate: Annotated[
        str,
        Option(
            "Multiple-choice items also asked as open ones: a number of them, or a csv with a "
            "column `case`.",
            _none_some_or_listed,
            place=True,
        ),
    ] = "none"
    px: Annotated[
        int, Option("The longer side of an image at most; 0 leaves it as it is.", whole(0, 8192))
    ] = 0
    letter_tokens: Annotated[
        int, Option("Of a reply that is a letter; 2048 for a reader that reasons.", _TOKENS)
    ] = 16
    open_tokens: Annotated[int, Option("Of an open reply.", _TOKENS)] = 2048
    temperature: Annotated[
        float, Option("Unless the reader's spec has one.", number(0, 2), written="0")
    ] = 0.0
    logprobs: Annotated[
        int, Option("Alternatives of the first token asked for with a letter.", whole(0, 100))
    ] = 10
    language: Annotated[
        Literal["all", "en", "zh"], Option("Items of one language, where a set says it.")
    ] = "all"
    checks: Annotated[
        int, Option("Items whose control replies each judge judges first.", _MANY, for_judges=True)
    ] = 20
    variants: Annotated[
        int, Option("Of these, items judged again with a harmless change.", _MANY, for_judges=True)
    ] = 0
    rubrics: Annotated[
        str | None,
        Option(
            "A folder with your own words for judges "
            "([judging.md](judging.md#scores-of-open-answers)).",
            folder,
            for_judges=True,
            place=True,
        ),
    ] = None
    root: Root = None
    errors: Annotated[
        str | None,
        Option("Labelled errors, several by commas.", files(_ERRORS_ARE), shown=False, place=True),
    ] = None
    ranks: Annotated[
        str | None,
        Option("Ranked replies, several by commas.", files(_RANKS_ARE), shown=False, place=True),
    ] = None
    pairs: Annotated[
        tuple[tuple[str, str], ...],
        Option("`BASE>MEDICAL`, two readers; several by commas.", _reader_pairs, shown=False),
    ] = ()

    def check_pairs(self, readers: Sequence[str]) -> None:
        """Refuse a pair that is not among these readers."""
        for base, medical in self.pairs:
            for name in (base, medical):
                if name not in readers:
                    raise BadInput(
                        f"--set pairs={base}>{medical}: the run has no reader {name}; it has "
                        f"{', '.join(readers)}. Give names of these."
                    )


def _complete(name: str, words: Mapping[str, str], given: dict[str, Any]) -> Options:
    options = Options(**given)
    check_variants(words, options.variants, options.checks)
    return options


BOOK: Final = Rulebook("medcmr", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
