"""A recipe becomes exactly the pixels it says, in bytes that hold nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.case import (
    BadInput,
    Box,
    Fill,
    Inline,
    Occlude,
    Overlay,
    Picture,
    Resize,
    Source,
    Within,
)
from overread.imaging import RENDERER, digest, has_film, open_image, pixels, render, render_film
from overread.imaging._dicom_file import DICOM_RENDERER

pytestmark = pytest.mark.filterwarnings("error")


def inline(array, kind="PNG", **options):
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind, **options)
    return Inline(file.getvalue())


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def shown(source, *operations, wire="png"):
    return pixels(render(Picture(source, operations, wire)))


# ---------------------------------------------------------------- no operation


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(1, 30), st.booleans(), st.integers(0, 99))
def test_without_operations_every_pixel_arrives(height, width, colour, seed):
    array = noise(*((height, width, 3) if colour else (height, width)), seed=seed)
    found = shown(inline(array))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, array)


def test_a_file_and_its_bytes_render_alike(tmp_path):
    source = inline(noise(9, 7))
    (tmp_path / "a.png").write_bytes(source.data)
    assert render(Picture(Source(str(tmp_path), "a.png"))) == render(Picture(source))


# ---------------------------------------------------------------- resize


@settings(max_examples=30)
@given(st.integers(1, 90), st.integers(1, 90), st.booleans())
def test_resize_is_pillows_bilinear(width, height, colour):
    array = noise(40, 50, 3) if colour else noise(40, 50)
    expected = Image.fromarray(array).resize((width, height), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(shown(inline(array), Resize(width, height)), np.asarray(expected))


def test_resize_of_a_jpeg_is_pillows_from_first_to_last():
    source = inline(noise(300, 200), "JPEG")
    expected = Image.open(io.BytesIO(source.data)).resize((224, 224), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(shown(source, Resize(224, 224)), np.asarray(expected))


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5), (100_000, 100_000)])
def test_a_size_that_cannot_be_is_refused(size):
    with pytest.raises(BadInput, match=f"resize to {size[0]} x {size[1]}"):
        shown(inline(noise(4, 4)), Resize(*size))


# ---------------------------------------------------------------- fill


@given(
    st.integers(-8, 14), st.integers(-8, 14), st.integers(1, 25), st.integers(1, 25),
    st.integers(0, 255), st.booleans(),
)  # fmt: skip
def test_fill_paints_the_half_open_box_and_nothing_else(x, y, w, h, value, colour):
    array = noise(10, 12, 3) if colour else noise(10, 12)
    expected = array.copy()
    for row in range(10):
        for column in range(12):
            if x <= column < x + w and y <= row < y + h:
                expected[row, column] = value
    np.testing.assert_array_equal(shown(inline(array), Fill(Box(x, y, w, h), value)), expected)


@pytest.mark.parametrize("box", [Box(1, 1, 0, 3), Box(1, 1, 3, 0), Box(1, 1, -3, 3)])
def test_a_box_without_extent_is_refused(box):
    with pytest.raises(BadInput, match="a box needs both above 0"):
        shown(inline(noise(4, 4)), Fill(box))


@pytest.mark.parametrize("value", [-1, 256])
def test_a_grey_value_outside_0_to_255_is_refused(value):
    with pytest.raises(BadInput, match=f"fill with {value}"):
        shown(inline(noise(4, 4)), Fill(Box(0, 0, 1, 1), value))


def test_operations_are_carried_out_in_order():
    source, box = inline(noise(40, 40)), Box(4, 4, 8, 8)
    first_filled = shown(source, Fill(box, 255), Resize(20, 20))
    last_filled = shown(source, Resize(20, 20), Fill(box, 255))
    assert (last_filled[4:12, 4:12] == 255).all()
    assert (first_filled[3:5, 3:5] == 255).all()
    assert not (first_filled[8:12, 8:12] == 255).all()


# ---------------------------------------------------------------- overlay


@settings(max_examples=40)
@given(
    st.floats(0, 1),
    st.tuples(*[st.integers(0, 255)] * 3),
    st.booleans(),
)
def test_overlay_blends_where_the_mask_is_not_zero(alpha, color, colour):
    array = noise(6, 8, 3) if colour else noise(6, 8)
    mask = (noise(6, 8, seed=5) > 128).astype(np.uint8)  # label 1, not 255
    rgb = (array if colour else np.stack([array] * 3, axis=-1)).astype(float)
    blended = np.floor((1 - alpha) * rgb + alpha * np.array(color, float) + 0.5)
    expected = np.where(mask[..., None] > 0, blended, rgb).astype(np.uint8)
    found = shown(inline(array), Overlay(inline(mask), color, alpha))
    np.testing.assert_array_equal(found, expected)


def test_a_mask_of_another_size_is_fitted_by_the_nearest_pixel():
    mask = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    found = shown(inline(np.zeros((4, 4), np.uint8)), Overlay(inline(mask), (255, 0, 0), 1.0))
    np.testing.assert_array_equal(found[..., 0], np.kron(mask, np.full((2, 2), 255)))


def test_a_small_label_in_a_16_bit_or_float_mask_counts():
    for kind in (np.uint16, np.float32):
        mask = inline(np.array([[0, 1]], dtype=kind), "TIFF")
        found = shown(inline(np.zeros((1, 2), np.uint8)), Overlay(mask, (9, 8, 7), 1.0))
        assert found.tolist() == [[[0, 0, 0], [9, 8, 7]]]


def test_a_coloured_mask_counts_in_any_channel():
    mask = np.zeros((1, 4, 3), np.uint8)
    mask[0, [0, 1, 2], [0, 1, 2]] = 1
    found = shown(inline(np.zeros((1, 4), np.uint8)), Overlay(inline(mask), (9, 9, 9), 1.0))
    assert found[..., 0].tolist() == [[9, 9, 9, 0]]


@pytest.mark.parametrize(
    ("color", "alpha"), [((0, 0, 256), 0.5), ((0, 0, 0), 1.5), ((0, 0, 0), float("nan"))]
)
def test_a_colour_or_alpha_that_cannot_be_is_refused(color, alpha):
    source = inline(noise(4, 4))
    with pytest.raises(BadInput, match="overlay of colour"):
        shown(source, Overlay(source, color, alpha))


def test_a_damaged_mask_is_refused_by_name(tmp_path):
    (tmp_path / "mask.png").write_bytes(inline(noise(9, 9)).data[:60])
    with pytest.raises(BadInput, match=r"^mask\.png: damaged"):
        shown(inline(noise(4, 4)), Overlay(Source(str(tmp_path), "mask.png")))


# ---------------------------------------------------------------- the wire


def test_jpeg_is_pillows_at_the_quality_asked_for():
    array = noise(32, 32, 3)
    for quality in (1, 75, 100):
        file = io.BytesIO()
        Image.fromarray(array).save(file, "JPEG", quality=quality)
        sent = render(Picture(inline(array), wire=f"jpeg:{quality}"))
        assert sent.media_type == "image/jpeg"
        assert sent.data == file.getvalue()


@pytest.mark.parametrize(
    "wire",
    ["jpeg", "jpeg:", "jpeg:0", "jpeg:101", "jpeg:x", "jpeg:-5", "jpeg:²", "webp", "", "PNG"],
)
def test_an_unknown_wire_format_lists_the_known_ones(wire):
    with pytest.raises(BadInput, match='Use "png" or "jpeg:Q"') as refusal:
        render(Picture(inline(noise(4, 4)), wire=wire))
    assert f'"{wire}"' in str(refusal.value)


def test_the_recipe_is_checked_before_the_file_is_opened(tmp_path):
    absent = Source(str(tmp_path), "absent.png")
    with pytest.raises(BadInput, match="wire format"):
        render(Picture(absent, wire="webp"))
    with pytest.raises(BadInput, match="resize"):
        render(Picture(absent, (Resize(0, 0),)))


def test_nothing_but_pixels_is_sent():
    exif = Image.Exif()
    exif[0x013B], exif[0x9286] = "Dr Roe", "Jane Doe"
    options = {"exif": exif.tobytes(), "icc_profile": b"ICCPROFILE", "dpi": (72, 72)}
    for source in (
        inline(noise(20, 20, 3), "JPEG", comment=b"Jane Doe", **options),
        inline(noise(20, 20, 3), "PNG", **options),
    ):
        assert b"Doe" in source.data
        assert png_chunks(render(Picture(source)).data) == {b"IHDR", b"IDAT", b"IEND"}
        jpeg = render(Picture(source, wire="jpeg:90")).data
        assert not any(word in jpeg for word in (b"Exif", b"ICC", b"Doe", b"Roe"))
        assert Image.open(io.BytesIO(jpeg)).info.keys() <= {
            "jfif", "jfif_version", "jfif_unit", "jfif_density",
        }  # fmt: skip


def png_chunks(data):
    kinds, at = set(), 8
    while at < len(data):
        kinds.add(data[at + 4 : at + 8])
        at += 12 + struct.unpack_from(">L", data, at)[0]
    return kinds


def test_rendering_is_the_same_every_time_and_in_every_thread():
    source = inline(noise(200, 150), "JPEG")
    picture = Picture(source, (Resize(64, 64), Fill(Box(1, 2, 3, 4), 9), Overlay(source)))
    found = []
    threads = [
        threading.Thread(target=lambda: found.extend(render(picture).data for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert set(found) == {render(picture).data}


# ---------------------------------------------------------------- the renderer's revision


def dicom(array):
    """A MONOCHROME1 radiograph as implicit little-endian elements; 16 bits with rescale and window.

    Eight bits are taken without either.
    """

    def element(tag, value):
        body = value if isinstance(value, bytes) else struct.pack("<H", value)
        return struct.pack("<HHL", tag >> 16, tag & 0xFFFF, len(body)) + body

    rows, columns = array.shape
    bits = array.dtype.itemsize * 8
    window = (0x1050, b"31000 "), (0x1051, b"50000 "), (0x1052, b"-200"), (0x1053, b"1.02")
    return Inline(
        element(0x00080060, b"CR")
        + b"".join(element(0x00280000 + tag, value) for tag, value in (
            (0x0002, 1), (0x0004, b"MONOCHROME1 "), (0x0010, rows), (0x0011, columns),
            (0x0100, bits), (0x0101, bits), (0x0102, bits - 1), (0x0103, 0),
            *(window if bits == 16 else ()),
        ))
        + element(0x7FE00010, array.astype(f"<u{bits // 8}").tobytes())
    )  # fmt: skip


def recipes():
    """One recipe per rule whose change would change pixels. Sources are made in code, losslessly."""
    rows, columns = np.mgrid[0:48, 0:64]
    grey = ((rows * 37 + columns * 11) % 256).astype(np.uint8)
    rgb = np.stack([grey, np.roll(grey, 7, 0), np.roll(grey, 5, 1)], axis=-1)
    deep = (grey.astype(np.uint16) * 251 + 13).astype(np.uint16)
    mask = inline(((rows + columns) % 17 < 6).astype(np.uint8))
    alpha = np.dstack([rgb, 255 - grey])
    return {
        "grey": Picture(inline(grey)),
        "grey, smaller": Picture(inline(grey), (Resize(31, 29),)),
        "rgb, larger": Picture(inline(rgb), (Resize(100, 70),)),
        "16 bits": Picture(inline(deep), (Resize(20, 20),)),
        "float": Picture(inline(np.sqrt(deep.astype(np.float32)), "TIFF")),
        "dicom": Picture(dicom(deep), (Resize(30, 30),)),
        "dicom, 8 bits": Picture(dicom(grey // 2)),
        "alpha": Picture(inline(alpha)),
        "fill": Picture(inline(grey), (Resize(32, 32), Fill(Box(5, 6, 9, 30), 128))),
        "overlay": Picture(inline(grey), (Overlay(mask, (255, 40, 7), 0.3), Resize(40, 40))),
        "mean": Picture(inline(rgb), (Occlude(Box(20, -3, 30, 31), "mean"),)),
        "blur": Picture(inline(grey), (Occlude(Box(11, 9, 30, 14), "blur"),)),
        "noise": Picture(inline(grey), (Occlude(Box(40, 30, 30, 14), "noise", 12345),)),
        "inpaint": Picture(inline(rgb), (Occlude(Box(11, 9, 30, 17), "inpaint"),)),
        "inpaint, edge": Picture(inline(grey), (Occlude(Box(-5, 20, 30, 40), "inpaint"),)),
    }


DIGESTS = {
    (1, 2): {
        "grey": "3ba70e4739abd0fd",
        "grey, smaller": "ca327da45a628c4e",
        "rgb, larger": "d242babdab9a88e9",
        "16 bits": "87a0cb5f00373943",
        "float": "ddb58edcc38281a8",
        "dicom": "cbbdf93649b41595",
        "dicom, 8 bits": "1a42e551d066d361",
        "alpha": "18b9578de7624863",
        "fill": "c8b8b35be97b7cf5",
        "overlay": "845f4425d251e4b2",
        "mean": "ff7da447c581a470",
        "blur": "6a36fad7efbefab4",
        "noise": "44b1bf4412d310a2",
        "inpaint": "44d73d50d3dd2f03",
        "inpaint, edge": "0290e01c1a94c49a",
    },
}


def test_pixels_change_only_with_the_renderers_revision():
    found = {
        name: hashlib.blake2b(
            repr(array.shape).encode() + array.tobytes(), digest_size=8
        ).hexdigest()
        for name, array in ((n, pixels(render(p))) for n, p in recipes().items())
    }
    assert found == DIGESTS[RENDERER, DICOM_RENDERER], (
        "rendered pixels changed: raise RENDERER (DICOM_RENDERER if they are all of DICOM), so that "
        "kept replies are not taken for replies to the new pixels, and add a table for the new "
        "revision"
    )


def test_dicom_has_a_revision_of_its_own_in_the_digest_of_its_files(tmp_path):
    """So that replies to every other picture are kept when only DICOM is shown otherwise."""
    grey = noise(6, 7)
    for name, data, ours in (("a.png", inline(grey).data, False), ("b", dicom(grey).data, True)):
        (tmp_path / name).write_bytes(data)
        plain = hashlib.sha256(data).digest()[:16]
        found = {digest(Inline(data)), digest(Source(str(tmp_path), name))}
        assert len(found) == 1
        assert (plain not in found) == ours


def test_pixels_reads_what_was_sent():
    sent = render(Picture(inline(noise(8, 8)), wire="jpeg:50"))
    np.testing.assert_array_equal(pixels(sent), np.asarray(open_image(sent.data, "sent")))
    assert pixels(sent).flags.writeable


# ------------------------- Shrinking to within a number of pixels: what the cap of M3CoTBench does

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "m3cot" / "m3cot_prompts.json").read_text("utf-8")
)
SIZES = [
    (entry["width"], entry["height"], int(name.removeprefix("max_")), expected)
    for entry in GOLDEN["image_sizes"]
    for name, expected in entry.items()
    if name.startswith("max_")
]


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


# ---------------------------------------------------------------- films in their own size


def test_a_film_keeps_its_size_and_what_is_filled_is_filled_there():
    grey = np.full((300, 600), 200, np.uint8)
    mask = (Resize(60, 60), Fill(Box(6, 30, 12, 15), 0))
    shown = pixels(render_film(Picture(inline(grey), mask)))
    assert shown.shape[:2] == (300, 600)
    dark = np.zeros((300, 600), bool)
    dark[150:225, 60:180] = True
    assert np.array_equal(shown.reshape(300, 600, -1)[..., 0] == 0, dark)
    # The same box of the picture a reader was shown.
    small = pixels(render(Picture(inline(grey), mask))).reshape(60, 60, -1)[..., 0]
    assert np.argwhere(small == 0).min(0).tolist() == [30, 6]


@pytest.mark.parametrize("how", ["mean", "blur", "noise", "inpaint"])
def test_what_depends_on_the_size_is_shown_as_a_reader_saw_it(how):
    picture = Picture(inline(np.zeros((9, 9), np.uint8)), (Occlude(Box(1, 1, 3, 3), how),))
    assert not has_film(picture)
    with pytest.raises(BadInput, match="only be shown as a reader saw it"):
        render_film(picture)
