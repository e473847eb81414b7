"""How many frames a video really has, whatever its header and the list say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from overread.benchmarks.heartbeat.clip_files import Footage, Unplayable, probe_video
from overread.case import BadInput, Source
from overread.imaging import Films
from support.echo_trees import SIDE, Heart, beating, write_heart, write_mp4, write_video


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
