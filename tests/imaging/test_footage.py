"""What a clip's file says of itself: videos, DICOM and masks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from pydicom import dcmread
from pydicom.uid import DeflatedExplicitVRLittleEndian

from overread.case import BadInput, Clip, Source
from overread.imaging import (
    Films,
    Footage,
    Unplayable,
    check_masks,
    is_dicom,
    probe_dicom,
    probe_video,
    render_clip,
)
from support.echo_trees import (
    SIDE,
    Heart,
    beating,
    write_dicom,
    write_heart,
    write_mp4,
    write_video,
)

# ------------------------- How many frames a video really has, whatever its header and the list say


@pytest.mark.parametrize("frames", [1, 2, 37])
def test_avi_and_mp4_are_counted_to_the_frame(tmp_path: Path, frames: int) -> None:
    expected = Footage(frames, SIDE, SIDE, 50.0)
    assert probe_video(write_video(tmp_path / "a.avi", beating(frames))) == expected
    assert probe_video(write_mp4(tmp_path / "a.mp4", beating(frames))) == expected


def test_a_container_that_states_no_count_is_counted(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", beating(23))
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 0
    assert probe_video(path).frames == 23


@pytest.mark.parametrize("stated", [60, 90, 12, None])
def test_a_list_that_is_wrong_is_not_believed(tmp_path: Path, stated: int | None) -> None:
    path = write_video(tmp_path / "a.avi", beating(60))
    assert probe_video(path, stated).frames == 60


@pytest.mark.parametrize(
    ("video", "why"),
    [
        ("noise", "it is no AVI, MP4 or MKV file"),
        ("empty", "the file is empty (0 bytes)"),
        ("header", "the video has no frames"),
        ("half", "the video is cut short or damaged: "),
        (None, "the file is not there"),
    ],
)
def test_a_damaged_video_says_why_in_one_line(tmp_path: Path, video: str | None, why: str) -> None:
    write_heart(tmp_path / "a.avi", Heart("a", video=video))
    with pytest.raises(Unplayable) as caught:
        probe_video(tmp_path / "a.avi", 60)
    assert str(caught.value).startswith(why)
    assert "\n" not in str(caught.value)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame(format="s16", layout="mono", samples=800)
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
    with pytest.raises(Unplayable, match="there is no video in the file"):
        probe_video(path)


def test_frames_that_an_edit_list_leaves_out_are_not_counted(tmp_path: Path) -> None:
    """Their packets are in the file and in its header's count; no decoder shows them."""
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w", options={"avoid_negative_ts": "disabled"}) as container:
        stream = container.add_stream("libx264", rate=50, options={"bf": "0"})
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        for number, picture in enumerate(beating(30)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number - 5, Fraction(1, 50)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert [probe_video(path, stated).frames for stated in (None, 30, 25)] == [25, 25, 25]
    source = Source(str(tmp_path), "a.mp4")
    assert len(Films(0).frames(source, range(25))) == 25
    with pytest.raises(BadInput, match="the clip has 25 frames"):
        Films(0).frames(source, (25,))


def test_what_is_counted_is_what_decodes_where_nothing_states_a_count(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", beating(12))
    data = path.read_bytes()
    starts = [at for at in range(len(data)) if data.startswith(b"\xff\xd8\xff", at)]
    assert len(starts) == 12
    path.write_bytes(data[: starts[7]] + bytes(starts[8] - starts[7] - 20) + data[starts[8] - 20 :])
    assert probe_video(path).frames == 7
    with pytest.raises(Unplayable, match="7 of its 13 frames decode"):
        probe_video(path, 13)


# ------------------------- DICOM clips: frames and cine rate from the header, and no patient's name


@pytest.mark.parametrize(
    ("elements", "fps"),
    [
        ({"FrameTime": 20}, 50.0),
        ({"FrameTime": 20, "CineRate": 30}, 50.0),
        ({"FrameTimeVector": [0, *[25.0] * 29]}, 40.0),
        ({"CineRate": 30, "RecommendedDisplayFrameRate": 25}, 30.0),
        ({"RecommendedDisplayFrameRate": 25}, 25.0),
        ({"FrameTime": 0, "CineRate": 0}, None),
        ({}, None),
    ],
)
def test_the_cine_rate_is_how_the_clip_was_acquired_else_how_it_is_played(
    tmp_path: Path, elements: dict[str, Any], fps: float | None
) -> None:
    path = write_dicom(tmp_path / "a.dcm", beating(30), **elements)
    assert probe_dicom(path) == Footage(30, SIDE, SIDE, fps)


def test_a_file_is_dicom_by_its_mark_whatever_its_name(tmp_path: Path) -> None:
    path = write_dicom(tmp_path / "IM_0001", beating(3))
    assert is_dicom(path)
    other = tmp_path / "a.avi"
    other.write_bytes(b"RIFF" * 50)
    assert not is_dicom(other)
    assert not is_dicom(tmp_path / "missing.avi")


def test_one_picture_is_a_clip_of_one_frame(tmp_path: Path) -> None:
    path = write_dicom(tmp_path / "a.dcm", beating(1), NumberOfFrames=None)
    assert probe_dicom(path).frames == 1


def test_colours_shared_by_two_pixels_take_two_bytes_each(tmp_path: Path) -> None:
    kind = {"PhotometricInterpretation": "YBR_FULL_422"}
    whole = bytes(30 * SIDE * SIDE * 2)
    path = write_dicom(tmp_path / "a.dcm", beating(30), PixelData=whole, **kind)
    assert probe_dicom(path).frames == 30
    path = write_dicom(tmp_path / "b.dcm", beating(30), PixelData=whole[: -5 * SIDE**2], **kind)
    with pytest.raises(Unplayable, match="cut short"):
        probe_dicom(path)


def test_the_rows_are_the_height(tmp_path: Path) -> None:
    path = write_dicom(tmp_path / "a.dcm", beating(4)[:, : SIDE - 8])
    assert probe_dicom(path) == Footage(4, SIDE, SIDE - 8)


def test_damaged_files_say_why_in_one_line(tmp_path: Path) -> None:
    good = write_dicom(tmp_path / "good.dcm", beating(30))
    short = tmp_path / "short.dcm"
    short.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    noise = tmp_path / "noise.dcm"
    noise.write_bytes(b"this is no DICOM file at all" * 20)
    bare = write_dicom(tmp_path / "bare.dcm", beating(30), Rows=0)
    for path, why in (
        (short, "the file is cut short: 30 frames need"),
        (noise, "the DICOM"),
        (bare, "the DICOM file has no picture in it"),
        (tmp_path / "missing.dcm", "the file is not there"),
    ):
        with pytest.raises(Unplayable) as caught:
            probe_dicom(path)
        assert str(caught.value).startswith(why)
        assert "\n" not in str(caught.value)


def test_a_deflated_file_is_smaller_than_its_frames_and_not_cut_short(tmp_path: Path) -> None:
    clip = dcmread(write_dicom(tmp_path / "a.dcm", beating(30)))
    clip.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    clip.save_as(tmp_path / "b.dcm", enforce_file_format=True)
    assert (tmp_path / "b.dcm").stat().st_size < 30 * SIDE * SIDE
    assert probe_dicom(tmp_path / "b.dcm") == Footage(30, SIDE, SIDE)
    shown = render_clip(Clip(Source(str(tmp_path), "b.dcm"), (0, 29)))
    assert shown.count == 2


def test_masks_may_be_a_dicom_clip_too(tmp_path: Path) -> None:
    write_dicom(tmp_path / "m.dcm", beating(30))
    check_masks(tmp_path, "m.dcm", Footage(30, SIDE, SIDE))
    with pytest.raises(Unplayable, match=r"m.dcm, are of 30 frames and it has 31"):
        check_masks(tmp_path, "m.dcm", Footage(31, SIDE, SIDE))
