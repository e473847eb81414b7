"""A clip frame by frame: the pictures, the truth and the answers where they belong."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from overread.benchmarks.heartbeat.exhibits.strips import Seen, strip
from overread.case import BadInput
from overread.report._figures import inline_svg


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


@pytest.mark.parametrize(
    ("seen", "frames"),
    [
        (window(), film(23)),
        (window(ed=24), film()),
        (window(es=-1), film()),
        (window(), [frame.astype(float) for frame in film()]),
        (window(), [np.zeros((8, 8, 4), np.uint8)] * 24),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(seen, frames):
    with pytest.raises(BadInput) as told:
        strip(seen, frames)
    assert "\n" not in str(told.value)
