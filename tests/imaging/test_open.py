"""Every kind of image file opens as 8-bit grey or RGB, by rules one can check."""

import io
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from overread.case import BadInput
from overread.imaging import _formats as formats
from overread.imaging import _render, open_image

pytestmark = pytest.mark.filterwarnings("error")


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opened(data):
    return np.asarray(open_image(data, "a.file"))


def ramp(height=12, width=20):
    return (np.arange(height * width).reshape(height, width) % 256).astype(np.uint8)


def colours(height=12, width=20):
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def chunk(kind, body):
    return struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))


def png(bits, colour, rows, *between, width=2):
    """A PNG written by hand, for the kinds Pillow does not write."""
    height = len(rows)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">LLBBBBB", width, height, bits, colour, 0, 0, 0)),
            *between,
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))),
            chunk(b"IEND", b""),
        )
    )


# ---------------------------------------------------------------- what is 8-bit already


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP"])
def test_lossless_formats_keep_every_grey_and_rgb_pixel(kind):
    for array, mode in ((ramp(), "L"), (colours(), "RGB")):
        image = open_image(encoded(Image.fromarray(array), kind), "a.file")
        assert image.mode == mode
        np.testing.assert_array_equal(np.asarray(image), array)


def test_jpeg_opens_as_pillow_decodes_it():
    for array in (ramp(64, 64), colours(64, 64)):
        data = encoded(Image.fromarray(array), "JPEG", quality=90)
        np.testing.assert_array_equal(opened(data), np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("kind", ["L", "RGB", "RGB 4:4:4", "RGB progressive", "CMYK"])
def test_a_jpeg_ends_as_pillows_plug_in_has_it_whatever_is_wrong_with_it(kind, monkeypatch):
    mode, _, way = kind.partition(" ")
    chance = np.random.default_rng(7)
    image = Image.frombytes(mode, (20, 24), chance.bytes(24 * 20 * len(mode)))
    options = {"4:4:4": {"subsampling": 0}, "progressive": {"progressive": True}}.get(way, {})
    whole = encoded(image, "JPEG", **options)
    files = [whole, *(whole[:at] for at in chance.integers(3, len(whole), 40))]
    for at in chance.integers(3, len(whole), 160):
        files.append(whole[:at] + bytes([chance.integers(256)]) + whole[at + 1 :])

    def ended(data):
        try:
            return opened(data).tolist()
        except BadInput as error:
            return str(error)

    found = [ended(data) for data in files]
    monkeypatch.setattr(_render, "_common_jpeg", lambda *_: None)
    assert found == [ended(data) for data in files]
    assert any(isinstance(one, str) for one in found)
    assert any(isinstance(one, list) for one in found[1:])


def test_a_jpeg_without_metadata_is_not_copied_and_with_them_it_loses_them():
    plain = encoded(Image.fromarray(colours()), "JPEG")
    assert formats.strip_jpeg(plain, "a.jpg").data is plain
    told = encoded(Image.fromarray(colours()), "JPEG", comment=b"a name", exif=Image.Exif())
    assert formats.strip_jpeg(plain[:2] + b"\xff\xfe\0\x06name" + plain[2:], "a").data == plain
    assert b"a name" not in formats.strip_jpeg(told, "a.jpg").data


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_deflate", "packbits"])
@pytest.mark.parametrize("big", [False, True])
def test_tiff_opens_whatever_its_compression_and_layout(compression, big):
    data = encoded(Image.fromarray(colours()), "TIFF", compression=compression, big_tiff=big)
    np.testing.assert_array_equal(opened(data), colours())


def test_a_ycbcr_tiff_becomes_rgb():
    flat = np.full((16, 16, 3), (200, 80, 40), dtype=np.uint8)
    ycbcr = Image.fromarray(flat).convert("YCbCr")
    image = open_image(encoded(ycbcr, "TIFF"), "a.tif")
    assert image.mode == "RGB"
    assert np.abs(np.asarray(image).astype(int) - flat).max() <= 2


def test_one_bit_becomes_black_and_white():
    bits = Image.fromarray(ramp()).point(lambda v: 255 * (v > 99)).convert("1")
    for kind in ("PNG", "TIFF", "BMP"):
        image = open_image(encoded(bits, kind), "a.file")
        assert image.mode == "L"
        np.testing.assert_array_equal(np.asarray(image), np.where(ramp() > 99, 255, 0))


def test_grey_of_two_and_four_bits_uses_the_whole_range():
    assert opened(png(2, 0, [bytes([0b00011011])], width=4)).tolist() == [[0, 85, 170, 255]]
    assert opened(png(4, 0, [bytes([0x0F])])).tolist() == [[0, 255]]


# ---------------------------------------------------------------- more than 8 bits


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=40))
def test_sixteen_bits_are_divided_by_257_and_rounded(values):
    array = np.array([values], dtype=np.uint16)
    expected = np.floor(array / 257 + 0.5).astype(int)
    for kind in ("PNG", "TIFF"):
        image = open_image(encoded(Image.fromarray(array), kind), "a.file")
        assert image.mode == "L"
        np.testing.assert_array_equal(np.asarray(image), expected)


@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bit_tiff_opens_in_either_byte_order(order):
    values = np.array([[0, 257, 32896, 65535]])
    assert opened(tiff(order, 16, values)).tolist() == [[0, 1, 128, 255]]


def test_sixteen_bit_tiff_with_white_as_zero_is_turned_round():
    assert opened(tiff("<", 16, np.array([[0, 65535]]), photometric=0)).tolist() == [[255, 0]]


def test_integers_of_32_bits_and_floats_go_from_least_to_greatest():
    for array in (
        np.array([[-1000, 0, 1000]], dtype=np.int32),
        np.array([[0.25, 0.5, 0.75]], dtype=np.float32),
    ):
        image = open_image(encoded(Image.fromarray(array), "TIFF"), "a.tif")
        assert image.mode == "L"
        assert np.asarray(image).tolist() == [[0, 128, 255]]


def test_unsigned_32_bits_do_not_wrap():
    values = np.array([[0, 2**31, 2**32 - 1]])
    assert opened(tiff("<", 32, values)).tolist() == [[0, 128, 255]]


def test_floats_that_are_no_numbers_do_not_set_the_range():
    array = np.array([[np.nan, -np.inf, 0, 1, np.inf]], dtype=np.float32)
    assert opened(encoded(Image.fromarray(array), "TIFF")).tolist() == [[0, 0, 0, 255, 255]]


@pytest.mark.parametrize("value", [0.0, 7.5, np.nan])
def test_a_constant_float_image_is_black(value):
    array = np.full((3, 3), value, dtype=np.float32)
    assert not opened(encoded(Image.fromarray(array), "TIFF")).any()


def test_constant_integer_images_open():
    assert (opened(encoded(Image.fromarray(np.full((3, 3), 514, np.uint16)), "PNG")) == 2).all()
    assert not opened(encoded(Image.fromarray(np.full((3, 3), 9, np.int32)), "TIFF")).any()


def test_sixteen_bit_colour_keeps_the_high_byte():
    row = struct.pack(">6H", 0x1234, 0x80FF, 0xFFFF, 0, 0x00FF, 0x0100)
    assert opened(png(16, 2, [row])).tolist() == [[[0x12, 0x80, 0xFF], [0, 0, 1]]]


# ---------------------------------------------------------------- alpha and palettes


@given(st.integers(0, 255), st.integers(0, 255))
def test_alpha_is_dropped_onto_black(value, alpha):
    expected = (value * alpha + 127) // 255
    grey = open_image(encoded(Image.new("LA", (2, 1), (value, alpha)), "PNG"), "a.png")
    assert grey.mode == "L"
    assert np.asarray(grey)[0, 0] == expected
    colour = open_image(encoded(Image.new("RGBA", (2, 1), (value, 0, 9, alpha)), "PNG"), "a.png")
    assert colour.mode == "RGB"
    assert np.asarray(colour)[0, 0, 0] == expected


def test_sixteen_bit_grey_with_alpha_stays_grey():
    image = open_image(png(16, 4, [struct.pack(">4H", 0x8000, 0xFFFF, 0xFFFF, 0)]), "a.png")
    assert image.mode == "L"
    assert np.asarray(image).tolist() == [[0x80, 0]]


def test_a_palette_becomes_its_colours():
    image = Image.fromarray(colours()).quantize(16)
    found = open_image(encoded(image, "PNG"), "a.png")
    assert found.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(found), np.asarray(image.convert("RGB")))


def test_a_grey_palette_becomes_grey():
    image = Image.fromarray(ramp(), "L").convert("P")
    image.putpalette([v for grey in range(255, -1, -1) for v in (grey, grey, grey)])
    found = open_image(encoded(image, "PNG"), "a.png")
    assert found.mode == "L"
    np.testing.assert_array_equal(np.asarray(found), 255 - ramp())


def test_a_transparent_palette_entry_is_black():
    palette = chunk(b"PLTE", bytes([10, 20, 30, 200, 100, 50]))
    data = png(8, 3, [bytes([0, 1])], palette, chunk(b"tRNS", bytes([0])))
    assert opened(data).tolist() == [[[0, 0, 0], [200, 100, 50]]]


def test_one_colour_declared_transparent_is_shown_as_stored():
    assert opened(png(8, 0, [bytes([7, 9])], chunk(b"tRNS", b"\0\x07"))).tolist() == [[7, 9]]


# ---------------------------------------------------------------- CMYK


def without_adobe_mark(jpeg):
    at = jpeg.index(b"\xff\xee")
    return jpeg[:at] + jpeg[at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big") :]


def test_cmyk_jpeg_shows_its_inks_with_and_without_adobes_mark():
    cyan = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
    adobe = encoded(cyan, "JPEG", quality=95)
    assert b"Adobe" in adobe
    # The same inks without the mark: stored as they are, not complemented.
    stored_plainly = encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 255)), "JPEG", quality=95)
    plain = without_adobe_mark(stored_plainly)
    assert b"Adobe" not in plain
    for data in (adobe, plain):
        image = open_image(data, "a.jpg")
        assert image.mode == "RGB"
        assert np.abs(np.asarray(image).astype(int) - (0, 255, 255)).max() <= 3


def test_cmyk_tiff_shows_its_inks():
    data = encoded(Image.new("CMYK", (2, 2), (0, 255, 0, 0)), "TIFF")
    assert opened(data)[0, 0].tolist() == [255, 0, 255]


# ---------------------------------------------------------------- orientation and metadata


def with_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_the_orientation_is_applied(kind, orientation):
    image = Image.fromarray(ramp(16, 32))
    if kind == "TIFF":
        data = encoded(image, kind, tiffinfo={0x0112: orientation})
    else:
        data = encoded(image, kind, exif=with_orientation(orientation))
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    assert expected.size == ((32, 16) if orientation < 5 else (16, 32))
    np.testing.assert_array_equal(opened(data), np.asarray(expected))


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_makes_no_sense_is_ignored(orientation):
    data = encoded(Image.fromarray(ramp()), "PNG", exif=with_orientation(orientation))
    np.testing.assert_array_equal(opened(data), ramp())


@given(st.binary(max_size=60))
def test_broken_exif_is_no_reason_to_refuse_or_to_warn(junk):
    for start in (b"", b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"):
        exif = b"Exif\0\0" + start + junk
        segment = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
        jpeg = encoded(Image.fromarray(ramp()), "JPEG")
        assert open_image(jpeg[:2] + segment + jpeg[2:], "a.jpg").size in ((20, 12), (12, 20))


def test_what_is_opened_carries_no_metadata():
    exif, icc = with_orientation(1), b"profile"
    for data in (
        encoded(Image.fromarray(colours()), "JPEG", exif=exif, icc_profile=icc, comment=b"Jo Doe"),
        encoded(Image.fromarray(colours()), "PNG", exif=exif, icc_profile=icc, dpi=(72, 72)),
        encoded(Image.fromarray(colours()), "TIFF", description="Jo Doe", icc_profile=icc),
    ):
        assert open_image(data, "a.file").info == {}


# ---------------------------------------------------------------- pages


def test_a_tiff_of_several_pages_is_refused():
    page = Image.fromarray(ramp())
    data = encoded(page, "TIFF", save_all=True, append_images=[page])
    with pytest.raises(BadInput, match=r"stack\.tif: a TIFF of several pages"):
        open_image(data, "stack.tif")


def test_a_thumbnail_is_not_a_page():
    assert opened(tiff("<", 16, np.array([[0, 65535]]), thumbnail=True)).tolist() == [[0, 255]]


def test_an_animated_png_is_refused():
    page = Image.fromarray(ramp())
    data = encoded(page, "PNG", save_all=True, append_images=[Image.fromarray(255 - ramp())])
    with pytest.raises(BadInput, match=r"beat\.png: an animated PNG"):
        open_image(data, "beat.png")


def tiff(order, bits, values, *, photometric=1, thumbnail=False):
    """A one-strip TIFF written by hand, for the kinds Pillow does not write."""
    height, width = values.shape
    strip = values.astype(f"{order}u{bits // 8}").tobytes()

    def page(kind, following):
        tags = [(254, 4, kind), (256, 4, width), (257, 4, height), (258, 3, bits), (259, 3, 1)]
        tags += [(262, 3, photometric), (273, 4, 8), (277, 3, 1), (278, 4, height)]
        tags += [(279, 4, len(strip))]
        entries = b"".join(
            struct.pack(order + "HHL", tag, code, 1)
            + (
                struct.pack(order + "HH", value, 0)
                if code == 3
                else struct.pack(order + "L", value)
            )
            for tag, code, value in tags
        )
        return struct.pack(order + "H", len(tags)) + entries + struct.pack(order + "L", following)

    at = 8 + len(strip)
    mark = b"II*\0" if order == "<" else b"MM\0*"
    first = page(0, at + len(page(0, 0)) if thumbnail else 0)
    return mark + struct.pack(order + "L", at) + strip + first + (page(1, 0) if thumbnail else b"")


# ---------------------------------------------------------------- quick to import


@pytest.mark.parametrize(
    ("step", "absent"),
    [
        ("import overread.imaging", {"PIL", "numpy", "pydicom"}),
        ("import overread.imaging as i; i.open_image(data, 'a.png')", {"numpy", "pydicom"}),
    ],
)
def test_nothing_is_imported_before_it_is_needed(step, absent):
    data = encoded(Image.fromarray(ramp()), "PNG")
    program = f"import sys; data = {data!r}; {step}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not absent & set(done.stdout.split())
