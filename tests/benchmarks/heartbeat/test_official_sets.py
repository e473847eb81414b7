"""EchoNet-Dynamic, EchoNet-Pediatric and CAMUS as they are handed out."""

from __future__ import annotations

import gzip
import math
import sys
from pathlib import Path

import msgspec
import pytest

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Edition, Options
from overread.benchmarks.heartbeat.official_sets import (
    has_polygons,
    load_camus,
    load_dynamic,
    load_pediatric,
    read_polygons,
)
from overread.case import BadInput
from overread.imaging import Footage, Unplayable, probe_nifti
from support.datasets import write_csv
from support.echo_trees import (
    SIDE,
    Heart,
    beating,
    write_camus,
    write_echonet,
    write_nifti,
    write_pediatric,
)

# ----------------------------------- EchoNet-Dynamic: what is asked about, what is left out and why

GOOD = [Heart(f"0X{number:02d}", ed=5 + number, es=20 + number) for number in range(6)]
TRAPS = {
    "noise": (Heart("noise", video="noise"), "Videos/noise.avi: it is no AVI, MP4 or MKV file"),
    "empty": (Heart("empty", video="empty"), "Videos/empty.avi: the file is empty (0 bytes)"),
    "zero": (Heart("zero", video="header"), "Videos/zero.avi: the video has no frames"),
    "short": (Heart("short", video="half"), "Videos/short.avi: the video is cut short or damaged"),
    "gone": (Heart("gone", video=None), "Videos/gone.avi: the file is not there"),
    "beyond": (
        Heart("beyond", traced=((10, 12.0), (60, 9.0))),
        "Videos/beyond.avi: end-systole is frame 60, beyond the end: the clip has 60 frames",
    ),
    "one": (Heart("one", traced=((10, 12.0),)), "1 frame is traced (10); two are needed"),
    "none": (Heart("none", traced=()), "no frame is traced; two are needed"),
    "three": (
        Heart("three", traced=((10, 12.0), (20, 9.0), (30, 8.0))),
        "3 frames are traced (10, 20, 30); two are needed",
    ),
    "equal": (
        Heart("equal", traced=((10, 12.0), (20, 12.0))),
        "its traced frames 10 and 20 have equal volumes",
    ),
}


def loaded_dynamic(
    root: Path, edition: Edition = CORRECTED, split: str | None = "VAL", videos: int = 100
) -> tuple[list[HeartbeatCase], list[Left]]:
    return load_dynamic(root, edition, Options(split=split, videos=videos))


def ids(cases: list[HeartbeatCase]) -> list[str]:
    return [case.case_id for case in cases]


def test_a_case_holds_what_the_files_say(tmp_path: Path) -> None:
    (case,), left = loaded_dynamic(write_echonet(tmp_path, [Heart("0XA", ed=30, es=12, frames=70)]))
    assert left == []
    assert (case.ed, case.es, case.frames, case.length) == (30, 12, 70, 18)
    assert (case.clip, case.width, case.height) == ("Videos/0XA.avi", SIDE, SIDE)
    assert (case.ef, case.fps, case.split, case.view) == (60.5, 50.0, "VAL", "A4C")
    assert case.ed_volume is not None
    assert case.es_volume is not None
    assert case.ed_volume > case.es_volume


def test_corrected_goes_by_volume_and_authors_by_place(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("0XA", small_first=True)])
    (sound,), _ = loaded_dynamic(root)
    (swapped,), _ = loaded_dynamic(root, AUTHORS)
    assert (sound.ed, sound.es) == (10, 26)
    assert (swapped.ed, swapped.es) == (26, 10)


@pytest.mark.parametrize("trap", TRAPS)
def test_a_bad_clip_is_one_line_and_the_others_go_on(tmp_path: Path, trap: str) -> None:
    heart, why = TRAPS[trap]
    cases, left = loaded_dynamic(write_echonet(tmp_path, [GOOD[0], heart, *GOOD[1:]]))
    assert ids(cases) == [good.name for good in GOOD]
    (only,) = left
    assert only.case == heart.name
    assert only.reason.startswith(why)
    assert "\n" not in only.reason


def test_all_traps_at_once(tmp_path: Path) -> None:
    hearts = [heart for heart, _ in TRAPS.values()]
    cases, left = loaded_dynamic(write_echonet(tmp_path, [*hearts, *GOOD]))
    assert ids(cases) == [good.name for good in GOOD]
    assert {each.case for each in left} == set(TRAPS)


def test_the_list_does_not_overrule_the_video(tmp_path: Path) -> None:
    (case,), _ = loaded_dynamic(write_echonet(tmp_path, [Heart("0XA", frames=60, stated=90)]))
    assert case.frames == 60


def test_corrected_draws_from_the_split(tmp_path: Path) -> None:
    hearts = [*GOOD, Heart("train", split="TRAIN"), Heart("test", split="TEST", video=None)]
    root = write_echonet(tmp_path, hearts)
    cases, left = loaded_dynamic(root)
    assert ids(cases) == [good.name for good in GOOD]
    assert left == []
    assert ids(loaded_dynamic(root, split="TRAIN")[0]) == ["train"]
    assert len(loaded_dynamic(root, split=None)[0]) == len(GOOD) + 1
    few, _ = loaded_dynamic(root, videos=3)
    assert len(few) == 3
    assert ids(few) == [name for name in ids(cases) if name in ids(few)]


def test_authors_take_the_first_names_of_the_tracings_of_any_split(tmp_path: Path) -> None:
    hearts = [Heart("b", split="TRAIN"), Heart("a"), Heart("c", video=None), Heart("d")]
    cases, left = loaded_dynamic(write_echonet(tmp_path, hearts), AUTHORS, videos=3)
    assert ids(cases) == ["b", "a"]
    assert [each.case for each in left] == ["c"]


def test_a_traced_clip_that_is_not_listed_is_said(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b")])
    listed = (root / "FileList.csv").read_text().splitlines(keepends=True)
    (root / "FileList.csv").write_text("".join(listed[:2]))
    cases, left = loaded_dynamic(root)
    assert ids(cases) == ["a"]
    assert left == [Left("b", "it is traced, but FileList.csv does not list it")]


def test_an_unknown_split_names_the_known_ones(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b", split="TRAIN")])
    with pytest.raises(BadInput, match='no clip of the split "val"; its splits are TRAIN, VAL'):
        loaded_dynamic(root, split="val")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",60,VAL", ",many,VAL", 'FileList.csv row 2: NumberOfFrames is "many"; it is a number'),
        ("a,60.5", "../a,60.5", 'FileList.csv row 2: FileName is "../a"; it is a file\'s plain'),
        ("b,60.5", "a,60.5", 'FileList.csv row 3: FileName "a" stands in row 2 already'),
        (",60,VAL", ",60", "FileList.csv row 2: it has 8 cells and the header 9"),
        ("Split", "Part", "FileList.csv has no column Split"),
    ],
)
def test_a_bad_list_is_named_by_its_row(tmp_path: Path, old: str, new: str, said: str) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b")])
    path = root / "FileList.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        loaded_dynamic(root)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_tracings_are_said(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a")])
    (root / "VolumeTracings.csv").unlink()
    with pytest.raises(BadInput, match="VolumeTracings.csv: there is no such file"):
        loaded_dynamic(root)


def test_the_sample_of_dynamic_follows_the_seed(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, GOOD)
    samples = {
        tuple(
            ids(
                load_dynamic(
                    root,
                    msgspec.structs.replace(CORRECTED, seed=seed),
                    Options(split="VAL", videos=1),
                )[0]
            )
        )
        for seed in range(8)
    }
    assert len(samples) > 1


def test_the_list_says_the_rate_and_what_it_does_not_know_keeps_no_clip_out(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b")])
    path = root / "FileList.csv"
    path.write_text(path.read_text().replace("a,60.5", "a,NaN").replace(",50,", ",47.5,", 1))
    (one, two), left = loaded_dynamic(root)
    assert left == []
    assert (one.ef, one.fps, two.ef, two.fps) == (None, 47.5, 60.5, 50.0)


# ------------------------------------------- EchoNet-Pediatric: polygons, folds, and phases by area


def test_the_larger_polygon_is_end_diastole_whatever_its_place(tmp_path: Path) -> None:
    hearts = [Heart("a", split="3"), Heart("b", small_first=True, split="4")]
    cases, left = load_pediatric(
        write_pediatric(tmp_path, hearts), CORRECTED, Options(split="VAL", videos=9)
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
    cases, _ = load_pediatric(tmp_path, CORRECTED, Options(split=None, videos=9))
    assert [case.case_id for case in cases] == ["a"]
    cases, _ = load_pediatric(tmp_path / "PSAX", CORRECTED, Options(split=None, videos=9))
    assert [(case.clip, case.view) for case in cases] == [("Videos/p.avi", "PSAX")]


def test_authors_take_the_first_names_and_ours_go_by_the_seed(tmp_path: Path) -> None:
    root = write_pediatric(tmp_path, [Heart(name, frames=30) for name in "edcba"])
    first, _ = load_pediatric(root, AUTHORS, Options(split=None, videos=2))
    assert [case.case_id for case in first] == ["e", "d"]
    samples = {
        load_pediatric(
            root, msgspec.structs.replace(CORRECTED, seed=seed), Options(split=None, videos=1)
        )[0][0].case_id
        for seed in range(8)
    }
    assert len(samples) > 1


def test_splits_are_folds(tmp_path: Path) -> None:
    hearts = [Heart("a", split="0"), Heart("b", split="9")]
    root = write_pediatric(tmp_path, hearts)
    cases, _ = load_pediatric(root, CORRECTED, Options(split="9", videos=9))
    assert [case.case_id for case in cases] == ["b"]
    for other in ("TRAIN", "VAL", "TEST", None):
        assert len(load_pediatric(root, CORRECTED, Options(split=other, videos=9))[0]) == 2
    with pytest.raises(BadInput, match='no clip of the split "5"; its splits are 0, 9'):
        load_pediatric(root, CORRECTED, Options(split="5", videos=9))


def test_what_cannot_be_asked_of_pediatric_is_left_with_its_reason(tmp_path: Path) -> None:
    hearts = [
        Heart("good"),
        Heart("one", traced=((3, 9.0),)),
        Heart("equal", traced=((3, 9.0), (20, 9.0))),
        Heart("gone", video=None),
        Heart("noise", video="noise"),
    ]
    cases, left = load_pediatric(
        write_pediatric(tmp_path, hearts), AUTHORS, Options(split=None, videos=9)
    )
    assert [case.case_id for case in cases] == ["good"]
    reasons = {each.case: each.reason for each in left}
    assert reasons["one"] == "1 frame is traced (3); two are needed"
    assert reasons["equal"].startswith("its traced frames 3 and 20 have equal areas")
    assert reasons["gone"] == "A4C/Videos/gone.avi: the file is not there"
    assert reasons["noise"].startswith("A4C/Videos/noise.avi: it is no AVI, MP4 or MKV file")


@pytest.mark.parametrize("value", ["", "nan", "inf"])
def test_a_point_without_a_place_spoils_its_own_clip(tmp_path: Path, value: str) -> None:
    root = write_pediatric(tmp_path, [Heart("a"), Heart("b")])
    path = root / "A4C" / "VolumeTracings.csv"
    path.write_text(path.read_text().replace("28.0,16.0", f"28.0,{value}", 1))
    cases, left = load_pediatric(root, CORRECTED, Options(split=None, videos=9))
    assert [case.case_id for case in cases] == ["b"]
    assert left == [Left("a", "the tracing of its frame 10 lacks a number")]


def test_a_point_that_is_a_word_is_named_by_its_row(tmp_path: Path) -> None:
    root = write_pediatric(tmp_path, [Heart("a")])
    path = root / "A4C" / "VolumeTracings.csv"
    path.write_text(path.read_text().replace("28.0,16.0", "28.0,far", 1))
    with pytest.raises(BadInput, match='row 2: Y is "far"; it is a number'):
        load_pediatric(root, CORRECTED, Options(split=None, videos=9))


def test_the_two_echonets_are_told_apart_by_their_tracings(tmp_path: Path) -> None:
    write_pediatric(tmp_path / "p", [Heart("a")])
    assert has_polygons(tmp_path / "p" / "A4C")
    assert not has_polygons(write_echonet(tmp_path / "e", [Heart("a")]))


# ------------------------ CAMUS: frames counted from 1, NIfTI through a package that may be missing


def patients(*hearts: Heart) -> list[Heart]:
    return [heart._replace(name=f"patient{heart.name}") for heart in hearts]


def loaded_camus(
    root: Path, split: str | None = "VAL", videos: int = 9
) -> tuple[list[HeartbeatCase], list[Left]]:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    return load_camus(root, CORRECTED, Options(split=split, videos=videos))


def test_without_the_package_one_line_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nibabel", None)
    write_camus(tmp_path, patients(Heart("0001")))
    with pytest.raises(BadInput) as caught:
        load_camus(tmp_path, CORRECTED, Options(split="VAL", videos=9))
    assert 'pip install "overread[nifti]"' in str(caught.value)
    assert "\n" not in str(caught.value)


def test_frames_are_counted_from_0_here(tmp_path: Path) -> None:
    root = write_camus(tmp_path, patients(Heart("0001", ed=0, es=17, frames=18)))
    (case,), left = loaded_camus(root)
    assert left == []
    assert (case.ed, case.es, case.frames) == (0, 17, 18)
    assert (case.width, case.height) == (SIDE, SIDE - 4)
    stem = "database_nifti/patient0001/patient0001_4CH_half_sequence"
    assert (case.clip, case.mask) == (f"{stem}.nii.gz", f"{stem}_gt.nii.gz")
    assert (case.case_id, case.patient, case.view) == ("patient0001_4CH", "patient0001", "A4C")
    assert (case.sex, case.age, case.ef, case.fps, case.split) == ("F", 56.0, 54.0, 48.5, "VAL")


def test_the_header_gives_x_y_and_t(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    path = write_nifti(tmp_path / "a.nii.gz", beating(11)[..., 0].transpose(2, 1, 0)[:20])
    assert probe_nifti(path) == Footage(frames=11, width=20, height=SIDE)


def test_splits_are_the_lists_of_the_set(tmp_path: Path) -> None:
    root = write_camus(tmp_path, patients(Heart("1"), Heart("2", split="TEST")))
    assert [case.patient for case in loaded_camus(root)[0]] == ["patient1"]
    assert [case.patient for case in loaded_camus(root, "TEST")[0]] == ["patient2"]
    assert len(loaded_camus(root, None)[0]) == 2
    assert len(loaded_camus(root / "database_nifti")[0]) == 1
    with pytest.raises(BadInput, match='split is "odd"; give TRAIN, VAL, TEST'):
        loaded_camus(root, "odd")


def test_what_cannot_be_asked_of_camus_is_left_with_its_reason(tmp_path: Path) -> None:
    hearts = patients(
        Heart("good"),
        Heart("gone", video=None),
        Heart("noise", video="noise"),
        Heart("other", stated=90),
        Heart("beyond", es=60),
        Heart("odd"),
    )
    root = write_camus(tmp_path, hearts)
    info = root / "database_nifti" / "patientodd" / "Info_4CH.cfg"
    info.write_text(info.read_text().replace("ES: 27", "ES: late"))
    cases, left = loaded_camus(root)
    assert [case.patient for case in cases] == ["patientgood"]
    reasons = {each.case.removesuffix("_4CH"): each.reason.partition(": ")[2] for each in left}
    assert reasons["patientgone"] == "the file is not there"
    assert reasons["patientnoise"].startswith("damaged or cut short (no NIfTI that")
    assert reasons["patientother"] == "Info_4CH.cfg says 90 frames and the sequence has 60"
    assert reasons["patientbeyond"].startswith("end-systole is frame 60, beyond the end")
    assert reasons["patientodd"] == 'Info_4CH.cfg: ES is "late"; it is a whole number from 1'


def test_authors_take_the_first_patients(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = write_camus(tmp_path, patients(Heart("2"), Heart("1"), Heart("3")))
    cases, _ = load_camus(root, AUTHORS, Options(split=None, videos=2))
    assert [case.patient for case in cases] == ["patient1", "patient2"]


def test_frame_0_is_no_frame_of_a_cfg(tmp_path: Path) -> None:
    root = write_camus(tmp_path, patients(Heart("good"), Heart("zero")))
    info = root / "database_nifti" / "patientzero" / "Info_4CH.cfg"
    info.write_text(info.read_text().replace("ED: 11", "ED: 0"))
    cases, (left,) = loaded_camus(root)
    assert [case.patient for case in cases] == ["patientgood"]
    assert 'Info_4CH.cfg: ED is "0"; it is a whole number from 1' in left.reason


def test_the_sample_of_camus_follows_the_seed(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = write_camus(tmp_path, patients(*(Heart(str(n), frames=30) for n in range(5))))
    samples = {
        load_camus(
            root, msgspec.structs.replace(CORRECTED, seed=seed), Options(split=None, videos=1)
        )[0][0].case_id
        for seed in range(8)
    }
    assert len(samples) > 1


@pytest.mark.parametrize("packed", [True, False], ids=["gzipped", "plain"])
def test_a_sequence_short_of_its_last_frame_is_damaged(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    path = write_nifti(tmp_path / "a.nii.gz", beating(11)[..., 0].transpose(2, 1, 0))
    data = gzip.decompress(path.read_bytes())
    name = "a.nii.gz" if packed else "a.nii"
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    assert probe_nifti(tmp_path / name).frames == 11
    short = data[: -SIDE * SIDE]
    (tmp_path / name).write_bytes(gzip.compress(short) if packed else short)
    with pytest.raises(Unplayable, match="11 frames need"):
        probe_nifti(tmp_path / name)
