"""What reached the readers: pixels, frames, a range of indices, and a baseline to beat.

What the scripts pass and the processors keep is read from their sources (HEARTBEAT 5), not from
the printed numbers; where the numbers bear it out the flag says how.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import Figures, Printed
from overread.published.heartbeat._rows import SEEDS, errors, named, r2_of

__all__ = ["CHECKS"]

_SOURCES: Final = "HEARTBEAT 5: read from the sources, not run"
_BLIND: Final = ("LLaVA-Interleave", "Gemma-3n")
_RESAMPLED: Final = ("Qwen3-VL-8B", "Qwen3-VL-32B")
_T1_TABLES: Final = ("1", "2", "3", "5", "6", "7")
# 2 frames a second of an assumed 24, and not fewer than 4.
_KEPT_A_SECOND, _ASSUMED_RATE, _LEAST_KEPT = 2, 24, 4
# Student's t of ten seeds, two-sided 5 %.
_T_OF_SEEDS: Final = 2.262
# The saved output of the authors' notebook (HEARTBEAT 8).
_SAVED: Final = {"ed": 53.27, "es": 68.64}


def no_pixels(figures: Figures) -> Iterator[Flag]:
    """A reader whose processor drops the frames is at chance wherever length tells nothing."""
    for reader in _BLIND:
        found = _accuracies(figures, reader)
        if not found or not all(_like_a_coin(printed) for printed in found):
            continue
        values = [printed.record.value or 0.0 for printed in found]
        yield Flag(
            where="Tables 1 to 7",
            what="it was shown no pixels: the scripts pass the frames as a video, which its "
            "processor ignores",
            found=f"{len(found)} accuracies of {min(values):.3f} to {max(values):.3f} in Table 4, "
            "none apart from a coin's",
            expected="frames as single images, as Section 3.4 says",
            reader=reader,
            tables=(*_T1_TABLES, "4"),
            note=_SOURCES,
        )


def _accuracies(figures: Figures, reader: str) -> list[Printed]:
    return [
        printed
        for printed, _ in errors(figures, "accuracy")
        if printed.record.reader == reader and printed.spread is not None
    ]


def _like_a_coin(printed: Printed) -> bool:
    """Whether one half lies in the 95 % interval of the mean of the seeds."""
    error = (printed.spread or 0.0) / math.sqrt(SEEDS)
    return abs((printed.record.value or 0.0) - 0.5) <= _T_OF_SEEDS * error


def told_by_the_length(figures: Figures) -> Iterator[Flag]:
    """A window's length determines both answers, so a reader without pixels can follow them."""
    for reader in _BLIND:
        best: tuple[float, Printed, Printed, float] | None = None
        for printed, value in errors(figures):
            r2 = r2_of(figures, printed)
            by = {key: printed.record.by[key] for key in ("task", "context", "phase")}
            guess = figures.find("Random", "chance_mae", by)
            if printed.record.reader != reader or r2 is None or guess is None:
                continue
            chance, squared = guess.record.value or 0.0, r2.record.value or 0.0
            if value < chance / 2 and squared >= 0.5 and (best is None or value < best[0]):
                best = value, printed, r2, chance
        if best is not None:
            _, printed, r2, chance = best
            yield Flag(
                where=printed.where,
                what="far nearer than guesses without having seen a pixel: the number of frames in "
                "the prompt gives both answers away",
                found=f"MAE {printed.cell}, R² {r2.cell} ({named(printed)})",
                expected=f"about {chance:.2f} and no correlation, did the prompt tell nothing",
                reader=reader,
                tables=("1", "2", "3"),
                note="HEARTBEAT 2, 5",
            )


def resampled(figures: Figures) -> Iterator[Flag]:
    """Qwen's video processor resamples an array of frames without a rate."""
    by = {"task": "t1"}
    ends = [figures.find("windows", f"{end}_window", by) for end in ("shortest", "longest")]
    lengths = [int(end.record.value) for end in ends if end is not None and end.record.value]
    if len(lengths) < 2:
        return
    kept = [max(_LEAST_KEPT, length * _KEPT_A_SECOND // _ASSUMED_RATE) for length in lengths]
    for reader in _RESAMPLED:
        yield Flag(
            where="Tables 1 to 3 and 5 to 7",
            what="its video processor keeps two frames a second of an assumed 24, unless its "
            "configuration says otherwise",
            found=f"{kept[0]} frames of a window of {lengths[0]}, {kept[1]} of {lengths[1]}",
            expected="every frame between which it is to choose",
            reader=reader,
            tables=_T1_TABLES,
            note=_SOURCES,
        )


def index_range(figures: Figures) -> Iterator[Flag]:
    """[0, n + 1) holds one whole number more than there are frames."""
    if figures.find("windows", "margin", {"task": "t1"}) is None:
        return
    yield Flag(
        where="Section 3.2",
        what="the range of indices in the prompt holds one that no frame has",
        found="[0, n + 1) for n frames",
        expected="[0, n - 1], which the code's prompt has",
        tables=("1", "2", "3", "text"),
        note="from the text; the prompt by HEARTBEAT 2",
    )


def guesses(figures: Figures) -> Iterator[Flag]:
    """The row of guesses is not what the authors' notebook computes."""
    by = {"task": "t1", "context": "original"}
    printed = {
        phase: figures.find("Random", "chance_mae", by | {"phase": phase}) for phase in _SAVED
    }
    known = {phase: one.record.value for phase, one in printed.items() if one is not None}
    if known and any(known.get(phase) != saved for phase, saved in _SAVED.items()):
        yield Flag(
            where="Tables 1 to 3",
            what="not what the notebook gives as shipped: it counts the true frames from the start "
            "of the clip, not of the window, and has no seed",
            found=" and ".join(f"{value:.2f}" for value in known.values()),
            expected=" and ".join(f"{value:.2f}" for value in _SAVED.values())
            + ", its saved output",
            reader="Random",
            tables=_T1_TABLES,
            note="HEARTBEAT 8: read from the notebook",
        )


CHECKS: Final = (no_pixels, told_by_the_length, resampled, index_range, guesses)
