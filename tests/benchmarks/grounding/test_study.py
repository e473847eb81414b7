"""Patients resampled once for all measures: the same as resampling them the slow way."""

from __future__ import annotations

import random

import numpy as np
import pytest

from overread.benchmarks.grounding.edition import Options, edition
from overread.benchmarks.grounding.marks import Study
from overread.case import Traits
from support.made_up import measured

BOOT = 4000


@pytest.fixture(scope="module")
def made(bench):
    """60 cases of 22 patients, who have one to six; two readers, one of them right more often."""
    chance = random.Random(11)
    patients = [f"p{chance.randrange(22)}" for _ in range(60)]
    luck = {patient: chance.random() for patient in patients}
    cases = [bench.case(f"c{i}", subject_id=patient) for i, patient in enumerate(patients)]
    answers = {
        name: {
            image: {
                f"c{i}": int(chance.random() < ease * (0.25 + 0.75 * (luck[patient] > 0.4)))
                for i, patient in enumerate(patients)
            }
            for image in ("original", "swap", "target_mask", "irrelevant_mask")
        }
        for name, ease in (("a", 0.95), ("b", 0.6))
    }
    sure = {f"c{i}": round(chance.random(), 3) for i in range(60)}
    traits = {"b": Traits(modality="text")}
    return bench.tables(cases, answers, traits, sure), answers, patients, sure


def slowly(patients, estimate, times=BOOT):
    """Draw as many patients as there are, with replacement, take all their cases, and estimate."""
    chance = random.Random(0)
    cases: dict[str, list[int]] = {}
    for i, patient in enumerate(patients):
        cases.setdefault(patient, []).append(i)
    names = sorted(cases)
    found = []
    for _ in range(times):
        drawn = [i for name in chance.choices(names, k=len(names)) for i in cases[name]]
        value = estimate(drawn)
        if value is not None:
            found.append(value)
    return np.array(found)


def assert_alike(record, drawn) -> None:
    """Percentiles and spread of two bootstraps agree but for their own chance."""
    spread = drawn.std(ddof=1)
    assert record.sd_boot == pytest.approx(spread, rel=0.06)
    if record.method.startswith("patients:"):
        low, high = np.percentile(drawn, [2.5, 97.5])
        assert record.low == pytest.approx(low, abs=0.25 * spread)
        assert record.high == pytest.approx(high, abs=0.25 * spread)


def test_a_rates_spread(made):
    tables, answers, patients, _ = made
    o, t = (list(answers["a"][image].values()) for image in ("original", "target_mask"))

    def cgr(drawn):
        said_yes = [i for i in drawn if o[i] == 1]
        return sum(t[i] != 1 for i in said_yes) / len(said_yes) if said_yes else None

    record = measured(tables, boot=str(BOOT))("cgr", "a")
    assert_alike(record, slowly(patients, cgr))
    independent = np.sqrt(record.value * (1 - record.value) / record.n)
    assert record.sd_boot > 1.05 * independent  # these patients are alike within themselves


def test_the_premiums_spread(made):
    tables, answers, patients, _ = made
    images = ("original", "target_mask", "irrelevant_mask")
    o, t, i = (list(answers["a"][image].values()) for image in images)

    def gsp(drawn):
        yes = [c for c in drawn if o[c] == 1]
        return sum((t[c] != 1) - (i[c] != 1) for c in yes) / len(yes) if yes else None

    record = measured(tables, boot=str(BOOT))("gsp", "a")
    assert record.value == pytest.approx(gsp(range(60)))
    assert_alike(record, slowly(patients, gsp))


def test_a_difference_of_two_readers(made):
    tables, answers, patients, _ = made
    a, b = (list(answers[name]["original"].values()) for name in "ab")
    record = measured(tables, boot=str(BOOT))(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    drawn = slowly(patients, lambda some: sum(a[i] - b[i] for i in some) / len(some))
    assert_alike(record, drawn)
    far = np.abs(drawn - record.value) >= abs(record.value) - 1e-12
    assert record.p == pytest.approx(max(far.mean(), 1 / BOOT), abs=0.01)


def test_a_difference_on_shared_cases_only(made):
    """UAR of both on the cases both got right: the denominators move with the resamples."""
    tables, answers, patients, _ = made
    o, s = (
        {name: list(answers[name][image].values()) for name in "ab"}
        for image in ("original", "swap")
    )

    def diff(drawn):
        both = [i for i in drawn if o["a"][i] == 1 == o["b"][i]]
        return sum((s["a"][i] == 1) - (s["b"][i] == 1) for i in both) / len(both) if both else None

    record = measured(tables, boot=str(BOOT))("diff_uar", "a", versus="b", comparison="pairwise")
    assert record.n == sum(x == 1 == y for x, y in zip(o["a"], o["b"], strict=True))
    assert_alike(record, slowly(patients, diff))


def test_the_gap_to_the_text_only_reader(made):
    tables, answers, patients, _ = made
    a, b = (list(answers[name]["original"].values()) for name in "ab")
    record = measured(tables, boot=str(BOOT))("text_gap", "a")
    drawn = slowly(
        patients, lambda some: (sum(a[i] for i in some) - sum(b[i] for i in some)) / len(some)
    )
    assert_alike(record, drawn)


def test_a_calibration_error(made):
    tables, answers, patients, sure = made
    c, o = list(sure.values()), list(answers["a"]["original"].values())
    own = [p if answer else 1 - p for p, answer in zip(c, o, strict=True)]

    def ece(drawn):
        gaps = [0.0] * 10
        for i in drawn:
            gaps[min(int(10 * own[i]), 9)] += own[i] - o[i]
        return sum(map(abs, gaps)) / len(drawn)

    record = measured(tables, boot=str(BOOT))("ece_answer", "a")
    assert_alike(record, slowly(patients, ece))


def test_all_columns_see_the_same_resamples(made):
    """Else a difference of two columns would have the spread of strangers."""
    tables, *_ = made
    study = Study(tables, edition("corrected", {"boot": "300"}), Options())
    column = np.arange(60.0)
    study.need({("x",): column, ("y",): 2 * column, ("one",): np.ones(60)})
    assert np.array_equal(2 * study.resampled(("x",)), study.resampled(("y",)))
    assert study.has(("x",))
    assert not study.has(("z",))
    assert np.unique(study.resampled(("one",))).size > 1  # patients have different numbers of cases
    assert study.resampled(("one",)).mean() == pytest.approx(60, rel=0.05)


def test_a_single_patient_has_no_spread_over_resamples(bench):
    cases = [bench.case(f"c{i}", subject_id="p") for i in range(20)]
    answers = {"original": {f"c{i}": int(i % 3 > 0) for i in range(20)}}
    record = measured(bench.tables(cases, {"r": answers}))("accuracy", "r")
    assert record.sd_boot is None
    assert record.low < record.value < record.high


def test_text_only_readers_are_the_baselines(made):
    tables, *_ = made
    study = Study(tables, edition("corrected"), Options())
    assert [marks.reader for marks in study.text_only] == ["b"]
    assert [marks.reader for marks in study.marks] == ["a", "b"]


def test_a_study_without_readers(bench):
    tables = bench.tables([bench.case("c")], {})
    for rules in ("corrected", "authors"):
        assert measured(tables, rules).measures == []
        assert measured(tables, rules, px="224,512", phrasing="default,brief").measures == []


# ---------------------------------------------------------------- coverage of an interval


def test_intervals_of_a_difference_hold_the_truth_when_patients_repeat(bench):
    """Two equally good readers; every patient has four cases that go wrong together.

    Of 95 % intervals by patient about 95 % hold the true difference, 0. Were the cases taken for
    independent, with the same resamples, they would be half as wide and hold it in about 70 %.
    """
    chance = np.random.default_rng(5)
    patients, films, times = 40, 4, 120
    cases = [bench.case(f"c{i}", subject_id=f"p{i // films}") for i in range(patients * films)]
    alone = [bench.case(f"c{i}", subject_id=f"c{i}") for i in range(patients * films)]
    held = {"patients": 0, "cases": 0}
    for _ in range(times):
        right = chance.random((2, patients)) < 0.6
        answers = {
            name: {
                "original": {f"c{i}": int(right[row, i // films]) for i in range(patients * films)}
            }
            for row, name in enumerate("ab")
        }
        for unit, given in (("patients", cases), ("cases", alone)):
            record = _difference(bench.tables(given, answers))
            held[unit] += record.low <= 0 <= record.high
    assert held["patients"] / times >= 0.9
    assert held["cases"] / times <= 0.85


def _difference(tables):
    """Only the comparison, without the measures it does not need."""
    from overread.benchmarks.grounding import comparisons

    study = Study(tables, edition("corrected", {"boot": "300"}), Options())
    study.need(comparisons.columns(study))
    records = study.compared["a", "diff_accuracy"]
    (found,) = (record for record in records if record.by["comparison"] == "pairwise")
    return found
