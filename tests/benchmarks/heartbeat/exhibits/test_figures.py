"""Figures 2-5: what is drawn is what was measured, and nothing is lost beyond an axis."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import short_names


def words_of(figure):
    return re.findall(r"<text[^>]*>([^<]+)</text>", figure.svg())


@pytest.mark.parametrize("phase", ["ed", "es"])
def test_every_setting_of_a_phase_is_a_point(exhibited, measured, phase):
    index = Index(measured())
    rows = [row for row in exhibited()[f"mae_{phase}"].rows if row["kind"]]
    assert len(rows) == 2 * 3 * 3
    for row in rows:
        context = row["panel"].replace("-", "_")
        by = {"task": "t1", "context": context, "format": row["kind"], "phase": phase}
        record = index.get(row["reader"], "mae", **by)
        assert (row["value"], row["low"], row["high"]) == (record.value, record.low, record.high)


def test_both_lines_and_the_guessers_are_drawn(exhibited):
    figure = exhibited()["mae_ed"]
    assert {"best constant", "uniform guesses", "baseline:middle"} <= set(words_of(figure))
    assert "best constant" in figure.alt


def test_names_are_written_once(exhibited):
    for name in ("mae_ed", "accuracy_two_frames"):
        assert words_of(exhibited()[name]).count("looks") == 1


def test_an_absurd_error_is_printed_beside_the_axis_and_leaves_the_others_readable(measured):
    changed = [
        msgspec.structs.replace(m, value=7538.39, high=31154.32)
        if (m.reader, m.measure, m.by.get("format")) == ("guesses", "mae", "edv")
        else m
        for m in measured()
    ]
    figure = {one.name: one for one in exhibits(changed, "s")}["mae_ed"]
    beyond = [row for row in figure.rows if row["value"] > 1000]
    assert len(beyond) == 3
    assert all(row["beyond"] and row["drawn"] < 100 for row in beyond)
    assert words_of(figure).count(number(7538.39)) == 3
    assert "arrow" in figure.notes[0]


def test_two_frames_stand_with_the_coin_and_its_band(exhibited, measured):
    figure = exhibited()["accuracy_two_frames"]
    assert len(figure.rows) == 2 * 3 * 2
    coin = Index(measured()).get(
        "looks", "chance_accuracy", task="t2", context="original", format="edv", phase="ed"
    )
    assert f'"low":{coin.low}' in msgspec.json.encode(figure.spec).decode()


def test_said_against_true_has_a_point_for_every_true_frame(exhibited, measured):
    want = [m for m in measured() if m.measure == "predicted" and m.by["phase"] == "es"]
    rows = exhibited()["scatter_es"].rows
    assert len(rows) == len(want)
    assert {(r["reader"], r["true"], r["said"]) for r in rows} == {
        (m.reader, int(m.by["truth"]), m.value) for m in want
    }


def test_an_answer_beyond_the_axis_is_open_and_counted(measured):
    far = [
        msgspec.structs.replace(m, value=900.0)
        if m.measure == "predicted" and m.reader == "guesses" and m.by["format"] == "edv"
        else m
        for m in measured()
    ]
    figure = {one.name: one for one in exhibits(far, "s")}["scatter_ed"]
    count = sum(row["beyond"] for row in figure.rows)
    assert count >= sum(row["said"] == 900.0 for row in figure.rows) > 0
    assert f"{count} open marks" in figure.notes[0]
    assert all(row["drawn"] < 100 for row in figure.rows)


def test_long_names_lose_what_all_begin_with_and_never_half_a_word():
    long = [f"server:a-laboratory/a-very-long-name-{n}b-instruct" for n in (2, 32, 235)]
    assert list(short_names([*long, "other"]).values()) == [
        "…2b-instruct",
        "…32b-instruct",
        "…235b-instruct",
        "other",
    ]
    assert short_names(["a", "b"]) == {"a": "a", "b": "b"}
    alone = short_names([long[0]])[long[0]]
    assert len(alone) <= 34
    clash = short_names([*long, "…2b-instruct"])
    assert len(set(clash.values())) == 4
