"""Cases from labels: present, absent and normal films, one per patient (GROUNDING 2.3, 2.6)."""

from __future__ import annotations

from overread.benchmarks.grounding.build.authors import Stream
from overread.benchmarks.grounding.build.sampling import draw_by_label
from support.probe_tables import film_table


def draw(films, per_finding=4, normals=2, pad=True, findings=("edema",), seed=42):
    return draw_by_label(
        films,
        Stream(seed),
        source="mimic_cxr",
        prefix="mimic",
        findings=findings,
        per_finding=per_finding,
        normals=normals,
        pad=pad,
    )


def test_half_are_with_the_finding_and_half_without_then_come_the_normals():
    films = film_table(
        *({"edema": 1} for _ in range(5)),
        *({"edema": 0} for _ in range(5)),
        *({"no_finding": 1} for _ in range(5)),
    )
    cases = draw(films)
    drawn = [(case.finding, case.label, case.label_value) for case in cases]
    assert drawn == [*[("edema", 1, 1)] * 2, *[("edema", 0, 0)] * 2, *[("no_finding", 1, 1)] * 2]
    assert [case.case_id for case in cases] == [f"mimic_{i:05d}" for i in range(6)]


def test_findings_follow_the_order_given_and_each_sample_moves_the_stream():
    films = film_table(*({"edema": i % 2, "fracture": i % 2} for i in range(40)))
    both = draw(films, findings=("edema", "fracture"))
    swapped = draw(films, findings=("fracture", "edema"))
    assert [case.image_path for case in both] == [case.image_path for case in swapped]
    assert [case.finding for case in both] == ["edema"] * 4 + ["fracture"] * 4
    assert [c.image_path for c in both[:4]] != [c.image_path for c in both[4:]]


def test_a_patient_gives_one_film_and_the_first():
    films = film_table(*({"subject_id": "one", "edema": 1} for _ in range(5)))
    assert [case.dicom_id for case in draw(films)] == ["d0"]


def test_one_film_may_serve_several_findings():
    films = film_table({"edema": 1, "fracture": 1, "pneumonia": 0})
    cases = draw(films, findings=("edema", "fracture", "pneumonia"))
    assert [case.dicom_id for case in cases] == ["d0"] * 3


def test_uncertain_films_are_never_drawn():
    films = film_table({"edema": 2}, {"edema": 2, "no_finding": 2})
    assert draw(films, pad=False) == []
    assert draw(films, pad=True) == []


def test_too_few_absent_films_are_padded_with_those_that_do_not_mention_the_finding():
    films = film_table({"edema": 0}, *({"edema": 3} for _ in range(20)))
    cases = draw(films, per_finding=10, normals=0)
    assert [case.label for case in cases] == [0] * 5
    assert {case.label_value for case in cases} <= {0, 3}
    assert 3 in {case.label_value for case in cases}


def test_the_padded_draw_is_from_both_together_so_it_may_pass_over_an_absent_film():
    films = film_table({"edema": 0}, *({"edema": 3} for _ in range(20)))
    drawn = [
        {case.label_value for case in draw(films, per_finding=4, normals=0, seed=seed)}
        for seed in range(40)
    ]
    assert any(0 in values for values in drawn)
    assert any(0 not in values for values in drawn)


def test_a_patient_with_both_gives_the_absent_film():
    films = film_table(
        {"subject_id": "one", "edema": 3},
        {"subject_id": "one", "edema": 0},
        {"subject_id": "two", "edema": 3},
    )
    cases = draw(films, normals=0)
    assert {case.subject_id: case.label_value for case in cases} == {"one": 0, "two": 3}


def test_nothing_is_padded_where_absent_films_suffice_or_padding_is_off():
    enough = film_table({"edema": 0}, {"edema": 0}, *({"edema": 3} for _ in range(20)))
    assert {case.label_value for case in draw(enough, normals=0)} == {0}
    few = film_table({"edema": 0}, *({"edema": 3} for _ in range(20)))
    assert [case.label_value for case in draw(few, normals=0, pad=False)] == [0]


def test_a_case_takes_its_facts_from_its_film():
    films = film_table({"edema": 1, "view": "AP", "age": 33.0, "gender": "M"})
    (case,) = draw(films)
    assert (case.source, case.view, case.age, case.gender) == ("mimic_cxr", "AP", 33.0, "M")
    assert (case.subject_id, case.study_id, case.dicom_id) == ("p0", "s0", "d0")
    assert (case.image_path, case.report_path) == ("mimic-cxr-jpg/files/d0.jpg", "d0.txt")
    assert case.box is None
