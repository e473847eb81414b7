"""CAMUS: frames counted from 1, NIfTI through a package that may be missing."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clip_files import Footage, Unplayable
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.official_sets import load_camus, probe_nifti
from overread.case import BadInput
from support.echo_trees import SIDE, Heart, beating, write_camus, write_nifti


def patients(*hearts: Heart) -> list[Heart]:
    return [heart._replace(name=f"patient{heart.name}") for heart in hearts]


def loaded(
    root: Path, split: str | None = "VAL", videos: int = 9
) -> tuple[list[HeartbeatCase], list[Left]]:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    return load_camus(root, CORRECTED, split=split, videos=videos, seed=0)


def test_without_the_package_one_line_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nibabel", None)
    write_camus(tmp_path, patients(Heart("0001")))
    with pytest.raises(BadInput) as caught:
        load_camus(tmp_path, CORRECTED, split="VAL", videos=9, seed=0)
    assert 'pip install "overread[nifti]"' in str(caught.value)
    assert "\n" not in str(caught.value)


def test_frames_are_counted_from_0_here(tmp_path: Path) -> None:
    root = write_camus(tmp_path, patients(Heart("0001", ed=0, es=17, frames=18)))
    (case,), left = loaded(root)
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
    assert [case.patient for case in loaded(root)[0]] == ["patient1"]
    assert [case.patient for case in loaded(root, "TEST")[0]] == ["patient2"]
    assert len(loaded(root, None)[0]) == 2
    assert len(loaded(root / "database_nifti")[0]) == 1
    with pytest.raises(BadInput, match='split is "odd"; give TRAIN, VAL, TEST'):
        loaded(root, "odd")


def test_what_cannot_be_asked_is_left_with_its_reason(tmp_path: Path) -> None:
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
    cases, left = loaded(root)
    assert [case.patient for case in cases] == ["patientgood"]
    reasons = {each.clip.removesuffix("_4CH"): each.reason.partition(": ")[2] for each in left}
    assert reasons["patientgone"] == "the file is not there"
    assert reasons["patientnoise"].startswith("damaged or cut short (no NIfTI that")
    assert reasons["patientother"] == "Info_4CH.cfg says 90 frames and the sequence has 60"
    assert reasons["patientbeyond"].startswith("end-systole is frame 60, beyond the end")
    assert reasons["patientodd"] == 'Info_4CH.cfg: ES is "late"; it is a whole number from 1'


def test_authors_take_the_first_patients(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = write_camus(tmp_path, patients(Heart("2"), Heart("1"), Heart("3")))
    cases, _ = load_camus(root, AUTHORS, split=None, videos=2, seed=0)
    assert [case.patient for case in cases] == ["patient1", "patient2"]


def test_frame_0_is_no_frame_of_a_cfg(tmp_path: Path) -> None:
    root = write_camus(tmp_path, patients(Heart("good"), Heart("zero")))
    info = root / "database_nifti" / "patientzero" / "Info_4CH.cfg"
    info.write_text(info.read_text().replace("ED: 11", "ED: 0"))
    cases, (left,) = loaded(root)
    assert [case.patient for case in cases] == ["patientgood"]
    assert 'Info_4CH.cfg: ED is "0"; it is a whole number from 1' in left.reason


def test_the_sample_follows_the_seed(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = write_camus(tmp_path, patients(*(Heart(str(n), frames=30) for n in range(5))))
    samples = {
        load_camus(root, CORRECTED, split=None, videos=1, seed=seed)[0][0].case_id
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
