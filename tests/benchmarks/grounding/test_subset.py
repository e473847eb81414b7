"""Whom further resolutions and phrasings are asked of."""

from __future__ import annotations

import csv
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.cases import load_cases, truth
from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED
from overread.benchmarks.grounding.trials import (
    Candidate,
    any_sample,
    balanced_sample,
    robustness_subset,
)


def ids_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [row["case_id"] for row in csv.DictReader(file)]


# ---------------------------------------------------------------- authors


@pytest.mark.parametrize(
    "subset", ["resolution/manifest_512.csv", "prompt_sensitivity/manifest_subset.csv"]
)
def test_the_authors_sample_is_theirs_in_their_order(golden, subset):
    expected = ids_of(golden / subset)
    cases = list(load_cases(golden / "mimic" / "manifest.csv", AUTHORS))
    boxed = [c.case_id for c in cases if c.source == "ms_cxr" and c.box is not None]
    assert list(any_sample(boxed, len(expected))) == expected
    found = robustness_subset(cases, AUTHORS, len(expected))
    assert found.px == found.phrasing == frozenset(expected)


def test_fewer_than_asked_for_are_all_taken():
    ids = [f"c{k}" for k in range(7)]
    assert set(any_sample(ids, 100)) == set(any_sample(ids, 0)) == set(ids)
    assert any_sample([], 100) == ()
    assert set(balanced_sample([Candidate(i, 1, "edema") for i in ids], 100)) == set(ids)
    assert balanced_sample([], 100) == ()


# ---------------------------------------------------------------- corrected

candidates = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("abcde")), min_size=1, max_size=60
).map(lambda kinds: [Candidate(f"c{k}", *kind) for k, kind in enumerate(kinds)])


@given(candidates, st.integers(0, 80), st.integers(0, 9))
def test_a_balanced_sample_is_as_even_as_can_be(pool, n, seed):
    kinds = {c.case: (c.answer, c.finding) for c in pool}
    chosen = balanced_sample(pool, n, seed)
    assert len(chosen) == len(set(chosen)) == (min(n, len(pool)) if n else len(pool))
    assert set(chosen) <= set(kinds)
    for part in (lambda kind: kind[0], lambda kind: kind):
        held = Counter(part(kind) for kind in kinds.values())
        taken = Counter(dict.fromkeys(held, 0))
        taken.update(part(kinds[case]) for case in chosen)
        for few in held:
            for many in held:
                same_answer = isinstance(few, int) or few[0] == many[0]
                if same_answer and taken[many] > taken[few] + 1:
                    assert taken[few] == held[few]  # it had no more to give


@given(candidates, st.integers(1, 80), st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(pool, n, random):
    shuffled = random.sample(pool, len(pool))
    assert set(balanced_sample(pool, n)) == set(balanced_sample(shuffled, n))


def test_another_seed_draws_others():
    pool = [Candidate(f"c{k}", k % 2, "edema") for k in range(400)]
    one, other = (set(balanced_sample(pool, 100, seed)) for seed in (0, 1))
    assert one == set(balanced_sample(pool, 100, 0))
    assert 5 < len(one & other) < 60


def test_phrasings_are_asked_of_both_answers_and_resolutions_of_boxed_cases(golden):
    cases = {c.case_id: c for c in load_cases(golden / "mimic" / "manifest.csv")}
    boxed = [c for c in cases.values() if c.box is not None]
    n = len(boxed) // 2
    found = robustness_subset(cases.values(), CORRECTED, n)
    assert len(found.px) == len(found.phrasing) == n
    assert found.px < {c.case_id for c in boxed}
    assert all(cases[case].source != "rexerr" for case in found.phrasing)
    answers = Counter(truth(cases[case], CORRECTED) for case in found.phrasing)
    assert answers[0]
    assert answers[1]
    assert robustness_subset(cases.values(), CORRECTED, 0).px == {c.case_id for c in boxed}


def test_a_normal_film_counts_as_a_no(bench):
    """[D1] Its label says that it is normal; the question is whether anything is not."""
    normals = [bench.case(f"n{k}", finding="no_finding", box=None) for k in range(9)]
    sick = [bench.case(f"s{k}") for k in range(9)]
    found = robustness_subset([*normals, *sick], CORRECTED, 6)
    assert Counter(case[0] for case in found.phrasing) == {"n": 3, "s": 3}
    assert all(case[0] == "s" for case in found.px)


def test_the_rule_can_be_tried_alone(bench):
    cases = [bench.case(f"c{k}", label=k % 2) for k in range(20)]
    rules = msgspec.structs.replace(CORRECTED, robustness="boxed")
    found = robustness_subset(cases, rules, 8)
    assert found == robustness_subset(cases, AUTHORS, 8)
