"""Files of other people come through one door, which knows kinds, sizes and lengths."""

from __future__ import annotations

import gzip
import os
import re
import resource
import time
from pathlib import Path

import pytest

from overread import files
from overread.case import BadInput


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert files.read_bytes(file) == b"\xef\xbb\xbfa,b\n1,2\n"
    assert files.read_text(file) == "a,b\n1,2\n"


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_is_one_line_at_once(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "it"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place = Path("/dev/zero")
    began = time.monotonic()
    with pytest.raises(BadInput, match=f"{re.escape(str(place))} is a .* and no file") as raised:
        files.read_bytes(place)
    assert "\n" not in str(raised.value)
    assert time.monotonic() - began < 5


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such file"):
        files.read_bytes(tmp_path / "absent")
    with pytest.raises(BadInput, match="--policy x: there is no such file"):
        files.read_bytes(tmp_path / "absent", named="--policy x")


def test_a_name_with_a_nul_byte_is_one_line() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        files.read_bytes("a\0b")


def test_a_sparse_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "sparse.csv"
    with file.open("wb") as made:
        made.truncate(1 << 40)
    with pytest.raises(BadInput, match="has 1.02e\\+03 GB|has 1024 GB|at most 512 MB"):
        files.read_bytes(file)


def test_a_file_of_the_system_whose_size_is_unknown_is_still_bounded() -> None:
    with pytest.raises(BadInput, match="over 10 bytes"):
        files.read_bytes("/proc/cpuinfo", at_most=10)


def test_text_that_is_no_utf8_names_its_row(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a\nb\n\xff\n")
    with pytest.raises(BadInput, match="row 3: byte 0xff"):
        files.read_text(file)


def test_gzip_is_inflated_also_of_several_members() -> None:
    data = gzip.compress(b"one") + gzip.compress(b"two") + b"\0\0"
    assert files.is_gzip(data)
    assert files.inflate(data, "a.gz") == b"onetwo"
    assert files.inflate(gzip.compress(b""), "a.gz") == b""


@pytest.mark.parametrize("spoil", [lambda d: d[:-6], lambda d: d[:20] + b"\0" * 9 + d[29:]])
def test_a_damaged_gzip_is_one_line(spoil: object) -> None:
    data = gzip.compress(os.urandom(1000))
    with pytest.raises(BadInput, match=r"a\.gz is a damaged gzip file"):
        files.inflate(spoil(data), "a.gz")  # type: ignore[operator]


@pytest.mark.slow
def test_a_gzip_of_gigabytes_is_refused_on_the_way() -> None:
    bomb = gzip.compress(b"\0" * (1 << 26), 9) * 32  # two gigabytes in two megabytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadInput, match="a gzip that holds over 64 MB"):
        files.inflate(bomb, "bomb.gz", at_most=1 << 26)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000  # kB


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "9" * 5000,
        "a = " + "[" * 3000,
        "a" + ".a" * 29_000 + " = 1",
        "x = {" + "a." * 29_000 + "b = 1}",
        "[" + "a." * 29_000 + "b]",
        "[['a' . " + '"a" . ' * 5000 + "b]]",
        "a = ",
    ],
)
def test_toml_that_would_eat_the_machine_is_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    began = time.monotonic()
    with pytest.raises(BadInput, match=r"study\.toml") as raised:
        files.read_toml(file)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500
    assert time.monotonic() - began < 5


def test_toml_as_people_write_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('a.b.c = "One. Two. Three. e.g. v1.2.3"\n[x.y]\nz = 1.5\n')
    assert files.read_toml(file) == {
        "a": {"b": {"c": "One. Two. Three. e.g. v1.2.3"}},
        "x": {"y": {"z": 1.5}},
    }


def test_a_number_has_a_length() -> None:
    assert files.whole(" 17 ") == 17
    assert files.decimal(" -1.5e3 ") == -1500.0
    for text in ("", "a", "9" * 5000, "1e999", "nan", "inf"):
        assert files.decimal(text) is None
    for text in ("", "1.5", "9" * 5000):
        assert files.whole(text) is None
