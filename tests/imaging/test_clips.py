"""A clip's recipe becomes images, a sheet or a video: as many frames as asked for, or none."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from overread.case import (
    BadInput,
    Box,
    Clip,
    ClipMask,
    Fill,
    Inline,
    Picture,
    Resize,
    Shown,
    ShownClip,
)
from overread.imaging import Cache, _clips, lossless_clip, pixels, render, render_clip
from overread.imaging._clips import contact_sheet
from support.clip_files import SIZE, frame, number_of, png, video

FRAMES = [frame(number) for number in range(30)]
CLIP = Inline(lossless_clip(FRAMES))


def shown(**recipe: object) -> ShownClip:
    return render_clip(Clip(CLIP, tuple(range(3, 15)), **recipe))


def decoded(mp4: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(mp4), format="mp4") as container:
        return [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]


def test_images_are_one_png_a_frame_in_order() -> None:
    found = shown()
    assert (found.count, found.form, {f.media_type for f in found.frames}) == (
        12,
        "images",
        {"image/png"},
    )
    for number, image in enumerate(found.frames, 3):
        assert np.array_equal(pixels(image), FRAMES[number])


def test_a_frame_is_drawn_as_the_same_picture_would_be() -> None:
    operations = (Resize(20, 24), Fill(Box(1, 2, 5, 6), 9))
    for wire in ("png", "jpeg:80"):
        found = render_clip(Clip(CLIP, (7,), operations, wire=wire))
        assert found.frames[0] == render(Picture(Inline(png(FRAMES[7])), operations, wire))


def test_a_clip_made_twice_has_the_same_bytes() -> None:
    for form in ("images", "sheet", "video"):
        assert shown(form=form) == shown(form=form)


# ---------------------------------------------------------------- sheet


def test_a_sheet_holds_every_frame_whole_and_a_number_above_each() -> None:
    found = shown(form="sheet")
    assert (found.count, len(found.frames), found.frames[0].media_type) == (12, 1, "image/png")
    sheet = pixels(found.frames[0])
    places = []
    for number in range(3, 15):
        at = [
            (y, x)
            for y in range(sheet.shape[0] - SIZE + 1)
            for x in range(sheet.shape[1] - SIZE + 1)
            if sheet[y, x] == FRAMES[number][0, 0]
            and np.array_equal(sheet[y : y + SIZE, x : x + SIZE], FRAMES[number])
        ]
        assert len(at) == 1, f"frame {number} stands {len(at)} times"
        places += at
    assert places == sorted(places), "read in rows from the top left"
    for y, x in places:
        assert (sheet[y - 15 : y - 1, x : x + SIZE] > 128).any(), "no number above a tile"


def test_the_numbers_above_the_tiles_begin_with_0() -> None:
    blank = [Image.new("L", (40, 40), 60)] * 12
    sheet = contact_sheet(blank)
    # Text of 11 points in a band of 15 above each tile, 4 between the tiles.
    expected = Image.new("L", sheet.size, 0)
    pen, font = ImageDraw.Draw(expected), ImageFont.load_default(size=11)
    across = (sheet.width - 4) // 44
    for number in range(12):
        left, top = 4 + number % across * 44, 4 + number // across * 59
        pen.text((left + 20, top + 7.5), str(number), fill=255, font=font, anchor="mm")
        expected.paste(blank[number], (left, top + 15))
    assert np.array_equal(np.asarray(sheet), np.asarray(expected))


@pytest.mark.parametrize(("width", "height"), [(40, 40), (20, 80), (120, 40)])
def test_a_sheet_is_about_as_wide_as_high_whatever_its_tiles(width: int, height: int) -> None:
    sheet = contact_sheet([Image.new("L", (width, height), 60)] * 24)
    assert 0.6 < sheet.width / sheet.height < 1.7


def test_a_sheet_goes_over_the_wire_as_it_is_told() -> None:
    assert shown(form="sheet", wire="jpeg:80").frames[0].media_type == "image/jpeg"


def test_numbers_are_places_in_the_clip_not_in_the_file() -> None:
    later = render_clip(Clip(CLIP, (20,), form="sheet"))
    first = render_clip(Clip(CLIP, (0,), form="sheet"))
    band = slice(0, 18)
    assert np.array_equal(pixels(later.frames[0])[band], pixels(first.frames[0])[band])


@pytest.mark.slow
def test_a_sheet_too_large_is_refused() -> None:
    with pytest.raises(BadInput, match="Resize the frames"):
        render_clip(Clip(CLIP, tuple(range(30)), (Resize(2000, 2000),), form="sheet"))


# ---------------------------------------------------------------- video


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_a_video_holds_exactly_the_frames_in_order(n: int) -> None:
    found = render_clip(Clip(CLIP, tuple(range(n)), form="video"))
    assert (found.count, found.frames[0].media_type) == (n, "video/mp4")
    seen = decoded(found.frames[0].data)
    assert [number_of(one) for one in seen] == list(range(n))


def test_a_video_has_a_frame_a_second_each_shown_where_it_stands() -> None:
    data = shown(form="video").frames[0].data
    with av.open(io.BytesIO(data), format="mp4") as container:
        stream = container.streams.video[0]
        packets = [p for p in container.demux(stream) if p.size]
        assert stream.average_rate == 1
        assert all(p.pts == p.dts for p in packets)
        assert [float(p.pts * p.time_base) for p in packets] == list(range(12))


def test_a_video_is_nearly_what_was_shown() -> None:
    y, x = np.mgrid[:64, :64]
    waves = [128 + 60 * np.sin(x / 3 + n) + 40 * np.cos(y / 2.5 - n) for n in range(5)]
    frames = [wave.astype(np.uint8) for wave in waves]
    found = render_clip(Clip(Inline(lossless_clip(frames)), tuple(range(5)), form="video"))
    for one, true in zip(decoded(found.frames[0].data), frames, strict=True):
        assert np.abs(one[..., 0].astype(int) - true).mean() < 2


def test_odd_sizes_become_even_ones() -> None:
    found = render_clip(Clip(CLIP, (4, 5), (Resize(31, 33),), form="video"))
    seen = decoded(found.frames[0].data)
    assert {one.shape for one in seen} == {(34, 32, 3)}
    # The row and the column more are those beside them again, not a black edge.
    for one in seen:
        assert np.abs(one[-1].astype(int) - one[-2]).mean() < 5
        assert np.abs(one[:, -1].astype(int) - one[:, -2]).mean() < 5


def test_a_video_that_lost_a_frame_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from overread.imaging import _video

    real = _video._encoded
    monkeypatch.setattr(
        _video, "_encoded", lambda c, k, p, frames, *more: real(c, k, p, frames[:-1], *more)
    )
    with pytest.raises(BadInput, match="12 frames came out with 11"):
        shown(form="video")


def test_frames_thinned_on_the_way_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _clips.clip_frames
    monkeypatch.setattr(_clips, "clip_frames", lambda *a: real(*a)[::10])
    for form in ("images", "sheet", "video"):
        with pytest.raises(BadInput, match="2 of 12 frames were encoded"):
            shown(form=form)


def test_a_rendered_clip_cannot_misstate_its_frames() -> None:
    one = Shown("image/png", b"x")
    for frames, count, form in (((one,), 2, "images"), ((one, one), 2, "sheet"), ((), 0, "images")):
        with pytest.raises(AssertionError):
            ShownClip(frames, count, form)


# ---------------------------------------------------------------- recipes that cannot be


@pytest.mark.parametrize(
    "recipe",
    [
        {"wire": "gif"}, {"operations": (Resize(0, 5),)},
        {"mask": ClipMask(Inline(b""), alpha=2.0)}, {"mask": ClipMask(Inline(b""), (300, 0, 0))},
    ],
)  # fmt: skip
def test_a_bad_recipe_is_refused_before_a_file_is_opened(recipe: dict) -> None:
    with pytest.raises(BadInput) as refused:
        render_clip(Clip(Inline(b"no clip"), (0,), **recipe))
    assert "no clip" not in str(refused.value)
    assert "unknown format" not in str(refused.value)


# ---------------------------------------------------------------- cache


def test_a_clip_is_one_entry_that_costs_the_sum_of_its_frames() -> None:
    cache = Cache()
    clip = cache.get("clip", shown)
    one_by_one = Cache()
    for number, image in enumerate(clip.frames):
        one_by_one.get(number, lambda image=image: image)
    assert cache.held_bytes == one_by_one.held_bytes > 0
    assert cache.peek("clip") is clip


def test_frames_of_different_sizes_share_a_sheet() -> None:
    sheet = contact_sheet([Image.new("L", (10, 20), 99), Image.new("RGB", (30, 5), (1, 2, 3))])
    assert sheet.mode == "RGB"
    assert sheet.getcolors(99999) is not None
    assert (99, 99, 99) in {colour for _, colour in sheet.getcolors(99999)}


def test_the_decoder_is_told_the_kind_of_file_and_never_guesses() -> None:
    playlist = b"#EXTM3U\n#EXTINF:1\nhttp://127.0.0.1:1/x.ts\n"
    with pytest.raises(BadInput, match="unknown format"):
        render_clip(Clip(Inline(playlist), (0,)))
    concat = b"ffconcat version 1.0\nfile /etc/passwd\n"
    with pytest.raises(BadInput, match="unknown format"):
        render_clip(Clip(Inline(concat), (0,)))


def test_a_coloured_video_keeps_its_colours() -> None:
    red = np.zeros((SIZE, SIZE, 3), np.uint8)
    red[..., 0] = 255
    found = render_clip(Clip(Inline(video([red] * 4, "matroska", "ffv1")), (1, 2), form="video"))
    assert decoded(found.frames[0].data)[0][5, 5, 0] > 200
