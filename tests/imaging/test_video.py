"""Exactly the frames asked for, by number and in order, out of every kind of clip."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path

import av
import nibabel
import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.case import BadInput, Clip, Inline, Source
from overread.imaging import Films, Unplayable, _video, masks_of, pixels, probe_video, render_clip
from support.clip_files import dicom, frame, number_of, numbered, pydicom_frame, video

KINDS = [("avi", "mjpeg"), ("avi", "mpeg4"), ("mp4", "libx264"), ("matroska", "ffv1")]
SOURCES = {kind: Inline(numbered(20, *kind)) for kind in KINDS}
AVI = SOURCES["avi", "mjpeg"]


def seen(clip: Clip) -> list[int]:
    return [number_of(pixels(shown)) for shown in render_clip(clip).frames]


def refusal(clip: Clip) -> str:
    with pytest.raises(BadInput) as refused:
        render_clip(clip)
    said = str(refused.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
@settings(max_examples=15, deadline=None)
@given(wanted=st.lists(st.integers(0, 19), min_size=1, max_size=8))
def test_the_frames_asked_for_come_in_the_order_asked(kind, wanted: list[int]) -> None:
    assert seen(Clip(SOURCES[kind], tuple(wanted))) == wanted


def test_lossless_frames_are_exactly_what_was_stored() -> None:
    rng = np.random.default_rng(0)
    stored = [rng.integers(0, 256, (24, 30, 3)).astype(np.uint8) for _ in range(5)]
    shown = render_clip(Clip(Inline(video(stored, "matroska", "ffv1")), (3, 0)))
    assert np.array_equal(pixels(shown.frames[0]), stored[3])
    assert np.array_equal(pixels(shown.frames[1]), stored[0])


def test_grey_stays_grey_and_colour_colour() -> None:
    red = np.zeros((32, 32, 3), np.uint8)
    red[:16, :, 0] = 200
    for kind in KINDS:
        assert pixels(render_clip(Clip(SOURCES[kind], (3,))).frames[0]).ndim == 2
        coloured = Inline(video([red] * 3, *kind))
        assert pixels(render_clip(Clip(coloured, (1,))).frames[0]).ndim == 3


def test_decoding_stops_at_the_last_frame_asked_for() -> None:
    whole = AVI.data
    damaged = Inline(whole[: len(whole) // 2])  # cut short after the frames we need
    assert seen(Clip(damaged, (0, 4))) == [0, 4]


def yuv(luma: int, chroma: int, full: bool) -> Inline:
    """One frame of H.264, its planes as given."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=10, options={"crf": "1"})
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        stream.codec_context.color_range = 2 if full else 1
        made = av.VideoFrame(32, 32, "yuv420p")
        made.color_range = 2 if full else 1
        for plane, value in zip(made.planes, (luma, chroma, chroma), strict=True):
            plane.update(bytes([value]) * plane.buffer_size)
        out.mux(stream.encode(made))
        out.mux(stream.encode())
    return Inline(file.getvalue())


@pytest.mark.parametrize(
    ("luma", "full", "grey"),
    [(60, True, 60), (60, False, round(255 * 44 / 219)), (16, False, 0), (235, False, 255),
     (10, False, 0), (250, False, 255), (0, True, 0), (255, True, 255)],
)  # fmt: skip
def test_broadcast_levels_are_stretched_and_full_ones_are_not(
    luma: int, full: bool, grey: int
) -> None:
    found = pixels(render_clip(Clip(yuv(luma, 128, full), (0,))).frames[0])
    assert found.shape == (32, 32)
    assert np.unique(found).tolist() == [grey]


def test_the_stretch_is_rounded_to_the_nearest() -> None:
    want = [round(255 * (min(max(y, 16), 235) - 16) / 219) for y in range(256)]
    assert _video._STRETCH.tolist() == want


def test_an_encoders_rounding_is_grey_and_a_faint_tint_is_not() -> None:
    for chroma, axes in ((127, 2), (129, 2), (120, 3), (136, 3)):
        assert pixels(render_clip(Clip(yuv(90, chroma, True), (0,))).frames[0]).ndim == axes


# ---------------------------------------------------------------- what is refused, in one line


def test_a_frame_beyond_the_end() -> None:
    assert "frame 20 is beyond the end: the clip has 20 frames, 0 to 19" in refusal(
        Clip(AVI, (3, 20))
    )


def test_no_frames_and_frames_below_zero() -> None:
    assert "no frames was asked for" in refusal(Clip(AVI, ()))
    assert "no frame -1" in refusal(Clip(AVI, (-1, 3)))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"not a clip at all", AVI.data[:64], AVI.data[:600],
        b"\0\0\0\x18ftypmp42" + bytes(90), b"\x1a\x45\xdf\xa3" + bytes(90),
        SOURCES["mp4", "libx264"].data[:500], b"#EXTM3U\n/etc/passwd\n", b"\x1f\x8b" + bytes(30),
        dicom(np.zeros((3, 8, 8), np.uint8))[:-100],
    ],
)  # fmt: skip
def test_damaged_or_unknown_files(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "clip.avi").write_bytes(data)
    assert refusal(Clip(Source(str(tmp_path), "clip.avi"), (0, 2))).startswith("clip.avi")


def test_a_video_without_a_frame() -> None:
    empty = AVI.data[: AVI.data.index(b"movi") + 4]
    said = refusal(Clip(Inline(empty), (0,)))
    assert "no frames" in said or "damaged" in said


def test_flipped_bytes_are_refused_or_another_picture_never_a_crash() -> None:
    rng = np.random.default_rng(1)
    for kind in KINDS:
        for _ in range(12):
            data = bytearray(SOURCES[kind].data)
            for at in rng.integers(100, len(data), 30):
                data[at] ^= 0xFF
            try:
                count = render_clip(Clip(Inline(bytes(data)), tuple(range(20)))).count
            except BadInput as error:
                count = 20 - 20 * str(error).count("\n")
            assert count == 20


def test_a_frame_the_decoder_calls_corrupt_is_refused_and_the_others_are_not() -> None:
    whole, rng, met = SOURCES["mp4", "libx264"].data, np.random.default_rng(0), 0
    start, end = whole.index(b"mdat") + 8, whole.index(b"moov") - 4
    for _ in range(60):
        data = bytearray(whole)
        for at in rng.integers((start + end) // 2, end, 3):
            data[at] ^= 0xFF
        try:
            with av.open(io.BytesIO(bytes(data)), "r", format="mp4") as container:
                corrupt = [frame.is_corrupt for frame in container.decode(video=0)]
        except av.FFmpegError:
            continue
        if any(corrupt[1:]) and not corrupt[0]:
            met += 1
            bad, clip = corrupt.index(True), Inline(bytes(data))
            assert f"frame {bad} cannot be decoded whole" in refusal(Clip(clip, (0, bad)))
            assert render_clip(Clip(clip, tuple(range(bad)))).count == bad
    assert met, "no damage was of this kind"


def test_nifti_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nibabel", None)
    header = bytearray(352)
    header[:4], header[344:348] = (348).to_bytes(4, "little"), b"n+1\0"
    assert 'pip install "overread[nifti]"' in refusal(Clip(Inline(bytes(header)), (0,)))


def nifti(values: np.ndarray, *, packed: bool = False) -> Inline:
    data = nibabel.Nifti1Image(values, np.eye(4)).to_bytes()
    return Inline(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [False, True])
def test_nifti_frames_are_x_y_t(packed: bool) -> None:
    values = np.zeros((6, 4, 3), np.uint8)
    values[5, 1, 2] = 9  # column 5, row 1
    found = pixels(render_clip(Clip(nifti(values, packed=packed), (2,))).frames[0])
    assert found.shape == (4, 6)
    assert (found[1, 5], found.sum()) == (9, 9)
    ranged = nifti(np.arange(72).reshape(6, 4, 3) * 10.0)  # a range of its own: 0 to 710
    assert pixels(render_clip(Clip(ranged, (2,))).frames[0])[3, 5] == 255
    assert "frame 3 is beyond the end" in refusal(Clip(ranged, (3,)))
    # The range is that of the sequence: a dark frame stays dark beside a bright one.
    steps = nifti(np.full((6, 4, 3), [1.0, 4.0, 5.0]))
    shown = render_clip(Clip(steps, (0, 1, 2))).frames
    assert [int(pixels(one)[0, 0]) for one in shown] == [0, 191, 255]
    # Of CAMUS's labels 1 is the cavity; wall and atrium are none of it.
    labels = np.zeros((6, 4, 3), np.uint8)
    labels[:, :, 2] = np.arange(24).reshape(6, 4) % 4
    (mask,) = masks_of(nifti(labels, packed=packed), (2,), (6, 4), Films())
    assert np.array_equal(mask, (np.arange(24).reshape(6, 4) % 4 == 1).T)


def test_nifti_of_one_frame_and_of_two_members() -> None:
    values = np.arange(24, dtype=np.uint8).reshape(6, 4)
    whole = nifti(values).data
    parts = gzip.compress(whole[:100]) + gzip.compress(whole[100:])
    for source in (Inline(whole), Inline(parts)):
        assert np.array_equal(pixels(render_clip(Clip(source, (0,))).frames[0]), values.T)
    assert "cut short" in refusal(Clip(Inline(gzip.compress(whole)[:-20]), (0,)))
    assert "damaged" in refusal(Clip(Inline(whole[:-20]), (0,)))


# ---------------------------------------------------------------- DICOM


def test_dicom_frames_are_what_pydicom_decodes() -> None:
    rng = np.random.default_rng(2)
    stored = rng.integers(0, 256, (6, 10, 12, 3)).astype(np.uint8)
    for photometric in ("RGB", "YBR_FULL"):
        data = dicom(stored, photometric)
        shown = render_clip(Clip(Inline(data), (4, 1)))
        for number, found in zip((4, 1), shown.frames, strict=True):
            assert np.array_equal(pixels(found), pydicom_frame(data, number))


def test_a_compressed_cine_in_ybr() -> None:
    """Thirty frames of JPEG in YBR_FULL_422, shipped with pydicom: an ultrasound of the heart."""
    path = Path(pydicom.__file__).parent / "data" / "test_files" / "examples_ybr_color.dcm"
    shown = render_clip(Clip(Source(str(path.parent), path.name), (29, 0, 15)))
    for number, found in zip((29, 0, 15), shown.frames, strict=True):
        assert np.array_equal(pixels(found), pydicom_frame(path.read_bytes(), number))


def test_dicom_palette() -> None:
    stored = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4)
    tables = {}
    for channel, shift in (("Red", 0), ("Green", 1), ("Blue", 2)):
        entries = ((np.arange(256) + shift * 50) % 256).astype(np.uint16) * 257
        tables[f"{channel}PaletteColorLookupTableDescriptor"] = [256, 0, 16]
        tables[f"{channel}PaletteColorLookupTableData"] = entries.astype("<u2").tobytes()
    found = pixels(
        render_clip(Clip(Inline(dicom(stored, "PALETTE COLOR", **tables)), (2,))).frames[0]
    )
    assert np.array_equal(found[..., 0], stored[2])
    assert np.array_equal(found[..., 2], (stored[2].astype(int) + 100) % 256)


def test_grey_dicom_frames_keep_one_scale() -> None:
    """A dark frame stays darker than a bright one: no frame is stretched to its own range."""
    stored = np.stack([np.full((4, 4), 30, np.uint8), np.full((4, 4), 90, np.uint8)])
    stored[0, 0, 0], stored[1, 0, 0] = 10, 200
    shown = render_clip(Clip(Inline(dicom(stored)), (0, 1)))
    assert np.array_equal(pixels(shown.frames[0]), stored[0])
    assert np.array_equal(pixels(shown.frames[1]), stored[1])


def test_a_dicom_frame_beyond_the_end_and_one_cut_short() -> None:
    data = dicom(np.zeros((3, 8, 8), np.uint8))
    assert "the clip has 3 frames" in refusal(Clip(Inline(data), (3,)))
    assert "too short" in refusal(
        Clip(Inline(dicom(np.zeros((3, 8, 8), np.uint8), NumberOfFrames=4)), (0,))
    )


# ---------------------------------------------------------------- decoded once


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    from overread.imaging import _clips

    real, decoded = _clips.decode, []

    def decode(data, name, wanted):
        decoded.extend(wanted)
        return real(data, name, wanted)

    monkeypatch.setattr(_clips, "decode", decode)
    return decoded


def test_films_decode_a_frame_once_however_many_clips_show_it(monkeypatch) -> None:
    decoded, films = counted(monkeypatch), Films()
    for frames in (tuple(range(4, 16)), (5, 12), (12, 5), tuple(range(4, 16))):
        films.frames(AVI, frames)
    assert sorted(decoded) == list(range(4, 16))
    films.frames(AVI, (15, 16))
    assert sorted(decoded) == list(range(4, 17))


def test_films_are_bounded_and_forget_the_oldest(monkeypatch) -> None:
    decoded = counted(monkeypatch)
    films = Films(most_bytes=3 * 10 * 32 * 32)  # three windows of ten grey frames
    clips = [Inline(numbered(10, "avi", "mjpeg") + bytes([n])) for n in range(4)]
    for clip in clips:
        films.frames(clip, range(10))
        assert films.held_bytes <= 3 * 10 * 32 * 32
    films.frames(clips[3], range(10))
    assert len(decoded) == 40
    films.frames(clips[0], range(10))
    assert len(decoded) == 50


def test_the_oldest_is_the_one_not_used_for_longest(monkeypatch) -> None:
    decoded = counted(monkeypatch)
    films = Films(most_bytes=3 * 10 * 32 * 32)
    clips = [Inline(numbered(10, "avi", "mjpeg") + bytes([n])) for n in range(4)]
    for clip in (*clips[:3], clips[0], clips[3]):
        films.frames(clip, range(10))
    assert len(decoded) == 40
    films.frames(clips[0], range(10))  # still there, for it was used again
    assert len(decoded) == 40
    films.frames(clips[1], range(10))
    assert len(decoded) == 50


def test_frames_that_are_shared_are_not_changed_by_who_draws_on_them() -> None:
    from overread.case import Box, Fill

    films = Films()
    render_clip(Clip(AVI, (0, 1), (Fill(Box(0, 0, 32, 32), 255),)), films)
    assert number_of(films.frames(AVI, (1,))[0]) == 1


def test_a_replaced_file_is_decoded_anew(tmp_path: Path) -> None:
    import os

    films, source = Films(), Source(str(tmp_path), "c.avi")
    (tmp_path / "c.avi").write_bytes(AVI.data)
    assert number_of(films.frames(source, (7,))[0]) == 7
    (tmp_path / "c.avi").write_bytes(video([frame(0)] * 9))
    os.utime(tmp_path / "c.avi", (1000, 1000))
    assert number_of(films.frames(source, (7,))[0]) == 0


# ---------------------------------------------------------------- real clips


@pytest.mark.slow
def test_real_clips_have_the_frames_their_list_states(shared: Path) -> None:
    folder = shared / "data" / "echo"
    rows = list(csv.DictReader((folder / "manifest.csv").open()))
    rows = [row for row in rows if (folder / row["clip"]).exists()]
    assert rows
    for row in rows:
        stated, source = int(row["n_frames"]), Source(str(folder), row["clip"])
        assert render_clip(Clip(source, (0, stated - 1))).count == 2
        assert f"the clip has {stated} frames" in refusal(Clip(source, (stated,)))


def test_a_clip_whose_video_has_no_width_is_one_line(tmp_path: Path) -> None:
    """As a fuzzer makes it: a codec that nobody knows, and sizes of 0."""
    data = bytearray(numbered(4))
    for at in (data.index(b"strf") + 8 + 4, data.index(b"avih") + 8 + 32):
        data[at : at + 8] = bytes(8)
    odd = bytes(data).replace(b"MJPG", b"????")
    refusal(Clip(Inline(odd), (0,)))
    (tmp_path / "a.avi").write_bytes(odd)
    with pytest.raises(Unplayable):
        probe_video(tmp_path / "a.avi")
