"""Differences of readers on the same cases, against plain and slow ways of finding them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pytest

from overread.benchmarks.base import ComparedWords
from overread.benchmarks.registry import BENCHMARKS, class_of
from overread.case import Measure
from overread.report.comparing import comparison_line, differences, margin_line
from overread.stats import difference_p, sign_flip_p

Row = tuple[str, str, str, float]
SCHEMA = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def made(
    n: int, rates: dict[str, float], *, per_cluster: int = 1, binary: bool = True, seed: int = 0
) -> pl.DataFrame:
    """Readers whose values are drawn at these rates, cases in clusters."""
    rng = np.random.default_rng(seed)
    rows = []
    for reader, rate in rates.items():
        for case in range(n):
            value = float(rng.random() < rate) if binary else float(rng.integers(0, 7)) / 6 * rate
            rows.append((reader, f"c{case:03}", f"p{case // per_cluster:03}", value))
    return frame(rows)


def test_the_difference_is_that_of_the_common_cases() -> None:
    rows = [("a", "1", "p1", 1.0), ("a", "2", "p2", 1.0), ("a", "3", "p3", 0.0)]
    rows += [("b", "2", "p2", 0.0), ("b", "3", "p3", 0.0), ("b", "4", "p4", 1.0)]
    (found,) = differences("accuracy", frame(rows), [("a", "b")], shares=True)
    assert (found.reader, found.by, found.measure) == ("a", {"versus": "b"}, "diff_accuracy")
    assert (found.value, found.n) == (0.5, 2)
    assert found.note == "1 only a, 0 only b"
    assert found.p == found.q == 1.0


def test_the_interval_is_about_as_wide_as_resampled_clusters_say() -> None:
    values = made(80, {"a": 0.7, "b": 0.5}, per_cluster=2)
    (found,) = differences("accuracy", values, [("a", "b")], shares=True)
    wide = values.pivot("reader", index=["case", "cluster"], values="value")
    own = wide.with_columns(d=pl.col("a") - pl.col("b")).group_by("cluster").agg(pl.col("d").sum())
    sums = own.sort("cluster")["d"].to_numpy()
    rng = np.random.default_rng(1)
    drawn = sums[rng.integers(0, sums.size, (20_000, sums.size))].sum(axis=1) / 80
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.value == pytest.approx(wide["a"].mean() - wide["b"].mean())  # type: ignore[operator]
    # Newcombe's, with the design effect and a t for it: a little wider than percentiles.
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)
    assert found.how is not None
    assert found.how.kind == "newcombe10"


@pytest.mark.parametrize("per_cluster", [1, 3])
def test_p_of_right_and_wrong_is_exact(per_cluster: int) -> None:
    values = made(60, {"a": 0.75, "b": 0.5}, per_cluster=per_cluster)
    (found,) = differences("accuracy", values, [("a", "b")], shares=True)
    wide = values.pivot("reader", index=["case", "cluster"], values="value").sort("case")
    each = (wide["a"] - wide["b"]).to_numpy().astype(int)
    if per_cluster == 1:
        assert found.p == difference_p(int((each == 1).sum()), int((each == -1).sum()))
    assert found.p == pytest.approx(sign_flip_p(each, wide["cluster"].to_numpy()))


def test_p_of_other_values_flips_signs_by_cluster() -> None:
    values = made(24, {"a": 1.0, "b": 0.6}, per_cluster=2, binary=False)
    (found,) = differences("score", values, [("a", "b")], shares=True)
    wide = values.pivot("reader", index=["case", "cluster"], values="value")
    own = wide.with_columns(d=pl.col("a") - pl.col("b")).group_by("cluster").agg(pl.col("d").sum())
    sums = own["d"].to_numpy()
    every = np.array(list(product((-1, 1), repeat=sums.size)))
    exact = float((np.abs(every @ sums) >= abs(sums.sum()) - 1e-9).mean())
    assert found.p == pytest.approx(exact)  # twelve clusters: every flip is listed


def test_readers_who_always_agree_are_not_told_apart_and_have_an_interval() -> None:
    values = made(30, {"a": 0.7})
    twin = values.with_columns(reader=pl.lit("b"))
    (found,) = differences("accuracy", pl.concat([values, twin]), [("a", "b")], shares=True)
    assert (found.value, found.p) == (0.0, 1.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high


def test_what_shares_no_case_or_has_one_cluster_gets_no_number() -> None:
    rows = [("a", "1", "p", 1.0), ("b", "2", "p", 0.0), ("c", "1", "p", 0.0)]
    none, one = differences("accuracy", frame(rows), [("a", "b"), ("a", "c")], shares=True)
    assert (none.n, none.value, none.p, none.q) == (0, None, None, None)
    assert none.note == "no case in common"
    assert (one.value, one.low, one.high) == (1.0, None, None)


def test_neither_the_order_of_rows_nor_other_pairs_change_a_pair() -> None:
    values = made(50, {"a": 0.9, "b": 0.5, "c": 0.2}, per_cluster=2)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    every = differences("accuracy", values, pairs, shares=True)
    shuffled = differences(
        "accuracy", values.sample(fraction=1, shuffle=True, seed=3), pairs, shares=True
    )
    assert shuffled == every
    (alone,) = differences("accuracy", values, [("a", "b")], shares=True)
    for name in ("value", "n", "low", "high", "p"):
        assert getattr(alone, name) == getattr(every[0], name)


def test_q_is_over_all_pairs_of_the_measure() -> None:
    values = made(40, {"a": 0.9, "b": 0.5, "c": 0.55}, seed=2)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    found = differences("accuracy", values, pairs, shares=True)
    ordered = sorted(one.p for one in found if one.p is not None)
    raw = [3 * p / rank for rank, p in enumerate(ordered, 1)]
    least = [min(1.0, *raw[at:]) for at in range(3)]
    assert sorted(one.q for one in found if one.q is not None) == pytest.approx(least)
    assert {one.family for one in found} == {"accuracy"}


# ---------------------------------------------------------------- in words


def difference(measure: str, value: float | None, q: float | None, **more: object) -> Measure:
    return Measure(
        reader="A", measure=f"diff_{measure}", by={"versus": "B"}, family=measure, value=value,
        q=q, **{"n": 420, "low": 0.03, "high": 0.112, **more},
    )  # type: ignore[arg-type]  # fmt: skip


def words(record: Measure) -> ComparedWords:
    """Those of whichever benchmark compares readers by the record's measure."""
    measure = record.family or ""
    classes = [class_of(name) for name in BENCHMARKS]
    own = [one for one in classes if any(words.measure == measure for words in one.compared)]
    return (own or classes)[0].words_of(measure)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            difference("accuracy", 0.071, 0.004),
            "A is right on 7.1 points more of the same 420 cases than B "
            "(95 % 3.0 to 11.2, q = 0.004).",
        ),
        (
            difference("accuracy", -0.071, 0.0001, low=-0.112, high=-0.03),
            "B is right on 7.1 points more of the same 420 cases than A "
            "(95 % 3.0 to 11.2, q < 0.001).",
        ),
        (
            difference("accuracy", 0.01, 0.41, low=-0.02),
            "A and B cannot be told apart in accuracy on these 420 cases "
            "(difference +1.0 points, 95 % -2.0 to 11.2, q = 0.410).",
        ),
        (  # all differ alike: the test is sure, the interval allows for what was not seen
            difference("score", 0.05, 0.001, low=-0.105, high=0.205),
            "A and B cannot be told apart in score on these 420 cases "
            "(difference +5.0 points, 95 % -10.5 to 20.5, q = 0.001).",
        ),
        (
            difference("mae_ed", -2.5, 0.01, low=-4, high=-1.25),
            "A is 2.50 frames nearer to end-diastole on the same 420 cases than B "
            "(95 % 1.25 to 4.00, q = 0.010).",
        ),
        (
            difference("mae_ed", 2.5, 0.01, low=1.25, high=4),
            "B is 2.50 frames nearer to end-diastole on the same 420 cases than A "
            "(95 % 1.25 to 4.00, q = 0.010).",
        ),
        (difference("score", None, None, n=0), "A and B have no case in common in score."),
        (
            difference("depth_of_x", 0.5, 0.01, low=None, high=None),
            "A has 50.0 points more depth of x on the same 420 cases than B "
            "(no interval, q = 0.010).",
        ),
    ],
)
def test_a_difference_is_one_sentence_about_whoever_has_more(record: Measure, line: str) -> None:
    assert comparison_line(record, words(record), higher_is_better=None) == line


def test_where_less_is_better_the_sentence_says_so() -> None:
    record = difference("uar", 0.071, 0.004)
    line = comparison_line(record, words(record), higher_is_better=False)
    assert line.startswith(
        "A keeps its answer to a like image of another patient on 7.1 points more"
    )
    assert line.endswith("q = 0.004; less is better).")


def test_a_margin_that_is_not_shown_says_so_by_what_can_be_better() -> None:
    words = ComparedWords.share("uar", "UAR", "keeps its answer on")
    record = Measure(reader="a", measure="diff_uar", by={"versus": "b"}, value=0.1, n=9)
    worse = margin_line(record, words, 0.05, True)
    assert worse == "It is not shown that a is no more than 5.0 points worse than b in UAR."
    either = margin_line(record, words, 0.05, None)
    assert either == "It is not shown that a and b are within 5.0 points in UAR."
