"""The pictures of vignettes made to order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from overread.phantoms.vignette_plan import Picture
from overread.phantoms.vignette_questions import VIEWS
from overread.phantoms.workers import Job, make_all

__all__ = ["drawn", "make_pictures"]


class Made(msgspec.Struct, frozen=True):
    """A finished picture's name."""

    name: str


def drawn(seed: int, picture: Picture) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The pixels of a picture; the same seed and facts always give the same."""
    rng = np.random.default_rng([seed, 1, picture.number])
    return VIEWS[picture.view].draw(rng, picture.facts)


def make_pictures(folder: Path, seed: int, pictures: Sequence[Picture], workers: int) -> None:
    """Write every picture below `folder`."""
    make_all(JOB, folder, seed, pictures, workers)


def _picture(folder: Path, seed: int, picture: Picture) -> Made:
    # Fast compression: grain hardly compresses, and the set is made while somebody waits.
    image = Image.fromarray(drawn(seed, picture))
    image.save(folder / f"{picture.name}.png", compress_level=1)
    return Made(picture.name)


JOB = Job("vignette", __name__, Picture, Made, _picture)
