"""Broken data, loader by loader: one clear line for the clip, and the other clips go on."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Edition, Options
from overread.benchmarks.heartbeat.loading import load
from overread.case import BadInput, Clip, Source
from overread.imaging import render_clip
from support.broken_clips import SPOILT, claim_size, damage_a_frame, spoil, write_uneven
from support.clip_files import png
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
    write_nifti,
    write_pediatric,
    write_video,
)

GOOD = Heart("good")


@pytest.fixture(autouse=True)
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing is printed, by us or by the C libraries below us."""
    yield
    assert capfd.readouterr() == ("", "")


def loaded(
    path: Path, edition: Edition = CORRECTED, contexts: tuple[str, ...] = ("original",)
) -> tuple[list[HeartbeatCase], list[Left]]:
    return load(path, edition, Options(split=None, contexts=contexts))


def only_bad(path: Path, why: str, edition: Edition = CORRECTED) -> None:
    """The good clip is asked about; of the bad one a single line says its name and why not."""
    cases, left = loaded(path, edition)
    assert len(cases) == 1
    assert "good" in cases[0].case_id
    (line,) = left
    assert "bad" in line.case
    assert why in line.reason
    assert "\n" not in line.reason


# ---------------------------------------------------------------- videos of three loaders

TREES: dict[str, tuple[Callable[[Path, list[Heart]], Path], str]] = {
    "dynamic": (write_echonet, "Videos/bad.avi"),
    "pediatric": (write_pediatric, "A4C/Videos/bad.avi"),
    "folder": (write_clips, "clips/bad.avi"),
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("tree", TREES)
def test_a_broken_video(tmp_path: Path, tree: str, how: str) -> None:
    write, clip = TREES[tree]
    path = write(tmp_path, [GOOD, Heart("bad")])
    spoil(tmp_path / clip, how)
    only_bad(path, SPOILT[how][1])


def test_all_of_them_at_once_in_both_editions(tmp_path: Path) -> None:
    names = {how: f"{number}-bad" for number, how in enumerate(SPOILT)}
    root = write_echonet(tmp_path, [*(Heart(name) for name in names.values()), GOOD])
    for how, name in names.items():
        spoil(root / "Videos" / f"{name}.avi", how)
    for edition in (CORRECTED, AUTHORS):
        cases, left = loaded(root, edition)
        assert [case.case_id for case in cases] == ["good"]
        said = {each.case: each.reason for each in left}
        assert all(SPOILT[how][1] in said[name] for how, name in names.items())


# ---------------------------------------------------------------- tracings of both EchoNets

TRACED = {
    "beyond the end": ((10, 12.0), (60, 9.0)),
    "below 0": ((-3, 12.0), (20, 9.0)),
    "three": ((10, 12.0), (20, 9.0), (30, 8.0)),
    "one": ((10, 12.0),),
    "none": (),
    "equal": ((10, 12.0), (20, 12.0)),
    "not a number": ((10, float("nan")), (20, 9.0)),
}
REASON = {
    "beyond the end": "end-systole is frame 60, beyond the end: the clip has 60 frames",
    "below 0": "end-diastole is frame -3; frames are counted from 0",
    "three": "3 frames are traced (10, 20, 30); two are needed",
    "one": "1 frame is traced (10); two are needed",
    "none": "no frame is traced; two are needed",
    "equal": "its traced frames 10 and 20 have equal",
    "not a number": "the tracing of its frame 10 lacks a number",
}


@pytest.mark.parametrize("trap", TRACED)
def test_a_broken_tracing_of_echonet_dynamic(tmp_path: Path, trap: str) -> None:
    only_bad(write_echonet(tmp_path, [GOOD, Heart("bad", traced=TRACED[trap])]), REASON[trap])


@pytest.mark.parametrize("trap", TRACED)
def test_a_broken_tracing_of_echonet_pediatric(tmp_path: Path, trap: str) -> None:
    path = write_pediatric(tmp_path, [GOOD, Heart("bad", traced=TRACED[trap])])
    # There a Frame that is no number from 0 marks a phase that was not traced.
    why = "1 frame is traced (20); two are needed" if trap == "below 0" else REASON[trap]
    only_bad(path, why)


@pytest.mark.parametrize("trap", ["beyond the end", "below 0", "one", "equal", "not a number"])
def test_a_broken_tracing_under_the_authors_rules(tmp_path: Path, trap: str) -> None:
    why = {"one": "has no ESV row", "equal": "has no ESV row"}.get(trap, REASON[trap])
    path = write_echonet(tmp_path, [Heart("bad", traced=TRACED[trap]), GOOD])
    only_bad(path, why, AUTHORS)


@pytest.mark.parametrize("file", ["FileList.csv", "VolumeTracings.csv"])
@pytest.mark.parametrize("write", [write_echonet, write_pediatric])
def test_missing_columns_and_rows_refuse_the_set(
    tmp_path: Path, write: Callable[[Path, list[Heart]], Path], file: str
) -> None:
    root = write(tmp_path, [GOOD])
    (path,) = root.rglob(file)
    whole = path.read_text()
    for text, why in (
        (whole.replace("FileName", "Name", 1), "has no column FileName"),
        (whole.splitlines()[0] + "\n", "no rows"),
        ("", file),
    ):
        path.write_text(text)
        refused(root, why)


@pytest.mark.parametrize("write", [write_echonet, write_pediatric])
def test_the_same_clip_twice_in_the_list_refuses_the_set(
    tmp_path: Path, write: Callable[[Path, list[Heart]], Path]
) -> None:
    root = write(tmp_path, [GOOD])
    (path,) = root.rglob("FileList.csv")
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[1] + "\n")
    refused(root, "stands in row 2 already")
    again = whole.splitlines()[1]
    other = (
        again.replace("good.avi", "good")
        if "good.avi" in again
        else again.replace("good", "good.avi")
    )
    path.write_text(whole + other + "\n")
    refused(root, "it is listed without .avi as well")


def test_an_ef_that_is_no_number_is_not_known(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [GOOD])
    path = root / "FileList.csv"
    path.write_text(path.read_text().replace("60.5", "NaN"))
    (case,), _ = loaded(root)
    assert case.ef is None


def refused(path: Path, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(path)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- rows of a csv


def rows(folder: Path, header: tuple[str, ...], *bad: tuple[object, ...]) -> Path:
    """A csv with a good clip and bad rows; every clip named is a good file."""
    for name in ("good", "bad"):
        write_heart(folder / f"{name}.avi", Heart(name))
    given = [("good.avi", 10, 26), *bad]
    width = len(("clip", "ed", "es", *header))
    padded = [(*row, *[""] * (width - len(row))) for row in given]
    return write_csv(folder / "cases.csv", ("clip", "ed", "es", *header), padded)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("bad.avi", 10, 60), "end-systole is frame 60, beyond the end"),
        (("bad.avi", -1, 26), "end-diastole is frame -1; frames are counted from 0"),
        (("bad.avi", 10, 10), "end-diastole and end-systole are both frame 10"),
        (("bad.avi", 10, 26, 90, 90), "the volume at end-diastole, 90, is equal to"),
        (("bad.avi", 10, 26, "nan", 90), "the volume at end-diastole is not a number"),
        (("bad.avi", 10, 26, 90, "NaN"), "the volume at end-systole is not a number"),
        (("nowhere/bad.avi", 10, 26), "the file is not there"),
        (("bad\0.avi", 10, 26), ""),
        ((f"{'bad' * 99}.avi", 10, 26), "the file is not there"),
    ],
)
def test_a_broken_row(tmp_path: Path, row: tuple[object, ...], why: str) -> None:
    header = ("ed_volume", "es_volume")
    if "\0" in str(row[0]):
        refused(rows(tmp_path, header, row), "cases.csv")
    else:
        only_bad(rows(tmp_path, header, row), why)


def test_the_same_beat_twice_is_asked_once(tmp_path: Path) -> None:
    path = rows(tmp_path, ("beat",), ("bad.avi", 3, 20, 1), ("bad.avi", 3, 20, 1))
    cases, (line,) = loaded(path)
    assert [case.case_id for case in cases] == ["good", "bad"]
    assert line == Left(
        "bad (row 4)", "bad.avi: the beat of frames 3 and 20 stands in row 3 already"
    )


def test_a_clip_outside_of_the_root_is_not_opened(tmp_path: Path) -> None:
    path = rows(tmp_path / "set", (), ("../bad.avi", 10, 26))
    write_heart(tmp_path / "bad.avi", Heart("bad"))
    only_bad(path, "leaves its data root")
    (tmp_path / "set" / "bad.avi").unlink()
    os.symlink(tmp_path / "bad.avi", tmp_path / "set" / "bad.avi")
    only_bad(write_csv(path, ("clip", "ed", "es"), [("good.avi", 10, 26), ("bad.avi", 1, 20)]), "leaves")  # fmt: skip


def test_missing_columns_are_named(tmp_path: Path) -> None:
    refused(write_csv(tmp_path / "c.csv", ("clip", "ed"), [("a.avi", 1)]), "has no column es")


# ---------------------------------------------------------------- masks


def square(frames: int, side: int = SIDE) -> np.ndarray:
    made = np.zeros((frames, side, side), bool)
    made[:, 4 : side // 2, 4 : side // 2] = True
    return made


def _folder_of(path: Path, count: int, side: int = SIDE) -> None:
    path.mkdir()
    for number in range(count):
        (path / f"{number}.png").write_bytes(png(np.zeros((side, side), np.uint8)))


MASKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "m.npz": (lambda p: None, "its masks, m.npz, are not there"),
    "few.npz": (lambda p: write_masks(p, square(59)), "are of 59 frames and it has 60"),
    "many.npz": (lambda p: write_masks(p, square(61)), "are of 61 frames and it has 60"),
    "small.npz": (lambda p: write_masks(p, square(60, 16)), "are 16 x 16 and its frames 32 x 32"),
    "plain.npz": (lambda p: np.savez(p, a=square(7)), "are of 7 frames"),
    "low.npz": (lambda p: write_masks(p, square(60)[:, :16]), "are 32 x 16 and its frames 32 x 32"),
    "text.npz": (lambda p: p.write_text("no npz"), "its masks, text.npz: unknown format"),
    "cut.npz": (
        lambda p: p.write_bytes(write_masks(p, square(60)).read_bytes()[:200]),
        "its masks, cut.npz: damaged or cut short",
    ),
    "flat.npz": (lambda p: np.savez(p, a=np.ones((4, 4))), "frames, rows and columns are needed"),
    "short.avi": (lambda p: write_video(p, beating(30)), "are of 30 frames"),
    "wide.avi": (lambda p: write_video(p, beating(60, side=48)), "are 48 x 48"),
    "none.avi": (lambda p: p.write_bytes(b""), "its masks, none.avi: "),
    "few": (lambda p: _folder_of(p, 59), "its masks, few, are of 59 frames"),
    "small": (lambda p: _folder_of(p, 60, 8), "its masks, small, are 8 x 8"),
    "nothing": (lambda p: p.mkdir(), "its masks, nothing: images of a clip's frames are numbered"),
}


@pytest.mark.parametrize("mask", MASKS)
def test_masks_that_do_not_go_with_the_clip(tmp_path: Path, mask: str) -> None:
    make, why = MASKS[mask]
    make(tmp_path / mask)
    only_bad(rows(tmp_path, ("mask",), ("bad.avi", 10, 26, mask)), why)


def test_masks_that_do(tmp_path: Path) -> None:
    write_masks(tmp_path / "a.npz", square(60))
    np.savez(tmp_path / "b.npz", masks=square(60))
    _folder_of(tmp_path / "c", 60)
    write_video(tmp_path / "d.avi", beating(60))
    write_video(tmp_path / "e.avi", beating(60).repeat(2, axis=2))  # EchoNet's, the plot cut off
    write_video(tmp_path / "f.avi", beating(60).repeat(2, axis=2).repeat(2, axis=1))
    masks = ("a.npz", "b.npz", "c", "d.avi", "e.avi", "f.avi")
    path = rows(tmp_path, ("mask",), *(("bad.avi", 10, 26 + n, m) for n, m in enumerate(masks)))
    cases, left = loaded(path)
    assert left == []
    assert [case.mask for case in cases] == [None, *masks]


def test_a_clip_without_masks_is_named_where_they_are_needed(tmp_path: Path) -> None:
    write_masks(tmp_path / "m.npz", square(60))
    path = rows(tmp_path, ("mask",), ("bad.avi", 10, 26), ("bad.avi", 3, 20, "m.npz"))
    cases, left = loaded(path, contexts=("segmented",))
    assert [case.case_id for case in cases] == ["bad#1"]
    why = "it has no masks, and segmented need them"
    assert left == [Left("good", f"good.avi: {why}"), Left("bad#0", f"bad.avi: {why}")]
    cases, left = loaded(path, contexts=("original", "segmented"))
    assert (len(cases), left) == (3, [])
    only = rows(tmp_path / "none", (), ("bad.avi", 10, 26))
    with pytest.raises(
        BadInput, match=r"no clip can be asked about, 2 are left out.*it has no masks"
    ):
        loaded(only, contexts=("segmented", "non_medical"))


# ---------------------------------------------------------------- DICOM


def _dicom(path: Path, how: str) -> None:
    write_dicom(path, beating(1 if how == "one" else 60), **{"huge": {"Rows": 60_000, "Columns": 60_000}}.get(how, {}))  # fmt: skip
    data = path.read_bytes()
    if how == "half":
        path.write_bytes(data[: len(data) // 2])
    elif how == "header":
        path.write_bytes(data[:300])
    elif how == "text":
        path.write_text("no DICOM at all " * 40)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "noise":
        path.write_bytes(data[:140] + np.random.default_rng(1).bytes(4000))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("one", "it is one picture; a clip has at least two frames"),
        ("half", "the file is cut short: 60 frames need"),
        ("header", "the DICOM"),
        ("text", "the DICOM file has no picture in it"),
        ("empty", "the file is empty (0 bytes)"),
        ("noise", "the DICOM"),
        ("huge", "it declares frames of 60000 x 60000 pixels"),
    ],
)
def test_a_broken_dicom(tmp_path: Path, how: str, why: str) -> None:
    write_dicom(tmp_path / "good.dcm", beating(60))
    _dicom(tmp_path / "bad.dcm", how)
    rows = [("good.dcm", 10, 26), ("bad.dcm", 10, 26)]
    only_bad(write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), rows), why)


# ---------------------------------------------------------------- CAMUS


def _shape(path: Path, *dims: int) -> None:
    """Another shape in the header than the data have."""
    data = bytearray(gzip.decompress(path.read_bytes()))
    data[40:56] = struct.pack("<8h", 3, *dims, *[1] * 4)
    path.write_bytes(gzip.compress(bytes(data), mtime=0))


def _cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


SEQUENCES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "gone": (lambda p, m: p.unlink(), "the file is not there"),
    "empty": (lambda p, m: p.write_bytes(b""), "the file is empty (0 bytes)"),
    "text": (lambda p, m: p.write_text("no nifti"), "damaged or cut short (no NIfTI that can"),
    "half": (lambda p, m: _cut(p, 0.5), "damaged or cut short"),
    "cut at the end": (lambda p, m: _cut(p, 0.97), "damaged or cut short"),
    "few bytes": (lambda p, m: _shape(p, 300, 300, 60), "60 frames need 5400352 bytes and it"),
    "huge": (lambda p, m: _shape(p, 30_000, 30_000, 60), "declares 30000 x 30000 pixels"),
    "long": (lambda p, m: _shape(p, 900, 900, 30_000), "would take 22.6 GB"),
    "no frames": (lambda p, m: _shape(p, 32, 28, 0), "says 60 frames and the sequence has 0"),
    "flat": (lambda p, m: write_nifti(p, np.zeros((8, 8))), "its array has 2 axes"),
    "masks of few": (lambda p, m: write_nifti(m, np.zeros((32, 28, 9))), "are of 9 frames"),
    "small masks": (lambda p, m: write_nifti(m, np.zeros((16, 14, 60))), "are 16 x 14"),
    "cut masks": (lambda p, m: _cut(m, 0.5), "half_sequence_gt.nii.gz: damaged or cut short"),
    "ED is ES": (
        lambda p, m: (p.parent / "Info_4CH.cfg").write_text("ED: 5\nES: 5\nNbFrame: 60\n"),
        "end-diastole and end-systole are both frame 4",
    ),
    "frame 0": (
        lambda p, m: (p.parent / "Info_4CH.cfg").write_text("ED: 0\nES: 5\nNbFrame: 60\n"),
        'Info_4CH.cfg: ED is "0"; it is a whole number from 1',
    ),
    "no cfg": (lambda p, m: (p.parent / "Info_4CH.cfg").unlink(), "Info_4CH.cfg cannot be read"),
}


@pytest.mark.parametrize("how", SEQUENCES)
def test_a_broken_sequence_of_camus(tmp_path: Path, how: str) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = write_camus(tmp_path, [Heart("patientgood"), Heart("patientbad")])
    stem = root / "database_nifti" / "patientbad" / "patientbad_4CH_half_sequence"
    make, why = SEQUENCES[how]
    make(Path(f"{stem}.nii.gz"), Path(f"{stem}_gt.nii.gz"))
    only_bad(root, why)


# ---------------------------------------------------------------- sound, however odd


def test_a_header_that_lies_about_the_size_is_not_believed(tmp_path: Path) -> None:
    path = write_clips(tmp_path, [GOOD])
    claim_size(tmp_path / "clips" / "good.avi")
    (case,), left = loaded(path)
    assert (case.width, case.height, left) == (SIDE, SIDE, [])


def test_frames_of_uneven_length_are_counted_and_shown_by_number(tmp_path: Path) -> None:
    write_uneven(tmp_path / "bad.mp4", 60)
    path = write_csv(tmp_path / "c.csv", ("clip", "ed", "es"), [("bad.mp4", 10, 26)])
    (case,), left = loaded(path)
    assert (case.frames, left) == (60, [])
    shown = render_clip(Clip(Source(str(tmp_path), "bad.mp4"), tuple(range(60))))
    assert shown.count == 60
    assert len({frame.data for frame in shown.frames}) > 30  # none shown twice to fill the time


@pytest.mark.parametrize("write", [write_video, write_mp4])
def test_damage_that_only_decoding_finds_is_never_fewer_frames(
    tmp_path: Path, write: Callable[[Path, np.ndarray], Path]
) -> None:
    path = write(tmp_path / f"a.{'avi' if write is write_video else 'mp4'}", beating(60))
    damage_a_frame(path, 40, path.suffix[1:])
    source = Source(str(tmp_path), path.name)
    assert render_clip(Clip(source, tuple(range(20)))).count == 20
    with pytest.raises(BadInput, match=rf"^{path.name}: damaged or cut short \(.*frame"):
        render_clip(Clip(source, tuple(range(30, 54))))
