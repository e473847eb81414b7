"""Radiograph-sized pictures to measure with, and the trials that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from overread.case import Decoding, Message, Picture, Request, Resize, Source, Trial


def write_films(folder: Path, n: int) -> list[Source]:
    """n grey 1024 x 1024 JPEGs with the grain of film: neither flat nor pure noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:1024, 0:1024] / 1024
    sources = []
    for number in range(n):
        shade = 120 + 80 * np.sin(3 * x + rng.uniform(0, 6)) * np.cos(2 * y + rng.uniform(0, 6))
        film = np.clip(shade + rng.normal(0, 8, shade.shape), 0, 255).astype(np.uint8)
        name = f"{number:04}.jpg"
        Image.fromarray(film).save(folder / name, quality=95)
        sources.append(Source(str(folder), name))
    return sources


def picture(source: Source, px: int = 224) -> Picture:
    return Picture(source, (Resize(px, px),))


def questions(sources: list[Source], n: int, px: int = 224) -> Callable[[], Iterator[Trial]]:
    """n distinct trials over the films."""
    decoding = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)

    def plan() -> Iterator[Trial]:
        for number in range(n):
            text = f"Film {number}: is pleural effusion present? Answer Yes or No."
            shown = picture(sources[number % len(sources)], px)
            request = Request((Message("user", (shown, text)),), decoding)
            yield Trial(f"{number}", {"image": "original"}, request)

    return plan
