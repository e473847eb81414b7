"""Cases from MS-CXR's boxes (GROUNDING 2.2)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.boxes import irrelevant_box, rescale_box
from overread.benchmarks.grounding.build.authors import Stream
from overread.benchmarks.grounding.build.sampling import draw_boxes
from overread.benchmarks.grounding.build.scheme import Account, Sampling
from overread.case import Box
from support.probe_tables import box_table, film_table, random_tables


def draw(boxes, films, rules="corrected", **options):
    account = Account("ms_cxr")
    cases = draw_boxes(boxes, films, Sampling(**options), Stream(42), account, rules)
    return cases, {each.reason: each.count for each in account.exclusions}


def test_a_box_becomes_a_case_with_the_facts_of_its_film():
    films = film_table({"view": "AP", "age": 33.0, "gender": "M", "edema": 0, "split": "train"})
    (case,), lost = draw(box_table({}), films)
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
    (case,), _ = draw(box_table(wide), film_table({}))
    assert case.box == Box(0, 2, 150, 152)
    (case,), _ = draw(box_table(wide | {"image_height": 896.0}), film_table({}))
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
        cases, lost = draw(box_table(box), film_table(film), rules="authors")
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
    cases, _ = draw(box_table({k: float(v) for k, v in box.items()}), film_table({}))
    expected = rescale_box(x, y, w, h, width, height)
    assert [case.box for case in cases] == ([] if expected is None else [expected])


@pytest.mark.parametrize(("w", "kept"), [(99.9, False), (100.0, True), (100.1, True)])
def test_a_side_of_fifty_pixels_is_kept_before_rounding(w, kept):
    cases, lost = draw(box_table({"w": w}), film_table({}))
    assert len(cases) == kept
    assert lost == ({} if kept else {"box below 50 pixels of 224 [D12]": 1})


def test_resolution_and_least_side_are_options():
    cases, _ = draw(box_table({"w": 40.0, "h": 40.0}), film_table({}), minimum_side=20)
    assert [case.box for case in cases] == [Box(20, 30, 20, 20)]
    cases, _ = draw(box_table({}), film_table({}), resolution=448)
    assert [case.box for case in cases] == [Box(40, 60, 200, 160)]
    assert cases[0].irrelevant_box == irrelevant_box(Box(40, 60, 200, 160), 448)


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
    cases, lost = draw(boxes, films, findings=("edema",), mscxr_per_finding=1)
    assert len(cases) == 1
    assert lost == {
        "box below 50 pixels of 224 [D12]": 1,
        "film not in the film list": 1,
        "no age or sex": 2,
        "view not PA or AP": 2,
        "category is none of the eight": 1,
        "finding not asked for": 1,
        "over the cap of 1 per finding": 1,
    }


def test_findings_are_drawn_in_order_of_first_appearance_up_to_the_cap():
    names = ["Pneumonia", "Edema", "Pneumonia", "Edema", "Pneumonia", "Atelectasis"]
    boxes = box_table(*({"category": name} for name in names))
    cases, lost = draw(boxes, film_table({}), rules="authors", mscxr_per_finding=2)
    assert [case.finding for case in cases] == [
        *("pneumonia", "pneumonia", "edema", "edema", "atelectasis"),
    ]
    assert lost == {"over the cap of 2 per finding": 1}


def test_all_boxes_of_a_finding_on_a_film_are_hidden_at_once():
    boxes = box_table({}, {"x": 200.0, "w": 30.0}, {"category": "Pneumonia"}, {"x": 120.0})
    cases, lost = draw(boxes, film_table({}))
    assert [(case.finding, len(case.targets)) for case in cases] == [("edema", 3), ("pneumonia", 1)]
    assert Box(100, 30, 15, 80) in cases[0].more_boxes  # too small alone, and hidden all the same
    assert [(b.w, b.h) for b in cases[0].controls] == [(b.w, b.h) for b in cases[0].targets]
    assert lost == {
        "box below 50 pixels of 224 [D12]": 1,
        "hidden together with another box of its film": 1,
    }
    theirs, _ = draw(boxes, film_table({}), rules="authors")
    assert [len(case.targets) for case in theirs] == [1, 1, 1]


def test_a_box_on_a_film_listed_twice_is_one_case():
    films = film_table({"dicom_id": "d0", "age": 30.0}, {"dicom_id": "d0", "age": 40.0})
    cases, _ = draw(box_table({}), films)
    assert [case.age for case in cases] == [30.0]


def test_the_authors_trust_the_path_of_mscxr_and_we_that_of_the_film_list():
    films = film_table({"image_path": "elsewhere/d0.jpg"})
    (theirs,), _ = draw(box_table({}), films, rules="authors")
    (ours,), _ = draw(box_table({}), films, rules="corrected")
    assert theirs.image_path == "mimic-cxr-jpg/files/d0.jpg"
    assert ours.image_path == "elsewhere/d0.jpg"


@given(st.integers(0, 10_000), st.integers(0, 8))
def test_boxes_in_are_cases_and_exclusions_and_the_cap_holds(seed, cap):
    films, boxes, _ = random_tables(seed, films=40, boxes=40)
    cases, lost = draw(boxes, films, mscxr_per_finding=cap)
    assert boxes.height == len(cases) + sum(lost.values())
    findings = [case.finding for case in cases]
    assert all(findings.count(finding) <= cap for finding in findings)
