"""The numbers of the sampling scheme, and the account of what is left out."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.authors import Stream, by_dicom
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.build.sampling import Account, Sampling, SwapPool, with_swaps
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS
from support.probe_tables import film_table, random_tables


def test_the_defaults_are_the_papers():
    numbers = Sampling()
    assert (numbers.edition, numbers.minimum_side, numbers.seed) == ("corrected", 50, 42)
    assert numbers.boxes_per_finding == numbers.per_finding == numbers.normals == 100
    assert numbers.sentences == 800


def test_an_account_notes_what_a_step_drops_and_only_that():
    account = Account("ms_cxr")
    table = pl.DataFrame({"n": [1, 2, None, 4]})
    kept = account.keep(table, pl.col("n") > 1, "too low")
    account.keep(kept, pl.col("n") > 0, "never")
    assert kept["n"].to_list() == [2, 4]
    assert account.exclusions == [Exclusion("ms_cxr", "too low", 2)]


def test_a_dicom_id_stands_for_its_first_film_with_age_and_sex():
    films = film_table(
        {"dicom_id": "a", "age": None, "view": "AP"},
        {"dicom_id": "a", "age": 40.0, "view": "PA"},
        {"dicom_id": "a", "age": 50.0, "view": "AP"},
        {"dicom_id": "b", "gender": None},
    )
    assert by_dicom(films).select("dicom_id", "age").rows() == [("a", 40.0)]


# ---------------------------------------------------------------- swaps
# Another patient's film for every case: of the same label, and of the opposite label.


def case(**facts) -> GroundingCase:
    known = {"case_id": "c", "source": "mimic_cxr", "image_path": "own.jpg", "label": 1}
    return GroundingCase(
        **{**known, "finding": "edema", "label_value": 1, "subject_id": "p0", **facts}
    )


def swapped(films, rules, *cases, seed=42):
    by_label = rules == "authors"
    stream = Stream(seed)
    return with_swaps(cases, SwapPool(films), stream.swap, by_label=by_label, abnormal=True)


def opposites(films, *cases, seed=42):
    return [each.opposite_image_path for each in swapped(films, "corrected", *cases, seed=seed)]


def path(number: int) -> str:
    return f"mimic-cxr-jpg/files/d{number}.jpg"


RULES = pytest.mark.parametrize("rules", ["authors", "corrected"])


@RULES
def test_a_swap_has_the_same_label_and_another_patient(rules):
    films = film_table({"edema": 1}, {"edema": 0}, {"edema": 1}, {"edema": 3}, {"edema": 2})
    present, absent = swapped(films, rules, case(), case(label=0, label_value=0))
    assert (present.swap_image_path, present.swap_match) == (path(2), "label")
    assert (absent.swap_image_path, absent.swap_match) == (path(1), "label")


@RULES
def test_a_normal_film_is_swapped_to_a_normal_film(rules):
    films = film_table({"no_finding": 1}, {"no_finding": 0}, {"no_finding": 1})
    (normal,) = swapped(films, rules, case(finding="no_finding"))
    assert (normal.swap_image_path, normal.swap_match) == (path(2), "label")


@RULES
def test_without_a_finding_any_other_patient_will_do(rules):
    films = film_table({}, {"subject_id": "p0"}, {})
    (sentence,) = swapped(films, rules, case(source="rexerr", finding=None, label_value=None))
    assert (sentence.swap_image_path, sentence.swap_match) == (path(2), "free")


@RULES
def test_where_no_film_matches_any_other_patient_will_do(rules):
    films = film_table({"edema": 1}, {"edema": 2}, {"edema": 1, "subject_id": "p0"})
    (lone,) = swapped(films, rules, case())
    assert (lone.swap_image_path, lone.swap_match) == (path(1), "any")


@RULES
def test_with_one_patient_only_there_is_no_swap_and_no_draw(rules):
    films = film_table({"edema": 1}, {"edema": 1, "subject_id": "p0"})
    (lone,) = swapped(films, rules, case())
    assert (lone.swap_image_path, lone.swap_match) == (None, None)


def test_a_right_sentence_is_swapped_to_a_film_without_its_finding_by_the_authors_only():
    # [D2]: `label` of a sentence says whether it holds an error, not whether the film has edema.
    films = film_table({"edema": 1}, {"edema": 0}, {"edema": 1})
    control = case(source="rexerr", label=0, error_present=0)
    (theirs,) = swapped(films, "authors", control)
    (ours,) = swapped(films, "corrected", control)
    assert (theirs.swap_image_path, theirs.swap_match) == (path(1), "any")
    assert (ours.swap_image_path, ours.swap_match) == (path(2), "label")


def test_a_film_that_does_not_mention_the_finding_is_matched_on_that_by_us_only():
    # [D22]: no film denies edema, so the authors' swap may be a film with edema.
    films = film_table({"edema": 3}, {"edema": 1}, {"edema": 1})
    padded = case(label=0, label_value=3)
    (theirs,) = swapped(films, "authors", padded)
    assert (theirs.swap_image_path in {path(1), path(2)}, theirs.swap_match) == (True, "any")
    films = film_table({"edema": 3}, {"edema": 1}, {"edema": 3})
    (ours,) = swapped(films, "corrected", padded)
    assert (ours.swap_image_path, ours.swap_match) == (path(2), "label")


def test_the_authors_padded_case_keeps_its_label_where_a_film_denies_the_finding():
    films = film_table({"edema": 3}, {"edema": 0}, {"edema": 3})
    (theirs,) = swapped(films, "authors", case(label=0, label_value=3))
    assert (theirs.swap_image_path, theirs.swap_match) == (path(1), "label")


def plain_swaps(films, cases, seed, rules):
    """The rule of GROUNDING 2.5, row by row."""
    integers = np.random.default_rng(seed)
    for each in cases:
        others = [film for film in films.to_dicts() if film["subject_id"] != each.subject_id]
        value = each.label if rules == "authors" else each.label_value
        same = [film for film in others if each.finding and film[each.finding] == value]
        chosen = None
        if same or others:
            own = np.random.RandomState(int(integers.integers(2**31)))
            chosen = (same or others)[own.permutation(len(same or others))[0]]["image_path"]
        yield chosen


@st.composite
def random_cases(draw):
    findings = st.sampled_from([*FINDINGS[:3], "no_finding", None])
    cases = []
    for _ in range(draw(st.integers(1, 12))):
        finding = draw(findings)
        cases.append(
            case(
                finding=finding,
                label=draw(st.integers(0, 1)),
                label_value=None if finding is None else draw(st.integers(0, 3)),
                subject_id=f"p{draw(st.integers(0, 6))}",
            )
        )
    return cases


@given(st.integers(0, 10_000), st.integers(1, 30), random_cases())
def test_swaps_are_those_of_the_plain_rule(seed, count, cases):
    films, _, _ = random_tables(seed, films=count, boxes=0, sentences=0)
    patients = dict(zip(films["image_path"], films["subject_id"], strict=True))
    for rules in ("authors", "corrected"):
        found = swapped(films, rules, *cases, seed=seed)
        swaps = [each.swap_image_path for each in found]
        assert swaps == list(plain_swaps(films, cases, seed, rules))
        assert all(
            patients[swap] != each.subject_id
            for swap, each in zip(swaps, cases, strict=True)
            if swap is not None
        )


@given(st.integers(0, 10_000), random_cases())
def test_only_the_swap_is_added(seed, cases):
    films, _, _ = random_tables(seed, films=20, boxes=0, sentences=0)
    for before, after in zip(cases, swapped(films, "corrected", *cases), strict=True):
        added = ("swap_image_path", "swap_match", "opposite_image_path")
        assert msgspec.structs.replace(after, **dict.fromkeys(added)) == before


# ---------------------------------------------------------------- the opposite label


def test_the_opposite_of_a_case_has_the_opposite_label_and_another_patient():
    films = film_table(
        {"edema": 1},
        {"edema": 0, "subject_id": "p0"},
        {"edema": 0},
        {"edema": 3},
        {"edema": 2},
    )
    present, absent, unmentioned = opposites(
        films,
        case(),
        case(label=0, label_value=0, subject_id="p2"),
        case(label=0, label_value=3, subject_id="p3"),
    )
    assert present == path(2)
    assert absent == unmentioned == path(0)


def test_the_opposite_of_a_normal_film_has_any_finding_or_is_not_normal():
    films = film_table({"no_finding": 1}, {"edema": 2, "no_finding": 0}, {"fracture": 1})
    normal = case(finding="no_finding")
    assert opposites(films, normal) == [path(2)]
    (plain,) = with_swaps([normal], SwapPool(films), Stream(42).swap)
    assert plain.opposite_image_path == path(1)


def test_a_sentence_has_no_opposite_nor_has_a_finding_that_no_film_denies():
    films = film_table({"edema": 1}, {"edema": 1}, {"edema": 3}, {"fracture": 0})
    assert opposites(films, case(source="rexerr"), case()) == [None, None]


def test_opposites_are_spread_over_the_candidates_and_depend_on_the_seed():
    films = film_table({"edema": 1}, *({"edema": 0} for _ in range(30)))
    drawn = [opposites(films, *[case()] * 40, seed=seed) for seed in (1, 2, 1)]
    assert len(set(drawn[0])) > 15
    assert drawn[0] == drawn[2]
    assert all(one != other for one, other in pairwise(drawn))


def test_opposites_come_from_a_generator_of_their_own():
    films = film_table({"edema": 1}, *({"edema": 0} for _ in range(30)))
    own = np.random.default_rng([42, 1])
    expected = [path(1 + own.integers(30)) for _ in range(10)]
    assert opposites(films, *[case()] * 10) == expected
