"""Which clips are shown frame by frame."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest

from overread.benchmarks.benchmark import ReaderRecord, Tables
from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.exhibits import strips
from support.heart_answers import rows, tables_of

FRAME = np.zeros((8, 8), np.uint8)


def run(offs, *, context="original", wanted="edv_esv", readers=("first", "second")):
    """`first` is off by so many frames in each video, `second` never."""
    some = []
    truth = [[(4, 13)]] * len(offs)
    for reader in readers:
        wrong = offs if reader == "first" else [0] * len(offs)
        said = [[[(4 + off, 13 + off)]] for off in wrong]
        kind = {"wanted": wanted, "context": context, "reader": reader, "count": 24}
        some += rows(said, truth, **kind)
    tables = tables_of(some)
    return Tables(
        cases=tables.cases,
        answers=tables.answers.with_columns(start=pl.lit(7)),
        readers=tuple(ReaderRecord(name=name) for name in readers),
    )


def always(case, start, count, context):
    return [FRAME] * count


def shown(tables, pictures=always, edition=CORRECTED):
    return list(strips(tables, pictures, edition))


def cases(figures):
    return [figure.alt.split(" of ")[1].split(",")[0] for figure in figures]


def test_a_good_one_the_median_one_and_a_bad_one():
    figures = shown(run([5, 1, 9, 3, 7]))
    assert [figure.name for figure in figures] == ["strip-1", "strip-2", "strip-3"]
    assert cases(figures) == ["v001", "v000", "v002"]
    assert [figure.title for figure in figures] == [
        "Frame by frame, best clip of first: v001, off by 1.0 frames",
        "Frame by frame, median clip of first: v000, off by 5.0 frames",
        "Frame by frame, worst clip of first: v002, off by 9.0 frames",
    ]
    assert "error of first, here 9.0 frames, a mean over phases and seeds" in figures[2].notes[0]


def test_of_twenty_clips_the_ends_are_tenths_and_no_title_judges():
    good, _, bad = shown(run([0] * 19 + [1]))
    assert "a clip of the best tenth of first" in good.title
    assert good.title.endswith("off by 0.0 frames")
    assert "a clip of the worst tenth of first" in bad.title


def test_the_only_clip_is_neither_the_best_nor_the_worst():
    (figure,) = shown(run([3]))
    assert figure.title == "Frame by frame, the only clip of first: v000, off by 3.0 frames"


def test_every_reader_has_its_answers_there_in_the_order_of_the_run():
    figure = shown(run([5, 1, 9]))[-1]
    assert [(row["reader"], row["said"]) for row in figure.rows] == [
        ("first", 13),
        ("first", 22),
        ("second", 4),
        ("second", 13),
    ]


def test_of_many_clips_good_and_bad_are_drawn_by_lot_from_a_tenth():
    offs = list(range(60))
    picked = set()
    for seed in range(12):
        figures = shown(run(offs), edition=msgspec.structs.replace(CORRECTED, seed=seed))
        good, median, bad = cases(figures)
        assert good in {f"v{n:03d}" for n in range(6)}
        assert median == "v030"
        assert bad in {f"v{n:03d}" for n in range(54, 60)}
        picked.add(good)
    assert len(picked) > 1
    assert cases(shown(run(offs))) == cases(shown(run(offs)))


def test_the_order_of_the_answers_does_not_matter():
    tables = run([2, 2, 2, 2, 2, 2])
    turned = msgspec.structs.replace(tables, answers=tables.answers.reverse())
    assert cases(shown(tables)) == cases(shown(turned))


def test_no_clip_is_shown_twice():
    assert len(shown(run([4]))) == 1
    assert len(shown(run([4, 6]))) == 2


def test_the_window_is_asked_for_as_it_was_shown():
    asked = []

    def pictures(case, start, count, context):
        asked.append((start, count, context))
        return [FRAME] * count

    shown(run([1, 2, 3], context="segmented"), pictures)
    assert set(asked) == {(7, 24, "segmented")}


@pytest.mark.parametrize("given", [None, [FRAME] * 5])
def test_without_the_frames_there_is_no_strip_and_the_numbers_go_on(given):
    def some(case, start, count, context):
        return given if case == "v001" else [FRAME] * count

    figures = shown(run([5, 1, 9, 3, 7]), some)
    assert [figure.name for figure in figures] == ["strip-1", "strip-2"]
    assert "v001" not in cases(figures)


def test_without_windows_there_is_nothing():
    tables = run([1, 2])
    unknown = tables.answers.with_columns(start=pl.lit(None, pl.Int32))
    assert not shown(msgspec.structs.replace(tables, answers=unknown))
    assert not shown(msgspec.structs.replace(tables, answers=tables.answers.clear()))


def test_a_truth_beyond_the_frames_shown_has_no_strip():
    tables = run([1, 2])
    beyond = tables.answers.with_columns(truth_es=pl.lit(40, pl.Int32))
    assert not shown(msgspec.structs.replace(tables, answers=beyond))


def test_a_reader_that_said_nothing_leaves_the_choice_to_nobody():
    tables = run([1, 2])
    silent = tables.answers.with_columns(
        pred_ed=pl.lit(None, pl.Int64), pred_es=pl.lit(None, pl.Int64), outcome=pl.lit("unparsed")
    )
    assert not shown(msgspec.structs.replace(tables, answers=silent))
