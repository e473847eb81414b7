"""Other beats' phases, found on a curve of volumes beside the annotated one."""

from __future__ import annotations

import numpy as np
import pytest

from overread.benchmarks.heartbeat.volumes import neighbours
from overread.phantoms.heart_rhythm import rhythm, volumes


def test_every_whole_beat_of_a_heart_is_found_to_the_frame():
    whole = 0
    for seed in range(40):
        kept = rhythm(np.random.default_rng(seed), 0.2 + 0.012 * seed)
        ed, es = kept.phases
        eds, ess = neighbours(volumes(kept), ed, es)
        # A turn is seen with systole on one side of it and most of diastole on the other.
        systole = es - ed
        diastole = 0.75 * (kept.ed[1] - kept.ed[0] + 2 - systole)
        for found, true, own, before, after in (
            (eds, kept.ed, ed, diastole, systole),
            (ess, kept.es, es, systole, diastole),
        ):
            assert set(found) <= set(true) - {own}
            seen = {k for k in true if before <= k < kept.frames - after} - {own}
            assert seen <= set(found)
            whole += len(seen)
    assert whole > 40


@pytest.mark.parametrize("seed", range(10))
def test_noise_of_a_few_per_cent_moves_a_phase_by_a_few_frames_and_makes_none(seed):
    rng = np.random.default_rng(seed)
    kept = rhythm(rng, 0.5)
    ed, es = kept.phases
    curve = volumes(kept) * (1 + 0.02 * rng.standard_normal(kept.frames))
    for found, true in zip(neighbours(curve, ed, es), (kept.ed, kept.es), strict=True):
        assert all(min(abs(frame - k) for k in true) <= 4 for frame in found)
        assert len(found) <= len([k for k in true if 0 <= k < kept.frames])


# Falls and rises of five frames from 10 to 0, beginning with a fall.
WAVE = np.array([10, 8, 6, 4, 2, 0, 2, 4, 6, 8] * 3, float)


def test_end_systole_may_come_first():
    assert neighbours(WAVE, 10, 5) == ([20], [15, 25])
    assert neighbours(WAVE, 10, 15) == ([20], [5, 25])


def test_a_small_turn_is_no_phase():
    """Filling pauses and goes on; a dip of less than half a beat's fall is not end-systole."""
    curve = np.array([10, 8, 5, 2, 1, 3, 6, 7, 6.5, 7, 8, 10, 8, 5, 2.0])
    assert neighbours(curve, 0, 4) == ([11], [])


def test_frames_without_a_value_are_passed_over_and_the_annotated_ones_are_needed():
    curve = WAVE.copy()
    curve[[7, 18]] = np.nan
    assert neighbours(curve, 0, 5) == ([10, 20], [15, 25])
    assert neighbours(curve, 18, 25) is None


def test_values_that_contradict_the_annotation_tell_nothing():
    assert neighbours(np.array([1, 5, 9, 5, 1, 5.0]), 0, 2) is None
    assert neighbours(np.full(6, 3.0), 0, 2) is None
