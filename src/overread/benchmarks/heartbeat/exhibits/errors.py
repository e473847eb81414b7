"""Tables 1-3 and 5-7: errors in finding the frames, with the spread over seeds or over videos."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits.numbers import NOT_ASKED, frames
from overread.benchmarks.heartbeat.exhibits.settings import (
    NAMES,
    PHASES,
    SPECIALIST,
    asked,
    contexts_of,
    reference,
    references,
)
from overread.benchmarks.heartbeat.exhibits.stated import one_pass
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Measure, Table

__all__ = ["frame_errors", "video_errors"]

_FRAME_TABLES: Final = {"original": "Table 1", "segmented": "Table 2", "non_medical": "Table 3"}
_VIDEO_TABLES: Final = {"original": "Table 5", "segmented": "Table 6", "non_medical": "Table 7"}
_GUESSERS: Final = {"Random": "chance_mae", "Best constant": "constant_mae"}
_WORDS: Final = (
    "Here edv is asked for as the frame with the largest red area and esv as that with the "
    "smallest: large_small, small_large, large and small in the paper."
)
_SPECIALIST: Final = "A specialist gives the ejection fraction itself and names no frames."


def frame_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 1-3: error and squared correlation with the spread over seeds."""
    for context in contexts_of(index, "t1"):
        rows = [_guessed(index, name, context) for name in _GUESSERS]
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in PHASES:
                for name in ("mae", "r2"):
                    record = index.get(reader, name, phase=phase, **by)
                    sd = record.sd_seeds if record else None
                    there = phase in phases_of(wanted)
                    cells.append(frames(record, sd=sd) if there else NOT_ASKED)
            ef = index.get(reader, "ef_mae", **by)
            cells.append(frames(ef, sd=ef.sd_seeds) if ef else NOT_ASKED)
            rows.append((reader, wanted, *cells))
        special = [
            (name, *[NOT_ASKED] * 5, frames(record, sd=record.sd_seeds))
            for name, record in _specialists(index, context)
        ]
        yield table(
            f"frames_{context}",
            f"Errors in finding the frames, {NAMES[context]} ({_FRAME_TABLES[context]})",
            ("reader", "format", "ED MAE", "ED R²", "ES MAE", "ES R²", "EF MAE"),
            [*rows, *special],
            signature,
            (
                *_notes("± is the standard deviation over seeds.", context, special=bool(special)),
                *(f"Random: {note[0].lower()}{note[1:]}" for note in one_pass(signature)),
            ),
            facts=2,
        )


def video_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 5-7: the same errors with the spread over videos."""
    for context in contexts_of(index, "t1"):
        rows = []
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in PHASES:
                record = index.get(reader, "mae_videos", phase=phase, **by) or index.get(
                    reader, "mae", phase=phase, **by
                )
                sd = record.sd_videos if record else None
                there = phase in phases_of(wanted)
                cells.append(frames(record, sd=sd) if there else NOT_ASKED)
            ef = index.get(reader, "ef_mae", **by)
            cells.append(frames(ef, sd=ef.sd_videos) if ef else NOT_ASKED)
            rows.append((reader, wanted, *cells))
        special = [
            (name, *[NOT_ASKED] * 3, frames(record, sd=record.sd_videos))
            for name, record in _specialists(index, context)
        ]
        spread = "± is the standard deviation over videos, each averaged over its seeds first."
        yield table(
            f"videos_{context}",
            f"The same errors over videos, {NAMES[context]} ({_VIDEO_TABLES[context]})",
            ("reader", "format", "ED MAE", "ES MAE", "EF MAE"),
            [*rows, *special],
            signature,
            _notes(spread, context, special=bool(special)),
            facts=2,
        )


def _guessed(index: Index, name: str, context: str) -> tuple[str, ...]:
    """The row of a guesser, on the videos of whoever was judged on the most."""
    cells = []
    for phase in PHASES:
        found = reference(index, _GUESSERS[name], "t1", context, phase)
        cells += [frames(found), NOT_ASKED]
    return (name, NOT_ASKED, *cells, NOT_ASKED)


def _specialists(index: Index, context: str) -> Iterator[tuple[str, Measure]]:
    """Who gives EF itself: in its own context, or, of no context, beside the first table."""
    first = contexts_of(index, "t1")[0]
    for name in references(index, SPECIALIST):
        found = index.get(name, "ef_mae", task="t1", context=context)
        if found is None and context == first:
            found = index.get(name, "ef_mae", task="t1") or index.get(name, "ef_mae")
        if found is not None:
            yield name.removeprefix(SPECIALIST), found


def _notes(spread: str, context: str, *, special: bool) -> tuple[str, ...]:
    unit = "Frames, and percentage points for EF; [95 % interval] over videos."
    words = (_WORDS,) if context == "non_medical" else ()
    return (f"{unit} {spread}", *words, *((_SPECIALIST,) if special else ()))
