"""Clips frame by frame, and which of them are shown."""

from __future__ import annotations

import base64
import io
import re

import msgspec
import numpy as np
import polars as pl
import pytest
from PIL import Image

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.exhibits import strips
from overread.benchmarks.heartbeat.exhibits.strips import Seen, strip
from overread.report.drawings import inline_svg
from support.heart_answers import rows, tables_of

# ----------------- A clip frame by frame: the pictures, the truth and the answers where they belong


def window(**more):
    facts = {"case": "v1", "context": "original", "format": "edv_esv", "ed": 3, "es": 14}
    said = {"one": {"ed": {3: 4}, "es": {13: 1, 14: 3}}}
    return Seen(**{**facts, "count": 24, "said": said, **more})


def film(count=24, shape=(112, 112)):
    """Frame n is grey 5n, so that a picture says which it is."""
    return [np.full(shape, 5 * n % 256, np.uint8) for n in range(count)]


def pictures(figure):
    found = re.findall(r'xlink:href="data:image/png;base64,([^"]+)"', figure.svg())
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in found]


def words(figure):
    return re.findall(r"<text[^>]*>([^<]+)</text>", figure.svg())


def test_every_frame_is_there_in_its_order_at_72_pixels():
    shown = pictures(strip(window(), film()))
    assert [image.getpixel((0, 0)) for image in shown] == [5 * n for n in range(24)]
    assert {image.size for image in shown} == {(72, 72)}
    assert {image.mode for image in shown} == {"L"}


def test_a_coloured_frame_keeps_its_colours_and_its_form():
    frames = film(shape=(60, 80, 3))
    for frame in frames:
        frame[:, :, 0] = 200
    shown = pictures(strip(window(context="segmented"), frames))
    assert {(image.mode, image.size) for image in shown} == {("RGB", (72, 54))}
    assert shown[9].getpixel((5, 5)) == (200, 45, 45)


def test_the_true_frames_bear_letters_and_a_frame_of_their_colour():
    figure = strip(window(), film())
    assert {"3 ED", "14 ES", "true ED", "true ES"} <= set(words(figure))
    assert not {"3 ES", "14 ED"} & set(words(figure))
    framed = [layer for layer in figure.spec["layer"] if layer["mark"]["type"] == "rect"]
    assert len(framed[0]["data"]["values"]) == 2


def test_the_numbers_behind_it_are_the_answers():
    figure = strip(window(said={"one": {"ed": {3: 4}, "es": {99: 2}}, "two": {}}), film())
    assert [tuple(row.values()) for row in figure.rows] == [
        ("one", "ed", 3, 3, 4, True),
        ("one", "es", 14, 99, 2, False),
    ]
    assert "one said ED 3 (4×) and ES 99 (2×); two said nothing" in figure.alt


def places(figure, shape):
    return [
        (row["reader"], row["said"], row["x"])
        for layer in figure.spec["layer"]
        if layer["mark"].get("shape") == shape
        for row in layer["data"]["values"]
    ]


def test_a_right_answer_lies_on_the_line_of_the_truth():
    figure = strip(window(), film())
    lines = [
        layer["data"]["values"][0]["x"]
        for layer in figure.spec["layer"]
        if layer["mark"].get("strokeDash")
    ]
    ((_, _, ed),) = places(figure, "circle")
    near, right = (x for *_, x in places(figure, "square"))
    assert lines == [ed, right]
    assert near < right


def test_answers_no_frame_bears_are_arrows_with_their_numbers():
    said = {"one": {"ed": {-3: 1, 57: 2}, "es": {24: 1, 6_700_000_000: 1}}}
    figure = strip(window(said=said), film())
    assert {"-3", "57", "24 … 7e+09"} <= set(words(figure))
    assert not places(figure, "circle")
    assert "arrow" in figure.notes[0]
    assert "arrow" not in strip(window(), film()).notes[0]


def test_who_did_not_answer_is_said_so():
    figure = strip(window(said={"one": {"ed": {3: 1}}, "two": {"ed": {}, "es": {}}}), film())
    assert words(figure).count("no answer") == 1


def test_only_what_was_asked_is_drawn():
    figure = strip(window(format="esv", said={"one": {"ed": {5: 1}, "es": {14: 1}}}), film())
    assert [row["phase"] for row in figure.rows] == ["es"]
    assert not places(figure, "circle")


def test_a_long_window_is_thinned_but_keeps_the_true_frames():
    figure = strip(window(count=150, ed=31, es=77), film(150))
    assert len(pictures(figure)) <= 36
    assert {"31 ED", "77 ES"} <= set(words(figure))
    assert "left out" in figure.notes[0]


def test_it_is_of_a_size_a_page_can_hold():
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (112, 112, 3), dtype=np.uint8) for _ in range(24)]
    assert len(strip(window(), noise).svg()) < 700_000  # nothing compresses worse


def test_in_a_page_the_pictures_stay():
    drawn = inline_svg(strip(window(), film()), "d")
    assert drawn.count("<image") == 24
    assert set(re.findall(r'href="([^,]+),', drawn)) == {"data:image/png;base64"}


# ------------------------------------------------------------- Which clips are shown frame by frame

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
