"""In which order the two frames of T2 are shown (HEARTBEAT 4)."""

from __future__ import annotations

import random
from functools import lru_cache

__all__ = ["ed_position", "t2_orders"]


def t2_orders(n_videos: int, seed: int) -> list[int]:
    """The position (0 or 1) of the ED frame of each video, in the order of the set.

    One shuffle of [edv, esv] per video by a generator of its own: the sequence the authors' code
    gets after `random.seed(seed)`. All passes of a seed share it, and so do the questions for
    either phase. A longer set begins as a shorter one does.
    """
    generator = random.Random(seed)
    positions = []
    for _ in range(n_videos):
        shown = ["edv", "esv"]
        generator.shuffle(shown)
        positions.append(shown.index("edv"))
    return positions


def ed_position(place: int, seed: int) -> int:
    """The position of the ED frame of the video at `place` (from 0) in the set."""
    return _kept(1 << max(8, place.bit_length()), seed)[place]


@lru_cache(256)
def _kept(n_videos: int, seed: int) -> bytes:
    return bytes(t2_orders(n_videos, seed))
