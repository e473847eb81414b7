"""Readers of clips whose sight is known: all frames, a few of them, or none."""

from __future__ import annotations

import hashlib

from overread.case import Limits, Prompt, Reply, Shown, Traits
from overread.imaging import pixels
from overread.imaging._video import movie_frames
from overread.sight import digit_clip

__all__ = ["Blind", "Counts", "Every", "Four", "Weak"]


def _drawings() -> dict[str, bytes]:
    from overread.case import Clip, Inline
    from overread.imaging import render_clip

    shown = render_clip(Clip(Inline(digit_clip("0123456789")), tuple(range(10))))
    return {str(digit): pixels(one).tobytes() for digit, one in enumerate(shown.frames)}


DRAWINGS = _drawings()


def digits_of(pictures: tuple[Shown, ...]) -> str:
    return "".join(_digit(pixels(shown)) for shown in pictures)


def _digit(seen) -> str:  # type: ignore[no-untyped-def]
    import numpy as np

    flat = np.asarray(seen, float)
    flat = flat.mean(axis=2) if flat.ndim == 3 else flat

    def off(digit: str) -> float:
        drawn = np.frombuffer(DRAWINGS[digit], np.uint8).reshape(flat.shape)
        return float(np.abs(drawn - flat).sum())

    return min(DRAWINGS, key=off)


class _Reader:
    name = identity = "reads frames"
    traits, limits = Traits(), Limits()

    def kept(self, pictures: tuple[Shown, ...]) -> tuple[Shown, ...]:
        return pictures

    async def reply(self, prompt: Prompt) -> Reply:
        seen = self.kept(prompt.pictures)
        return Reply(self.say(seen), tokens_in=30 + 16 * len(seen), tokens_out=9)

    def say(self, seen: tuple[Shown, ...]) -> str:
        return f"FRAMES={len(seen)} DIGITS={digits_of(seen)}"

    async def close(self) -> None: ...


class Every(_Reader):
    """Sees and reads every frame."""


class Four(_Reader):
    """Keeps four frames at most, evenly spread, as the published runs did."""

    def kept(self, pictures: tuple[Shown, ...]) -> tuple[Shown, ...]:
        n = len(pictures)
        return pictures if n <= 4 else tuple(pictures[round(i * (n - 1) / 3)] for i in range(4))


class Counts(Four):
    """Keeps four frames and reads none of them: only tokens tell."""

    def say(self, seen: tuple[Shown, ...]) -> str:
        return "It is a clip of digits."


class Weak(_Reader):
    """Sees every frame and reads none, though what it says follows the clip."""

    def say(self, seen: tuple[Shown, ...]) -> str:
        return "seen: " + hashlib.sha256(b"".join(s.data for s in seen)).hexdigest().translate(
            str.maketrans("0123456789", "ghijklmnop")
        )


class Blind(_Reader):
    """Gets no pixels, and says so many digits all the same."""

    def kept(self, pictures: tuple[Shown, ...]) -> tuple[Shown, ...]:
        return ()

    def say(self, seen: tuple[Shown, ...]) -> str:
        return "FRAMES=40 DIGITS=" + "1234567890" * 4


def read_video(shown: Shown) -> str:
    """The digits of a video, frame by frame."""
    return "".join(_digit(one) for one in movie_frames(shown.data))
