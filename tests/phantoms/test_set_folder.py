"""A set's folder: whole or absent, made once, and never in place of something else."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from overread.case import BadInput
from overread.phantoms.set_folder import Card, write_csv, write_once

CARD = Card("chest", "cases.csv", 3, 7, 2)


def _fill(staging):
    (staging / "cases.csv").write_text("case_id\n")


def _never(staging):
    raise AssertionError("the set is there already")


def test_a_set_says_which_it_is_and_is_found_again(tmp_path):
    index = write_once(tmp_path / "deep" / "set", CARD, _fill)
    assert index == tmp_path / "deep" / "set" / "cases.csv"
    assert tomllib.loads((index.parent / "dataset.toml").read_text()) == {
        "name": "phantom-chest",
        "policy": "open",
        "licence": "Apache-2.0",
        "seed": 7,
        "n": 3,
        "generator": 2,
    }
    assert write_once(index.parent, CARD, _never) == index
    assert [path.name for path in index.parent.parent.iterdir()] == ["set"]


@pytest.mark.parametrize(
    "other",
    [
        Card("heart", "cases.csv", 3, 7, 2),
        Card("chest", "other.csv", 3, 7, 2),
        Card("chest", "cases.csv", 4, 7, 2),
        Card("chest", "cases.csv", 3, 8, 2),
        Card("chest", "cases.csv", 3, 7, 3),
    ],
)
def test_a_set_that_differs_in_anything_is_another_set(tmp_path, other):
    write_once(tmp_path / "set", CARD, _fill)
    with pytest.raises(BadInput) as refused:
        write_once(tmp_path / "set", other, _never)
    assert str(refused.value) == (
        f"{tmp_path / 'set'} holds something other than the {other.kind} set n={other.n}, "
        f"seed={other.seed}; name a new folder or remove this one."
    )


def test_an_empty_folder_is_filled_and_a_file_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert write_once(tmp_path / "empty", CARD, _fill).is_file()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match="something other"):
        write_once(tmp_path / "file", CARD, _never)
    assert (tmp_path / "file").read_text() == "mine"


def test_the_folder_is_not_there_while_it_is_filled_nor_after_a_failure(tmp_path):
    def fails(staging):
        _fill(staging)
        assert tmp_path in staging.parents
        assert not (tmp_path / "set").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_once(tmp_path / "set", CARD, fails)
    assert not any(tmp_path.iterdir())


def test_where_another_process_finished_the_same_set_meanwhile_theirs_is_kept(tmp_path):
    def meanwhile(staging):
        write_once(tmp_path / "set", CARD, _fill)
        (staging / "cases.csv").write_text("late\n")

    assert write_once(tmp_path / "set", CARD, meanwhile).read_text() == "case_id\n"
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_what_another_process_put_there_meanwhile_is_not_overwritten(tmp_path):
    def meanwhile(staging):
        _fill(staging)
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "mine.txt").write_text("mine")

    with pytest.raises(OSError, match="not empty"):
        write_once(tmp_path / "set", CARD, meanwhile)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["mine.txt"]


def test_two_processes_at_once_make_one_set(tmp_path):
    # Each waits until both have begun, so that both fill and only one can move its own in.
    script = f"""
import sys, time
from pathlib import Path
from overread.phantoms.set_folder import Card, write_once
root = Path({str(tmp_path)!r})
def fill(staging):
    (staging / "cases.csv").write_text("case_id\\n")
    (root / ("began" + sys.argv[1])).touch()
    give_up = time.monotonic() + 30
    while len(list(root.glob("began?"))) < 2 and time.monotonic() < give_up:
        time.sleep(0.01)
print(write_once(root / "set", Card("chest", "cases.csv", 3, 7, 2), fill))
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", script, k], stdout=subprocess.PIPE, text=True)
        for k in "12"
    ]
    said = [writer.communicate()[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert said == [str(tmp_path / "set" / "cases.csv")] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["began1", "began2", "set"]


def test_a_table_leaves_empty_what_a_row_does_not_have(tmp_path):
    write_csv(tmp_path / "t.csv", ("a", "b"), [{"a": 1, "b": "x, y"}, {"b": 2}])
    assert (tmp_path / "t.csv").read_bytes() == b'a,b\n1,"x, y"\n,2\n'
