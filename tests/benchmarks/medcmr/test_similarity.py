"""ROUGE-L and edit similarity against slow, obvious tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.similarity import LONGEST, edit_similarity, rouge_l, words

TEXTS = st.text(st.sampled_from("ab c-.É左\ud800"), max_size=30) | st.text(max_size=40)
BOTH = pytest.mark.parametrize("similarity", [rouge_l, edit_similarity])


def slow_lcs(one: Sequence[str], two: Sequence[str]) -> int:
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def slow_edits(one: str, two: str) -> int:
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, start=1):
        above, row = row, [i]
        for j, b in enumerate(two, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def test_by_hand() -> None:
    # "the cat sat on mat" is in both: 5 words of 6 and of 7.
    one, two = "The cat sat on the mat.", "the black cat sat on a mat"
    assert rouge_l(one, two) == pytest.approx(2 * (5 / 6) * (5 / 7) / (5 / 6 + 5 / 7))
    assert rouge_l("Answer: B", "pneumothorax") == 0
    assert edit_similarity("flaw", "lawn") == 0.5
    assert edit_similarity("Flaw", "flaw") == 0.75  # characters as they are written


def test_words_are_runs_of_letters_and_digits_whatever_their_case() -> None:
    assert words("T2-weighted, STRASSE_ñ Straße") == [
        "t2", "weighted", "strasse", "ñ", "strasse",
    ]  # fmt: skip
    assert words("n\u0303") == ["ñ"], "a letter written in two characters is one"
    assert words("左肺下叶 CT") == ["左", "肺", "下", "叶", "ct"]
    assert words(" .,_-!") == []


@BOTH
@given(TEXTS)
@example("")
def test_nothing_beside_nothing_has_no_similarity(
    similarity: Callable[[str, str], float | None], text: str
) -> None:
    assert similarity("", "  ") is None
    expected = None if similarity(text, text) is None else 0
    assert similarity(text, "") == similarity("", text) == expected


@BOTH
@given(TEXTS, TEXTS)
def test_it_is_symmetric_between_0_and_1_and_1_for_the_same(
    similarity: Callable[[str, str], float | None], one: str, two: str
) -> None:
    found = similarity(one, two)
    assert found == similarity(two, one)
    assert found is None or 0 <= found <= 1
    assert similarity(one, one) in (1, None)


@given(TEXTS, TEXTS)
def test_as_the_slow_tables_have_it(one: str, two: str) -> None:
    first, second = words(one), words(two)
    if first or second:
        assert rouge_l(one, two) == 2 * slow_lcs(first, second) / (len(first) + len(second))
    a, b = one.strip(), two.strip()
    if a or b:
        assert edit_similarity(one, two) == 1 - slow_edits(a, b) / max(len(a), len(b))


def test_a_reply_that_never_stopped_is_cut() -> None:
    rng = random.Random(1)
    long = " ".join(rng.choice("abcdefgh") for _ in range(LONGEST))
    assert rouge_l(long, long + "!") == 1
    assert edit_similarity(long, "a") == 1 - (LONGEST - 1) / LONGEST
    assert edit_similarity(long, long[::-1]) is not None
