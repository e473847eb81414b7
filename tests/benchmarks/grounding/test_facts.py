"""Whose case it is, what its key is, and which groups it falls into."""

from __future__ import annotations

import numpy as np
import pytest

from overread.benchmarks.grounding.cases import ERROR_GROUPS, error_name, group_of
from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED, edition
from overread.benchmarks.grounding.marks import Facts, facts_of
from support.made_up import measured


@pytest.fixture
def facts(bench):
    def read(*cases, rules=CORRECTED) -> Facts:
        made = [bench.case(f"c{i}", **given) for i, given in enumerate(cases)]
        return facts_of(bench.tables(made, {"r": {"original": {}}}).cases, rules)

    return read


def named(grouping) -> list[str | None]:
    return [None if code < 0 else grouping.names[code] for code in grouping.codes]


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("rules", "names"),
    [(CORRECTED, ("<50", "[50,70)", ">=70")), (AUTHORS, ("<50", "50-70", ">70"))],
)
def test_ages(facts, rules, names):
    """[D20] A film taken at exactly 70 stands in the third bin under both editions."""
    ages = (0.0, 49.99, 50.0, 69.99, 70.0, 199.0, 200.0, -1.0, None)
    found = facts(*({"age": age} for age in ages), rules=rules).groupings["age"]
    young, middle, old = names
    assert found.names == names
    assert named(found) == [young, young, middle, middle, old, old, None, None, None]


def test_age_70_in_the_measures(bench):
    cases = [bench.case(f"c{i}", age=age) for i, age in enumerate((69.0, 70.0, 71.0))]
    tables = bench.tables(cases, {"r": {"original": {"c0": 1, "c1": 0, "c2": 1}}})
    assert measured(tables)("accuracy", "r", age=">=70").n == 2
    assert measured(tables)("accuracy", "r", age="[50,70)").n == 1
    masked = {
        "original": {f"c{i}": 1 for i in range(3)},
        "target_mask": {"c0": 1, "c1": 0, "c2": 1},
    }
    theirs = measured(bench.tables(cases, {"r": masked}), "authors")
    assert (theirs("cgr", "r", age=">70").k, theirs("cgr", "r", age=">70").n) == (1, 2)
    assert theirs("cgr", "r", age="50-70").n == 1


def test_what_is_not_known_of_a_case_puts_it_in_no_group(facts):
    given = (
        {"view": "PA", "gender": "M", "age": 20.0},
        {"view": "AP", "gender": "F", "age": None},
        {"view": "LATERAL", "gender": None, "age": 60.0},
        {"view": None, "gender": "O", "age": 80.0, "finding": None},
    )
    found = facts(*given).groupings
    assert named(found["view"]) == ["PA", "AP", None, None]
    assert named(found["sex"]) == ["M", "F", None, None]
    assert named(found["finding"]) == ["edema", "edema", "edema", None]
    assert found["finding"].names == ("edema",)


def test_cases_of_no_group_count_overall_but_in_no_part(bench):
    cases = [bench.case(f"c{i}", gender=sex) for i, sex in enumerate(("M", "F", "F", None))]
    names = [case.case_id for case in cases]
    answers = {"original": dict.fromkeys(names, 1), "target_mask": dict.fromkeys(names, 0)}
    for rules in ("corrected", "authors"):
        found = measured(bench.tables(cases, {"r": answers}), rules)
        assert found("cgr", "r").n == 4
        assert [found("cgr", "r", sex=sex).n for sex in "MF"] == [1, 2]
        assert found.get("cgr", "r", view="PA").n == 0
        assert found("gap_cgr", "r", attribute="sex").n == 3


def test_labels_and_sources(facts):
    found = facts(
        {"label": 1},
        {"label": 0, "source": "chexpert", "box": None},
        {"label": 1, "source": "mimic_cxr", "box": None},
    ).groupings
    assert named(found["label"]) == ["1", "0", "1"]
    assert named(found["source"]) == ["ms_cxr", "chexpert", "mimic_cxr"]
    assert found["source"].names == ("chexpert", "mimic_cxr", "ms_cxr")


def test_members_of_a_group(facts):
    found = facts({"view": "AP"}, {"view": "PA"}, {"view": "AP"}).groupings["view"]
    assert found.members("AP").tolist() == [True, False, True]


# ---------------------------------------------------------------- key, boxes, swaps, patients


def test_the_key(facts):
    """[D1] and GROUNDING 4.3."""
    given = (
        {"label": 1},
        {"label": 0, "source": "mimic_cxr", "box": None},
        {"label": 1, "source": "mimic_cxr", "finding": "no_finding", "box": None},
        {"label": 1, "source": "rexerr", "error_present": 1, "error_sentence": "x", "box": None},
        {"label": 0, "source": "rexerr", "error_present": 0, "error_sentence": "x", "box": None},
        {"label": 1, "source": "elsewhere"},
    )
    assert facts(*given).truth.tolist() == [1, 0, 0, 0, 1, 1]
    assert facts(*given, rules=AUTHORS).truth.tolist() == [1, 0, 1, 0, 1, -1]
    assert facts(*given).boxed.tolist() == [True, False, False, False, False, True]
    assert facts(*given, rules=AUTHORS).boxed.tolist() == [True] + [False] * 5
    assert facts(*given).normal.tolist() == [False, False, True, False, False, False]
    assert facts(*given).sentence.tolist() == [False, False, False, True, True, False]


def test_a_sentence_of_a_normal_film_keeps_its_own_key(facts):
    given = {
        "source": "rexerr",
        "finding": "no_finding",
        "label": 0,
        "error_present": 0,
        "error_sentence": "x",
        "box": None,
    }
    assert facts(given).truth.tolist() == [1]
    assert not facts(given).normal.any()


def test_swaps_that_match_nothing_do_not_count(facts):
    """[D22] A manifest that does not say how it matched is taken at its word."""
    given = ({"swap_match": "label"}, {"swap_match": "any"}, {"swap_match": None})
    assert facts(*given).swap_counts.tolist() == [True, False, True]
    assert facts(*given, rules=AUTHORS).swap_counts.tolist() == [True] * 3
    lax = edition("corrected", {"fallback_swaps": "count"})
    assert facts(*given, rules=lax).swap_counts.tolist() == [True] * 3


def test_a_case_without_a_patient_is_a_patient_of_its_own(facts):
    subjects = ("p1", None, "p0", "p1", None, "c1")
    found = facts(*({"subject_id": subject} for subject in subjects)).patients
    assert found[0] == found[3]
    assert np.unique(found).tolist() == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- injected errors


def test_error_types_have_one_name_each():
    """[D34] The builder's raw names and the published metrics' names are the same types."""
    for text in ("Change location", "change_location", " CHANGE-LOCATION "):
        assert error_name(text) == "change_location"
    assert {name for names in ERROR_GROUPS.values() for name in names} >= {
        "add_repetition",
        "change_view",
    }


def test_which_group_an_error_belongs_to():
    assert group_of("Change view", 1) == "image_dependent"
    assert group_of("Add repetition", 1) == "text_only"
    assert group_of("Add repetition", 0) == "control"
    assert group_of(None, 0) == "control"
    assert group_of("Invented", 1) is None
    assert group_of(None, 1) is None
    assert group_of("Add typo", None) is None


def test_errors_as_groups(facts):
    sentence = {"source": "rexerr", "error_sentence": "x", "box": None}
    found = facts(
        {**sentence, "error_type": "Add typo", "error_present": 1},
        {**sentence, "error_type": "add_typo", "error_present": 1},
        {**sentence, "error_type": "Add typo", "error_present": 0},
        {**sentence, "error_type": "Invented", "error_present": 1},
        {},
    ).groupings
    assert named(found["error_group"]) == ["text_only", "text_only", "control", None, None]
    assert found["error_group"].names == ("image_dependent", "text_only", "control")
    assert named(found["error_type"]) == ["add_typo", "add_typo", None, None, None]
