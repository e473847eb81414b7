"""Is the final answer of a reply the right one? By letters, truth words and normalised tokens."""

from __future__ import annotations

import re
from typing import Final

from overread.judging.lexical_options import chosen, options_of
from overread.judging.lexical_truth import truth_of, without_json
from overread.judging.lexicon import content, contradict, opposites

__all__ = ["final_answer", "same_answer"]

_MARKER: Final = re.compile(
    r"(?:\bfinal\s+answer|\bcorrect\s+answer|\bcorrect\s+option|\bthe\s+answer|\bmy\s+answer|"
    r"^\W{0,4}answer)\W{0,4}\s*(?:(?:is|are|would\s+be|:|=|-)\W{0,4})+",
    re.IGNORECASE | re.MULTILINE,
)
_BOXED: Final = re.compile(r"\\boxed\{([^{}]{1,400})\}")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_YES_NO: Final = ("true", "false", "yes", "no", "correct", "incorrect")
_LONG: Final = 5  # of so many words an answer may lack one in five
# What follows these explains an answer and lists none.
_ASIDE: Final = re.compile(
    r"\b(?:which|that|because|since|due|as|given|based|with|caus\w+|lead\w+|result\w+|in|on|from|"
    r"after|secondary|associated|arising|affecting|involving)\b|\(",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"[,;/\n]|\b(?:or|and|versus|vs)\b", re.IGNORECASE)
_DISEASE: Final = re.compile(
    r"^(?!¬).*(?:itis|oma|osis|asis|emia|pathy|monia|plasia|edema|thorax|megaly|sion|tion|cancer|"
    r"tumor|fracture|abscess|disease|syndrome|hemorrhage|cyst|hernia|sepsis|embolism)$"
)
_LISTED: Final = 3  # other things that make a list, whatever they are
_OPPOSED: Final = 2  # words of a part that is an alternative by an opposite: "right kidney"
_HEAD: Final = 2_000


def final_answer(reply: str) -> str:
    """What a reply gives as its answer: behind the last mark of one, else its last sentence.

    >>> final_answer("1. It is round.\\nFinal answer: **B**")
    'B'
    """
    text = reply.strip()
    boxed = _BOXED.findall(text)
    if boxed:
        return _bare(boxed[-1])
    marks = list(_MARKER.finditer(text))
    if marks:
        rest = text[marks[-1].end() :].lstrip()
        return _bare(rest.split("\n", 1)[0])
    lines = [line for line in text.split("\n") if line.strip()]
    last = lines[-1] if lines else ""
    if len(last) <= 200 and not _SENTENCE.search(last.strip()):
        return _bare(last)
    return _bare(_SENTENCE.split(last.strip())[-1])


def same_answer(question: str, gold: str, reply: str) -> tuple[bool, str]:
    """Whether the reply's final answer is the gold one, and what it is."""
    final, wanted = final_answer(reply), gold.casefold().strip(" .\t\n")
    options = options_of(question) if wanted not in ("true", "false") else {}
    right = chosen(gold, options) if options else frozenset()
    if right:
        return chosen(final, options) == right, final
    if wanted in _YES_NO:
        final = final_answer(without_json(reply))
        return truth_of(final) is truth_of(wanted), final
    return bool(final) and _alike(gold, final), final


def _alike(gold: str, final: str) -> bool:
    """All words of the gold answer are in the final one, one in five of a long one excepted."""
    wanted, said = content(gold), content(final)
    if not wanted:
        return gold.casefold().split() == final.casefold().split()
    if contradict(wanted, said):
        return False
    numbers = {token for token in wanted if token[0].isdigit()}
    if wanted == numbers:
        return {token for token in said if token[0].isdigit()} == numbers
    if len(wanted) < _LONG and _several(wanted, final):
        return False
    missing = len(wanted - said)
    return numbers <= said and missing <= (len(wanted) // _LONG if len(wanted) >= _LONG else 0)


def _several(wanted: frozenset[str], final: str) -> bool:
    """Whether an answer names another thing besides the wanted one: "right or left", a list."""
    head = _ASIDE.split(final, maxsplit=1)[0][:_HEAD]
    parts = [part for part in map(content, _LIST.split(head)) if part]
    others = [part for part in parts if not part & wanted and not all(map(_denied, part))]
    opposed = {other for word in wanted for other in opposites(word)} - wanted
    if any(part & opposed and len(part) <= _OPPOSED for part in parts):
        return len(parts) > 1
    if any(part <= wanted for part in parts) and re.search(r"\bor\b", head, re.IGNORECASE):
        return len(others) > 0
    return len(parts) > 1 and (
        len(others) >= _LISTED or any(_DISEASE.search(word) for part in others for word in part)
    )


def _denied(word: str) -> bool:
    return word.startswith("¬")


def _bare(text: str) -> str:
    return text.strip().strip("*_`\"' \t").rstrip(".").strip("*_`\"' \t")
