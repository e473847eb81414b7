"""Figures 2-5: what is drawn is what was measured, and nothing is lost beyond an axis."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.exhibits.settings import number, short_names
from overread.benchmarks.heartbeat.study import ASKED, TIES_WRONG
from overread.case import Measure

TRIANGLE = re.compile(r'd="M[^LZ"]+L[^LZ"]+L[^LZ"]+Z"')


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
    assert {"best constant", "uniform guesses, one pass", "baseline:middle"} <= set(
        words_of(figure)
    )
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


def test_an_interval_cut_by_the_axis_ends_in_an_arrow_head(measured):
    longer = [
        msgspec.structs.replace(m, high=500.0)
        if (m.reader, m.measure, m.by.get("format")) == ("guesses", "mae", "edv")
        else m
        for m in measured()
    ]
    whole, cut = (
        {one.name: one for one in exhibits(some, "s")}["mae_ed"] for some in (measured(), longer)
    )
    told = "arrow head at the end of a bar"
    longer_ones = {"reader": "guesses", "kind": "edv"}
    assert sum(row["cut"] for row in cut.rows if longer_ones.items() <= row.items()) == 3
    assert told in cut.notes[0]
    assert (told in whole.notes[0]) == any(row["cut"] for row in whole.rows)
    for figure in (whole, cut):
        pointed = sum(row["cut"] + row["beyond"] for row in figure.rows)
        assert len(TRIANGLE.findall(figure.svg())) == pointed


def test_the_axis_reaches_to_the_ends_of_sensible_intervals(measured):
    chance = max(m.value for m in measured() if m.measure == "chance_mae" and m.by["phase"] == "ed")
    near = [
        msgspec.structs.replace(m, value=0.9 * chance, high=1.3 * chance) if own(m) else m
        for m in measured()
    ]
    figure = {one.name: one for one in exhibits(near, "s")}["mae_ed"]
    assert not any(row["cut"] or row["beyond"] for row in figure.rows if row["kind"])


def own(m):
    return m.measure == "mae" and not m.reader.startswith("baseline:")


def asking(measures, *flags, **counts):
    """The measures of a run that asked so much; of no known number where none is given."""
    rest = [m for m in measures if m.measure != ASKED]
    stated = [
        Measure(reader="", measure=ASKED, by={"of": what}, value=float(n), flags=flags)
        for what, n in counts.items()
    ]
    return [*rest, *stated]


def test_guessing_once_is_no_match_for_a_mean_of_passes_and_is_said_to_be(measured):
    for counts, said in (({"passes": 3}, True), ({"passes": 1}, False), ({}, True)):
        found = {one.name: one for one in exhibits(asking(measured(), **counts), "s")}
        for name in ("mae_ed", "mae_es", "summary", "frames_original"):
            assert ("mean of its passes" in " ".join(found[name].notes)) is said, (name, counts)
        assert "uniform guesses, one pass ED" in " ".join(found["summary"].notes)


def test_the_band_says_that_it_is_of_one_seed(measured):
    for counts, said in (({"seeds": 2}, True), ({"seeds": 1}, False), ({}, True)):
        found = {one.name: one for one in exhibits(asking(measured(), **counts), "s")}
        note = found["accuracy_two_frames"].notes[1]
        assert "95 % of sets of 6 coins, one per video, as one seed has them" in note
        assert ("means over seeds" in note) is said


@pytest.mark.parametrize(
    ("passes", "flags", "said"), [(2, [TIES_WRONG], True), (3, [TIES_WRONG], False), (2, [], False)]
)
def test_votes_that_tie_are_told_of(measured, passes, flags, said):
    some = asking(measured(), *flags, passes=passes)
    found = {one.name: one for one in exhibits(some, "s")}
    assert ("tie" in found["accuracy_two_frames"].notes[1]) is said


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


def axes(figure):
    """The ends of both axes of every panel."""
    return {
        tuple(layer["encoding"][way]["scale"]["domain"])
        for line in figure.spec["vconcat"]
        for panel in line["hconcat"]
        for layer in panel["layer"]
        for way in ("x", "y")
    }


@pytest.mark.parametrize(("window", "last"), [(24, 23), (47, 46)])
def test_both_axes_of_both_phases_have_the_frames_of_the_window(measured, window, last):
    found = {one.name: one for one in exhibits(asking(measured(), window=window), "s")}
    for name in ("scatter_ed", "scatter_es"):
        assert axes(found[name]) == {(-0.5, last + 0.5)}
        assert f"0 to {last}." in found[name].notes[1]
        for row in found[name].rows:
            assert (row["lies"] == "inside") == (0 <= row["said"] <= last)


def test_without_a_window_the_axes_of_both_phases_are_those_of_all_truths(measured):
    found = {one.name: one for one in exhibits(asking(measured()), "s")}
    last = max(int(m.by["truth"]) for m in measured() if m.measure == "predicted")
    assert len(axes(found["scatter_ed"]) | axes(found["scatter_es"])) == 1
    assert next(iter(axes(found["scatter_ed"])))[1] > last
    assert "is not known" in found["scatter_ed"].notes[1]


def test_a_truth_beyond_the_window_is_drawn_all_the_same(measured):
    last = max(int(m.by["truth"]) for m in measured() if m.measure == "predicted")
    found = {one.name: one for one in exhibits(asking(measured(), window=6), "s")}
    assert axes(found["scatter_es"]) == {(-0.5, last + 0.5)}
    assert f"last true frame, {last}." in found["scatter_es"].notes[1]


def test_every_row_is_one_mark_of_the_drawing(measured):
    figure = {one.name: one for one in exhibits(asking(measured(), window=24), "s")}["scatter_ed"]
    assert figure.svg().count('opacity="0.65"') == len(figure.rows)


def test_an_answer_beyond_the_window_is_an_arrow_and_counted(measured):
    far = [
        msgspec.structs.replace(m, value=900.0 if m.by["context"] == "original" else -2.0)
        if m.measure == "predicted" and m.reader == "guesses" and m.by["format"] == "edv"
        else m
        for m in measured()
    ]
    figure = {one.name: one for one in exhibits(far, "s")}["scatter_ed"]
    for side, value in (("above", 900.0), ("below", -2.0)):
        some = [row for row in figure.rows if row["said"] == value]
        assert some
        assert {row["lies"] for row in some} == {side}
    count = sum(row["lies"] != "inside" for row in figure.rows)
    assert f"{count} mean answers lie beyond them: an arrow at the edge." in figure.notes[1]
    assert all(row["drawn"] < 100 for row in figure.rows)
    assert len(TRIANGLE.findall(figure.svg())) == count


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


# ---------------------------------------------------------------- over seeds


@pytest.mark.parametrize(("name", "of"), [("seeds_t1", "mae"), ("seeds_t2", "accuracy")])
def test_a_box_over_seeds_has_a_point_for_every_seed_of_the_first_context(
    exhibited, measured, name, of
):
    figure = exhibited()[name]
    want = [m for m in measured() if m.measure == f"{of}_seed" and m.by["context"] == "original"]
    assert len(figure.rows) == len(want) > 0
    assert {(r["reader"], r["seed"], r["value"]) for r in figure.rows} == {
        (m.reader, m.by["seed"], m.value) for m in want
    }
    means = {}
    for m in want:
        means.setdefault((m.reader, m.by["format"], m.by["phase"]), []).append(m.value)
    for m in measured():
        key = (m.reader, m.by.get("format"), m.by.get("phase"))
        if m.measure == of and m.by.get("context") == "original" and key in means:
            assert m.value == pytest.approx(np.mean(means[key]))
    assert "no interval" in figure.notes[0]
    assert figure.svg().startswith("<svg")


def test_a_seed_with_an_absurd_answer_does_not_stretch_the_axis(measured):
    absurd = {"reader": "guesses", "context": "original", "format": "edv", "seed": "2020"}
    some = [
        msgspec.structs.replace(m, value=7.5e4)
        if m.measure == "mae_seed" and absurd.items() <= {**m.by, "reader": m.reader}.items()
        else m
        for m in measured()
    ]
    figure = {one.name: one for one in exhibits(some, "s")}["seeds_t1"]
    assert "1 seeds lie beyond the axis." in figure.notes[0]
    assert "75000" in figure.alt or "7.50e+04" in figure.alt
    assert '"domain":[0,' in msgspec.json.encode(figure.spec).decode()
    assert figure.svg().startswith("<svg")


def test_one_seed_has_no_box(measured):
    some = [m for m in measured() if m.measure not in ("mae_seed", "accuracy_seed")]
    assert not {"seeds_t1", "seeds_t2"} & {one.name for one in exhibits(some, "s")}


def test_whom_the_windows_leave_out_is_a_table(exhibited):
    table = exhibited()["left_out"]
    assert table.rows[0][:2] == ("all", "-")
    assert table.rows[0][2].endswith(" 0/6")
    assert table.rows[1][:2] == ("by EF in per cent", "50 or more")
