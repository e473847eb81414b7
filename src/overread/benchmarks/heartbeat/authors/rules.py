"""The rules of the authors' code, faults included: the edition `authors` to the last bit."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.heartbeat.cases import Phases, Traced, Window, stem, without_number

# ---------------------------------------------------------------- which frame is which


def labelled(traced: Sequence[Traced]) -> list[tuple[Traced, Literal["EDV", "ESV"]]]:
    """The authors' annotation rows, fault included, each with its label.

    Volumes come in sorted (file, frame) order and are pasted, by place, on the frames in order of
    first appearance; then a file's largest volume is EDV wherever it stands, and the rest ESV.
    """
    shown = sorted(traced, key=lambda each: each.place)
    pasted = [
        msgspec.structs.replace(each, volume=other.volume)
        for each, other in zip(shown, traced, strict=True)
    ]
    largest: dict[str, float] = {}
    for row in pasted:
        if not math.isnan(row.volume):
            largest[row.file] = max(row.volume, largest.get(row.file, -math.inf))
    return [(row, "EDV" if row.volume == largest.get(row.file) else "ESV") for row in pasted]


def positional(traced: Sequence[Traced]) -> dict[str, Phases | Left]:
    """Phases by file in order of first appearance, as the authors' code uses its annotation.

    It takes the first row of each label; a file whose rows all tie has no ESV row.
    """
    rows: dict[str, list[tuple[Traced, str]]] = {}
    for row, label in labelled(traced):
        rows.setdefault(row.file, []).append((row, label))
    found: dict[str, Phases | Left] = {}
    for file, own in rows.items():
        lost = next((row for row, _ in own if math.isnan(row.volume)), None)
        ed, es = (next((row for row, is_ in own if is_ == word), None) for word in ("EDV", "ESV"))
        if lost is not None:
            found[file] = without_number(file, lost.frame)
        elif ed is None or es is None:
            why = "its annotation has no ESV row: one frame, or equal volumes"
            found[file] = Left(stem(file), why)
        else:
            found[file] = Phases(ed.frame, es.frame, ed.volume, es.volume)
    return found


# ---------------------------------------------------------------- which frames are shown


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


def length_guess(frames: int) -> tuple[int, int]:
    """Both targets, earlier first, from nothing but the length of the authors' window.

    N = l + 2 floor(2l/3) + 1 grows with l, so N gives l, and l gives floor(2l/3) and
    floor(2l/3) + l. A length that no l has (a clamped window) takes the greatest l below it.
    """
    # N >= 7l/3 - 1/3, so this l is at most one or two too small.
    between = max(0, (3 * frames - 3) // 7 - 1)
    while _published_length(between + 1) <= frames:
        between += 1
    margin = 2 * between // 3
    return margin, margin + between


def _published_length(between: int) -> int:
    return between + 2 * (2 * between // 3) + 1


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
