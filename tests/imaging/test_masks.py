"""Masks lie over the frames they belong to, however a data set keeps them."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.case import BadInput, Clip, ClipMask, Inline, Overlay, Picture, Resize, Source
from overread.imaging import (
    Films,
    digest,
    lossless_clip,
    masks_of,
    pixels,
    render,
    render_clip,
    stamp,
)
from support.clip_files import png, video

N, SIZE = 9, 24
CLIP = Inline(lossless_clip([np.full((SIZE, SIZE), 50 + n, np.uint8) for n in range(N)]))


def mask(number: int) -> NDArray[np.bool_]:
    """A square that wanders: no two frames have the same."""
    made = np.zeros((SIZE, SIZE), np.bool_)
    made[4:16, 2 + number : 10 + number] = True
    return made


MASKS = [mask(number) for number in range(N)]


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def packed(masks: list[NDArray[np.bool_]]) -> bytes:
    stack = np.stack(masks)
    bits = np.packbits(stack.reshape(len(masks), -1), axis=1)
    return npz(lv=bits, shape=np.array(stack.shape))


def overlaid(number: int, alpha: float = 0.5) -> NDArray[np.uint8]:
    """The slow way: pixel by pixel."""
    made = np.full((SIZE, SIZE, 3), 50 + number, np.uint8)
    for y, x in np.argwhere(MASKS[number]):
        old = 50 + number
        made[y, x] = [int((1 - alpha) * old + alpha * c + 0.5) for c in (255, 0, 0)]
    return made


def folder(tmp_path: Path, first: int = 0, name: str = "frame_{:03}.png") -> Source:
    (tmp_path / "m").mkdir(exist_ok=True)
    for number, one in enumerate(MASKS, first):
        (tmp_path / "m" / name.format(number)).write_bytes(png(one.astype(np.uint8)))
    return Source(str(tmp_path), "m")


def check(source: Source | Inline, wanted: tuple[int, ...] = (2, 7, 3)) -> None:
    found = render_clip(Clip(CLIP, wanted, mask=ClipMask(source)))
    for number, image in zip(wanted, found.frames, strict=True):
        assert np.array_equal(pixels(image), overlaid(number)), f"frame {number}"


def test_packed_bits() -> None:
    check(Inline(packed(MASKS)))


def test_bits_whose_rows_do_not_fill_bytes() -> None:
    masks = [np.ones((3, 3), np.bool_) for _ in range(2)]
    found = masks_of(Inline(packed(masks)), (1,), (3, 3), Films())
    assert found[0].shape == (3, 3)
    assert found[0].all()


def test_one_plain_array() -> None:
    check(Inline(npz(anything=np.stack(MASKS).astype(np.uint8) * 3)))


def test_a_video_of_masks() -> None:
    white = [m.astype(np.uint8) * 255 for m in MASKS]
    check(Inline(lossless_clip(white)))
    check(Inline(video([np.repeat(w[..., None], 3, 2) for w in white], "matroska", "ffv1")))


def test_in_a_video_of_masks_the_brighter_half_is_white() -> None:
    greys = np.array([[0, 1, 127, 128, 129, 255]], np.uint8).repeat(6, axis=0)
    (found,) = masks_of(Inline(lossless_clip([greys])), (0,), (6, 6), Films())
    assert found[0].tolist() == [False, False, False, True, True, True]


@pytest.mark.parametrize("channel", [0, 2], ids=["red", "blue"])
@pytest.mark.parametrize("tall", [1, 2], ids=["top half only", "with the plot below"])
def test_echonets_side_by_side_output(channel: int, tall: int) -> None:
    frames = []
    for number in range(N):
        made = np.full((SIZE * tall, 2 * SIZE, 3), 50 + number, np.uint8)
        right = made[:SIZE, SIZE:]
        right[MASKS[number], channel] = 255
        made[SIZE:] = (255, 0, 0)  # a plot may be as red as it likes
        frames.append(made)
    check(Inline(video(frames, "matroska", "ffv1")))


def test_side_by_side_goes_by_the_width_of_a_clip_that_is_not_square() -> None:
    clip = Inline(lossless_clip([np.full((16, 24), 50, np.uint8)] * 2))
    beside = np.full((16, 48, 3), 50, np.uint8)
    beside[3:9, 24 + 5 : 24 + 11, 0] = 255
    masks = Inline(video([beside] * 2, "matroska", "ffv1"))
    found = pixels(render_clip(Clip(clip, (1,), mask=ClipMask(masks))).frames[0])
    red = np.zeros((16, 24), np.bool_)
    red[3:9, 5:11] = True
    assert np.array_equal(found[..., 0] > found[..., 1], red)


@pytest.mark.parametrize("first", [0, 1])
def test_a_folder_of_images_numbered_from_0_or_1(tmp_path: Path, first: int) -> None:
    check(folder(tmp_path, first))


def test_a_folder_is_read_by_its_numbers_not_by_its_names(tmp_path: Path) -> None:
    check(folder(tmp_path, 0, "{}.png"), tuple(range(N)))
    for number in range(N):
        (tmp_path / "m" / f"{number}.png").rename(tmp_path / "m" / f"{number + 3:02}x")
    for number in range(N):  # 8, 9, 10 … sort after 1 as words
        (tmp_path / "m" / f"{number + 3:02}x").rename(tmp_path / "m" / f"p12_{number}.png")
    check(Source(str(tmp_path), "m"), tuple(range(N)))


def test_a_mask_of_another_size_is_fitted_and_scaled_with_the_frame() -> None:
    small = [m[::2, ::2] for m in MASKS]
    found = render_clip(Clip(CLIP, (4,), (Resize(48, 48),), ClipMask(Inline(packed(small)))))
    red = pixels(found.frames[0])[..., 0] > 100
    assert red.shape == (48, 48)
    assert red.mean() == pytest.approx(MASKS[4].mean(), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("coloured", [False, True])
@pytest.mark.parametrize("smaller", [1, 2])
def test_many_frames_are_overlaid_as_one_picture_is(*, coloured: bool, smaller: int) -> None:
    chance = np.random.default_rng(0)
    shape = (30, 112, 112, 3) if coloured else (30, 112, 112)
    frames = chance.integers(0, 256, shape, np.uint8)
    masks = [each[::smaller, ::smaller] for each in chance.integers(0, 2, (30, 112, 112)) > 0]
    clip, mask = Inline(lossless_clip(list(frames))), Inline(packed(masks))
    for color, alpha in (((255, 0, 0), 0.5), ((3, 200, 77), 0.3), ((0, 0, 0), 1.0)):
        for operations in ((), (Resize(48, 40),)):
            recipe = (tuple(range(30)), operations, ClipMask(mask, color, alpha))
            for number, image in enumerate(render_clip(Clip(clip, *recipe)).frames):
                overlay = Overlay(Inline(png(masks[number].astype(np.uint8))), color, alpha)
                alone = Picture(Inline(png(frames[number])), (overlay, *operations))
                assert image == render(alone), f"frame {number}"


def test_an_empty_mask_changes_no_pixel() -> None:
    none = Inline(packed([np.zeros((SIZE, SIZE), np.bool_)] * N))
    found = pixels(render_clip(Clip(CLIP, (3,), mask=ClipMask(none))).frames[0])
    assert (found == 53).all()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PK\x03\x04 nothing", "damaged"),
        (b"text", "unknown format"),
        (npz(lv=np.zeros((2, 3), np.uint8), shape=np.array([2, 9, 9])), "cannot hold"),
        (npz(a=np.zeros((2, 3, 3)), b=np.zeros((2, 3, 3))), "holds a, b"),
        (npz(a=np.zeros((3, 3))), "axes"),
        (npz(lv=np.zeros((2, 3), np.uint8), shape=np.array([2, 9])), "shape"),
        (packed(MASKS[:4]), "frame 7 is beyond the end: the clip has 4 frames"),
        (npz(a=np.array([None, {}], dtype=object)), "damaged"),
    ],
)  # fmt: skip
def test_masks_that_cannot_be_read(data: bytes, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        render_clip(Clip(CLIP, (0, 7), mask=ClipMask(Inline(data))))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["0.png", "2.png"], "number 1 is missing"), (["5.png", "6.png"], "no 0 or 1"), ([], "no 0"),
        (["a.png"], "no number of its own"), (["1.png", "01.png"], "no number of its own"),
    ],
)  # fmt: skip
def test_folders_whose_frames_cannot_be_told(tmp_path: Path, names: list[str], why: str) -> None:
    (tmp_path / "m").mkdir()
    for name in names:
        (tmp_path / "m" / name).write_bytes(png(np.zeros((4, 4), np.uint8)))
    for use in (digest, lambda s: masks_of(s, (0,), (4, 4), Films())):
        with pytest.raises(BadInput, match=why):
            use(Source(str(tmp_path), "m"))


# ---------------------------------------------------------------- what a folder is called in keys


def test_a_folders_digest_follows_its_images_and_nothing_else(tmp_path: Path) -> None:
    source = folder(tmp_path)
    before, known = digest(source), stamp(tmp_path / "m")
    (tmp_path / "m" / "readme.txt").write_text("not an image")
    assert digest(source) == before
    os.utime(tmp_path / "m" / "frame_003.png", (1000, 1000))
    assert stamp(tmp_path / "m") != known
    assert digest(source) == before
    (tmp_path / "m" / "frame_003.png").write_bytes(png(np.zeros((SIZE, SIZE), np.uint8)))
    assert digest(source) != before


def test_links_to_nothing_and_out_of_the_root(tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    outside.write_bytes(png(np.ones((SIZE, SIZE), np.uint8)))
    (tmp_path / "root").mkdir()
    source = folder(tmp_path / "root")
    for target, why in (
        (tmp_path / "root" / "nothing", "is not below"),
        (outside, "leaves"),
    ):
        link = tmp_path / "root" / "m" / "frame_003.png"
        link.unlink()
        link.symlink_to(target)
        assert stamp(tmp_path / "root" / "m")[0] > 0
        with pytest.raises(BadInput, match=why):
            render_clip(Clip(CLIP, (3,), mask=ClipMask(source)))


def test_a_folder_is_no_clip_and_no_picture(tmp_path: Path) -> None:
    from overread.case import Picture
    from overread.imaging import render

    source = folder(tmp_path)
    with pytest.raises(BadInput, match="is not a file"):
        render(Picture(source))
    with pytest.raises(BadInput, match="is not a file"):
        render_clip(Clip(source, (0,)))


# ---------------------------------------------------------------- real masks


@pytest.mark.slow
def test_real_overlays_sit_on_the_ventricle(shared: Path) -> None:
    """As large as the list says in every frame, and darker than what surrounds them: a cavity."""
    root = shared / "data" / "echo"
    rows = [r for r in csv.DictReader((root / "manifest.csv").open()) if r["mask"]]
    rows = [row for row in rows if (root / row["clip"]).exists()]
    assert rows
    for row in rows:
        n = int(row["n_frames"])
        frames, source = tuple(range(n)), Source(str(root), row["clip"])
        plain = render_clip(Clip(source, frames))
        marked = render_clip(
            Clip(source, frames, mask=ClipMask(Source(str(root), row["mask"]), alpha=1.0))
        )
        areas = {int(r["frame"]): r for r in csv.DictReader((root / row["frame_labels"]).open())}
        for number in frames:
            colours = pixels(marked.frames[number])
            red = (colours == (255, 0, 0)).all(axis=2)
            stated = next(v for k, v in areas[number].items() if "area" in k)
            assert red.sum() == int(float(stated))
            grey = pixels(plain.frames[number])
            around = np.zeros_like(red)
            for dy, dx in ((6, 0), (-6, 0), (0, 6), (0, -6)):
                around |= np.roll(red, (dy, dx), (0, 1))
            assert grey[red].mean() < grey[around & ~red].mean()
