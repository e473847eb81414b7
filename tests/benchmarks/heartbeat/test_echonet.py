"""EchoNet-Dynamic: what is asked about, what is left out and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Edition
from overread.benchmarks.heartbeat.official_sets import load_dynamic
from overread.case import BadInput
from support.echo_trees import SIDE, Heart, write_echonet

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


def loaded(
    root: Path, edition: Edition = CORRECTED, split: str | None = "VAL", videos: int = 100
) -> tuple[list[HeartbeatCase], list[Left]]:
    return load_dynamic(root, edition, split=split, videos=videos, seed=0)


def ids(cases: list[HeartbeatCase]) -> list[str]:
    return [case.case_id for case in cases]


def test_a_case_holds_what_the_files_say(tmp_path: Path) -> None:
    (case,), left = loaded(write_echonet(tmp_path, [Heart("0XA", ed=30, es=12, frames=70)]))
    assert left == []
    assert (case.ed, case.es, case.frames, case.length) == (30, 12, 70, 18)
    assert (case.clip, case.width, case.height) == ("Videos/0XA.avi", SIDE, SIDE)
    assert (case.ef, case.fps, case.split, case.view) == (60.5, 50.0, "VAL", "A4C")
    assert case.ed_volume is not None
    assert case.es_volume is not None
    assert case.ed_volume > case.es_volume


def test_corrected_goes_by_volume_and_authors_by_place(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("0XA", small_first=True)])
    (sound,), _ = loaded(root)
    (swapped,), _ = loaded(root, AUTHORS)
    assert (sound.ed, sound.es) == (10, 26)
    assert (swapped.ed, swapped.es) == (26, 10)


@pytest.mark.parametrize("trap", TRAPS)
def test_a_bad_clip_is_one_line_and_the_others_go_on(tmp_path: Path, trap: str) -> None:
    heart, why = TRAPS[trap]
    cases, left = loaded(write_echonet(tmp_path, [GOOD[0], heart, *GOOD[1:]]))
    assert ids(cases) == [good.name for good in GOOD]
    (only,) = left
    assert only.clip == heart.name
    assert only.reason.startswith(why)
    assert "\n" not in only.reason


def test_all_traps_at_once(tmp_path: Path) -> None:
    hearts = [heart for heart, _ in TRAPS.values()]
    cases, left = loaded(write_echonet(tmp_path, [*hearts, *GOOD]))
    assert ids(cases) == [good.name for good in GOOD]
    assert {each.clip for each in left} == set(TRAPS)


def test_the_list_does_not_overrule_the_video(tmp_path: Path) -> None:
    (case,), _ = loaded(write_echonet(tmp_path, [Heart("0XA", frames=60, stated=90)]))
    assert case.frames == 60


def test_corrected_draws_from_the_split(tmp_path: Path) -> None:
    hearts = [*GOOD, Heart("train", split="TRAIN"), Heart("test", split="TEST", video=None)]
    root = write_echonet(tmp_path, hearts)
    cases, left = loaded(root)
    assert ids(cases) == [good.name for good in GOOD]
    assert left == []
    assert ids(loaded(root, split="TRAIN")[0]) == ["train"]
    assert len(loaded(root, split=None)[0]) == len(GOOD) + 1
    few, _ = loaded(root, videos=3)
    assert len(few) == 3
    assert ids(few) == [name for name in ids(cases) if name in ids(few)]


def test_authors_take_the_first_names_of_the_tracings_of_any_split(tmp_path: Path) -> None:
    hearts = [Heart("b", split="TRAIN"), Heart("a"), Heart("c", video=None), Heart("d")]
    cases, left = loaded(write_echonet(tmp_path, hearts), AUTHORS, videos=3)
    assert ids(cases) == ["b", "a"]
    assert [each.clip for each in left] == ["c"]


def test_a_traced_clip_that_is_not_listed_is_said(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b")])
    listed = (root / "FileList.csv").read_text().splitlines(keepends=True)
    (root / "FileList.csv").write_text("".join(listed[:2]))
    cases, left = loaded(root)
    assert ids(cases) == ["a"]
    assert left == [Left("b", "it is traced, but FileList.csv does not list it")]


def test_an_unknown_split_names_the_known_ones(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b", split="TRAIN")])
    with pytest.raises(BadInput, match='no clip of the split "val"; its splits are TRAIN, VAL'):
        loaded(root, split="val")


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
        loaded(root)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_tracings_are_said(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a")])
    (root / "VolumeTracings.csv").unlink()
    with pytest.raises(BadInput, match="VolumeTracings.csv: there is no such file"):
        loaded(root)


def test_the_sample_follows_the_seed(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, GOOD)
    samples = {
        tuple(ids(load_dynamic(root, CORRECTED, split="VAL", videos=1, seed=seed)[0]))
        for seed in range(8)
    }
    assert len(samples) > 1


def test_the_list_says_the_rate_and_what_it_does_not_know_keeps_no_clip_out(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a"), Heart("b")])
    path = root / "FileList.csv"
    path.write_text(path.read_text().replace("a,60.5", "a,NaN").replace(",50,", ",47.5,", 1))
    (one, two), left = loaded(root)
    assert left == []
    assert (one.ef, one.fps, two.ef, two.fps) == (None, 47.5, 60.5, 50.0)
