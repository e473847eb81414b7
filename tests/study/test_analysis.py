"""What people's answers come to, against what can be worked out by hand."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from overread import stats
from overread.benchmarks.people import Ask
from overread.measuring.notes import FEW_CLUSTERS
from overread.stats import cohen_kappa, weighted_kappa
from overread.study import Journal, Task, open_key
from overread.study.analysis import (
    PEOPLE,
    Reading,
    agreements,
    conditions_apart,
    differences,
    form_shares,
    readings_of,
)
from overread.study.packets import Key
from support.studies import design, filled, made


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    study = made(tmp_path_factory.mktemp("study") / "s", design(washout_days=0))
    filled(study, {"anna": 0.95, "ben": 0.6})
    journal = Journal(study.folder, read_only=True)
    key = open_key(study.folder, "test")
    return readings_of(study, journal.answers(), key)


def by_place(readings, reader, question, iteration=0):
    return {
        (one.key.case, one.key.condition): one.value
        for one in readings
        if (one.reader, one.ask.name, one.key.iteration) == (reader, question, iteration)
    }


def test_practice_counts_for_nothing(readings):
    assert not any(one.key.training for one in readings)


def test_two_readers_agree_as_counted_by_hand(readings):
    anna, ben = (by_place(readings, name, "answer") for name in ("anna", "ben"))
    found = {
        m.measure: m
        for m in agreements(readings)
        if m.by["versus"] == "ben" and m.by["question"] == "answer"
    }
    same = [anna[place] == ben[place] for place in anna]
    assert (found["agreement"].value, found["agreement"].n) == (sum(same) / len(same), 24)
    kappa = cohen_kappa([anna[p] for p in anna], [ben[p] for p in anna])
    assert found["kappa"].value == pytest.approx(kappa)
    assert found["kappa"].low < kappa < found["kappa"].high


def test_a_scale_is_compared_on_all_of_its_levels(readings):
    anna, ben = (by_place(readings, name, "sure") for name in ("anna", "ben"))
    (found,) = [
        m for m in agreements(readings) if m.measure == "kappa_weighted" and m.by["versus"] == "ben"
    ]
    levels = [1, 2, 3]
    by_hand = weighted_kappa([int(anna[p]) for p in anna], [int(ben[p]) for p in anna], levels)
    assert found.value == pytest.approx(by_hand)


def test_a_reader_is_held_against_himself_on_what_he_saw_twice(readings):
    first, again = (by_place(readings, "anna", "answer", time) for time in (0, 1))
    (found,) = [
        m
        for m in agreements(readings)
        if (m.reader, m.measure, m.by["versus"], m.by["question"])
        == ("anna", "agreement", "himself", "answer")
    ]
    assert found.n == len(again) == 2
    assert found.value == sum(first[p] == again[p] for p in again) / 2


def test_what_models_are_asked_too_is_not_counted_as_a_form(readings):
    assert list(form_shares(readings)) == []


def test_answers_that_not_every_display_offers_are_told_apart():
    """Letters, as many as an item has options: C and D are no agreement, whatever came first."""
    found = []
    for at in range(12):
        letters = tuple("AB" if at == 0 else "ABCDE")
        ask = Ask(name="right", text="Which?", kind="choice", options=letters)
        key = Key(display=f"d{at}", task=1, kind="review", case=f"c{at:02}", patient=f"p{at}")
        for reader, other in (("anna", "C"), ("ben", "D")):
            found.append(Reading(reader, "review", key, ask, other if at % 2 else "A"))
    (kappa,) = [one for one in agreements(found) if one.measure == "kappa"]
    assert kappa.value == pytest.approx(1 / 3)
    shares = {(one.reader, one.by["answer"]): (one.k, one.n) for one in form_shares(found)}
    assert (shares["anna", "A"], shares["anna", "C"], shares["ben", "C"]) == (
        (6, 12),
        (6, 11),
        (0, 11),
    )


def test_a_form_has_its_shares_by_condition_and_of_every_level():
    """A scale beside a question that models are asked says how sure somebody was, and has none."""
    levels = Ask(name="quality", text="How good?", kind="scale", options=("1", "2", "3"))
    found = []
    for at in range(12):
        dose = ("full", "low")[at % 2]
        key = Key(
            display=f"d{at}", task=1, kind="form", case=f"c{at // 2}", patient=f"p{at // 2}",
            condition=dose,
        )  # fmt: skip
        found.append(Reading("anna", "form", key, levels, "3" if dose == "full" else "1"))
        sure = replace(key, kind="presence", request="r")
        found.append(Reading("anna", "presence", sure, levels, "2"))
    shares = {
        (one.by["answer"], one.by.get("condition")): (one.k, one.n) for one in form_shares(found)
    }
    assert shares == {
        **{(level, None): (k, 12) for level, k in (("1", 6), ("2", 0), ("3", 6))},
        **{(level, "full"): (k, 6) for level, k in (("1", 0), ("2", 0), ("3", 6))},
        **{(level, "low"): (k, 6) for level, k in (("1", 6), ("2", 0), ("3", 0))},
    }


def values(people: int, cases: int = 60) -> dict[str, pl.DataFrame]:
    """A model that is right on all but every tenth case; people who err on one more each."""
    rows = []
    for case in range(cases):
        rows.append(("model", f"c{case}", f"p{case // 2}", float(case % 10 != 0)))
        for person in range(people):
            wrong = case % 10 == 0 or case % (7 + person) == 1
            rows.append((f"r{person}", f"c{case}", f"p{case // 2}", float(not wrong)))
    schema = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
    return {"accuracy": pl.DataFrame(rows, schema=schema, orient="row")}


def test_a_model_is_held_against_each_reader_on_the_same_cases():
    found = differences(values(2), ["r0", "r1"])
    assert [(m.reader, m.by["versus"]) for m in found] == [("model", "r0"), ("model", "r1")]
    assert all(m.value == pytest.approx(m.beside[0] - m.beside[1]) for m in found)
    assert all((m.low <= 0 <= m.high) == (m.p > 0.05) for m in found)
    assert all(m.q >= m.p for m in found)
    # Of what their q is; models against all readers are another family.
    assert {m.family for m in found} == {"accuracy: models against readers"}


def test_with_three_readers_something_is_said_of_others():
    better = {"accuracy": True}
    found = differences(values(3), ["r0", "r1", "r2"], 0.05, better, ["accuracy"])
    (together,) = [m for m in found if m.by["versus"] == PEOPLE]
    assert together.how.kind == "orh"
    # What a referee gets who reckons with the published formula.
    theirs = together.how.published
    assert theirs.low < together.value < theirs.high
    assert (theirs.low + theirs.high) / 2 == pytest.approx(together.value)
    assert theirs.p != together.p
    assert f"as published p {theirs.p:.3g}" in together.method
    assert -1 <= together.low < together.value < together.high <= 1
    assert "not_inferior" in together.flags


def test_what_is_no_share_may_differ_by_more_than_one():
    frames = {"mae": values(3)["accuracy"].with_columns(pl.col("value") * 30)}
    names = ["r0", "r1", "r2"]
    (wide,) = [m for m in differences(frames, names) if m.by["versus"] == PEOPLE]
    assert wide.high > 1
    with pytest.raises(ValueError, match="beyond their bounds"):
        differences(frames, names, shares=["mae"])


@pytest.mark.parametrize(("readers", "rough"), [(3, True), (4, True), (5, False)])
def test_what_stands_on_fewer_than_ten_degrees_of_freedom_is_called_rough(readers, rough):
    found = differences(values(readers), [f"r{number}" for number in range(readers)])
    (together,) = [m for m in found if m.by["versus"] == PEOPLE]
    assert (FEW_CLUSTERS in together.flags) == rough == (together.how.t < stats.FEW)


def test_three_readers_who_differ_little_are_not_called_rough():
    """What is open is which cases there were, and of these there are many."""
    draw = np.random.default_rng(0)
    hard = {name: draw.random(400) < 0.2 for name in ("model", "people")}
    rows = [
        (reader, f"c{case}", f"p{case}", float(not hard[whose][case] or draw.random() < 0.1))
        for reader, whose in (("model", "model"), *((f"r{n}", "people") for n in range(3)))
        for case in range(400)
    ]
    schema = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
    found = differences(
        {"accuracy": pl.DataFrame(rows, schema=schema, orient="row")}, ["r0", "r1", "r2"]
    )
    (together,) = [m for m in found if m.by["versus"] == PEOPLE]
    assert together.how.t >= stats.FEW
    assert FEW_CLUSTERS not in together.flags


@pytest.mark.parametrize(("patients", "rough"), [(12, True), (28, True), (40, False)])
def test_readers_who_came_out_alike_on_few_patients_are_called_rough(patients, rough):
    """Their figures are one, the degrees of freedom have no end, and nothing else says it."""
    rows = [
        (reader, f"c{case}", f"p{case}", float(case % 4 != at))
        for at, reader in enumerate(("model", "r0", "r1", "r2"))
        for case in range(patients)
    ]
    schema = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
    found = differences(
        {"accuracy": pl.DataFrame(rows, schema=schema, orient="row")}, ["r0", "r1", "r2"]
    )
    (together,) = [m for m in found if m.by["versus"] == PEOPLE]
    assert (together.how.t, together.how.published.t) == (None, None)
    assert (FEW_CLUSTERS in together.flags) == rough


def test_a_difference_that_few_patients_make_is_called_rough():
    """Four hundred patients, and the model is unlike the readers in three of them."""
    rows = [
        (reader, f"c{case}", f"p{case}", float(reader == "model" or case > 2))
        for reader in ("model", "r0", "r1", "r2")
        for case in range(400)
    ]
    schema = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
    found = differences(
        {"accuracy": pl.DataFrame(rows, schema=schema, orient="row")}, ["r0", "r1", "r2"]
    )
    assert all(FEW_CLUSTERS in one.flags for one in found)


def test_a_case_that_somebody_did_not_decide_is_no_case_in_common():
    given = values(3)["accuracy"].with_columns(
        pl.when((pl.col("reader") == "r1") & (pl.col("case") == "c3"))
        .then(None)
        .otherwise(pl.col("value"))
        .alias("value")
    )
    found = differences({"accuracy": given}, ["r0", "r1", "r2"])
    counts = {m.by["versus"]: m.n for m in found}
    assert counts == {"r0": 60, "r1": 59, "r2": 60, PEOPLE: 59}
    assert all(not math.isnan(m.value) for m in found)


@pytest.mark.filterwarnings("error")
def test_of_one_patient_s_cases_a_difference_has_no_interval(tmp_path):
    """Nor does it warn of the mean of nothing, which is left of them without him."""
    some = values(3)["accuracy"].with_columns(pl.lit("p0").alias("cluster"))
    (together,) = [
        m for m in differences({"accuracy": some}, ["r0", "r1", "r2"]) if m.by["versus"] == PEOPLE
    ]
    assert (together.low, together.p, together.n) == (None, None, 60)
    assert "one patient's" in together.note
    wanted = design(readers=["anna", "ben", "cleo"])
    study = made(tmp_path / "s", wanted)
    filled(study, dict.fromkeys(wanted.readers, 0.9))
    key = open_key(study.folder, "test")
    key = {name: msgspec.structs.replace(one, patient="p") for name, one in key.items()}
    journal = Journal(study.folder, read_only=True)
    apart = conditions_apart(readings_of(study, journal.answers(), key))
    journal.close()
    assert {one.reader for one in apart} == {PEOPLE, *wanted.readers}
    assert all(one.value is not None and one.low is None for one in apart)


@pytest.mark.parametrize("people", [2, 3])
def test_a_margin_looks_to_the_side_on_which_a_model_is_worse(people):
    """A model that is above all readers is better at accuracy, and worse where less is better."""
    names = [f"r{n}" for n in range(people)]
    frame = values(people)["accuracy"]
    for measure, higher, flag in (("accuracy", True, "not_inferior"), ("uar", False, "inferior")):
        found = differences({measure: frame}, names, 0.001, {measure: higher})
        assert {m.by["versus"] for m in found} == {*names, *([PEOPLE] if people > 2 else [])}
        assert all(m.value > 0 for m in found)
        assert all(flag in m.flags for m in found if m.low > 0.001)
        other = {"not_inferior": "inferior", "inferior": "not_inferior"}[flag]
        assert not [m for m in found if other in m.flags]
    assert not [
        m for m in differences({"accuracy": frame}, names, 0.001) if "not_inferior" in m.flags
    ]


def test_readers_under_two_conditions_are_as_the_analysis_of_three_readers_says(tmp_path):
    names = {"anna": 0.95, "ben": 0.8, "cleo": 0.7}
    study = made(tmp_path / "s", design(washout_days=0, readers=list(names)), cases=30)
    filled(study, names)
    journal = Journal(study.folder, read_only=True)
    given = readings_of(study, journal.answers(), open_key(study.folder, "test"))
    both = conditions_apart(given, margin=0.2)
    found = {m.reader: m for m in both if m.by["condition"] == "irrelevant_mask"}
    # Two conditions against the first are two tests of all readers together.
    of_all = [m for m in both if m.reader == PEOPLE]
    assert len({m.family for m in of_all}) == 1
    assert [m.q for m in of_all] == pytest.approx(
        stats.benjamini_hochberg([m.p for m in of_all]).tolist()
    )
    right = {
        name: {
            (r.key.condition, r.key.case): r.value == r.key.truth
            for r in given
            if (r.reader, r.ask.name, r.key.iteration) == (name, "answer", 0)
        }
        for name in names
    }
    cases = sorted({case for _, case in right["anna"]})
    table = np.array(
        [
            [[right[name][condition, case] for case in cases] for name in names]
            for condition in ("original", "irrelevant_mask")
        ]
    )
    patients = [int(case.partition("-")[2]) // 2 for case in cases]
    by_hand = stats.conditions_apart(
        *stats.jackknifed(lambda keep: table[..., keep].mean(axis=-1), patients)
    )
    together = found[PEOPLE]
    assert (together.value, together.low, together.p) == pytest.approx(
        (by_hand.effect, by_hand.low, by_hand.p)
    )
    assert together.how.kind == "orh"
    assert set(found) == {PEOPLE, *names}
    assert all(-1 <= m.value <= 1 and m.n == len(cases) for m in found.values())


def slow_kappa(pairs):
    """Cohen's, cell by cell."""
    n = len(pairs)
    words = {word for pair in pairs for word in pair}
    seen = sum(a == b for a, b in pairs) / n
    by_chance = sum(
        sum(a == word for a, _ in pairs) / n * (sum(b == word for _, b in pairs) / n)
        for word in words
    )
    return (seen - by_chance) / (1 - by_chance)


def test_the_interval_of_kappa_leaves_out_a_patient_at_a_time(readings):
    patient = {(r.key.case, r.key.condition): r.key.patient for r in readings}
    anna, ben = (by_place(readings, name, "answer") for name in ("anna", "ben"))
    patients = sorted({patient[place] for place in anna})
    without = [
        slow_kappa([(anna[p], ben[p]) for p in anna if patient[p] != gone]) for gone in patients
    ]
    n = len(patients)
    mean = sum(without) / n
    se = math.sqrt((n - 1) / n * sum((part - mean) ** 2 for part in without))
    (found,) = [
        m
        for m in agreements(readings)
        if (m.measure, m.by["versus"], m.by["question"]) == ("kappa", "ben", "answer")
    ]
    assert found.value == pytest.approx(slow_kappa([(anna[p], ben[p]) for p in anna]))
    assert found.se == pytest.approx(se)


def test_tasks_of_one_kind_are_counted_apart(tmp_path):
    task = Task(kind="presence", cases=8, repeat=0, training=0)
    study = made(tmp_path / "s", design(task=[task, task]))
    filled(study, {"anna": 0.9, "ben": 0.9})
    journal = Journal(study.folder, read_only=True)
    both = readings_of(study, journal.answers(), open_key(study.folder, "test"))
    found = [m for m in agreements(both) if m.measure == "agreement"]
    assert {m.by["task"] for m in found} == {"presence-1", "presence-2"}
    assert {m.n for m in found} == {24}
