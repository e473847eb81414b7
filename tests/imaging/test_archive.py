"""Images read from where they lie in a zip archive or a parquet file; nothing is unpacked."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import time
import tracemalloc
import unicodedata
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from overread.case import BadInput, Clip, Overlay, Picture, Resize, Source
from overread.imaging import _archive as archives
from overread.imaging import (
    archive,
    check_there,
    digest,
    is_archive,
    locate,
    masks_of,
    place,
    render,
    render_clip,
)
from overread.imaging._archive import Damaged, members_of
from overread.imaging._clips import mask_shape
from overread.imaging._files import read

NAME = "dataset/imgs/0.png"


def png(seed: int, px: int = 12) -> bytes:
    file = io.BytesIO()
    Image.frombytes("L", (px, px), random.Random(seed).randbytes(px * px)).save(file, "PNG")
    return file.getvalue()


def packed(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


def refusal(what, *args) -> str:
    with pytest.raises(BadInput) as raised:
        what(*args)
    line = str(raised.value)
    assert "\n" not in line
    return line


def read_or_refused(source: Source) -> tuple[bytes, str]:
    try:
        return read(source), ""
    except BadInput as error:
        line = str(error)
    assert "\n" not in line
    return b"", line


@pytest.fixture
def members() -> dict[str, bytes]:
    return {f"dataset/imgs/{n}.png": png(n) for n in range(20)}


@pytest.fixture
def place_of(tmp_path: Path, members) -> Path:
    notes = {f"__MACOSX/{name}": b"notes" for name in members} | {"dataset/imgs/0.png.bak": b"old"}
    return packed(tmp_path / "dataset.zip", members | notes)


# ---------------------------------------------------------------- what is there


def test_members_are_listed_without_folders_and_without_the_notes_of_macos(tmp_path, members):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.mkdir("dataset")
        for name, data in members.items():
            made.writestr(name, data)
        made.writestr(f"__MACOSX/{NAME}", b"notes")
    assert set(archive(tmp_path / "a.zip").names) == set(members)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_is_read_as_it_was_put_in(tmp_path, members, method):
    found = archive(packed(tmp_path / "a.zip", members | {"empty.txt": b""}, method))
    assert {name: found.read(name) for name in members} == members
    assert found.read("empty.txt") == b""
    assert found.names[NAME].size == len(members[NAME])


def test_a_zip_that_follows_other_bytes_is_read(tmp_path, members):
    whole = packed(tmp_path / "a.zip", members).read_bytes()
    (tmp_path / "b.zip").write_bytes(b"#!/bin/sh\n" * 9 + whole)
    assert archive(tmp_path / "b.zip").read(NAME) == members[NAME]


def test_what_is_an_archive(tmp_path, place_of):
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "UPPER.ZIP").write_bytes(b"")
    assert is_archive(place_of)
    assert is_archive(str(tmp_path / "UPPER.ZIP"))
    assert not is_archive(tmp_path / "folder.zip")
    assert not is_archive(tmp_path / "none.zip")
    assert not is_archive(tmp_path)
    assert not is_archive("a\0.zip")


def test_a_folder_may_be_called_zip(tmp_path):
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "folder.zip" / "a.png").write_bytes(b"inside")
    assert read(Source(str(tmp_path / "folder.zip"), "a.png")) == b"inside"


def test_what_is_missing_is_named_with_its_archive(place_of):
    check_there(Source(str(place_of), NAME))
    for name in ("dataset/imgs/999.png", "", "../x.png", "dataset/imgs", f"__MACOSX/{NAME}"):
        for what in (check_there, digest, place, read):
            line = refusal(what, Source(str(place_of), name))
            assert repr(name) in line
            assert str(place_of) in line


def test_a_missing_archive_is_named(tmp_path):
    assert "none.zip" in refusal(archive, tmp_path / "none.zip")
    assert "none.zip" in refusal(read, Source(str(tmp_path / "none.zip"), "a.png"))


# ---------------------------------------------------------------- the same picture


def test_a_picture_from_the_archive_is_that_from_the_file_to_the_byte(tmp_path, place_of, members):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(place_of) as opened:
        opened.extractall(folder)
    for name in members:
        shown = {
            render(Picture(Source(str(root), name), (Resize(9, 7), Overlay(mask))))
            for root in (place_of, folder)
            for mask in (Source(str(root), NAME),)
        }
        assert len(shown) == 1


def test_the_digest_is_of_name_size_and_crc_and_reads_no_member(tmp_path, place_of, monkeypatch):
    again = tmp_path / "again.zip"
    again.write_bytes(place_of.read_bytes())
    monkeypatch.setattr(archives.Archive, "_packed", lambda *_: pytest.fail("a member was read"))
    found = [digest(Source(str(place_of), name)) for name in archive(place_of).names]
    assert found == [digest(Source(str(again), name)) for name in archive(again).names]
    assert len(set(found)) == len(found)
    assert {len(one) for one in found} == {16}


@pytest.mark.parametrize("other", [{"b.png": b"one"}, {"a.png": b"two"}, {"a.png": b"one."}])
def test_another_name_content_or_size_is_another_digest(tmp_path, other):
    packed(tmp_path / "a.zip", {"a.png": b"one"})
    packed(tmp_path / "b.zip", other)
    (name,) = other
    first = digest(Source(str(tmp_path / "a.zip"), "a.png"))
    assert first != digest(Source(str(tmp_path / "b.zip"), name))


def test_how_a_member_is_packed_and_where_it_lies_is_not_in_its_digest(tmp_path, members):
    packed(tmp_path / "a.zip", members, zipfile.ZIP_STORED)
    packed(tmp_path / "b.zip", dict(reversed(members.items())))
    for name in members:
        assert len({digest(Source(str(tmp_path / z), name)) for z in ("a.zip", "b.zip")}) == 1


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../x.png", "a/../../x.png", "a/..", "a\\b.png", "C:x.png", "C:/x.png", "a\0b"],
)
def test_an_archive_with_a_name_that_leads_out_of_it_is_refused(tmp_path, members, name):
    stand_in = "#" * len(name)
    path = packed(tmp_path / "a.zip", members | {stand_in: b"evil"})
    path.write_bytes(path.read_bytes().replace(stand_in.encode(), name.encode()))
    line = refusal(check_there, Source(str(path), NAME))
    assert repr(name) in line
    assert "a.zip" in line


def kept(name: str) -> bool:
    """Whether zipfile writes it: it cuts a name at its first NUL."""
    return not name.startswith("\0")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(kept))
@settings(max_examples=150, deadline=None)
def test_any_name_is_read_back_or_refused_in_one_line(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("odd") / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(name, b"inside")
        stored = made.infolist()[0].filename
    unsafe = (
        stored.startswith("/") or stored[1:2] == ":" or "\\" in stored or ".." in stored.split("/")
    )
    if unsafe or stored == "" or stored.endswith("/") or stored.startswith("__MACOSX/"):
        assert repr(stored) in refusal(read, Source(str(path), stored))
    else:
        assert read(Source(str(path), stored)) == b"inside"
        assert list(archive(path).names) == [unicodedata.normalize("NFC", stored)]


def test_names_that_macos_wrote_are_found_as_other_files_spell_them(tmp_path):
    name = "imgs/röntgen 心.png"
    stored = unicodedata.normalize("NFD", name).encode()  # UTF-8, and the bit for it not set
    path = packed(tmp_path / "a.zip", {"#" * len(stored): b"inside"})
    path.write_bytes(path.read_bytes().replace(b"#" * len(stored), stored))
    for form in ("NFC", "NFD"):
        assert read(Source(str(path), unicodedata.normalize(form, name))) == b"inside"


def test_a_name_in_an_old_alphabet_stays_as_it_is(tmp_path):
    path = packed(tmp_path / "a.zip", {"caf#.png": b"inside"})
    path.write_bytes(path.read_bytes().replace(b"caf#", "café".encode("cp437")))
    assert read(Source(str(path), "café.png")) == b"inside"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_twice_is_refused_and_the_others_are_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for name, data in (("a.png", b"one"), ("b.png", b"two"), ("a.png", b"three")):
            made.writestr(name, data)
    for what in (check_there, digest, read):
        line = refusal(what, Source(str(tmp_path / "a.zip"), "a.png"))
        assert "'a.png'" in line
        assert "stands in it twice" in line
    assert read(Source(str(tmp_path / "a.zip"), "b.png")) == b"two"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"outside")
    link = zipfile.ZipInfo("link.png")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(link, "secret.png")
    assert "is a link" in refusal(check_there, Source(str(tmp_path / "a.zip"), "link.png"))


def index_of(data: bytes, name: str) -> int:
    """Where the entry of a name begins in the index."""
    return data.index(name.encode(), data.index(b"PK\x01\x02")) - 46


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [(8, 1, "encrypted"), (8, 0x41, "encrypted"), (10, 9, "method 9"), (10, 99, "method 99")],
)
def test_what_cannot_be_unpacked_is_said_before_it_is_asked(tmp_path, members, at, value, why):
    path = packed(tmp_path / "a.zip", members)
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, index_of(bytes(data), NAME) + at, value)
    path.write_bytes(data)
    assert why in refusal(check_there, Source(str(path), NAME))
    check_there(Source(str(path), "dataset/imgs/1.png"))


# ---------------------------------------------------------------- damage


def test_an_archive_cut_anywhere_is_refused_in_one_line(tmp_path, members):
    whole = packed(tmp_path / "a.zip", members).read_bytes()
    cut = tmp_path / "cut.zip"
    for length in {*range(0, 40), *range(40, len(whole) - 1, 97), len(whole) - 1}:
        cut.write_bytes(whole[:length])
        line = refusal(read, Source(str(cut), NAME))
        assert "cut.zip" in line
        assert "Fetch it again" in line


@pytest.mark.slow
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_byte_is_refused_or_changes_nothing(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    members = {"a.png": png(1), "b.png": png(2)}
    whole = bytearray(packed(folder / "a.zip", members).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (folder / "a.zip").write_bytes(whole)
    for name, inside in members.items():
        found, line = read_or_refused(Source(str(folder / "a.zip"), name))
        assert found == inside or "a.zip" in line


def test_a_wrong_checksum_is_damage(place_of, members):
    data = bytearray(place_of.read_bytes())
    data[index_of(bytes(data), NAME) + 16] ^= 1
    place_of.write_bytes(data)
    line = refusal(read, Source(str(place_of), NAME))
    assert repr(NAME) in line
    assert "damaged" in line
    assert read(Source(str(place_of), "dataset/imgs/1.png")) == members["dataset/imgs/1.png"]


def test_a_bomb_is_inflated_no_further_than_its_stated_size(tmp_path):
    path = packed(tmp_path / "a.zip", {"bomb.png": bytes(50_000_000)})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, index_of(bytes(data), "bomb.png") + 24, 1000)
    path.write_bytes(data)
    tracemalloc.start()
    assert "damaged" in refusal(read, Source(str(path), "bomb.png"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_member_larger_than_any_picture_is_refused_unread(tmp_path, monkeypatch):
    path = packed(tmp_path / "a.zip", {"large.png": bytes(5000)})
    monkeypatch.setattr(archives, "MOST_BYTES", 4999)
    monkeypatch.setattr(archives.Archive, "_packed", lambda *_: pytest.fail("it was read"))
    line = refusal(read, Source(str(path), "large.png"))
    assert "5000 bytes" in line
    assert "large.png" in line


# ---------------------------------------------------------------- threads and changes


def test_many_threads_read_what_one_would(tmp_path):
    members = {f"{n}.png": png(n, 40) for n in range(300)}
    path = packed(tmp_path / "a.zip", members)
    names = [name for name in members for _ in range(4)]
    random.Random(0).shuffle(names)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: (name, read(Source(str(path), name))), names))
    assert all(members[name] == data for name, data in found)


def test_the_index_is_read_once_however_many_ask(place_of, monkeypatch):
    opened = []

    def slowly(path: str, _real=archives._entries):
        opened.append(path)
        time.sleep(0.05)
        return _real(path)

    monkeypatch.setattr(archives, "_entries", slowly)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: archive(place_of), range(64)))
    assert len(opened) == 1


def test_a_changed_archive_is_indexed_anew_and_the_old_index_reads_nothing(tmp_path):
    path = packed(tmp_path / "a.zip", {"a.png": b"one"})
    old = archive(path)
    assert archive(path) is old
    packed(path, {"a.png": b"three"})
    assert archive(path).read("a.png") == b"three"
    assert "changed while 'a.png' was read" in refusal(old.read, "a.png")


def test_no_handle_stays_open(place_of):
    before = len(os.listdir("/proc/self/fd"))
    for name in archive(place_of).names:
        archive(place_of).read(name)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_root_may_be_a_link_or_relative(tmp_path, place_of, members, monkeypatch):
    (tmp_path / "alias.zip").symlink_to(place_of)
    assert read(Source(str(tmp_path / "alias.zip"), NAME)) == members[NAME]
    monkeypatch.chdir(tmp_path)
    assert read(Source("dataset.zip", NAME)) == members[NAME]
    assert place(Source("dataset.zip", NAME)).path == str(place_of)


# ---------------------------------------------------------------- clips


def test_clips_say_in_one_line_that_they_are_not_read_from_archives(place_of):
    source = Source(str(place_of), NAME)
    for what in (
        lambda: locate(source),
        lambda: render_clip(Clip(source, (0,))),
        lambda: masks_of(source, (0,), (12, 12), None),
        lambda: mask_shape(source),
    ):
        line = refusal(what)
        assert repr(NAME) in line
        assert "not read from archives" in line


# ---------------------------------------------------------------- parquet


def table(path: Path, images: list[bytes | None], **options) -> Path:
    held = [{"bytes": image, "path": f"{n}.png"} for n, image in enumerate(images)]
    kind = pl.Struct({"bytes": pl.Binary, "path": pl.String})
    frame = pl.DataFrame({"image": pl.Series(held, dtype=kind), "question": ["?"] * len(images)})
    frame.write_parquet(path, **options)
    return path


def test_a_row_of_a_parquet_file_is_a_source(tmp_path):
    images = [png(n) for n in range(300)]
    path = table(tmp_path / "test.parquet", images, row_group_size=70)
    order = list(range(300))
    random.Random(0).shuffle(order)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: read(Source(str(path), str(n))), order))
    assert found == [images[n] for n in order]
    (tmp_path / "7.png").write_bytes(images[7])
    row, file = Source(str(path), "7"), Source(str(tmp_path), "7.png")
    assert digest(row) == digest(file)
    assert render(Picture(row)) == render(Picture(file))


def test_what_is_wrong_with_an_image_is_said_of_its_member_or_row(tmp_path):
    cut = png(0)[:40]
    member = Source(str(packed(tmp_path / "a.zip", {NAME: cut})), NAME)
    row = Source(str(table(tmp_path / "a.parquet", [cut])), "0")
    assert refusal(render, Picture(member)).startswith(f"{NAME}: ")
    assert refusal(render, Picture(row)).startswith("a.parquet row 0: ")


def test_a_column_of_plain_bytes_will_do(tmp_path):
    pl.DataFrame({"image": [b"one", b"two"]}).write_parquet(tmp_path / "a.parquet")
    assert read(Source(str(tmp_path / "a.parquet"), "1")) == b"two"


@pytest.mark.parametrize("name", ["3", "-1", "1.0", "", "01", "+1", "a", "²", "9" * 30, "1\0"])
def test_a_row_that_is_not_there_is_refused_in_one_line(tmp_path, name):
    path = table(tmp_path / "a.parquet", [b"one", b"two", b"three"])
    for what in (check_there, place, digest, read):
        line = refusal(what, Source(str(path), name))
        assert "a.parquet" in line


def test_a_parquet_file_without_image_bytes_is_refused_in_one_line(tmp_path):
    path = table(tmp_path / "a.parquet", [b"one", None])
    assert "row 1" in refusal(read, Source(str(path), "1"))
    for name, columns in (("b", {"picture": [b"one"]}), ("c", {"image": ["one.png"]})):
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
        line = refusal(check_there, Source(str(tmp_path / f"{name}.parquet"), "0"))
        assert "no column `image`" in line


def test_a_damaged_parquet_file_is_refused_in_one_line(tmp_path):
    whole = table(tmp_path / "a.parquet", [png(n, 40) for n in range(9)]).read_bytes()
    for number, data in enumerate((b"", b"PAR1", whole[:-1], whole[: len(whole) // 2], whole[4:])):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(data)
        assert str(path) in refusal(read, Source(str(path), "0"))


def test_polars_is_imported_for_parquet_alone(place_of):
    code = (
        "import sys; from overread.imaging import check_there, digest; from overread.case import "
        f"Source; s = Source({str(place_of)!r}, {NAME!r}); check_there(s); digest(s); "
        "assert 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_checksum_of_the_index_is_the_usual_one(place_of, members):
    assert archive(place_of).names[NAME].crc == zlib.crc32(members[NAME])


# ----------------- The index of a zip archive, read by hand, is the one the standard library reads

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


@pytest.mark.slow
@given(MEMBERS, st.binary(max_size=30), st.binary(max_size=30), st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_member_is_found_as_zipfile_finds_it(
    tmp_path_factory, members, before, comment, large
):
    """Also with bytes before it, a comment after it, and the numbers of archives above 4 GB."""
    assume(b"PK\x05\x06" not in comment)  # zipfile takes it for the end of the index
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
    assert list(members_of(str(path))) == expected(path)


@pytest.mark.slow
def test_more_members_than_sixteen_bits_count(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for number in range(70_000):
            made.writestr(f"{number}", b"")
    assert sum(1 for _ in members_of(str(tmp_path / "a.zip"))) == 70_000


@pytest.mark.slow
@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_an_index_or_damaged(tmp_path_factory, data, ends):
    path = tmp_path_factory.mktemp("bytes") / "a.zip"
    path.write_bytes(data + (b"PK\x05\x06" + data[:18] if ends else b""))
    try:
        assert all(name is not None for name, *_ in members_of(str(path)))
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
