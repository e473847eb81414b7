"""One question about one or more images, whatever set it comes from (MEDCMR, "The release").

The case, the names of its labels and the letters of its options as a set may write them, what keeps
it from being asked, and the columns it is kept in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.files.layouts import first_of, unsafe_name
from overread.benchmarks.files.sheets import quoted
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.tables import structs_in
from overread.files import read_toml

if TYPE_CHECKING:
    import polars as pl


# ---------------------------------------------------------------- cases

# `mcq`: options, one of which is right. `open`: a free answer that judges score.
Kind: TypeAlias = Literal["mcq", "open"]
KINDS: Final[tuple[Kind, ...]] = ("mcq", "open")


def kind_of(form: str) -> Kind:
    """The kind of item that is asked in this form."""
    return "open" if form == "open" else "mcq"


# A shorter answer stands in many a question for good reason: "Is it left or right?"
_TELLING_WORDS: Final = 4


class MedCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A question, its images below the data root, and what is true.

    `answer` is the right option's letter of a multiple-choice item and the true answer of an open
    one. `caption` is what experts wrote of the image (`visual_description`): judges see it, readers
    under test never do.
    """

    case_id: str
    # As the set numbers it; unique among the items of one kind.
    index: int
    kind: Kind
    question: str
    images: tuple[str, ...]
    # The options' texts in the order of their letters; none for an open item.
    options: tuple[str, ...] = ()
    answer: str
    caption: str | None = None
    # Facts a set may state. The names are those of `vocabulary`, where they were understood.
    dimension: str | None = None
    subtype: str | None = None
    ability: str | None = None
    modality: str | None = None
    system: str | None = None
    language: str | None = None
    patient: str | None = None

    @property
    def truth(self) -> str:
        """The true answer in words: the text of the right option, or the answer itself."""
        return self.options[LETTERS.index(self.answer)] if self.kind == "mcq" else self.answer


def whole_index(given: int | str) -> int:
    """An index, also written as text; -1 of what is none, or larger than a table holds."""
    if isinstance(given, str):
        word = given.strip()
        given = int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else -1
    return given if 0 <= given < 2**63 else -1


# ---------------------------------------------------------------- names of labels
# The names of dimensions, abilities, modalities and systems, and how a set may spell them.

_LABELS: Final = read_toml(Path(__file__).with_name("labels.toml"))
DIMENSIONS: Final[Mapping[str, str]] = _LABELS["dimension_words"]
VISUAL: Final = ("SOD", "FDD", "SU")
"""The visual dimensions; the others are of reasoning."""
ABILITIES: Final[Mapping[str, str]] = _LABELS["ability_words"]
MODALITIES: Final[tuple[str, ...]] = tuple(_LABELS["modalities"])
SYSTEMS: Final[tuple[str, ...]] = tuple(_LABELS["systems"])
LABELS: Final[Mapping[str, Sequence[str]]] = {
    "dimension": tuple(DIMENSIONS),
    "ability": tuple(ABILITIES),
    "modality": MODALITIES,
    "system": SYSTEMS,
}
"""The names of groups in the paper's order; others follow by the alphabet."""


def folded(text: str) -> str:
    """Letters and digits alone, in small letters."""
    return re.sub(r"[\W_]+", "", text.casefold())


_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    label: {folded(name): name for name in names}
    | {folded(words): name for name, words in _LABELS.get(f"{label}_words", {}).items()}
    | _LABELS["spelt"].get(label, {})
    for label, names in LABELS.items()
}


def label_of(label: str, text: str) -> str | None:
    """The paper's name of one of `LABELS`, also given in full; None where it is not known.

    >>> label_of("dimension", "Long-Tail Generalization"), label_of("dimension", "sod")
    ('LTG', 'SOD')
    """
    known, plain = _NAMES[label], folded(text)
    # "Respiratory system" is the respiratory system.
    return known.get(plain) or (
        known.get(plain.removesuffix("system")) if label == "system" else None
    )


def label_or_own(label: str, text: str | None) -> str | None:
    """The paper's name, else the set's own word; None where there is none."""
    return label_of(label, text or "") or (text or "").strip() or None


def modality_named(text: str) -> str | None:
    """The paper's name of a modality that another set names in its way, else the set's own word.

    >>> modality_named("X-Ray"), modality_named("Thermography"), modality_named(" ")
    ('X-ray & Fluoroscopy', 'Thermography', None)
    """
    return _LABELS["other_modalities"].get(folded(text)) or label_or_own("modality", text)


# ---------------------------------------------------------------- options and their letters
# As sets write them; and what keeps an item from being asked, whatever its set.


def same_text(text: str) -> str:
    """What two texts have in common that differ in blanks and capitals alone."""
    if "  " in text or not text.isprintable():
        text = " ".join(text.split())
    return text.strip().casefold()


def letter_of(answer: str, options: Sequence[str], *, texts: bool = True) -> str | None:
    """The letter of the right option, by its letter or (`texts`) the text of exactly one option.

    None where it is neither, or one by its letter and another by its text.

    >>> letter_of("b", ["left", "right"]), letter_of("Left ", ["left", "right"])
    ('B', 'A')
    """
    word = answer.strip()
    bare = word.strip("().:").strip().upper()
    known = LETTERS[: len(options)]
    named = bare if len(bare) == 1 and bare in known else None
    if not texts:
        return named
    wanted = same_text(word)
    quoted = [n for n, text in enumerate(options) if same_text(text) == wanted]
    if not quoted:
        return named
    if len(quoted) > 1:
        return None
    letter = LETTERS[quoted[0]]
    return letter if named in (None, letter) else None


def unlettered(options: Sequence[str]) -> tuple[str, ...]:
    """Options without letters of their own before them, if every one has its own; trimmed.

    >>> unlettered(["A. left", "(B) right"]), unlettered(["A. left", "right"])
    (('left', 'right'), ('A. left', 'right'))
    """
    kept: list[str] = []
    for letter, text in zip(LETTERS, options, strict=False):
        bare = _behind(letter, text)
        if not bare:  # for most sets at the first option
            break
        kept.append(bare)
    if 2 <= len(options) == len(kept):
        return tuple(kept)
    return tuple([text.strip() for text in options])


def _behind(letter: str, text: str) -> str:
    """What stands behind a letter and its mark; nothing where the text has no such beginning."""
    if not text.lstrip(" (\t\n").startswith(letter):
        return ""
    found = re.match(rf"\s*\(?{letter}(?:\s*[.):、：．）]|\s+-\s)(.*)$", text, re.DOTALL)
    return found[1].strip() if found else ""


def answer_among(
    answer: str, options: Sequence[str], *, texts: bool = True
) -> tuple[str | None, tuple[str, ...]]:
    """The letter of the right option, and the options without letters of their own.

    An answer by its text may have its letter before it, whether or not the options have theirs.

    >>> answer_among("right", ["A. left", "B. right"])
    ('B', ('left', 'right'))
    """
    kept = unlettered(options)
    found = letter_of(answer, options, texts=texts) or letter_of(answer, kept, texts=texts)
    if found is None and texts:
        for letter, text in zip(LETTERS, kept, strict=False):
            if text and same_text(_behind(letter, answer)) == same_text(text):
                found = letter
    return found, kept


def lack_of(case: MedCase) -> str | None:
    """What keeps an item from being asked, whatever its set; None where nothing does."""
    if not case.question.strip():
        return "question is empty"
    if not case.answer.strip():
        return "answer is empty"
    if case.kind == "mcq":
        if not 2 <= len(case.options) <= len(LETTERS):
            return f"it has {len(case.options)} options and may have 2 to {len(LETTERS)}"
        empty = next((n for n, text in enumerate(case.options) if not text.strip()), None)
        if empty is not None:
            return f"option {LETTERS[empty]} is empty"
        if case.answer not in LETTERS[: len(case.options)] or len(case.answer) != 1:
            last = LETTERS[len(case.options) - 1]
            return f'answer is "{quoted(case.answer, 60)}"; it is a letter, A to {last}'
    if not case.images:
        return "it names no image"
    return next((told for told in map(unsafe_name, case.images) if told), None)


def remarks_on(cases: Sequence[MedCase]) -> Iterator[str]:
    """What should be told of items that can be asked about, and are odd.

    Questions that give the caption or the answer away are asked as they stand.
    """
    same: list[str] = []
    captions: list[str] = []
    answers: list[str] = []
    for case in cases:
        asked, truth = same_text(case.question), case.truth
        if len({same_text(text) for text in case.options}) < len(case.options):
            same.append(case.case_id)
        if case.caption is not None and _holds(asked, case.caption):
            captions.append(case.case_id)
        if truth.count(" ") + 1 >= _TELLING_WORDS and _holds(asked, truth):
            answers.append(case.case_id)
    for found, one, more, what in (
        (same, "item has", "items have", "two options of the same text"),
        (captions, "question holds its", "questions hold their", "caption word for word"),
        (answers, "question holds its", "questions hold their", "answer word for word"),
    ):
        if found:
            verb = one if len(found) == 1 else more
            yield f"{len(found)} {verb} {what}: {first_of(found)}."


def _holds(asked: str, text: str) -> bool:
    # The text's last two words are seldom in the question; all of it is looked for if they are.
    end = " ".join(text.rsplit(None, 2)[-2:]).casefold()
    return bool(end) and end in asked and same_text(text) in asked


# ---------------------------------------------------------------- kept cases


class CaseRow(MedCase, frozen=True, kw_only=True):
    """A row of cases.parquet: the case, and that whose image it is lent."""

    swap: str | None = None


def case_row(case: MedCase, swap: MedCase | None = None) -> CaseRow:
    """A case as it is kept."""
    return CaseRow(**msgspec.structs.asdict(case), swap=None if swap is None else swap.case_id)


def cases_in(cases: pl.DataFrame) -> dict[str, MedCase]:
    """The cases of a kept table, by their ids."""
    return {case.case_id: case for case in structs_in(cases, MedCase)}
