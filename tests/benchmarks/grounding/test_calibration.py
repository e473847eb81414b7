"""Confidence: three calibration errors told apart, when they are withheld, and the regimes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from overread.stats import debiased_ece
from support.made_up import made_up, measured, regimes, with_confidence

EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])
ERRORS = ("ece_answer", "ece_label", "ece_authors")


@pytest.fixture(scope="module")
def sure(bench):
    """A study of one reader from (label, answer, P(Yes)) of every case."""

    def make(*rows, patients=1000, **facts):
        negative = {"source": "mimic_cxr", "box": None, "irrelevant_box": None}
        cases = [
            bench.case(
                f"c{i}",
                label=label,
                subject_id=f"p{i % patients}",
                **(negative if label == 0 else {}),
                **facts,
            )
            for i, (label, _, _) in enumerate(rows)
        ]
        answers = {"original": {f"c{i}": answer for i, (_, answer, _) in enumerate(rows)}}
        confidences = {f"c{i}": p for i, (_, _, p) in enumerate(rows) if p is not None}
        return with_confidence(bench.tables(cases, {"r": answers}), confidences)

    return make


# ---------------------------------------------------------------- three calibration errors


def test_a_confident_correct_no_is_no_calibration_error(sure):
    """[D7] The published formula sets P(Yes) against correctness: a sure, right No looks wrong."""
    tables = sure(*[(0, 0, 0.01 + i / 10_000) for i in range(60)])
    ours, theirs = measured(tables), measured(tables, "authors")
    for found in (ours, theirs):
        assert found("ece_authors", "r").value > 0.95
        assert found("ece_answer", "r").value < 0.05
        assert found("ece_label", "r").value < 0.05
    assert theirs("ece", "r").value == theirs("ece_authors", "r").value
    assert ours("ece", "r").value == ours("ece_answer", "r").value
    assert ours("ece", "r").low is None
    assert ours("ece", "r").p > 0.05  # that sure, and right every time: as calibrated as can be
    assert ours("ece_authors", "r").p < 0.01
    assert "debiased" in ours("ece", "r").flags
    assert (theirs("ece", "r").p, theirs("ece", "r").flags) == (None, ())


def test_a_confident_wrong_answer_is_one(sure):
    tables = sure(*[(0, 1, 0.99 - i / 10_000) for i in range(30)])
    for name in ERRORS:
        assert measured(tables)(name, "r").value > 0.95


def slow_ece(pairs):
    """Ten bins, closed on the left, the last on both sides (GROUNDING 8.1)."""
    edges = [i * 0.1 for i in range(10)]
    bins: dict[int, list[tuple[float, int]]] = {}
    for c, hit in pairs:
        at = max(i for i, edge in enumerate(edges) if c >= edge)
        bins.setdefault(at, []).append((c, hit))
    return sum(
        len(rows) / len(pairs) * abs(sum(c for c, _ in rows) - sum(h for _, h in rows)) / len(rows)
        for rows in bins.values()
    )


@pytest.mark.slow
@EDITIONS
@settings(max_examples=30)
@given(made=made_up())
def test_errors_and_brier_are_what_counting_gives(bench, edition, made):
    found = measured(made.tables(bench), edition)
    truths = {c: y for c, y in _keys(made, edition).items() if c in made.sure}
    said = {c: o for c, o in made.answers["r0"]["original"].items() if o >= 0 and c in truths}
    rows = [(made.sure[c], o, truths[c]) for c, o in said.items()]
    if found("brier", "r0").value is None:
        return
    wanted = {
        "ece_label": [(p, y) for p, _, y in rows],
        "ece_answer": [(p if o else 1 - p, int(o == y)) for p, o, y in rows],
        "ece_authors": [(p, int(o == y)) for p, o, y in rows],
    }
    owners = [made.facts[c].get("subject_id") or c for c in said]
    for name, pairs in wanted.items():
        plain = slow_ece(pairs)
        if edition == "corrected":  # without what chance adds
            plain = debiased_ece(*zip(*pairs, strict=True), owners, edges="linspace")
        assert found(name, "r0").value == pytest.approx(plain, abs=1e-9), name
        assert found(name, "r0").n == len(rows)
    brier = sum((p - y) ** 2 for p, _, y in rows) / len(rows)
    assert found("brier", "r0").value == pytest.approx(brier, abs=1e-12)


def _keys(made, edition):
    found = {}
    for case, facts in made.facts.items():
        found[case] = facts.get("label", 1)
        if facts["source"] == "rexerr":
            found[case] = 1 - facts["error_present"]
        elif facts["finding"] == "no_finding" and edition == "corrected":
            found[case] = 1 - found[case]
    return found


# ---------------------------------------------------------------- AUROC


def test_ties_count_half(sure):
    """[D6] Positives at .9, .5, .5 and negatives at .5, .1: (2 + 1.5 + 1.5) of 6 pairs."""
    rows = [(1, 1, 0.9), (1, 1, 0.5), (1, 1, 0.5), (0, 0, 0.5), (0, 0, 0.1)]
    record = measured(sure(*rows))("auroc", "r")
    assert record.value == pytest.approx(5 / 6)
    assert record.low < record.value < record.high
    for order in (rows, rows[::-1]):
        assert measured(sure(*order))("auroc", "r").value == pytest.approx(5 / 6)


def test_one_patient_has_an_auroc_without_interval(sure):
    rows = [(i % 2, i % 2, 0.2 + 0.5 * (i % 2) + i / 100) for i in range(12)]
    one, several = (measured(sure(*rows, patients=many))("auroc", "r") for many in (1, 12))
    assert (one.value, one.low, one.high, one.flags) == (
        several.value,
        None,
        None,
        ("one_cluster",),
    )
    assert several.low is not None


@EDITIONS
def test_one_class_has_no_auroc(sure, edition):
    record = measured(sure((1, 1, 0.9), (1, 0, 0.2), (1, 1, 0.6)), edition)("auroc", "r")
    assert (record.value, record.note) == (None, "one class only")


def test_perfect_separation_still_has_an_interval(sure):
    rows = [(1, 1, 0.9)] * 6 + [(0, 0, 0.2)] * 6
    record = measured(sure(*rows))("auroc", "r")
    assert (record.value, record.high) == (1, 1)
    assert record.low < 1


# ---------------------------------------------------------------- when nothing is said


@EDITIONS
@pytest.mark.parametrize(("hard", "withheld"), [(17, False), (18, True), (20, True)])
def test_confidences_that_are_answers_in_disguise(sure, edition, hard, withheld):
    """[D9] At least 90 % exactly 0 or 1, of twenty: eighteen."""
    rows = [(1, 1, float(i % 2)) if i < hard else (1, 1, 0.5 + i / 100) for i in range(20)]
    found = measured(sure(*rows), edition)
    for name in ("brier", "ece", *ERRORS):
        record = found(name, "r")
        assert (record.value is None) == withheld
        assert record.n == 20
        if withheld:
            assert record.note == "nearly all confidences are exactly 0 or 1"


@pytest.mark.parametrize(("missing", "withheld"), [(2, False), (3, True), (20, True)])
def test_missing_confidences(sure, missing, withheld):
    """[D9] More than a tenth of twenty; only the sound edition minds."""
    rows = [(1, i % 2, None if i < missing else 0.3 + i / 100) for i in range(20)]
    ours, theirs = measured(sure(*rows)), measured(sure(*rows), "authors")
    for name in ("brier", "ece", *ERRORS):
        assert (ours(name, "r").value is None) == withheld
        assert (theirs(name, "r").value is None) == (missing == 20)
    if missing == 2:
        assert "left out: 2 without a probability" in ours("brier", "r").note
    if missing == 3:
        assert ours("brier", "r").note == "3 of 20 answers came without a probability"
        assert "left out: 3 without a probability" in theirs("brier", "r").note
    if missing == 20:
        assert ours("brier", "r").note == "no answer came with a probability"
        assert ours("reliability", "r").note == "no answer came with a probability"


def test_unparsed_answers_have_no_calibration(sure):
    found = measured(sure((1, -1, 0.3), (1, -2, 0.4)))
    assert found("ece", "r").note == "no parsed answer with a key"
    assert found("brier", "r").n == 0


@EDITIONS
def test_confidences_no_probability_can_have_are_counted_in_the_note(sure, edition):
    rows = [(1, 1, 1.5), *[(1, i % 2, 0.2 + i / 100) for i in range(11)]]
    found = measured(sure(*rows), edition)
    for name in ("brier", "ece"):
        assert "1 confidences lie outside 0 to 1" in found(name, "r").note
    assert found("reliability", "r", bin="9").n == 1


def test_one_confidence_for_all_has_a_mean_and_a_width(sure):
    """All are equally sure: the interval is what one more case, as far off as can be, could do."""
    rows = [(1, 1, 0.7)] * 20
    record = measured(sure(*rows))("confidence", "r", regime="ungrounded_correct")
    assert record.value == pytest.approx(0.7)
    assert record.low == pytest.approx(14 / 21)
    assert record.high == pytest.approx(15 / 21)


def test_patients_whose_confidences_cancel_out_still_leave_a_width(bench):
    """Two films each at .2 and .8: the patients' means agree exactly, the films do not."""
    cases = [bench.case(f"c{i}", subject_id=f"p{i // 2}") for i in range(12)]
    p = {f"c{i}": (0.2, 0.8)[i % 2] for i in range(12)}
    tables = with_confidence(bench.tables(cases, {"r": {"original": dict.fromkeys(p, 1)}}), p)
    record = measured(tables)("confidence", "r", regime="ungrounded_correct")
    assert record.value == pytest.approx(0.5)
    # No design effect is below 1: at least as wide as of twelve patients.
    half = 1.96 * 0.3 * (12 / 11) ** 0.5 / 12**0.5
    assert record.high - 0.5 == pytest.approx(0.5 - record.low)
    assert half < record.high - 0.5 < 1.25 * half


@pytest.mark.slow
def test_a_calibrated_reader_has_no_calibration_error(sure):
    """Its binned error is well above 0 all the same; and its p is below 0.05 in 5 %."""
    draw = np.random.default_rng(4)
    values, alarms = [], 0
    for _ in range(60):
        p = draw.uniform(0.02, 0.98, 100).round(3)
        truth = (draw.random(100) < p).astype(int)
        tables = sure(*((y, int(x > 0.5), x) for x, y in zip(p, truth, strict=True)))
        record = measured(tables)("ece_label", "r")
        values.append(record.value)
        alarms += record.p <= 0.05
    assert np.mean(values) < 0.05
    assert alarms <= 8


# ---------------------------------------------------------------- regimes


@pytest.mark.slow
@EDITIONS
@settings(max_examples=30)
@given(made=made_up())
def test_regimes_are_what_sorting_case_by_case_gives(bench, edition, made):
    """[D8]"""
    found = measured(made.tables(bench), edition)
    for regime, values in regimes(made, edition).items():
        record = found("confidence", "r0", regime=regime)
        assert record.n == len(values)
        if values:
            assert record.value == pytest.approx(sum(values) / len(values), abs=1e-12)
        else:
            assert record.value is None
            assert record.note
        if edition == "corrected":
            assert found("confidence", "r0", regime=regime, of="answer").n == len(values)
        bins = [r.n for r in found.measures if r.by.get("regime") == regime and "bin" in r.by]
        assert sum(bins) == len(values)


def test_unparsed_answers_are_incorrect_and_unparsed_masks_grounded_only_as_published(bench):
    """[D8] c0 flips, c1 stays, c2 has no mask answer, c3 is unparsed there, c4 wrong, c5 unparsed."""
    cases = [bench.case(f"c{i}") for i in range(6)]
    answers = {
        "original": dict(zip((f"c{i}" for i in range(6)), (1, 1, 1, 1, 0, -1), strict=True)),
        "target_mask": {"c0": 0, "c1": 1, "c3": -1, "c4": 1, "c5": 1},
        "swap": {"c0": 1, "c1": 0, "c2": 1, "c3": -1},
    }
    p = {f"c{i}": 0.1 * (i + 1) for i in range(6)}
    tables = with_confidence(bench.tables(cases, {"r": answers}), p)

    def mean_n(found, regime, **by):
        record = found("confidence", "r", regime=regime, **by)
        return (pytest.approx(record.value), record.n)

    ours, theirs = measured(tables), measured(tables, "authors")
    assert mean_n(ours, "grounded_correct") == (0.1, 1)
    assert mean_n(ours, "ungrounded_correct") == (0.3, 3)
    assert mean_n(ours, "incorrect") == (0.5, 1)
    assert mean_n(ours, "incorrect", of="answer") == (0.5, 1)  # sure of No: 1 - .5
    assert mean_n(theirs, "grounded_correct") == (0.25, 2)  # c3 too
    assert mean_n(theirs, "ungrounded_correct") == (0.25, 2)
    assert mean_n(theirs, "incorrect") == (0.55, 2)  # c5 too
    # The published metrics go by the swap, and c0 is in two regimes.
    assert mean_n(theirs, "grounded_correct", definition="metrics") == (0.1, 1)
    assert mean_n(theirs, "ungrounded_correct", definition="metrics") == (0.2, 2)
    assert mean_n(theirs, "incorrect", definition="metrics") == (0.5, 1)


def test_a_no_is_as_sure_as_its_distance_from_yes(sure):
    found = measured(sure((0, 0, 0.1), (0, 0, 0.2), (1, 1, 0.9)))
    of_answer = found("confidence", "r", regime="ungrounded_correct", of="answer")
    assert of_answer.value == pytest.approx((0.9 + 0.8 + 0.9) / 3)
    assert found("confidence", "r", regime="ungrounded_correct").value == pytest.approx(0.4)


# ---------------------------------------------------------------- reliability


def test_reliability_by_tenth(sure):
    rows = [(1, 1, 0.95), (1, 1, 1.0), (0, 1, 0.9), (0, 0, 0.3), (1, 0, 0.34), (1, -1, 0.35)]
    ours, theirs = measured(sure(*rows)), measured(sure(*rows), "authors")
    top = ours("reliability", "r", bin="9")
    assert (top.k, top.n, top.value) == (2, 3, pytest.approx(2 / 3))
    assert ours("confidence", "r", bin="9").value == pytest.approx((0.95 + 1 + 0.9) / 3)
    assert ours("reliability", "r", bin="3").n == 2
    assert theirs("reliability", "r", bin="3").n == 3  # the unparsed answer too
    assert ours.get("reliability", "r", bin="5") is None


def test_repeated_patients_widen_the_bins_of_the_diagram(sure, bench):
    rows = [(i % 2, 1, 0.55) if i < 40 else (1, 1, 0.95 - i / 1000) for i in range(80)]
    cases = [(label, answer, p) for label, answer, p in rows]
    alone = measured(sure(*cases))("reliability", "r", bin="5")
    same = measured(sure(*cases, patients=4))("reliability", "r", bin="5")
    assert (alone.k, alone.n) == (same.k, same.n) == (20, 40)
    assert same.high - same.low > 1.5 * (alone.high - alone.low)
    theirs = measured(sure(*cases, patients=4), "authors")("reliability", "r", bin="5")
    assert theirs.high == pytest.approx(alone.high)


def test_what_no_bin_holds_counts_as_the_nearer_end(sure):
    """A recorded 5.0 is no probability: it is in the note, and far from no bound."""
    rows = [(1, 1, 5.0)] * 3 + [(1, 1, 0.6 + i / 100) for i in range(20)]
    ends = [(1, 1, 1.0)] * 3 + rows[3:]
    for name in ("ece_label", "ece_authors"):
        record = measured(sure(*rows))(name, "r")
        assert record.value == pytest.approx(measured(sure(*ends))(name, "r").value)
        assert "3 confidences lie outside 0 to 1" in record.note
