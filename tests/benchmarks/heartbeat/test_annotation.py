"""Which traced frame is ED: by its own volume, or as the authors' join has it (HEARTBEAT 1)."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.authors.rules import labelled, positional
from overread.benchmarks.heartbeat.cases import Phases, Traced, by_stem, keyed, read_tracings
from overread.case import BadInput
from support.datasets import write_csv
from support.echo_trees import TRACINGS, chords

GOLDEN = Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_annotation.json"
CASES = json.loads(GOLDEN.read_text("utf-8"))["cases"]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> dict:
    return CASES[request.param]


@pytest.fixture
def traced(case: dict, tmp_path: Path) -> list[Traced]:
    return read_tracings(write_csv(tmp_path / "VolumeTracings.csv", TRACINGS, case["tracings"]))


def test_golden_the_positional_join_row_by_row(case: dict, traced: list[Traced]) -> None:
    rows = [(row.file, row.frame, row.volume, label) for row, label in labelled(traced)]
    theirs = [(r["FileName"], r["Frame"], r["Volumn"], r["Label"]) for r in case["labelled"]]
    assert [(file, frame, label) for file, frame, _, label in rows] == [
        (file, frame, label) for file, frame, _, label in theirs
    ]
    assert [row[2] for row in rows] == pytest.approx([row[2] for row in theirs], rel=1e-14)


def test_golden_every_frame_has_its_own_volume(case: dict, traced: list[Traced]) -> None:
    true = {(r["FileName"], r["Frame"]): r["true_volume"] for r in case["labelled"]}
    assert {(t.file, t.frame): t.volume for t in traced} == pytest.approx(true, rel=1e-14)
    wrong = sum(
        not math.isclose(row.volume, true[row.file, row.frame], rel_tol=1e-12)
        for row, _ in labelled(traced)
    )
    assert wrong == case["rows_with_wrong_volume"]


def test_golden_the_code_takes_the_first_row_of_each_label(
    case: dict, traced: list[Traced]
) -> None:
    found = positional(traced)
    assert list(found) == list(dict.fromkeys(row["FileName"] for row in case["labelled"]))
    for file, phases in found.items():
        firsts = {
            label: next(
                (r for r in case["labelled"] if (r["FileName"], r["Label"]) == (file, label)), None
            )
            for label in ("EDV", "ESV")
        }
        if firsts["ESV"] is None:
            assert isinstance(phases, Left)
        else:
            assert isinstance(phases, Phases)
            assert (phases.ed, phases.es) == (firsts["EDV"]["Frame"], firsts["ESV"]["Frame"])


def test_golden_keyed_labels_follow_the_true_volumes(case: dict, traced: list[Traced]) -> None:
    true: dict[str, list[tuple[float, int]]] = {}
    for row in case["labelled"]:
        true.setdefault(row["FileName"], []).append((row["true_volume"], row["Frame"]))
    for file, phases in keyed(traced).items():
        ordered = sorted(true[file])
        if len(ordered) == 2 and ordered[0][0] != ordered[1][0]:
            assert isinstance(phases, Phases)
            assert (phases.es, phases.ed) == (ordered[0][1], ordered[1][1])
        else:
            assert isinstance(phases, Left)


# ---------------------------------------------------------------- properties


_FRAMES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.floats(2, 14)),
    min_size=1,
    max_size=8,
    unique_by=lambda each: each[:2],
)


@pytest.mark.slow
@settings(deadline=None)
@given(_FRAMES, st.randoms(use_true_random=False))
def test_keyed_phases_do_not_depend_on_the_order_of_frames(
    tmp_path_factory: pytest.TempPathFactory,
    frames: list[tuple[str, int, float]],
    chance: object,
) -> None:
    folder = tmp_path_factory.mktemp("order")
    shuffled = list(frames)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    found = [
        keyed(read_tracings(_write(folder / f"{number}.csv", order)))
        for number, order in enumerate((frames, shuffled))
    ]
    assert found[0] == found[1]


@settings(deadline=None)
@given(_FRAMES)
def test_volumes_are_those_of_a_slow_reading(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[str, int, float]]
) -> None:
    path = _write(tmp_path_factory.mktemp("slow") / "VolumeTracings.csv", frames)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    slow: dict[tuple[str, int], float] = {}
    for key in {(row["FileName"], int(row["Frame"])) for row in rows}:
        lengths = [
            math.dist((float(r["X1"]), float(r["Y1"])), (float(r["X2"]), float(r["Y2"])))
            for r in rows
            if (r["FileName"], int(r["Frame"])) == key
        ]
        height = lengths[0] / (len(lengths) - 1)
        slow[key] = sum(math.pi * (chord / 2) ** 2 * height for chord in lengths[1:])
    found = read_tracings(path)
    assert {(t.file, t.frame): t.volume for t in found} == pytest.approx(slow)
    assert [(t.file, t.frame) for t in found] == sorted(slow)


def test_a_traced_disc_has_the_volume_of_a_ball(tmp_path: Path) -> None:
    (found,) = read_tracings(_write(tmp_path / "VolumeTracings.csv", [("a", 3, 10.0)]))
    assert found.volume == pytest.approx(4 / 3 * math.pi * 10**3, rel=0.01)


def _write(path: Path, frames: list[tuple[str, int, float]]) -> Path:
    rows = ((file, *line, frame) for file, frame, radius in frames for line in chords(radius))
    return write_csv(path, TRACINGS, rows)


# ---------------------------------------------------------------- what cannot be labelled


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ([(5, 9.0)], "1 frame is traced (5); two are needed"),
        ([(5, 9.0), (9, 7.0), (7, 8.0)], "3 frames are traced (5, 7, 9); two are needed"),
        ([(5, 9.0), (9, 9.0)], "its traced frames 5 and 9 have equal volumes"),
    ],
)
def test_a_clip_that_cannot_be_labelled_is_left_and_the_others_go_on(
    tmp_path: Path, frames: list[tuple[int, float]], why: str
) -> None:
    rows = [("bad.avi", frame, radius) for frame, radius in frames]
    good = [("good.avi", 1, 6.0), ("good.avi", 17, 11.0)]
    found = keyed(read_tracings(_write(tmp_path / "VolumeTracings.csv", rows + good)))
    left, phases = found["bad.avi"], found["good.avi"]
    assert isinstance(left, Left)
    assert left.case == "bad"
    assert left.reason.startswith(why)
    assert isinstance(phases, Phases)
    assert (phases.ed, phases.es) == (17, 1)


def test_volumes_that_differ_a_little_still_tell_the_phases_apart(tmp_path: Path) -> None:
    rows = [("a.avi", 5, 9.0), ("a.avi", 9, 9.001)]
    found = keyed(read_tracings(_write(tmp_path / "VolumeTracings.csv", rows)))["a.avi"]
    assert isinstance(found, Phases)
    assert (found.ed, found.es) == (9, 5)


def test_in_the_authors_join_a_tie_has_no_esv(tmp_path: Path) -> None:
    rows = [("a.avi", 5, 9.0), ("a.avi", 9, 9.0)]
    found = positional(read_tracings(_write(tmp_path / "VolumeTracings.csv", rows)))
    assert found == {
        "a.avi": Left("a", "its annotation has no ESV row: one frame, or equal volumes")
    }


def test_in_the_authors_join_three_frames_give_the_first_esv(tmp_path: Path) -> None:
    rows = [("a.avi", 5, 7.0), ("a.avi", 7, 9.0), ("a.avi", 9, 8.0)]
    found = positional(read_tracings(_write(tmp_path / "VolumeTracings.csv", rows)))["a.avi"]
    assert isinstance(found, Phases)
    assert (found.ed, found.es) == (7, 5)


@pytest.mark.parametrize(
    ("cell", "value", "said"),
    [
        (1, "wide", 'row 3: X1 is "wide"; it is a number'),
        (5, "4.5", 'row 3: Frame is "4.5"; a frame is a whole number from 0'),
        (5, "", 'row 3: Frame is ""; every row needs one'),
        (5, "1e300", 'row 3: Frame is "1e300"; a frame is a whole number from 0'),
        (5, "1e16", 'row 3: Frame is "1e16"; a frame is a whole number from 0'),
    ],
)
def test_a_bad_cell_is_named_by_its_row(tmp_path: Path, cell: int, value: str, said: str) -> None:
    rows: list[list[object]] = [["a.avi", *line, 4] for line in chords(9)]
    rows[1][cell] = value
    path = write_csv(tmp_path / "VolumeTracings.csv", TRACINGS, rows)
    with pytest.raises(BadInput) as caught:
        read_tracings(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["nan", "", "-inf"])
def test_a_tracing_that_lacks_a_number_spoils_its_own_clip(tmp_path: Path, value: str) -> None:
    rows: list[list[object]] = [
        [file, *line, frame]
        for file in ("a.avi", "b.avi")
        for frame, radius in ((4, 9), (20, 7))
        for line in chords(radius)
    ]
    rows[3][2] = value
    traced = read_tracings(write_csv(tmp_path / "VolumeTracings.csv", TRACINGS, rows))
    for found in (keyed(traced), positional(traced)):
        assert found["a.avi"] == Left("a", "the tracing of its frame 4 lacks a number")
        assert isinstance(found["b.avi"], Phases)


def test_a_clip_traced_under_two_names_has_no_tracing_of_its_own() -> None:
    traced = [Traced(file, n, 9.0 - n, n) for file in ("a", "a.avi", "b") for n in (1, 2)]
    found = by_stem(keyed(traced))
    assert found["a"] == Left("a", "it is traced under two names, a and a.avi")
    assert isinstance(found["b"], Phases)
