"""The two sets of rules of the Med-CMR benchmark, and what is asked.

The paper's scripts are not public: `authors` does what the paper says, and where it is silent, what
its figures point to. Every rule in which the editions differ is one field here, so that
`--set field=value` tries one rule at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from overread.benchmarks import rules
from overread.benchmarks.medcmr.cases import KINDS
from overread.case import BadInput

IMAGES: Final = ("original", "blank", "swap", "text")
"""The item's images; the same all black; those of another item of the dimension; none at all."""
_MANY: Final = rules.whole(0, 1_000_000)
_TOKENS: Final = rules.whole(1, 1_000_000)
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


class Edition(rules.EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    table = """
        rule     | authors | corrected | decides
        clusters | item    | image     | What intervals resample: items, or all that share an image
            or a patient.
        leakage  | reply   | answer    | What is held against the reference for leakage: the reply,
            or its answer.
        letters  | text    | text      | A letter is read by the reply's words, or by its first
            token's logprobs.
        reask *  | 2       | 2         | A judge that cannot be read is asked again this often.
        boot     | 10000   | 10000     | Resamples of every bootstrap.
        seed     | 0       | 0         | Of bootstraps and sign flips, of swaps, orders and samples.
    """

    clusters: Literal["item", "image"]
    leakage: Literal["reply", "answer"]
    letters: Literal["text", "logprobs"]
    reask: Annotated[int, rules.whole(0, 10)]
    boot: rules.Boot
    seed: rules.Seed


class Options(rules.AskedOptions, frozen=True, kw_only=True):
    """What is asked, and files that people filled."""

    table = """
        option          | kind           | says
        kinds           |                | Which items are asked.
        images          |                | Also `blank`, black of the same size; `swap`, another
            item's of the same dimension; `text`, none.
        orders          |                | Further orders of the options, at most one less than
            there are.
        reformulate     | files          | Multiple-choice items also asked as open ones: a number
            of them, or a csv with a column `case`.
        px              |                | The longer side of an image at most; 0 leaves it as it
            is.
        letter_tokens   |                | Of a reply that is a letter; 2048 for a model that
            reasons.
        open_tokens     |                | Of an open reply.
        temperature = 0 |                | Unless the model's spec has one.
        logprobs        |                | Alternatives of the first token asked for with a letter.
        language        |                | Items of one language, where a set says it.
        checks          | judges         | Items whose control replies each judge judges first.
        variants        | judges         | Of these, items judged again with a harmless change.
        rubrics         | judges files   | A folder with your own words for judges
            ([judging.md](judging.md#scores-of-open-answers)).
        root            | files          | Where pictures stand, if not beside the list.
        errors          | measured files | Labelled errors, several by commas.
        ranks           | measured files | Ranked replies, several by commas.
        people          | measured files | Filled sheets of `judge-sample`, several by commas
            ([judging.md](judging.md#numbers-put-right)).
        pairs           | measured       | `BASE>MEDICAL`, two models; several by commas.
    """

    kinds: Annotated[tuple[str, ...], rules.some_of(*KINDS)] = KINDS
    images: Annotated[tuple[str, ...], rules.some_of(*IMAGES)] = ("original",)
    orders: Annotated[int, rules.whole(0, 9)] = 0
    reformulate: Annotated[str, _none_some_or_listed] = "none"
    px: Annotated[int, rules.whole(0, 8192)] = 0
    letter_tokens: Annotated[int, _TOKENS] = 16
    open_tokens: Annotated[int, _TOKENS] = 2048
    temperature: Annotated[float, rules.number(0, 2)] = 0.0
    logprobs: Annotated[int, rules.whole(0, 100)] = 10
    language: Literal["all", "en", "zh"] = "all"
    checks: Annotated[int, _MANY] = 20
    variants: Annotated[int, _MANY] = 0
    rubrics: rules.Folder = None
    root: rules.Folder = None
    errors: Annotated[str | None, rules.files(_ERRORS_ARE)] = None
    ranks: Annotated[str | None, rules.files(_RANKS_ARE)] = None
    people: rules.Sheets = None
    pairs: Annotated[tuple[tuple[str, str], ...], _reader_pairs] = ()

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
    rules.check_variants(words, options.variants, options.checks)
    return options


BOOK: Final = rules.Rulebook("medcmr", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
