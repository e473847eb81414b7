"""Judges' scores, read from the lines they are asked for; never guessed (MEDCMR, "Judging").

A line is a score's name, a colon and a number, whatever bullets, emphasis or brackets stand
around them, in any order and among any prose. Behind the number may stand its own scale (`3/4`,
`3 out of 4`; another's is a fault) and, set off by punctuation, words without another score in
them. A score that is missing, is no number, lies off its grid, or is given twice and differently
makes the whole verdict invalid. Lines that a judge quotes (`> …`, a fenced section) or thinks
(`<think>`) are not its verdict. One JSON object with all the names is taken too; beside lines it
must say the same.

The value is {"clarity", "coherence", "visual", "truth"}, the numbers as they were given; `visual`
is absent where it was not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from overread.judging import Read
from overread.judging.lexical import LexicalJudge, scores
from overread.judging.reading import LONGEST, read_json, spoken

# ---------------------------------------------------------------- the four scores
# The four scores of an open answer: their names, their grids, and which question asks for which.
#
# S = (clarity + coherence + 4 visual + 4 truth) / 10 of the scores divided by their highest.

COMPONENTS: Final = ("clarity", "coherence", "visual", "truth")
LINES: Final[Mapping[str, str]] = {
    "clarity": "Language Clarity",
    "coherence": "Reasoning Coherence",
    "visual": "Vision Feature Accuracy",
    "truth": "Ground Truth Consistency",
}
"""What each is called in a judge's reply, in the order of its lines (MEDCMR, "Judging")."""
GRIDS: Final[Mapping[str, tuple[float, ...]]] = {
    "clarity": (0, 0.5, 1),
    "coherence": (0, 0.5, 1),
    "visual": (0, 1, 2, 3, 4),
    "truth": (0, 1, 2, 3, 4),
}
"""The scores there are, lowest first."""
COMPONENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "score": COMPONENTS,
    # Without a caption nothing says what is to be seen.
    "score_uncaptioned": ("clarity", "coherence", "truth"),
}
QUESTIONS: Final = tuple(COMPONENTS_OF)


def grid_words(component: str) -> tuple[str, ...]:
    """The scores of a component as they are written: `0`, `0.5`, `1`."""
    return tuple(f"{score:g}" for score in GRIDS[component])


# ---------------------------------------------------------------- one score of a line
# One score of a judge's line: a number of its grid, or why it is none.

_NUMBER: Final = re.compile(
    r"[\[({<*_`\s]{0,8}(?P<number>[+-]?(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}))(?![^\W_])[\])}>*_`\s]{0,8}"
    r"(?P<rest>.*)"
)
_SCALE: Final = re.compile(
    r"[\[(\s]{0,4}(?:/|(?:out\s+)?of\b)\s{0,4}(?P<most>\d{1,9}(?:\.\d{1,9})?)"
    r"(?!\w|\.\d)[\])}*_`\s]{0,8}(?P<rest>.*)",
    re.IGNORECASE,
)
# What may set words off behind a number; a bare word may not, as in "3 or 4".
_BREAK: Final = re.compile(r"(?:[.,;:!(\[<|]|--?\s|[–—]|//|#)[\s*_`(–—-]{0,8}(?P<words>.*)")
_OTHER: Final = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,9})?(?![\w.]*\d)")
_NONE: Final = re.compile(
    r"[\s\[({*_`-]*(?:n\s?/\s?a|none|null|nan|nil|not applicable|unknown|-+)[\s\])}*_`.]*",
    re.IGNORECASE,
)
# The form itself, said again: the scale in the place of a score.
_FORM: Final = re.compile(
    r"[\[({<*_`\s]*(?:0\s*(?:-|–|\.\.+|…|to)\s*[14]"
    r"|0(?:\s*(?:[|/,]|,?\s*or)\s*(?:0\.5|[1-4]))+|score|number)[\])}>*_`\s.]*",
    re.IGNORECASE,
)
_SHORT: Final = 40


def is_form(words: str) -> bool:
    """Whether a line says its scale again instead of a score."""
    return _FORM.fullmatch(words) is not None


def score_in(part: str, words: str) -> tuple[float | None, str]:
    """The score of one line; else why not; neither where the line holds words alone."""
    name = LINES[part]
    if _NONE.fullmatch(words):
        return None, f'{name} is no number: "{shortened(words)}"'
    found = _NUMBER.fullmatch(words)
    if found is None:
        doubtful = re.match(r"[\[({<*_`\s+.-]{0,8}\d", words)
        return None, f'{name} is no plain number: "{shortened(words)}"' if doubtful else ""
    rest = found["rest"]
    scale = _SCALE.fullmatch(rest)
    if scale is not None:
        if float(scale["most"]) != GRIDS[part][-1]:
            return None, f'{name} is on another scale: "{shortened(words)}"'
        rest = scale["rest"]
    score, fault = _on_grid(part, float(found["number"]))
    return (None, fault) if fault else _alone(part, score, rest, words)


def _alone(part: str, score: float, rest: str, words: str) -> tuple[float | None, str]:
    """The score, if what follows it is words set off from it, with no other score among them."""
    if not rest.strip(" \t*_`.\\"):
        return score, ""
    set_off = _BREAK.fullmatch(rest)
    if set_off is None or set_off["words"][:1].isdigit():
        return None, f'{LINES[part]} is no plain number: "{shortened(words)}"'
    others = {float(one) for one in _OTHER.findall(set_off["words"])} - {score}
    if others & set(GRIDS[part]):
        return None, f'{LINES[part]} has two numbers: "{shortened(words)}"'
    return score, ""


def _on_grid(part: str, number: float) -> tuple[float, str]:
    grid = GRIDS[part]
    if number in grid:
        return (int(number) if number == int(number) else number), ""
    listed = ", ".join(grid_words(part))
    if not grid[0] <= number <= grid[-1]:
        return number, f"{LINES[part]} is {number:g}, out of scale; it is one of {listed}"
    return number, f"{LINES[part]} is {number:g}, off the grid; it is one of {listed}"


def shortened(words: str) -> str:
    """The beginning of what was said, on one line."""
    plain = " ".join(words[: 4 * _SHORT].split())
    return plain if len(plain) <= _SHORT else plain[:_SHORT] + "…"


# ---------------------------------------------------------------- a verdict

# Wide forms as their narrow ones; other minus signs as the plain one.
_NARROW: Final = str.maketrans(
    "：﹕［］（）【】０１２３４５６７８９．／−－\u00a0\u3000", ":" * 2 + "[]()[]0123456789./--  "
)
_NAMES: Final[Mapping[str, str]] = {
    "clarity": r"language\s+clarity",
    "coherence": r"reasoning\s+coherence",
    "visual": r"(?:vision|visual)\s+feature\s+accuracy",
    "truth": r"ground[\s-]+truth\s+consistency",
}
_DRESS: Final = r"[\s*_`#]{0,12}"
_LINE: Final = re.compile(
    r"\s{0,40}(?:[-*•·+–]\s+)?(?:\(?\d{1,2}[.):]\s*)?" + _DRESS + r"(?:\d{1,2}[.):]\s*)?(?:"
    + "|".join(f"(?P<{part}>{name})" for part, name in _NAMES.items())
    + r")(?:\s+score)?" + _DRESS + r":" + _DRESS + r"(?P<said>.*)",
    re.IGNORECASE,
)  # fmt: skip
_FIELDS: Final[Mapping[str, re.Pattern[str]]] = {
    part: re.compile(rf'"{name}(?:\s+score)?"\s*:\s*"?([^",}}\n]{{0,80}})', re.IGNORECASE)
    for part, name in _NAMES.items()
}
_FENCED: Final = re.compile(r"<([a-z][a-z_]{0,40}) fence=([0-9a-f]{16})>")


def read_verdict(question: str, text: str | None) -> Read:
    """A judge's reply to one of `QUESTIONS`: its scores, or why there are none.

    `how` is `lines`, with `+order` if they come in another order and `+prose` if there is more than
    the lines; or `json`.
    """
    if not text or not text.strip():
        return Read(fault="no reply")
    if len(text) > LONGEST:
        return Read(fault=f"a reply of more than {LONGEST} characters")
    own = _own_words(text.translate(_NARROW))
    said: dict[str, list[str]] = {}
    prose = False
    for line in own:
        found = _LINE.fullmatch(line)
        if found is None or found.lastgroup is None:
            prose = prose or bool(line.strip())
            continue
        part = next(name for name in COMPONENTS if found[name] is not None)
        said.setdefault(part, []).append(found["said"])
    text = "\n".join(own)
    if not said:
        return _from_json(question, text)
    if "{" in text:  # an object beside the lines must not contradict them
        for part, words in said.items():
            words.extend(_FIELDS[part].findall(text))
    return _from_lines(question, said, prose)


def _from_lines(question: str, said: Mapping[str, Sequence[str]], prose: bool) -> Read:
    asked = COMPONENTS_OF[question]
    order = [part for part in said if part in asked]
    marks = ["order"] * (order != list(asked)) + ["prose"] * prose
    found = {part: _settled(part, said.get(part, ())) for part in asked}
    return _put_together(found, "lines", "+".join(("lines", *marks)))


def _put_together(found: Mapping[str, tuple[float | None, str]], form: str, how: str) -> Read:
    """All scores, read in this way; or every fault there is, in that form."""
    faults = [fault for score, fault in found.values() if score is None]
    if faults:
        return Read(how=form, fault="; ".join(faults))
    return Read({part: score for part, (score, _) in found.items()}, how)


def _settled(part: str, said: Sequence[str]) -> tuple[float | None, str]:
    """The score that all lines of a name give; None and why, where there is none."""
    name = LINES[part]
    if not said:
        return None, f"{name} is missing"
    scores: list[float] = []
    unsaid = ""
    for words in said:
        if is_form(words):
            unsaid = unsaid or f"{name} has no number"
            continue
        score, fault = score_in(part, words)
        if score is not None:
            scores.append(score)
        elif fault:
            return None, fault
        else:
            # Words about it; the number may stand on another line.
            unsaid = unsaid or f'{name} is no number: "{shortened(words)}"'
    if not scores:
        return None, unsaid
    if len(set(scores)) > 1:
        given = " and ".join(f"{score:g}" for score in dict.fromkeys(scores))
        return None, f"{name} is given twice: {given}"
    return scores[0], ""


def _own_words(text: str) -> list[str]:
    """The lines a judge says itself: without its thoughts, quotations and echoed sections."""
    lines = (spoken(text) or "").splitlines()
    # Where each echoed section ends, so that one that never ends hides nothing.
    ends: dict[str, int] = {}
    for place, line in enumerate(lines):
        if line.lstrip().startswith("</"):
            ends[line.strip()] = place
    return list(_unquoted(lines, ends))


def _unquoted(lines: Sequence[str], ends: Mapping[str, int]) -> Iterator[str]:
    until = -1
    for place, line in enumerate(lines):
        if place <= until:
            continue
        tag = _FENCED.match(line.strip())
        if tag is not None:
            until = ends.get(f"</{tag[1]} fence={tag[2]}>", -1)
            if until > place:
                continue
        if not line.lstrip().startswith(">"):
            yield line


def _from_json(question: str, text: str) -> Read:
    """One object with all the names, each once; nothing is mended."""
    asked = COMPONENTS_OF[question]
    missing = "; ".join(f"{LINES[part]} is missing" for part in asked)
    read = read_json(text, "object") if "{" in text else Read(fault="no JSON")
    if not read.valid or read.how == "repaired":
        return Read(fault=missing)
    keys = {part: _keys(read.value, part) for part in asked}
    if not all(keys.values()):
        return Read(fault="; ".join(f"{LINES[p]} is missing" for p in asked if not keys[p]))
    found: dict[str, tuple[float | None, str]] = {}
    for part in asked:
        said = read.value[keys[part][0]]
        no_number = f'{LINES[part]} is no number: "{shortened(str(said))}"'
        # A key that stands twice is read as its last: the text tells.
        if len(re.findall(rf'"{_NAMES[part]}(?:\s+score)?"\s*:', text, re.IGNORECASE)) != 1:
            found[part] = None, f"{LINES[part]} is given twice"
        elif isinstance(said, bool) or not isinstance(said, int | float | str):
            found[part] = None, no_number
        else:
            score, fault = score_in(part, str(said))
            found[part] = score, fault or no_number
    return _put_together(found, "json", "json")


def _keys(found: Mapping[str, Any], part: str) -> list[str]:
    name = re.compile(_NAMES[part] + r"(?:\s+score)?", re.IGNORECASE)
    return [key for key in found if name.fullmatch(key.strip())]


def lines_of(value: Mapping[str, float]) -> str:
    """Scores as the lines a judge is asked for.

    >>> print(lines_of({"clarity": 0.5, "truth": 4}))
    Language Clarity: [0.5]
    Ground Truth Consistency: [4]
    """
    return "\n".join(f"{LINES[part]}: [{value[part]:g}]" for part in COMPONENTS if part in value)


# ---------------------------------------------------------------- the lexical judge
# `control:lexical-judge` for open answers: scores by shared words, in the lines asked for.


def _scored(question: str, sections: Mapping[str, str]) -> str:
    found = scores(sections)
    return lines_of({part: found.get(part, 0) for part in COMPONENTS_OF[question]})


SCORERS: Final = {question: partial(_scored, question) for question in QUESTIONS}
"""What answers each question, as `LexicalJudge` takes it."""


def lexical_judge() -> LexicalJudge:
    """The judge with what this benchmark asks."""
    return LexicalJudge(more=SCORERS)
