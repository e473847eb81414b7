"""All that a reader is asked about one item, word for word (MEDCMR, "Asking").

Which orders of options, whose images in place of its own, which items as open ones too; the
prompts; and the trials made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import overread.case as oc
from overread.benchmarks.draws import alone_remarks, lenders, lot, spread
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Edition, Options

# ---------------------------------------------------------------- orders of the options
# The orders in which the options of a multiple-choice item are shown.

# Options that speak of others by their place or letter mean something else in another order.
_OTHERS: Final = re.compile(
    r"\b(?:(?:all|none|both|neither|either|any)\s+(?:of\s+)?(?:the\s+)?"
    r"(?:above(?!\s+(?:and|or|the)\b)|these|(?:other\s+)?(?:options|choices|answers))"
    r"|(?:all|none|both|neither|either|any)\s+of\s+(?:them|those|the\s+others?)"
    r"|of\s+the\s+above)\b"
    r"|(?:以上|上述)(?:选项|答案)?(?:都|均|全|皆)",
    re.IGNORECASE,
)
# With these an option of letters speaks of other options: "Both A and B", "Same as A".
_JOINING: Final = re.compile(
    r"all|and|answers?|are|as|both|but|choices?|correct|either|except|false|is|letters?|neither|"
    r"none|nor|not|of|only|options?|or|same|the|true|wrong|[和或与及]",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+")


def orders_of(case: MedCase, orders: int, seed: int) -> tuple[int, ...]:
    """The orders asked of a case: the set's own (0), and up to so many others, drawn by seed.

    An item of n options has n - 1 others, and none where an option speaks of its neighbours ("none
    of the above", "A and C"). More orders hold the fewer.
    """
    if not orders or any(map(_bound, case.options)):
        return (0,)
    others = sorted(
        range(1, len(case.options)),
        key=lambda order: (lot(f"order {order}", seed, case.case_id), order),
    )
    return (0, *others[:orders])


def _bound(text: str) -> bool:
    """Whether an option speaks of others.

    By letters only where it is made of them and of joining words: "Hepatitis B and C" speaks of
    viruses, and "A" alone is a blood group.
    """
    if _OTHERS.search(text):
        return True
    words = _TOKEN.findall(text)
    letters = [word for word in words if len(word) == 1 and word.upper() in LETTERS]
    rest = [word for word in words if word not in letters]
    if not letters or len(words) < 2 or not all(map(_JOINING.fullmatch, rest)):
        return False
    return len(letters) > 1 or letters[0].isupper()


def shown_order(case: MedCase, order: int) -> tuple[int, ...]:
    """Places of the case's options in the order shown: the p-th shown is option `[p]` of the case.

    Order r is the set's own turned by r places, so n orders put every option once in each place.
    A kept answer needs no seed to be read again: the seed only drew which orders were asked.
    """
    n = len(case.options)
    if not 0 <= order < n:
        raise ValueError(f"{case.case_id}: order {order} of {n} options")
    return tuple((place + order) % n for place in range(n))


# ---------------------------------------------------------------- swapped images
# Which items are asked with another's images: drawn by seed, within kind and dimension.


def swaps(cases: Iterable[MedCase], seed: int) -> dict[str, MedCase]:
    """The item whose images each item is shown in place of its own, by case id.

    Always one of the same kind and dimension; those without a dimension are one stratum.
    """
    return lenders(
        cases, seed, stratum=lambda case: (case.kind, case.dimension), images=lambda c: c.images
    )


def swap_remarks(cases: Iterable[MedCase], swapped: Mapping[str, MedCase]) -> tuple[str, ...]:
    """A line on the items that are not asked with another's images."""
    return alone_remarks(cases, swapped, lambda case: case.dimension or "none", "dimension")


# ---------------------------------------------------------------- items put as open ones
# Which multiple-choice items are also asked as open ones (MEDCMR, analyses 3 and 5).


def reformulated_items(cases: Iterable[MedCase], options: Options, seed: int) -> frozenset[str]:
    """The ids of the items: none, a seeded sample, or those of a csv with a column `case`.

    A sample takes every dimension in proportion, does not change with the order of the cases, and a
    larger one holds the smaller.
    """
    if options.reformulate == "none":
        return frozenset()
    known = list(cases)
    items = [case for case in known if case.kind == "mcq"]
    if not options.reformulate.isdecimal():
        return _items_listed(Path(options.reformulate), items, known)
    sample = spread(
        items,
        int(options.reformulate),
        seed,
        purpose="reformulate",
        name=lambda case: case.case_id,
        stratum=lambda case: case.dimension,
    )
    return frozenset(case.case_id for case in sample)


def _items_listed(path: Path, items: list[MedCase], known: list[MedCase]) -> frozenset[str]:
    named = dict.fromkeys(row["case"].strip() for _, row in rows_of(path, ("case",)))
    named.pop("", None)
    if not named:
        raise oc.BadInput(
            f"--set reformulate={path}: its column case is empty. Name multiple-choice items."
        )
    askable = {case.case_id for case in items}
    strange = [name for name in named if name not in askable]
    if strange:
        first, open_items = strange[0], {case.case_id for case in known} - askable
        what = "is an open item" if first in open_items else "is no item of the set"
        more = f" (and {len(strange) - 1} more like it)" if len(strange) > 1 else ""
        raise oc.BadInput(
            f'--set reformulate={path}: "{first}" {what}{more}. Name multiple-choice items.'
        )
    return frozenset(named)


# ---------------------------------------------------------------- prompts
# The questions as a reader gets them, word for word (MEDCMR, "Asking").

OPENING: Final = (
    "Please carefully observe this medical image and answer the following question:\nQuestion: "
)
# The last letter is that of the last option shown.
ANSWER_ONLY: Final = "Answer only with the option letter (A–{}).".format
STEP_BY_STEP: Final = (
    "Think step by step, integrating both visual features and medical knowledge to reach your "
    "conclusion. Then provide the final answer to the question in one short sentence or a single "
    "medical term."
)
OPEN: Final = (
    f"{STEP_BY_STEP}\n"
    "Output format (Must follow strictly):\n"
    "Reasoning: <visual and diagnostic reasoning process>\n"
    "Answer: <final answer to the question>"
)


def mcq_prompt(question: str, options: Sequence[str]) -> str:
    """The prompt of a multiple-choice item; the options in the order in which they are shown."""
    named = [f"{letter}) {text.strip()}" for letter, text in zip(LETTERS, options, strict=False)]
    last = ANSWER_ONLY(LETTERS[len(options) - 1])
    return "\n".join((OPENING + question.strip(), "Options:", *named, last))


def open_prompt(question: str) -> str:
    """The prompt of an open item."""
    return f"{OPENING}{question.strip()}\n{OPEN}"


def question_stem(question: str, options: Sequence[str]) -> str:
    """The question of a multiple-choice item without its options.

    Some sets write the options into the question too. Where all of them stand there by their
    letters and in order, that list is cut out; otherwise the question is left as it is.

    >>> question_stem("What is it? A. cat B. dog", ["cat", "dog"])
    'What is it?'
    """
    asked = " ".join(question.casefold().split())
    if not options or not all(" ".join(text.casefold().split()) in asked for text in options):
        return question.strip()  # the search below is slow, and seldom needed
    listed = r"\W*".join(
        rf"(?<!\w)\(?{letter}\s*[.):]\s*{_spaced(text)}(?!\w)"
        for letter, text in zip(LETTERS, options, strict=False)
    )
    found = re.search(rf"(?:\b(?:options|choices)\s*:\s*)?{listed}", question, re.IGNORECASE)
    if found is None:
        return question.strip()
    before, after = question[: found.start()].rstrip(), question[found.end() :].lstrip(" .;,)")
    return f"{before}\n{after}".strip() if after.strip() else before


def _spaced(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))


# ---------------------------------------------------------------- trials
# Trials: all that a reader is asked about one item (MEDCMR, "Asking").

# A reasoning reader needs room to think before its letter.
REASONED_TOKENS: Final = 2048
# Larger than any image; what lies outside is ignored.
_ALL: Final = oc.Box(0, 0, 1_000_000, 1_000_000)


def trials(
    case: MedCase,
    traits: oc.Traits,
    edition: Edition,
    options: Options,
    root: str,
    swap: MedCase | None,
    reformulated: bool,
) -> Iterator[oc.Trial]:
    """Every image the options name; `swap` is the item whose images are lent, if there is one.

    Further orders of the options, and a multiple-choice item put as an open one, are asked with
    the item's own images alone. A reader without text cannot be asked.
    """
    if traits.modality == "vision":
        return
    openly = oc.Decoding(options.open_tokens, options.temperature)
    letter = oc.Decoding(options.letter_tokens, options.temperature, options.logprobs)
    if traits.reasoning:
        # The first token is then of the thinking: its alternatives say nothing of the letter.
        letter = oc.Decoding(max(options.letter_tokens, REASONED_TOKENS), options.temperature)
    for image in options.images:
        pictures = _pictures(case, image, options, root, swap)
        if pictures is None:
            continue
        own = image == "original"
        if case.kind == "open":
            if "open" in options.kinds:
                text = open_prompt(case.question)
                yield _trial(case, condition("open", image), pictures, text, openly)
            continue
        if "mcq" in options.kinds:
            for order in orders_of(case, options.orders if own else 0, edition.seed):
                shown = [case.options[place] for place in shown_order(case, order)]
                text = mcq_prompt(case.question, shown)
                yield _trial(case, condition("mcq", image, order), pictures, text, letter)
        if reformulated and own:
            text = open_prompt(question_stem(case.question, case.options))
            yield _trial(case, condition("reformulated", image), pictures, text, openly)


def condition(form: str, image: str = "original", order: int = 0) -> oc.Condition:
    """What a trial is called in every table."""
    return {"form": form, "image": image, "order": order}


def _trial(
    case: MedCase,
    asked: oc.Condition,
    pictures: tuple[oc.Picture, ...],
    text: str,
    decoding: oc.Decoding,
) -> oc.Trial:
    request = oc.Request((oc.Message("user", (*pictures, text)),), decoding)
    return oc.Trial(case.case_id, asked, request)


def _pictures(
    case: MedCase, image: str, options: Options, root: str, swap: MedCase | None
) -> tuple[oc.Picture, ...] | None:
    """The images within `px` pixels, all black where `blank`; None where this cannot be asked."""
    if image == "text":
        return ()
    shown = swap if image == "swap" else case
    # An item without images has nothing to be hidden or swapped.
    if shown is None or (image != "original" and not case.images):
        return None
    operations: tuple[oc.Operation, ...] = (oc.Within(options.px),) if options.px else ()
    if image == "blank":
        operations += (oc.Fill(_ALL),)
    return tuple(oc.Picture(oc.Source(root, name), operations) for name in shown.images)
