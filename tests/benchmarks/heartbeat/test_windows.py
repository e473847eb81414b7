"""Windows: the authors' to the frame, ours so that length says nothing (HEARTBEAT 2)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.authors.rules import authors_window
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left, Window
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.heartbeat.edition import settings as edition_settings
from overread.benchmarks.heartbeat.trials import fixed_window, window_of

GOLDEN = Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_windows.json"
CASES = json.loads(GOLDEN.read_text("utf-8"))["cases"]


def heart(ed: int, es: int, frames: int, name: str = "a") -> HeartbeatCase:
    return HeartbeatCase(case_id=name, clip=f"{name}.avi", frames=frames, ed=ed, es=es)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['edv']}-{c['esv']}-{c['total_frames']}")
def test_golden_the_authors_window(case: dict) -> None:
    window = authors_window(case["edv"], case["esv"], case["total_frames"])
    theirs = case["authors_code"]
    assert window == Window(
        start=theirs["start_idx"],
        count=theirs["num_frames_decoded"],
        stated=theirs["num_frames_recorded"],
        ed=theirs["gt_edv"],
        es=theirs["gt_esv"],
    )
    assert window.count == theirs["prompt_NUM"]
    assert [0, window.stated - 1] == theirs["prompt_range"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['edv']}-{c['esv']}-{c['total_frames']}")
def test_golden_the_frames_really_there_are_those_of_the_clamped_rule(case: dict) -> None:
    window = authors_window(case["edv"], case["esv"], case["total_frames"])
    clamped = case["ours_clamped"]
    assert (window.start, window.count) == (clamped["start_idx"], clamped["num_frames"])
    assert (window.ed, window.es) == (clamped["gt_edv"], clamped["gt_esv"])
    assert [0, window.count - 1] == clamped["prompt_range"]


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 300))
def test_the_authors_window_holds_both_phases_of_any_clip(ed: int, es: int, beyond: int) -> None:
    total = max(ed, es) + beyond
    window = authors_window(ed, es, total)
    assert (window.frames[window.ed], window.frames[window.es]) == (ed, es)
    assert window.frames[-1] < total
    assert window.stated >= window.count


@st.composite
def _hearts(draw: st.DrawFn) -> tuple[HeartbeatCase, int]:
    n = draw(st.integers(2, 64))
    ed, es = draw(st.integers(0, 120)), draw(st.integers(0, 120))
    frames = max(ed, es) + draw(st.integers(1, 100))
    return heart(ed, es, frames, draw(st.text("abc", min_size=1, max_size=8))), n


@settings(deadline=None)
@given(_hearts(), st.integers(0, 99))
def test_a_fixed_window_has_n_real_frames_and_both_phases(
    given_: tuple[HeartbeatCase, int], seed: int
) -> None:
    case, n = given_
    window = fixed_window(case, n, seed)
    fits = case.length + 1 <= n <= 2.5 * case.length and case.frames >= n
    assert isinstance(window, Window) == fits
    if isinstance(window, Window):
        assert window.count == window.stated == len(window.frames) == n
        assert window.start >= 0
        assert window.frames[-1] < case.frames
        assert (window.frames[window.ed], window.frames[window.es]) == (case.ed, case.es)


@pytest.mark.parametrize(
    ("case", "n", "why"),
    [
        (heart(10, 34, 100), 24, "24 frames apart: a window of 24 cannot hold both"),
        (heart(10, 21, 100), 30, "11 frames apart: a neighbouring beat may enter a window of 30"),
        (heart(2, 19, 20), 24, "it has 20 frames, fewer than a window of 24"),
    ],
)
def test_what_does_not_fit_is_left_with_its_reason(case: HeartbeatCase, n: int, why: str) -> None:
    left = fixed_window(case, n, 0)
    assert isinstance(left, Left)
    assert left.clip == case.case_id
    assert left.reason.endswith(why)
    assert "\n" not in left.reason


def test_the_borders_of_what_fits() -> None:
    assert isinstance(fixed_window(heart(40, 69, 200), 30, 0), Window)
    assert isinstance(fixed_window(heart(40, 52, 200), 30, 0), Window)
    assert isinstance(fixed_window(heart(3, 20, 30), 30, 0), Window)


def test_the_window_of_version_0_1_is_kept_behind_two_settings() -> None:
    for length in range(1, 40):
        case = heart(40, 40 + length, 200)
        old = window_of(case, *edition_settings("corrected", {"frames": "24", "reach": "2"}))
        assert isinstance(old, Window) == (12 <= length <= 23)


@pytest.mark.parametrize(("ed", "es", "frames"), [(40, 56, 200), (3, 19, 200), (190, 174, 200)])
def test_starts_are_uniform_among_the_windows_that_hold_both(ed: int, es: int, frames: int) -> None:
    n, clips = 24, 4000
    possible = [
        start for start in range(frames - n + 1) if {ed, es} <= set(range(start, start + n))
    ]
    found = Counter(
        window.start
        for number in range(clips)
        if isinstance(window := fixed_window(heart(ed, es, frames, f"clip{number}"), n, 7), Window)
    )
    assert sorted(found) == possible
    expected = clips / len(possible)
    chi2 = sum((found[start] - expected) ** 2 / expected for start in possible)
    # Mean len - 1, variance 2 (len - 1): five deviations above the mean.
    assert chi2 < len(possible) - 1 + 5 * (2 * (len(possible) - 1)) ** 0.5


def test_length_says_nothing() -> None:
    """Every l gives the same N, and a local phase may stand anywhere that l allows."""
    n = 24
    by_length: dict[int, list[int]] = {}
    for number in range(6000):
        length = 12 + number % 12
        window = fixed_window(heart(60, 60 + length, 200, f"c{number}"), n, 1)
        assert isinstance(window, Window)
        assert window.count == window.stated == n
        by_length.setdefault(length, []).append(window.ed)
    for length, places in by_length.items():
        assert set(places) == set(range(n - length))
        middle, spread = (n - length - 1) / 2, ((n - length) ** 2 - 1) / 12
        assert abs(sum(places) / len(places) - middle) <= 5 * (spread / len(places)) ** 0.5


def test_in_the_authors_window_length_gives_both_answers_away() -> None:
    windows = [authors_window(100, 100 + length, 400) for length in range(1, 60)]
    assert len({window.stated for window in windows}) == len(windows)


def test_a_window_depends_on_seed_and_case_alone() -> None:
    case = heart(40, 56, 200)
    assert fixed_window(case, 24, 3) == fixed_window(case, 24, 3)
    starts = {fixed_window(case, 24, seed) for seed in range(40)}
    assert len(starts) > 4
    # Pinned: a run made today can be made again.
    pinned = [fixed_window(case, 24, seed) for seed in range(6)]
    assert [window.start for window in pinned if isinstance(window, Window)] == [
        40,
        36,
        39,
        33,
        34,
        38,
    ]


def test_the_edition_chooses_the_window() -> None:
    case = heart(40, 56, 200)
    options = Options(frames=20)
    assert window_of(case, AUTHORS, options) == authors_window(40, 56, 200)
    assert window_of(case, CORRECTED, options) == fixed_window(case, 20, CORRECTED.seed)


def test_the_authors_end_is_cut_where_it_reaches_the_number_of_frames() -> None:
    # l = 12, margin 8, from frame 0 on: local 22 is the last of 23 frames, and beyond 22.
    assert authors_window(2, 14, 23) == Window(start=0, count=23, stated=23, ed=2, es=14)
    assert authors_window(2, 14, 22) == Window(start=0, count=22, stated=22, ed=2, es=14)


def test_the_editions_seed_places_the_window() -> None:
    case = heart(20, 37, 90)
    rules = [msgspec.structs.replace(CORRECTED, seed=seed) for seed in range(9)]
    assert len({window_of(case, each, Options()) for each in rules}) > 1
