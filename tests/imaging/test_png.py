"""What is sent in place of a picture shows its very pixels, whichever way it was made."""

from __future__ import annotations

import hashlib
import io
import struct
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import isal_zlib
from PIL import Image

from overread.case import BadInput, Box, Fill, Inline, Picture, Resize, Within
from overread.imaging import ENCODER, open_image, pixels, render
from overread.imaging._own_png import own_png
from overread.imaging._png import _are_grey, _filters_for, alike, png, pngs
from support.timing import cpu_seconds

pytestmark = pytest.mark.filterwarnings("error")

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), RGBA: (8, 16)}  # fmt: skip
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))  # fmt: skip

# ------------------------------------------------------------- files of every kind, made by hand


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))


def packed(samples: np.ndarray, bits: int, chance: np.random.Generator) -> bytes:
    """Rows of samples as they stand in a PNG, each under a filter drawn for it."""
    height = samples.shape[0]
    rows = samples.reshape(height, -1)
    if bits == 16:
        lines = rows.astype(">u2").view(np.uint8).reshape(height, -1)
    elif bits == 8:
        lines = rows.astype(np.uint8)
    else:
        every = np.unpackbits(rows.astype(np.uint8)[..., None], axis=-1)[..., -bits:]
        lines = np.packbits(every.reshape(height, -1), axis=1)
    step = max(1, bits * (samples.shape[2]) // 8)
    above, made = np.zeros(lines.shape[1], int), b""
    for line in lines.astype(int):
        left = np.concatenate([np.zeros(step, int), line])[: len(line)]
        corner = np.concatenate([np.zeros(step, int), above])[: len(line)]
        kind = int(chance.integers(5))
        guess = (0 * line, left, above, (left + above) // 2, paeth(left, above, corner))[kind]
        made += bytes([kind]) + ((line - guess) % 256).astype(np.uint8).tobytes()
        above = line
    return made


def paeth(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c))


def turned(orientation: int) -> bytes:
    entry = struct.pack(">HHLHH", 0x0112, 3, 1, orientation, 0)
    return b"MM\0*" + struct.pack(">LH", 8, 1) + entry + bytes(4)


def told(colour: int, bits: int) -> dict[str, bytes]:
    """What a PNG may say of itself besides its pixels."""
    deep = b"\0\x07" * (3 if colour == RGB else 1)
    return {
        "nothing": b"",
        "name": chunk(b"tEXt", b"Patient\0Jane Doe") + chunk(b"tIME", bytes(7)),
        "gamma": chunk(b"gAMA", struct.pack(">L", 45455)) + chunk(b"sRGB", b"\0"),
        "bits": chunk(b"sBIT", b"\x05" * CHANNELS[colour]),
        "profile": chunk(b"iCCP", b"Doe\0\0" + zlib.compress(b"a profile")),
        "transparent": chunk(b"tRNS", b"\x80\x20" if colour == PALETTE else deep),
        "upright": chunk(b"eXIf", turned(1)),
        "lying": chunk(b"eXIf", turned(6)),
        "suggested": chunk(b"PLTE", bytes(range(6))) if colour == RGB else b"",
    }


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, dict]:
    """A PNG, and what it is."""
    # Half of them of the kinds that may be sent as they are.
    colour = draw(st.sampled_from([*DEPTHS, GREY, GREY, RGB, RGB]))
    bits = draw(st.sampled_from([*DEPTHS[colour], 8, 8, 8]))
    side = st.integers(1, 9) | st.integers(40, 60) | st.integers(60, 90)
    height, width = draw(side), draw(side)
    interlaced = draw(st.sampled_from([False, False, False, True]))
    chance = np.random.default_rng(draw(st.integers(0, 9999)))
    shape = (height, width, CHANNELS[colour])
    most = min(1 << bits, 4) if colour == PALETTE else 1 << bits
    samples = chance.integers(0, most, shape)
    coarse = draw(st.sampled_from([1, 15, 30, 45]))  # in blocks, which are smaller as a PNG
    samples = samples[::coarse, ::coarse].repeat(coarse, 0).repeat(coarse, 1)[:height, :width]
    if interlaced:
        parts = [samples[top::down, left::across] for top, left, down, across in ADAM7]
        rows = b"".join(packed(part, bits, chance) for part in parts if part.size)
    else:
        rows = packed(samples, bits, chance)
    saying = draw(st.sampled_from(sorted(told(colour, bits))))
    body = zlib.compress(rows, draw(st.sampled_from([0, 1, 6, 9])))
    cut = draw(st.integers(0, len(body)))
    between = draw(st.sampled_from([b"", chunk(b"tEXt", b"Doe\0Jane")]))
    palette = chunk(b"PLTE", bytes([0, 0, 0, 9, 90, 200, 7, 7, 7, 255, 0, 3]))
    header = struct.pack(">LLBBBBB", width, height, bits, colour, 0, 0, interlaced)
    data = b"".join((
        b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), palette if colour == PALETTE else b"",
        told(colour, bits)[saying], chunk(b"IDAT", body[:cut]), between, chunk(b"IDAT", body[cut:]),
        chunk(b"IEND", b""), draw(st.sampled_from([b"", b"Jane Doe"])),
    ))  # fmt: skip
    facts = {"colour": colour, "bits": bits, "interlaced": interlaced, "saying": saying}
    return data, facts | {"pixels": width * height, "packed": len(body) < 0.8 * len(rows)}


def kinds_in(data: bytes) -> list[bytes]:
    found, at = [], 8
    while at < len(data):
        found.append(data[at + 4 : at + 8])
        at += 12 + struct.unpack_from(">L", data, at)[0]
    return found


# ---------------------------------------------------------------- a file's own bytes


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(files())
def test_a_file_sent_as_it_is_shows_what_opening_and_writing_it_would(made) -> None:
    data, facts = made
    opened = open_image(data, "a.png")
    own = own_png(data, "a.png", ())
    if own is not None:
        sent = Image.open(io.BytesIO(own))
        assert sent.mode == opened.mode
        np.testing.assert_array_equal(np.asarray(sent), np.asarray(opened))
        assert set(kinds_in(own)) == {b"IHDR", b"IDAT", b"IEND"}
        assert b"Doe" not in own
    plain = facts["colour"] in (GREY, RGB) and facts["bits"] == 8 and not facts["interlaced"]
    if not plain or facts["saying"] in ("lying", "suggested" if facts["colour"] == RGB else ""):
        assert own is None
    elif facts["packed"] and len(data) < CHANNELS[facts["colour"]] * facts["pixels"]:
        assert own is not None
    np.testing.assert_array_equal(pixels(render(Picture(Inline(data)))), np.asarray(opened))


def film(height: int = 40, width: int = 50, *, depth: int = 1, level: int = 6) -> bytes:
    """Smooth enough to be smaller as a PNG, as films are."""
    y, x = np.mgrid[0:height, 0:width]
    grey = (np.sin(x / 9) * 60 + np.cos(y / 7) * 50 + 120).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(grey if depth == 1 else np.dstack([grey, grey // 2, 255 - grey])).save(
        file, "PNG", compress_level=level
    )
    return file.getvalue()


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(
    ("operations", "as_it_is"),
    [
        ((), True),
        ((Resize(50, 40),), True),
        ((Within(50), Resize(50, 40), Within(99)), True),
        ((Resize(40, 50),), False),
        ((Within(49),), False),
        ((Fill(Box(0, 0, 5, 5)),), False),
        ((Resize(50, 40), Fill(Box(0, 0, 5, 5))), False),
    ],
)
def test_only_a_recipe_that_changes_nothing_sends_the_file(operations, as_it_is, depth) -> None:
    data = film(depth=depth)
    own = own_png(data, "a.png", operations)
    assert own == (data if as_it_is else None)  # this one holds no metadata
    shown = render(Picture(Inline(data), operations))
    assert (shown.data == data) == as_it_is
    if as_it_is:
        np.testing.assert_array_equal(pixels(shown), np.asarray(open_image(data, "a.png")))


def test_a_jpeg_is_never_sent_as_it_is() -> None:
    """Its recipe says PNG of its pixels, or JPEG anew: its own bytes show other pixels than that."""
    file = io.BytesIO()
    Image.open(io.BytesIO(film())).save(file, "JPEG", quality=60)
    for wire, kind in (("png", "image/png"), ("jpeg:60", "image/jpeg")):
        shown = render(Picture(Inline(file.getvalue()), wire=wire))
        assert shown.media_type == kind
        assert shown.data != file.getvalue()
    assert render(Picture(Inline(film()), wire="jpeg:60")).media_type == "image/jpeg"


def test_a_file_larger_than_its_pixels_is_written_anew() -> None:
    stored = film(level=0)
    assert own_png(stored, "a.png", ()) is None
    assert len(render(Picture(Inline(stored))).data) < len(stored) / 2


def refusal(make) -> str:
    try:
        make()
    except BadInput as error:
        return str(error)
    return ""


def same_end(data: bytes) -> None:
    """Whatever a file is, asking for its own bytes ends as opening it does."""
    said = refusal(lambda: open_image(data, "inline image"))
    assert refusal(lambda: render(Picture(Inline(data)))) == said
    if not said:
        expected = np.asarray(open_image(data, "inline image"))
        np.testing.assert_array_equal(pixels(render(Picture(Inline(data)))), expected)


@pytest.mark.parametrize("depth", [1, 3])
def test_a_file_cut_anywhere_is_refused_in_the_same_words(depth) -> None:
    whole = film(depth=depth)
    for cut in range(len(whole)):
        same_end(whole[:cut])


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 5000), st.binary(min_size=1, max_size=6), st.booleans())
def test_a_damaged_file_ends_as_it_would_have(at, junk, mended) -> None:
    """Also where the checksums were made anew over the damage."""
    whole = film()
    at %= len(whole)
    data = whole[:at] + junk + whole[at + len(junk) :]
    if mended and kinds_in(whole) == [b"IHDR", b"IDAT", b"IEND"]:
        header, body = data[16:29], data[41:-16]
        data = b"".join(
            (data[:8], chunk(b"IHDR", header), chunk(b"IDAT", body), chunk(b"IEND", b""))
        )
    same_end(data)


@pytest.mark.parametrize(
    "rows",
    [
        b"\0" * (41 * 30),  # a row too few
        b"\0" * (41 * 31 + 5),  # more than there are pixels
        b"\0" * (41 * 30) + b"\x05" + b"\0" * 40,  # a filter there is not
    ],
)
def test_rows_that_are_not_those_of_the_header_are_not_sent(rows) -> None:
    header = chunk(b"IHDR", struct.pack(">LLBBBBB", 40, 31, 8, 0, 0, 0, 0))
    for body in (zlib.compress(rows), zlib.compress(rows) + b"Jane Doe", zlib.compress(rows)[:-1]):
        data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")
        assert own_png(data, "a.png", ()) is None
        same_end(data)


def test_what_stands_behind_the_pixels_is_not_sent() -> None:
    header = chunk(b"IHDR", struct.pack(">LLBBBBB", 40, 31, 8, 0, 0, 0, 0))
    whole = zlib.compress(bytes(41 * 31))
    for body, sent in ((whole, True), (whole + b"Jane Doe", False)):
        data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")
        assert (own_png(data, "a.png", ()) is not None) == sent
        assert b"Doe" not in render(Picture(Inline(data))).data


# ---------------------------------------------------------------- writing


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(["grey", "rgb", "alike"]), st.data())
def test_every_pixel_is_written(height, width, kind, data) -> None:
    chance = np.random.default_rng(data.draw(st.integers(0, 9999)))
    array = chance.integers(0, 256, (height, width, 3), dtype=np.uint8)
    across, down = data.draw(st.sampled_from([(1, 1), (1, 40), (40, 1), (8, 8)]))
    array = np.repeat(np.repeat(array, down, 0), across, 1)[:height, :width]
    if kind == "alike":
        array = np.repeat(array[..., :1], 3, axis=2)
    array = array[..., 0] if kind == "grey" else array
    written = png(Image.fromarray(array))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(written))), array)
    assert kinds_in(written) == [b"IHDR", b"IDAT", b"IEND"]


@pytest.mark.slow
def test_a_picture_of_many_bands_is_written_whole() -> None:
    chance = np.random.default_rng(0)
    for array in (chance.integers(0, 9, (1500, 1800)), chance.integers(0, 9, (900, 800, 3))):
        for steep in (array.cumsum(0), array.cumsum(1), array):
            grey = steep.astype(np.uint8)
            found = np.asarray(Image.open(io.BytesIO(png(Image.fromarray(grey)))))
            np.testing.assert_array_equal(found, grey)


def pictures() -> dict[str, Image.Image]:
    """Every filter, both deflates, one band and several."""
    rows, columns = np.mgrid[0:48, 0:64]
    grey = ((rows * 37 + columns * 11) % 256).astype(np.uint8)
    bars = np.repeat((np.arange(64) * 83 % 256).astype(np.uint8)[None], 48, 0)
    return {
        "none": Image.fromarray(np.where((rows * 7 + columns) % 5 == 0, 255, 0).astype(np.uint8)),
        "sub": Image.fromarray(np.ascontiguousarray(bars[:48, :48].T)),
        "up": Image.fromarray(bars),
        "rgb": Image.fromarray(np.dstack([grey, np.roll(grey, 7, 0), np.roll(grey, 5, 1)])),
        "grey as rgb": Image.fromarray(np.dstack([grey] * 3)),
        "bands": Image.fromarray(np.tile(bars, (40, 20))),
    }


DIGESTS = {
    2: {
        "none": "2491feb1f606b46b",
        "sub": "eab5d8d7279e4fa1",
        "up": "b86e8c5d0bd9b5f4",
        "rgb": "551c37988d0438af",
        "grey as rgb": "7349c99a0aabba8e",
        "bands": "c9bee89e220eda70",
    },
}


def deflates_as_here() -> bool:
    """Whether isal and zlib write what they wrote where the table was made.

    isal 1.9 does on every x86-64 with SSE4.2, and not on ARM; zlib does, and zlib-ng in its place
    does not.
    """
    known = bytes((i * i // 700) % 256 for i in range(200_000))
    packed = isal_zlib.compress(known, 2), zlib.compress(known, 1)
    return [hashlib.sha256(each).hexdigest()[:10] for each in packed] == [
        "68ecab52f2",
        "8b416d80ed",
    ]


@pytest.mark.skipif(
    not deflates_as_here(), reason="other bytes on this processor, or with this zlib"
)
def test_bytes_change_only_with_the_encoders_revision() -> None:
    found = {
        name: hashlib.blake2b(png(image), digest_size=8).hexdigest()
        for name, image in pictures().items()
    }
    assert found == DIGESTS[ENCODER], (
        "the same pixels became other bytes: raise ENCODER and add a table for the new revision. "
        "No reply is asked again for it: no key holds it"
    )


def test_frames_written_together_are_those_written_alone() -> None:
    """Of every filter, in grey and in colour, of one size and of several, small and large."""
    every = [np.asarray(image) for image in pictures().values()]
    chance = np.random.default_rng(3)
    shade = np.add.outer(np.arange(112), np.arange(112)) % 256
    for spread in (1, 20, 200):
        for grain in chance.integers(0, spread, (30, 112, 112)):
            every.append((shade + grain).astype(np.uint8))
    every += [np.dstack([frame, frame, frame // 2]) for frame in every[-5:]]
    every += [np.dstack([frame] * 3) for frame in every[-20:-5]]
    every.append(chance.integers(0, 9, (1500, 800), np.uint8).cumsum(1, np.uint8))
    every += [shade[:1].astype(np.uint8), shade[:, :1].astype(np.uint8), np.ones((1, 1), np.uint8)]
    alone = [png(Image.fromarray(frame)) for frame in every]
    filters = {zlib.decompress(data[41:-16])[0] for data in alone}
    assert filters == {0, 1, 2}
    assert pngs(every) == alone
    assert pngs(every[::-1]) == alone[::-1]
    assert pngs([]) == []


@pytest.mark.parametrize("least", [0, 100, 127, 128, 129, 200])
def test_the_filter_leaves_least_counted_as_signed_bytes(least) -> None:
    rows = np.random.default_rng(least).integers(least, 256, (3, 9, 30), dtype=np.uint8)

    def left(differences) -> list[int]:
        signed = (differences.astype(int) + 128) % 256 - 128
        return abs(signed).sum(axis=(1, 2)).tolist()

    now, above = rows[:, 1:].astype(int), rows[:, :-1].astype(int)
    ways = [
        left(now),
        left(now[..., 3:] - now[..., :-3]),
        left(now - above),
    ]  # by a filter's number
    chosen = _filters_for(rows[:, 1:], rows[:, :-1], 3)
    for picture, kind in enumerate(chosen):
        assert ways[kind][picture] == min(way[picture] for way in ways)


@pytest.mark.parametrize("differs", [0, 1, 2])
@pytest.mark.parametrize(("pixels_off", "grey"), [(0, True), (7, True), (8, False), (16, False)])
def test_a_picture_is_grey_where_most_of_its_pixels_are(differs, pixels_off, grey) -> None:
    rows = np.full((1, 4, 4, 3), 9, np.uint8)
    rows.reshape(-1, 3)[:pixels_off, differs] = 8
    assert _are_grey(rows.reshape(1, 4, 12), 3) == [grey]


def test_only_small_frames_of_one_shape_are_taken_together() -> None:
    small, other = np.zeros((112, 112), np.uint8), np.zeros((112, 112, 3), np.uint8)
    large = np.zeros((2000, 2000), np.uint8)
    found = [some.shape for some in alike([*[small] * 50, *[other] * 2, small, large, large])]
    assert [some[0] for some in found] == [20, 20, 10, 2, 1, 1, 1]
    assert found[-1][1:] == large.shape
    assert np.shares_memory(next(alike([large])), large), "what is large is not copied"


def test_the_pictures_above_take_every_way() -> None:
    filters = {zlib.decompress(png(image)[41:-16])[0] for image in pictures().values()}
    assert filters == {0, 1, 2}


def test_bytes_are_the_same_every_time_and_in_every_thread() -> None:
    image, found = Image.open(io.BytesIO(film(300, 400, depth=3))).convert("RGB"), []
    threads = [
        threading.Thread(target=lambda: found.extend(png(image) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert set(found) == {png(image)}


def by_pillow(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def grainy(height: int, width: int, depth: int, *, alike: bool = False) -> Image.Image:
    """Shade and grain, as films have them."""
    chance = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width]
    shade = 120 + 80 * np.sin(3 * x / width) * np.cos(2 * y / height)
    grain = chance.normal(0, 5, (height, width, 1 if alike else depth)) + shade[..., None]
    array = np.clip(np.broadcast_to(grain, (height, width, depth)), 0, 255).astype(np.uint8)
    return Image.fromarray(array[..., 0] if depth == 1 else array)


@pytest.mark.parametrize("image", [
    grainy(224, 224, 1), grainy(224, 224, 3), grainy(224, 224, 3, alike=True), grainy(700, 600, 1),
])  # fmt: skip
def test_what_is_sent_is_no_larger_than_pillow_would_make_it(image) -> None:
    assert len(png(image)) < 1.15 * len(by_pillow(image))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_writing_takes_a_third_of_pillows_time_at_most(depth) -> None:
    image = grainy(1024, 1024, depth)
    ours, _ = cpu_seconds(lambda: png(image), 3)
    theirs, _ = cpu_seconds(lambda: by_pillow(image), 3)
    assert ours < theirs / 3
