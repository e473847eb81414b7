"""Which option a multiple-choice reply names (MEDCMR, "Reading the reply").

The ladder of the protocol over the words, and the letters' probabilities by the first token.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from overread.judging.reading import spoken

LETTERS: Final = "ABCDEFGHIJ"
"""What options are called in a question."""


def place_of_answer(answer: str, options: Sequence[str]) -> int | None:
    """Where an answer of a set stands among the options: by its own words, else by its letter.

    >>> place_of_answer("dog", ["cat", "Dog"]), place_of_answer("b", ["cat", "dog"])
    (1, 1)
    """
    words = [option.casefold() for option in options]
    if answer.casefold() in words:
        return words.index(answer.casefold())
    place = LETTERS.find(answer.upper()) if len(answer) == 1 else -1
    return place if 0 <= place < len(options) else None


# ---------------------------------------------------------------- folding of characters
# Replies with one spelling for what looks alike on purpose: full-width letters, quotes, dashes.

_WIDE: Final = {0xFF00 + code - 0x20: chr(code) for code in range(0x21, 0x7F)}
_ALIKE: Final = {
    **_WIDE,
    **dict.fromkeys(map(ord, "【〔〖「『《〈"), "["),
    **dict.fromkeys(map(ord, "】〕〗」』》〉"), "]"),
    **dict.fromkeys(map(ord, "。．"), "."),
    ord("，"): ",",
    **dict.fromkeys(map(ord, "“”„«»"), '"'),
    **dict.fromkeys(map(ord, "‘’´"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–—−"), "-"),
    # Blanks, and the marks that some tokenizers leave in place of them.
    **dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000Ġ▁\t"), " "),
    **dict.fromkeys(map(ord, "Ċ\r\u0085\u2028\u2029\v\f"), "\n"),
    # Nothing is seen of these.
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad")),
}
_HTML: Final = re.compile(r"</?(?:b|strong|i|em)>", re.IGNORECASE)
_LATEX_BRACKETS: Final = re.compile(r"\\([()\[\]])")
# What a server may leave of a chat template.
_TEMPLATE: Final = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?s>|<eos>|<(?:end|start)_of_turn>")


def plain(text: str) -> str:
    """One spelling of letters, brackets, stops, quotes, dashes and blanks; lines stay lines.

    Full-width letters are letters (a Chinese keyboard writes them). Letters of other scripts that
    merely look like A are not. HTML's emphasis is as markdown's, and LaTeX's brackets are brackets.
    The Chinese mark 、 stays: behind a letter it is a stop (`B、胸腔积液`), which a comma is not.
    """
    said = _TEMPLATE.sub("", text.replace("\r\n", "\n").translate(_ALIKE))
    return _LATEX_BRACKETS.sub(r"\1", _HTML.sub("**", said))


def bare(text: str) -> str:
    """The text of an option, or of a reply that may quote one: case, blanks and emphasis aside."""
    said = plain(text).replace("*", "").replace("`", "").replace("、", ",").casefold()
    return " ".join(said.split()).strip(" .,;:!\"'")


# ---------------------------------------------------------------- letters at a place
# A letter in a reply: whether it is meant as one, and which others are named with it.


# The letter in its brackets, emphasis or LaTeX; no part of a word: "A's", "B-cell", "A1", "B+".
WRAPPED: Final = r"(?:\\(?:boxed|text\w{0,5}|math\w{0,5})\s*\{|\s++|[*_`\"'(\[{<$\\]){0,20}+"
# Latin, Greek and Cyrillic letters and accents go on with a word; Chinese ones need no blank.
_WHOLE_WORD: Final = r"(?![A-Za-z0-9+\u00c0-\u052f]|['\-][A-Za-z])"
LETTER: Final = rf"([A-Za-z]){_WHOLE_WORD}"

# After A or I these words show that it was a letter: "A mass" is an article, "A because" is not.
_FUNCTION: Final = re.compile(
    "because|since|as|for|due|based|given|which|and|or|with|in|is|from|on|at|this|that|considering|"
    "are|but|the|it|there|so|would|was|not|rather|while|where|than|if",
    re.IGNORECASE,
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
    if following is None or _FUNCTION.fullmatch(following[1]):
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
        if word and not _FUNCTION.fullmatch(word[1]):
            break
        if joined[1] and not _LISTED.match(said, after):
            break
        letters.add(letter)
    return letters


# ---------------------------------------------------------------- options quoted, refusals
# Options quoted whole: the last rung of the ladder (MEDCMR, "Reading the reply").

# Words that stand in any sentence: as an option they count alone or at the start, set off by a
# mark, not wherever they occur ("I have no idea").
_COMMON: Final = frozenset(
    ("yes", "no", "not", "none", "all", "both", "true", "false", "other", "normal", "an", "or")
)
_FILLERS: Final = (
    "a|an|the|any|be|is|it|this|that|to|of|for|with|really|likely|probably|definite|clear|obvious|"
    "evidence|sign|signs|feature|features|finding|findings|suggestive|suggest|suggests|indicative|"
    "indicate|consistent|compatible|typical|characteristic|diagnosis|case|option|choice|answer|"
    "have|has|show|shows|see|seen|in|fact|think|believe"
)
# Found in the words before a mention, it says that the thing is denied.
_DENIED_OPTION: Final = re.compile(
    r"(?:\b(?:no|not|never|neither|nor|cannot|without|except|unlike|versus|against|exclud\w*|"
    r"absence|lack|lacks|lacking|rather than|instead of|rul\w+ out|negative for|free of|"
    r"eliminat\w*|non)|n't)"
    rf"(?:\s+(?:{_FILLERS})\b){{0,8}}[\s\"'(\[-]*$"
    r"|(?:不是|不像|不考虑|没有|未见|无|非|排除)$"
)
# Found right after it, it says the same.
_REJECTED: Final = re.compile(
    r"[\s\"')\]]*+(?:"
    r"(?:is|are|was|were|seems?|appears?|(?:can|could|would|may) be)\s+"
    r"(?:not\b(?! only)|unlikely|less\s+likely|excluded|ruled\s+out|absent|incorrect|wrong|"
    r"improbable|impossible)"
    r"|[,:(-]?\s?(?:unlikely|excluded|ruled\s+out|absent|incorrect|wrong)\b"
    r"|isn't|aren't|不正确|错误|可能性小)"
)
_SET_OFF: Final = re.compile(r"\banswer(?:\s+is)?\s*:?[\s\"'(\[]*$")
_CLAUSE: Final = re.compile(r"[.;:!?,]|\bbut\b|\bhowever\b")
_LOOK_BACK: Final = 100
_UNSPACED: Final = re.compile("[\u3040-\u9fff]")  # Chinese has no blanks between words
# It says that it will or can not answer.
_REFUSAL: Final = re.compile(
    r"\b(?:sorry|apologi[sz]e|unable to|not able to|not possible to|i (?:do not|don't) know|"
    r"insufficient (?:information|data|evidence)|as an ai|"
    r"(?:cannot|can't|could not|couldn't|can not) (?:be )?(?:determined?|tell|answer|provide|"
    r"assist|help|identify|see|view|give|make|interpret|diagnose|say|conclude|assess|rule))\b"
    r"|抱歉|无法|不能确定"
)


def options_quoted(text: str, options: Sequence[str]) -> set[str]:
    """The letters of the options whose whole text the reply quotes.

    A reply that is nothing but one option's text quotes that. Else each mention counts unless it is
    denied ("no pneumonia", "pneumonia is unlikely"), is part of a longer word ("non-small cell" is
    not "small cell"), or lies within a mention of a longer option: "no pneumonia" quotes one option
    and not "pneumonia" too. A reply that refuses quotes nothing.
    """
    said = bare(text)
    letters: dict[str, set[str]] = defaultdict(set)
    for letter, option in zip(LETTERS, options, strict=False):
        # The text of an option may be a letter itself; said alone it was read as a letter.
        if len(words := bare(option)) > 1 or words.isdecimal():
            letters[words].add(letter)
    if said in letters:
        return letters[said]
    if _REFUSAL.search(said):
        return set()
    found: set[str] = set()
    holder = [0] * len(said)  # which longer mention a character lies in
    mentions = 0
    for words in sorted(letters, key=lambda words: (-len(words), words)):
        for at in _places(said, words):
            end = at + len(words)
            if holder[at] and holder[at] == holder[end - 1]:
                continue
            mentions += 1
            holder[at:end] = [mentions] * len(words)
            if words in _COMMON and not _set_off(said, at, end):
                continue
            before = _CLAUSE.split(said[max(0, at - _LOOK_BACK) : at])[-1]
            if not _DENIED_OPTION.search(before) and not _REJECTED.match(said, end):
                found |= letters[words]
    return found


def _places(said: str, words: str) -> Iterator[int]:
    at = said.find(words)
    while at >= 0:
        end = at + len(words)
        if not _joined(said, at, -1) and not _joined(said, end - 1, 1):
            yield at
        at = said.find(words, end)


def _joined(said: str, at: int, step: int) -> bool:
    """Whether the word or number at this end of a mention goes on beyond it."""
    edge, beyond = said[at], said[at + step : at + step + 1] if at + step >= 0 else ""
    if not beyond or not edge.isalnum() or _UNSPACED.search(edge + beyond):
        return False
    further = said[at + 2 * step : at + 2 * step + 1] if at + 2 * step >= 0 else ""
    if beyond in "-_'":
        return further.isalnum()
    if beyond in ".,":
        return edge.isdigit() and further.isdigit()
    return beyond.isalnum()


def _set_off(said: str, at: int, end: int) -> bool:
    opens = at == 0 and (end == len(said) or said[end] in ",.;:!-")
    return opens or _SET_OFF.search(said[max(0, at - 20) : at]) is not None


# ---------------------------------------------------------------- the ladder
# Which option a multiple-choice reply names: the ladder of the protocol (MEDCMR, "Reading").
#
# The rungs, in order; the first at which a letter is found decides:
#
# whole     the whole reply is one letter, with brackets, a stop or emphasis around it
# answer    `Answer: X`, `Final answer is X`, `X is the correct answer`, `\boxed{X}`, `**X**`
# line      the last line that is a letter alone, whatever lines stand above it
# opening   `X)`, `(X)`, `X.`, `X:` or `X、` opens the reply
# option    the text of exactly one option is quoted whole
#
# Two different letters at one rung, or a letter that was not shown, are invalid: no lower rung is
# tried. So is all that the ladder has no rung for, such as a letter in prose ("I think it is B").
# Every pattern takes time in proportion to the text.

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
_READ_AT_EITHER_END: Final = 32_768


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
    if len(said) > 2 * _READ_AT_EITHER_END:
        said = f"{said[:_READ_AT_EITHER_END]}\n…\n{said[-_READ_AT_EITHER_END:]}"
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
    return Choice(None, "none", REFUSED if _REFUSAL.search(bare(said)) else NOTHING)


# ---------------------------------------------------------------- the rungs

_OPEN: Final = r"[\s*_`\"'(\[{<#$~>•\-]*+"
_CLOSE: Final = r"[\s*_`\"')\]}>$~.:;,、!]*+"
_LATEX_TEXT: Final = r"(?:\\(?:text|math)[a-z]{0,5}\s*+\{\s*+)?"
_LABEL: Final = (
    r"(?:(?i:(?:(?:the|my|final|correct|best)\s++){0,3}(?:option|choice|letter|answer))\s++"
    r"|选项|选)?"
)
_DENIED_LETTER: Final = re.compile(
    r"(?i:(?:\b(?:not|never|neither|nor|cannot|rather than|instead of|except|exclud\w*|eliminat\w*|"
    r"rul\w{1,4} out)|n't)(?:\s+(?:be|option|choice|answer|is|the))*[\s*_(\"':]*$)"
)
_NOT_THE: Final = re.compile(
    r"(?i:\b(?:(?:wrong|incorrect|false|if|whether|unless)(?:\s+the)?|(?:not|never)\s+(?:the|my|an?)"
    r"|n't\s+the)(?:\s+(?:final|correct|right|best))?\s*$)"
)

_WHOLE: Final = re.compile(
    rf"{_OPEN}{_LABEL}[\s*_`\"'(\[{{<$]*+{_LATEX_TEXT}[(\[]?([A-Za-z]){_CLOSE}"
)


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
        if not _DENIED_LETTER.search(before):
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
        if not heads and not _DENIED_LETTER.search(before):
            yield letters_at(said, found.start(1), options)


def _line(said: str, options: Sequence[str]) -> set[str]:
    """The last line that is a letter alone; those above it do not count."""
    found = (_whole(line, options) for line in reversed(said.split("\n")))
    return next(filter(None, found), set())


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


# ---------------------------------------------------------------- probabilities of the letters
# The options' probabilities, from the alternatives of a reply's first token.

# "A", " A", "▁A", "ĠA", "(A", "A)", "**A" …: a capital and at most marks around it. Small letters
# are words ("a", "i"), so they are left out.
_MARKS: Final = r"[\s▁ĠĊ*_`\"'(\[{<$（【「『]{0,8}"
_ENDS: Final = r"[\s▁ĠĊ*_`\"')\]}>$.:,;）】」』。．：，]{0,8}"
_TOKEN: Final = re.compile(rf"{_MARKS}([A-ZＡ-Ｚ]){_ENDS}")
# Less says that the reply does not begin with its letter, but with words ("The answer is").
_LEAST_MASS: Final = 0.5
_ROUNDING: Final = 1e-9


def letter_probabilities(
    alternatives: Sequence[tuple[str, float]] | None, n_options: int
) -> tuple[float, ...] | None:
    """The probability of each letter shown, normalised over them; None where there is none to tell.

    A letter's mass is that of all its spellings among the alternatives of the first token. There
    are no probabilities where the letters have less than half of the mass together, or where the
    likeliest token is no letter that was shown: the choice is then not made by this token.

    >>> letter_probabilities([("A", -1.0), (" A", -1.0), ("(B", -1.0), ("The", -3.0)], 3)
    (0.666..., 0.333..., 0.0)
    """
    mass: dict[str, list[float]] = {letter: [] for letter in LETTERS[:n_options]}
    likeliest = other = 0.0
    for token, value in alternatives or ():
        if value != value:
            continue
        # A log-probability is at most 0; a server that says more, or NaN, must not break this.
        share, found = math.exp(min(value, 0.0)), _TOKEN.fullmatch(token)
        letter = found[1].translate(_WIDE) if found else ""
        if letter in mass:
            mass[letter].append(share)
            likeliest = max(likeliest, share)
        else:
            other = max(other, share)
    sums = [math.fsum(parts) for parts in mass.values()]
    total = math.fsum(sums)
    if other > likeliest or total < _LEAST_MASS - _ROUNDING:
        return None
    return tuple(part / total for part in sums)


def most_probable(probabilities: Sequence[float]) -> int | None:
    """The place of the largest; None where two are equally large: that decides nothing.

    The first of equals would favour the letter A.
    """
    largest = max(probabilities)
    return probabilities.index(largest) if probabilities.count(largest) == 1 else None
