"""How large the ventricle is: in pictures, from masks or a csv, and kept with the case."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.cases import CaseRow, HeartbeatCase, Window, row_of
from overread.benchmarks.heartbeat.volumes import (
    kept_in,
    kept_volumes,
    methods_of,
    neighbours,
    read_volumes,
    volumes_of,
)
from overread.benchmarks.tables import frame_of
from overread.case import BadInput
from overread.imaging import lossless_clip
from overread.phantoms.heart_body import rhythm, volumes
from support.clip_files import masks_at
from support.datasets import write_csv
from support.echo_trees import write_masks

# ------------------------ Other beats' phases, found on a curve of volumes beside the annotated one


def test_every_whole_beat_of_a_heart_is_found_to_the_frame():
    whole = 0
    for seed in range(40):
        kept = rhythm(np.random.default_rng(seed), 0.2 + 0.012 * seed)
        ed, es = kept.phases
        eds, ess = neighbours(volumes(kept), ed, es)
        # A turn is seen with systole on one side of it and most of diastole on the other.
        systole = es - ed
        diastole = 0.75 * (kept.ed[1] - kept.ed[0] + 2 - systole)
        for found, true, own, before, after in (
            (eds, kept.ed, ed, diastole, systole),
            (ess, kept.es, es, systole, diastole),
        ):
            assert set(found) <= set(true) - {own}
            seen = {k for k in true if before <= k < kept.frames - after} - {own}
            assert seen <= set(found)
            whole += len(seen)
    assert whole > 40


@pytest.mark.parametrize("seed", range(10))
def test_noise_of_a_few_per_cent_moves_a_phase_by_a_few_frames_and_makes_none(seed):
    rng = np.random.default_rng(seed)
    kept = rhythm(rng, 0.5)
    ed, es = kept.phases
    curve = volumes(kept) * (1 + 0.02 * rng.standard_normal(kept.frames))
    for found, true in zip(neighbours(curve, ed, es), (kept.ed, kept.es), strict=True):
        assert all(min(abs(frame - k) for k in true) <= 4 for frame in found)
        assert len(found) <= len([k for k in true if 0 <= k < kept.frames])


# Falls and rises of five frames from 10 to 0, beginning with a fall.
WAVE = np.array([10, 8, 6, 4, 2, 0, 2, 4, 6, 8] * 3, float)


def test_end_systole_may_come_first():
    assert neighbours(WAVE, 10, 5) == ([20], [15, 25])
    assert neighbours(WAVE, 10, 15) == ([20], [5, 25])


def test_a_small_turn_is_no_phase():
    """Filling pauses and goes on; a dip of less than half a beat's fall is not end-systole."""
    curve = np.array([10, 8, 5, 2, 1, 3, 6, 7, 6.5, 7, 8, 10, 8, 5, 2.0])
    assert neighbours(curve, 0, 4) == ([11], [])


def test_frames_without_a_value_are_passed_over_and_the_annotated_ones_are_needed():
    curve = WAVE.copy()
    curve[[7, 18]] = np.nan
    assert neighbours(curve, 0, 5) == ([10, 20], [15, 25])
    assert neighbours(curve, 18, 25) is None


def test_values_that_contradict_the_annotation_tell_nothing():
    assert neighbours(np.array([1, 5, 9, 5, 1, 5.0]), 0, 2) is None
    assert neighbours(np.full(6, 3.0), 0, 2) is None


# ------------------------------ Volumes per frame: discs along the long axis of a mask, or area^1.5


def ellipse(long: float, wide: float, turn: float = 0.0, side: int = 112) -> np.ndarray:
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    along, across = y * math.cos(turn) + x * math.sin(turn), x * math.cos(turn) - y * math.sin(turn)
    return (along / long) ** 2 + (across / wide) ** 2 <= 1


@settings(deadline=None)
@given(st.floats(24, 45), st.floats(0.45, 0.95), st.floats(0, math.pi))
def test_a_spheroid_has_its_volume_at_any_angle(long: float, share: float, turn: float) -> None:
    wide = long * share
    (volume,) = volumes_of(ellipse(long, wide, turn)[None])
    assert volume == pytest.approx(4 / 3 * math.pi * long * wide**2, rel=0.04)


def test_a_cylinder_is_exact() -> None:
    mask = np.zeros((1, 80, 60), bool)
    mask[0, 10:70, 20:40] = True
    assert volumes_of(mask)[0] == pytest.approx(math.pi * 10**2 * 60, rel=1e-9)


def test_a_larger_ventricle_has_a_larger_volume_by_either_method() -> None:
    masks = np.stack([ellipse(size, size / 2) for size in np.arange(20, 40, 0.5)])
    for method in ("discs", "area"):
        assert (np.diff(volumes_of(masks, method)) > 0).all()  # type: ignore[arg-type]


def test_area_to_the_power_of_one_and_a_half() -> None:
    mask = np.zeros((2, 20, 20), bool)
    mask[0, :4, :4] = mask[1, 0, 0] = True
    assert volumes_of(mask, "area").tolist() == [64.0, 1.0]


def test_an_empty_mask_has_no_volume() -> None:
    masks = np.stack([np.zeros((112, 112), bool), ellipse(30, 15)])
    for method in ("discs", "area"):
        found = volumes_of(masks, method)  # type: ignore[arg-type]
        assert np.isnan(found).tolist() == [True, False]


def test_a_speck_does_not_lengthen_the_axis() -> None:
    clean = ellipse(30, 15)
    speck = clean.copy()
    speck[2:4, 2:4] = True
    assert volumes_of(speck[None]) == pytest.approx(volumes_of(clean[None]))


# ---------------------------------------------------------------- files


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 13), st.integers(1, 13), st.integers(0, 99))
def test_packed_masks_come_back(
    tmp_path_factory: pytest.TempPathFactory, frames: int, height: int, width: int, seed: int
) -> None:
    masks = np.random.default_rng(seed).random((frames, height, width)) < 0.5
    path = write_masks(tmp_path_factory.mktemp("m") / "m.npz", masks)
    assert np.array_equal(masks_at(path), masks)


def test_one_plain_array_is_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", masks=np.array([[[0, 255]]], np.uint8))
    assert masks_at(tmp_path / "m.npz").tolist() == [[[False, True]]]


def test_volumes_of_a_csv_in_any_order(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "v.csv", ("frame", "volume"), [(1, 2.5), (0, 3), (2, "")])
    assert read_volumes(path)[:2].tolist() == [3.0, 2.5]
    assert math.isnan(read_volumes(path)[2])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 1), (0, 2)], 'v.csv row 3: frame is "0"; it stands in the file twice'),
        ([("a", 1)], 'v.csv row 2: frame is "a"; it is a whole number from 0'),
        ([(0, "big")], 'v.csv row 2: volume is "big"; it is a number from 0'),
        ([(0, -1)], 'v.csv row 2: volume is "-1"'),
        ([(0, "nan")], 'v.csv row 2: volume is "nan"'),
        ([(0, 1), (2, 1)], "v.csv has no row of frame 1"),
        ([], "has a header but no rows"),
    ],
)
def test_bad_volumes_are_named_by_their_row(
    tmp_path: Path, rows: list[tuple[object, ...]], said: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_volumes(write_csv(tmp_path / "v.csv", ("frame", "volume"), rows))
    assert said in str(caught.value)


def test_real_masks_agree_with_the_areas_beside_them(shared: Path) -> None:
    folder = shared / "data" / "echo"
    seen = 0
    with (folder / "beats.csv").open(encoding="utf-8") as file:
        for beat in csv.DictReader(file):
            masks = masks_at(folder / "masks" / f"{Path(beat['clip']).stem}.npz")
            ed, es = int(beat["ed_frame"]), int(beat["es_frame"])
            assert int(masks[ed].sum()) == int(beat["lv_area_ed"])
            assert int(masks[es].sum()) == int(beat["lv_area_es"])
            large, small = volumes_of(masks[[ed, es]])
            derived = float(beat["ef_single_plane_derived"])
            assert 100 * (large - small) / large == pytest.approx(derived, abs=3)
            seen += 1
    assert seen


def test_of_two_specks_one_is_measured_and_never_the_ground() -> None:
    specks = np.zeros((2, 9, 9), np.bool_)
    specks[0, 2, 2] = specks[1, 2, 2] = specks[1, 7, 7] = True
    one, two = volumes_of(specks)
    assert two == pytest.approx(one)


def test_a_volume_of_0_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("frame,volume\n0,0\n1,3.5\n")
    assert read_volumes(path).tolist() == [0, 3.5]


# --------------- The volumes a case keeps: from a csv, from masks, or the reason why there are none

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
        assert found.volume_method == method
        assert found.volume_fault is None
        shown = volumes_of(made[2:6], method)
        assert found.frame_volumes == [None, None, *shown.tolist(), None, None]


def test_a_window_beyond_the_end_has_the_frames_there_are(tmp_path):
    masks(tmp_path)
    beyond = Window(start=5, count=3, stated=9, ed=0, es=1)
    found = kept_volumes(case_with(mask="m.npz"), beyond, str(tmp_path), "discs")
    assert [v is not None for v in found.frame_volumes] == [False] * 5 + [True] * 3


def test_a_csv_comes_before_masks_and_an_empty_mask_has_no_volume(tmp_path):
    made = masks(tmp_path)
    rows = "".join(f"{n},{100 - n}\n" for n in range(8))
    (tmp_path / "v.csv").write_text("frame,volume\n" + rows)
    found = kept_volumes(case_with(mask="m.npz", volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert (found.volume_method, found.volume_fault) == ("csv", None)
    assert found.frame_volumes == [100.0 - n for n in range(8)]
    assert found.frame_areas[2:6] == [int(mask.sum()) for mask in made[2:6]]
    np.savez(tmp_path / "m.npz", np.zeros((8, 10, 12), bool))
    found = kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs")
    assert found.frame_volumes == [None] * 8


def test_what_cannot_be_read_is_kept_as_the_reason(tmp_path):
    assert kept_volumes(case_with(), WINDOW, str(tmp_path), "discs") == row_of(case_with())
    (tmp_path / "m.npz").write_bytes(b"PK nothing")
    found = kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs")
    assert found.frame_volumes is None
    assert "m.npz" in found.volume_fault
    masks(tmp_path, frames=4)
    assert (
        "m.npz"
        in kept_volumes(case_with(mask="m.npz"), WINDOW, str(tmp_path), "discs").volume_fault
    )
    (tmp_path / "v.csv").write_text("frame,volume\n0,1\n")
    short = kept_volumes(case_with(volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert short.volume_fault == "v.csv has 1 rows; the clip has 8 frames. Give one row per frame."
    (tmp_path / "v.csv").write_text("frame,volume\n" + "".join(f"{n},1\n" for n in range(9)))
    long = kept_volumes(case_with(volumes="v.csv"), WINDOW, str(tmp_path), "discs")
    assert long.volume_fault == "v.csv has 9 rows; the clip has 8 frames. Give one row per frame."


def test_masks_beside_their_clip_are_told_by_the_clips_own_size(tmp_path):
    """EchoNet's output is twice as wide as the clip: 24 x 10 beside a clip of 12 x 10."""
    made = masks(tmp_path)
    beside = np.full((8, 10, 24, 3), 200, np.uint8)  # as bright as a mask would be
    beside[:, :, 12:][made] = (255, 60, 60)
    (tmp_path / "m.mkv").write_bytes(lossless_clip(list(beside)))
    found = kept_volumes(case_with(mask="m.mkv"), WINDOW, str(tmp_path), "area")
    assert found.frame_volumes == [None, None, *volumes_of(made[2:6], "area").tolist(), None, None]


def test_the_table_gives_them_back_with_where_they_come_from():
    rows = [
        row_of(case_with(), frame_volumes=[1.0, None], volume_method="discs"),
        row_of(case_with(), volume_fault="m.npz: no npz."),
        row_of(case_with()),
    ]
    frame = frame_of(CaseRow, rows)
    frame = frame.with_columns(case=pl.Series(["a", "b", "c"]))
    found, how = kept_in(frame, "frame_volumes"), methods_of(frame)
    assert list(found) == ["a"]
    assert np.array_equal(found["a"], [1.0, np.nan], equal_nan=True)
    assert how == "20 discs along the mask's long axis, 1 videos without: m.npz: no npz"
