"""Errors video by video: their means are the measures."""

from __future__ import annotations

import statistics

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.benchmark import Compared
from overread.benchmarks.heartbeat import Heartbeat
from overread.benchmarks.heartbeat.measures import HIGHER_IS_BETTER, measure
from support.heart_answers import found, rows, tables_of

COLUMNS = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
CORRECTED = Heartbeat.of_run("set@0", "open", words={"boot": "100"})
N = 12


def values(frame):
    assert dict(frame.schema) == COLUMNS
    return {(reader, case): value for reader, case, _, value in frame.iter_rows()}


def slow_error(said, truth):
    """Mean over seeds of |truth - mean of the parsed passes|, by video; pairs are (ed, es)."""
    out = {}
    for video, seeds in enumerate(said):
        for phase in (0, 1):
            offs = []
            for seed, passes in enumerate(seeds):
                there = [a[phase] for a in passes if isinstance(a, tuple)]
                if there:
                    offs.append(abs(truth[video][seed][phase] - statistics.fmean(there)))
            if offs:
                out[f"v{video:03d}", phase] = statistics.fmean(offs)
    return out


def slow_right(said, truth):
    """The share of seeds in which most parsed passes name the truth, of seeds with any reply."""
    out = {}
    for video, seeds in enumerate(said):
        hits = []
        for seed, passes in enumerate(seeds):
            if all(a == "unanswered" for a in passes):
                continue
            there = [a for a in passes if isinstance(a, int)]
            counts = {0: there.count(0), 1: there.count(1)}
            strange = len(there) - sum(counts.values())
            own = counts[truth[video][seed]]
            hits.append(own > max(counts[1 - truth[video][seed]], strange))
        if hits:
            out[f"v{video:03d}"] = statistics.fmean(hits)
    return out


@st.composite
def cubes(draw):
    videos, seeds, passes = (draw(st.integers(1, 4)) for _ in range(3))
    frame = st.integers(0, N - 1)
    pair = st.one_of(st.none(), st.sampled_from(["refused", "unanswered"]), st.tuples(frame, frame))
    vote = st.one_of(st.none(), st.just("unanswered"), st.integers(0, 2))

    def cube(of):
        line = st.lists(of, min_size=passes, max_size=passes)
        block = st.lists(line, min_size=seeds, max_size=seeds)
        return draw(st.lists(block, min_size=videos, max_size=videos))

    true = [[(draw(frame), draw(frame))] * seeds for _ in range(videos)]
    bits = [[draw(st.integers(0, 1)) for _ in range(seeds)] for _ in range(videos)]
    return cube(pair), true, cube(vote), bits


@given(cubes())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_as_the_definitions_read(made):
    pairs, true, votes, bits = made
    some = rows(pairs, true, wanted="edv_esv", count=N)
    some += rows(pairs, true, wanted="esv_edv", context="segmented", count=N)
    some += rows(votes, bits, wanted="esv", task="t2")
    frames = CORRECTED.per_case(tables_of(some))
    assert set(frames) == {"mae_ed", "mae_es", "accuracy_es"}
    errors = slow_error(pairs, true)
    for at, phase in enumerate(("ed", "es")):
        want = {("r", case): off for (case, which), off in errors.items() if which == at}
        assert values(frames[f"mae_{phase}"]) == pytest.approx(want)
    want = {("r", case): share for case, share in slow_right(votes, bits).items()}
    assert values(frames["accuracy_es"]) == pytest.approx(want)


@pytest.mark.parametrize(("edition", "name"), [("corrected", "mae"), ("authors", "mae_videos")])
def test_means_are_the_measures(edition, name):
    said = [
        [[(3, 9), None], [(4, 8), (5, 9)]],
        [[(1, 2), (1, 3)], [None, None]],
        [[(0, 0)] * 2] * 2,
    ]
    true = [[(2, 8)] * 2, [(4, 9)] * 2, [(1, 7)] * 2]
    bits = [[0, 1], [1, 1], [0, 0]]
    votes = [[[0, 0], [1, 1]], [[0, 1], [1, 1]], [[1, 1], [0, 0]]]
    tables = tables_of(
        rows(said, true, wanted="edv_esv", count=N) + rows(votes, bits, wanted="edv", task="t2")
    )
    bench = Heartbeat.of_run("set@0", "open", edition, {"boot": "100"})
    assert isinstance(bench, Compared)
    assert set(bench.higher_is_better) == set(HIGHER_IS_BETTER)
    measures = measure(tables, bench.rules)
    frames = bench.per_case(tables)
    setting = {"task": "t1", "context": "original", "format": "edv_esv"}
    for phase in ("ed", "es"):
        record = found(measures, name, reader="r", phase=phase, **setting)
        assert frames[f"mae_{phase}"]["value"].mean() == pytest.approx(record.value)
        assert frames[f"mae_{phase}"].height == record.n
    record = found(
        measures, "accuracy", reader="r", task="t2", context="original", format="edv", phase="ed"
    )
    assert frames["accuracy_ed"]["value"].mean() == pytest.approx(record.value)


def test_single_formats_stand_in_for_a_pair():
    some = rows([[[4]]], [[3]], wanted="edv") + rows([[[4]]], [[9]], wanted="esv")
    frames = CORRECTED.per_case(tables_of(some))
    assert {name: frame["value"].to_list() for name, frame in frames.items()} == {
        "mae_ed": [1.0],
        "mae_es": [5.0],
    }


def test_a_cluster_is_the_patient_or_the_video():
    some = rows([[[1]]] * 4, [[1]] * 4, count=N)
    tables = tables_of(some, patients=["p", "p", None, "v002"])
    a, b, c, d = CORRECTED.per_case(tables)["mae_ed"]["cluster"]
    assert a == b
    assert len({a, c, d}) == 3


def test_nothing_asked_nothing_compared():
    assert CORRECTED.per_case(tables_of([])) == {}
