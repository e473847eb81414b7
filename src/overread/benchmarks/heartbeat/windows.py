"""Which frames of a clip are shown, and what the question says of them (HEARTBEAT 2)."""

from __future__ import annotations

import msgspec

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.edition import REACH, Edition, Options
from overread.benchmarks.heartbeat.sampling import lot

__all__ = ["Window", "authors_window", "fixed_window", "window_of"]


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


def window_of(case: HeartbeatCase, edition: Edition, options: Options) -> Window | Left:
    """The window of a case under an edition; the same in all contexts, seeds and passes."""
    if edition.window == "fixed":
        return fixed_window(case, options.frames, edition.seed, options.reach)
    return authors_window(case.ed, case.es, case.frames)


def authors_window(ed: int, es: int, total: int) -> Window:
    """Both phases with a margin of floor(2l/3) frames, as the authors' code has it.

    Their end is clamped by a local index against the length of the whole clip, so a window may
    name frames that do not exist; the decoder stops at the last one.
    """
    margin = 2 * abs(ed - es) // 3
    start = max(0, min(ed, es) - margin)
    last = max(ed, es) - start + margin
    stated = (last if last < total else total - 1) + 1
    count = max(0, min(stated, total - start))
    return Window(start=start, count=count, stated=stated, ed=ed - start, es=es - start)


def fixed_window(case: HeartbeatCase, n: int, seed: int, reach: float = REACH) -> Window | Left:
    """N real frames whose start is uniform among the windows that hold both phases.

    Every window of a run has the same N, so its length says nothing of the answer (HEARTBEAT 9).
    Left out: phases too far apart to fit, a beat so short that neighbouring ones would enter
    (N > `reach` l), and a clip of fewer than N frames.
    """
    length = case.length
    if length + 1 > n:
        return Left(
            case.case_id, f"its phases are {length} frames apart: a window of {n} cannot hold both"
        )
    if n > reach * length:
        return Left(
            case.case_id,
            f"its phases are {length} frames apart: a neighbouring beat may enter a window of {n}",
        )
    if case.frames < n:
        return Left(case.case_id, f"it has {case.frames} frames, fewer than a window of {n}")
    earliest = max(0, max(case.ed, case.es) - n + 1)
    latest = min(min(case.ed, case.es), case.frames - n)
    # 128 bits: the remainder's bias is far below anything that could be seen.
    start = earliest + lot("window", seed, case.case_id) % (latest - earliest + 1)
    return Window(start=start, count=n, stated=n, ed=case.ed - start, es=case.es - start)
