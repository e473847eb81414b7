"""Volumes per frame: discs along the long axis of a mask, or area^1.5."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.volumes import read_volumes, volumes_of
from overread.case import BadInput
from support.clip_files import masks_at
from support.datasets import write_csv
from support.echo_trees import write_masks


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


def test_what_is_no_mask_is_refused() -> None:
    with pytest.raises(BadInput, match="frames x height x width"):
        volumes_of(np.zeros((4, 4), bool))
    with pytest.raises(BadInput, match='is "cubes"; it is discs or area'):
        volumes_of(np.zeros((1, 4, 4), bool), "cubes")  # type: ignore[arg-type]


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
