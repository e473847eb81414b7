"""The index of a zip archive, read by hand, is the one the standard library reads."""

from __future__ import annotations

import unicodedata
import zipfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.imaging._zip_index import Damaged, members_of

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name")

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
MEMBERS = st.lists(
    st.tuples(
        NAMES,
        st.binary(max_size=60),
        st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
        st.binary(max_size=9),
        st.sampled_from([0, 0o100644 << 16, 0o120777 << 16]),
    ),
    max_size=8,
)


def expected(path: Path) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(path) as opened:
        return [
            (
                unicodedata.normalize("NFC", info.filename),
                info.flag_bits,
                info.compress_type,
                info.CRC,
                info.compress_size,
                info.file_size,
                info.external_attr >> 16,
                info.header_offset,
            )
            for info in opened.infolist()
        ]


def found(path: Path) -> list[tuple[object, ...]]:
    return [
        (m.name, m.flags, m.method, m.crc, m.packed, m.size, m.mode, m.offset)
        for m in members_of(str(path))
    ]


@given(MEMBERS, st.binary(max_size=30), st.binary(max_size=30), st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_member_is_found_as_zipfile_finds_it(
    tmp_path_factory, members, before, comment, large
):
    """Also with bytes before it, a comment after it, and the numbers of archives above 4 GB."""
    path = tmp_path_factory.mktemp("index") / "a.zip"
    most, many = (20, 2) if large else (zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT)
    limits = mock.patch.multiple(zipfile, ZIP64_LIMIT=most, ZIP_FILECOUNT_LIMIT=many)
    with limits, zipfile.ZipFile(path, "w") as made:
        for name, data, method, note, mode in members:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.comment, info.external_attr = method, note, mode
            with made.open(info, "w", force_zip64=large) as file:
                file.write(data)
        made.comment = comment
    path.write_bytes(before + path.read_bytes())
    assert found(path) == expected(path)


def test_more_members_than_sixteen_bits_count(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for number in range(70_000):
            made.writestr(f"{number}", b"")
    assert sum(1 for _ in members_of(str(tmp_path / "a.zip"))) == 70_000


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_an_index_or_damaged(tmp_path_factory, data, ends):
    path = tmp_path_factory.mktemp("bytes") / "a.zip"
    path.write_bytes(data + (b"PK\x05\x06" + data[:18] if ends else b""))
    try:
        assert all(member.name is not None for member in members_of(str(path)))
    except Damaged as error:
        told = str(error)
        assert told


def test_an_index_with_fewer_members_than_it_says_is_damaged(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for name in "abc":
            made.writestr(name, b"inside")
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[-12] = 4
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(Damaged, match="breaks off after 3"):
        list(members_of(str(tmp_path / "a.zip")))
