"""Errors in finding the frame, the constant they must beat, and correlations."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.heartbeat.frame_measures import FRAME_SPECS, skill_of
from overread.benchmarks.heartbeat.marks import Average, mean_over, pearson
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.study import HeartRun
from overread.benchmarks.heartbeat.trials import window_of
from overread.case import Measure
from overread.phantoms.heart_body import rhythm
from overread.stats import wilson
from support.heart_answers import found, rows, tables_of

# --------------------------------- Measures of finding the frame, beside what is worked out by hand

QUICK = msgspec.structs.replace(CORRECTED, boot=200)
BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}


def measured(said, truth, name, edition=QUICK, patients=None, count=12):
    tables = tables_of(rows(said, truth, count=count), patients)
    return found(measure(tables, edition), name, reader="r", **BY)


def test_every_pass_is_moved_into_the_window_before_their_mean():
    got = measured([[[5, 10**7]], [[3, -4]]], [[6], [2]], "mae_clipped")
    assert got.value == pytest.approx((abs(6 - 8) + abs(2 - 1.5)) / 2)


def test_the_constant_is_the_median_of_the_others_truths_on_the_videos_judged():
    truth = [1, 2, 4, 11, 3]
    said = [[[1]], [[2]], [[4]], [[None]], [[3]]]
    got = measured(said, [[t] for t in truth], "constant_mae")
    off = [abs(t - np.median([*truth[:k], *truth[k + 1 :]])) for k, t in enumerate(truth)]
    assert (got.n, got.value) == (4, pytest.approx(np.mean(off[:3] + off[4:])))
    nobody = measured([[[None]]] * 5, [[t] for t in truth], "constant_mae")
    assert (nobody.n, nobody.value) == (5, pytest.approx(np.mean(off)))


def test_a_video_without_an_index_in_any_pass_of_a_seed_is_left_out():
    said = [[[1, None]], [[None, "unanswered"]], [["refused", "unanswered"]], [["unanswered"] * 2]]
    got = measured(said, [[1], [2], [3], [4]], "mae")
    assert got.left_out == {"unparsed": 1, "refused": 1, "unanswered": 1}
    assert got.note.startswith("left out: 1 unparsed, 1 refused, 1 unanswered")


def test_what_only_the_lenient_reading_finds_is_measured_apart():
    some = rows([[[1, None]], [[2, 2]]], [[4], [2]], count=12)
    some[1] |= {"lenient_ed": 9}
    got = found(measure(tables_of(some), QUICK), "mae_lenient", **BY)
    assert got.value == pytest.approx((abs(4 - (1 + 9) / 2) + 0) / 2)


def test_the_interval_of_a_perfect_readers_skill_is_in_units_of_the_constant():
    truth = [1, 5, 2, 11, 8, 3]
    got = measured([[[t]] for t in truth], [[t] for t in truth], "skill")
    constant = measured([[[t]] for t in truth], [[t] for t in truth], "constant_mae").value
    assert got.low == pytest.approx(1 - wilson(0, 6).high / constant)
    assert got.high == 1


def test_skill_is_resampled_with_its_constant():
    error = Average(np.array([[1.0, 3.0], [2.0, 2.0], [6.0, np.nan]]), "videos")
    constant = Average(np.array([[4.0, 4.0], [1.0, 3.0], [5.0, 5.0]]), "videos")
    truth = np.array([[3.0, 3.0], [9.0, 9.0], [8.0, 8.0]])
    made = skill_of(Measure(reader="r", measure="skill"), error, constant, truth[:, :, None], 0.0)
    totals = np.array([[2.0, 0, 1], [0, 1, 0], [1, 1, 1]]) @ made.columns
    got = made.again(totals)[:2]
    assert got == pytest.approx([1 - (2 + 2 + 6) / (4 + 4 + 5), 1 - 2 / 2])
    # Against each resample's own median: of 3, 3, 8 it is 3; of 3, 9, 8 it is 8.
    with np.errstate(divide="ignore"):
        strict = made.strictly(totals)
    assert strict[[0, 2]] == pytest.approx([1 - 10 / 5, 1 - 10 / (5 + 1)])
    by_seed = [1 - (1 + 2 + 6) / (4 + 1 + 5), 1 - (3 + 2) / (4 + 3)]
    assert made.record.sd_seeds == pytest.approx(np.std(by_seed, ddof=1))


def test_clips_of_one_patient_are_fewer_videos_for_the_median():
    off = [0, 0, 0, 5, 5, 5, 1, 1, 1, 9, 9, 9, 2, 2, 2, 7, 7, 7]
    said, truth = [[[20 + x]] for x in off], [[20]] * 18
    alone, together = (
        measured(said, truth, "mae_median", patients=patients, count=50)
        for patients in (None, [f"p{k // 3}" for k in range(18)])
    )
    assert alone.value == together.value
    assert together.low <= alone.low
    assert together.high >= alone.high
    assert together.high - together.low > alone.high - alone.low


def test_in_the_authors_edition_a_seed_of_one_video_has_no_error():
    said = [[[4], [5]], [[None], [9]], [[None], [2]]]
    got = measured(said, [[1, 1], [2, 2], [3, 3]], "mae", AUTHORS)
    assert got.value == pytest.approx((4 + 7 + 1) / 3)
    ours = measured(said, [[1, 1], [2, 2], [3, 3]], "mae")
    assert ours.value == pytest.approx(((3 + 4) / 2 + 7 + 1) / 3)


def test_the_mean_of_the_videos_stands_beside_the_authors_mean_of_the_seeds():
    said = [[[4], [5]], [[3], [None]], [[3], [2]]]
    truth = [[1, 1], [2, 2], [3, 3]]
    assert measured(said, truth, "mae", AUTHORS).value == pytest.approx(
        ((3 + 1 + 0) / 3 + (4 + 1) / 2) / 2
    )
    assert measured(said, truth, "mae_videos", AUTHORS).value == pytest.approx(
        ((3 + 4) / 2 + 1 + (0 + 1) / 2) / 3
    )


# ---------------------------------------------------------------- the nearest beat


def beside(said, truth, others, name, edition=QUICK):
    """A measure of clips that begin at frame 100 and show other phases at `others`."""
    facts = {
        "ed": [100 + t for (t,) in truth],
        "es": [0] * len(truth),
        "other_ed": [[100 + o for o in own] for own in others],
        "other_es": [[]] * len(truth),
    }
    tables = tables_of(rows(said, truth, wanted="edv", count=30), **facts)
    return found(measure(tables, edition), name, reader="r", **BY)


def test_an_answer_is_held_against_the_nearest_beat_that_is_known():
    said = [[[28]], [[6]], [[19]], [[3]]]
    truth = [[1], [6], [4], [9]]
    others = [[27], [], [29], []]
    # 28 is 1 from 27; 19 is 10 from 29 and 15 from 4.
    assert beside(said, truth, others, "mae").value == pytest.approx((1 + 0 + 10 + 6) / 4)
    annotated = msgspec.structs.replace(QUICK, beat="annotated")
    held = beside(said, truth, others, "mae", annotated).value
    assert held == pytest.approx((27 + 0 + 15 + 6) / 4)
    assert beside(said, truth, others, "mae", AUTHORS).value == pytest.approx(held)


def test_each_pass_is_held_against_its_own_nearest_beat():
    """Two passes that each name an end-diastole are both right; their mean would be neither."""
    got = beside([[[2, 28]], [[5, 5]]], [[2], [5]], [[28], []], "mae")
    assert got.value == 0


def test_between_two_beats_the_annotated_one_counts():
    got = beside([[[10]], [[5]]], [[4], [5]], [[16], []], "mae")
    assert got.value == pytest.approx(6 / 2)


def test_the_constant_is_held_against_the_nearest_beat_too():
    """So no constant can gain by it, whatever the other beats are."""
    rng = np.random.default_rng(4)
    truth = [[int(t)] for t in rng.integers(0, 18, 40)]
    others = [[t + 12] if t + 12 < 30 else [] for (t,) in truth]
    for constant in range(0, 30, 3):
        skill = beside([[[constant]]] * 40, truth, others, "skill")
        assert skill.low <= 1e-12
    errors = beside([[[0]]] * 40, truth, others, "constant_mae").value
    medians = [np.median([t for k, (t,) in enumerate(truth) if k != own]) for own in range(40)]
    expected = [
        min(abs(m - g) for g in (t, *o)) for m, (t,), o in zip(medians, truth, others, strict=True)
    ]
    assert errors == pytest.approx(np.mean(expected))


# ---------------------------------------------------------------- what skill cannot tell


def test_skill_cannot_tell_where_the_constant_beats_observers():
    near, far = [[4], [5], [6], [5], [4], [6]], [[1], [5], [12], [3], [9], [16]]
    for truth, told in ((near, False), (far, True)):
        said = [[[t]] for (t,) in truth]
        skill = measured(said, truth, "skill")
        assert skill.value == 1
        assert skill.label == (None if told else "cannot tell")
        assert ("two observers differ by 2 to 4" in (skill.note or "")) is not told


def test_the_authors_edition_tells_as_it_did():
    truth = [[4], [5], [6], [5], [4], [6]]
    rules = msgspec.structs.replace(AUTHORS, boot=200)
    assert measured([[[t]] for (t,) in truth], truth, "skill", rules).label is None


# ------------------------- Skill: nobody who names one frame has any, and who sees as people do has


@pytest.mark.parametrize("n", [4, 6, 12, 40])
@pytest.mark.parametrize("seed", range(3))
def test_no_constant_is_surely_above_the_best_constant(n, seed):
    truth = np.random.default_rng(seed).integers(0, 12, n).tolist()
    for constant in {int(np.median(truth)), min(truth), 5}:
        tables = tables_of(rows([[[constant]]] * n, [[t] for t in truth], wanted="edv", count=24))
        skill = found(measure(tables, CORRECTED), "skill", **BY)
        if skill.low is not None:
            assert skill.low <= 1e-12


def test_a_reader_that_follows_the_truth_is_surely_above_it():
    truth = np.random.default_rng(3).integers(0, 12, 30).tolist()
    said = [[[t + (k % 3 == 0)]] for k, t in enumerate(truth)]
    tables = tables_of(rows(said, [[t] for t in truth], wanted="edv", count=24))
    skill = found(measure(tables, CORRECTED), "skill", **BY)
    assert 0.5 < skill.low < skill.value < 1


# ---------------------------------------------------------------- in windows of real distances


@pytest.fixture(scope="module")
def hearts():
    """The windows of 400 phantom hearts, whose distances are those of real clips."""
    found = []
    for number in range(400):
        kept = rhythm(np.random.default_rng([11, number]), 0.5)
        ed, es = kept.phases
        case = HeartbeatCase(case_id=f"h{number}", clip="", frames=kept.frames, ed=ed, es=es)
        found.append(window_of(case, CORRECTED, Options()))
    return found


def skill_in(windows, sd, phase):
    """The skill of an observer whose answers stray by `sd` frames, be it out of the window."""
    rng = np.random.default_rng(5)
    wanted = {"ed": "edv", "es": "esv"}[phase]
    truth = [getattr(window, phase) for window in windows]
    said = np.rint(truth + sd * rng.standard_normal(len(truth)))
    answers = rows([[[int(p)]] for p in said], [[t] for t in truth], wanted=wanted, count=30)
    rules = msgspec.structs.replace(CORRECTED, boot=1000)
    return found(
        measure(tables_of(answers), rules), "skill", reader="r",
        **{**BY, "format": wanted, "phase": phase},
    )  # fmt: skip


@pytest.mark.parametrize("phase", ["ed", "es"])
def test_an_observer_of_three_frames_has_skill(hearts, phase):
    windows = [window for window in hearts if isinstance(window, Window)]
    assert {window.count for window in windows} == {30}
    got = skill_in(windows, 3, phase)
    assert got.value > 0.25
    assert got.low > 0
    assert got.label is None


def test_about_one_clip_in_twelve_fits_no_window(hearts):
    """8.5 % of 10,024 real ones; here of 400."""
    assert 0.04 < np.mean([isinstance(window, Left) for window in hearts]) < 0.14


@pytest.mark.parametrize("phase", ["ed", "es"])
def test_in_the_window_of_version_0_1_such_an_observer_had_none(phase):
    old = Options(frames=24, reach=2.0)
    windows = []
    for number in range(400):
        ed, es = (kept := rhythm(np.random.default_rng([11, number]), 0.5)).phases
        case = HeartbeatCase(case_id=f"h{number}", clip="", frames=kept.frames, ed=ed, es=es)
        found_ = window_of(case, CORRECTED, old)
        if isinstance(found_, Window):
            windows.append(found_)
    got = skill_in(windows, 3, phase)
    assert got.value < 0.1
    assert got.label == "cannot tell"


# --------------- Do the answers follow the truths, in the data and in every resample of the videos?

R_BY = {"task": "t1", "context": "original", "format": "edv_esv"}
MAKE = {spec.name: spec.make for spec in FRAME_SPECS}


def some_run(videos=12, seeds=3):
    """Pairs with holes; the truths of the two phases differ, and answers follow them loosely."""
    rng = np.random.default_rng(4)
    truth = [[(int(a), int(a + b))] * seeds for a, b in rng.integers(2, 20, (videos, 2))]
    said = [
        [
            [None if rng.random() < 0.2 else tuple(int(t + rng.integers(-6, 7)) for t in true)]
            for true in row
        ]
        for row in truth
    ]
    return tables_of(rows(said, truth, wanted="edv_esv", count=50))


@pytest.mark.parametrize("name", ["r", "r2"])
def test_a_resample_is_the_correlation_of_its_videos(name):
    run = HeartRun(some_run(), QUICK)
    (marks,) = run.marks
    often = np.random.default_rng(1).integers(0, 3, (20, run.facts.n))
    for made in MAKE[name](run, marks):
        phase = made.record.by["phase"]
        said, truth = mean_over(marks.said[phase], axis=2), marks.truth[phase]
        got = made.again(often.astype(float) @ made.columns)
        for times, value in zip(often, got, strict=True):
            taken = np.repeat(np.arange(times.size), times)
            each = [pearson(said[taken, s], truth[taken, s], least=3) for s in range(3)]
            power = 2 if name == "r2" else 1
            assert value == pytest.approx(np.mean([r**power for r in each]))
            assert made.limits[0] <= value <= made.limits[1]


def test_whoever_answers_the_other_way_round_has_an_interval_below_0():
    truth = [3, 9, 4, 8, 2, 7, 5, 6]
    off = [1, 0, 2, 0, 1, 0, 1, 2]
    said = [[[12 - t + o]] for t, o in zip(truth, off, strict=True)]
    tables = tables_of(rows(said, [[t] for t in truth], count=20))
    got = found(measure(tables, QUICK), "r", **R_BY | {"format": "edv", "phase": "ed"})
    assert -1 <= got.low < got.value < got.high < 0


def test_the_mean_over_seeds_leaves_out_those_without_one():
    said = [[[1], [5], [4]], [[2], [5], [1]], [[3], [5], [3]], [[4], [5], [2]]]
    tables = tables_of(rows(said, [[1] * 3, [2] * 3, [3] * 3, [4] * 3], count=20))
    got = found(measure(tables, QUICK), "r", **R_BY | {"format": "edv", "phase": "ed"})
    assert got.value == pytest.approx((1 - 0.4) / 2)
    assert "not defined at 1 of 3 seeds" in got.note


def test_the_mean_answer_where_the_truth_is_this_frame():
    truth = [[(3, 9)], [(3, 8)], [(5, 9)]]
    said = [[[(1, 7)]], [[(2, 5)]], [[(6, 11)]]]
    got = measure(tables_of(rows(said, truth, wanted="edv_esv", count=20)), QUICK)
    for phase, true, mean, n in (("ed", 3, 1.5, 2), ("ed", 5, 6, 1), ("es", 9, 9, 2),
                                 ("es", 8, 5, 1)):  # fmt: skip
        one = found(got, "predicted", **R_BY | {"phase": phase, "truth": str(true)})
        assert (one.value, one.n) == (mean, n)
