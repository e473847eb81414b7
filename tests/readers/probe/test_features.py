"""Vectors are kept once, by names, in one file that numpy reads; a killed writer breaks nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from overread.case import BadInput, Source
from overread.readers.probe.features import Features, picture_name

NAMES = [bytes([n]) * 16 for n in range(6)]
ROWS = np.arange(18, dtype=np.float32).reshape(6, 3)


def test_rows_are_found_by_name_by_whoever_opens_the_folder(tmp_path: Path) -> None:
    first = Features(tmp_path, "an encoder")
    first.add(NAMES[:2], ROWS[:2])
    first.add(NAMES[1:4], ROWS[1:4] + 100)  # the second is there already, and stays
    again = Features(tmp_path, "an encoder")
    assert again.at(NAMES[5]) is None
    assert again.rows([again.row(name) for name in NAMES[:3]]).tolist() == [
        [0, 1, 2],
        [3, 4, 5],
        [106, 107, 108],
    ]
    kept = np.load(again.folder / "rows.npy", allow_pickle=False)
    assert kept.shape == (4, 3)
    assert Features(tmp_path, "another encoder").at(NAMES[0]) is None


def test_a_name_that_is_given_twice_is_kept_once(tmp_path: Path) -> None:
    one = Features(tmp_path, "e")
    one.add([NAMES[0], NAMES[0], NAMES[1]], ROWS[:3])
    assert np.load(one.folder / "rows.npy").shape == (2, 3)


def test_two_writers_take_turns(tmp_path: Path) -> None:
    one, other = Features(tmp_path, "e"), Features(tmp_path, "e")
    one.add(NAMES[:3], ROWS[:3])
    other.add(NAMES[2:5], ROWS[2:5])
    one.add(NAMES[4:], ROWS[4:])
    for reader in (one, Features(tmp_path, "e")):
        assert np.array_equal(reader.rows([reader.row(name) for name in NAMES]), ROWS)


def test_a_writer_killed_between_rows_and_names_leaves_nothing_that_is_found(
    tmp_path: Path,
) -> None:
    one = Features(tmp_path, "e")
    one.add(NAMES[:4], ROWS[:4])
    names = one.folder / "names.bin"
    names.write_bytes(names.read_bytes()[: 2 * 16 + 5])
    again = Features(tmp_path, "e")
    assert again.at(NAMES[2]) is None
    with pytest.raises(BadInput, match="are not of"):
        again.add(NAMES[4:5], ROWS[4:5, :2])


def test_rows_that_were_lost_are_written_again(tmp_path: Path) -> None:
    one = Features(tmp_path, "e")
    one.add(NAMES[:2], ROWS[:2])
    # As a kill leaves it: more rows than names, and half a name.
    names = one.folder / "names.bin"
    names.write_bytes(names.read_bytes()[:16] + b"half")
    again = Features(tmp_path, "e")
    again.add(NAMES[1:3], ROWS[1:3])
    assert np.array_equal(again.rows([again.row(name) for name in NAMES[:3]]), ROWS[:3])
    assert np.load(again.folder / "rows.npy").shape == (3, 3)


def test_a_film_is_named_by_its_bytes_and_its_size(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"one")
    (tmp_path / "b.png").write_bytes(b"one")
    (tmp_path / "c.png").write_bytes(b"two")
    a, b, c = (Source(str(tmp_path), f"{name}.png") for name in "abc")
    assert picture_name(a, 224) == picture_name(b, 224)
    assert len({picture_name(a, 224), picture_name(a, 512), picture_name(c, 224)}) == 3
