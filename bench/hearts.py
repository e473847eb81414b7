"""Clips of EchoNet's kind to measure with: 112 x 112, motion JPEG in AVI, masks, and a list."""

from __future__ import annotations

import csv
from pathlib import Path

import av
import numpy as np

SIZE, LENGTH = 112, 100


def write_hearts(folder: Path, n: int) -> Path:
    """n clips, each with masks of every frame, and the csv that names their phases.

    The phases are 14 to 20 frames apart, so that the authors' windows hold 33 to 47 frames, 40 on
    average. No two files are alike: equal bytes would be rendered once for both.
    """
    rows = []
    for number in range(n):
        clip, mask = f"{number:03}.avi", f"{number:03}.npz"
        _write_clip(folder / clip, number)
        _write_masks(folder / mask)
        ed = 20 + number % 11
        rows.append({"clip": clip, "mask": mask, "ed": ed, "es": ed + 14 + number % 7})
    path = folder / "cases.csv"
    with path.open("w", newline="") as file:
        sheet = csv.DictWriter(file, ("clip", "mask", "ed", "es"))
        sheet.writeheader()
        sheet.writerows(rows)
    return path


def _write_clip(path: Path, number: int) -> None:
    """Speckle that drifts inside a sector: neither flat nor pure noise."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    sector = (np.abs(x - 0.5) < 0.7 * y) & (y < 0.95)
    grain = np.random.default_rng(number).normal(0, 18, (SIZE + LENGTH, SIZE))
    with av.open(str(path), "w", format="avi") as out:
        stream = out.add_stream("mjpeg", rate=50)
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuvj420p"
        stream.bit_rate = 8_000_000
        for at in range(LENGTH):
            shade = 90 + 60 * np.sin(6 * y + at / 8) + grain[at : at + SIZE]
            pixels = np.where(sector, np.clip(shade, 0, 255), 0).astype(np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="gray")))
        out.mux(stream.encode())


def _write_masks(path: Path) -> None:
    masks = np.zeros((LENGTH, SIZE * SIZE), np.uint8)
    masks[:, 40 * SIZE : 70 * SIZE] = 1
    shape = np.array([LENGTH, SIZE, SIZE])
    np.savez_compressed(path, lv=np.packbits(masks, axis=1), shape=shape)
