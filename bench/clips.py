"""Clips: frames a second of `render_clip` against the decoder alone, both in one run.

The clips are of EchoNet's kind: 112 x 112, motion JPEG in AVI. The decoder alone gives arrays;
a reader needs PNG, so decoder and encoder with nothing around them are measured too.
"""

from __future__ import annotations

import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
from PIL import Image

from overread.case import Clip, ClipMask, Decoding, Message, Request, Source, Traits, Trial
from overread.engine import Sources, Store, reply_key, request_digest
from overread.imaging import Films, render_clip

CLIPS, LENGTH, FRAMES, SIZE = 12, 160, 40, 112


def against_the_decoder(rounds: int = 5) -> dict:
    """The same windows of the same clips, each side in turn; medians."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        names = write_clips(folder)
        write_masks(folder)
        plain = [Clip(Source(scratch, name), window(n)) for n, name in enumerate(names)]
        masked = [
            Clip(c.source, c.frames, mask=ClipMask(Source(scratch, "masks.npz"))) for c in plain
        ]
        decoder, codecs, ours, both = [], [], [], []
        for _ in range(rounds):
            decoder.append(_timed(lambda: [list(decoded(clip)) for clip in plain]))
            codecs.append(_timed(lambda: [[png(a) for a in decoded(clip)] for clip in plain]))
            ours.append(_timed(lambda: [render_clip(clip) for clip in plain]))
            both.append(_timed(lambda: _shared(plain, masked)))
        planning = _planning(folder, names)
    frames = CLIPS * FRAMES
    alone, around, whole, shared = map(statistics.median, (decoder, codecs, ours, both))
    return {
        "frames": frames,
        "decoder_frames_s": round(frames / alone),
        "decoder_and_png_frames_s": round(frames / around),
        "render_frames_s": round(frames / whole),
        "both_contexts_frames_s": round(2 * frames / shared),
        "render_over_decoder": round(whole / alone, 2),
        "render_over_decoder_and_png": round(whole / around, 2),
        **planning,
        "ok": whole <= 1.3 * around and planning["keys_s"] < 5,
    }


def _shared(plain: list[Clip], masked: list[Clip]) -> None:
    films = Films()
    for pair in zip(plain, masked, strict=True):
        for clip in pair:
            render_clip(clip, films)


def _planning(folder: Path, names: list[str]) -> dict:
    """Keys of 36,000 trials that share 300 clips."""
    clips = [
        Clip(Source(str(folder), names[n % CLIPS]), tuple(range(n, n + FRAMES))) for n in range(300)
    ]

    def plan() -> Iterator[Trial]:
        for clip in clips:
            for output in range(4):
                messages = (Message("user", (clip, f"Which frame? {output}")),)
                for seed in range(30):
                    decoding = Decoding(max_tokens=30, temperature=None, seed=seed)
                    yield Trial("case", {"seed": seed}, Request(messages, decoding), seed)

    with Store(folder / "store.sqlite") as store:
        sources, traits, n = Sources(store, 1), Traits(clips="video"), 0
        began = time.perf_counter()
        for trial in plan():
            digest = request_digest(trial.request.for_reader(traits), sources)
            reply_key("reader", digest, trial, greedy=False)
            n += 1
        taken = time.perf_counter() - began
    return {"trials": n, "keys_s": round(taken, 2)}


def window(number: int) -> tuple[int, ...]:
    start = 7 * number
    return tuple(range(start, start + FRAMES))


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


def png(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG", compress_level=1)
    return file.getvalue()


def write_clips(folder: Path) -> list[str]:
    """Speckle that drifts inside a sector: neither flat nor pure noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    sector = (np.abs(x - 0.5) < 0.7 * y) & (y < 0.95)
    names = []
    for number in range(CLIPS):
        name = f"{number:02}.avi"
        grain = rng.normal(0, 18, (SIZE + LENGTH, SIZE))
        with av.open(str(folder / name), "w", format="avi") as out:
            stream = out.add_stream("mjpeg", rate=50)
            stream.width = stream.height = SIZE
            stream.pix_fmt = "yuvj420p"
            stream.bit_rate = 8_000_000
            for at in range(LENGTH):
                shade = 90 + 60 * np.sin(6 * y + at / 8) + grain[at : at + SIZE]
                pixels = np.where(sector, np.clip(shade, 0, 255), 0).astype(np.uint8)
                out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="gray")))
            out.mux(stream.encode())
        names.append(name)
    return names


def write_masks(folder: Path) -> None:
    masks = np.zeros((LENGTH, SIZE * SIZE), np.uint8)
    masks[:, 40 * SIZE : 70 * SIZE] = 1
    shape = np.array([LENGTH, SIZE, SIZE])
    np.savez_compressed(folder / "masks.npz", lv=np.packbits(masks, axis=1), shape=shape)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
