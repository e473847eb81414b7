"""ROUGE-L and edit similarity; replies against references."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.measures import LEAKAGE_SPECS
from overread.benchmarks.medcmr.study import Study
from overread.benchmarks.similarity import LONGEST, edit_similarity, rouge_l, words
from overread.measuring.specs import made_by
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

# ---------------------------------------------------------------- similarity
# ROUGE-L and edit similarity against slow, obvious tables.

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


@pytest.mark.slow
def test_a_reply_that_never_stopped_is_cut() -> None:
    rng = random.Random(1)
    long = " ".join(rng.choice("abcdefgh") for _ in range(LONGEST))
    assert rouge_l(long, long + "!") == 1
    assert edit_similarity(long, "a") == 1 - (LONGEST - 1) / LONGEST
    assert edit_similarity(long, long[::-1]) is not None


# ---------------------------------------------------------------- leakage
# Replies against references: what is compared, and what is left out.

OPTIONS = ("left lung", "right lung", "heart", "liver", "spleen")
CASES = [
    opened(1, answer="pleural effusion"),
    opened(2, answer="fracture"),
    mcq(1, answer="B", options=OPTIONS),
    mcq(2, answer="C", options=OPTIONS),
]


def measured(answers, edition=CORRECTED):
    quick = msgspec.structs.replace(edition, boot=200)
    study = Study(tables_of(CASES, answers), None, quick)
    made = (
        one
        for marks in study.marks
        for spec in LEAKAGE_SPECS
        for one in made_by(study, marks, spec)
    )
    return study.finish(made)


def test_the_answer_or_the_whole_reply_is_set_beside_the_truth() -> None:
    answers = [
        wrote("r", 1, "Reasoning: fluid. Answer: Pleural effusion", answer="Pleural effusion"),
        wrote("r", 2, "Reasoning: a line. Answer: a break", answer="a break"),
        wrote("r", 1, "Answer: the right lung", form="reformulated", answer="the right lung"),
        chose("r", 1, "B"),
    ]
    records = measured(answers)
    assert found(records, "rouge_l", kind="open").value == 0.5
    # The truth of a reformulated item is the text of its right option: 2 of 3 and of 2 words.
    assert found(records, "rouge_l", kind="reformulated").value == pytest.approx(0.8)
    assert found(records, "rouge_l").value == pytest.approx(1.8 / 3)
    assert found(records, "rouge_l").n == 3
    expected = [
        edit_similarity("Pleural effusion", "pleural effusion"),
        edit_similarity("a break", "fracture"),
    ]
    assert found(records, "edit_similarity", kind="open").value == pytest.approx(sum(expected) / 2)
    whole = found(measured(answers, AUTHORS), "rouge_l", kind="reformulated")
    assert whole.value == rouge_l("Answer: the right lung", "right lung") == pytest.approx(4 / 6)


def test_who_does_not_answer_says_nothing_of_what_it_knows_by_heart() -> None:
    answers = [
        wrote("r", 1, "pleural effusion"),
        wrote("r", 2, None),
        wrote("r", 1, "I cannot.", form="reformulated", outcome="refused"),
        wrote("r", 2, " ", form="reformulated", outcome="unparsed"),
    ]
    record = found(measured(answers), "rouge_l")
    assert (record.value, record.n) == (1, 1)
    assert record.note.startswith("left out: 1 refused, 2 unanswered")
    assert found(measured(answers), "rouge_l", kind="reformulated").value is None


def test_a_reply_without_an_answer_section_is_compared_whole() -> None:
    answers = [
        wrote("r", 1, "a pleural effusion", outcome="unparsed", answer=None),
        wrote("r", 2, "no"),
    ]
    record = found(measured(answers), "rouge_l", kind="open")
    assert record.value == pytest.approx(0.4)
    assert record.note == "1 without an answer section compared whole"


def test_only_the_items_own_image_and_open_forms_count() -> None:
    assert measured([wrote("r", 1, "pleural effusion", image="blank"), chose("r", 1, "B")]) == []
