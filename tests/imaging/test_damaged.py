"""What is damaged, hostile or unknown ends in one line that names the file."""

import io
import struct
import threading
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.case import BadInput
from overread.imaging import open_image

pytestmark = pytest.mark.filterwarnings("error")


def encoded(kind, mode="L", **options):
    noise = np.random.default_rng(1).integers(0, 256, (40, 50), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).convert(mode).save(file, kind, **options)
    return file.getvalue()


FILES = {
    "a.png": encoded("PNG"),
    "palette.png": encoded("PNG", "P"),
    "a.jpg": encoded("JPEG"),
    "progressive.jpg": encoded("JPEG", "RGB", progressive=True),
    "raw.tif": encoded("TIFF"),
    "lzw.tif": encoded("TIFF", "RGB", compression="tiff_lzw"),
    "jpeg.tif": encoded("TIFF", "RGB", compression="jpeg"),
    "a.bmp": encoded("BMP"),
}


def refusal(data, name):
    """The one line, or None if the file opened."""
    try:
        image = open_image(data, name)
    except BadInput as error:
        line = str(error)
        assert line.startswith(f"{name}: ")
        assert "\n" not in line
        return line
    assert image.mode in ("L", "RGB")
    return None


def test_an_empty_file():
    assert "empty" in refusal(b"", "a.png")


@pytest.mark.parametrize(
    "data", [b"GIF89a" + b"\0" * 99, b"hello", b"\0" * 200, b"<html>404</html>", b"RIFF1234WEBP"]
)
def test_an_unknown_format(data):
    assert "unknown format" in refusal(data, "a.png")


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_before_its_last_tenth_is_refused(name):
    whole = FILES[name]
    assert refusal(whole, name) is None
    for cut in sorted({*range(1, 64), *range(64, len(whole) * 9 // 10, 37)}):
        assert refusal(whole[:cut], name) is not None, f"cut at {cut} of {len(whole)}"


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_in_its_last_tenth_opens_or_is_refused_by_name(name):
    whole = FILES[name]
    for cut in range(len(whole) * 9 // 10, len(whole)):
        refusal(whole[:cut], name)


@settings(max_examples=150)
@given(st.sampled_from(sorted(FILES)), st.integers(0, 400), st.binary(min_size=1, max_size=6))
def test_bytes_changed_at_random_never_end_in_a_traceback_or_a_warning(name, at, junk):
    whole = FILES[name]
    refusal(whole[:at] + junk + whole[at + len(junk) :], name)


@settings(max_examples=100)
@given(st.integers(0, 300), st.binary(min_size=1, max_size=6))
def test_a_tiffs_tags_changed_at_random_never_end_in_a_traceback_or_a_warning(at, junk):
    whole = FILES["lzw.tif"]  # its page list stands at the end
    at = len(whole) - 1 - at
    refusal(whole[:at] + junk + whole[at + len(junk) :], "a.tif")


def bomb_png(width, height):
    def chunk(kind, body):
        mark = kind + body
        return struct.pack(">L", len(body)) + mark + struct.pack(">L", zlib.crc32(mark))

    header = struct.pack(">LLBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(100_000, 100_000), (2**31 - 1, 2**31 - 1), (10_000, 10_000)])
def test_a_png_that_declares_too_many_pixels_is_refused_by_its_header(size):
    line = refusal(bomb_png(*size), "bomb.png")
    assert f"{size[0]} x {size[1]} pixels, more than" in line


def test_a_jpeg_a_tiff_and_a_bmp_that_declare_too_many_pixels_are_refused():
    jpeg = FILES["a.jpg"]
    at = jpeg.index(b"\xff\xc0") + 5
    assert "more than" in refusal(jpeg[:at] + b"\xff" * 4 + jpeg[at + 4 :], "bomb.jpg")
    tiff = FILES["raw.tif"]
    for tag in (b"\0\1", b"\1\1"):
        entry = tiff.index(tag)
        grown = struct.pack("<HL", 4, 1) + struct.pack("<L", 90_000_000)
        tiff = tiff[: entry + 2] + grown + tiff[entry + 12 :]
    assert "more than" in refusal(tiff, "bomb.tif")
    bmp = FILES["a.bmp"]
    assert "more than" in refusal(bmp[:18] + struct.pack("<ii", 40_000, 40_000) + bmp[26:], "b.bmp")


def test_a_picture_without_pixels_is_refused():
    assert "0 x 5" in refusal(bomb_png(0, 5), "a.png")


def test_pillows_settings_and_the_warning_filters_are_left_alone():
    before = (Image.MAX_IMAGE_PIXELS, list(warnings.filters))
    seen = []

    def work():
        for name, data in FILES.items():
            refusal(data[: len(data) // 2], name)
            refusal(data, name)
            seen.append((Image.MAX_IMAGE_PIXELS, list(warnings.filters)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4 * len(FILES)
    assert all(state == before for state in seen)
