"""Windows, the order of two frames, and all that a reader is asked of a clip."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.authors.rules import authors_window, t2_orders
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import (
    AUTHORS,
    BOOK,
    CONTEXTS,
    CORRECTED,
    FORMATS,
    Options,
)
from overread.benchmarks.heartbeat.trials import (
    FAMILIES,
    Numbers,
    ed_position,
    fixed_window,
    question,
    trials,
    window_of,
)
from overread.case import Clip, ClipMask, Source, Traits

# --------------- Windows: the authors' to the frame, ours so that length says nothing (HEARTBEAT 2)

WINDOWS = Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_windows.json"
CASES = json.loads(WINDOWS.read_text("utf-8"))["cases"]


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
    assert left.case == case.case_id
    assert left.reason.endswith(why)
    assert "\n" not in left.reason


def test_the_borders_of_what_fits() -> None:
    assert isinstance(fixed_window(heart(40, 69, 200), 30, 0), Window)
    assert isinstance(fixed_window(heart(40, 52, 200), 30, 0), Window)
    assert isinstance(fixed_window(heart(3, 20, 30), 30, 0), Window)


def test_the_window_of_version_0_1_is_kept_behind_two_settings() -> None:
    for length in range(1, 40):
        case = heart(40, 40 + length, 200)
        old = window_of(case, *BOOK.settings("corrected", {"frames": "24", "reach": "2"}))
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


# ---------------------------------------------------------------- The order of the two frames

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_t2_order.json").read_text("utf-8")
)
ORDERS = {int(seed): digits for seed, digits in GOLDEN["edv_position_by_seed"].items()}


def test_the_order_is_the_authors():
    for seed, digits in ORDERS.items():
        assert t2_orders(len(digits), seed) == [int(digit) for digit in digits]


def test_a_constant_answer_is_right_as_often_as_published():
    rates = [1 - statistics.fmean(t2_orders(len(digits), seed)) for seed, digits in ORDERS.items()]
    published = GOLDEN["always_answer_0"]
    assert round(statistics.fmean(rates), 9) == published["edv_accuracy_mean"]
    assert abs(statistics.stdev(rates) - published["sd_ddof1"]) < 1e-12


def test_the_papers_row_of_constant_answers():
    # Gemma-3n, T2: 0.514 +/- 0.061 over 100 videos and seeds 2020-2029 (HEARTBEAT 4).
    rates = [1 - statistics.fmean(t2_orders(100, seed)) for seed in range(2020, 2030)]
    assert (round(statistics.fmean(rates), 3), round(statistics.stdev(rates), 3)) == (0.514, 0.061)


@settings(deadline=None)
@given(st.integers(0, 2000), st.integers(0, 2**64))
def test_the_place_alone_tells_the_position_however_long_the_set(place, seed):
    assert ed_position(place, seed) == t2_orders(place + 1, seed)[place]


def test_the_shared_generator_is_left_alone():
    random.seed(7)
    before = random.getstate()
    t2_orders(50, 2020)
    ed_position(3, 99)
    assert random.getstate() == before
    assert t2_orders(0, 1) == []


# ---------------------------------------------------- Trials: what a reader is asked about one clip

CASE = HeartbeatCase(case_id="c", clip="Videos/c.avi", frames=90, ed=40, es=57, mask="masks/c.npz")
WINDOW = Window(start=36, count=24, stated=24, ed=4, es=21)
PLAIN = Traits()


def ask(case=CASE, window=WINDOW, place=0, traits=PLAIN, rules=CORRECTED, **options):
    return list(trials(case, window, place, traits, rules, Options(**options), "/data"))


def clip(trial) -> Clip:
    (found,) = [p for m in trial.request.messages for p in m.parts if isinstance(p, Clip)]
    return found


def text(trial) -> str:
    (found,) = [p for p in trial.request.messages[-1].parts if isinstance(p, str)]
    return found


def test_every_context_format_seed_and_pass_is_asked_once():
    options = Options()
    turns = [(s, p) for s in options.seeds for p in range(options.passes)]
    expected = [("t1", c, f, s, p) for c, f, (s, p) in product(CONTEXTS, FORMATS, turns)]
    expected += [("t2", c, f, s, p) for c, f, (s, p) in product(CONTEXTS, ("edv", "esv"), turns)]
    asked = ask()
    assert [tuple(t.condition.values()) for t in asked] == expected
    assert list(asked[0].condition) == ["task", "context", "format", "seed", "pass"]
    assert {t.case for t in asked} == {"c"}


def test_a_window_is_shown_whole_with_its_question():
    for rules, family in product((AUTHORS, CORRECTED), FAMILIES):
        for trial in ask(rules=rules, family=family, tasks=("t1",), seeds=(1,), passes=1):
            context, output = trial.condition["context"], trial.condition["format"]
            asked = question("t1", context, output, Numbers(24, 0, 23), family, rules.wording)
            system, user = trial.request.messages
            assert (system.role, system.parts) == ("system", (asked.system,))
            assert user.role == "user"
            shown = clip(trial)
            assert shown.source == Source("/data", "Videos/c.avi")
            assert shown.frames == tuple(range(36, 60))
            expected = (shown, asked.text) if asked.visual == "before" else (asked.text, shown)
            assert user.parts == expected


def test_an_overrunning_window_names_its_frames_and_its_range_as_the_authors_do():
    window = Window(start=70, count=20, stated=26, ed=5, es=15)
    (trial,) = ask(
        window=window,
        rules=AUTHORS,
        tasks=("t1",),
        contexts=("original",),
        formats=("edv",),
        seeds=(1,),
        passes=1,
    )
    assert "exactly 20 frames" in text(trial)
    assert "[0, 25]" in text(trial)
    assert clip(trial).frames == tuple(range(70, 90))


def test_masks_are_drawn_in_red_where_the_context_needs_them():
    for trial in ask(seeds=(1,), passes=1):
        expected = ClipMask(Source("/data", "masks/c.npz"), (255, 0, 0))
        assert clip(trial).mask == (None if trial.condition["context"] == "original" else expected)


def test_a_clip_without_masks_is_asked_in_the_original_context_only():
    bare = msgspec.structs.replace(CASE, mask=None)
    assert Counter(t.condition["context"] for t in ask(bare)) == {"original": 180}
    assert ask(bare, contexts=("segmented", "non_medical")) == []


@pytest.mark.parametrize("place", [0, 1, 57, 300])
def test_two_frames_stand_in_the_order_of_their_seed_and_place(place):
    asked = ask(place=place, tasks=("t2",))
    for trial in asked:
        position = t2_orders(place + 1, trial.condition["seed"])[place]
        frames = clip(trial).frames
        assert sorted(frames) == [40, 57]
        assert frames[position] == CASE.ed
    # Both orders come up, and the question never tells which.
    assert len({clip(t).frames for t in asked}) == 2
    assert len({text(t) for t in asked}) == len(CONTEXTS) * 2


@pytest.mark.parametrize(
    ("formats", "single"),
    [(FORMATS, ["edv", "esv"]), (("edv_esv", "esv"), ["esv"]), (("edv_esv",), ["edv", "esv"])],
)
def test_two_frames_are_asked_in_the_single_formats(formats, single):
    asked = ask(tasks=("t2",), formats=formats, contexts=("original",), seeds=(1,), passes=1)
    assert [t.condition["format"] for t in asked] == single


def test_sampling_is_the_servers_own_and_each_pass_has_its_seed():
    asked = ask(tasks=("t1",), contexts=("original",), formats=("edv",))
    decodings = [t.request.decoding for t in asked]
    assert {(d.max_tokens, d.temperature) for d in decodings} == {(30, None)}
    assert len({d.seed for d in decodings}) == len(asked) == 30
    assert len({t.repeat for t in asked}) == len(asked)
    assert [t.request.decoding.seed for t in asked if t.condition["pass"] == 0] == list(
        Options().seeds
    )
    (thought,) = {t.request.decoding.max_tokens for t in ask(traits=Traits(reasoning=True))}
    assert thought > 1000


def test_more_seeds_and_passes_leave_the_others_as_they_were():
    def turns(**options):
        return {
            (t.condition["seed"], t.condition["pass"]): (t.repeat, t.request)
            for t in ask(tasks=("t1",), contexts=("original",), formats=("edv",), **options)
        }

    few, many = turns(seeds=(2021, 2025), passes=2), turns(seeds=(7, *range(2020, 2030)), passes=5)
    assert few.items() <= many.items()


def test_greedy_decoding_asks_each_question_once():
    asked = ask(traits=Traits(temperature=0.0))
    questions = {(t.request, t.repeat) for t in asked}
    assert len(asked) == 540
    # T1 once per context and format; T2 once per context, format and order.
    assert len(questions) == len(CONTEXTS) * len(FORMATS) + len(CONTEXTS) * 2 * 2


def test_frames_clips_and_messages_are_the_same_objects_throughout():
    asked = ask()
    t1 = [t for t in asked if t.condition["task"] == "t1"]
    assert len({id(clip(t)) for t in t1}) == len(CONTEXTS)
    assert len({id(clip(t).frames) for t in t1}) == 1
    assert len({id(t.request.messages) for t in t1}) == len(CONTEXTS) * len(FORMATS)
    assert len({id(t.request.decoding) for t in asked}) == 30
    t2 = [t for t in asked if t.condition["task"] == "t2"]
    assert len({id(clip(t)) for t in t2}) == len(CONTEXTS) * 2


def test_a_whole_run_is_planned_in_no_time():
    # 100 videos x 3 contexts x 4 formats x 10 seeds x 3 passes.
    window = Window(start=10, count=40, stated=40, ed=10, es=27)
    cases = [msgspec.structs.replace(CASE, case_id=f"c{n}") for n in range(100)]
    options = Options(tasks=("t1",))
    began = time.perf_counter()
    total = sum(
        1
        for place, case in enumerate(cases)
        for _ in trials(case, window, place, PLAIN, AUTHORS, options, "/data")
    )
    assert total == 36_000
    assert time.perf_counter() - began < 5
