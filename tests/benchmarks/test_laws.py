"""Laws that every measure of every benchmark keeps, under both editions, over one small run each.

A new measure, and a new benchmark, gets these tests by being registered.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import overread as ov
from overread import report as pages
from overread.case import Figure, Measure
from overread.report.gate.weighing import weigh_bound
from overread.runs._kept import kept_runs, tables_of
from support import small_runs

RUNS = small_runs.RUNS | {
    "pairs": ("phantom:24", ("looks", "prior", "first-option"), (), {}),
}
EDITIONS = ("corrected", "authors")
EVERY = pytest.mark.parametrize(
    ("name", "edition"), [(name, edition) for name in RUNS for edition in EDITIONS]
)
# What is counted, whatever the draws.
COUNTS = ("value", "n", "k", "label", "left_out", "as_wrong", "flags")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Any]:
    """A run of each benchmark, asked once, as an edition reads it."""
    home = tmp_path_factory.mktemp("laws")

    @functools.cache
    def asked(name: str) -> Path:
        cases, controls, judges, settings = RUNS[name]
        write, pages.write_report = pages.write_report, lambda path, runs, **_: path.touch()
        try:
            ov.run(
                name, cases, [f"control:{control}" for control in controls], judges=judges,
                out=home / name, store=home / f"{name}.sqlite", settings=settings | {"boot": "100"},
            )  # fmt: skip
        finally:
            pages.write_report = write
        return home / name

    @functools.cache
    def measured(name: str, edition: str) -> Any:
        from overread.benchmarks.registry import class_of

        (run,) = kept_runs([asked(name)])
        words = run.record.settings
        bench = class_of(name).of_run(run.record.dataset, "open", edition, words)
        tables = tables_of(run.folder, bench, run.record)
        return bench, tables, bench.measure(tables)

    return measured


def by_key(records: list[Measure]) -> dict[str, Measure]:
    found = {f"{m.reader}|{m.measure}|{sorted(m.by.items())}": m for m in records}
    assert len(found) == len(records), "two records of one reader, measure and by"
    return found


def check_same(one: Measure, two: Measure, fields: tuple[str, ...] = COUNTS) -> None:
    """Equal but for the rounding of sums that are added up in another order."""
    for field in fields:
        a, b = getattr(one, field), getattr(two, field)
        near = isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, abs_tol=1e-9)
        assert near or a == b, (one.reader, one.measure, one.by, field, a, b)


def replace(thing: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(thing, **changes)


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


# How many of a run's cases: all, some, and fewer than an interval should stand on.
@pytest.mark.parametrize("count", [1_000, 12, 7, 4])
@pytest.mark.parametrize("name", RUNS)
def test_an_interval_and_its_p_never_contradict_each_other(kept, name, count):
    """0 lies within the bounds exactly where p is above 0.05."""
    bench, tables, records = kept(name, "corrected")
    if count < tables.cases.height:
        records = bench.measure(about(tables, count))
    against = [
        f"{one.reader} {one.measure} {one.by}: {one.value} [{one.low}, {one.high}], p {one.p}"
        for one in records
        if one.measure.startswith("diff_") or one.measure == "image_effect"
        if one.low is not None and one.high is not None and one.p is not None
        if (one.low <= 0 <= one.high) != (one.p > 0.05)
    ]
    assert not against


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


@EVERY
def test_a_reader_more_or_less_changes_no_other_reader(kept, name, edition):
    bench, tables, records = kept(name, edition)
    gone = tables.readers[-1].name
    fewer = replace(
        tables,
        answers=tables.answers.filter(pl.col("reader") != gone),
        verdicts=None
        if tables.verdicts is None
        else tables.verdicts.filter((pl.col("reader") != gone) | pl.col("check")),
        readers=tables.readers[:-1],
    )
    found = by_key(bench.measure(fewer))
    for one in records:
        key = f"{one.reader}|{one.measure}|{sorted(one.by.items())}"
        drawn = one.measure.startswith("chance")
        other = one.reader and one.reader != gone and gone not in str(one.by)
        if other and not drawn and key in found:
            kept_fields = (*(field for field in COUNTS if field != "label"), "pooled")
            check_same(found[key], one, kept_fields)


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
