"""Laws that every measure keeps, correlation with size, and values item by item."""

from __future__ import annotations

import json
import math
import time

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.medcmr import MedCMR
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS
from overread.benchmarks.medcmr.choice_measures import CHOICE_SPECS
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.medcmr.measures import COMPARED, measure, scale_measures
from overread.case import Measure
from overread.stats import fisher_interval, pearson
from support.med_odd_runs import odd_run
from support.med_runs import READERS, chosen_measures, random_run, slowly
from support.med_scores import scored_by, verdicts_of
from support.med_tables import (
    answer_schema,
    case_schema,
    chose,
    found,
    mcq,
    opened,
    tables_of,
    wrote,
)

# ---------------------------------------------------------------- measures
# Laws that every measure of multiple-choice replies keeps, and a loop that gives the same.

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


@pytest.mark.slow
@EDITIONS
@laws
@given(seed=seeds, n=sizes)
def test_a_loop_over_the_rows_gives_every_value(edition, seed, n):
    tables = random_run(seed, n)
    made = keyed(chosen_measures(tables, edition, PAIRED))
    slow = slowly(tables)
    plain = {which: plainly(record) for which, record in made.items()}
    assert {which for which, value in plain.items() if value is not None} == set(slow)
    for which, (value, count) in slow.items():
        assert plain[which] == pytest.approx(value, abs=1e-12), which
        assert made[which].n == count, which


def plainly(record):
    """The value before what chance gives was taken off."""
    if record.measure in ("survives", "ece") and record.beside is not None:
        return record.beside[0]
    return record.value


@pytest.mark.slow
@EDITIONS
@laws
@given(seed=seeds, n=sizes)
def test_every_record_is_in_order(edition, seed, n):
    for record in chosen_measures(random_run(seed, n), edition, PAIRED):
        if record.value is None:
            assert record.note, record
            assert record.low is record.high is record.p is None
            assert not record.k
            continue
        assert math.isfinite(record.value)
        if record.k is not None:
            assert record.value == record.k / record.n
        if record.low is None:
            assert record.high is None
            # What cannot be below 0 is tested, and no interval is claimed.
            tested = record.measure in ("position_bias", "ece") and record.p is not None
            assert record.note or record.measure == "chance" or tested, record
        else:
            assert record.low <= record.value <= record.high
            assert record.high - record.low > 1e-3, "no hairline at so few items"
            assert record.method
        if record.p is not None:
            assert 0 < record.p <= 1
            assert record.family
        low, high = {
            "diff_accuracy": (-1, 1),
            "image_effect": (-1, 1),
            "survives": (-math.inf, math.inf),
        }.get(record.measure, (0, 1))
        assert low <= record.value <= high
        assert record.low is None or (low <= record.low and record.high <= high)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    asked = {spec.name for spec in CHOICE_SPECS}
    assert asked <= {record.measure for record in made}
    for record in made:
        assert (record.p is None) == (record.q is None)
        if record.q is not None:
            assert record.p <= record.q <= 1


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


@pytest.mark.slow
def test_the_whole_set_is_measured_in_seconds():
    tables = _full(16_655, 3_999, 2)
    began = time.process_time()
    made = chosen_measures(tables, CORRECTED)
    assert time.process_time() - began < 20
    assert found(made, "accuracy", "r0").n == 16_655
    assert found(made, "accuracy_macro", "r0").method.startswith("variance by cluster")


# ---------------------------------------------------------------- scale
# Correlation with size: by hand, as scipy has it, and where there is none.

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))


def readers(*sizes: float | None) -> list[ReaderRecord]:
    return [ReaderRecord(name=f"r{at}", params_b=size) for at, size in enumerate(sizes)]


def scores(*values: float | None, measure: str = "accuracy", **by: str) -> list[Measure]:
    return [
        Measure(reader=f"r{at}", measure=measure, by=by, value=value)
        for at, value in enumerate(values)
    ]


def test_by_hand() -> None:
    # Each doubling adds a tenth: one line, whatever the base of the logarithm.
    records = scale_measures(scores(0.1, 0.2, 0.3, 0.4), readers(4, 8, 16, 32))
    r, rho = (
        found(records, name, "", of="accuracy", **{"with": "log_params"}) for name in ("r", "rho")
    )
    assert r.value == pytest.approx(1)
    assert (r.low, r.n) == (None, 4)
    assert (rho.value, rho.p, rho.method) == (1, 2 / 24, "p: exact")


def test_readers_without_a_size_or_a_value_do_not_count() -> None:
    records = scale_measures(scores(0.5, 0.2, 0.9, 0.3, None, 0.4), readers(7, 3, None, 30, 70, 70))
    r = found(records, "r", of="accuracy", **{"with": "log_params"})
    expected = stats.pearsonr([math.log(x) for x in (7, 3, 30, 70)], [0.5, 0.2, 0.3, 0.4])
    assert (r.value, r.n) == (pytest.approx(expected.statistic), 4)
    interval = expected.confidence_interval()
    assert (r.low, r.high) == (pytest.approx(interval.low), pytest.approx(interval.high))


def test_each_score_and_each_dimension_of_accuracy() -> None:
    sizes = readers(1, 2, 4)
    made = [
        *scores(0.1, 0.3, 0.2),
        *scores(0.1, 0.3, 0.2, dimension="SOD"),
        *scores(0.1, 0.3, 0.2, measure="truth"),
        *scores(0.1, 0.3, 0.2, measure="truth", dimension="SOD"),
        *scores(0.1, 0.3, 0.2, kind="mcq"),
        *scores(0.1, 0.3, 0.2, measure="ece"),
    ]
    found_ = {(one.by["of"], one.by.get("dimension")) for one in scale_measures(made, sizes)}
    assert found_ == {("accuracy", None), ("accuracy", "SOD"), ("truth", None)}


def test_what_has_no_correlation_has_no_number() -> None:
    assert scale_measures(scores(0.1, 0.2, 0.3), readers(None, None, None)) == []
    few = scale_measures(scores(0.1, 0.2, 0.3), readers(7, 8, None))
    assert [(one.value, one.n) for one in few] == [(None, 2)] * 2
    assert few[0].note == "needs 3 models with params_b and this score"
    alike = scale_measures(scores(0.1, 0.2, 0.3), readers(7, 7, 7))
    assert {one.note for one in alike} == {"sizes or scores do not vary"}
    assert {one.value for one in scale_measures(scores(0.2, 0.2, 0.2), readers(1, 2, 3))} == {None}
    three = found(
        scale_measures(scores(0.1, 0.3, 0.2), readers(1, 2, 3)), "r",
        of="accuracy", **{"with": "log_params"},
    )  # fmt: skip
    assert three.value is not None
    assert (three.low, three.high) == (None, None)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=12))
def test_pearson_as_scipy_has_it(pairs: list[tuple[float, float]]) -> None:
    x, y = ([pair[at] for pair in pairs] for at in (0, 1))
    assume(max(x) - min(x) > 0.01 and max(y) - min(y) > 0.01)
    found_ = pearson(x, y)
    assert found_ == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert found_ == pytest.approx(pearson(y, x))
    interval = fisher_interval(found_, len(x))
    assert interval is None or -1 <= interval[0] < found_ < interval[1] <= 1


# ---------------------------------------------------------------- per case
# Values item by item: what readers are compared by.

COLUMNS = ["reader", "case", "cluster", "value"]


def bench(edition="corrected", **words):
    return MedCMR.of_run("set@1", "open", edition, {"boot": "100", **words})


def slow_values(tables):
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
    frames, expected = bench().per_case(tables), slow_values(tables)
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


@pytest.mark.slow
def test_it_says_which_way_is_better():
    assert bench().compared
    assert bench().higher_is_better == {"accuracy": True, "score": True}
    assert set().union(*(bench().per_case(odd_run(seed)) for seed in range(8))) == {
        spec.name for spec in COMPARED
    }
