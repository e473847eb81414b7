"""Scores by shared words: how much of a caption and of a true answer a reply says.

Vision and truth go by the words that are there, clarity and coherence by plain rules of language.
Only the material is looked at, and only its words: what a reply claims of itself raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from overread.judging.lexicon import content, opposites

__all__ = ["covered", "scores"]

# The share of words from which on a score is given, highest first.
_SAID: Final = ((0.8, 4), (0.6, 3), (0.35, 2), (0.15, 1))
_NEAR: Final = 0.3  # of the true answer's words, somewhere: slight overlap
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_WORD: Final = re.compile(r"\w+")
_HEDGES: Final = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|somehow|something|somewhat|unclear|unsure|uncertain|"
    r"might|could|whatever|etc)\b",
    re.IGNORECASE,
)
_LINKS: Final = re.compile(
    r"\b(?:because|since|therefore|thus|hence|so|which|suggest\w*|indicat\w*|consistent|due|as|"
    r"given|points?|support\w*|based|means?|follows?|leads?|explain\w*)\b",
    re.IGNORECASE,
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HEDGED: Final = 3  # words of doubt that leave a text vague
_LONG: Final = 80  # words of a sentence nobody follows
_REPEATED: Final = 0.3  # of the words different: the rest is babble
_ENOUGH: Final = 30  # words from which on repetition tells


def scores(sections: Mapping[str, str]) -> dict[str, float]:
    """Clarity, coherence, vision (where there is a caption) and truth of reasoning and answer."""
    reasoning, answer = sections.get("reasoning", ""), sections.get("answer", "")
    found: dict[str, float] = {
        "clarity": _clarity(f"{reasoning}\n{answer}"),
        "coherence": _coherence(reasoning, answer),
    }
    if "caption" in sections:
        found["visual"] = _graded(covered(sections["caption"], f"{reasoning}\n{answer}"))
    found["truth"] = _truth(sections.get("truth", ""), reasoning, answer)
    return found


def covered(gold: str, said: str) -> float:
    """The share of what `gold` says that `said` says too, less the share that it denies.

    >>> covered("A round mass in the left lung.", "The left lung holds a round mass.")
    1.0
    >>> covered("A round mass in the left lung.", "The right lung holds a round mass.")
    0.5
    """
    wanted, there = _words(gold), _words(said)
    if not wanted:
        return 1.0 if _plain(gold) and _plain(gold) == _plain(said) else 0.0
    lacking = wanted - there
    denied = sum(any(other in there for other in _against(word)) for word in lacking)
    return max(0.0, (len(wanted) - len(lacking) - denied) / len(wanted))


def _truth(gold: str, reasoning: str, answer: str) -> int:
    """By the answer, where it says enough; else by what the whole reply has of the truth."""
    in_answer, anywhere = covered(gold, answer), covered(gold, f"{reasoning}\n{answer}")
    direct = _graded(in_answer)
    if direct >= 3:
        return direct
    if answer.strip():
        # What stands in the reasons and not in the answer is no more than partly right.
        return max(direct, 2 if anywhere >= 0.8 else 1 if anywhere >= _NEAR else 0)
    return min(3, _graded(anywhere))


def _graded(share: float) -> int:
    return next((score for least, score in _SAID if share >= least - 1e-9), 0)


def _clarity(text: str) -> float:
    words = [word.casefold() for word in _WORD.findall(text)]
    if len(words) < 2:
        return 0
    if len(words) >= _ENOUGH and len(set(words)) < _REPEATED * min(len(words), 300):
        return 0
    vague = len(_HEDGES.findall(text)) >= _HEDGED
    return 0.5 if vague or max(map(_length, _sentences(text))) > _LONG else 1


def _coherence(reasoning: str, answer: str) -> float:
    """Reasons that have to do with the answer, or are joined to each other, hold together."""
    if not _words(reasoning):
        return 0
    joined = bool(_LINKS.search(reasoning)) or len(_sentences(reasoning)) > 1
    shared = bool(_words(reasoning) & _words(answer))
    return 1 if joined and (shared or not answer.strip()) else 0.5


def _sentences(text: str) -> Sequence[str]:
    return [part for part in _SENTENCE.split(text) if part.strip()] or [""]


def _length(text: str) -> int:
    return len(_WORD.findall(text))


def _words(text: str) -> frozenset[str]:
    """The words of a text; scripts without blanks by pairs of characters."""
    found: set[str] = set()
    for word in content(text):
        if _CJK.search(word) and len(word) > 2:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)


def _against(word: str) -> Sequence[str]:
    """What denies a word: the same negated, or its opposite."""
    turned = word.removeprefix("¬") if word.startswith("¬") else f"¬{word}"
    return (turned, *opposites(word))


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
