"""Does image use differ between groups of patients? Which tests are made, and what they say."""

from __future__ import annotations

import itertools
import math

import pytest

from support.made_up import measured

EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


@pytest.fixture(scope="module")
def grouped(bench):
    """One boxed case per row of (facts, does the target mask flip it, does the swap leave it)."""

    def make(*rows):
        cases = [bench.case(f"c{i}", **facts) for i, (facts, _, _) in enumerate(rows)]
        answers = {
            "original": {f"c{i}": 1 for i in range(len(rows))},
            "target_mask": {f"c{i}": 1 - flips for i, (_, flips, _) in enumerate(rows)},
            "swap": {f"c{i}": stays for i, (_, _, stays) in enumerate(rows)},
        }
        return bench.tables(cases, {"r": answers})

    return make


def named_tests(found):
    return [(r.by["attribute"], r.measure) for r in found.measures if r.measure.startswith("gap_")]


def test_five_tests_as_published_and_six_to_be_complete(grouped):
    """[D35] UAR by view is the one the published family lacks."""
    tables = grouped(*[({"gender": "MF"[i % 2]}, i % 3 == 0, i % 2) for i in range(12)])
    theirs, ours = named_tests(measured(tables, "authors")), named_tests(measured(tables))
    assert len(theirs) == 5
    assert set(ours) - set(theirs) == {("view", "gap_uar")}
    assert len(ours) == 6
    assert len(named_tests(measured(tables, subgroup_tests="five"))) == 5


@EDITIONS
def test_a_gap_is_the_first_rate_less_the_second(grouped, edition):
    """Men flip 3 of 4, women 1 of 3; one case says neither."""
    rows = [({"gender": "M"}, f, 1) for f in (1, 1, 1, 0)]
    rows += [({"gender": "F"}, f, 1) for f in (1, 0, 0)]
    rows += [({"gender": None}, 1, 1)]
    record = measured(grouped(*rows), edition)("gap_cgr", "r", attribute="sex")
    assert (record.value, record.n) == (pytest.approx(3 / 4 - 1 / 3), 7)
    assert record.note == "M 0.750 (n=4), F 0.333 (n=3)"
    assert record.family == "subgroups|r"
    assert 0 < record.p <= 1
    if edition == "corrected":
        assert record.low < record.value < record.high
    else:
        assert record.low is None


@EDITIONS
def test_of_three_ages_the_largest_less_the_smallest(grouped, edition):
    """Rates 0, 1/2, 1; a bin of one case is not compared."""
    rows = [({"age": 30.0}, 0, 1), ({"age": 40.0}, 0, 1), ({"age": 50.0}, 0, 1)]
    rows += [({"age": 60.0}, 1, 1), ({"age": 70.0}, 1, 1), ({"age": 80.0}, 1, 1)]
    record = measured(grouped(*rows), edition)("gap_cgr", "r", attribute="age")
    assert (record.value, record.low, record.n) == (1, None, 6)
    lonely = measured(grouped(*rows[:5]), edition)("gap_cgr", "r", attribute="age")
    assert lonely.value == pytest.approx(0.5)


@EDITIONS
def test_what_cannot_be_tested_is_null_and_not_in_the_family(grouped, edition):
    """[D29] Not q = 1: one man is no group."""
    rows = [({"gender": "M", "view": "PA"}, 1, 1)]
    rows += [({"gender": "F", "view": "PA" if i % 2 else "AP"}, i % 2, 1) for i in range(9)]
    found = measured(grouped(*rows), edition)
    for measure in ("gap_cgr", "gap_uar"):
        record = found(measure, "r", attribute="sex")
        assert (record.value, record.p, record.q, record.method) == (None,) * 4
        assert record.note.startswith("fewer than two groups of two; M ")
        assert found(measure, "r", attribute="age").p is None  # nobody's age is known
    # BH counts only the tests there are: views by CGR, and under corrected by UAR.
    view = found("gap_cgr", "r", attribute="view")
    m = 2 if edition == "corrected" else 1
    others = [found("gap_uar", "r", attribute="view").p] if m == 2 else []
    ranked = sorted([view.p, *others])
    rank = ranked.index(view.p) + 1
    assert view.q == pytest.approx(min(p * m / r for r, p in enumerate(ranked, 1) if r >= rank))


def test_p_of_independent_patients_is_exact(grouped):
    """3 of 4 against 0 of 4: of all ways to deal out three flips, those as far apart."""
    rows = [({"view": "PA"}, f, 1) for f in (1, 1, 1, 0)] + [({"view": "AP"}, 0, 1)] * 4
    record = measured(grouped(*rows))("gap_cgr", "r", attribute="view")
    flips = [1, 1, 1, 0, 0, 0, 0, 0]
    deals = list(itertools.combinations(range(8), 4))
    far = sum(abs(2 * sum(flips[i] for i in some) - 3) >= 3 for some in deals)
    assert record.p == pytest.approx(far / math.comb(8, 4))


def test_films_of_one_patient_are_not_many_patients(grouped):
    """Ten films of two women and two men: the patients, not the films, are dealt out."""
    rows = [
        ({"gender": sex, "subject_id": f"{sex}{i % 2}"}, int(sex == "M"), 1)
        for sex in "MF"
        for i in range(10)
    ]
    ours = measured(grouped(*rows))("gap_cgr", "r", attribute="sex")
    theirs = measured(grouped(*rows), "authors")("gap_cgr", "r", attribute="sex")
    assert theirs.p < 0.01
    assert ours.p == pytest.approx(1 / 3, abs=0.04)  # two of the six deals
    assert ours.low < 0.5


def test_groups_that_agree_throughout(grouped):
    rows = [({"gender": "MF"[i % 2]}, 1, 1) for i in range(20)]
    record = measured(grouped(*rows))("gap_cgr", "r", attribute="sex")
    assert (record.value, record.p) == (0, 1)
    assert record.low < 0 < record.high
