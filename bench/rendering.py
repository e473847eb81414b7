"""Pictures: the engine against the codecs with nothing around them, in one run.

The engine reads, decodes, resizes, encodes, keys, asks a reader that says nothing, and commits.
Beside it stand two bare loops over the same files with every core: one with the quick PNG writer
that the engine has, and one as Pillow alone would have it.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pydicom
from bench.bare_codecs import best_in_turn, fast_png, pillow_png
from bench.clips import Silent
from PIL import Image

from overread.case import Box, Fill, Message, Picture, Request, Resize, Source, Trial
from overread.engine import Sources, Store, Studio, ask
from overread.imaging import render
from overread.runs import run_async

SMALL = (224, 224)
CORES = os.cpu_count() or 2


def against_codecs(rounds: int = 5) -> dict:
    """Every kind of file, each side in turn, and the best of each.

    Over the codecs the engine has a SHA-256 of every file, and a key, a reply and a row for every
    trial, a quarter of a millisecond. That is little beside a film's decoding, and as much as
    everything else for a PNG that is sent as it is. The 10 MB of a DICOM film that is not
    compressed are read and digested in half the time of all that is made of them: once, for the
    store keeps the digest.
    """
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, (write, number, opened, over_codecs, over_pillow) in KINDS.items():
            sources = [write(Path(folder), kind, n) for n in range(number)]
            results[kind] = _one_kind(sources, opened, over_codecs, over_pillow, rounds)
    return results | {"ok": all(result["ok"] for result in results.values())}


def _one_kind(
    sources: list[Source],
    opened: Callable[[Path], Image.Image],
    over_codecs: float,
    over_pillow: float,
    rounds: int,
) -> dict:
    def bare(write: Callable[[Image.Image], bytes]) -> Callable[[Source], bytes]:
        def one(source: Source) -> bytes:
            image = opened(Path(source.root) / source.name)
            if image.size != SMALL:
                image = image.resize(SMALL, Image.Resampling.BILINEAR)
            return write(image)

        return one

    shown = [Picture(source, (Resize(*SMALL),)) for source in sources]
    hidden = [
        Picture(each.source, (*each.operations, Fill(Box(9, 9, side, 40))))
        for each in shown
        for side in (40, 60)
    ]
    sides: dict[str, Callable[[], object]] = {
        "codecs": lambda: _pooled(bare(fast_png), sources),
        "pillow": lambda: _pooled(bare(pillow_png), sources),
        "engine": lambda: _engine(shown),
        "three_conditions": lambda: _engine([*shown, *hidden]),
        "one_thread": lambda: _pooled(render, shown, 1),
        "all_cores": lambda: _pooled(render, shown),
    }
    s = best_in_turn(sides, rounds)
    over_quick, over_theirs = s["engine"].over(s["codecs"]), s["engine"].over(s["pillow"])
    return {
        "files": len(sources),
        "engine_ms": round(1000 * s["engine"].clock / len(sources), 2),
        "engine_over_codecs": over_quick.rounded(),
        "engine_over_pillow": over_theirs.rounded(),
        "three_conditions_over_one": s["three_conditions"].over(s["engine"]).rounded(),
        "all_cores_over_one_thread": round(s["one_thread"].clock / s["all_cores"].clock, 2),
        "ok": over_quick.within(over_codecs) and over_theirs.within(over_pillow),
    }


def _pooled(work: Callable, each: list, threads: int = CORES) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, each))


def _engine(pictures: list[Picture]) -> None:
    """From a plan to committed replies, nothing kept; the conditions of a file together."""
    trials = [
        Trial(f"{n}", {}, Request((Message("user", (picture, "Is there an effusion?")),)))
        for n, picture in enumerate(sorted(pictures, key=lambda each: each.source.name))
    ]
    reader = Silent()
    with tempfile.TemporaryDirectory() as place, Store(Path(place) / "store") as store:
        studio = Studio(Sources(store, 1))
        run_async(ask(lambda: trials, reader, store, studio, dataset=1))
        studio.close()
    assert reader.shown == len(pictures), f"{reader.shown} pictures were shown"


# ---------------------------------------------------------------- files


def _film(number: int, height: int, width: int) -> np.ndarray:
    """Shade with the grain of film, in 0 to 1: neither flat nor pure noise."""
    chance = np.random.default_rng(number)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / max(height, width)
    shade = 0.5 + 0.3 * np.sin(3 * x + number) * np.cos(2 * y + number)
    return np.clip(shade + chance.normal(0, 0.03, shade.shape), 0, 1)


def _image(suffix: str, height: int, width: int, depth: int = 1) -> Callable[..., Source]:
    def write(folder: Path, kind: str, number: int) -> Source:
        grey = (_film(number, height, width) * 255).astype(np.uint8)
        name = f"{kind}-{number:04}.{suffix}"
        image = Image.fromarray(grey if depth == 1 else np.dstack([grey, grey // 2, 255 - grey]))
        image.save(folder / name, **({"quality": 95} if suffix == "jpg" else {}))
        return Source(str(folder), name)

    return write


def _dicom(folder: Path, kind: str, number: int) -> Source:
    """A radiograph of 12 bits in 16, little-endian without a preamble, with a window."""

    def element(tag: int, value: int | bytes) -> bytes:
        body = value if isinstance(value, bytes) else struct.pack("<H", value)
        return struct.pack("<HHL", tag >> 16, tag & 0xFFFF, len(body)) + body

    stored = (_film(number, 2500, 2048) * 4095).astype("<u2")
    facts = {
        0x00080060: b"CR", 0x00280002: 1, 0x00280004: b"MONOCHROME2 ", 0x00280010: 2500,
        0x00280011: 2048, 0x00280100: 16, 0x00280101: 12, 0x00280102: 11, 0x00280103: 0,
        0x00281050: b"2048", 0x00281051: b"4096", 0x7FE00010: stored.tobytes(),
    }  # fmt: skip
    name = f"{kind}-{number:04}.dcm"
    (folder / name).write_bytes(b"".join(element(*fact) for fact in facts.items()))
    return Source(str(folder), name)


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
        return image


def _opened_dicom(path: Path) -> Image.Image:
    """pydicom, and the window looked up in a table."""
    held = pydicom.dcmread(path, force=True)
    held.file_meta = pydicom.dataset.FileMetaDataset()
    held.file_meta.TransferSyntaxUID = pydicom.uid.ImplicitVRLittleEndian
    table = (np.arange(4096) * 255 / 4095 + 0.5).astype(np.uint8)
    return Image.fromarray(table[held.pixel_array])


# By kind: how a file is written, how many, how a bare loop opens it, and what the engine may take
# over the same codecs and over Pillow's.
KINDS = {
    "film 2500 x 2048, JPEG": (_image("jpg", 2500, 2048), 24, _opened, 1.3, 1.3),
    "film 2500 x 2048, PNG": (_image("png", 2500, 2048), 12, _opened, 1.3, 1.3),
    "film 2500 x 2048, DICOM": (_dicom, 24, _opened_dicom, 2.0, 2.0),
    "film 1024 x 1024, JPEG": (_image("jpg", 1024, 1024), 200, _opened, 1.3, 1.1),
    "photograph 640 x 480, JPEG": (_image("jpg", 480, 640, 3), 200, _opened, 1.3, 1.1),
    "PNG 224 x 224, as it is": (_image("png", 224, 224), 1000, _opened, 1.6, 0.7),
}
