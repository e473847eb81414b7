"""EchoNet-Pediatric: polygons, folds, and phases by area."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.cases import Left
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.official_sets import has_polygons, load_pediatric, read_polygons
from overread.case import BadInput
from support.datasets import write_csv
from support.echo_trees import Heart, write_echonet, write_pediatric


def test_the_larger_polygon_is_end_diastole_whatever_its_place(tmp_path: Path) -> None:
    hearts = [Heart("a", split="3"), Heart("b", small_first=True, split="4")]
    cases, left = load_pediatric(
        write_pediatric(tmp_path, hearts), CORRECTED, split="VAL", videos=9, seed=0
    )
    assert left == []
    assert [(case.ed, case.es) for case in cases] == [(10, 26), (10, 26)]
    first = cases[0]
    assert (first.clip, first.view, first.frames) == ("A4C/Videos/a.avi", "A4C", 60)
    assert (first.sex, first.age, first.ef, first.split) == ("F", 9.0, 62.1, "3")
    assert first.ed_volume is None


def test_areas_are_those_of_the_polygons(tmp_path: Path) -> None:
    rows = [("a.avi", *point, 4) for point in ((0, 0), (4, 0), (4, 3), (0, 3))]
    rows += [("a.avi", *point, 9) for point in ((1, 1), (1, 3), (4, 1))]
    rows += [("a.avi", 7, 7, "No Systolic"), ("a.avi", "", "", "")]
    path = write_csv(tmp_path / "VolumeTracings.csv", ("FileName", "X", "Y", "Frame"), rows)
    assert [(each.frame, each.volume) for each in read_polygons(path)] == [(4, 12.0), (9, 3.0)]


def test_an_area_far_from_the_origin_is_as_large(tmp_path: Path) -> None:
    far = 10**12
    rows = [("a.avi", far + x, far + y, 4) for x, y in ((0, 0), (4, 0), (4, 3), (0, 3))]
    path = write_csv(tmp_path / "VolumeTracings.csv", ("FileName", "X", "Y", "Frame"), rows)
    assert [each.volume for each in read_polygons(path)] == [12.0]


def test_a_circle_has_its_area(tmp_path: Path) -> None:
    write_pediatric(tmp_path, [Heart("a")])
    large, small = read_polygons(tmp_path / "A4C" / "VolumeTracings.csv")
    assert large.volume == pytest.approx(math.pi * 12**2, rel=0.01)
    assert small.volume == pytest.approx(math.pi * 8**2, rel=0.01)


def test_one_view_at_a_time(tmp_path: Path) -> None:
    write_pediatric(tmp_path, [Heart("a")])
    write_pediatric(tmp_path, [Heart("p")], "PSAX")
    cases, _ = load_pediatric(tmp_path, CORRECTED, split=None, videos=9, seed=0)
    assert [case.case_id for case in cases] == ["a"]
    cases, _ = load_pediatric(tmp_path / "PSAX", CORRECTED, split=None, videos=9, seed=0)
    assert [(case.clip, case.view) for case in cases] == [("Videos/p.avi", "PSAX")]


def test_authors_take_the_first_names_and_ours_go_by_the_seed(tmp_path: Path) -> None:
    root = write_pediatric(tmp_path, [Heart(name, frames=30) for name in "edcba"])
    first, _ = load_pediatric(root, AUTHORS, split=None, videos=2, seed=0)
    assert [case.case_id for case in first] == ["e", "d"]
    samples = {
        load_pediatric(root, CORRECTED, split=None, videos=1, seed=seed)[0][0].case_id
        for seed in range(8)
    }
    assert len(samples) > 1


def test_splits_are_folds(tmp_path: Path) -> None:
    hearts = [Heart("a", split="0"), Heart("b", split="9")]
    root = write_pediatric(tmp_path, hearts)
    cases, _ = load_pediatric(root, CORRECTED, split="9", videos=9, seed=0)
    assert [case.case_id for case in cases] == ["b"]
    for other in ("TRAIN", "VAL", "TEST", None):
        assert len(load_pediatric(root, CORRECTED, split=other, videos=9, seed=0)[0]) == 2
    with pytest.raises(BadInput, match='no clip of the split "5"; its splits are 0, 9'):
        load_pediatric(root, CORRECTED, split="5", videos=9, seed=0)


def test_what_cannot_be_asked_is_left_with_its_reason(tmp_path: Path) -> None:
    hearts = [
        Heart("good"),
        Heart("one", traced=((3, 9.0),)),
        Heart("equal", traced=((3, 9.0), (20, 9.0))),
        Heart("gone", video=None),
        Heart("noise", video="noise"),
    ]
    cases, left = load_pediatric(
        write_pediatric(tmp_path, hearts), AUTHORS, split=None, videos=9, seed=0
    )
    assert [case.case_id for case in cases] == ["good"]
    reasons = {each.clip: each.reason for each in left}
    assert reasons["one"] == "1 frame is traced (3); two are needed"
    assert reasons["equal"].startswith("its traced frames 3 and 20 have equal areas")
    assert reasons["gone"] == "A4C/Videos/gone.avi: the file is not there"
    assert reasons["noise"].startswith("A4C/Videos/noise.avi: it is no AVI, MP4 or MKV file")


@pytest.mark.parametrize("value", ["", "nan", "inf"])
def test_a_point_without_a_place_spoils_its_own_clip(tmp_path: Path, value: str) -> None:
    root = write_pediatric(tmp_path, [Heart("a"), Heart("b")])
    path = root / "A4C" / "VolumeTracings.csv"
    path.write_text(path.read_text().replace("28.0,16.0", f"28.0,{value}", 1))
    cases, left = load_pediatric(root, CORRECTED, split=None, videos=9, seed=0)
    assert [case.case_id for case in cases] == ["b"]
    assert left == [Left("a", "the tracing of its frame 10 lacks a number")]


def test_a_point_that_is_a_word_is_named_by_its_row(tmp_path: Path) -> None:
    root = write_pediatric(tmp_path, [Heart("a")])
    path = root / "A4C" / "VolumeTracings.csv"
    path.write_text(path.read_text().replace("28.0,16.0", "28.0,far", 1))
    with pytest.raises(BadInput, match='row 2: Y is "far"; it is a number'):
        load_pediatric(root, CORRECTED, split=None, videos=9, seed=0)


def test_the_two_echonets_are_told_apart_by_their_tracings(tmp_path: Path) -> None:
    write_pediatric(tmp_path / "p", [Heart("a")])
    assert has_polygons(tmp_path / "p" / "A4C")
    assert not has_polygons(write_echonet(tmp_path / "e", [Heart("a")]))
