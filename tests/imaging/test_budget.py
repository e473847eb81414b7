"""Small files that stand for gigabytes or minutes: a line in seconds, within one budget of bytes.

Each bomb is made in one process and decoded in another, whose greatest size is what the system
says of it, over what it had before.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib
from PIL import Image

from overread.case import BadInput, Inline, Picture, Resize, Shown, Source
from overread.imaging import Cache, _budget, open_image, render
from overread.imaging._parquet import pages_of

GIGABYTE = 1 << 30

# One process has imported everything; it forks for each file, and VmHWM starts anew in the fork.
SERVER = """
import json, os, sys, threading, time
from overread.case import BadInput, Clip, Picture, Resize, Source
from overread.imaging import Films, masks_of, render, render_clip
from overread.imaging._nifti import nifti_shape
import av, pydicom, polars, nibabel, pathlib
import overread.imaging._dicom, overread.imaging._parquet, overread.imaging._nifti

def work(root, name, way):
    source = Source(root, name)
    if way == "clip":
        render_clip(Clip(source, (0,)))
    elif way == "masks":
        masks_of(source, (0,), (1024, 1024), Films())
    elif way == "shape":
        nifti_shape(pathlib.Path(root, name), name)
    elif way == "probe":
        from overread.imaging import probe_dicom
        probe_dicom(pathlib.Path(root, name))
    elif way == "facts":
        from overread.imaging import dicom_facts
        dicom_facts(pathlib.Path(root, name), name)
    else:
        render(Picture(source, (Resize(64, 64),)))

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

def forked(root, name, way, threads):
    lines = []
    def one():
        try:
            work(root, name, way)
            lines.append("")
        except BadInput as error:
            lines.append(str(error))
    open("/proc/self/clear_refs", "w").write("5")
    before, began = peak(), time.process_time()
    several = [threading.Thread(target=one) for _ in range(threads)]
    [thread.start() for thread in several]
    [thread.join() for thread in several]
    print(json.dumps([peak() - before, time.process_time() - began, lines]), flush=True)

for line in sys.stdin:
    child = os.fork()
    if not child:
        forked(*json.loads(line))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(json.dumps([0, 0, [f"the process ended with {status}"]]), flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as made:  # fmt: skip
        yield made
        assert made.stdin is not None
        made.stdin.close()


Decoded = Callable[..., tuple[int, float, list[str]]]


@pytest.fixture
def decoded(server: subprocess.Popen[str]) -> Decoded:
    """Bytes over what the process had, seconds of the processor, and a line for each thread."""

    def ask(
        root: Path, name: str, way: str = "picture", threads: int = 1
    ) -> tuple[int, float, list[str]]:
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps([str(root), name, way, threads]), file=server.stdin, flush=True)
        peak, seconds, lines = json.loads(server.stdout.readline())
        assert all("\n" not in line for line in lines)
        return peak, seconds, lines

    return ask


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))


MEGABYTE = 1 << 20


@cache
def black() -> bytes:
    """A megabyte of zeros, deflated so that any number of them may follow each other."""
    packing = zlib.compressobj(1, wbits=-15)
    return packing.compress(bytes(MEGABYTE)) + packing.flush(zlib.Z_FULL_FLUSH)


def deflated(first: bytes, megabytes: int) -> bytes:
    """Something, and so many megabytes of zeros."""
    packing = zlib.compressobj(1, wbits=-15)
    start = packing.compress(first) + packing.flush(zlib.Z_FULL_FLUSH)
    return start + black() * megabytes + zlib.compress(b"", wbits=-15)


def crc_of(first: bytes, megabytes: int) -> int:
    found = isal_zlib.crc32(first)
    for _ in range(megabytes):
        found = isal_zlib.crc32(bytes(MEGABYTE), found)
    return found


def zipped(name: str, first: bytes, megabytes: int) -> bytes:
    """An archive of one member."""
    body, size = deflated(first, megabytes), len(first) + megabytes * MEGABYTE
    facts = (crc_of(first, megabytes), len(body), size, len(name), 0)
    entry = struct.pack("<5H3L2H", 20, 0, 8, 0, 33, *facts)
    member = b"PK\x03\x04" + entry + name.encode() + body
    index = b"PK\x01\x02\x14\x00" + entry + bytes(14) + name.encode()
    end = struct.pack("<4H2LH", 0, 0, 1, 1, len(index), len(member), 0)
    return member + index + b"PK\x05\x06" + end


def png(width: int, height: int, colour: int = 0, more: bytes = b"") -> bytes:
    channels = {0: 1, 2: 3, 6: 4}[colour]
    size = (width * channels + 1) * height
    pixels = b"\x78\x01" + deflated(bytes(size % MEGABYTE), size // MEGABYTE)
    pixels += struct.pack(">HH", size % 65521, 1)  # Adler's sum of as many zeros
    header = struct.pack(">LLBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )  # fmt: skip


def element(tag: int, vr: bytes, body: bytes) -> bytes:
    return struct.pack("<HH2sH", tag >> 16, tag & 0xFFFF, vr, len(body)) + body


def deflated_dicom(rows: int, columns: int, frames: int = 1) -> bytes:
    syntax = element(0x00020010, b"UI", b"1.2.840.10008.1.2.1.99")
    length = element(0x00020000, b"UL", struct.pack("<L", len(syntax)))
    numbers = {2: 1, 0x10: rows, 0x11: columns, 0x100: 16, 0x101: 16, 0x102: 15, 0x103: 0}
    body = element(0x00080060, b"CS", b"CR")
    for tag, number in numbers.items():
        body += element(0x00280000 + tag, b"US", struct.pack("<H", number))
        if tag == 2:
            body += element(0x00280004, b"CS", b"MONOCHROME2 ")
            body += element(0x00280008, b"IS", f"{frames:<4}".encode())
    size = rows * columns * 2 * frames
    body += struct.pack("<HH2sHL", 0x7FE0, 0x10, b"OW", 0, size)
    return bytes(128) + b"DICM" + length + syntax + deflated(body, size // MEGABYTE)


def scans(width: int, height: int, count: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (width, height), 128).save(file, "JPEG", progressive=True)
    data = file.getvalue()
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * count + b"\xff\xd9"


def thumbnails(count: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (8, 8)).save(file, "TIFF")
    data = bytearray(file.getvalue())
    (at,) = struct.unpack_from("<L", data, 4)
    (tags,) = struct.unpack_from("<H", data, at)
    struct.pack_into("<L", data, at + 2 + 12 * tags, len(data))
    page = struct.pack("<HHHLL", 1, 254, 4, 1, 1)
    base = len(data)
    for number in range(1, count + 1):
        data += page + struct.pack("<L", base + 18 * number if number < count else 0)
    return bytes(data)


def nifti(frames: int) -> bytes:
    import nibabel

    header = nibabel.Nifti1Header()
    header.set_data_shape((1024, 1024, frames))
    header.set_data_dtype(np.uint8)
    header["magic"], header["vox_offset"] = b"n+1", 352
    first = header.binaryblock + bytes(4)
    size = (len(first) + frames * MEGABYTE) % (1 << 32)
    end = struct.pack("<LL", crc_of(first, frames), size)
    return b"\x1f\x8b\x08" + bytes(7) + deflated(first, frames) + end


def npz(frames: int) -> bytes:
    first = io.BytesIO()
    shape = {"descr": "|u1", "fortran_order": False, "shape": (frames, 1024, 1024)}
    np.lib.format.write_array_header_1_0(first, shape)
    return zipped("m.npy", first.getvalue(), frames)


BOMBS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "tall.png": (lambda: png(1, 89_000_000), "picture", "memory"),
    "wide.png": (lambda: png(89_000_000, 1), "picture", "memory"),
    "alpha.png": (lambda: png(9400, 9500, 6), "picture", "memory"),
    "chunks.png": (
        lambda: png(8, 8, more=chunk(b"tEXt", b"") * 2_000_000), "picture", "chunks",
    ),
    "thumbnails.tif": (lambda: thumbnails(500_000), "picture", "several pages"),
    "scans.jpg": (lambda: scans(4000, 4000, 400), "picture", "scans over"),
    "deflated.dcm": (lambda: deflated_dicom(16384, 32767), "picture", "memory"),
    "frames.dcm": (lambda: deflated_dicom(4096, 4096, 40), "clip", "memory"),
    "long.nii.gz": (lambda: nifti(1100), "clip", "memory"),
    "shape.nii.gz": (lambda: nifti(1100), "shape", "memory"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_line_that_names_it(tmp_path: Path, decoded: Decoded, name: str) -> None:
    make, way, said = BOMBS[name]
    (tmp_path / name).write_bytes(make())
    peak, seconds, (line,) = decoded(tmp_path, name, way)
    assert line.startswith(f"{name}: ")
    assert said in line
    assert peak < GIGABYTE
    assert seconds < 30


@pytest.mark.slow
@pytest.mark.parametrize("way", ["probe", "facts"])
def test_a_deflated_header_is_read_without_its_pixels(
    tmp_path: Path, decoded: Decoded, way: str
) -> None:
    (tmp_path / "a.dcm").write_bytes(deflated_dicom(16384, 32767 if way == "facts" else 4096))
    peak, seconds, (line,) = decoded(tmp_path, "a.dcm", way)
    assert (line, peak < 1 << 27, seconds < 10) == ("", True, True)


@pytest.mark.slow
def test_large_pictures_wait_for_each_other(tmp_path: Path, decoded: Decoded) -> None:
    """Eight of the largest colour pictures that are shown at all, in eight threads."""
    (tmp_path / "a.png").write_bytes(png(9400, 9500, 2))
    peak, _, lines = decoded(tmp_path, "a.png", threads=8)
    assert lines == [""] * 8
    assert peak < GIGABYTE


@pytest.mark.slow
def test_masks_of_a_gigabyte(tmp_path: Path, decoded: Decoded) -> None:
    (tmp_path / "m.npz").write_bytes(npz(1100))
    peak, _, (line,) = decoded(tmp_path, "m.npz", "masks")
    assert line.startswith("m.npz: would take")
    assert peak < GIGABYTE


@pytest.mark.slow
@pytest.mark.parametrize(("megabytes", "said"), [(1024, "too large"), (300, "unknown format")])
def test_a_zip_of_large_members(
    tmp_path: Path, decoded: Decoded, megabytes: int, said: str
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped("0.png", b"", megabytes))
    peak, _, lines = decoded(tmp_path / "a.zip", "0.png", threads=4)
    assert all(said in line and "0.png" in line for line in lines)
    assert peak < GIGABYTE


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "megabytes", "shown"), [(60, 10, True), (2, 300, False)])
def test_a_parquet_file_that_stands_for_much_more(
    tmp_path: Path, decoded: Decoded, rows: int, megabytes: int, shown: bool
) -> None:
    """Rows are read one by one where they are large; a row too large for memory is refused."""
    image = {"bytes": png(8, 8) + bytes(megabytes << 20), "path": ""}
    frame = pl.DataFrame({"image": [image] * rows})
    frame.write_parquet(tmp_path / "a.parquet", compression="zstd", row_group_size=rows)
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    peak, _, (line,) = decoded(tmp_path / "a.parquet", "0")
    assert peak < GIGABYTE // 2
    assert line == "" if shown else line.startswith("row 0 of ") and "memory" in line


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "jpg", "tif", "dcm", "bmp", "mp4", "mkv", "nii", "npz"])
def test_a_sparse_file_of_a_gigabyte(tmp_path: Path, decoded: Decoded, ending: str) -> None:
    with open(tmp_path / f"a.{ending}", "wb") as file:
        file.truncate(1 << 30)
    way = {"mp4": "clip", "mkv": "clip", "nii": "clip", "npz": "masks"}.get(ending, "picture")
    peak, seconds, (line,) = decoded(tmp_path, f"a.{ending}", way)
    assert "too large" in line
    assert peak < 1 << 26
    assert seconds < 10


# ---------------------------------------------------------------- the budget itself


def test_what_is_held_is_shared_and_waits_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once: list[int] = []
    most: list[int] = []
    lock = threading.Lock()
    part = _budget.MOST_HELD // 2 + 1

    @_budget.budgeted
    def work() -> int:
        _budget.hold(part, "a.png")
        with lock:
            at_once.append(1)
            most.append(len(at_once))
        time.sleep(0.02)
        with lock:
            at_once.pop()
        return part

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [part] * 6
    assert max(most) == 1
    assert _budget._room.free == _budget.MOST_HELD


def test_what_a_part_holds_is_let_go_with_it_and_an_error_lets_go_of_all() -> None:
    @_budget.budgeted
    def part() -> None:
        _budget.hold(_budget.MOST_HELD // 2 + 1, "a part")

    @_budget.budgeted
    def whole(times: int) -> None:
        for _ in range(times):
            part()
        _budget.hold(_budget.MOST_HELD + 1, "all.png")

    with pytest.raises(BadInput, match=r"^all.png: would take 800 MB of memory"):
        whole(5)
    assert _budget._room.free == _budget.MOST_HELD


def test_a_picture_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    Image.new("L", (64, 64)).save(file, "PNG")
    monkeypatch.setattr(_budget, "_MOST_SECONDS", -1.0)
    with pytest.raises(BadInput, match=r"^a.png: takes over -1 seconds") as refused:
        open_image(file.getvalue(), "a.png")
    assert "\n" not in str(refused.value)


def test_a_large_but_honest_picture_is_shown_as_before() -> None:
    """It needs more than the first share, and so is begun again."""
    noise = np.random.default_rng(3).integers(0, 256, (4000, 3000, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "BMP")
    assert np.array_equal(np.asarray(open_image(file.getvalue(), "a.bmp")), noise)


def test_gzip_is_inflated_no_further_than_said() -> None:
    packed = gzip.compress(bytes(5_000_000))
    assert _budget.inflated(packed, _budget.GZIP, "a").getvalue() == bytes(5_000_000)
    with pytest.raises(zlib.error):
        _budget.inflated(packed, _budget.GZIP, "a", at_most=4_999_999)
    with pytest.raises(EOFError):
        _budget.inflated(packed[:-9], _budget.GZIP, "a")


@pytest.mark.parametrize("compression", ["zstd", "uncompressed", "snappy"])
@pytest.mark.parametrize("group", [7, 1000])
def test_the_pages_of_a_parquet_file_are_found(
    tmp_path: Path, compression: str, group: int
) -> None:
    images = [{"bytes": os.urandom(3000), "path": str(n)} for n in range(400)]
    frame = pl.DataFrame({"n": range(400), "image": images})
    frame.write_parquet(tmp_path / "a.parquet", compression=compression, row_group_size=group)
    pages = pages_of(str(tmp_path / "a.parquet"), "a")
    assert sum(page.end - page.first for page in pages) == 2 * 400  # of `bytes` and of `path`
    assert {page.first for page in pages if page.first == 0} == {0}
    assert max(page.end for page in pages) == 400
    assert sum(page.size for page in pages) >= 400 * 3000


@pytest.mark.parametrize("at", range(1, 60, 7))
def test_a_parquet_file_with_a_damaged_index_is_one_line(tmp_path: Path, at: int) -> None:
    pl.DataFrame({"image": [b"x" * 50] * 9}).write_parquet(tmp_path / "a.parquet")
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[-8 - at] ^= 0xFF
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(BadInput) as refused:
        render(Picture(Source(str(tmp_path / "a.parquet"), "0"), (Resize(4, 4),)))
    assert "\n" not in str(refused.value)


def test_inline_pictures_are_counted_too() -> None:
    with pytest.raises(BadInput, match="inline image: would take"):
        render(Picture(Inline(png(1, 20_000_000)), (Resize(4, 4),)))


# ---------------- The cache is bounded, forgets the least recently used, and renders each key once


def picture(size=100):
    return Shown("image/png", bytes(size))


def counting(made, key, size=100):
    def make():
        made.append(key)
        return picture(size)

    return make


def test_a_kept_picture_is_the_same_object_and_is_not_made_again():
    cache, made = Cache(), []
    first = cache.get("a", counting(made, "a"))
    assert cache.get("a", counting(made, "a")) is first
    assert made == ["a"]


def test_the_least_recently_used_goes_first():
    cache, made = Cache(most_bytes=600), []  # two pictures of 100 bytes, counted 2.4 times
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, counting(made, key))
    assert made == ["a", "b", "c", "b"]


def test_the_base64_copy_is_counted():
    cache = Cache(most_bytes=10_000)
    cache.get("a", lambda: picture(1000))
    assert 2400 <= cache.held_bytes <= 2500


def test_of_small_pictures_it_keeps_no_more_than_so_many():
    cache, made = Cache(), []
    for key in range(5_000):
        cache.get(key, lambda: picture(1))
    cache.get(4_999, counting(made, "last"))
    cache.get(0, counting(made, "first"))
    assert made == ["first"]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 900)), max_size=60))
def test_it_never_holds_more_than_it_may(requests):
    cache = Cache(most_bytes=2000)
    for key, size in requests:
        cache.get(key, lambda size=size: picture(size))
        assert 0 <= cache.held_bytes <= 2000


def test_what_is_larger_than_the_cache_is_made_and_not_kept():
    cache, made = Cache(most_bytes=500), []
    cache.get("small", counting(made, "small"))
    for _ in range(2):
        assert len(cache.get("large", counting(made, "large", 10_000)).data) == 10_000
    cache.get("small", counting(made, "small"))
    assert made == ["small", "large", "large"]


def in_threads(count, work):
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(index):
        barrier.wait()
        try:
            results[index] = work(index)
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    return results


def test_threads_that_ask_at_once_share_one_rendering():
    cache, made = Cache(), []

    def slow():
        made.append(1)
        time.sleep(0.05)
        return picture()

    results = in_threads(8, lambda _: cache.get("a", slow))
    assert made == [1]
    assert all(result is results[0] for result in results)


def test_different_keys_do_not_wait_for_each_other():
    cache, meeting = Cache(), threading.Barrier(4, timeout=10)

    def meet():
        meeting.wait()  # passes only when all four are being made at once
        return picture()

    assert all(isinstance(r, Shown) for r in in_threads(4, lambda i: cache.get(i, meet)))


def test_an_exception_reaches_every_waiter_and_is_not_kept():
    cache, made = Cache(), []

    def fail():
        made.append(1)
        time.sleep(0.05)
        raise ValueError("no such file")

    results = in_threads(6, lambda _: cache.get("a", fail))
    assert made == [1]
    assert all(isinstance(r, ValueError) for r in results)
    assert cache.get("a", picture).data == bytes(100)


def test_an_interrupt_does_not_leave_the_key_locked():
    cache = Cache()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get("a", interrupted)
    assert cache.get("a", picture).data == bytes(100)


def test_under_many_threads_the_sum_stays_right():
    cache = Cache(most_bytes=5000)

    def work(index):
        for step in range(300):
            key = (index * 7 + step * 13) % 23
            assert len(cache.get(key, lambda key=key: picture(10 * key + 1)).data) == 10 * key + 1
        return True

    assert in_threads(6, work) == [True] * 6
    assert 0 < cache.held_bytes <= 5000
    for key in range(100, 400):  # push everything else out: what remains is counted exactly
        cache.get(key, lambda: picture(100))
    assert cache.held_bytes == 5000 // 241 * 241
