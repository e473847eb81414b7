"""Cases from MS-CXR's boxes (GROUNDING 2.2)."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.authors import Stream, draw_boxes, draw_sentences
from overread.benchmarks.grounding.build.manifest import IMAGE_ERRORS, TEXT_ERRORS
from overread.benchmarks.grounding.build.sampling import Account, Sampling
from overread.case import Box
from overread.imaging import irrelevant_box, rescale_box
from support.probe_tables import box_table, film_table, random_tables, sentence_table


def draw_boxed(boxes, films, rules="corrected", **options):
    account = Account("ms_cxr")
    numbers = Sampling(edition=rules, **options)
    cases = draw_boxes(boxes, films, numbers, Stream(42), account)
    return cases, {each.reason: each.count for each in account.exclusions}


def test_a_box_becomes_a_case_with_the_facts_of_its_film():
    films = film_table({"view": "AP", "age": 33.0, "gender": "M", "edema": 0, "split": "train"})
    (case,), lost = draw_boxed(box_table({}), films)
    assert not lost
    assert (case.case_id, case.source, case.finding, case.label) == (
        *("mscxr_00000", "ms_cxr"),
        *("edema", 1),
    )
    assert (case.view, case.age, case.gender, case.subject_id) == ("AP", 33.0, "M", "p0")
    assert (case.study_id, case.report_path, case.label_text) == ("s0", "d0.txt", "hazy")
    assert case.box == Box(20, 30, 100, 80)
    assert case.irrelevant_box == irrelevant_box(case.box)
    # The box asserts the finding, whatever the labeler read in the report.
    assert case.label_value == 1


def test_each_axis_is_scaled_on_its_own_and_rounded_half_to_even():
    wide = {"x": 1.0, "y": 3.0, "w": 301.0, "h": 303.0, "image_width": 448.0, "image_height": 448.0}
    (case,), _ = draw_boxed(box_table(wide), film_table({}))
    assert case.box == Box(0, 2, 150, 152)
    (case,), _ = draw_boxed(box_table(wide | {"image_height": 896.0}), film_table({}))
    assert case.box == Box(0, 1, 150, 76)


def test_the_golden_boxes_are_kept_scaled_and_opposed_as_the_authors_do(golden):
    entries = json.loads((golden / "protocol_bits" / "box_rescale.json").read_text("utf-8"))
    for entry in entries:
        given_ = entry["input"]
        film = {
            "dicom_id": given_["dicom_id"],
            "view": "PA" if entry["view"] == "frontal" else "LATERAL",
            "age": None if entry["age_missing"] else 50.0,
            "gender": None if entry["gender_missing"] else "F",
        }
        path = entry.get("output", {}).get("image_path", "")
        box = {"category": given_["category_name"], "image_path": path}
        box |= {name: float(given_[name]) for name in ("x", "y", "w", "h")}
        box |= {name: float(given_[name]) for name in ("image_width", "image_height")}
        box |= {"dicom_id": given_["dicom_id"]}
        cases, lost = draw_boxed(box_table(box), film_table(film), rules="authors")
        assert len(cases) == entry["kept"]
        assert sum(lost.values()) == (not entry["kept"])
        for case in cases:
            out = entry["output"]
            assert case.box == Box(*(out[f"box_{k}"] for k in "xywh"))
            assert case.irrelevant_box == Box(*(out[f"irrelevant_box_{k}"] for k in "xywh"))
            assert (case.finding, case.label) == (out["finding"], out["label"])
            assert case.image_path == out["image_path"]


SIDES = st.integers(1, 3000)


@given(SIDES, SIDES, SIDES, SIDES, SIDES, SIDES)
def test_boxes_are_scaled_as_everywhere_else(x, y, w, h, width, height):
    box = {"x": x, "y": y, "w": w, "h": h, "image_width": width, "image_height": height}
    cases, _ = draw_boxed(box_table({k: float(v) for k, v in box.items()}), film_table({}))
    expected = rescale_box(x, y, w, h, width, height)
    assert [case.box for case in cases] == ([] if expected is None else [expected])


@pytest.mark.parametrize(("w", "kept"), [(99.9, False), (100.0, True), (100.1, True)])
def test_a_side_of_fifty_pixels_is_kept_before_rounding(w, kept):
    cases, lost = draw_boxed(box_table({"w": w}), film_table({}))
    assert len(cases) == kept
    assert lost == ({} if kept else {"box below 50 pixels of 224 [D12]": 1})


def test_the_least_side_is_an_option():
    cases, _ = draw_boxed(box_table({"w": 40.0, "h": 40.0}), film_table({}), minimum_side=20)
    assert [case.box for case in cases] == [Box(20, 30, 20, 20)]


def test_every_box_that_is_dropped_has_its_reason():
    films = film_table({}, {"view": "LATERAL"}, {"age": None}, {"gender": None}, {"view": None})
    boxes = box_table(
        {},
        {"h": 20.0},
        {"dicom_id": "d1"},
        {"dicom_id": "d2"},
        {"dicom_id": "d3"},
        {"dicom_id": "d4"},
        {"dicom_id": "unknown"},
        {"category": "Scar"},
        {"category": "Pneumonia"},
        {},
    )
    cases, lost = draw_boxed(boxes, films, boxes_per_finding=1)
    assert [case.finding for case in cases] == ["edema", "pneumonia"]
    assert lost == {
        "box below 50 pixels of 224 [D12]": 1,
        "film not in the film list": 1,
        "no age or sex": 2,
        "view not PA or AP": 2,
        "category is none of the eight": 1,
        "over the cap of 1 per finding": 1,
    }


def test_findings_are_drawn_in_order_of_first_appearance_up_to_the_cap():
    names = ["Pneumonia", "Edema", "Pneumonia", "Edema", "Pneumonia", "Atelectasis"]
    boxes = box_table(*({"category": name} for name in names))
    cases, lost = draw_boxed(boxes, film_table({}), rules="authors", boxes_per_finding=2)
    assert [case.finding for case in cases] == [
        *("pneumonia", "pneumonia", "edema", "edema", "atelectasis"),
    ]
    assert lost == {"over the cap of 2 per finding": 1}


def test_all_boxes_of_a_finding_on_a_film_are_hidden_at_once():
    boxes = box_table({}, {"x": 200.0, "w": 30.0}, {"category": "Pneumonia"}, {"x": 120.0})
    cases, lost = draw_boxed(boxes, film_table({}))
    assert [(case.finding, len(case.targets)) for case in cases] == [("edema", 3), ("pneumonia", 1)]
    assert Box(100, 30, 15, 80) in cases[0].more_boxes  # too small alone, and hidden all the same
    assert [(b.w, b.h) for b in cases[0].controls] == [(b.w, b.h) for b in cases[0].targets]
    assert lost == {
        "box below 50 pixels of 224 [D12]": 1,
        "hidden together with another box of its film": 1,
    }
    theirs, _ = draw_boxed(boxes, film_table({}), rules="authors")
    assert [len(case.targets) for case in theirs] == [1, 1, 1]


def test_a_box_on_a_film_listed_twice_is_one_case():
    films = film_table({"dicom_id": "d0", "age": 30.0}, {"dicom_id": "d0", "age": 40.0})
    cases, _ = draw_boxed(box_table({}), films)
    assert [case.age for case in cases] == [30.0]


def test_the_authors_trust_the_path_of_mscxr_and_we_that_of_the_film_list():
    films = film_table({"image_path": "elsewhere/d0.jpg"})
    (theirs,), _ = draw_boxed(box_table({}), films, rules="authors")
    (ours,), _ = draw_boxed(box_table({}), films, rules="corrected")
    assert theirs.image_path == "mimic-cxr-jpg/files/d0.jpg"
    assert ours.image_path == "elsewhere/d0.jpg"


@given(st.integers(0, 10_000), st.integers(0, 8))
def test_boxes_in_are_cases_and_exclusions_and_the_cap_holds(seed, cap):
    films, boxes, _ = random_tables(seed, films=40, boxes=40)
    cases, lost = draw_boxed(boxes, films, boxes_per_finding=cap)
    assert boxes.height == len(cases) + sum(lost.values())
    findings = [case.finding for case in cases]
    assert all(findings.count(finding) <= cap for finding in findings)


# ---------------------------------------------------------------- sentences
# Cases from ReXErr's sentences (GROUNDING 2.4).


def draw_said(table, films, rules="corrected", **options):
    account = Account("rexerr")
    numbers = Sampling(edition=rules, **options)
    cases = draw_sentences(table, films, numbers, Stream(42), account)
    return cases, {each.reason: each.count for each in account.exclusions}


def test_a_sentence_becomes_a_case_with_the_facts_of_its_film():
    films = film_table({"view": "AP", "age": 33.0, "gender": "M", "fracture": 1, "pneumonia": 1})
    (case,), lost = draw_said(sentence_table({}), films)
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
    (case,), _ = draw_said(sentence_table({}), films)
    assert (case.finding, case.label_value) == (None, None)


@pytest.mark.parametrize("ids", ["d1", "d0, d1", "d1,d2", " , d1 ,,d0", "unknown,d1"])
def test_the_first_frontal_film_of_the_list_is_shown(ids):
    films = film_table({"view": "LATERAL"}, {}, {})
    cases, lost = draw_said(sentence_table({"dicom_id": ids}), films)
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
    cases, lost = draw_said(sentences, films, sentences=1)
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
    (case,), _ = draw_said(sentences, film_table({}), rules="authors")
    assert case.error_sentence is None
    assert draw_said(sentences, film_table({})) == ([], {"no sentence to ask about": 1})


def test_the_same_words_in_another_study_are_another_sentence():
    rows = [{"study_id": study, "original_sentence": "a", "error_sentence": "b"} for study in "xy"]
    cases, lost = draw_said(sentence_table(*rows), film_table({}))
    assert len(cases) == 2
    assert not lost


def test_errors_are_shared_out_over_the_types_that_occur_and_never_redistributed():
    types = ["False negation"] * 9 + ["Change view"] * 2 + ["Add typo"] * 9
    errors = [{"error_type": name} for name in types]
    right = [{"error_present": 0, "error_type": None} for _ in range(9)]
    cases, _ = draw_said(sentence_table(*errors, *right), film_table({}), sentences=20)
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
    cases, _ = draw_said(sentence_table(*errors), film_table({}), sentences=4)
    counts = Counter(case.error_type for case in cases)
    assert counts == dict.fromkeys((*IMAGE_ERRORS, *TEXT_ERRORS), 1)
    assert [case.error_type for case in cases] == [*sorted(IMAGE_ERRORS), *sorted(TEXT_ERRORS)]


def test_a_control_may_name_any_type():
    row = {"error_present": 0, "error_type": "Add Contradictions"}
    cases, lost = draw_said(sentence_table(row), film_table({}))
    assert len(cases) == 1
    assert not lost


def test_the_patient_is_the_sentences_for_the_authors_and_the_films_for_us():
    sentences = sentence_table({"subject_id": "other", "study_id": "another"})
    (theirs,), _ = draw_said(sentences, film_table({}), rules="authors")
    (ours,), _ = draw_said(sentences, film_table({}), rules="corrected")
    assert (theirs.subject_id, theirs.study_id) == ("other", "another")
    assert (ours.subject_id, ours.study_id) == ("p0", "s0")


@given(st.integers(0, 10_000), st.integers(0, 60), st.sampled_from(["authors", "corrected"]))
def test_sentences_in_are_cases_and_exclusions(seed, total, rules):
    films, _, sentences = random_tables(seed, films=40)
    cases, lost = draw_said(sentences, films, rules, sentences=total)
    assert sentences.height == len(cases) + sum(lost.values())
    keys = [(case.study_id, case.original_sentence, case.error_sentence) for case in cases]
    assert rules == "corrected" or len(set(keys)) == len(keys)
    assert {case.view for case in cases} <= {"PA", "AP"}
