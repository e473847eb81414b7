"""A written heart set: reproducible, whole or absent, and true to its csv."""

from __future__ import annotations

import csv
import tomllib

import av
import numpy as np
import pytest

from overread.benchmarks.heartbeat.authors.rules import authors_window
from overread.benchmarks.heartbeat.cases import Window
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.heartbeat.loading import find_csv, load_csv
from overread.benchmarks.heartbeat.trials import fixed_window
from overread.benchmarks.heartbeat.volumes import ejected, neighbours, read_volumes, volumes_of
from overread.case import Clip, Source
from overread.imaging import pixels, render_clip
from overread.phantoms.heart import heart as drawn
from overread.phantoms.heart import write_heart_set
from support.clip_files import masks_at

N = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_heart_set(tmp_path_factory.mktemp("heart") / "set", N, seed=3).parent


@pytest.fixture(scope="module")
def cases(folder):
    found, left = load_csv(folder / "cases.csv", CORRECTED, Options(split="VAL", videos=N))
    assert not left
    return sorted(found, key=lambda case: case.case_id)


def test_the_same_seed_gives_the_same_bytes_however_many_workers(tmp_path, folder):
    again = write_heart_set(tmp_path / "one", N, seed=3, workers=1).parent
    files = sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert len(files) == 3 * N + 3
    assert all((again / f).read_bytes() == (folder / f).read_bytes() for f in files)


def test_seeds_differ(tmp_path, folder):
    other = write_heart_set(tmp_path / "other", 1, seed=4).parent
    clips = {path.read_bytes() for path in (folder / "clips").iterdir()}
    assert next((other / "clips").iterdir()).read_bytes() not in clips


def test_the_csv_is_read_as_cases(folder, cases):
    assert find_csv(folder) == folder / "cases.csv"
    with (folder / "cases.csv").open(newline="") as file:
        assert next(csv.reader(file)) == [
            *("case_id", "clip", "ed", "es", "frames", "fps", "ef", "ed_volume", "es_volume"),
            *("patient", "view", "sex", "age", "split", "mask", "volumes"),
        ]
    assert [case.case_id for case in cases] == [f"heart_{k:05d}" for k in range(N)]
    assert len({case.patient for case in cases}) == N
    for case in cases:
        assert (case.width, case.height, case.view) == (112, 112, "A4C")
        assert 20 <= case.ef <= 75
        assert case.sex in ("F", "M")
        assert 30 <= case.fps <= 70
    in_order, _ = load_csv(folder / "cases.csv", AUTHORS, Options(split="VAL", videos=3))
    assert [case.case_id for case in in_order] == [case.case_id for case in cases[:3]]


def test_a_clip_decodes_to_the_very_frames_drawn(folder):
    names = [f"heart_{k:05d}" for k in np.random.default_rng([3, 0]).permutation(N)]
    one = drawn(np.random.default_rng([3, 1, 0]))
    with av.open(str(folder / "clips" / f"{names[0]}.mkv")) as film:
        assert film.streams.video[0].average_rate == one.rhythm.fps
        frames = [frame.to_ndarray(format="gray") for frame in film.decode(video=0)]
    assert np.array_equal(frames, one.frames)
    assert np.array_equal(masks_at(folder / "masks" / f"{names[0]}.npz"), one.masks)
    clip = Clip(Source(str(folder), f"clips/{names[0]}.mkv"), (5, 0, len(frames) - 1))
    shown = [pixels(frame) for frame in render_clip(clip).frames]
    assert np.array_equal(shown, one.frames[[5, 0, -1]])


def test_volumes_and_masks_agree_with_each_other_and_with_the_csv(folder, cases):
    for case in cases:
        volumes = read_volumes(folder / case.volumes)
        masks = masks_at(folder / case.mask)
        assert len(volumes) == len(masks) == case.frames
        assert volumes_of(masks) == pytest.approx(volumes, rel=0.05)
        assert volumes[case.ed] == pytest.approx(case.ed_volume)
        assert volumes[case.es] == pytest.approx(case.es_volume)
        ef = 100 * (1 - volumes[case.es] / volumes[case.ed])
        assert ef == pytest.approx(case.ef, abs=1)
        by_mask = volumes_of(masks[[case.ed, case.es]])
        assert 100 * (1 - by_mask[1] / by_mask[0]) == pytest.approx(case.ef, abs=3)


def test_the_phases_are_the_extremes_of_every_window(folder, cases):
    fitted = 0
    for case in cases:
        volumes = read_volumes(folder / case.volumes)
        windows = [authors_window(case.ed, case.es, case.frames)]
        assert windows[0].count == windows[0].stated
        windows += [fixed_window(case, 30, seed) for seed in range(5)]
        others = neighbours(volumes, case.ed, case.es)
        for window in windows:
            if isinstance(window, Window):
                fitted += 1
                part = volumes[window.start : window.start + window.count]
                # Of the annotated beat, or of another that the volumes show as well.
                largest, smallest = ejected(part)
                assert window.start + largest in (case.ed, *others[0])
                assert window.start + smallest in (case.es, *others[1])
    assert fitted > N


def test_every_beat_of_a_clip_is_listed_with_its_extremes(folder, cases):
    with (folder / "phantom_truth.csv").open(newline="") as file:
        truths = list(csv.DictReader(file))
    for case in cases:
        own = [row for row in truths if row["case_id"] == case.case_id]
        volumes = read_volumes(folder / case.volumes)
        assert [(int(r["ed"]), int(r["es"])) for r in own if r["annotated"] == "1"] == [
            (case.ed, case.es)
        ]
        for row in own:
            part = volumes[int(row["ed"]) : int(row["es"]) + 1]
            assert (np.diff(part) < 0).all()


def test_the_set_says_what_it_is(folder):
    found = tomllib.loads((folder / "dataset.toml").read_text())
    assert found == {
        "name": "phantom-heart",
        "policy": "open",
        "licence": "Apache-2.0",
        "seed": 3,
        "n": N,
        "generator": write_heart_set.revision,
    }
