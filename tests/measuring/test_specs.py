"""A declared measure against the slow and obvious way to get the same number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.base import ReaderRecord
from overread.case import Traits
from overread.measuring.arrays import RunArrays, codes_of
from overread.measuring.estimates import Resampling
from overread.measuring.notes import NO_PICTURE
from overread.measuring.specs import (
    MEAN_OF_CASES,
    MEAN_OF_JUDGES,
    PLAIN,
    READERS,
    Counted,
    Spec,
    against,
    measure,
    values,
)
from overread.measuring.units import FRAMES
from overread.stats import clustered_share, difference_p


class Reader(NamedTuple):
    reader: str
    # By condition, what it said of every case: 1 right, 0 wrong, NaN without an answer.
    said: dict[str, np.ndarray]
    why: np.ndarray


def conditions(run, reader):
    return [PLAIN if name == "original" else {"image": name} for name in reader.said]


def right(run, reader, condition):
    said = reader.said[condition.get("image", "original")]
    return Counted(said, run.everyone, reader.why)


ACCURACY = Spec(
    name="accuracy", says="right", of=right, conditions=conditions, groups=("view",),
    groups_under=(), contrasts=(READERS, against(image="original")), bounds=True, by_case=True,
)  # fmt: skip


def run_of(n, names, *, patients=None, unseeing=()):
    clusters = codes_of(patients or [f"p{at:04}" for at in range(n)])
    views = np.array([("PA", "AP")[at % 2] for at in range(n)], dtype=np.str_)
    readers = [
        ReaderRecord(
            name=name, traits=Traits(modality="text" if name in unseeing else "multimodal")
        )
        for name in names
    ]
    drawn = Resampling(clusters, boot=200, seed=0)
    cases = [f"c{at}" for at in range(n)]
    return RunArrays(cases, clusters, readers, drawn, columns={"view": views})


def reader_of(name, said, swapped=None):
    table = {"original": np.array(said, dtype=float)}
    if swapped is not None:
        table["swap"] = np.array(swapped, dtype=float)
    why = np.where(np.isnan(table["original"]), 1, 0).astype(np.int8)
    return Reader(name, table, why)


marks = st.lists(st.sampled_from([0.0, 1.0, float("nan")]), min_size=1, max_size=30)


@given(marks)
def test_a_share_has_the_interval_of_what_was_answered(said):
    run = run_of(len(said), ["a"])
    found = measure(run, [reader_of("a", said)], [ACCURACY])
    whole = next(one for one in found if not one.by)
    answered = [one for one in said if not np.isnan(one)]
    assert whole.n == len(answered)
    assert whole.left_out == (
        {"unparsed": len(said) - len(answered)} if len(answered) < len(said) else {}
    )
    if not answered:
        assert whole.value is None
        return
    k = int(sum(answered))
    assert (whole.value, whole.k) == (k / len(answered), k)
    if len(answered) > 1:
        expected, _ = clustered_share(answered, range(len(answered)))
        assert (whole.low, whole.high) == pytest.approx((expected.low, expected.high))
    else:
        assert whole.low is None
        assert "one_cluster" in whole.flags


@given(marks)
def test_worst_cases_hold_the_rate(said):
    run = run_of(len(said), ["a"])
    found = measure(run, [reader_of("a", said)], [ACCURACY])
    whole = next(one for one in found if not one.by)
    low, high = (next(m for m in found if m.by == {"bound": b}) for b in ("low", "high"))
    assert low.n == high.n == len(said)
    if whole.value is not None:
        assert low.value <= whole.value <= high.value


def test_groups_add_up_and_patients_count_together():
    said = [1, 0, 1, 1, 0, 1, 1, 0]
    patients = ["p1", "p1", "p2", "p2", "p3", "p3", "p4", "p4"]
    run = run_of(8, ["a"], patients=patients)
    found = measure(run, [reader_of("a", said)], [ACCURACY])
    groups = {m.by["view"]: m for m in found if "view" in m.by}
    whole = next(m for m in found if not m.by)
    assert sum(m.n for m in groups.values()) == whole.n
    assert sum(m.k for m in groups.values()) == whole.k
    expected, effect = clustered_share(said, run.clusters)
    assert (whole.low, whole.high) == (expected.low, expected.high)
    assert whole.how.effect == effect


def test_readers_differ_by_mcnemar_over_what_both_answered():
    one = [1, 1, 1, 1, 0, float("nan"), 1, 1]
    two = [0, 1, 0, 0, 1, 1, float("nan"), 0]
    run = run_of(8, ["a", "b"])
    found = measure(run, [reader_of("a", one), reader_of("b", two)], [ACCURACY])
    (diff,) = [m for m in found if m.measure == "diff_accuracy"]
    assert diff.by == {"versus": "b"}
    assert diff.n == 6
    assert diff.value == pytest.approx(3 / 6)
    assert diff.p == difference_p(4, 1)
    assert diff.q == diff.p
    assert diff.beside == pytest.approx((5 / 6, 2 / 6))
    assert diff.low < diff.value < diff.high


def test_conditions_differ_from_the_original_and_who_sees_nothing_has_no_difference():
    run = run_of(6, ["a", "blind"], unseeing=("blind",))
    readers = [
        reader_of(name, [1, 1, 1, 0, 1, 1], swapped=[0, 1, 0, 0, 0, 1]) for name in ("a", "blind")
    ]
    found = measure(run, readers, [ACCURACY])
    seen, blind = (
        next(m for m in found if m.reader == name and m.by.get("versus") == "original")
        for name in ("a", "blind")
    )
    assert seen.by == {"image": "swap", "versus": "original"}
    assert seen.value == pytest.approx(-3 / 6)
    assert blind.value is None
    assert NO_PICTURE in blind.flags


def test_several_judges_are_a_panel_and_several_seeds_a_mean_of_cases():
    table = np.array([[1, 0], [1, np.nan], [0, 0], [1, 1]])

    def of(run, reader, condition):
        return Counted(table, run.everyone)

    run = run_of(4, ["a"])
    judged = Spec(name="judged", says="", of=of, estimate=MEAN_OF_JUDGES)
    seeds = Spec(name="seeds", says="", of=of, estimate=MEAN_OF_CASES, unit=FRAMES)
    found = {m.measure: m for m in measure(run, [reader_of("a", [1] * 4)], [judged, seeds])}
    assert found["judged"].value == pytest.approx((3 / 4 + 1 / 3) / 2)
    assert found["seeds"].value == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert found["judged"].how.kind == "variance by cluster"
    assert found["judged"].how.t == 3


def test_values_by_case_have_the_mean_that_is_measured():
    run = run_of(5, ["a", "b"])
    readers = [reader_of("a", [1, 0, 1, np.nan, 1]), reader_of("b", [0, 0, 1, 1, 1])]
    frame = values(run, readers, [ACCURACY], [f"p{at}" for at in range(5)])["accuracy"]
    means = dict(frame.group_by("reader").agg(pl.col("value").mean()).iter_rows())
    found = {m.reader: m.value for m in measure(run, readers, [ACCURACY]) if not m.by}
    assert means == pytest.approx(found)
    assert frame.filter(reader="a").height == 4


@given(st.permutations(range(12)), st.integers(0, 3))
def test_neither_order_nor_seed_of_names_moves_a_share(order, shift):
    said = np.array([1, 0, 1, 1, 0, np.nan, 1, 1, 0, 1, 1, 0])
    patients = [f"p{(at + shift) // 2}" for at in range(12)]
    found = []
    for places in (range(12), order):
        run = run_of(12, ["a"], patients=[patients[at] for at in places])
        reader = reader_of("a", [said[at] for at in places])
        found.append(next(m for m in measure(run, [reader], [ACCURACY]) if not m.by))
    assert found[0] == found[1]


def test_what_is_judged_is_given_by_judge_and_says_who_was_not_judged():
    table = np.array([[1, 0], [1, np.nan], [0, 0], [0, 0]])
    why = np.array([[0, 0], [0, 5], [0, 0], [3, 3]], dtype=np.int8)

    def of(run, reader, condition):
        return Counted(table, run.everyone, why)

    run = run_of(4, ["a"])
    judged = Spec(
        name="judged", says="", of=of, estimate=MEAN_OF_JUDGES, groups=("view",),
        judges=lambda run, reader, condition: ["one", "two"], questions=("answer",),
    )  # fmt: skip
    found = measure(run, [reader_of("a", [1] * 4)], [judged])
    whole, one, two = (
        next(m for m in found if m.by == by) for by in ({}, {"judge": "one"}, {"judge": "two"})
    )
    assert (whole.left_out, whole.as_wrong) == ({"not judged": 1}, {"unanswered": 1})
    assert (one.left_out, one.value, one.n) == ({}, 0.5, 4)
    assert (two.left_out, two.value, two.n) == ({"not judged": 1}, 0.0, 3)
    assert {m.by["view"] for m in found if "view" in m.by} == {"PA", "AP"}
    for judges, flag in (([], "not_judged"), (None, "not_asked")):
        nobody = Spec(name="x", says="", of=of, judges=lambda *_, judges=judges: judges)
        (record,) = measure(run, [reader_of("a", [1] * 4)], [nobody])
        assert (record.value, record.n, record.flags) == (None, 0, (flag,))


def test_what_is_at_hand_of_a_reader_goes_with_the_next() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("")
        return "made"

    run = run_of(2, ["one", "two"])
    for reader in ("one", "one", "two", "one"):
        assert run.at_hand(reader, ("key",), make) == "made"
    assert len(made) == 3
