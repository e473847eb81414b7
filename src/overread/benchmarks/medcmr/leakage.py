"""How much of a reply stands in the reference word for word (MEDCMR, "Analyses" 5)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from overread.benchmarks.medcmr.cases import cases_in
from overread.benchmarks.medcmr.study import MCQ, OPEN, REFORMULATED, Asking, Marks, Study
from overread.measuring.estimates import Floats, Mask
from overread.measuring.specs import MEAN_OF_CASES, OUTCOMES, PLAIN, Codes, Condition, Counted, Spec

# ---------------------------------------------------------------- similarity of two texts

LONGEST: Final = 100_000
"""Characters of a text that are looked at: a reply that never stopped must not stop the run."""

# Writing without blanks has no words to find: each of its characters stands alone.
_ALONE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")


def words(text: str) -> list[str]:
    """Runs of letters and digits in small letters; a Chinese or Japanese character is one word.

    >>> words("T2-weighted MRI: 左肺")
    ['t2', 'weighted', 'mri', '左', '肺']
    """
    return _WORD.findall(unicodedata.normalize("NFC", text[:LONGEST]).casefold())


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
    from rapidfuzz.distance import LCSseq

    # Numbered, since the library compares words by their hash.
    known: dict[str, int] = {}
    first, second = (
        [known.setdefault(word, len(known)) for word in words(text)] for text in (reply, reference)
    )
    total = len(first) + len(second)
    return 2 * LCSseq.similarity(first, second) / total if total else None


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
    from rapidfuzz.distance import Levenshtein

    first, second = (text.strip()[:LONGEST] for text in (reply, reference))
    longer = max(len(first), len(second))
    return 1 - Levenshtein.distance(first, second) / longer if longer else None


# ---------------------------------------------------------------- replies against references
# Leakage: do replies repeat the references word for word? (MEDCMR, "Analyses" 5).

_SIMILARITY: Final[Mapping[str, Callable[[str, str], float | None]]] = {
    "rouge_l": rouge_l,
    "edit_similarity": edit_similarity,
}


class _Compared(NamedTuple):
    """Similarities by item, NaN where there is none; which have a reply, and which no section."""

    values: Mapping[str, Floats]
    said: Mask
    whole: Mask


def _compare(study: Study, marks: Marks, asking: Asking) -> _Compared:
    """Every reply to one asking against the true answer.

    A refusal, a blank reply or none says nothing of what a reader knows by heart: it is left out,
    not 0, or a reader that answers half would look half as leaky. A reply without an Answer
    section is compared whole, whatever the edition.
    """
    truths = study.once(("truths",), lambda: _truths(study))
    rows = study.answers[marks.reader, asking].select("place", "outcome", "text", "answer")
    values = {name: np.full(study.n, np.nan) for name in _SIMILARITY}
    spoke, whole = np.zeros((2, study.n), dtype=bool)
    for place, outcome, text, answer in rows.iter_rows():
        if outcome not in ("answered", "unparsed") or not (text or "").strip():
            continue
        spoke[place] = True
        said = (answer or "").strip() if study.edition.leakage == "answer" else text
        whole[place] = not said
        for name, similarity in _SIMILARITY.items():
            found = similarity(said or text, truths[place])
            values[name][place] = np.nan if found is None else found
    return _Compared(values, spoke, whole)


def _truths(study: Study) -> dict[int, str]:
    """The true answers in words, by place."""
    cases = cases_in(study.items.drop("place")).values()
    return {place: case.truth for place, case in zip(study.items["place"], cases, strict=True)}


def _conditions(study: Study, marks: Marks) -> list[Condition]:
    asked: list[Condition] = [{"kind": one.form} for one in marks.plainly if one != MCQ]
    return [PLAIN, *asked] if asked else []


def _similarity_of(name: str, study: Study, marks: Marks, condition: Condition) -> Counted:
    """How alike each reply and its reference are; both kinds together where none is named."""
    forms = [condition["kind"]] if condition else [OPEN.form, REFORMULATED.form]
    value = np.full(study.n, np.nan)
    population, whole = np.zeros(study.n, dtype=bool), 0
    why: Codes = np.zeros(study.n, dtype=np.int8)
    for asking in map(Asking, forms):
        if asking not in marks.said:
            continue
        key = ("leakage", marks.reader, asking)
        found = study.once(key, partial(_compare, study, marks, asking))
        # An item is of one kind, so at most one of these has a number for it.
        value = np.fmax(value, found.values[name])
        asked = marks.asked(asking)
        refused = marks.said[asking].had("refused")
        silent = np.where(refused, OUTCOMES.index("refused"), OUTCOMES.index("unanswered"))
        why = np.where(asked & ~found.said, silent, why).astype(np.int8)
        population |= asked
        whole += int(found.whole.sum())
    remark = f"{whole} without an answer section compared whole" if whole else ""
    return Counted(value, population, why, remark=remark)


_SAYS: Final = {
    "rouge_l": "words of the reply that stand in the reference in order, as an F-score",
    "edit_similarity": "1 - edit distance of reply and reference over the longer",
}
LEAKAGE_SPECS: Final = tuple(
    Spec(
        name=name,
        says=says,
        of=partial(_similarity_of, name),
        conditions=_conditions,
        estimate=MEAN_OF_CASES,
        better=None,
    )
    for name, says in _SAYS.items()
)
