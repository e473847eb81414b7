"""Replies against references: what is compared, and what is left out."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr import leakage
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.similarity import edit_similarity, rouge_l
from overread.benchmarks.medcmr.study import Study
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

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
    made = (one for marks in study.marks for m in leakage.METRICS for one in m.make(marks, study))
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
    assert record.note.startswith("3 refused, blank or missing left out")
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
