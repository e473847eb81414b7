"""The codecs with nothing around them, and how the engine is set beside a loop of them."""

from __future__ import annotations

import io
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from math import inf
from typing import NamedTuple

import numpy as np
from isal import isal_zlib
from PIL import Image


def fast_png(image: Image.Image) -> bytes:
    """Each row as the difference to the one above, deflated by isal: as few lines as it takes."""
    rows = np.asarray(image).reshape(image.height, -1)
    made = np.empty((image.height, rows.shape[1] + 1), np.uint8)
    made[:, 0] = 2
    made[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=made[1:, 1:])
    colour = 0 if image.mode == "L" else 2
    header = struct.pack(">LLBBBBB", *image.size, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", isal_zlib.compress(made, 2)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))
        for kind, body in parts
    )


def pillow_png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


class Took(NamedTuple):
    """Seconds of the clock, and of the processor on all cores."""

    clock: float = inf
    processor: float = inf

    def over(self, other: Took) -> Took:
        return Took(self.clock / other.clock, self.processor / other.processor)

    def within(self, limit: float) -> bool:
        """By the processor, which other programs hardly change; the clock has half as much again.

        The clock must be in it, for work that waits costs no processor.
        """
        return self.processor <= limit and self.clock <= 1.5 * limit

    def rounded(self) -> dict[str, float]:
        return {"clock": round(self.clock, 2), "processor": round(self.processor, 2)}


def best_in_turn(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Took]:
    """Each side in turn, so many times: the least of its seconds."""
    best = dict.fromkeys(sides, Took())
    for _ in range(rounds):
        for name, work in sides.items():
            began, ran = time.perf_counter(), time.process_time()
            work()
            took = Took(time.perf_counter() - began, time.process_time() - ran)
            best[name] = Took(*map(min, best[name], took))
    return best
