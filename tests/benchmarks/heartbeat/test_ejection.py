"""The ejection fraction at the frames a reader names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.ejection import ejection_fraction, specialist
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.study import Study
from support.heart_answers import found, rows, tables_of

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_ef_formula.json").read_text("utf-8")
)
CASES = GOLDEN["cases"]


def golden_tables():
    said = [[[(c["pred_edv"], c["pred_esv"])]] for c in CASES]
    truth = [[(c["gt_edv"], c["gt_esv"])] for c in CASES]
    counts = [len(c["volumes"]) for c in CASES]
    some = rows(said, truth, wanted="edv_esv", count=counts)
    return tables_of(
        some,
        ed=[c["gt_edv"] for c in CASES],
        es=[c["gt_esv"] for c in CASES],
        ef=[c["gt_ef"] for c in CASES],
    )


VOLUMES = {f"v{place:03d}": np.array(c["volumes"]) for place, c in enumerate(CASES)}
BY = {"task": "t1", "context": "original", "format": "edv_esv"}


@pytest.mark.parametrize("case", CASES)
def test_the_formula(case):
    volumes = np.array(case["volumes"])
    true = ejection_fraction(volumes[case["gt_edv"]], volumes[case["gt_esv"]])
    assert true == pytest.approx(case["gt_ef"], abs=1e-9)
    if case["in_range"]:
        said = ejection_fraction(volumes[case["pred_edv"]], volumes[case["pred_esv"]])
        assert said == pytest.approx(case["pred_ef"], abs=1e-9)


@pytest.mark.parametrize("edition", [AUTHORS, CORRECTED])
def test_the_error_over_the_frames_in_range(edition):
    got = found(
        measure(golden_tables(), edition, volumes=VOLUMES, volume_method="discs"), "ef_mae", **BY
    )
    inside = [c for c in CASES if c["in_range"]]
    assert got.value == pytest.approx(GOLDEN["mae_in_range_only"], abs=1e-9)
    assert got.n == len(inside)
    assert "discs" in got.note
    assert f"{len(CASES) - len(inside)} of {len(CASES)} passes" in got.note
    assert got.low < got.value < got.high


def test_the_clipped_variant_takes_them_all():
    got = measure(golden_tables(), CORRECTED, volumes=VOLUMES)
    assert found(got, "ef_mae_clipped", **BY).n == len(CASES)


def test_without_volumes_there_is_no_ef():
    assert not [m for m in measure(golden_tables(), CORRECTED) if m.measure.startswith("ef_")]


def test_a_video_without_volumes_is_left_out():
    some = dict(list(VOLUMES.items())[1:])
    got = found(measure(golden_tables(), CORRECTED, volumes=some), "ef_mae", **BY)
    assert got.n == sum(c["in_range"] for c in CASES[1:])


def test_an_empty_ventricle_has_no_ef():
    assert np.isnan(ejection_fraction(np.array(0.0), np.array(1.0)))


def test_single_formats_are_paired_by_seed_and_pass():
    ed = rows([[[3, 4]], [[5, 5]]], [[(3, 9)], [(5, 8)]], wanted="edv", count=12)
    es = rows([[[9, 2]], [[8, None]]], [[(3, 9)], [(5, 8)]], wanted="esv", count=12)
    volumes = {f"v{n:03d}": np.linspace(20, 10, 12) for n in range(2)}
    tables = tables_of(ed + es, ed=[3, 5], es=[9, 8])
    got = found(measure(tables, CORRECTED, volumes=volumes), "ef_mae", **BY | {"format": "edv"})
    assert got.n == 2
    assert "paired" in got.note
    v = volumes["v000"]

    def ef(a, b):
        return 100 * (v[a] - v[b]) / v[a]

    first = (0 + abs(ef(4, 2) - ef(3, 9))) / 2
    assert got.value == pytest.approx((first + 0) / 2)


def test_a_specialist_stands_beside_the_readers():
    study = Study(golden_tables(), CORRECTED, VOLUMES)
    (got,) = specialist("echoclip", {"v000": 70.0, "v001": 85.0}, study)
    assert (got.reader, got.measure, got.n) == ("echoclip", "ef_mae", 2)
    want = (abs(70 - CASES[0]["gt_ef"]) + abs(85 - CASES[1]["gt_ef"])) / 2
    assert got.value == pytest.approx(want)
