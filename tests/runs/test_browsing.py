"""Phantom runs of controls, told in a sentence and case by case: each is what it is built to be."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import overread as ov
from overread.benchmarks.base import Tables
from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.medcmr import MedCMR
from overread.case import Picture
from overread.imaging import render
from overread.judging import VERDICT_COLUMNS
from overread.records import read_frame
from overread.runs import Run, phantom_cases

SETTINGS = {"boot": "100", "images": "original,blank", "checks": "10"}
pytestmark = pytest.mark.slow


def tables_of(run: Run, bench: M3CoT | MedCMR) -> Tables:
    from overread.benchmarks.base import ReaderRecord

    return Tables(
        cases=read_frame(run.folder / "cases.parquet", bench.case_schema),
        answers=read_frame(run.folder / "answers.parquet", ("reader", *bench.answer_schema)),
        verdicts=read_frame(run.folder / "verdicts.parquet", VERDICT_COLUMNS),
        readers=tuple(ReaderRecord(name=r.name, traits=r.traits) for r in run.record.readers),
    )


def ran(folder: Path, benchmark: str, cases: str, controls: list[str], **more: str) -> Run:
    return ov.run(
        benchmark,
        cases,
        [f"control:{name}" for name in controls],
        judges=["control:lexical-judge"],
        out=folder / "run",
        store=folder / "store.sqlite",
        settings=SETTINGS | more,
    )


def by_reader(index: pl.DataFrame, column: str) -> dict[str, set[bool | None]]:
    return {
        str(reader).removeprefix("control:"): set(rows[column])
        for (reader,), rows in index.partition_by("reader", as_dict=True).items()
    }


@pytest.mark.usefixtures("phantom_cache")
def test_m3cot(tmp_path: Path) -> None:
    controls = ["clinician", "contradicts", "rambler"]
    run = ran(tmp_path, "m3cot", "phantom:26", controls)
    bench = M3CoT.open(phantom_cases("m3cot", "phantom:26"), words=SETTINGS)
    tables = tables_of(run, bench)
    told = {one.reader.removeprefix("control:"): one for one in bench.headlines(run.records)}
    # Controls get no picture: not even the clinician's own steps show that one was looked at.
    answers = {"clinician": "in part", "contradicts": "in part", "rambler": "no"}
    assert {name: one.answer for name, one in told.items()} == answers
    assert all(one.measure in run.records for one in told.values())
    index = bench.card_index(tables)
    assert index.height == 26 * len(controls)
    assert by_reader(index, "right") == {"clinician": {True}, "contradicts": {False}, "rambler": {False}}  # fmt: skip
    assert by_reader(index, "flipped") == {"clinician": {False}, "contradicts": {True}, "rambler": {False}}  # fmt: skip
    (card,) = bench.cards(tables, index["case"].to_list()[:1])
    gold = [step.mark for step in card.said[0].gold]
    assert gold == ["there"] * len(card.steps) != []
    assert [slide.label for slide in card.slides] == ["image", "black image"]
    assert all(
        isinstance(slide.picture, Picture) and render(slide.picture) for slide in card.slides
    )
    means = bench.per_case(tables)["step_f1"].group_by("reader").agg(pl.col("value").mean())
    assert dict(means.iter_rows())["control:clinician"] == 1.0
    assert "made up" in " ".join(bench.limitations(run.records))


@pytest.mark.usefixtures("phantom_cache")
def test_medcmr(tmp_path: Path) -> None:
    controls = ["oracle", "letter-a", "format-breaker"]
    run = ran(tmp_path, "medcmr", "phantom:42", controls, orders="1")
    bench = MedCMR.open(phantom_cases("medcmr", "phantom:42"), words=SETTINGS | {"orders": "1"})
    tables = tables_of(run, bench)
    told = {one.reader.removeprefix("control:"): one for one in bench.headlines(run.records)}
    # Controls get no picture: not even the oracle can be shown to need one.
    assert told["oracle"].answer == "in part"
    assert told["letter-a"].answer == "cannot tell"
    assert told["format-breaker"].answer == "no"
    index = bench.card_index(tables)
    choices = index.filter(pl.col("kind") == "mcq")
    assert set(index.filter(pl.col("kind") == "open")["right"]) == {None}
    rights = by_reader(choices, "right")
    assert (rights["oracle"], rights["format-breaker"]) == ({True}, {False})
    flips = by_reader(choices, "flipped")
    assert (flips["oracle"], flips["format-breaker"]) == ({False}, {None})
    # Whoever says A whatever is asked names another option once these are turned.
    assert True in flips["letter-a"]
    cards = list(bench.cards(tables, [choices["case"][0], index["case"][-1]]))
    assert all(render(slide.picture) for card in cards for slide in card.slides)
    (scored,) = cards[1].said[0].answers[0].scores
    assert (scored.judge, scored.total) == ("control:lexical-judge", 100)
    frames = bench.per_case(tables)
    assert set(frames) == {"accuracy", "score"}
    assert frames["accuracy"].filter(pl.col("reader") == "control:oracle")["value"].mean() == 1
