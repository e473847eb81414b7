"""Readers against each other, and against those that never see a picture."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from overread.case import Traits
from support.made_up import made_up, measured

TEXT, VISION = Traits(modality="text"), Traits(modality="vision")
EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


@pytest.fixture(scope="module")
def readers(bench):
    """Boxed cases of as many patients; each reader is a word of what it says to the originals."""

    def make(traits=None, swaps=None, patients=None, **said):
        n = len(next(iter(said.values())))
        cases = [bench.case(f"c{i:02}", subject_id=f"p{i % (patients or n)}") for i in range(n)]
        answers = {
            name: {
                "original": {c.case_id: int(m) for c, m in zip(cases, word, strict=True)},
                "swap": {
                    c.case_id: int(m)
                    for c, m in zip(cases, (swaps or {}).get(name, word), strict=True)
                },
            }
            for name, word in said.items()
        }
        return bench.tables(cases, answers, traits)

    return make


def rows(found, measure, kind=None):
    return [
        (r.reader, r.by["versus"], r.value)
        for r in found.measures
        if r.measure == measure and kind in (None, r.by["comparison"])
    ]


# ---------------------------------------------------------------- what is compared with what


FOUR = {"a": "1" * 12, "b": "1" * 12, "t": "1" * 12, "u": "1" * 12}
MODALITIES = {"b": VISION, "t": TEXT, "u": TEXT}


def test_one_family_for_each_baseline_without_itself(readers):
    """[D5, D24] A reader without text is compared on UAR like any other."""
    found = measured(readers(MODALITIES, **FOUR))
    for measure in ("diff_accuracy", "diff_uar"):
        pairs = {(a, b) for a, b, _ in rows(found, measure, "text_baseline")}
        assert pairs == {(a, b) for b in "tu" for a in "abtu" if a != b}
        assert {r.family for r in found.measures if r.measure == measure} == {
            f"text_baseline|{measure[5:]}|t",
            f"text_baseline|{measure[5:]}|u",
            f"pairwise|{measure[5:]}",
        }
    assert len(rows(found, "diff_accuracy", "pairwise")) == 6
    assert len(rows(found, "diff_uar", "pairwise")) == 6


def test_as_published_baselines_are_pooled_with_themselves(readers):
    """[D5, D24]"""
    found = measured(readers(MODALITIES, **FOUR), "authors")
    accuracy = {(a, b) for a, b, _ in rows(found, "diff_accuracy", "text_baseline")}
    assert accuracy == {(a, b) for b in "tu" for a in "abtu"}
    uar = {(a, b) for a, b, _ in rows(found, "diff_uar", "text_baseline")}
    assert uar == {(a, b) for b in "tu" for a in "atu"}  # the reader without text is skipped
    families = {r.family for r in found.measures if r.measure.startswith("diff_")}
    assert families == {"text_baseline|accuracy", "text_baseline|uar", "pairwise|accuracy"}
    assert rows(found, "diff_uar", "pairwise") == []
    assert found("diff_accuracy", "t", versus="t", comparison="text_baseline").p == 1


def test_without_a_baseline_the_published_table_is_empty(readers):
    tables = readers(a="1" * 12, b="1" * 6 + "0" * 6)
    assert rows(measured(tables, "authors"), "diff_accuracy") == []
    assert rows(measured(tables), "diff_accuracy") == [("a", "b", 0.5)]


@EDITIONS
def test_fewer_than_ten_shared_cases_make_no_comparison(readers, edition):
    nine = readers({"t": TEXT}, a="1" * 9, t="1" * 9)
    ten = readers({"t": TEXT}, a="1" * 10, t="1" * 10)
    assert rows(measured(nine, edition), "diff_accuracy") == []
    assert rows(measured(ten, edition), "diff_accuracy")


# ---------------------------------------------------------------- what a difference is


@EDITIONS
def test_a_difference_on_the_cases_both_decided(bench, edition):
    cases = [bench.case(f"c{i:02}") for i in range(14)]
    names = [case.case_id for case in cases]
    a = {**dict.fromkeys(names, 1), "c00": -1, "c01": 0}
    t = {**dict.fromkeys(names, 0), "c02": -2, "c01": 1, "c03": 1}
    tables = bench.tables(cases, {"a": {"original": a}, "t": {"original": t}}, {"t": TEXT})
    record = measured(tables, edition)("diff_accuracy", "a", versus="t", comparison="text_baseline")
    # Shared: all but c00 and c02. a is wrong once, t right twice.
    assert (record.n, record.value) == (12, pytest.approx((11 - 2) / 12))
    assert record.note == "0.9167 against 0.1667"
    assert record.low < record.value < record.high


def test_uar_is_compared_where_both_were_right(readers):
    tables = readers(
        a="1" * 12 + "0" * 3,
        b="1" * 11 + "0" * 4,
        swaps={"a": "0" * 4 + "1" * 11, "b": "1" * 2 + "0" * 13},
    )
    record = measured(tables)("diff_uar", "a", versus="b", comparison="pairwise")
    assert (record.n, record.value) == (11, pytest.approx((7 - 2) / 11))


@settings(max_examples=20)
@given(made=made_up(readers=2, fewest=12, most=32))
def test_a_difference_is_the_mean_of_paired_outcomes(bench, made):
    found = measured(made.tables(bench))
    a, b = (made.answers[name]["original"] for name in ("r0", "r1"))
    keys = {c: _key(facts) for c, facts in made.facts.items()}
    shared = [c for c in keys if a.get(c, -1) >= 0 and b.get(c, -1) >= 0]
    record = found.get("diff_accuracy", "r0", versus="r1", comparison="pairwise")
    assert (record is not None) == (len(shared) >= 10)
    if record:
        change = sum((a[c] == keys[c]) - (b[c] == keys[c]) for c in shared)
        assert (record.n, record.value) == (len(shared), pytest.approx(change / len(shared)))
        assert (record.p == 1) or change


def _key(facts):
    if facts["source"] == "rexerr":
        return 1 - facts["error_present"]
    label = facts.get("label", 1)
    return 1 - label if facts["finding"] == "no_finding" else label


def test_either_order_of_two_readers_says_the_same(readers):
    word = ("110111101101", "100101001100")
    one = measured(readers({"t": TEXT}, a=word[0], t=word[1]))
    other = measured(readers({"a": TEXT}, a=word[0], t=word[1]))
    here = one("diff_accuracy", "a", versus="t", comparison="text_baseline")
    there = other("diff_accuracy", "t", versus="a", comparison="text_baseline")
    assert there.value == pytest.approx(-here.value)
    assert (there.low, there.high) == pytest.approx((-here.high, -here.low))
    assert here.p == pytest.approx(there.p)


def test_readers_that_never_differ(readers):
    record = measured(readers(a="1" * 20, b="1" * 20))(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    assert (record.value, record.p) == (0, 1)
    assert record.low < 0 < record.high
    assert record.method == "newcombe10:deff=1.000"


@pytest.mark.parametrize("patients", [1, 2, 4])
def test_a_few_patients_cannot_prove_a_difference(readers, patients):
    """Every resample of them agrees, but so would the flips of as many coins: p = 2 / 2^K."""
    record = measured(readers(patients=patients, a="1" * 12, b="0" * 12), boot="2000")(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    assert record.value == 1
    assert record.p == pytest.approx(2 ** (1 - patients))
    assert record.low < record.high


def test_ties_count_towards_p(readers):
    """Two of ten differ: d* is binomial(10, 1/5), and p = P(d* = 0) + P(d* >= 4), ties included."""
    record = measured(readers(a="1" * 10, b="1" * 8 + "00"), boot="4000")(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    ways = [math.comb(10, k) * 0.2**k * 0.8 ** (10 - k) for k in range(11)]
    assert record.p == pytest.approx(ways[0] + sum(ways[4:]), abs=0.03)


def test_q_is_adjusted_within_a_family(readers):
    words = {"a": "1" * 40, "b": "1" * 30 + "0" * 10, "t": "1" * 26 + "0" * 14}
    found = measured(readers({"t": TEXT}, **words), boot="1000")
    family = [r for r in found.measures if r.family == "text_baseline|accuracy|t"]
    p = sorted(r.p for r in family)
    assert len(family) == 2
    assert sorted(r.q for r in family) == pytest.approx([min(2 * p[0], p[1]), p[1]])


# ---------------------------------------------------------------- the text-only gap


@EDITIONS
def test_the_gap_to_the_best_text_only_reader(readers, edition):
    words = {"a": "1" * 18 + "00", "t": "1" * 10 + "0" * 10, "u": "1" * 12 + "0" * 8, "v": "1" * 20}
    found = measured(readers({"t": TEXT, "u": TEXT, "v": VISION}, **words), edition)
    record = found("text_gap", "a")
    assert record.value == pytest.approx(0.9 - 0.6)
    assert record.note == "u: 0.6000"
    assert (record.low is None) == (edition == "authors")
    assert found.get("text_gap", "t") is None
    assert found.get("text_gap", "v") is None


@EDITIONS
def test_without_a_text_only_reader_the_gap_is_null(readers, edition):
    record = measured(readers(a="1" * 12, b="0" * 12), edition)("text_gap", "a")
    assert (record.value, record.note) == (None, "no text-only reader in this run")


def test_a_text_only_reader_that_never_answered_is_no_baseline(bench):
    cases = [bench.case(f"c{i}") for i in range(12)]
    answers = {
        "a": {"original": {f"c{i}": 1 for i in range(12)}},
        "t": {"original": {f"c{i}": -1 for i in range(12)}},
    }
    found = measured(bench.tables(cases, answers, {"t": TEXT}))
    assert found("text_gap", "a").note == "no text-only reader in this run"
    unread = measured(bench.tables(cases, {"t": answers["a"], "a": answers["t"]}, {"t": TEXT}))
    assert unread("text_gap", "a").note == "no parsed answer with a key"


def test_a_gap_that_no_resample_moves_has_no_interval(readers):
    record = measured(readers({"t": TEXT}, a="1" * 12, t="0" * 12))("text_gap", "a")
    assert (record.value, record.low) == (1, None)
    assert record.note.endswith("resamples do not differ")


def test_one_case_gives_a_gap_without_an_interval(bench):
    cases = [bench.case(f"c{i}") for i in range(12)]
    answers = {
        "a": {"original": {"c0": 1}},
        "t": {"original": {f"c{i}": i % 2 for i in range(12)}},
    }
    record = measured(bench.tables(cases, answers, {"t": TEXT}))("text_gap", "a")
    assert (record.value, record.n, record.low) == (0.5, 1, None)


@EDITIONS
def test_the_alphabet_and_not_the_run_says_who_of_a_pair_comes_first(readers, edition):
    words = {"c": "1" * 12, "a": "1" * 12, "b": "1" * 12}
    found = measured(readers({"b": TEXT}, **words), edition)
    pairs = [(a, b) for a, b, _ in rows(found, "diff_accuracy", "pairwise")]
    assert sorted(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
