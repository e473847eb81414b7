"""Models that predict EF themselves: the sheets they come in."""

from __future__ import annotations

import polars as pl
import pytest

from overread.benchmarks.heartbeat.ejection import predicted_ef, read_specialists
from overread.case import BadInput

CASES = pl.DataFrame(
    {"case": ["a", "b#0", "b#1"], "clip": ["Videos/a.avi", "Videos/b.avi", "Videos/b.avi"]}
)


def sheet(folder, text, name="echoclip.csv"):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_file_is_the_model_and_a_video_has_many_names(tmp_path):
    rows = read_specialists(sheet(tmp_path, "FileName,EF\na.avi,55.5\nVideos/b.avi,40\nother,60\n"))
    assert predicted_ef(rows, CASES) == {"echoclip": {"a": 55.5, "b#0": 40.0, "b#1": 40.0}}


def test_a_column_may_name_the_model_and_several_files_may_be_given(tmp_path):
    first = sheet(tmp_path, "case,ef,model\na,50,one\na,51,two\n")
    second = sheet(tmp_path, "case_id,predicted_ef\nb#1,-3.5\n", "three.csv")
    found = predicted_ef(read_specialists(f"{first}, {second}"), CASES)
    assert found == {"one": {"a": 50.0}, "two": {"a": 51.0}, "three": {"b#1": -3.5}}


def test_an_empty_cell_is_no_prediction(tmp_path):
    rows = read_specialists(sheet(tmp_path, "case,ef\na,\nb#0,50\n"))
    assert predicted_ef(rows, CASES) == {"echoclip": {"b#0": 50.0}}


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
        predicted_ef(twice, CASES)
    strange = read_specialists(sheet(tmp_path, "case,ef\nx,50\n"))
    with pytest.raises(BadInput, match="names no video of this run"):
        predicted_ef(strange, CASES)


def test_one_small_ef_among_others_is_no_fraction(tmp_path):
    rows = read_specialists(sheet(tmp_path, "case,ef\na,0.9\nb#0,50\n"))
    assert predicted_ef(rows, CASES) == {"echoclip": {"a": 0.9, "b#0": 50.0}}
