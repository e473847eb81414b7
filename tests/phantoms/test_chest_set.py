"""A written chest set: reproducible, whole or absent, and true to its manifest."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
import time
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.benchmarks.grounding.build.manifest import PAPER_COLUMNS
from overread.benchmarks.grounding.cases import EXTRA_COLUMNS, load_cases
from overread.case import BadInput, Box
from overread.imaging import closed, irrelevant_box, overlap, rescale_box
from overread.phantoms.chest import DRAWS, TRUNK, on_the_trunk, plan_set, write_chest_set
from overread.phantoms.chest_film import FINDINGS

N = 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_chest_set(tmp_path_factory.mktemp("chest") / "set", N, seed=3).parent


@pytest.fixture(scope="module")
def rows(folder):
    return _table(folder / "manifest.csv")


@pytest.fixture(scope="module")
def truths(folder):
    return {row["case_id"]: row for row in _table(folder / "phantom_truth.csv")}


def _table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _box(row, prefix="box"):
    return Box(*(int(row[f"{prefix}_{side}"]) for side in "xywh"))


def _at_224(path):
    return np.asarray(Image.open(path).resize((224, 224), Image.Resampling.BILINEAR))


def test_the_same_seed_gives_the_same_bytes_however_many_workers(tmp_path):
    one = write_chest_set(tmp_path / "one", 16, seed=5, workers=1).parent
    two = write_chest_set(tmp_path / "two", 16, seed=5, workers=2).parent
    files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(two) for p in two.rglob("*") if p.is_file())
    assert all((one / f).read_bytes() == (two / f).read_bytes() for f in files)


def test_the_manifest_has_the_columns_and_proportions_of_the_protocol(folder, rows):
    header = (folder / "manifest.csv").read_text().splitlines()[0].split(",")
    assert header == [*PAPER_COLUMNS, *EXTRA_COLUMNS]
    assert tuple(header[26:]) == EXTRA_COLUMNS
    assert len(rows) == N
    for finding in FINDINGS:
        labels = [row["label"] for row in rows if row["finding"] == finding]
        assert (labels.count("1"), labels.count("0")) == (4, 2)
    assert {row["source"] for row in rows} == {"phantom"}
    assert {row["view"] for row in rows} == {"PA", "AP"}
    assert {row["gender"] for row in rows} == {"F", "M"}
    assert all(18 < int(row["age"]) < 100 for row in rows)
    assert len({row["subject_id"] for row in rows}) == N
    for row in rows:
        assert bool(row["box_x"]) == bool(row["label_text"]) == (row["label"] == "1")
        assert row["error_present"] == row["report_path"] == ""


def test_names_say_nothing(rows):
    ids = [row["case_id"] for row in rows]
    assert ids == [f"phantom_{k:05d}" for k in range(N)]
    assert all(re.fullmatch(r"images/film_\d{5}\.jpg", row["image_path"]) for row in rows)
    labels = [row["label"] for row in sorted(rows, key=lambda row: row["image_path"])]
    assert labels != sorted(labels)


def test_films_are_grey_squares(folder, rows):
    for row in rows[:4]:
        with Image.open(folder / row["image_path"]) as image:
            assert (image.mode, image.size, image.format) == ("L", (1024, 1024), "JPEG")


def test_boxes_at_224_follow_from_the_boxes_in_source_pixels(rows, truths):
    for row in rows:
        truth = truths[row["case_id"]]
        assert truth["view"] == row["view"]
        if row["label"] == "0":
            assert not truth["box_x"]
            continue
        source, box = _box(truth), _box(row)
        assert box == rescale_box(source.x, source.y, source.w, source.h, 1024, 1024)
        assert min(box.w, box.h) >= 50
        assert box.x >= 0
        assert box.x + box.w <= 224
        assert box.y + box.h <= 224
        assert _box(row, "irrelevant_box") == irrelevant_box(box)


def test_the_marker_agrees_with_the_label_seven_times_in_eight(rows, truths):
    marked = [(row["label"], truths[row["case_id"]]["marker"]) for row in rows]
    assert marked.count(("1", "1")) == 28
    assert marked.count(("1", "0")) == 4
    assert marked.count(("0", "1")) == 2
    assert marked.count(("0", "0")) == 14


def test_the_marker_is_seen_and_lies_under_neither_mask(folder, rows, truths):
    for row in rows:
        white = _at_224(folder / row["image_path"]) > 238
        assert bool(white.any()) == (truths[row["case_id"]]["marker"] == "1")
        if row["label"] == "1":
            for box in (_box(row), _box(row, "irrelevant_box")):
                assert not white[box.y : box.y + box.h, box.x : box.x + box.w].any()


def test_the_two_views_are_two_exposures_with_a_gap_that_masks_do_not_bridge(folder, rows):
    upright, bedside = [], []
    for row in rows:
        film = _at_224(folder / row["image_path"])
        (bedside if row["view"] == "AP" else upright).append(np.median(film))
        if row["label"] == "1" and row["view"] == "AP":
            for box in (_box(row), _box(row, "irrelevant_box")):
                masked = film.copy()
                masked[box.y : box.y + box.h, box.x : box.x + box.w] = 0
                bedside.append(np.median(masked))
    assert max(upright) + 8 < min(bedside)


def test_a_swap_shows_another_patient_with_the_same_finding_and_label(rows):
    shown = {row["image_path"]: (row["finding"], row["label"]) for row in rows}
    for row in rows:
        assert row["swap_image_path"] != row["image_path"]
        assert shown[row["swap_image_path"]] == (row["finding"], row["label"])


def test_an_opposite_film_shows_the_same_finding_with_the_other_label(rows):
    shown = {row["image_path"]: (row["finding"], row["label"]) for row in rows}
    for row in rows:
        other = "0" if row["label"] == "1" else "1"
        assert shown[row["opposite_image_path"]] == (row["finding"], other)


def test_the_labels_are_plain_and_every_swap_is_matched(rows):
    assert all(row["label_value"] == row["label"] for row in rows)
    assert {row["swap_match"] for row in rows} == {"label"}


def test_matched_boxes_have_the_targets_size_and_keep_clear_of_it(folder):
    room = 0
    for case in load_cases(folder):
        assert (case.box is not None) or not case.matched_boxes
        for box in case.matched_boxes:
            assert (box.w, box.h) == (case.box.w, case.box.h)
            # Not even a mask that is a row and a column larger touches the other.
            assert overlap(closed(box), closed(case.box)) == 0
        if len(case.matched_boxes) == DRAWS:
            assert len(set(case.matched_boxes)) == DRAWS
            room += 1
    assert room >= N // 2  # 32 have a box; an enlarged heart leaves no room


def test_matched_boxes_lie_on_the_body_and_hide_no_marker(folder):
    for case in load_cases(folder):
        film = _at_224(folder / case.image_path)
        beside = np.median(film[:16, :16])  # air beside the neck, unless the marker is there
        for box in case.matched_boxes:
            hidden = film[box.y : box.y + box.h, box.x : box.x + box.w]
            assert hidden.max() < 238
            assert hidden.min() > min(beside, 30)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(
        Box, st.integers(0, 170), st.integers(0, 170), st.integers(1, 224), st.integers(1, 224)
    ),
    st.integers(0, 99),
)
def test_matched_boxes_lie_on_the_trunk_and_off_the_target(target, seed):
    drawn = on_the_trunk(np.random.default_rng(seed), target)
    assert len(set(drawn)) == len(drawn) <= DRAWS
    for box in drawn:
        assert (box.w, box.h) == (target.w, target.h)
        assert not overlap(box, target)
        assert overlap(box, TRUNK) >= 0.95 * box.w * box.h
    assert drawn == on_the_trunk(np.random.default_rng(seed), target)


def test_the_set_says_what_it_is(folder):
    facts = tomllib.loads((folder / "dataset.toml").read_text())
    assert facts["name"] == "phantom-chest"
    assert facts["policy"] == "open"
    assert (facts["n"], facts["seed"], facts["generator"]) == (N, 3, write_chest_set.revision)
    assert facts["licence"]


# ---------------------------------------------------------------- the plan


def test_the_standard_set():
    films = plan_set(480, 0).films
    assert len(films) == 480
    sick = [film for film in films if film.present]
    well = [film for film in films if not film.present]
    assert (len(sick), len(well)) == (320, 160)
    assert sum(film.marker for film in sick) == 280
    assert sum(film.marker for film in well) == 20
    assert sum(film.view == "AP" for film in sick) == 208
    assert sum(film.view == "AP" for film in well) == 56


@pytest.mark.parametrize("n", [16, 17, 23, 24, 31, 40, 100])
@pytest.mark.parametrize("seed", [0, 11])
def test_any_size_has_every_finding_and_honest_swaps(n, seed):
    plan = plan_set(n, seed)
    assert len(plan.cases) == n
    assert {case.film.finding for case in plan.cases if case.film.present} == set(FINDINGS)
    assert len({film.name for film in plan.films}) == len(plan.films)
    own = {(film.finding, film.present) for film in plan.films}
    for case in plan.cases:
        film, swap, opposite = case.film, case.swap, case.opposite
        assert swap.name != film.name
        assert swap.present == film.present
        assert swap.finding == film.finding or not film.present
        assert opposite.present != film.present
        if (film.finding, not film.present) in own:
            assert opposite.finding == film.finding


def test_seeds_differ():
    assert plan_set(48, 0) != plan_set(48, 1)
    assert plan_set(48, 0) == plan_set(48, 0)


# ---------------------------------------------------------------- whole or not at all


def test_another_folder_is_never_overwritten(folder, tmp_path):
    with pytest.raises(BadInput, match="something other"):
        write_chest_set(folder, N, seed=4)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="something other"):
        write_chest_set(tmp_path, N)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_killed_writer_leaves_no_set_and_what_it_leaves_goes_with_the_next(tmp_path):
    script = (
        "from pathlib import Path; from overread.phantoms.chest import write_chest_set; "
        f"write_chest_set(Path({str(tmp_path)!r}) / 'set', 200, workers=1)"
    )
    writer = subprocess.Popen([sys.executable, "-c", script])
    give_up = time.monotonic() + 60
    while not list(tmp_path.glob(".unfinished.*/set/images/*.jpg")) and time.monotonic() < give_up:
        time.sleep(0.02)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert list(tmp_path.glob(".unfinished.*"))
    assert not (tmp_path / "set").exists()
    (tmp_path / ".set.4711-0a1b2c3d.part").mkdir()  # as earlier versions left it
    write_chest_set(tmp_path / "set", 16)
    assert [p.name for p in tmp_path.iterdir()] == ["set"]
