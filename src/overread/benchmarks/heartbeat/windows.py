"""Which frames of a clip are shown, and what the question says of them (HEARTBEAT 2)."""

from __future__ import annotations

import msgspec

__all__ = ["Window"]


class Window(msgspec.Struct, frozen=True):
    """Frames start .. start + count - 1 of a clip; `ed` and `es` are local, from 0.

    `count` frames are really there. `stated` is the number the record holds (idx_high + 1 in the
    authors' window, which may overrun the clip; elsewhere it equals `count`).
    """

    start: int
    count: int
    stated: int
    ed: int
    es: int

    @property
    def frames(self) -> tuple[int, ...]:
        return tuple(range(self.start, self.start + self.count))
