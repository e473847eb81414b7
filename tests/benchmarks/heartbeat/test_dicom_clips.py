"""DICOM clips: frames and cine rate from the header, and no patient's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydicom import dcmread
from pydicom.uid import DeflatedExplicitVRLittleEndian

from overread.benchmarks.heartbeat.clip_files import (
    Footage,
    Unplayable,
    check_masks,
    is_dicom,
    probe_dicom,
)
from overread.case import Clip, Source
from overread.imaging import render_clip
from support.echo_trees import SIDE, beating, write_dicom


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
