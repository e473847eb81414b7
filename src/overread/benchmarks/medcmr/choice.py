"""Which option a multiple-choice reply names: the ladder of the protocol (MEDCMR, "Reading").

The rungs, in order; the first at which a letter is found decides:

whole     the whole reply is one letter, with brackets, a stop or emphasis around it
answer    `Answer: X`, `Final answer is X`, `X is the correct answer`, `\\boxed{X}`, `**X**`
line      the last line that is a letter alone, whatever lines stand above it
opening   `X)`, `(X)`, `X.`, `X:` or `X、` opens the reply
option    the text of exactly one option is quoted whole

Two different letters at one rung, or a letter that was not shown, are invalid: no lower rung is
tried. So is all that the ladder has no rung for, such as a letter in prose ("I think it is B").
Every pattern takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.folding import bare, plain
from overread.benchmarks.medcmr.letters import DOUBTED, LETTER, WRAPPED, letters_at
from overread.benchmarks.medcmr.quoted import is_refusal, options_quoted
from overread.judging.spoken import spoken

__all__ = ["REASONS", "RUNGS", "Choice", "read_choice"]

RUNGS: Final = ("whole", "answer", "line", "opening", "option", "none")
EMPTY: Final = "an empty reply"
UNFINISHED: Final = "the thinking never ended"
REFUSED: Final = "a refusal in words"
NOTHING: Final = "no letter that can be told"
SEVERAL: Final = "two different letters"
NOT_SHOWN: Final = "a letter that was not shown"
REASONS: Final = (EMPTY, UNFINISHED, REFUSED, NOTHING, SEVERAL, NOT_SHOWN)
"""Why a reply is invalid: all that `Choice.reason` may be, besides empty."""

# Of a reply longer than twice this, the start and the end are read.
_REACH: Final = 32_768


class Choice(NamedTuple):
    """The letter shown, or None for an invalid reply with its reason; the rung that decided."""

    letter: str | None
    rung: str
    reason: str = ""


def read_choice(text: str, options_shown: Sequence[str]) -> Choice:
    """Read a reply to a question that showed these options, A first. Never raises.

    >>> read_choice("**Answer:** (B)", ["cat", "dog"])
    Choice(letter='B', rung='answer', reason='')
    >>> read_choice("A cat or a dog", ["cat", "dog"])
    Choice(letter=None, rung='option', reason='two different letters')
    """
    said = spoken(text)
    if said is None:
        return Choice(None, "none", UNFINISHED)
    if len(said) > 2 * _REACH:
        said = f"{said[:_REACH]}\n…\n{said[-_REACH:]}"
    said = plain(said).strip()
    if not said:
        return Choice(None, "none", EMPTY)
    options = tuple(map(bare, options_shown))
    for rung, letters_in in _LADDER.items():
        letters = letters_in(said, options)
        if len(letters) > 1:
            return Choice(None, rung, SEVERAL)
        for letter in letters:
            if letter in LETTERS[: len(options)]:
                return Choice(letter, rung)
            return Choice(None, rung, NOT_SHOWN)
    return Choice(None, "none", REFUSED if is_refusal(said) else NOTHING)


# ---------------------------------------------------------------- the rungs

_OPEN: Final = r"[\s*_`\"'(\[{<#$~>•\-]*+"
_CLOSE: Final = r"[\s*_`\"')\]}>$~.:;,、!]*+"
_LATEX: Final = r"(?:\\(?:text|math)[a-z]{0,5}\s*+\{\s*+)?"
_LABEL: Final = (
    r"(?:(?i:(?:(?:the|my|final|correct|best)\s++){0,3}(?:option|choice|letter|answer))\s++"
    r"|选项|选)?"
)
_DENIED: Final = re.compile(
    r"(?i:(?:\b(?:not|never|neither|nor|cannot|rather than|instead of|except|exclud\w*|eliminat\w*|"
    r"rul\w{1,4} out)|n't)(?:\s+(?:be|option|choice|answer|is|the))*[\s*_(\"':]*$)"
)
_NOT_THE: Final = re.compile(
    r"(?i:\b(?:(?:wrong|incorrect|false|if|whether|unless)(?:\s+the)?|(?:not|never)\s+(?:the|my|an?)"
    r"|n't\s+the)(?:\s+(?:final|correct|right|best))?\s*$)"
)

_WHOLE: Final = re.compile(rf"{_OPEN}{_LABEL}[\s*_`\"'(\[{{<$]*+{_LATEX}[(\[]?([A-Za-z]){_CLOSE}")


def _whole(said: str, options: Sequence[str]) -> set[str]:
    found = _WHOLE.fullmatch(said)
    return set() if found is None else {found[1].upper()}


_ANSWERS: Final = (
    # Answer: X; the final answer is X; {"answer": "X"}; <answer>X</answer>
    re.compile(
        r"(?<![A-Za-z/])(?:(?i:ans)[.:]|(?i:answer|choice|option|selection)"
        r"(?i:[ ]+(?:choice|option|letter|(?:to|for)[ ]+(?:the|this)[ ]+question))?"
        r"[\s*_`\"')\]]*+(?:[:=>]|-+>|→|-(?=[ ])|"
        r"(?i:is|was|(?:would|should|must|will) be)(?![A-Za-z'])))"
        r"[\s:*_]*+"
        r"(?:(?i:most likely|likely|probably|definitely|clearly|therefore|thus|indeed"
        r"|(?:the[ ]+)?(?:option|choice|letter))(?![A-Za-z])[\s:*_]*+|选项)*+"
        rf"{WRAPPED}{LETTER}"
    ),
    re.compile(
        rf"(?:答案|选项(?=[是为:])|(?<!不)选择?(?!项))(?:应该|应当|应)?[是为]?[\s:]*+(?:选项)?{WRAPPED}{LETTER}"
    ),
    re.compile(rf"\\boxed\s*\{{{WRAPPED}{LETTER}"),
)
_REVERSED: Final = (
    re.compile(
        r"(?<![A-Za-z0-9'\-])([A-Z])[*_`\"')\]]*\s+is\s+(?:the\s+|my\s+)?"
        r"(?:(?:most\s+)?(?:correct|right|best|likely|appropriate|final|accurate)\s+)?"
        r"(?:answer|option|choice|(?<=is )correct)(?![A-Za-z])"
    ),
    re.compile(
        r"(?<![A-Za-z])(?i:option|choice|answer)\s+[*_`\"'(\[]*([A-Z])[*_`\"')\]]*\s+is\s+"
        r"(?:the\s+)?(?:correct|right|best)(?![A-Za-z])"
    ),
    re.compile(r"(?<![A-Za-z0-9])([A-Z])[\])]?\s*[是为](?:正确|最佳)(?:的)?(?:答案|选项)"),
)
_BOLD: Final = re.compile(
    r"(?<![*_\w])(?:\*{2,3}|__)\s*(?:(?i:option|choice)\s+)?[(\[]?([A-Z])[)\]]?\s*+([.:]?)\s*+"
    r"(?:\*{2,3}|__)(?![*\w])"
)
_HEADING: Final = re.compile(r"[ ]*[:)\-]")
_LINE_END: Final = re.compile(r"[ ]*(?:\n|$)")
_BESIDE: Final = re.compile(
    r"(?<![A-Za-z0-9'])([A-Z])[)\]*_]*\s*(?:[,、/&]|\band\b|\bor\b)[\s(\[*_]*$"
)


def _answers(said: str, options: Sequence[str]) -> set[str]:
    letters: set[str] = set()
    for pattern in _ANSWERS:
        for found in pattern.finditer(said):
            if not _NOT_THE.search(said, max(0, found.start() - 40), found.start()):
                letters |= letters_at(said, found.start(1), options)
    for found in (match for pattern in _REVERSED for match in pattern.finditer(said)):
        before = said[max(0, found.start(1) - 40) : found.start(1)]
        if not _DENIED.search(before):
            beside = _BESIDE.search(before)
            letters |= {found[1], *([beside[1]] if beside else [])}
    return letters.union(*_bold(said, options))


def _bold(said: str, options: Sequence[str]) -> Iterator[set[str]]:
    """`**X**`, unless it heads a line of a list ("**A**: no", "**B.** Effusion") or is denied."""
    for found in _BOLD.finditer(said):
        heads = _HEADING.match(said, found.end()) is not None
        if found[2]:
            heads = _LINE_END.match(said, found.end()) is None
        before = said[max(0, found.start() - 40) : found.start()]
        if not heads and not _DENIED.search(before):
            yield letters_at(said, found.start(1), options)


def _line(said: str, options: Sequence[str]) -> set[str]:
    """The last line that is a letter alone; those above it do not count."""
    for line in reversed(said.split("\n")):
        found = _WHOLE.fullmatch(line)
        if found is not None:
            return {found[1].upper()}
    return set()


_OPENING: Final = re.compile(
    rf"{_OPEN}(?:(?P<label>(?i:option|choice)\s+|选项\s*)[*_]*)?"
    r"(?:(?<=[(\[])(?P<held>[A-Za-z])\s?[)\]]|(?P<bare>[A-Za-z])[*_]*\s?(?P<mark>[)\].:,、]))"
)


def _opening(said: str, options: Sequence[str]) -> set[str]:
    """The letter that opens the reply, and those that open other lines or go on in the first."""
    first = _opens(said, options)
    if not first:
        return set()
    lines = said.split("\n")
    letters = first.union(*(_opens(line, options) for line in lines[1:]))
    following = chr(ord(min(first)) + 1)
    if re.search(rf"(?<![A-Za-z0-9])\(?{following}(?:[).:](?=\s)|、)", lines[0]):
        letters.add(following)
    return letters


def _opens(text: str, options: Sequence[str]) -> set[str]:
    found = _OPENING.match(text)
    if found is None:
        return set()
    at, mark = found.start("held") if found["held"] else found.start("bare"), found["mark"]
    if mark == "," and not found["label"]:
        return set()
    after = text[found.end() : found.end() + 1]
    if text[at].islower() and (
        mark not in (None, ")") or text[at].upper() not in LETTERS[: len(options)]
    ):
        return set()
    if mark == "." and after.isascii() and after.isalnum():
        # "A.I." is no letter; "A.Pneumonia" is, where that is the option.
        own = LETTERS.find(text[at].upper())
        word = bare(text[found.end() : found.end() + 200])
        if not (0 <= own < len(options) and options[own] and word.startswith(options[own])):
            return set()
    rest = letters_at(text, at, options)
    return set() if DOUBTED.match(text, found.end()) else rest


_LADDER: Final[dict[str, Callable[[str, Sequence[str]], set[str]]]] = {
    "whole": _whole,
    "answer": _answers,
    "line": _line,
    "opening": _opening,
    "option": options_quoted,
}
