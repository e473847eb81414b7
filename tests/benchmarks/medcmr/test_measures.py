"""Laws that every measure of multiple-choice replies keeps, and a loop that gives the same."""

from __future__ import annotations

import math
import time

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.benchmark import ReaderRecord, Tables
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.medcmr.measures import METRICS, measure
from overread.benchmarks.medcmr.schemas import answer_schema, case_schema
from overread.benchmarks.medcmr.vocabulary import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS
from support.med_runs import READERS, chosen_measures, random_run, slowly
from support.med_tables import chose, found, mcq, tables_of

QUICK = [msgspec.structs.replace(edition, boot=200) for edition in (AUTHORS, CORRECTED)]
OURS = QUICK[1]
EDITIONS = pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
PAIRED = Options(pairs=(("one", "two"),))
laws = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 10_000)
sizes = st.integers(1, 12)


def key(record):
    return record.reader, record.measure, tuple(sorted(record.by.items()))


def keyed(records):
    made = {key(record): record for record in records}
    assert len(made) == len(records), "a record comes twice"
    return made


def numbers(record):
    return {
        field: getattr(record, field)
        for field in ("value", "n", "k", "se", "sd_boot", "low", "high", "p", "q")
    }


def assert_same(one, two):
    assert keyed(one).keys() == keyed(two).keys()
    for which, record in keyed(one).items():
        assert numbers(record) == numbers(keyed(two)[which]), which


@EDITIONS
@laws
@given(seed=seeds, n=sizes)
def test_a_loop_over_the_rows_gives_every_value(edition, seed, n):
    tables = random_run(seed, n)
    made = keyed(chosen_measures(tables, edition, PAIRED))
    slow = slowly(tables)
    assert {which for which, record in made.items() if record.value is not None} == set(slow)
    for which, (value, count) in slow.items():
        assert made[which].value == pytest.approx(value, abs=1e-12), which
        assert made[which].n == count, which


@EDITIONS
@laws
@given(seed=seeds, n=sizes)
def test_every_record_is_in_order(edition, seed, n):
    for record in chosen_measures(random_run(seed, n), edition, PAIRED):
        if record.value is None:
            assert record.note, record
            assert record.low is record.high is record.p is record.k is None
            continue
        assert math.isfinite(record.value)
        if record.k is not None:
            assert record.value == record.k / record.n
        if record.low is None:
            assert record.high is None
            assert record.note or record.measure == "chance", record
        else:
            assert record.low <= record.value <= record.high
            assert record.high - record.low > 1e-3, "no hairline at so few items"
            assert record.method
        if record.p is not None:
            assert 0 < record.p <= 1
            assert record.family
        low, high = {"diff_accuracy": (-1, 1), "survives": (0, math.inf)}.get(
            record.measure, (0, 1)
        )
        assert low <= record.value <= high
        assert record.low is None or (low <= record.low and record.high <= high)


@EDITIONS
@laws
@given(seed=seeds, n=sizes, other=seeds)
def test_the_order_of_rows_does_not_matter(edition, seed, n, other):
    tables = random_run(seed, n)

    def shuffled(frame):
        return frame.sample(fraction=1, shuffle=True, seed=other)

    mixed = msgspec.structs.replace(
        tables, cases=shuffled(tables.cases), answers=shuffled(tables.answers)
    )
    assert_same(chosen_measures(tables, edition, PAIRED), chosen_measures(mixed, edition, PAIRED))


@laws
@given(seed=seeds, n=sizes)
def test_names_of_items_images_and_readers_do_not_matter(seed, n):
    tables = random_run(seed, n)
    told = {"one": "z", "two": "a", "three": "m"}
    other = msgspec.structs.replace(
        tables,
        cases=tables.cases.with_columns(
            pl.col("case") + "?",
            pl.col("images").list.eval("x/" + pl.element()),
            pl.col("patient") + "!",
        ),
        answers=tables.answers.with_columns(
            pl.col("case") + "?", pl.col("reader").replace_strict(told)
        ),
        readers=tuple(ReaderRecord(name=told[reader.name]) for reader in tables.readers),
    )
    before = chosen_measures(tables, OURS, PAIRED)
    after = chosen_measures(other, OURS, Options(pairs=(("z", "a"),)))
    renamed = [
        msgspec.structs.replace(
            record,
            reader=told.get(record.reader, record.reader),
            by={name: told.get(value, value) for name, value in record.by.items()},
        )
        for record in before
    ]
    assert_same(renamed, after)


@laws
@given(seed=seeds, n=sizes)
def test_the_macro_mean_is_the_mean_of_the_dimensions(seed, n):
    made = chosen_measures(random_run(seed, n), OURS)
    for record in made:
        if record.measure != "accuracy_macro" or record.value is None:
            continue
        parts = [
            other.value
            for other in made
            if other.measure == "accuracy"
            and other.reader == record.reader
            and {**record.by, "dimension": other.by.get("dimension")} == other.by
        ]
        assert record.value == pytest.approx(sum(parts) / len(parts), abs=1e-12)


@laws
@given(seed=seeds, n=sizes)
def test_shares_of_outcomes_and_letters_add_up(seed, n):
    made = chosen_measures(random_run(seed, n), OURS)
    for reader in READERS:
        letters = [r for r in made if r.measure == "position_share" and r.reader == reader]
        if letters and letters[0].n:
            assert sum(record.k for record in letters) == letters[0].n
        rates = [
            found(made, name, reader, kind="mcq")
            for name in ("invalid_rate", "refused_rate", "unanswered_rate")
        ]
        assert sum(rate.k for rate in rates) <= rates[0].n


@laws
@given(seed=seeds, n=sizes)
def test_the_other_way_round_a_difference_changes_its_sign(seed, n):
    tables = random_run(seed, n)
    turned = msgspec.structs.replace(tables, readers=tables.readers[::-1])
    one = found(chosen_measures(tables, OURS), "diff_accuracy", "one", versus="two")
    two = found(chosen_measures(turned, OURS), "diff_accuracy", "two", versus="one")
    assert (one.value, one.p, one.n) == (-two.value, two.p, two.n)


def test_measure_has_every_metric_and_q_in_every_family():
    made = measure(random_run(1, 40), None, OURS, PAIRED)
    keyed(made)
    asked = {name for name in METRICS if METRICS[name].make.__module__.split(".")[-1] in PARTS}
    assert asked <= {record.measure for record in made}
    for record in made:
        assert (record.p is None) == (record.q is None)
        if record.q is not None:
            assert record.p <= record.q <= 1


PARTS = ("accuracy", "invalid", "coverage", "positions", "probabilities", "dependence")


def test_a_run_without_multiple_choice_items_has_none_of_their_numbers():
    tables = tables_of([], [], ["one"])
    made = [r for r in chosen_measures(tables, OURS) if r.value is not None]
    assert made == []


def test_items_of_one_image_are_drawn_together():
    # Ten images with four items each, all four right or all four wrong: ten facts, not forty.
    cases = [mcq(index, images=[f"{index // 4}.png"]) for index in range(40)]
    answers = [chose("one", index, "AB"[index // 4 % 2]) for index in range(40)]
    tables = tables_of(cases, answers)
    alone, together = (
        found(chosen_measures(tables, edition), "accuracy", "one") for edition in QUICK
    )
    assert (alone.value, alone.n) == (together.value, together.n) == (0.5, 40)
    assert together.high - together.low > 1.7 * (alone.high - alone.low)
    assert alone.method == "wilson"
    assert "design effect" in together.method


def test_a_patient_ties_items_of_different_images():
    cases = [mcq(index, patient=f"p{index // 4}") for index in range(40)]
    answers = [chose("one", index, "AB"[index // 4 % 2]) for index in range(40)]
    made = found(chosen_measures(tables_of(cases, answers), OURS), "accuracy", "one")
    assert "design effect" in made.method


def _full(n_mcq, n_open, readers):
    draw = np.random.default_rng(0)

    def of(names, n):
        return np.array(list(names))[draw.integers(0, len(names), n)]

    def cases(kind, n):
        dimension = of(DIMENSIONS, n)
        told = {
            "case": [f"{kind}-{index}" for index in range(n)],
            "index": np.arange(n),
            "kind": [kind] * n,
            "images": [[f"{image}.png"] for image in draw.integers(0, 60_000, n)],
            "options": [["a", "bb", "ccc", "dd", "e"] if kind == "mcq" else []] * n,
            "answer": of("ABCDE", n),
            "dimension": dimension,
            "subtype": [f"{one}{two}" for one, two in zip(dimension, of("12345", n), strict=True)],
            "ability": of(ABILITIES, n),
            "modality": of(MODALITIES, n),
            "system": of(SYSTEMS, n),
        }
        return pl.DataFrame({c: told.get(c, [None] * n) for c in case_schema()}, case_schema())

    every = pl.concat([cases("mcq", n_mcq), cases("open", n_open)])
    true = every.filter(pl.col("kind") == "mcq")["answer"].to_numpy()
    answers = []
    for reader in range(readers):
        choice = np.where(draw.random(n_mcq) < 0.4, true, of("ABCDE", n_mcq))
        told = {
            "reader": [f"r{reader}"] * n_mcq,
            "case": [f"mcq-{index}" for index in range(n_mcq)],
            "form": ["mcq"] * n_mcq,
            "image": ["original"] * n_mcq,
            "order": np.zeros(n_mcq, np.int8),
            "outcome": ["answered"] * n_mcq,
            "choice": choice,
            "shown": choice,
        }
        schema = {"reader": pl.String, **answer_schema()}
        answers.append(pl.DataFrame({c: told.get(c, [None] * n_mcq) for c in schema}, schema))
    names = tuple(ReaderRecord(name=f"r{reader}") for reader in range(readers))
    return Tables(cases=every, answers=pl.concat(answers), readers=names)


def test_the_whole_set_is_measured_in_seconds():
    tables = _full(16_655, 3_999, 2)
    began = time.process_time()
    made = chosen_measures(tables, CORRECTED)
    assert time.process_time() - began < 20
    assert found(made, "accuracy", "r0").n == 16_655
    assert found(made, "accuracy_macro", "r0").method.startswith("bootstrap of items:10000:0")
