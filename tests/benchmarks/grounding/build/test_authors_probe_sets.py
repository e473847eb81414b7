"""Cases from labels: present, absent and normal films, one per patient (GROUNDING 2.3, 2.6)."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.authors import Stream, draw_by_label, probe_set
from overread.benchmarks.grounding.build.films import LABELS, FilmsRead
from overread.benchmarks.grounding.build.manifest import Built
from overread.benchmarks.grounding.build.paper_files import (
    read_boxes,
    read_chexpert_list,
    read_mimic_list,
    read_sentences,
)
from overread.benchmarks.grounding.build.sampling import Sampling
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import BadInput
from support.probe_tables import box_table, film_table, random_tables, sentence_table


def draw(films, per_finding=4, normals=2, pad=True, findings=("edema",), seed=42):
    numbers = Sampling(per_finding=per_finding, normals=normals)
    return draw_by_label(films, Stream(seed), numbers, "mimic_cxr", pad=pad, findings=findings)


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


# ---------------------------------------------------------------- probe sets
# Whole probe sets: those of the authors row by row, and what `corrected` changes in them.


EDITIONS = ("authors", "corrected")
BOTH = pytest.mark.parametrize("edition", EDITIONS)
FEW = Sampling(boxes_per_finding=3, per_finding=4, normals=3, sentences=20)


def mimic_set(films, boxes, sentences, *, edition, options=FEW) -> Built:
    tables = {"films": films, "boxes": boxes, "sentences": sentences}
    read = FilmsRead(name="mimic_cxr", policy="credentialed", **tables)
    return probe_set(read, msgspec.structs.replace(options, edition=edition), "mimic_cxr")


def chexpert_set(films, *, edition, options=FEW) -> Built:
    read = FilmsRead(name="chexpert", policy="credentialed", films=films)
    return probe_set(read, msgspec.structs.replace(options, edition=edition), "chexpert")


# ---------------------------------------------------------------- golden


class Golden:
    """The authors' synthetic study: their lists, and the numbers they were drawn with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        given_ = json.loads((folder / "expected_summary.json").read_text("utf-8"))["params"]
        self.options = Sampling(
            minimum_side=given_["min_box_pixels"],
            boxes_per_finding=given_["mscxr_per_finding_cap"],
            per_finding=given_["mimic_per_finding"],
            normals=given_["mimic_normals"],
            sentences=given_["rexerr_total"],
            seed=given_["random_seed"],
        )
        self.chexpert_options = Sampling(
            per_finding=given_["chexpert_per_finding"],
            normals=given_["chexpert_normals"],
            seed=given_["random_seed"],
        )
        self.films = read_mimic_list(folder / "mimic_master.csv")
        self.boxes = read_boxes(folder / "mscxr.csv")
        self.sentences = read_sentences(folder / "rexerr.csv")
        self.chexpert = read_chexpert_list(folder / "chexpert_master.csv")

    def built(self, edition: str) -> Built:
        return mimic_set(
            self.films, self.boxes, self.sentences, edition=edition, options=self.options
        )

    def expected(self, name: str) -> list[dict[str, str]]:
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def study(golden: Path) -> Golden:
    return Golden(golden / "builder")


def cell(case: GroundingCase, column: str) -> Any:
    for name in ("irrelevant_box", "box"):
        if column.startswith(f"{name}_"):
            box = getattr(case, name)
            return None if box is None else getattr(box, column[-1])
    return getattr(case, column)


def agrees(value: Any, text: str) -> bool:
    """Whether a cell says this value. Ids and numbers stand there as floats: `1213.0`."""
    if value is None or text == "":
        return value is None and text == ""
    try:
        return float(value) == float(text)
    except ValueError:
        return str(value) == text


@pytest.mark.parametrize("which", ["mimic", "chexpert"])
def test_the_authors_manifest_row_by_row_and_column_by_column(study, which):
    if which == "mimic":
        built, rows = study.built("authors"), study.expected("expected_manifest.csv")
    else:
        built = chexpert_set(study.chexpert, edition="authors", options=study.chexpert_options)
        rows = study.expected("expected_chexpert_manifest.csv")
    assert len(rows[0]) == 26
    wrong = [
        f"{row['case_id']} {column}: {cell(case, column)!r}, not {text!r}"
        for case, row in zip(built.cases, rows, strict=True)
        for column, text in row.items()
        if not agrees(cell(case, column), text)
    ]
    assert wrong == []


def test_the_counts_of_the_authors_summary(study):
    summary = json.loads((study.folder / "expected_summary.json").read_text("utf-8"))["summary"]
    cases = study.built("authors").cases
    assert len(cases) == summary["total"]
    assert Counter(case.source for case in cases) == summary["by_source"]
    assert sum(case.swap_image_path is not None for case in cases) == summary["with_swap"]
    boxed = [case for case in cases if case.box is not None]
    assert Counter(case.finding for case in boxed) == summary["mscxr_by_finding"]
    labelled = (f"{c.finding}|{c.label}" for c in cases if c.source == "mimic_cxr")
    assert Counter(labelled) == summary["mimic_by_finding_label"]
    assert len({case.subject_id for case in cases}) == summary["unique_subjects"]


def test_where_no_film_denies_edema_the_authors_swap_is_unmatched_and_ours_is_not(study):
    # [D22]
    assert not (study.films["edema"] == 0).any()
    for edition, match in (("authors", "any"), ("corrected", "label")):
        absent = [
            case
            for case in study.built(edition).cases
            if (case.source, case.finding, case.label) == ("mimic_cxr", "edema", 0)
        ]
        assert absent
        assert {case.label_value for case in absent} == {3}
        assert {case.swap_match for case in absent} == {match}
    assert any("do not mention" in line for line in study.built("authors").provenance)


def test_both_editions_draw_the_same_boxes_from_the_stream(study):
    theirs, ours = ([c for c in study.built(edition).cases if c.box] for edition in EDITIONS)
    first = {(c.dicom_id, c.finding): c for c in reversed(theirs)}
    assert len(first) <= len(theirs)
    # Ours hides all boxes of a film's finding at once, and so makes one case of them.
    assert [(c.case_id, c.dicom_id, c.finding, c.box) for c in ours] == [
        (c.case_id, c.dicom_id, c.finding, c.box) for c in theirs if c in first.values()
    ]
    assert not any(c.more_boxes for c in theirs)


# ---------------------------------------------------------------- where the editions part


def test_a_right_sentence_keeps_its_finding_in_the_corrected_swap_only():
    # [D2]: with edema on its film, a sentence without an error was swapped to one without edema.
    films = film_table({"edema": 1}, *({"edema": i % 2} for i in range(20)))
    right = {"error_present": 0, "error_type": None}
    value = dict(zip(films["image_path"], films["edema"], strict=True))
    for edition, kept, match in (("authors", 0, "any"), ("corrected", 1, "label")):
        built = mimic_set(films, None, sentence_table(*[right] * 3), edition=edition, options=FEW)
        controls = [case for case in built.cases if case.source == "rexerr"]
        assert len(controls) == 3
        for case in controls:
            assert (case.finding, value[case.image_path]) == ("edema", 1)
            assert (value[case.swap_image_path], case.swap_match) == (kept, match)
        loose = [line for line in built.provenance if "not matched on their label" in line]
        assert len(loose) == (edition == "authors")


def test_a_patient_of_a_box_gives_no_labelled_case_in_the_corrected_edition():
    # [D32]: only the very film with the box was kept out.
    films = film_table({"edema": 1}, {"edema": 1, "subject_id": "p0"}, {"edema": 1})
    drawn = {}
    for edition in EDITIONS:
        built = mimic_set(films, box_table({}), None, edition=edition, options=FEW)
        drawn[edition] = {c.dicom_id for c in built.cases if c.finding == "edema" and not c.box}
        lost = {e.reason: e.count for e in built.exclusions if e.source == "mimic_cxr"}
        name, count = ("film", 1) if edition == "authors" else ("patient", 2)
        assert lost[f"{name} of an MS-CXR case [D32]"] == count
    assert drawn == {"authors": {"d1", "d2"}, "corrected": {"d2"}}


def test_a_box_that_was_not_drawn_keeps_nobody_out():
    films = film_table({"edema": 1}, {"edema": 1})
    none = msgspec.structs.replace(FEW, boxes_per_finding=0)
    for edition in EDITIONS:
        built = mimic_set(films, box_table({}), None, edition=edition, options=none)
        assert {c.dicom_id for c in built.cases if c.finding == "edema"} == {"d0", "d1"}


# ---------------------------------------------------------------- properties


@given(st.integers(0, 10_000), st.sampled_from(EDITIONS))
@hypothesis_settings(max_examples=25)
def test_what_holds_for_every_set(seed, edition):
    films, boxes, sentences = random_tables(seed)
    options = msgspec.structs.replace(FEW, seed=seed)
    built = mimic_set(films, boxes, sentences, edition=edition, options=options)
    assert built == mimic_set(films, boxes, sentences, edition=edition, options=options)
    film = {row["image_path"]: row for row in films.to_dicts()}
    cases = built.cases
    sources = [case.source for case in cases]
    assert sources == sorted(sources, key=["ms_cxr", "mimic_cxr", "rexerr"].index)
    assert len({case.case_id for case in cases}) == len(cases)
    for case in cases:
        own = film[case.image_path]
        assert own["view"] in ("PA", "AP")
        assert own["age"] is not None
        assert own["gender"] is not None
        assert film[case.swap_image_path]["subject_id"] != case.subject_id
        if edition == "corrected":
            assert film[case.swap_image_path]["subject_id"] != own["subject_id"]
            assert case.subject_id == own["subject_id"]
            if case.swap_match == "label":
                assert film[case.swap_image_path][case.finding] == case.label_value
            assert case.source != "rexerr" or case.error_sentence is not None
        if case.opposite_image_path is not None:
            opposite = film[case.opposite_image_path]
            assert opposite["subject_id"] != case.subject_id
            if case.finding == "no_finding":
                assert 1 in [opposite[finding] for finding in FINDINGS]
            else:
                assert opposite[case.finding] == 1 - case.label
        if case.source == "mimic_cxr":
            assert own["split"] == "test"
            assert case.label_value == own[case.finding]
            assert case.label == (case.label_value == 1)
    # Everything that came in is a case or has a reason.
    lost = {
        source: sum(e.count for e in built.exclusions if e.source == source)
        for source in ("ms_cxr", "mimic_cxr", "rexerr")
    }
    assert boxes.height == sources.count("ms_cxr") + lost["ms_cxr"]
    assert sentences.height == sources.count("rexerr") + lost["rexerr"]
    drawn = {case.image_path for case in cases if case.source == "mimic_cxr"}
    assert films.height == len(drawn) + lost["mimic_cxr"]
    assert all(exclusion.count > 0 for exclusion in built.exclusions)
    # Caps.
    labelled = Counter((c.finding, c.label) for c in cases if c.source == "mimic_cxr")
    assert all(n <= 2 for (finding, _), n in labelled.items() if finding != "no_finding")
    assert labelled["no_finding", 1] <= options.normals
    boxed = Counter(case.finding for case in cases if case.source == "ms_cxr")
    assert all(n <= options.boxes_per_finding for n in boxed.values())


@given(st.integers(0, 10_000), st.sampled_from(EDITIONS))
@hypothesis_settings(max_examples=15)
def test_what_holds_for_every_set_of_chexpert(seed, edition):
    films, _, _ = random_tables(seed, boxes=0, sentences=0)
    films = films.with_columns(pl.col("view").fill_null("LL"))
    built = chexpert_set(films, edition=edition, options=FEW)
    film = {row["image_path"]: row for row in films.to_dicts()}
    for case in built.cases:
        assert case.label_value == film[case.image_path][case.finding] == case.label
        assert film[case.image_path]["view"] != "LATERAL"
        swap = film[case.swap_image_path]
        assert swap["subject_id"] != case.subject_id
        assert case.swap_match == "any" or swap[case.finding] == case.label
    drawn = {case.image_path for case in built.cases}
    assert films.height == len(drawn) + sum(e.count for e in built.exclusions)


def test_opposites_do_not_disturb_the_stream_of_the_paper(study):
    # The golden manifest is met with them; another seed moves both.
    built = study.built("authors")
    assert any(case.opposite_image_path for case in built.cases)
    other = msgspec.structs.replace(study.options, seed=study.options.seed + 1)
    moved = mimic_set(study.films, None, None, edition="authors", options=other)
    again = mimic_set(study.films, None, None, edition="authors", options=study.options)
    assert [c.opposite_image_path for c in moved.cases] != [
        c.opposite_image_path for c in again.cases
    ]


# ---------------------------------------------------------------- what may be left out


@BOTH
def test_without_boxes_or_sentences_those_parts_are_absent(study, edition):
    built = mimic_set(study.films, None, None, edition=edition, options=study.options)
    assert {case.source for case in built.cases} == {"mimic_cxr"}
    assert {exclusion.source for exclusion in built.exclusions} == {"mimic_cxr"}
    built = mimic_set(study.films, study.boxes, None, edition=edition, options=study.options)
    assert {case.source for case in built.cases} == {"ms_cxr", "mimic_cxr"}


@BOTH
def test_the_set_may_not_be_handed_on_and_says_where_its_swaps_come_from(study, edition):
    built = study.built(edition)
    assert built.policy == "credentialed"
    frontal = study.films.filter(
        pl.col("view").is_in(["PA", "AP"]),
        pl.col("age").is_not_null(),
        pl.col("gender").is_not_null(),
    )
    patients = frontal["subject_id"].n_unique()
    assert f"{frontal.height} frontal films of {patients} patients" in built.provenance[0]


def test_chexpert_says_whose_split_it_is_and_takes_the_reports_of_the_films(study):
    # [D31]
    bare = chexpert_set(study.chexpert, edition="corrected", options=study.chexpert_options)
    assert any("[D31]" in line for line in bare.provenance)
    assert {case.report_path for case in bare.cases} == {None}
    first = pl.col("image_path") == bare.cases[0].image_path
    films = study.chexpert.with_columns(report_path=pl.when(first).then(pl.lit("Clear lungs.")))
    told = chexpert_set(films, edition="corrected", options=study.chexpert_options)
    named = {case.image_path: case.report_path for case in told.cases}
    assert named.pop(bare.cases[0].image_path) == "Clear lungs."
    assert set(named.values()) == {None}


@BOTH
def test_a_frontal_of_chexpert_that_is_neither_pa_nor_ap_is_a_frontal(edition):
    films = film_table({"view": "LL", "edema": 1}, {"view": "LATERAL", "edema": 1})
    built = chexpert_set(films, edition=edition, options=FEW)
    assert [case.view for case in built.cases] == ["LL"]


@BOTH
def test_one_patient_alone_has_cases_without_swaps(edition):
    films = film_table({"edema": 1, "fracture": 0})
    built = mimic_set(films, None, sentence_table({}), edition=edition, options=FEW)
    assert {case.swap_image_path for case in built.cases} == {None}
    assert {case.swap_match for case in built.cases} == {None}


@pytest.mark.parametrize(
    ("films", "reason"),
    [
        (film_table({"edema": 1, "age": None}), "no age or sex, 1"),
        (film_table({"edema": 1, "split": "train"}), "not of the test split, 1"),
        (film_table(dict.fromkeys(LABELS, 2)), "not drawn"),
    ],
)
def test_films_that_give_no_case_are_refused_with_the_reasons(films, reason):
    for build in (
        lambda: mimic_set(films, None, None, edition="corrected"),
        lambda: chexpert_set(films, edition="corrected"),
    ):
        with pytest.raises(BadInput, match=reason) as error:
            build()
        assert "\n" not in str(error.value)
