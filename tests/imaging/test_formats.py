"""WebP: Pillow's pixels and nothing else of the file; damage and bombs are one line."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.case import BadInput
from overread.imaging import open_image
from overread.imaging._formats import strip_webp

NOISE = np.random.default_rng(0).integers(0, 256, (23, 31, 4), dtype=np.uint8)


def webp(array=NOISE[..., :3], **options):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "WEBP", **options)
    return file.getvalue()


def exif(orientation):
    return b"II*\0\x08\0\0\0" + struct.pack("<HHHLHHL", 1, 0x0112, 3, 1, orientation, 0, 0)


FILES = {
    "lossy": webp(),
    "lossless": webp(lossless=True),
    "alpha": webp(NOISE),
    "exif": webp(lossless=True, exif=exif(1)),
}


@pytest.mark.parametrize("name", ["lossy", "lossless", "exif"])
def test_pixels_are_pillows(name):
    expected = np.asarray(Image.open(io.BytesIO(FILES[name])).convert("RGB"))
    found = open_image(FILES[name], "a.webp")
    assert (found.mode, found.info) == ("RGB", {})
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_lossless_is_lossless():
    np.testing.assert_array_equal(np.asarray(open_image(FILES["lossless"], "a")), NOISE[..., :3])


def test_alpha_is_dropped_onto_black():
    array = NOISE.copy()
    array[..., 3] = np.where(np.arange(31) < 15, 0, 255)
    found = np.asarray(open_image(webp(array, lossless=True, exact=True), "a.webp"))
    assert not found[:, :15].any()
    np.testing.assert_array_equal(found[:, 15:], array[:, 15:, :3])


def test_metadata_is_left_behind():
    marked = webp(lossless=True, exif=exif(1), xmp=b"<secret/>", icc_profile=b"secret")
    assert b"secret" in marked
    assert b"secret" not in strip_webp(marked, "a").data
    np.testing.assert_array_equal(np.asarray(open_image(marked, "a")), NOISE[..., :3])


def test_the_orientation_is_applied():
    turned = open_image(webp(lossless=True, exif=exif(6)), "a")
    np.testing.assert_array_equal(np.asarray(turned), np.rot90(NOISE[..., :3], -1))


def test_an_animation_is_refused():
    file = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=50)
    with pytest.raises(BadInput, match="an animated WebP"):
        open_image(file.getvalue(), "a.webp")


def test_a_size_beyond_the_allowed_is_refused_before_it_is_decoded():
    whole = FILES["exif"]
    at = whole.index(b"VP8X") + 12
    huge = whole[:at] + b"\xff\xff\x00\xff\xff\x00" + whole[at + 6 :]
    with pytest.raises(BadInput, match="declares 65536 x 65536 pixels"):
        open_image(huge, "a.webp")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.integers(0, 200), st.binary(min_size=1, max_size=6))
@example("exif", 12, b"VP8Y")
def test_damage_is_one_line_or_no_matter(name, at, bytes_):
    whole = FILES[name]
    told = ""
    for spoilt in (whole[:at], whole[:at] + bytes_ + whole[at + len(bytes_) :]):
        try:
            assert open_image(spoilt, "a.webp").mode in ("L", "RGB")
        except BadInput as error:
            told = str(error)
        assert "\n" not in told
        assert told.startswith("a.webp: ") or not told
