"""Clips: frames a second of the engine against the codecs with nothing around them, in one run.

The engine decodes, lays masks over, encodes PNG, keys, asks and commits. Both sides have every
core. What it does is set beside the decoder alone, which gives arrays nobody can send; beside
decoder and encoder; and beside the same with the overlay laid by Pillow.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import numpy as np
from bench.bare_codecs import fast_png as png
from bench.hearts import write_hearts
from PIL import Image

from overread.case import (
    Clip,
    ClipMask,
    Limits,
    Message,
    Prompt,
    Reply,
    Request,
    Source,
    Traits,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask
from overread.runs import run_async

CLIPS, FRAMES = 20, 40
RED = (255, 0, 0)


def against_the_decoder(rounds: int = 5) -> dict:
    """The same windows of the same clips, each side in turn; medians."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_hearts(folder, CLIPS)
        plain, masked = clips_of(folder)
        red = [np.load(folder / f"{n:03}.npz") for n in range(CLIPS)]
        area = [Image.fromarray(_mask(each)).convert("L") for each in red]
        over = [
            [overlaid(frame, area[n]) for frame in decoded(clip)] for n, clip in enumerate(plain)
        ]

        def decode(n: int) -> None:
            list(decoded(plain[n]))

        def decode_encode(n: int) -> None:
            """Both contexts; the overlaid frames are there already."""
            for frame, shown in zip(decoded(plain[n]), over[n], strict=True):
                png(Image.fromarray(frame))
                png(shown)

        def decode_overlay_encode(n: int) -> None:
            for frame in decoded(plain[n]):
                png(Image.fromarray(frame))
                png(overlaid(frame, area[n]))

        def decode_encode_plain(n: int) -> None:
            for frame in decoded(plain[n]):
                png(Image.fromarray(frame))

        sides: dict[str, Callable[[], float]] = {
            "decoder": lambda: _pooled(decode),
            "codecs_plain": lambda: _pooled(decode_encode_plain),
            "codecs": lambda: _pooled(decode_encode),
            "pillow": lambda: _pooled(decode_overlay_encode),
            "engine_plain": lambda: _engine([plain], folder),
            "engine": lambda: _engine([plain, masked], folder),
        }
        taken: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, work in sides.items():
                taken[name].append(work())
    s = {name: statistics.median(each) for name, each in taken.items()}
    frames = CLIPS * FRAMES
    return {
        "frames_a_context": frames,
        "decoder_frames_s": round(frames / s["decoder"]),
        "one_context": {
            "decoder_and_encoder_frames_s": round(frames / s["codecs_plain"]),
            "engine_frames_s": round(frames / s["engine_plain"]),
            "engine_over_decoder": round(s["engine_plain"] / s["decoder"], 2),
            "engine_over_decoder_and_encoder": round(s["engine_plain"] / s["codecs_plain"], 2),
        },
        "two_contexts": {
            "decoder_and_encoder_frames_s": round(2 * frames / s["codecs"]),
            "with_overlay_by_pillow_frames_s": round(2 * frames / s["pillow"]),
            "engine_frames_s": round(2 * frames / s["engine"]),
            "engine_over_decoder": round(s["engine"] / s["decoder"], 2),
            "engine_over_decoder_and_encoder": round(s["engine"] / s["codecs"], 2),
            "engine_over_overlay_by_pillow": round(s["engine"] / s["pillow"], 2),
        },
        "ok": s["engine_plain"] <= 1.3 * s["codecs_plain"] and s["engine"] <= 1.3 * s["pillow"],
    }


def clips_of(folder: Path) -> tuple[list[Clip], list[Clip]]:
    """A window of each clip, without and with its masks."""
    plain, masked = [], []
    for number in range(CLIPS):
        frames = tuple(range(number, number + FRAMES))
        source = Source(str(folder), f"{number:03}.avi")
        mask = ClipMask(Source(str(folder), f"{number:03}.npz"), RED)
        plain.append(Clip(source, frames))
        masked.append(Clip(source, frames, mask=mask))
    return plain, masked


class Silent:
    """Says nothing to anything, at once, and counts what it was shown."""

    name = identity = "silent"
    traits, limits = Traits(), Limits(concurrency=8)

    def __init__(self) -> None:
        self.shown = 0

    async def reply(self, prompt: Prompt) -> Reply:
        self.shown += len(prompt.pictures)
        return Reply("")

    async def close(self) -> None: ...


def _engine(contexts: list[list[Clip]], folder: Path) -> float:
    """Seconds from a plan of every clip in every context to committed replies, nothing kept."""
    reader = Silent()
    trials = [
        Trial(clip.source.name, {}, Request((Message("user", (clip, "Which frame?")),)))
        for clips in zip(*contexts, strict=True)
        for clip in clips
    ]
    with tempfile.TemporaryDirectory(dir=folder) as place, Store(Path(place) / "store") as store:
        studio = Studio(Sources(store, 1))
        began = time.perf_counter()
        run_async(ask(lambda: trials, reader, store, studio, dataset=1))
        taken = time.perf_counter() - began
        studio.close()
    assert reader.shown == len(contexts) * CLIPS * FRAMES, f"{reader.shown} frames were shown"
    return taken


def _pooled(work: Callable[[int], None]) -> float:
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        began = time.perf_counter()
        list(pool.map(work, range(CLIPS)))
        return time.perf_counter() - began


def decoded(clip: Clip) -> Iterator[np.ndarray]:
    """PyAV alone: in order to the last frame of the window, the luma of the window's frames."""
    with av.open(str(Path(clip.source.root) / clip.source.name)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for number, frame in enumerate(container.decode(stream)):
            if number >= clip.frames[0]:
                luma = frame.planes[0]
                rows = np.frombuffer(luma, np.uint8).reshape(luma.height, luma.line_size)
                yield rows[:, : luma.width].copy()
            if number == clip.frames[-1]:
                return


def overlaid(frame: np.ndarray, mask: Image.Image) -> Image.Image:
    """Half red where the mask is, by Pillow's own blending."""
    image = Image.fromarray(frame).convert("RGB")
    return Image.composite(Image.blend(image, Image.new("RGB", image.size, RED), 0.5), image, mask)


def _mask(packed: np.lib.npyio.NpzFile) -> np.ndarray:
    """The first frame's; the made-up masks are the same in all."""
    _, height, width = packed["shape"]
    bits = np.unpackbits(packed["lv"][0], count=height * width)
    return bits.reshape(height, width).astype(bool)
