"""EF at the frames a reader names, and of models that predict it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.ejection import (
    predicted_ef,
    read_specialists,
    specialist_measures,
)
from overread.benchmarks.heartbeat.marks import ejection_fraction
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.study import HeartRun
from overread.case import BadInput
from support.heart_answers import found, rows, tables_of, with_volumes

# --------------------------------------- Models that predict EF themselves: the sheets they come in

SHEET_CASES = pl.DataFrame(
    {"case": ["a", "b#0", "b#1"], "clip": ["Videos/a.avi", "Videos/b.avi", "Videos/b.avi"]}
)


def sheet(folder, text, name="echoclip.csv"):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_file_is_the_model_and_a_video_has_many_names(tmp_path):
    rows = read_specialists(sheet(tmp_path, "FileName,EF\na.avi,55.5\nVideos/b.avi,40\nother,60\n"))
    assert predicted_ef(rows, SHEET_CASES) == {"echoclip": {"a": 55.5, "b#0": 40.0, "b#1": 40.0}}


def test_a_column_may_name_the_model_and_several_files_may_be_given(tmp_path):
    first = sheet(tmp_path, "case,ef,model\na,50,one\na,51,two\n")
    second = sheet(tmp_path, "case_id,predicted_ef\nb#1,-3.5\n", "three.csv")
    found = predicted_ef(read_specialists(f"{first}, {second}"), SHEET_CASES)
    assert found == {"one": {"a": 50.0}, "two": {"a": 51.0}, "three": {"b#1": -3.5}}


def test_an_empty_cell_is_no_prediction(tmp_path):
    rows = read_specialists(sheet(tmp_path, "case,ef\na,\nb#0,50\n"))
    assert predicted_ef(rows, SHEET_CASES) == {"echoclip": {"b#0": 50.0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("case,ef\na,0.55\nb#0,0.4\n", "per cent"),
        ("case,ef\na,fifty\n", 'row 2: ef is "fifty"'),
        ("case,ef\na,nan\n", 'ef is "nan"'),
        ("case,ef\na,155\n", 'ef is "155"'),
        ("case,ef\n,55\n", "names a video"),
        ("case,ef\na,\n", "no EF"),
        ("case,other\na,55\n", "it has none"),
        ("case,clip,ef\na,a,55\n", "it has case and clip"),
    ],
)
def test_a_bad_sheet_is_named_in_one_line(tmp_path, text, said):
    with pytest.raises(BadInput, match="echoclip.csv") as error:
        read_specialists(sheet(tmp_path, text))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_specialists(str(tmp_path / "none.csv"))


def test_two_predictions_of_one_video_are_refused_and_so_is_a_strangers_sheet(tmp_path):
    twice = read_specialists(sheet(tmp_path, "case,ef\na,50\na.avi,51\n"))
    with pytest.raises(BadInput, match='row 3: echoclip has two EF of "a.avi"'):
        predicted_ef(twice, SHEET_CASES)
    strange = read_specialists(sheet(tmp_path, "case,ef\nx,50\n"))
    with pytest.raises(BadInput, match="names no video of this run"):
        predicted_ef(strange, SHEET_CASES)


def test_one_small_ef_among_others_is_no_fraction(tmp_path):
    rows = read_specialists(sheet(tmp_path, "case,ef\na,0.9\nb#0,50\n"))
    assert predicted_ef(rows, SHEET_CASES) == {"echoclip": {"a": 0.9, "b#0": 50.0}}


# ----------------------------------------------- The ejection fraction at the frames a reader names

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
    got = found(measure(with_volumes(golden_tables(), VOLUMES), edition), "ef_mae", **BY)
    inside = [c for c in CASES if c["in_range"]]
    assert got.value == pytest.approx(GOLDEN["mae_in_range_only"], abs=1e-9)
    assert got.n == len(inside)
    assert "discs" in got.note
    assert f"{len(CASES) - len(inside)} of {len(CASES)} passes" in got.note
    assert got.low < got.value < got.high


def test_the_clipped_variant_takes_them_all():
    got = measure(with_volumes(golden_tables(), VOLUMES), CORRECTED)
    assert found(got, "ef_mae_clipped", **BY).n == len(CASES)


def test_without_volumes_there_is_no_ef():
    assert not [m for m in measure(golden_tables(), CORRECTED) if m.measure.startswith("ef_")]


def test_a_video_without_volumes_is_left_out():
    some = dict(list(VOLUMES.items())[1:])
    got = found(measure(with_volumes(golden_tables(), some), CORRECTED), "ef_mae", **BY)
    assert got.n == sum(c["in_range"] for c in CASES[1:])


def test_the_stated_ef_is_the_true_one_whatever_the_volumes_say():
    said = [[[(1, 5)]], [[(1, 5)]]]
    tables = tables_of(
        rows(said, [[(1, 5)]] * 2, wanted="edv_esv", count=8), ed=[1, 1], es=[5, 5], ef=[30.0, None]
    )
    volumes = {f"v{n:03d}": np.array([60.0, 80, 70, 60, 50, 40, 50, 60]) for n in range(2)}
    got = found(measure(with_volumes(tables, volumes), CORRECTED), "ef_mae", **BY)
    # 50 by the volumes: 20 beside the stated 30, and 0 where none is stated.
    assert (got.n, got.value) == (2, pytest.approx(10))
    assert "1 true EF from the volumes" in got.note


def test_frames_are_counted_from_the_windows_start_and_end_with_it():
    """A window of frames 10 to 17: what is named beyond it has a volume, and was not shown."""
    volumes = {"v000": np.linspace(100, 50, 30), "v001": np.linspace(100, 50, 30)}

    def ef(ed, es):
        ed, es = volumes["v000"][[10 + ed, 10 + es]]
        return 100 * (ed - es) / ed

    said = [[[(2, 6), (0, 9), (9, 6)]], [[(1, 7), (1, 7), (-1, 7)]]]
    tables = tables_of(
        rows(said, [[(1, 5)]] * 2, wanted="edv_esv", count=8), ed=[11, 11], es=[15, 15]
    )
    got = measure(with_volumes(tables, volumes), CORRECTED)
    inside, clipped = (found(got, name, **BY) for name in ("ef_mae", "ef_mae_clipped"))
    true = ef(1, 5)
    assert inside.value == pytest.approx((abs(ef(2, 6) - true) + abs(ef(1, 7) - true)) / 2)
    assert "3 of 6 passes" in inside.note
    first = np.mean([abs(ef(*pair) - true) for pair in ((2, 6), (0, 7), (7, 6))])
    second = np.mean([abs(ef(*pair) - true) for pair in ((1, 7), (1, 7), (0, 7))])
    assert clipped.value == pytest.approx((first + second) / 2)


def test_a_negative_ef_is_kept():
    tables = tables_of(
        rows([[[(5, 1)]]] * 2, [[(1, 5)]] * 2, wanted="edv_esv", count=8), ed=[1, 1], es=[5, 5]
    )
    volumes = {f"v{n:03d}": np.array([60.0, 80, 70, 60, 50, 40, 50, 60]) for n in range(2)}
    got = found(measure(with_volumes(tables, volumes), CORRECTED), "ef_mae", **BY)
    assert got.value == pytest.approx(50 + 100)


def test_an_empty_ventricle_has_no_ef():
    assert np.isnan(ejection_fraction(np.array(0.0), np.array(1.0)))


def test_single_formats_are_paired_by_seed_and_pass():
    ed = rows([[[3, 4]], [[5, 5]]], [[(3, 9)], [(5, 8)]], wanted="edv", count=12)
    es = rows([[[9, 2]], [[8, None]]], [[(3, 9)], [(5, 8)]], wanted="esv", count=12)
    volumes = {f"v{n:03d}": np.linspace(20, 10, 12) for n in range(2)}
    tables = tables_of(ed + es, ed=[3, 5], es=[9, 8])
    got = found(
        measure(with_volumes(tables, volumes), CORRECTED), "ef_mae", **BY | {"format": "edv"}
    )
    assert got.n == 2
    assert "paired" in got.note
    v = volumes["v000"]

    def ef(a, b):
        return 100 * (v[a] - v[b]) / v[a]

    first = (0 + abs(ef(4, 2) - ef(3, 9))) / 2
    assert got.value == pytest.approx((first + 0) / 2)


def test_single_formats_are_paired_within_a_context():
    truth = [[(3, 9)], [(3, 9)]]
    volumes = {f"v{n:03d}": np.linspace(20, 10, 12) for n in range(2)}
    some = []
    for context, es in (("original", 0), ("segmented", 9)):
        some += rows([[[3]]] * 2, truth, wanted="edv", context=context, count=12)
        some += rows([[[es]]] * 2, truth, wanted="esv", context=context, count=12)
    got = measure(with_volumes(tables_of(some, ed=[3, 3], es=[9, 9]), volumes), CORRECTED)
    right, wrong = (
        found(got, "ef_mae", **BY | {"format": "edv", "context": context}).value
        for context in ("segmented", "original")
    )
    assert right == 0 < wrong


def test_a_specialist_stands_beside_the_readers():
    study = HeartRun(with_volumes(golden_tables(), VOLUMES), CORRECTED)
    (got,) = specialist_measures("echoclip", {"v000": 70.0, "v001": 85.0}, study)
    assert (got.reader, got.measure, got.n) == ("echoclip", "ef_mae", 2)
    want = (abs(70 - CASES[0]["gt_ef"]) + abs(85 - CASES[1]["gt_ef"])) / 2
    assert got.value == pytest.approx(want)


def test_a_frame_beyond_the_volumes_has_none():
    tables = tables_of(
        rows([[[(1, 8)]], [[(1, 5)]]], [[(1, 5)]] * 2, wanted="edv_esv", count=9),
        ed=[1, 1],
        es=[5, 5],
    )
    volumes = {f"v{n:03d}": np.linspace(80, 40, 8) for n in range(2)}
    got = found(measure(with_volumes(tables, volumes), CORRECTED), "ef_mae", **BY)
    assert (got.n, got.value) == (1, 0)
