"""How much of a reply stands in the reference word for word (MEDCMR, "Analyses" 5)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Floats,
    Mask,
    columns_of,
    counted_in,
    drafted,
    joined,
    panel,
)
from overread.benchmarks.medcmr.cases import cases_in
from overread.benchmarks.medcmr.marks import OPEN, REFORMULATED, Cell, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = [
    "LEAKAGE_METRICS",
    "LONGEST",
    "edit_similarity",
    "rouge_l",
    "words",
]


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
_CELLS: Final = {"open": OPEN, "reformulated": REFORMULATED}


class _Compared(NamedTuple):
    """Similarities by item, NaN where there is none; what had no reply, and no Answer section."""

    values: Mapping[str, Floats]
    silent: Mask
    whole: Mask


def _compared(study: Study, marks: Marks, cell: Cell) -> _Compared:
    key = ("leakage", marks.reader, cell)
    return study.once(key, lambda: _compare(study, marks, cell))


def _compare(study: Study, marks: Marks, cell: Cell) -> _Compared:
    """Every reply of a cell against the true answer.

    A refusal, a blank reply or none says nothing of what a reader knows by heart: it is left out,
    not 0, or a reader that answers half would look half as leaky. A reply without an Answer
    section is compared whole, whatever the edition.
    """
    import polars as pl

    truths = study.once(("truths",), lambda: _truths(study))
    rows = study.answers.filter(
        (pl.col("reader") == marks.reader)
        & (pl.col("form") == cell.form)
        & (pl.col("image") == cell.image)
        & (pl.col("order").fill_null(0) == cell.order)
    ).select("place", "outcome", "text", "answer")
    n = study.facts.n
    values = {name: np.full(n, np.nan) for name in _SIMILARITY}
    silent, whole = marks.asked(cell).copy(), np.zeros(n, dtype=bool)
    for place, outcome, text, answer in rows.iter_rows():
        if outcome not in ("answered", "unparsed") or not (text or "").strip():
            continue
        silent[place] = False
        said = (answer or "").strip() if study.edition.leakage == "answer" else text
        whole[place] = not said
        for name, similarity in _SIMILARITY.items():
            found = similarity(said or text, truths[place])
            values[name][place] = np.nan if found is None else found
    return _Compared(values, silent, whole)


def _truths(study: Study) -> list[str]:
    """The true answers in words, by place."""
    found = [""] * study.facts.n
    cases = cases_in(study.cases.drop("place"))
    for place, case in zip(study.cases["place"].to_list(), cases, strict=True):
        found[place] = case.truth
    return found


def _making(name: str, says: str) -> Metric:
    def make(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
        asked = {kind: cell for kind, cell in _CELLS.items() if cell in marks.said}
        groups: dict[str, list[Cell]] = {"": list(asked.values())} if asked else {}
        groups |= {kind: [cell] for kind, cell in asked.items()}
        for kind, cells in groups.items():
            found = [_compared(study, marks, cell) for cell in cells]
            # An item is of one kind, so at most one of these has a number for it.
            values = np.fmax.reduce([one.values[name] for one in found])[:, None]
            silent = sum(int(one.silent.sum()) for one in found)
            whole = sum(int(one.whole.sum()) for one in found)
            record = Measure(
                reader=marks.reader,
                measure=name,
                by={"kind": kind} if kind else {},
                note=joined(
                    f"{silent} refused, blank or missing left out" if silent else None,
                    f"{whole} without an answer section compared whole" if whole else None,
                ),
            )
            yield drafted(record, columns_of(values), panel, counted_in(values))

    return Metric(name=name, says=says, make=make)


LEAKAGE_METRICS: Final = (
    _making("rouge_l", "words of the reply that stand in the reference in order, as an F-score"),
    _making("edit_similarity", "1 - edit distance of reply and reference over the longer"),
)
