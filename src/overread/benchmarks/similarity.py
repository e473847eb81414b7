"""How much of a reply stands in the reference word for word (MEDCMR, "Analyses" 5)."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final

LONGEST: Final = 100_000
"""Characters of a text that are looked at: a reply that never stopped must not stop the run."""

# Writing without blanks has no words to find: each of its characters stands alone.
_ALONE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_REFERENCES: Final = 4_096
_WORD: Final = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")


def words(text: str) -> list[str]:
    """Runs of letters and digits in small letters; a Chinese or Japanese character is one word.

    >>> words("T2-weighted MRI: 左肺")
    ['t2', 'weighted', 'mri', '左', '肺']
    """
    return _WORD.findall(unicodedata.normalize("NFC", text[:LONGEST]).casefold())


# Every model's reply is held against the same references, which have many words in common.
@lru_cache(_REFERENCES)
def _reference_words(reference: str) -> tuple[str, ...]:
    return tuple(map(sys.intern, words(reference)))


def rouge_l(reply: str, reference: str) -> float | None:
    """ROUGE-L: F-score, beta 1, of the longest common subsequence of words.

    With c the words of the longest common subsequence, m and n those of the texts::

        P = c/m,  R = c/n,  F = 2PR/(P + R) = 2c/(m + n)

    Returns
    -------
    float or None
        In [0, 1]: 1 for the same words, 0 where none is shared; None where neither has a word.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3.

    Examples
    --------
    >>> rouge_l("a small pleural effusion", "Small effusion.")
    0.6666666666666666
    """
    from rapidfuzz.distance.LCSseq import similarity

    # Numbered, since the library compares words by their hash.
    known: dict[str, int] = {}
    first, second = (
        [known.setdefault(word, len(known)) for word in said]
        for said in (words(reply), _reference_words(reference))
    )
    total = len(first) + len(second)
    return 2 * similarity(first, second) / total if total else None


def edit_similarity(reply: str, reference: str) -> float | None:
    """1 - Levenshtein distance / length of the longer text, in characters as they are written.

    Blanks around a text are left aside.

    Returns
    -------
    float or None
        In [0, 1]: 1 for the same text; None where both are empty.

    References
    ----------
    V. I. Levenshtein (1966), Soviet Physics Doklady 10, 707-710.

    Examples
    --------
    >>> edit_similarity("kitten", "sitting") == 1 - 3 / 7
    True
    """
    from rapidfuzz.distance.Levenshtein import distance

    first, second = (text.strip()[:LONGEST] for text in (reply, reference))
    longer = max(len(first), len(second))
    return 1 - distance(first, second) / longer if longer else None
