"""What every loader does with the items it has read: checks them, and leaves out what cannot be."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.case import BadInput, Source

__all__ = [
    "Loaded",
    "Stated",
    "answer_among",
    "below",
    "gather",
    "lack_of",
    "letter_of",
    "listed",
    "same_text",
    "unlettered",
    "unsafe_name",
]

# Where an item stands ("test.json item 3"), and the item, or why there is none.
Stated: TypeAlias = tuple[str, MedCase | Left]
# A shorter answer stands in many a question for good reason: "Is it left or right?"
_TELLING_WORDS: Final = 4
# Absolute, a drive's, upwards, with another system's slashes, or with control characters.
_UNSAFE: Final = re.compile(r"^/|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)|[\\\x00-\x1f]")


class Loaded(NamedTuple):
    """Cases in the order of the set, items left out with their reasons, and what should be told."""

    cases: list[MedCase]
    left: list[Left]
    remarks: tuple[str, ...] = ()


def gather(
    stated: Iterable[Stated], root: Path, *, seen: bool = True, remarks: Sequence[str] = ()
) -> Loaded:
    """The items that can be asked about; one damaged item never stops the others.

    Unless anybody is to see them (`seen`), images may be absent; unsafe names are refused anyhow.
    """
    cases: list[MedCase] = []
    left: list[Left] = []
    taken: dict[str, str] = {}
    there = _Images(root) if seen else None
    for where, found in stated:
        if isinstance(found, Left):
            left.append(found)
            continue
        first = taken.setdefault(found.case_id, where)
        lack = lack_of(found)
        if first != where:
            lack = f"{found.case_id} stands in {first} already"
        if lack is None and there is not None:
            lack = there.lack(found.images)
        if lack is None:
            cases.append(found)
        else:
            left.append(Left(found.case_id, f"{where}: {lack}"))
    missed = () if there is None else there.remarks()
    told = (*remarks, *missed, *_same_options(cases), *_telling(cases))
    return Loaded(cases, left, told)


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
            return f'answer is "{_short(case.answer)}"; it is a letter, A to {last}'
    if not case.images:
        return "it names no image"
    return next((told for told in map(unsafe_name, case.images) if told), None)


def unsafe_name(name: str) -> str | None:
    """Why a name of a file must not be followed; None for one that stays below its root."""
    if not name.strip():
        return "its image has no name"
    if _UNSAFE.search(name):
        shown = "".join(letter if letter.isprintable() else "?" for letter in _short(name))
        return f'its image "{shown}" is no safe name: a path below the set, with / and without ..'
    return None


def below(prefix: str, name: str) -> str:
    """A name with the folder it stands in; an unsafe one stays as it is, to be refused as such."""
    return name if unsafe_name(name) else prefix + name


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


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first few of some names, and how many more there are."""
    shown = ", ".join(_short(name, 80) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


class _Images:
    """Which images are there; each is looked for once. A class, for it counts."""

    def __init__(self, root: Path) -> None:
        from overread.imaging import archive, is_archive

        self._root = root
        self._archive = archive(root) if is_archive(root) else None
        self._known: dict[str, str | None] = {}
        self._beside: dict[str, frozenset[str]] = {}
        self._missed: Counter[str] = Counter()

    def lack(self, names: Iterable[str]) -> str | None:
        """What is wrong with the first of these images that cannot be had."""
        for name in names:
            if name not in self._known:
                self._known[name] = self._looked(name)
            told = self._known[name]
            if told is not None:
                self._missed[name] += 1
                return told
        return None

    def _looked(self, name: str) -> str | None:
        folder, _, file = name.rpartition("/")
        if file in self._beside.get(folder, ()):
            return None
        try:
            if self._archive is not None:
                self._archive.entry(name)
            else:
                self._check_file(name, folder)
        except BadInput as error:
            return _line(str(error)).rstrip(".")
        return None

    def _check_file(self, name: str, folder: str) -> None:
        """Where one image is there and its folder is sound, so are the plain files beside it."""
        from overread.imaging import check_there

        check_there(Source(str(self._root), name))
        if folder not in self._beside and self._root.is_dir():
            with os.scandir(self._root / folder) as listed:
                plain = (entry.name for entry in listed if entry.is_file(follow_symlinks=False))
                self._beside[folder] = frozenset(plain)

    def remarks(self) -> Iterator[str]:
        if self._missed:
            names, items = list(self._missed), range(self._missed.total())
            yield (
                f"{_of(names, 'image is', 'images are')} not to be had, so that "
                f"{_of(items, 'item is', 'items are')} left out: {listed(names)}."
            )


def _same_options(cases: Sequence[MedCase]) -> Iterator[str]:
    found = [
        case.case_id
        for case in cases
        if len({same_text(text) for text in case.options}) < len(case.options)
    ]
    if found:
        items = _of(found, "item has", "items have")
        yield f"{items} two options of the same text: {listed(found)}."


def _telling(cases: Sequence[MedCase]) -> Iterator[str]:
    """Questions that give the caption or the answer away: readers are asked them as they stand."""
    captions, answers = [], []
    for case in cases:
        asked = same_text(case.question)
        if case.caption is not None and _holds(asked, case.caption):
            captions.append(case.case_id)
        truth = case.truth
        if truth.count(" ") + 1 >= _TELLING_WORDS and _holds(asked, truth):
            answers.append(case.case_id)
    if captions:
        yield f"{_questions(captions)} caption word for word: {listed(captions)}."
    if answers:
        yield f"{_questions(answers)} answer word for word: {listed(answers)}."


def _of(found: Sequence[object], one: str, more: str) -> str:
    return f"{len(found)} {one if len(found) == 1 else more}"


def _questions(found: Sequence[object]) -> str:
    return _of(found, "question holds its", "questions hold their")


def _holds(asked: str, text: str) -> bool:
    # The text's last two words are seldom in the question; all of it is looked for if they are.
    end = " ".join(text.rsplit(None, 2)[-2:]).casefold()
    return bool(end) and end in asked and same_text(text) in asked


def _line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, most: int = 60) -> str:
    line = _line(text)
    return line if len(line) <= most else line[:most] + "…"
