"""JSON of other people: every object with its place, every fault in one line."""

from __future__ import annotations

import pytest

from overread.benchmarks.files.fields import first_object, lines_of, list_of
from overread.case import BadInput


def write(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    return path


def test_lines_have_the_numbers_an_editor_shows(tmp_path):
    path = write(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": "\xc3\xa9"}')
    assert list(lines_of(path)) == [(1, {"a": 1}), (4, {"a": "é"})]


def test_a_list_has_places_from_one(tmp_path):
    path = write(tmp_path, b'\xef\xbb\xbf[{"a": 1}, {}]')
    assert list(list_of(path)) == [(1, {"a": 1}), (2, {})]


@pytest.mark.parametrize("data", [b"{", b"1", b"{}", b"[1]", b"[{}", b'["\xff"]', b"[" * 9999])
@pytest.mark.parametrize("read", [list_of, lines_of])
def test_anything_else_is_one_line(tmp_path, data, read):
    if read is lines_of and data == b"{}":
        return
    with pytest.raises(BadInput, match=r"x\.json .*is no JSON") as caught:
        list(read(write(tmp_path, data)))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    for read in (list_of, lines_of):
        with pytest.raises(BadInput, match="there is no such file"):
            list(read(tmp_path / "no.json"))
    assert first_object(tmp_path / "no.json") == {}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'[{"a": 1}, {"b"', {"a": 1}),
        (b' \n[ \n {"a": 1}', {"a": 1}),
        (b'{"a": 1}\n{"b": 2}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b"[1, 2]", {}),
        (b"[]", {}),
        (b"", {}),
        (b"{", {}),
        (b"[" * 9999, {}),
        (b"\xff\xfe", {}),
    ],
)
def test_the_first_object(tmp_path, data, found):
    assert first_object(write(tmp_path, data)) == found


def test_the_first_object_may_be_long(tmp_path):
    text = "é" * 100_000
    found = first_object(write(tmp_path, f'[{{"a": "{text}"}}, {{}}]'.encode()))
    assert found == {"a": text}
