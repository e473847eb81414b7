"""Options quoted whole: the last rung of the ladder (MEDCMR, "Reading the reply")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.folding import bare

__all__ = ["is_refusal", "options_quoted"]

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
_DENIED: Final = re.compile(
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
_REACH: Final = 100
_REFUSAL: Final = re.compile(
    r"\b(?:sorry|apologi[sz]e|unable to|not able to|not possible to|i (?:do not|don't) know|"
    r"insufficient (?:information|data|evidence)|as an ai|"
    r"(?:cannot|can't|could not|couldn't|can not) (?:be )?(?:determined?|tell|answer|provide|"
    r"assist|help|identify|see|view|give|make|interpret|diagnose|say|conclude|assess|rule))\b"
    r"|抱歉|无法|不能确定"
)


def is_refusal(text: str) -> bool:
    """Whether a reply says that it will or can not answer."""
    return _REFUSAL.search(bare(text)) is not None


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
            before = _CLAUSE.split(said[max(0, at - _REACH) : at])[-1]
            if not _DENIED.search(before) and not _REJECTED.match(said, end):
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
    if not beyond or not edge.isalnum():
        return False
    if _unspaced(edge) or _unspaced(beyond):
        return False  # Chinese has no blanks between words
    further = said[at + 2 * step : at + 2 * step + 1] if at + 2 * step >= 0 else ""
    if beyond in "-_'":
        return further.isalnum()
    if beyond in ".,":
        return edge.isdigit() and further.isdigit()
    return beyond.isalnum()


def _unspaced(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"


def _set_off(said: str, at: int, end: int) -> bool:
    opens = at == 0 and (end == len(said) or said[end] in ",.;:!-")
    return opens or _SET_OFF.search(said[max(0, at - 20) : at]) is not None
