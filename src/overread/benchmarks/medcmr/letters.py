"""A letter in a reply: whether it is meant as one, and which others are named with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.folding import bare

__all__ = ["DOUBTED", "LETTER", "WRAPPED", "letters_at"]


def _words(text: str) -> list[str]:
    return text.split()


# The letter in its brackets, emphasis or LaTeX; no part of a word: "A's", "B-cell", "A1", "B+".
WRAPPED: Final = r"(?:\\(?:boxed|text\w{0,5}|math\w{0,5})\s*\{|\s++|[*_`\"'(\[{<$\\]){0,20}+"
# Latin, Greek and Cyrillic letters and accents go on with a word; Chinese ones need no blank.
_WHOLE_WORD: Final = r"(?![A-Za-z0-9+\u00c0-\u052f]|['\-][A-Za-z])"
LETTER: Final = rf"([A-Za-z]){_WHOLE_WORD}"

# After A or I these words show that it was a letter: "A mass" is an article, "A because" is not.
_FUNCTION: Final = frozenset(
    _words(
        "because since as for due based given which and or with in is from on at this that "
        "considering are but the it there so would was not rather while where than if"
    )
)
_WORD: Final = re.compile(r"[ ]+([A-Za-z0-9]+)")
_SPECIES: Final = re.compile(r"\.\s?([a-z]+)")
_ENDED: Final = re.compile(r"[ ]*(?:$|[.)\]}>,、;:*_`\"'$\n\\])")
DOUBTED: Final = re.compile(
    r"[\s*_`\"')\]}]*+(?:\?"
    r"|(?:is|was|are|would be|seems|appears)\s+"
    r"(?:not|incorrect|wrong|false|unlikely|ruled|excluded)"
    r"|isn't|不正确|不对|是错|错误)"
)
_JOINED: Final = re.compile(
    r"[\s*_`\"')\]}]*+(?:([,、;])|[/&+\-]|(?i:\bor\b|\band\b|\bbut\b)|和|或|与|及)"
    r"\s*+(?i:or|and|maybe|perhaps|possibly|even|also|option|choice)?"
    rf"{WRAPPED}([A-Z]){_WHOLE_WORD}"
)
_LISTED: Final = re.compile(r"[\s*_`\"')\]}]*+(?:$|[,、.;/&]|(?:and|or)\b)")
# Letters side by side without a word: "(A)(B)", and "A. B. C." as far as the end of the line.
_SIDE_BY_SIDE: Final = re.compile(
    rf"[*_`\"' ]*+(?:(?:[)\]}}]\.?|\.)[*_`\"' ]*+[(\[{{]?([A-Z]){_WHOLE_WORD}"
    r"(?=(?:[.)\]} ]*+[(\[{]?[A-Z](?![A-Za-z0-9])){0,9}+[.)\]}*_`\"' ]*+(?:$|\n))"
    r"|[)\]}][ ]*+[(\[{]([A-Z])(?=[)\]}]))"
)
_MOST: Final = 26


def _stands(said: str, at: int, options: Sequence[str]) -> bool:
    """Whether the letter at a place is meant as one, by what stands there and after it."""
    letter, after = said[at], at + 1
    # "E. coli" and "A mass" may be options themselves: then their text is quoted.
    for option in options:
        if len(option) > 1 and option[0] == letter.lower():
            start = bare(said[at : at + 2 * len(option) + 20])
            if start.startswith(option) and not start[len(option) : len(option) + 1].isalnum():
                return False
    if DOUBTED.match(said, after):
        return False
    if letter.islower():
        return _ENDED.match(said, after) is not None
    following = (_WORD if letter in "AI" else _SPECIES).match(said, after)
    following = following or _SPECIES.match(said, after)
    if following is None or following[1].lower() in _FUNCTION:
        return True
    own = LETTERS.find(letter)
    return 0 <= own < len(options) and options[own].startswith(following[1].lower())


def letters_at(said: str, at: int, options: Sequence[str]) -> set[str]:
    """The letter at a place, and those joined to it: "A or B", "A, C and D", "A. B.", "(A)(B)"."""
    if not _stands(said, at, options):
        return set()
    letters, after = {said[at].upper()}, at + 1
    own = LETTERS.find(said[at].upper())
    for _ in range(_MOST):
        beside = _SIDE_BY_SIDE.match(said, after)
        if beside is not None:
            letter, after = beside[1] or beside[2], beside.end()
            if 0 <= own < len(options) and options[own] == letter.lower():
                break  # the option's own text
            letters.add(letter)
            continue
        joined = _JOINED.match(said, after)
        if joined is None:
            break
        letter, after = joined[2], joined.end()
        word = _WORD.match(said, after) if letter in "AI" else None
        if word and word[1].lower() not in _FUNCTION:
            break
        if joined[1] and not _LISTED.match(said, after):
            break
        letters.add(letter)
    return letters
