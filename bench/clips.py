"""Clips: frames a second of the engine against the codecs with nothing around them, in one run.

The engine decodes, lays masks over, encodes PNG, keys, asks and commits. Both sides have every
core. What it does is set beside the decoder alone, which gives arrays nobody can send; beside the
decoder and the quick PNG writer that the engine has, whose frames are larger where masks lie over
them; and beside decoder, overlay and PNG as Pillow alone would have them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import numpy as np
from bench.bare_codecs import best_in_turn, fast_png, pillow_png
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
    """The same windows of the same clips, each side in turn, and the best of each."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_hearts(folder, CLIPS)
        plain, masked = clips_of(folder)
        red = [np.load(folder / f"{n:03}.npz") for n in range(CLIPS)]
        area = [Image.fromarray(_mask(each)).convert("L") for each in red]

        def decode(n: int) -> None:
            list(decoded(plain[n]))

        def one_context(png: Callable[[Image.Image], bytes]) -> Callable[[int], None]:
            def work(n: int) -> None:
                for frame in decoded(plain[n]):
                    png(Image.fromarray(frame))

            return work

        def two_contexts(png: Callable[[Image.Image], bytes]) -> Callable[[int], None]:
            def work(n: int) -> None:
                for frame in decoded(plain[n]):
                    png(Image.fromarray(frame))
                    png(overlaid(frame, area[n]))

            return work

        sides: dict[str, Callable[[], object]] = {
            "decoder": lambda: _pooled(decode),
            "quick_one": lambda: _pooled(one_context(fast_png)),
            "pillow_one": lambda: _pooled(one_context(pillow_png)),
            "engine_one": lambda: _engine([plain], folder),
            "quick_two": lambda: _pooled(two_contexts(fast_png)),
            "pillow_two": lambda: _pooled(two_contexts(pillow_png)),
            "engine_two": lambda: _engine([plain, masked], folder),
        }
        s = best_in_turn(sides, rounds)
    frames = CLIPS * FRAMES
    results, ok = {}, True
    # A frame of 112 pixels is written in 60 µs; its key, row and objects take as much again.
    for number, over_quick, over_pillow in (("one", 1.8, 0.8), ("two", 2.3, 1.0)):
        engine = s[f"engine_{number}"]
        quick, pillow = engine.over(s[f"quick_{number}"]), engine.over(s[f"pillow_{number}"])
        results[f"{number}_context{'s' * (number == 'two')}"] = {
            "engine_frames_s": round((1 + (number == "two")) * frames / engine.clock),
            "engine_over_decoder": engine.over(s["decoder"]).rounded(),
            "engine_over_codecs": quick.rounded(),
            "engine_over_pillow": pillow.rounded(),
        }
        ok = ok and quick.within(over_quick) and pillow.within(over_pillow)
    decoder = round(frames / s["decoder"].clock)
    return {"frames_a_context": frames, "decoder_frames_s": decoder, **results, "ok": ok}


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


def _engine(contexts: list[list[Clip]], folder: Path) -> None:
    """From a plan of every clip in every context to committed replies, nothing kept."""
    reader = Silent()
    trials = [
        Trial(clip.source.name, {}, Request((Message("user", (clip, "Which frame?")),)))
        for clips in zip(*contexts, strict=True)
        for clip in clips
    ]
    with tempfile.TemporaryDirectory(dir=folder) as place, Store(Path(place) / "store") as store:
        studio = Studio(Sources(store, 1))
        run_async(ask(lambda: trials, reader, store, studio, dataset=1))
        studio.close()
    assert reader.shown == len(contexts) * CLIPS * FRAMES, f"{reader.shown} frames were shown"


def _pooled(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        list(pool.map(work, range(CLIPS)))


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
