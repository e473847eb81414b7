"""Laws that every registered metric keeps. A new metric gets these tests by its registry line."""

from __future__ import annotations

import random

import msgspec
import polars as pl
import pytest

from overread.benchmarks.benchmark import ReaderRecord
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.edition import CONDITIONS
from overread.benchmarks.registry import metrics
from overread.case import Measure

REGISTERED = [metric for name, metric in metrics() if name == "grounding"]
BY_NAME = pytest.mark.parametrize("metric", REGISTERED, ids=lambda metric: metric.name)
EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


def opened(edition: str, **words: str) -> Grounding:
    words = {"boot": "200", **words}
    return Grounding.of_run("made-up@0", "open", edition, words)


@pytest.fixture(scope="module")
def made(bench):
    """160 cases of 70 patients from four sources; two readers that answer in every way."""
    chance = random.Random(4)
    cases = []
    for i in range(160):
        source = chance.choice(["ms_cxr", "ms_cxr", "mimic_cxr", "rexerr"])
        facts = {"source": source, "subject_id": f"p{chance.randrange(70)}"}
        if source != "ms_cxr":
            facts |= {"box": None, "irrelevant_box": None, "label": chance.randrange(2)}
        if source == "mimic_cxr" and chance.random() < 0.3:
            facts |= {"finding": "no_finding", "label": 1}
        if source == "rexerr":
            facts |= {"error_sentence": "x", "error_present": facts["label"]}
        cases.append(bench.case(f"c{i}", **facts))
    answers = {
        reader: {
            condition: {
                case.case_id: chance.choice([1, 1, 1, 0, 0, -1, -2, -3])
                for case in cases
                if case.box is not None or condition in ("original", "swap")
            }
            for condition in CONDITIONS
        }
        for reader in ("one", "two")
    }
    return bench.tables(cases, answers)


def of(metric, records: list[Measure]) -> list[Measure]:
    return [record for record in records if record.measure == metric.name]


def bare(record: Measure) -> dict:
    return {**msgspec.structs.asdict(record), "reader": "", "by": str(record.by)}


def assert_same(one: list[Measure], other: list[Measure]) -> None:
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        assert bare(a) == pytest.approx(bare(b), abs=1e-12)


@pytest.fixture(scope="module")
def measured(made):
    return {edition: opened(edition).measure(made) for edition in ("corrected", "authors")}


@BY_NAME
@EDITIONS
def test_every_reader_gets_a_record(metric, edition, measured):
    assert {record.reader for record in of(metric, measured[edition])} == {"one", "two"}
    assert metric.says
    assert "original" in metric.needs


@BY_NAME
def test_the_order_of_cases_and_answers_does_not_matter(metric, made, measured):
    shuffled = msgspec.structs.replace(
        made,
        cases=made.cases.sample(fraction=1, shuffle=True, seed=1),
        answers=made.answers.sample(fraction=1, shuffle=True, seed=2),
    )
    assert_same(
        of(metric, measured["corrected"]), of(metric, opened("corrected").measure(shuffled))
    )
    # The authors' bounds depend on the order; what is counted does not.
    ours, theirs = of(metric, measured["authors"]), of(metric, opened("authors").measure(shuffled))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.value, a.k, a.n) == (b.value, b.k, b.n)


@BY_NAME
@EDITIONS
def test_names_do_not_matter(metric, edition, made, measured):
    def other(column: str) -> pl.Expr:
        return pl.lit("z-") + pl.col(column).str.reverse()

    renamed = msgspec.structs.replace(
        made,
        cases=made.cases.with_columns(case=other("case"), subject_id=other("subject_id")),
        answers=made.answers.with_columns(case=other("case"), reader=other("reader")),
        readers=tuple(ReaderRecord(name=f"z-{r.name[::-1]}") for r in made.readers),
    )
    assert_same(of(metric, measured[edition]), of(metric, opened(edition).measure(renamed)))


@BY_NAME
@EDITIONS
def test_a_reader_twice_is_measured_the_same_twice(metric, edition, made):
    one = made.answers.filter(pl.col("reader") == "one")
    twice = msgspec.structs.replace(
        made,
        answers=pl.concat([one, one.with_columns(reader=pl.lit("copy"))]),
        readers=(ReaderRecord(name="one"), ReaderRecord(name="copy")),
    )
    records = of(metric, opened(edition).measure(twice))
    half = len(records) // 2
    assert_same(records[:half], records[half:])


@BY_NAME
@EDITIONS
def test_intervals_hold_their_point(metric, edition, measured):
    for record in of(metric, measured[edition]):
        if record.low is not None:
            assert record.low - 1e-12 <= record.value <= record.high + 1e-12
            assert record.method
        if edition == "corrected" and record.low is not None:
            assert record.low < record.high


@BY_NAME
@EDITIONS
def test_a_rate_is_its_count(metric, edition, measured):
    for record in of(metric, measured[edition]):
        if record.k is not None and record.n:
            assert record.value == pytest.approx(record.k / record.n)
            assert 0 <= record.k <= record.n


@BY_NAME
@EDITIONS
def test_a_single_case(metric, edition, bench):
    tables = bench.tables([bench.case("c")], {"r": {c: {"c": 1} for c in CONDITIONS}})
    for record in of(metric, opened(edition).measure(tables)):
        if edition == "corrected":
            assert (record.low, record.high) == (None, None)
        assert record.value is not None or record.note or record.label


@BY_NAME
@EDITIONS
def test_without_its_condition_a_metric_is_null_with_a_reason(metric, edition, bench):
    for missing in metric.needs:
        answers = {c: {"c": 1, "d": 1} for c in CONDITIONS if c != missing}
        tables = bench.tables([bench.case("c"), bench.case("d")], {"r": answers})
        for record in of(metric, opened(edition).measure(tables)):
            if record.by and record.by["condition"] != missing:
                continue
            assert record.value is None
            assert (record.low, record.high, record.se, record.sd_boot) == (None,) * 4
            assert record.note or record.label == "indeterminate"


@BY_NAME
@EDITIONS
def test_a_reader_who_never_answered(metric, edition, bench):
    tables = bench.tables([bench.case("c")], {"r": {c: {"c": -3} for c in CONDITIONS}, "none": {}})
    for record in of(metric, opened(edition).measure(tables)):
        if record.measure == "parse_rate" and edition == "authors" and record.reader == "r":
            assert record.value == 0  # an error counts as unparsed there [D28]
        else:
            assert record.value is None
            assert record.note or record.label == "indeterminate"


@BY_NAME
@EDITIONS
def test_records_are_strict_json(metric, edition, measured):
    records = of(metric, measured[edition])
    assert b"NaN" not in msgspec.json.encode(records)
    assert msgspec.json.decode(msgspec.json.encode(records), type=list[Measure]) == records
