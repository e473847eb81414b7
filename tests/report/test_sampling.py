"""The sample a page embeds: flips and errors first, spread, and the same whatever the order."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.report import choose

ROWS = st.lists(
    st.tuples(
        st.integers(0, 15).map("c{}".format),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([True, False, None]),
        st.sampled_from([True, False, None]),
        st.sampled_from(["mass", "edema", None]),
    ),
    max_size=60,
    unique_by=lambda row: row[:2],
)
SCHEMA = {
    "case": pl.String,
    "reader": pl.String,
    "right": pl.Boolean,
    "flipped": pl.Boolean,
    "finding": pl.String,
}


def index_of(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def kind_of(case: str, rows: list[tuple[object, ...]]) -> str:
    own = [row for row in rows if row[0] == case]
    if any(row[3] is True for row in own):
        return "flips"
    return "errors" if any(row[2] is False for row in own) else "the rest"


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 20), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, n, seed, random) -> None:  # type: ignore[no-untyped-def]
    mixed = list(rows)
    random.shuffle(mixed)
    assert choose(index_of(rows), n, seed) == choose(index_of(mixed), n, seed)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 20))
def test_it_is_as_many_as_asked_for_flips_first_and_counted(rows, n) -> None:  # type: ignore[no-untyped-def]
    chosen, strata = choose(index_of(rows), n, 0)
    cases = {row[0] for row in rows}
    assert len(chosen) == len(set(chosen)) == min(n, len(cases))
    assert set(chosen) <= cases
    kinds = [kind_of(case, rows) for case in chosen]
    order = ["flips", "errors", "the rest"]
    assert kinds == sorted(kinds, key=order.index)
    there = Counter(kind_of(case, rows) for case in cases)
    shown = Counter(kinds)
    assert strata == [
        f"{kind}: {shown[kind]} of {there[kind]} shown" for kind in order if there[kind]
    ]


def many(cases: int = 400) -> pl.DataFrame:
    """Flips of one finding and one reader are frequent, those of others rare."""
    rows: list[tuple[object, ...]] = []
    for case in range(cases):
        finding = "mass" if case % 20 else "edema"
        for reader in ("a", "b"):
            flipped = case % 2 == 0 and (reader == "a" or case % 50 == 0)
            rows.append((f"c{case}", reader, case % 3 > 0, flipped, finding))
    return index_of(rows)


def test_each_kind_has_its_share_and_what_is_rare_is_seen() -> None:
    index = many()
    chosen, strata = choose(index, 40, 0)
    assert strata == [
        "flips: 20 of 200 shown", "errors: 12 of 67 shown", "the rest: 8 of 133 shown",
    ]  # fmt: skip
    flips = index.filter(pl.col("case").is_in(chosen[:20]) & pl.col("flipped"))
    assert flips["reader"].value_counts().height == 2
    assert Counter(flips.unique("case")["finding"])["edema"] >= 5
    assert flips.filter(pl.col("reader") == "b").height >= 4


def test_places_nobody_needs_go_to_the_others() -> None:
    rows = [(f"c{case}", "a", True, case == 0, "mass") for case in range(30)]
    chosen, strata = choose(index_of(list(rows)), 10, 0)
    assert chosen[0] == "c0"
    assert strata == ["flips: 1 of 1 shown", "the rest: 9 of 29 shown"]


def test_another_seed_is_another_sample() -> None:
    samples = {tuple(choose(many(), 20, seed)[0]) for seed in range(5)}
    assert len(samples) == 5


@pytest.mark.slow
def test_a_large_run_is_sampled_quickly() -> None:
    import time

    rows = [
        (
            f"c{case}",
            f"r{reader}",
            (case + reader) % 3 > 0,
            (case * reader) % 7 == 0,
            f"f{case % 14}",
        )
        for case in range(22_000)
        for reader in range(9)
    ]
    index = index_of(list(rows))
    start = time.perf_counter()
    chosen, _ = choose(index, 60, 0)
    assert len(chosen) == 60
    assert time.perf_counter() - start < 5
