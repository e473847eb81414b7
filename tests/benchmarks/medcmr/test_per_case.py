"""Values item by item: what readers are compared by."""

from __future__ import annotations

import json

import msgspec
import polars as pl
import pytest

from overread.benchmarks.benchmark import Compared
from overread.benchmarks.medcmr import MedCMR
from overread.benchmarks.medcmr.per_case import HIGHER
from support.med_odd_runs import odd_run
from support.med_scores import scored_by, verdicts_of
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

COLUMNS = ["reader", "case", "cluster", "value"]


def bench(edition="corrected", **words):
    return MedCMR.of_run("set@1", "open", edition, {"boot": "100", **words})


def slowly(tables):
    """The frames as a loop: by name, the values by reader and case."""
    cases = {row["case"]: row for row in tables.cases.to_dicts()}
    readers = [one.name for one in tables.readers]
    own = {
        (row["reader"], row["case"]): row
        for row in tables.answers.to_dicts()
        if row["image"] == "original" and not row["order"] and row["form"] != "reformulated"
    }
    values = {"accuracy": {}, "score": {}}
    for reader in readers:
        for name, case in cases.items():
            row = own.get((reader, name))
            if case["kind"] == "mcq":
                right = row is not None and row["outcome"] == "answered"
                values["accuracy"][reader, name] = float(right and row["choice"] == case["answer"])
    verdicts = [
        row
        for row in tables.verdicts.to_dicts()
        if not row["check"] and json.loads(row["about"])["image"] == "original"
    ]
    everyone = {row["judge"] for row in verdicts}
    panels = []
    for reader in readers:
        asked = [own[reader, name] for name in cases if cases[name]["kind"] == "open"]
        mine = {row["judge"] for row in verdicts if row["reader"] == reader}
        panels.append(mine or (everyone if all(map(silent, asked)) else set()))
    common = set.intersection(*(panel for panel in panels if panel)) if any(panels) else set()
    for reader, panel in zip(readers, panels, strict=True):
        for name in cases if panel and common else ():
            if cases[name]["kind"] != "open":
                continue
            given = [
                sum(json.loads(row["payload"]).values()) / 10
                for row in verdicts
                if (row["reader"], row["case"]) == (reader, name)
                and row["judge"] in common
                and row["payload"] is not None
            ]
            if silent(own[reader, name]):
                values["score"][reader, name] = 0.0
            elif given:
                values["score"][reader, name] = sum(given) / len(given)
    return {name: some for name, some in values.items() if some}


def silent(row):
    return row["outcome"] in ("refused", "unanswered") or not (row["text"] or "").strip()


@pytest.mark.parametrize("seed", range(8))
def test_every_value_is_what_a_loop_finds(seed):
    tables = odd_run(seed)
    frames, expected = bench().per_case(tables), slowly(tables)
    assert set(frames) == set(expected)
    for name, frame in frames.items():
        assert frame.columns == COLUMNS
        made = {(row[0], row[1]): row[3] for row in frame.iter_rows()}
        assert made == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_over_items_is_the_measure(seed):
    tables = odd_run(seed)
    records = bench().measure(tables)
    means = bench().per_case(tables)["accuracy"].group_by("reader").agg(pl.col("value").mean())
    for reader, mean in means.iter_rows():
        assert found(records, "accuracy", reader).value == pytest.approx(mean)


def test_items_that_share_an_image_or_a_patient_are_one_cluster():
    cases = [
        mcq(1, images=["a.png"]),
        mcq(2, images=["a.png", "b.png"]),
        mcq(3, images=["c.png"], patient="p"),
        mcq(4, images=["d.png"], patient="p"),
        mcq(5),
    ]
    tables = tables_of(cases, [chose("r", i, "A") for i in range(1, 6)])
    clusters = bench().per_case(tables)["accuracy"]["cluster"].to_list()
    assert clusters == ["item:mcq-1", "item:mcq-1", "item:mcq-3", "item:mcq-3", "item:mcq-5"]
    apart = bench("authors").per_case(tables)["accuracy"]["cluster"]
    assert apart.to_list() == [f"item:mcq-{i}" for i in range(1, 6)]


def test_nobody_is_compared_across_judges():
    tables = tables_of([opened(1)], [wrote("a", 1), wrote("b", 1)])
    apart = [scored_by("j", "a", 1, (1, 1, 4, 4)), scored_by("k", "b", 1, (1, 1, 4, 4))]
    assert bench().per_case(msgspec.structs.replace(tables, verdicts=verdicts_of(apart))) == {}
    both = [*apart, scored_by("j", "b", 1, (0, 0, 0, 0))]
    frames = bench().per_case(msgspec.structs.replace(tables, verdicts=verdicts_of(both)))
    assert frames["score"]["value"].to_list() == [1.0, 0.0]


def test_without_answers_or_judges_there_is_nothing_to_compare():
    assert set(bench().per_case(odd_run(0, judged=False))) == {"accuracy"}
    assert bench().per_case(tables_of([mcq(1), opened(1)], [], ["r"])) == {}
    empty = msgspec.structs.replace(odd_run(0), verdicts=verdicts_of([]))
    assert set(bench().per_case(empty)) == {"accuracy"}


def test_it_says_which_way_is_better():
    assert isinstance(bench(), Compared)
    assert bench().higher_is_better == HIGHER
    assert set().union(*(bench().per_case(odd_run(seed)) for seed in range(8))) == set(HIGHER)
