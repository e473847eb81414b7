"""Videos that arrive whole, or are not measured.

A clip sent as a video is sampled by whoever decodes it, without a word. What it costs tells: a
video of so many frames must add as many tokens a frame as a short one does. Three short videos of
noise are asked about before the first of a length, each for one token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from overread.case import (
    Clip,
    Decoding,
    Fact,
    Inline,
    Prompt,
    PromptMessage,
    Reader,
    ReaderFailure,
    Reply,
    ShownClip,
)
from overread.readers.registry import Served

# Shorter ones are not sampled but filled up: processors have a least number of frames.
_SHORTEST = 8
_SIDE = 112
_QUESTION = "What does the clip show?"


class WholeClips:
    """A reader that is asked about videos of a length once they are known to arrive whole."""

    def __init__(self, reader: Reader) -> None:
        self.name = reader.name
        self.identity = reader.identity
        self.traits = reader.traits
        self.limits = reader.limits
        self._reader = reader
        self._looked: dict[int, asyncio.Task[float | None]] = {}
        self._arrived: dict[int, float | None] = {}

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask once. Raises ReaderFailure also where frames of such a video would be missing."""
        films = [clip.count for clip in prompt.clips if clip.form == "video"]
        for frames in sorted({count for count in films if count >= _SHORTEST}):
            arrived = await self._look(frames, prompt.decoding)
            if arrived is not None and round(arrived) < frames:
                raise ReaderFailure(_refusal(frames, arrived), heals=False)
        return await self._reader.reply(prompt)

    async def listed(self) -> str:
        return await self._reader.listed() if isinstance(self._reader, Served) else ""

    async def close(self) -> None:
        await self._reader.close()

    @property
    def facts(self) -> Mapping[str, Fact]:
        return {
            f"video_of_{frames}_frames": "tokens not reported" if many is None else round(many, 1)
            for frames, many in sorted(self._arrived.items())
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        if not any(many is None for many in self._arrived.values()):
            return ()
        return (
            "it reports no tokens, so nobody knows whether all frames of a video arrive. Ask with "
            "overread sight SPEC --clips, or leave clips=video out.",
        )

    async def _look(self, frames: int, decoding: Decoding) -> float | None:
        """How many frames of a video of so many arrive; looked at once for all who ask."""
        if frames not in self._arrived:
            looking = self._looked.get(frames)
            if looking is None:
                looking = asyncio.create_task(self._count(frames, decoding))
                self._looked[frames] = looking
            try:
                # Shielded: one trial's stopping must not take the finding from others.
                self._arrived[frames] = await asyncio.shield(looking)
            finally:
                if looking.done():  # what failed is looked at again by the next attempt
                    self._looked.pop(frames, None)
        return self._arrived[frames]

    async def _count(self, frames: int, decoding: Decoding) -> float | None:
        """Tokens of a short video and of one twice as long give those of a frame, and that counts
        the frames of the whole one. None where tokens are not reported.

        All are multiples of four, for processors put two frames or more into one group.
        """
        short = 4 * max(1, frames // 16)
        tokens: list[int] = []
        for length in (short, 2 * short, frames):
            clip = await asyncio.to_thread(_noise, length)
            one = msgspec.structs.replace(decoding, max_tokens=1, top_logprobs=0)
            asked = Prompt((PromptMessage("user", (clip, _QUESTION)),), one)
            reply = await self._reader.reply(asked)
            if reply.tokens_in is None:
                return None
            tokens.append(reply.tokens_in)
        a_frame = (tokens[1] - tokens[0]) / short
        if a_frame <= 0:
            return float(short)  # at most
        return 2 * short + (tokens[2] - tokens[1]) / a_frame


def _refusal(frames: int, arrived: float) -> str:
    return (
        f"clips: a video of {frames} frames costs the tokens of {max(arrived, 0):.0f}, so the "
        "server thins it; nothing is measured on such clips. Leave clips=video out, or see "
        "docs/serving.md for the flags that keep it whole"
    )


def _noise(frames: int) -> ShownClip:
    """A video in which no frame is like another, as a clip of a run is encoded."""
    import numpy as np

    from overread.imaging import lossless_clip, render_clip

    drawn = np.random.default_rng(frames).integers(0, 256, (frames, _SIDE, _SIDE), np.uint8)
    clip = Clip(Inline(lossless_clip(list(drawn))), tuple(range(frames)), form="video")
    return render_clip(clip)
