"""The authors' own numbers from the authors' own records, to the ninth digit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from overread.benchmarks.heartbeat.authors.measures import (
    binary,
    stops,
    truncated_vote,
)
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.importing import import_results
from overread.benchmarks.heartbeat.marks import (
    aggregate,
    facts_of,
    marks_of,
    mean_over,
    pearson,
    spread_of,
)
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.pair_measures import majority
from support.heart_answers import found, rows, tables_of

GOLDEN = Path(__file__).parents[2] / "golden" / "heartbeat"
EDGES = json.loads((GOLDEN / "echo_edge_cases.json").read_text("utf-8"))
NAMES = {"ed": "EDV", "es": "ESV"}
FOLDERS = {
    task: sorted(path.name for path in GOLDEN.glob(f"echo_{task}_*") if path.is_dir())
    for task in ("t1", "t2")
}
SETTINGS = {
    task: [
        (folder, wanted)
        for folder in folders
        for wanted in json.loads((GOLDEN / folder / "expected.json").read_text())["expected"]
    ]
    for task, folders in FOLDERS.items()
}


@cache
def expected(folder):
    return json.loads((GOLDEN / folder / "expected.json").read_text("utf-8"))["expected"]


@cache
def imported(folder, edition):
    return import_results(None, GOLDEN / folder, edition=edition)


@cache
def measured(folder, edition):
    parts = imported(folder, edition)
    return parts.benchmark.measure(parts.tables)


@cache
def marks(folder, wanted):
    tables = imported(folder, "authors").tables
    (one,) = (m for m in marks_of(tables.answers, facts_of(tables.cases)) if m.format == wanted)
    return one


def record(folder, edition, name, wanted, phase):
    task, context = folder.split("_", 2)[1:]
    by = {"task": task, "context": context, "format": wanted, "phase": phase}
    return found(measured(folder, edition), name, **by)


def close(value):
    """To 1e-9, of the value where it is large."""
    return None if value is None else pytest.approx(value, abs=1e-9, rel=1e-9)


def test_the_golden_sets_are_there():
    assert FOLDERS["t1"]
    assert FOLDERS["t2"]


# ---------------------------------------------------------------- T1


@pytest.mark.parametrize(("folder", "wanted"), SETTINGS["t1"])
def test_every_seed_of_the_frame_task(folder, wanted):
    here = marks(folder, wanted)
    for seed, row in enumerate(expected(folder)[wanted]["per_seed"]):
        for phase in here.phases:
            plain = mean_over(here.said[phase], axis=2)[:, seed]
            want = row[f"aggregated_pred_{NAMES[phase].lower()}"]
            assert [None if np.isnan(x) else x for x in plain] == [close(x) for x in want]
            assert (~np.isnan(plain)).sum() == row[f"n_videos_with_{NAMES[phase].lower()}"]
            cut = aggregate(here.said[phase], "truncated")[:, seed]
            truth = here.truth[phase][:, seed]
            metrics = row["metrics"][NAMES[phase]]
            assert np.nanmean(np.abs(cut - truth)) == close(metrics["MAE"])
            r = pearson(cut, truth, least=2)
            assert (None if r is None else r * r) == close(metrics["R2_corr"])


@pytest.mark.parametrize(("folder", "wanted"), SETTINGS["t1"])
def test_mean_and_spread_over_the_seeds(folder, wanted):
    across = expected(folder)[wanted]["across_seeds"]
    assert across
    for name, want in across.items():
        phase = next(p for p, word in NAMES.items() if name.startswith(word))
        measure_name = {"MAE": "mae", "R2_corr": "r2"}[name.partition("_")[2]]
        got = record(folder, "authors", measure_name, wanted, phase)
        assert got.value == close(want["mean"])
        assert got.sd_seeds == close(want["sd_ddof1"])


@pytest.mark.parametrize(("folder", "wanted"), SETTINGS["t1"])
def test_mean_and_spread_over_the_videos(folder, wanted):
    across = expected(folder)[wanted]["across_videos_OURS"]
    assert across
    for name, want in across.items():
        word, _, how = name.partition("_")
        phase = next(p for p, known in NAMES.items() if known == word)
        if how == "truncated":
            got = record(folder, "authors", "mae_videos", wanted, phase)
            same = record(folder, "authors", "mae", wanted, phase)
            assert same.sd_videos == close(want["sd_ddof1"])
        else:
            got = record(folder, "corrected", "mae", wanted, phase)
        assert got.value == close(want["mean"])
        assert got.sd_videos == close(want["sd_ddof1"])
        assert got.n == want["n_videos"]
        edition = "truncated" if how == "truncated" else "plain"
        here = marks(folder, wanted)
        each = mean_over(np.abs(aggregate(here.said[phase], edition) - here.truth[phase]), axis=1)
        numbers = [int(case.rpartition("-")[2]) for case in here.facts.cases]
        got_each = {str(n): x for n, x in zip(numbers, each, strict=True) if not np.isnan(x)}
        assert got_each == {n: close(x) for n, x in want["per_video"].items()}


# ---------------------------------------------------------------- T2


@pytest.mark.parametrize(("folder", "wanted"), SETTINGS["t2"])
def test_every_seed_of_the_pair_task(folder, wanted):
    here = marks(folder, wanted)
    (phase,) = here.phases
    votes = truncated_vote(here.said[phase])
    for seed, row in enumerate(expected(folder)[wanted]["per_seed"]):
        plain = mean_over(here.said[phase], axis=2)[:, seed]
        assert [None if np.isnan(x) else x for x in plain] == [
            close(x) for x in row["aggregated_pred"]
        ]
        assert here.truth[phase][:, seed].tolist() == row["gt"]
        got, want = binary(votes[:, seed], here.truth[phase][:, seed]), row["metrics"]
        assert got.n == want["n_samples"]
        for name in ("accuracy", "precision", "recall", "f1"):
            assert getattr(got, name) == close(want[name]), name
        assert {k: getattr(got, k) for k in ("tn", "fp", "fn", "tp")} == want["confusion_matrix"]


@pytest.mark.parametrize(("folder", "wanted"), SETTINGS["t2"])
def test_accuracy_over_the_seeds(folder, wanted):
    want = expected(folder)[wanted]["across_seeds"]
    got = record(folder, "authors", "accuracy", wanted, wanted[:2])
    assert got.value == close(want["mean"])
    assert got.sd_seeds == close(want["sd_ddof1"])


# ---------------------------------------------------------------- edge cases


def edge(case, task):
    """Hand-made passes of one seed as answers to `edv`."""
    said = [[passes] for passes in case["passes"]]
    truth = [[true] for true in case["truth"]]
    return tables_of(rows(said, truth, task=task, count=1000))


@pytest.mark.parametrize("name", EDGES["T1"])
def test_edge_cases_of_the_frame_task(name):
    case = EDGES["T1"][name]
    got = measure(edge(case, "t1"), AUTHORS)
    by = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
    mae, r2 = found(got, "mae", **by), found(got, "r2", **by)
    result = case["result"]
    if result is None or "raises" in result:
        assert mae.value is None
        assert r2.value is None
        assert mae.note
        assert r2.note
        return
    want = result["frame_errors"]["EDV"]
    assert mae.value == close(want["MAE"])
    assert r2.value == close(want["R2_corr"])
    assert r2.value is not None or r2.note


@pytest.mark.parametrize("name", EDGES["T2"])
def test_edge_cases_of_the_pair_task(name):
    case = EDGES["T2"][name]
    by = {"task": "t2", "context": "original", "format": "edv", "phase": "ed"}
    got = measure(edge(case, "t2"), AUTHORS)
    accuracy = found(got, "accuracy", **by)
    if "raises" in case["result"]:
        assert accuracy.value is None
        assert "stops" in accuracy.note
    else:
        want = case["result"]["binary_metrics"]
        assert accuracy.value == close(want["accuracy"])
        assert accuracy.n == want["n_samples"]
        for word in ("precision", "recall", "f1"):
            assert found(got, word, **by).value == close(want[word])


@pytest.mark.parametrize("name", EDGES["T2"])
def test_majority_instead_of_truncation(name):
    case = EDGES["T2"][name]
    said = np.array([[[np.nan if x is None else x for x in p]] for p in case["passes"]], float)
    votes = [None if np.isnan(x) else x for x in majority(said)[:, 0]]
    assert votes == case["majority_vote_OURS"]
    by = {"task": "t2", "context": "original", "format": "edv", "phase": "ed"}
    got = found(measure(edge(case, "t2"), CORRECTED), "accuracy", **by)
    assert got.value == close(case["majority_accuracy_OURS"])


def test_a_seed_that_stops_their_code_is_said_not_guessed():
    votes = truncated_vote(np.array([[[2.0]], [[1.0]]]))
    assert stops(votes).tolist() == [True]
    assert spread_of(np.array([1.0])) is None
