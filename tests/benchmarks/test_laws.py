"""Laws that every measure of every benchmark keeps, under both editions, over one small run each.

A new measure, and a new benchmark, gets these tests by being registered.
"""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

import msgspec
import polars as pl
import pytest

from overread.case import Figure, Measure
from overread.report.comparing import differences
from overread.report.gate.weighing import weigh_bound
from support.law_runs import RUNS, by_key, replace

EDITIONS = ("corrected", "authors")
EVERY = pytest.mark.parametrize(
    ("name", "edition"), [(name, edition) for name in RUNS for edition in EDITIONS]
)
# What is counted, whatever the draws.
COUNTS = ("value", "n", "k", "label", "left_out", "as_wrong", "flags")


def check_same(one: Measure, two: Measure, fields: tuple[str, ...] = COUNTS) -> None:
    """Equal but for the rounding of sums that are added up in another order."""
    for field in fields:
        a, b = getattr(one, field), getattr(two, field)
        near = isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, abs_tol=1e-9)
        assert near or a == b, (one.reader, one.measure, one.by, field, a, b)


def shuffled(frame: pl.DataFrame | None, seed: int) -> pl.DataFrame | None:
    return None if frame is None else frame.sample(fraction=1.0, shuffle=True, seed=seed)


def about(tables: Any, count: int, seed: int = 0) -> Any:
    """The same run, had it been about so many of its cases."""
    asked = sorted(tables.answers["case"].unique())
    some = random.Random(seed).sample(asked, min(count, len(asked)))

    def of_them(frame: pl.DataFrame | None) -> pl.DataFrame | None:
        return None if frame is None else frame.filter(pl.col("case").is_in(some))

    return replace(
        tables,
        cases=of_them(tables.cases),
        answers=of_them(tables.answers),
        verdicts=of_them(tables.verdicts),
    )


@EVERY
def test_every_record_is_sound(kept, name, edition):
    _, tables, records = kept(name, edition)
    by_key(records)
    readers = {reader.name for reader in tables.readers} | {""}
    for one in records:
        where = f"{one.reader} {one.measure} {one.by}"
        assert one.reader in readers or one.reader.startswith("baseline:"), where
        if one.k is not None:
            assert 0 <= one.k <= (one.n or 0), where
        if one.value is None:
            assert one.low is None or one.value is None, where
            assert one.label or one.note or one.flags, f"{where}: no value, and no reason"
            continue
        assert math.isfinite(one.value), where
        if one.low is not None and one.high is not None:
            assert one.low <= one.value <= one.high, where
            if edition == "corrected":
                assert one.low < one.high, f"{where}: no width"
                assert one.how is not None, f"{where}: no method"
        if one.how is not None:
            assert one.method == str(one.how), where
        if one.p is not None:
            assert 0 <= one.p <= 1, where
            assert one.q is None or one.q >= one.p - 1e-12, where


@pytest.mark.parametrize("name", RUNS)
def test_many_groups_are_pooled_within_a_reader_and_towards_their_mean(kept, name):
    bench, _, records = kept(name, "corrected")
    pools: dict[tuple[object, ...], list[Measure]] = {}
    for one in records:
        found = one.pooled
        if found is None:
            continue
        assert one.value is not None
        where = f"{one.reader} {one.measure} {one.by}"
        unit = bench.unit_of(one.measure)
        ends = sorted((one.value, found.mean))
        assert ends[0] - 1e-9 <= found.value <= ends[1] + 1e-9, where
        assert unit.low <= found.low <= found.value <= found.high <= unit.high, where
        assert found.low < found.high, where
        pools.setdefault((one.reader, one.measure, found.mean, frozenset(one.by)), []).append(one)
    for some in pools.values():
        assert len(some) % some[0].pooled.groups == 0
        assert some[0].pooled.groups >= 4
    assert bool(pools) == (name != "heartbeat"), "heartbeat gives nothing by groups of clips"


@pytest.mark.parametrize("name", RUNS)
def test_the_published_edition_pools_nothing(kept, name):
    assert all(one.pooled is None for one in kept(name, "authors")[2])


@EVERY
def test_what_shows_pooled_numbers_says_what_they_are(kept, name, edition):
    bench, _, records = kept(name, edition)
    shown = 0
    for one in bench.exhibits(records, ""):
        if isinstance(one, Figure):
            pooled = any("pooled" in row for row in one.rows)
        else:
            pooled = any(" pooled " in cell for row in one.rows for cell in row)
            counted = [note for note in one.notes if " intervals stand here" in note]
            assert len(counted) == pooled, one.name
        assert pooled == any("pooled" in note.lower() for note in one.notes), one.name
        shown += pooled
    assert bool(shown) == (edition == "corrected" and name != "heartbeat")


# What every run has that stands beside a p and an interval.
TESTED = {
    "grounding": {"gsp", "gap_uar", "diff_accuracy", "diff_cgr", "diff_uar", "diff_is"},
    "heartbeat": {"diff_mae", "diff_accuracy"},
    "m3cot": {
        *("impact", "image_effect", "diff_accuracy", "diff_precision", "diff_recall", "diff_f1"),
        "diff_consistency",
    },
    "medcmr": {"diff_accuracy", "image_effect", "diff_score"},
    "pairs": {"diff_accuracy", "diff_set_accuracy", "diff_confusion"},
}


# How many of a run's cases: all, some, and fewer than an interval should stand on.
@pytest.mark.parametrize("count", [1_000, 12, 7, 4])
@pytest.mark.parametrize("name", RUNS)
def test_an_interval_and_its_p_never_contradict_each_other(kept, name, count):
    """What p tests lies within the bounds exactly where p is above 0.05; a record says what that is.

    P without an interval (a calibration error, a rank correlation) tests what is no one value.
    """
    bench, tables, records = kept(name, "corrected")
    if count < tables.cases.height:
        records = bench.measure(about(tables, count))
    both = [one for one in records if None not in (one.low, one.high, one.p)]
    assert not [one for one in both if one.against is None]
    against = [
        f"{one.reader} {one.measure} {one.by}: {one.value} [{one.low}, {one.high}], p {one.p}"
        for one in both
        if (one.low <= one.against <= one.high) != (one.p > 0.05)
    ]
    assert not against
    if count >= tables.cases.height:
        assert {one.measure for one in both} >= TESTED[name]


@pytest.mark.parametrize("name", RUNS)
def test_a_difference_is_that_of_the_two_values_beside_it(kept, name):
    """Of the same cases: what stands beside a difference gives it."""
    tested = [one for one in kept(name, "corrected").records if one.against == 0 and one.beside]
    assert tested
    for one in tested:
        first, second = one.beside
        assert one.value == pytest.approx(first - second, abs=1e-9), one


@pytest.mark.parametrize("count", [1_000, 12, 5])
@pytest.mark.parametrize("name", [name for name in RUNS if name != "heartbeat"])
def test_a_run_and_compare_say_the_same_of_two_readers(kept, name, count):
    """Value, n, interval and p of every difference that both have, of many cases and of few."""
    bench, tables, records = kept(name, "corrected")
    some = about(tables, count)
    own = {}
    for record in records if count >= tables.cases.height else bench.measure(some):
        if set(record.by) <= {"versus", "mode", "comparison"}:
            # What `compare` gives by a name of its own, a run may give by a key.
            measure = "_".join(
                (record.measure, *(part for part in [record.by.get("mode")] if part))
            )
            own[measure, record.reader, record.by.get("versus")] = record
    met = 0
    for measure, values in bench.per_case(some).items():
        shares = bench.words_of(measure).in_shares
        there = [one.name for one in tables.readers if one.name in set(values["reader"])]
        pairs = list(combinations(there, 2))
        for theirs in differences(measure, values, pairs, shares=shares):
            one, two = theirs.reader, theirs.by["versus"]
            ours, sign = own.get((theirs.measure, one, two)), 1
            if ours is None:
                ours, sign = own.get((theirs.measure, two, one)), -1
            if ours is None:
                continue
            met += 1
            ends = (theirs.low, theirs.high)
            if sign < 0 and None not in ends:
                ends = (-theirs.high, -theirs.low)
            value = None if theirs.value is None else sign * theirs.value
            assert (ours.value, ours.n, ours.low, ours.high, ours.p) == pytest.approx(
                (value, theirs.n, *ends, theirs.p), abs=1e-9
            ), (ours, theirs)
    # Fewer than ten cases make no comparison in a run of grounding.
    assert met or (name == "grounding" and count < 10)


# Whoever gives no answer is wrong there, so that a reader who gives fewer does differ.
SILENT_IS_WRONG = {"pairs": {"diff_set_accuracy", "diff_accuracy"}}


# Heartbeat sets contexts of one reader beside each other, and readers only in `compare`.
@pytest.mark.parametrize("name", [name for name in RUNS if name != "heartbeat"])
def test_two_identical_readers_differ_by_nothing_though_one_is_half_unreadable(kept, name):
    """Estimate and test are of what both have: exactly 0, and p = 1.

    Of what is judged the verdicts cannot be read, else the answers.
    """
    bench, tables, _ = kept(name, "corrected")
    one, twin = tables.readers[0], replace(tables.readers[0], name="twin")
    answers, verdicts = _doubled(tables.answers, one.name), None
    if tables.verdicts is None:
        answers = _half_lost(answers, "unparsed", "answer", "choice")
    else:
        verdicts = _half_lost(_doubled(tables.verdicts, one.name), "invalid", "payload")
    twins = replace(tables, answers=answers, verdicts=verdicts, readers=(one, twin))
    found = bench.measure(twins)
    assert any(record.left_out for record in found if record.reader == twin.name)
    apart = [record for record in found if record.by.get("versus") == twin.name]
    counted = SILENT_IS_WRONG.get(name, set())
    assert {record.measure for record in apart} > counted
    for record in apart:
        if record.measure.startswith("diff_") and record.measure not in counted:
            assert (record.value, record.p) == (0.0, 1.0), record
            assert "alike" in record.flags or record.low < 0 < record.high, record


def _doubled(frame: pl.DataFrame, reader: str) -> pl.DataFrame:
    """What a reader said, and the same by its twin."""
    checks = pl.col("check") if "check" in frame.columns else pl.lit(False)
    own = frame.filter((pl.col("reader") == reader) & ~checks)
    return pl.concat([frame.filter(checks), own, own.with_columns(reader=pl.lit("twin"))])


def _half_lost(frame: pl.DataFrame, outcome: str, *fields: str) -> pl.DataFrame:
    """Of every other case, nothing can be read of what the twin said."""
    lost = pl.col("reader").eq("twin") & (pl.col("case").rank("dense").cast(pl.Int64) % 2 == 0)
    told = {"outcome": pl.lit(outcome), **dict.fromkeys(fields, pl.lit(None))}
    return frame.with_columns(
        pl.when(lost).then(value).otherwise(pl.col(field)).alias(field)
        for field, value in told.items()
        if field in frame.columns
    )


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", RUNS)
def test_an_interval_of_few_cases_is_flagged_and_holds_its_value(kept, name, count):
    """Below five clusters an interval promises more than it can hold, and says so."""
    bench, tables, _ = kept(name, "corrected")
    readers = {reader.name for reader in tables.readers}
    silent = set()
    for one in bench.measure(about(tables, count, seed=1)):
        if one.value is None or one.low is None or one.high is None:
            assert "few" not in one.flags, f"{one.measure} {one.by}: few, and no interval"
            continue
        assert one.low <= one.value <= one.high, (one.reader, one.measure, one.by)
        of_chance = one.measure.startswith("chance")
        if one.reader in readers and not of_chance and "few" not in one.flags:
            silent.add(f"{one.measure} ({one.method})")
    assert not silent


@EVERY
def test_every_measure_is_declared_with_the_values_it_can_have(kept, name, edition):
    bench, _, records = kept(name, edition)
    for one in records:
        unit = bench.unit_of(one.measure)
        assert unit is not None, f"{one.measure} is not declared"
        for value in (one.value, one.low, one.high):
            if value is not None:
                assert unit.low - 1e-9 <= value <= unit.high + 1e-9, (one.measure, value)


@EVERY
def test_the_same_tables_give_the_same_bytes(kept, name, edition):
    bench, tables, records = kept(name, edition)
    assert msgspec.json.encode(bench.measure(tables)) == msgspec.json.encode(records)


@EVERY
def test_the_order_of_rows_does_not_matter(kept, name, edition):
    bench, tables, records = kept(name, edition)
    mixed = replace(
        tables,
        cases=shuffled(tables.cases, 1),
        answers=shuffled(tables.answers, 2),
        verdicts=shuffled(tables.verdicts, 3),
    )
    found = by_key(bench.measure(mixed))
    for key, one in by_key(records).items():
        if edition == "authors" and one.measure == "auroc":
            continue  # the published one steps through ties in the order of the file [D6]
        # The published bounds depend on the order; what is counted does not.
        fields = (*COUNTS, "low", "high", "p") if edition == "corrected" else COUNTS
        check_same(found[key], one, fields)


@EVERY
def test_the_names_of_readers_do_not_matter(kept, name, edition):
    bench, tables, records = kept(name, edition)
    names = {reader.name: f"x{at}-{reader.name}" for at, reader in enumerate(tables.readers)}
    verdicts = tables.verdicts
    if verdicts is not None:  # a judge's checks are of controls, whoever is in the run
        own = pl.col("reader").replace(names)
        verdicts = verdicts.with_columns(
            reader=pl.when(pl.col("check")).then(pl.col("reader")).otherwise(own)
        )
    renamed = replace(
        tables,
        answers=tables.answers.with_columns(pl.col("reader").replace(names)),
        verdicts=verdicts,
        readers=tuple(replace(reader, name=names[reader.name]) for reader in tables.readers),
    )
    found = by_key(bench.measure(renamed))
    for one in records:
        if "versus" in one.by or any(reader in str(one.by) for reader in names):
            continue
        if one.measure.startswith("chance"):  # published chance is drawn, for each reader anew
            continue
        key = f"{names.get(one.reader, one.reader)}|{one.measure}|{sorted(one.by.items())}"
        check_same(found[key], one)


# Of all readers of a run by definition, so that who else is there matters.
OF_ALL_READERS = {"category", "text_gap"}


@EVERY
@pytest.mark.parametrize("who", [0, -1])
def test_a_reader_more_or_less_changes_no_other_reader(kept, name, edition, who):
    """Nothing but q, and what is of all readers by definition: reader "", and those named above."""
    bench, tables, records = kept(name, edition)
    gone = tables.readers[who].name
    fewer = replace(
        tables,
        answers=tables.answers.filter(pl.col("reader") != gone),
        verdicts=None
        if tables.verdicts is None
        else tables.verdicts.filter((pl.col("reader") != gone) | pl.col("check")),
        readers=tuple(one for one in tables.readers if one.name != gone),
    )
    found = by_key(bench.measure(fewer))
    for one in records:
        if not one.reader or one.reader == gone or gone in str(one.by):
            continue
        # Published chance is drawn for one reader after the other, and so are their intervals.
        if one.measure in OF_ALL_READERS or (edition == "authors" and "chance" in one.measure):
            continue
        key = f"{one.reader}|{one.measure}|{sorted(one.by.items())}"
        assert key in found, f"{key} is gone with {gone}"
        numbers = ("se", "low", "high", "p", "beside") if edition == "corrected" else ()
        check_same(found[key], one, (*COUNTS, *numbers, "pooled"))


@EVERY
def test_a_single_case_has_no_interval_of_its_own(kept, name, edition):
    bench, tables, _ = kept(name, edition)
    for one in bench.measure(about(tables, 1)):
        drawn = one.measure.startswith("chance")
        if edition == "corrected" and one.n == 1 and one.reader and not drawn:
            assert one.low is None, (one.measure, one.by)


@EVERY
def test_who_never_answers_is_measured_without_a_number_made_up(kept, name, edition):
    bench, tables, _ = kept(name, edition)
    silent = tables.readers[0].name
    blank = {
        column: pl.lit(None, dtype)
        for column, dtype in tables.answers.schema.items()
        if column in ("answer", "choice", "shown", "frame", "value", "text", "finish")
    }
    answers = pl.concat(
        [
            tables.answers.filter(pl.col("reader") != silent),
            tables.answers.filter(pl.col("reader") == silent).with_columns(
                outcome=pl.lit("unanswered"), **blank
            ),
        ]
    )
    verdicts = tables.verdicts
    if verdicts is not None:
        verdicts = verdicts.filter((pl.col("reader") != silent) | pl.col("check"))
    for one in bench.measure(replace(tables, answers=answers, verdicts=verdicts)):
        if one.reader == silent and one.value is not None:
            assert math.isfinite(one.value)
            assert one.n or one.measure.startswith(("diff_", "params")), one


def _cells(exhibits: list[Any]) -> list[Any]:
    """What an exhibit shows: rows of a table, numbers of a figure; not the words below it."""
    return [(one.name, one.rows) for one in exhibits]


@EVERY
def test_the_words_of_notes_and_methods_decide_nothing(kept, name, edition):
    """Facts travel in fields: with other words, every cell, answer and gate outcome is the same."""
    bench, tables, records = kept(name, edition)
    other = [
        replace(
            one,
            note=None if one.note is None else "words for a person",
            method=None if one.method is None else "another word",
        )
        for one in records
    ]
    signature = bench.signature(tables)
    before, after = (_cells(list(bench.exhibits(some, signature))) for some in (records, other))
    assert before == after
    answers = [
        [(line.reader, line.answer) for line in bench.headlines(some)] for some in (records, other)
    ]
    assert answers[0] == answers[1]
    found = [
        [(one.control, one.found, one.ok) for one in bench.recovered(some)]
        for some in (records, other)
    ]
    assert found[0] == found[1]
    for one, two in zip(records, other, strict=True):
        if one.value is not None and math.isfinite(one.value):
            for bound in (one.value - 0.01, one.value + 0.01):
                told = [weigh_bound(x, "at_least", bound, point=False) for x in (one, two)]
                assert len({(x.outcome, x.margin, x.needed) for x in told}) == 1, one


@EVERY
def test_records_are_strict_json(kept, name, edition):
    _, _, records = kept(name, edition)
    text = msgspec.json.encode(records)
    assert b"NaN" not in text
    assert msgspec.json.decode(text, type=list[Measure]) == records
