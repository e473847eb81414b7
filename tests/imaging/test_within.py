"""Shrinking to within a number of pixels: what the cap of M3CoTBench does."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.case import BadInput, Inline, Picture, Within
from overread.imaging import pixels, render

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "m3cot" / "m3cot_prompts.json").read_text("utf-8")
)
SIZES = [
    (entry["width"], entry["height"], int(name.removeprefix("max_")), expected)
    for entry in GOLDEN["image_sizes"]
    for name, expected in entry.items()
    if name.startswith("max_")
]


def inline(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG", compress_level=1)
    return Inline(file.getvalue())


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def within(array, px):
    return pixels(render(Picture(inline(array), (Within(px),))))


@pytest.mark.parametrize(("width", "height", "px", "expected"), SIZES)
def test_sizes_are_those_of_the_authors(width, height, px, expected):
    array = np.zeros((height, width), np.uint8)
    if isinstance(expected, str):  # there a side is cut to nothing
        with pytest.raises(BadInput, match=f"{width} x {height} pixels within {px}"):
            within(array, px)
        return
    assert within(array, px).shape == tuple(reversed(expected))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 80), st.booleans())
def test_it_is_pillows_lanczos_and_never_enlarges(width, height, px, colour):
    array = noise(height, width, 3) if colour else noise(height, width)
    scale = px / max(width, height)
    size = int(width * scale), int(height * scale)
    if max(width, height) <= px:
        expected = array
    elif min(size) < 1:
        with pytest.raises(BadInput, match="both must be above 0"):
            within(array, px)
        return
    else:
        expected = np.asarray(Image.fromarray(array).resize(size, Image.Resampling.LANCZOS))
    found = within(array, px)
    np.testing.assert_array_equal(found, expected)
    assert max(found.shape[:2]) <= max(px, 1)


@pytest.mark.parametrize("px", [0, -1, 10**9])
def test_a_cap_that_cannot_be_is_refused(px):
    with pytest.raises(BadInput, match=f"within {px} pixels"):
        within(noise(4, 4), px)
