"""The volumes a case keeps: from a csv, from masks, or the reason why there are none."""

from __future__ import annotations

import numpy as np
import polars as pl

from overread.benchmarks.heartbeat.answers import case_row, case_schema
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.volumes import CaseVolumes, kept_volumes, volumes_in, volumes_of
from overread.imaging import lossless_clip

WINDOW = Window(start=2, count=4, stated=4, ed=0, es=3)


def case_with(**facts):
    return HeartbeatCase(
        case_id="c", clip="c.avi", frames=8, ed=2, es=5, width=12, height=10, **facts
    )


def masks(folder, frames=8):
    made = np.zeros((frames, 10, 12), bool)
    for k in range(frames):
        made[k, 1 : 9 - k % 3, 4:8] = True
    np.savez(folder / "m.npz", made)
    return made


def test_masks_are_measured_in_the_frames_that_are_shown(tmp_path):
    made = masks(tmp_path)
    for method in ("discs", "area"):
        found = kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), method)
        assert found.method == method
        assert found.fault is None
        shown = volumes_of(made[2:6], method)
        assert found.frames == [None, None, *shown.tolist(), None, None]


def test_a_window_beyond_the_end_has_the_frames_there_are(tmp_path):
    masks(tmp_path)
    beyond = Window(start=5, count=3, stated=9, ed=0, es=1)
    found = kept_volumes(case_with(mask="m.npz"), beyond, str(tmp_path), "discs")
    assert [v is not None for v in found.frames] == [False] * 5 + [True] * 3


def test_a_csv_comes_before_masks_and_an_empty_mask_has_no_volume(tmp_path):
    made = masks(tmp_path)
    rows = "".join(f"{n},{100 - n}\n" for n in range(8))
    (tmp_path / "v.csv").write_text("frame,volume\n" + rows)
    found = kept_volumes(case_with(mask="m.npz", volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert found[:3] == ([100.0 - n for n in range(8)], "csv", None)
    assert found.areas[2:6] == [int(mask.sum()) for mask in made[2:6]]
    np.savez(tmp_path / "m.npz", np.zeros((8, 10, 12), bool))
    found = kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs")
    assert found.frames == [None] * 8


def test_what_cannot_be_read_is_kept_as_the_reason(tmp_path):
    assert kept_volumes(case_with(), WINDOW, str(tmp_path), "discs") == CaseVolumes()
    (tmp_path / "m.npz").write_bytes(b"PK nothing")
    found = kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs")
    assert found.frames is None
    assert "m.npz" in found.fault
    masks(tmp_path, frames=4)
    assert "m.npz" in kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs").fault
    (tmp_path / "v.csv").write_text("frame,volume\n0,1\n")
    short = kept_volumes(case_with(volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert short.fault == "v.csv has 1 rows; the clip has 8 frames. Give one row per frame."
    (tmp_path / "v.csv").write_text("frame,volume\n" + "".join(f"{n},1\n" for n in range(9)))
    long = kept_volumes(case_with(volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert long.fault == "v.csv has 9 rows; the clip has 8 frames. Give one row per frame."


def test_masks_beside_their_clip_are_told_by_the_clips_own_size(tmp_path):
    """EchoNet's output is twice as wide as the clip: 24 x 10 beside a clip of 12 x 10."""
    made = masks(tmp_path)
    beside = np.full((8, 10, 24, 3), 200, np.uint8)  # as bright as a mask would be
    beside[:, :, 12:][made] = (255, 60, 60)
    (tmp_path / "m.mkv").write_bytes(lossless_clip(list(beside)))
    found = kept_volumes(case_with(mask="m.mkv"), WINDOW, str(tmp_path), "area")
    assert found.frames == [None, None, *volumes_of(made[2:6], "area").tolist(), None, None]


def test_the_table_gives_them_back_with_where_they_come_from():
    rows = [
        case_row(case_with(), CaseVolumes([1.0, None], "discs")),
        case_row(case_with(), CaseVolumes(fault="m.npz: no npz.")),
        case_row(case_with()),
    ]
    frame = pl.DataFrame(rows, schema=dict(case_schema()), orient="row")
    frame = frame.with_columns(case=pl.Series(["a", "b", "c"]))
    found, how = volumes_in(frame)
    assert list(found) == ["a"]
    assert np.array_equal(found["a"], [1.0, np.nan], equal_nan=True)
    assert how == "20 discs along the mask's long axis, 1 videos without: m.npz: no npz"
