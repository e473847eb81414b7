"""Cases from ReXErr's sentences (GROUNDING 2.4)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.authors import Stream
from overread.benchmarks.grounding.build.sampling import IMAGE_ERRORS, TEXT_ERRORS, draw_sentences
from overread.benchmarks.grounding.build.scheme import Account, Sampling
from support.probe_tables import film_table, random_tables, sentence_table


def draw(sentences, films, rules="corrected", **options):
    account = Account("rexerr")
    cases = draw_sentences(sentences, films, Sampling(**options), Stream(42), account, rules)
    return cases, {each.reason: each.count for each in account.exclusions}


def test_a_sentence_becomes_a_case_with_the_facts_of_its_film():
    films = film_table({"view": "AP", "age": 33.0, "gender": "M", "fracture": 1, "pneumonia": 1})
    (case,), lost = draw(sentence_table({}), films)
    assert not lost
    assert (case.case_id, case.source, case.label, case.error_present) == (
        *("rexerr_00000", "rexerr"),
        *(1, 1),
    )
    assert (case.view, case.age, case.gender, case.report_path) == ("AP", 33.0, "M", "d0.txt")
    assert (case.original_sentence, case.error_sentence) == ("Right 0.", "Left 0.")
    assert (case.label_text, case.error_type) == ("Left 0.", "Change location")
    # The first finding of the fixed order that the film has.
    assert (case.finding, case.label_value) == ("fracture", 1)


def test_a_film_without_any_finding_leaves_the_finding_empty():
    films = film_table({"edema": 2, "fracture": 0, "no_finding": 1})
    (case,), _ = draw(sentence_table({}), films)
    assert (case.finding, case.label_value) == (None, None)


@pytest.mark.parametrize("ids", ["d1", "d0, d1", "d1,d2", " , d1 ,,d0", "unknown,d1"])
def test_the_first_frontal_film_of_the_list_is_shown(ids):
    films = film_table({"view": "LATERAL"}, {}, {})
    cases, lost = draw(sentence_table({"dicom_id": ids}), films)
    assert [case.dicom_id for case in cases] == ["d1"]
    assert not lost


def test_every_sentence_that_is_dropped_has_its_reason():
    films = film_table({}, {"view": "LATERAL"}, {"age": None})
    sentences = sentence_table(
        {},
        {"error_present": 2},
        {"error_present": None},
        {"original_sentence": None},
        {"error_sentence": None},
        {"dicom_id": None},
        {"dicom_id": " , "},
        {"dicom_id": "d1"},
        {"dicom_id": "d2, d1"},
        {"dicom_id": "d2"},
        {"dicom_id": "unknown, other"},
        {"original_sentence": "Right 0.", "error_sentence": "Left 0."},
        {"error_type": "Add Contradictions"},
        {"error_type": None},
        {},
    )
    cases, lost = draw(sentences, films, rexerr_total=1, rexerr_image=1.0, rexerr_text=0.0)
    assert len(cases) == 1
    assert lost == {
        "error_present empty": 1,
        "error_present 2 (neutral)": 1,
        "no original sentence": 1,
        "no sentence to ask about": 1,
        "no film named": 2,
        "film not in the film list": 1,
        "no age or sex": 1,
        "view not PA or AP": 2,
        "the same sentence of the same study": 1,
        "error type of neither group": 2,
        "over the cap of their type": 1,
    }


def test_the_authors_keep_a_sentence_that_is_missing():
    sentences = sentence_table({"error_sentence": None})
    (case,), _ = draw(sentences, film_table({}), rules="authors")
    assert case.error_sentence is None
    assert draw(sentences, film_table({})) == ([], {"no sentence to ask about": 1})


def test_the_same_words_in_another_study_are_another_sentence():
    rows = [{"study_id": study, "original_sentence": "a", "error_sentence": "b"} for study in "xy"]
    cases, lost = draw(sentence_table(*rows), film_table({}))
    assert len(cases) == 2
    assert not lost


def test_errors_are_shared_out_over_the_types_that_occur_and_never_redistributed():
    types = ["False negation"] * 9 + ["Change view"] * 2 + ["Add typo"] * 9
    errors = [{"error_type": name} for name in types]
    right = [{"error_present": 0, "error_type": None} for _ in range(9)]
    cases, _ = draw(sentence_table(*errors, *right), film_table({}), rexerr_total=20)
    # 14 for errors of the image, 7 for each of two types; 3 for those of the text; 3 without.
    assert [case.error_type for case in cases] == [
        *["Change view"] * 2,
        *["False negation"] * 7,
        *["Add typo"] * 3,
        *[None] * 3,
    ]
    assert [case.label for case in cases] == [1] * 12 + [0] * 3


def test_every_type_that_occurs_gets_at_least_one():
    errors = [{"error_type": name} for name in (*IMAGE_ERRORS, *TEXT_ERRORS) for _ in range(2)]
    cases, _ = draw(sentence_table(*errors), film_table({}), rexerr_total=4)
    counts = Counter(case.error_type for case in cases)
    assert counts == dict.fromkeys((*IMAGE_ERRORS, *TEXT_ERRORS), 1)
    assert [case.error_type for case in cases] == [*sorted(IMAGE_ERRORS), *sorted(TEXT_ERRORS)]


def test_a_control_may_name_any_type():
    row = {"error_present": 0, "error_type": "Add Contradictions"}
    cases, lost = draw(sentence_table(row), film_table({}))
    assert len(cases) == 1
    assert not lost


def test_the_patient_is_the_sentences_for_the_authors_and_the_films_for_us():
    sentences = sentence_table({"subject_id": "other", "study_id": "another"})
    (theirs,), _ = draw(sentences, film_table({}), rules="authors")
    (ours,), _ = draw(sentences, film_table({}), rules="corrected")
    assert (theirs.subject_id, theirs.study_id) == ("other", "another")
    assert (ours.subject_id, ours.study_id) == ("p0", "s0")


@given(st.integers(0, 10_000), st.integers(0, 60), st.sampled_from(["authors", "corrected"]))
def test_sentences_in_are_cases_and_exclusions(seed, total, rules):
    films, _, sentences = random_tables(seed, films=40)
    cases, lost = draw(sentences, films, rules, rexerr_total=total)
    assert sentences.height == len(cases) + sum(lost.values())
    keys = [(case.study_id, case.original_sentence, case.error_sentence) for case in cases]
    assert rules == "corrected" or len(set(keys)) == len(keys)
    assert {case.view for case in cases} <= {"PA", "AP"}
