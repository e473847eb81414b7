"""A path is enough: an official set or clips with a csv, or one line says what was expected."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat import loading
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.heartbeat.loading import find_csv, load, load_csv, root_of
from overread.case import BadInput
from overread.imaging import Footage
from support.datasets import write_csv
from support.echo_trees import (
    SIDE,
    Heart,
    beating,
    write_camus,
    write_clips,
    write_dicom,
    write_echonet,
    write_heart,
    write_masks,
    write_mp4,
    write_pediatric,
)

# -------------- A path is enough: what lies there is recognised, or one line says what was expected


def clips(path: Path, **options: object) -> list[str]:
    cases, left = load(path, CORRECTED, Options(**options))  # type: ignore[arg-type]
    assert left == []
    root = root_of(path, Options(**options))  # type: ignore[arg-type]
    assert all((root / case.clip).is_file() for case in cases)
    return [case.clip for case in cases]


def test_every_layout_is_recognised(tmp_path: Path) -> None:
    assert clips(write_echonet(tmp_path / "e", [Heart("a")])) == ["Videos/a.avi"]
    assert clips(write_pediatric(tmp_path / "p", [Heart("a")])) == ["A4C/Videos/a.avi"]
    assert clips(tmp_path / "p" / "A4C") == ["Videos/a.avi"]
    path = write_clips(tmp_path / "c", [Heart("a")])
    assert clips(path) == clips(tmp_path / "c") == ["clips/a.avi"]


def test_camus_is_recognised(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    name = "patient0001/patient0001_4CH_half_sequence.nii.gz"
    root = write_camus(tmp_path, [Heart("patient0001")])
    assert clips(root) == [f"database_nifti/{name}"]
    assert clips(root / "database_nifti") == [name]


def test_the_root_may_be_elsewhere(tmp_path: Path) -> None:
    path = write_clips(tmp_path / "c", [Heart("a", video=None)])
    write_heart(tmp_path / "far" / "clips" / "a.avi", Heart("a"))
    assert clips(path, root=str(tmp_path / "far")) == ["clips/a.avi"]


@pytest.mark.parametrize("kind", ["nothing", "empty folder", "text file", "other csv"])
def test_what_is_not_recognised_says_what_was_expected(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "there"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "text file":
        path = tmp_path / "there.txt"
        path.write_text("clip,ed,es\n")
    elif kind == "other csv":
        path = tmp_path / "there.csv"
        path.write_text("image,label\na.png,1\n")
    with pytest.raises(BadInput) as caught:
        load(path, CORRECTED, Options())
    assert str(path) in str(caught.value)
    assert "clip, ed and es" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_set_of_which_nothing_can_be_asked_is_refused(tmp_path: Path) -> None:
    path = write_clips(tmp_path, [Heart("a", video=None), Heart("b", video=None)])
    with pytest.raises(BadInput) as caught:
        load(path, CORRECTED, Options())
    assert str(caught.value).endswith(
        "no clip can be asked about, 2 are left out; the first is clips/a: clips/a.avi: the file "
        "is not there."
    )


def test_where_every_context_needs_masks_a_clip_without_any_is_left_out(tmp_path: Path) -> None:
    write_clips(tmp_path, [Heart("a"), Heart("b")])
    write_masks(tmp_path / "a.npz", np.ones((60, SIDE, SIDE), bool))
    rows = [("clips/a.avi", 10, 26, "a.npz"), ("clips/b.avi", 10, 26, "")]
    path = write_csv(tmp_path / "cases.csv", ("clip", "ed", "es", "mask"), rows)
    assert len(clips(path, contexts=("original", "segmented"))) == 2
    cases, (left,) = load(path, CORRECTED, Options(contexts=("segmented", "non_medical")))
    assert [case.case_id for case in cases] == ["clips/a"]
    assert left.reason == "clips/b.avi: it has no masks, and segmented and non_medical need them"


def test_the_editions_seed_draws_the_clips(tmp_path: Path) -> None:
    path = write_clips(tmp_path, [Heart(f"h{number}", frames=30) for number in range(5)])
    rules = [msgspec.structs.replace(CORRECTED, seed=seed) for seed in range(8)]
    samples = {load(path, each, Options(videos=1))[0][0].case_id for each in rules}
    assert len(samples) > 1


def test_a_root_beside_a_set_with_its_own_clips_is_refused(tmp_path: Path) -> None:
    path = write_echonet(tmp_path / "e", [Heart("a")])
    with pytest.raises(BadInput, match="has its clips below itself. Leave root out"):
        load(path, CORRECTED, Options(root=str(tmp_path)))


# ------------------------------------------------------ Any folder of clips with a csv of ED and ES


def loaded(csv: Path, **more: object) -> tuple[list[HeartbeatCase], list[Left]]:
    return load_csv(csv, CORRECTED, Options(**{"split": "VAL", "videos": 99, **more}))


def test_three_columns_are_enough(tmp_path: Path) -> None:
    cases, left = loaded(write_clips(tmp_path, [Heart("a"), Heart("b", ed=30, es=12)]))
    assert left == []
    assert [(c.case_id, c.clip, c.ed, c.es, c.frames) for c in cases] == [
        ("clips/a", "clips/a.avi", 10, 26, 60),
        ("clips/b", "clips/b.avi", 30, 12, 60),
    ]
    assert (cases[0].fps, cases[0].split) == (50.0, None)


def test_every_other_column_is_taken_where_it_is_there(tmp_path: Path) -> None:
    write_heart(tmp_path / "a.avi", Heart("a"))
    write_masks(tmp_path / "a.npz", np.ones((60, SIDE, SIDE), bool))
    write_csv(tmp_path / "v.csv", ("frame", "volume"), [(n, 1.5) for n in range(60)])
    facts = {
        "case_id": "one",
        "patient": "p1",
        "view": "A4C",
        "sex": "M",
        "age": 44.5,
        "split": "VAL",
        "ef": 55.0,
        "fps": 47.0,
        "ed_volume": 90.0,
        "es_volume": 40.0,
        "mask": "a.npz",
        "volumes": "v.csv",
    }
    row = ("a.avi", 10, 26, *facts.values())
    (case,), _ = loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es", *facts), [row]))
    assert {name: getattr(case, name) for name in facts} == facts


def test_one_case_per_beat_with_facts_from_the_manifest_beside(tmp_path: Path) -> None:
    write_heart(tmp_path / "a.avi", Heart("a"))
    csv = write_csv(
        tmp_path / "beats.csv",
        ("clip", "beat", "ed_frame", "es_frame"),
        [("a.avi", 0, 2, 19), ("a.avi", 1, 30, 49)],
    )
    header = ("clip", "patient", "view", "n_frames", "playback_fps", "ed_frames")
    write_csv(tmp_path / "manifest.csv", header, [("a.avi", "p7", "A4C", 60, 30, "2 30")])
    assert find_csv(tmp_path) == csv
    cases, _ = loaded(csv)
    assert [(c.case_id, c.ed, c.es) for c in cases] == [("a#0", 2, 19), ("a#1", 30, 49)]
    assert {(c.patient, c.view, c.fps, c.frames) for c in cases} == {("p7", "A4C", 30.0, 60)}


def test_a_csv_without_the_phases_is_refused(tmp_path: Path) -> None:
    csv = write_csv(tmp_path / "c.csv", ("Path", "dia", "sys"), [("a.avi", 10, 26)])
    assert find_csv(tmp_path) is None
    with pytest.raises(BadInput, match="has no column clip, ed, es; a csv of clips has"):
        loaded(csv)


def test_a_dicom_folder_with_a_csv(tmp_path: Path) -> None:
    write_dicom(tmp_path / "IM_0001", beating(40), FrameTime=20)
    write_dicom(tmp_path / "b.dcm", beating(40), CineRate=30)
    write_mp4(tmp_path / "c.mp4", beating(40))
    rows = [("IM_0001", 3, 20), ("b.dcm", 3, 20), ("c.mp4", 3, 20)]
    cases, left = loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), rows))
    assert left == []
    assert [(case.frames, case.fps) for case in cases] == [(40, 50.0), (40, 30.0), (40, 50.0)]


def test_clips_may_lie_elsewhere(tmp_path: Path) -> None:
    write_heart(tmp_path / "far" / "a.avi", Heart("a"))
    csv = write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), [("a.avi", 10, 26)])
    assert len(loaded(csv, root=tmp_path / "far")[0]) == 1
    assert loaded(csv)[1] == [Left("a", "a.avi: the file is not there")]


@pytest.mark.parametrize(
    ("heart", "why"),
    [
        (Heart("bad", video="noise"), "it is no AVI, MP4 or MKV file"),
        (Heart("bad", video="header"), "the video has no frames"),
        (Heart("bad", video=None), "the file is not there"),
        (Heart("bad", ed=60), "end-diastole is frame 60, beyond the end: the clip has 60 frames"),
        (Heart("bad", ed=7, es=7), "end-diastole and end-systole are both frame 7"),
    ],
)
def test_a_bad_clip_is_one_line_and_the_others_go_on(
    tmp_path: Path, heart: Heart, why: str
) -> None:
    cases, (left,) = loaded(write_clips(tmp_path, [heart, Heart("good")]))
    assert [case.case_id for case in cases] == ["clips/good"]
    assert left.case == "clips/bad"
    assert left.reason.startswith(f"clips/bad.avi: {why}")
    assert "\n" not in left.reason


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("mask", "no.npz", "its masks, no.npz, are not there"),
        ("volumes", "no.csv", "its volumes, no.csv, are not there"),
        ("es_volume", "90", "the volume at end-diastole, 90, is equal to the one at end-systole"),
        ("es_volume", "91", "the volume at end-diastole, 90, is below the one at end-systole, 91"),
    ],
)
def test_what_a_row_promises_must_be_there(
    tmp_path: Path, column: str, value: str, why: str
) -> None:
    write_heart(tmp_path / "a.avi", Heart("a"))
    header = ("clip", "ed", "es", "ed_volume", column)
    _, (left,) = loaded(write_csv(tmp_path / "c.csv", header, [("a.avi", 10, 26, 90, value)]))
    assert left.reason.startswith(f"a.avi: {why}")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("", 1, 2, ""), 'c.csv row 3: clip is ""; every row names a clip'),
        (("a.avi", "x", 2, ""), 'c.csv row 3: ed is "x"; it is a number from 0, or empty'),
        (("a.avi", 1, "", ""), 'c.csv row 3: es is ""; a frame is a whole number from 0'),
        (("a.avi", 1.5, 2, ""), 'c.csv row 3: ed is "1.5"; a frame is a whole number from 0'),
        (("a.avi", 1, 2, "fast"), 'c.csv row 3: fps is "fast"; it is a number'),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: tuple[object, ...], said: str) -> None:
    rows = [("good.avi", 1, 2, ""), row]
    with pytest.raises(BadInput) as caught:
        loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es", "fps"), rows))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_row_of_the_manifest_beside_is_named_as_its(tmp_path: Path) -> None:
    csv = write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), [("a.avi", 1, 20)])
    write_csv(tmp_path / "manifest.csv", ("clip", "fps"), [("b.avi", 1), ("a.avi", "fast")])
    with pytest.raises(BadInput, match='manifest.csv row 3: fps is "fast"'):
        loaded(csv)


def test_two_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    rows = [("a.avi", "x", 1, 20), ("b.avi", "x", 1, 20)]
    csv = write_csv(tmp_path / "c.csv", ("clip", "case_id", "ed", "es"), rows)
    with pytest.raises(BadInput, match='row 3: the case "x" stands in row 2 already'):
        loaded(csv)


def test_a_split_is_looked_for_where_there_is_such_a_column(tmp_path: Path) -> None:
    for name in "ab":
        write_heart(tmp_path / f"{name}.avi", Heart(name))
    rows = [("a.avi", 10, 26, "VAL"), ("b.avi", 10, 26, "TEST")]
    csv = write_csv(tmp_path / "c.csv", ("clip", "ed", "es", "split"), rows)
    assert [case.case_id for case in loaded(csv)[0]] == ["a"]
    assert len(loaded(csv, split=None)[0]) == 2
    with pytest.raises(BadInput, match='no row of the split "X"; its splits are TEST, VAL'):
        loaded(csv, split="X")


def test_videos_limits_the_cases_by_lot_or_by_place(tmp_path: Path) -> None:
    csv = write_clips(tmp_path, [Heart(f"h{number}") for number in range(8)])
    first, _ = load_csv(csv, AUTHORS, Options(split=None, videos=3))
    assert [case.case_id for case in first] == ["clips/h0", "clips/h1", "clips/h2"]
    samples = {
        tuple(
            case.case_id
            for case in load_csv(
                csv, msgspec.structs.replace(CORRECTED, seed=s), Options(split=None, videos=3)
            )[0]
        )
        for s in range(6)
    }
    assert len(samples) > 1


def test_two_csv_files_with_phases_are_refused(tmp_path: Path) -> None:
    write_clips(tmp_path, [Heart("a")], "one.csv")
    write_clips(tmp_path, [Heart("a")], "two.csv")
    with pytest.raises(BadInput, match="one.csv, two.csv all have columns"):
        find_csv(tmp_path)


def test_the_csv_goes_before_the_manifest_and_a_columns_own_name_before_others(
    tmp_path: Path,
) -> None:
    write_heart(tmp_path / "a.avi", Heart("a"))
    header = ("clip", "video", "ed", "es", "fps", "playback_fps", "ef")
    csv = write_csv(tmp_path / "c.csv", header, [("a.avi", "b.avi", 10, 26, 47, 30, -2.5)])
    write_csv(tmp_path / "manifest.csv", ("clip", "fps", "ef", "sex"), [("a.avi", 20, 60, "F")])
    (case,), _ = loaded(csv)
    # EF below 0 is odd, and still what the set says.
    assert (case.clip, case.fps, case.ef, case.sex) == ("a.avi", 47.0, -2.5, "F")


def test_a_beat_that_stands_twice_is_left_out_and_numbers_none(tmp_path: Path) -> None:
    write_heart(tmp_path / "a.avi", Heart("a"))
    rows = [("a.avi", 2, 19), ("a.avi", 2, 19), ("a.avi", 30, 49)]
    cases, (left,) = loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), rows))
    assert [(case.case_id, case.ed) for case in cases] == [("a#0", 2), ("a#1", 30)]
    assert "stands in row 2 already" in left.reason


def test_a_clip_of_many_beats_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def probe(root: Path, clip: str, stated: int | None) -> Footage:
        opened.append(clip)
        return Footage(60, SIDE, SIDE, 50.0)

    monkeypatch.setattr(loading, "probe_clip", probe)
    rows = [("a.avi", 2, 19), ("a.avi", 30, 49), ("b.avi", 2, 19)]
    assert len(loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), rows))[0]) == 3
    assert sorted(opened) == ["a.avi", "b.avi"]


def test_a_clip_that_is_not_square_has_its_width_and_height(tmp_path: Path) -> None:
    write_mp4(tmp_path / "a.mp4", beating(40)[:, : SIDE - 8])
    (case,), _ = loaded(write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), [("a.mp4", 3, 20)]))
    assert (case.width, case.height) == (SIDE, SIDE - 8)
