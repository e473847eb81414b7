"""Laws that every registered metric keeps. A new metric gets these tests by its registry line."""

from __future__ import annotations

import random

import msgspec
import polars as pl
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.conditions import PAPER as CONDITIONS
from overread.case import Measure, Traits
from support.registered import metrics

REGISTERED = [metric for name, metric in metrics() if name == "grounding"]
# The conditions without which a measure is null; the others need the original alone.
MASKS = ("target_mask", "irrelevant_mask")
NEEDS = {
    "cgr": ("original", "target_mask"),
    "uar": ("original", "swap"),
    "is": ("original", "irrelevant_mask"),
    "is_all": ("original", "irrelevant_mask"),
    "gsp": ("original", *MASKS),
    "image_contingent": ("original", "swap"),
    "swap_consistency": ("original", "swap"),
    "category": CONDITIONS,
    "rexerr_sensitivity": ("original", "swap"),
    "gap_cgr": ("original", "target_mask"),
    "gap_uar": ("original", "swap"),
}
COVERAGE = ("answered", "unparsed", "refused", "unanswered")
BY_NAME = pytest.mark.parametrize("metric", REGISTERED, ids=lambda metric: metric.name)
EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


def opened(edition: str, **words: str) -> Grounding:
    words = {"boot": "200", **words}
    return Grounding.of_run("made-up@0", "open", edition, words)


IMAGES = (
    *CONDITIONS,
    "blank",
    "target_blur",
    "irrelevant_blur",
    "matched_1",
    "matched_2",
    "repeat",
)
READERS = {
    "one": Traits(),
    "two": Traits(),
    "eyeless": Traits(modality="text"),
    "wordless": Traits(modality="vision"),
}


@pytest.fixture(scope="module")
def made(bench):
    """240 cases of 90 patients from three sources; four readers that answer in every way."""
    chance = random.Random(4)
    cases = []
    for i in range(240):
        source = chance.choice(["ms_cxr", "ms_cxr", "mimic_cxr", "rexerr"])
        patient = chance.randrange(90)
        facts = {
            "source": source,
            "subject_id": f"p{patient}",
            "gender": "MF"[patient % 2],
            "view": chance.choice(["PA", "AP"]),
            "age": 20.0 + patient,
            "finding": chance.choice(["edema", "pneumonia"]),
            "swap_match": chance.choice(["label", "label", "any", None]),
        }
        if source != "ms_cxr":
            facts |= {"box": None, "irrelevant_box": None, "label": chance.randrange(2)}
        if source == "mimic_cxr" and chance.random() < 0.3:
            facts |= {"finding": "no_finding", "label": 1}
        if source == "rexerr":
            wrong = chance.choice(["Add typo", "Change location", "change_view"])
            facts |= {"error_sentence": "x", "error_present": facts["label"], "error_type": wrong}
        cases.append(bench.case(f"c{i}", **facts))
    answers = {
        reader: {
            image: {
                case.case_id: chance.choice([1, 1, 1, 0, 0, -1, -2, -3])
                for case in cases
                if case.box is not None or image in ("original", "swap", "blank", "repeat")
            }
            for image in IMAGES
        }
        for reader in READERS
    }
    sure = {case.case_id: chance.random() for case in cases}
    return bench.tables(cases, answers, READERS, p_yes=sure)


def of(metric, records: list[Measure]) -> list[Measure]:
    return [record for record in records if record.measure == metric.name]


def bare(record: Measure) -> dict:
    """What a record says, but for names."""
    said = {**msgspec.structs.asdict(record), "reader": "", "family": "", "by": str(record.by)}
    said |= {"how": str(record.how), "left_out": str(record.left_out), "beside": ""}
    said |= {"as_wrong": str(record.as_wrong), "flags": str(record.flags)}
    if record.measure == "text_gap":
        said["note"] = ""
    return said


def assert_same(one: list[Measure], other: list[Measure]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert bare(a) == pytest.approx(bare(b), abs=1e-12)


@pytest.fixture(scope="module")
def measured(made):
    return in_both(made)


def in_both(tables: Tables) -> dict[str, list[Measure]]:
    """All records of the tables, by edition: measured once, looked at metric by metric."""
    return {edition: opened(edition).measure(tables) for edition in ("corrected", "authors")}


@BY_NAME
@EDITIONS
def test_every_reader_gets_a_record(metric, edition, measured):
    found = {record.reader for record in of(metric, measured[edition])}
    if metric.name.startswith(
        ("diff_", "text_gap")
    ):  # one reader against another: which of the two is first is a matter of names
        assert found <= set(READERS)
        assert found or metric.name in ("diff_cgr", "diff_is")  # fewer than ten shared cases
    else:
        assert found == set(READERS)
    assert metric.says


@pytest.fixture(scope="module")
def shuffled(made):
    return in_both(
        msgspec.structs.replace(
            made,
            cases=made.cases.sample(fraction=1, shuffle=True, seed=1),
            answers=made.answers.sample(fraction=1, shuffle=True, seed=2),
        )
    )


@BY_NAME
def test_the_order_of_cases_and_answers_does_not_matter(metric, measured, shuffled):
    assert_same(of(metric, measured["corrected"]), of(metric, shuffled["corrected"]))
    # The authors' bounds depend on the order; what is counted does not.
    ours, theirs = of(metric, measured["authors"]), of(metric, shuffled["authors"])
    for a, b in zip(ours, theirs, strict=True):
        assert (a.k, a.n, a.by) == (b.k, b.n, b.by)
        assert a.value == (None if b.value is None else pytest.approx(b.value, abs=1e-12))


@pytest.fixture(scope="module")
def renamed(made):
    def other(column: str) -> pl.Expr:
        return pl.lit("z-") + pl.col(column).str.reverse()

    return in_both(
        msgspec.structs.replace(
            made,
            cases=made.cases.with_columns(case=other("case"), subject_id=other("subject_id")),
            answers=made.answers.with_columns(case=other("case"), reader=other("reader")),
            readers=tuple(
                ReaderRecord(name=f"z-{r.name[::-1]}", traits=r.traits) for r in made.readers
            ),
        )
    )


@BY_NAME
@EDITIONS
def test_names_do_not_matter(metric, edition, measured, renamed):
    if metric.name.startswith("diff_"):
        return  # the alphabet decides which reader of a pair is the first
    assert_same(of(metric, measured[edition]), of(metric, renamed[edition]))


@pytest.fixture(scope="module")
def twice(made):
    one = made.answers.filter(pl.col("reader") == "one")
    return in_both(
        msgspec.structs.replace(
            made,
            answers=pl.concat([one, one.with_columns(reader=pl.lit("copy"))]),
            readers=(ReaderRecord(name="one"), ReaderRecord(name="copy")),
        )
    )


@BY_NAME
@EDITIONS
def test_a_reader_twice_is_measured_the_same_twice(metric, edition, twice):
    records = of(metric, twice[edition])
    if metric.name.startswith("diff_"):
        assert all(record.value == 0 and record.p == 1 for record in records)
        return
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


@pytest.fixture(scope="module")
def of_one_case(bench):
    return in_both(bench.tables([bench.case("c")], {"r": {c: {"c": 1} for c in CONDITIONS}}))


@BY_NAME
@EDITIONS
def test_a_single_case(metric, edition, of_one_case):
    for record in of(metric, of_one_case[edition]):
        if edition == "corrected":
            assert (record.low, record.high) == (None, None), record
        assert record.value is not None or record.note or record.label


@pytest.fixture(scope="module")
def without(bench):
    """Two cases of a reader who was not asked under one condition, by that condition."""

    def but(missing: str) -> Tables:
        answers = {c: {"c": 1, "d": 1} for c in CONDITIONS if c != missing}
        return bench.tables([bench.case("c"), bench.case("d")], {"r": answers})

    return {missing: in_both(but(missing)) for missing in CONDITIONS}


@BY_NAME
@EDITIONS
def test_without_its_condition_a_metric_is_null_with_a_reason(metric, edition, without):
    for missing in NEEDS.get(metric.name, ("original",)):
        for record in of(metric, without[missing][edition]):
            if record.by.get("condition", missing) != missing:
                continue
            assert record.value is None
            assert (record.low, record.high, record.se, record.sd_boot) == (None,) * 4
            assert record.note or record.label in ("indeterminate", "insufficient")


@pytest.fixture(scope="module")
def unanswered(bench):
    silent = {"r": {c: {"c": -3} for c in CONDITIONS}, "none": {}}
    return in_both(bench.tables([bench.case("c")], silent))


@BY_NAME
@EDITIONS
def test_a_reader_who_never_answered(metric, edition, unanswered):
    for record in of(metric, unanswered[edition]):
        if record.measure == "parse_rate" and edition == "authors" and record.reader == "r":
            assert record.value == 0  # an error counts as unparsed there [D28]
        elif record.measure in COVERAGE and record.n:
            assert record.value == (record.measure == "unanswered")
        else:
            assert record.value is None
            assert record.note or record.label in ("indeterminate", "insufficient")


@BY_NAME
@EDITIONS
def test_records_are_strict_json(metric, edition, measured):
    records = of(metric, measured[edition])
    assert b"NaN" not in msgspec.json.encode(records)
    assert msgspec.json.decode(msgspec.json.encode(records), type=list[Measure]) == records
