"""What the numbers of a heartbeat run cannot tell: in any case, and as its measures show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import OBSERVERS, Edition, Options
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import BASELINE, GROUPED, readers_of
from overread.benchmarks.reporting import readers_listed
from overread.case import Measure

__all__ = ["limitations"]

_FEW: Final = 100  # videos, as the paper has them
_WIDE: Final = 0.5  # of skill, from end to end
_PARSED: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> list[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    index = Index(measures)
    return [*_standing(edition, options), *_own(index)]


def _standing(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "A reader that finds the frames of one beat has not been shown to measure or to diagnose; "
        "the numbers describe these clips and are no evidence of clinical safety."
    )
    if "t1" in options.tasks:
        least, most = OBSERVERS
        yield (
            "The truth is one annotated frame for each phase; neighbouring frames look much alike, "
            f"and two observers differ by {least} to {most} frames."
        )
    if "t1" in options.tasks and edition.window == "fixed":
        yield (
            f"Windows of {options.frames} frames leave out clips whose phases lie too far apart or "
            "too close together; such hearts, and clips of few frames a second, are represented "
            "less."
        )
    if "t1" in options.tasks and edition.window == "two_thirds":
        yield (
            "The length of a published window gives both phases away to who counts its frames: a "
            "skill above 0 is no proof of having followed the heart."
        )
    yield (
        "What a server does with frames after they arrive, such as thinning a video, cannot be "
        "seen from here."
    )
    if len(options.contexts) == 1:
        yield f"One context was asked ({options.contexts[0].replace('_', '-')})."
    if len(options.seeds) * options.passes == 1:
        yield "Each question was put once; how a reader's own answers spread is not known."


# ---------------------------------------------------------------- what the measures show


def _own(index: Index) -> Iterator[str]:
    readers = set(readers_of(index))
    asked = [record for name in ("mae", "accuracy") for record in index.every(name)]
    asked = [record for record in asked if record.reader in readers]
    yield "Whether the numbers hold at other sites than those of the clips was not tested."
    yield from _left_out(index)
    yield from _few([record for record in asked if record.measure == "mae"])
    yield from _wide([r for r in index.every("skill") if r.reader in readers])
    yield from _unread([r for r in index.every("parsed") if r.reader in readers])
    yield from _outside([r for r in index.every("out_of_range") if r.reader in readers])
    if none := [record.reader for record in asked if record.value is None]:
        yield f"In some settings nothing could be counted of {readers_listed(none)}."
    if failed := [record.reader for record in asked if "unanswered" in (record.note or "")]:
        yield f"Some questions to {readers_listed(failed)} got no reply and are in no number."
    leaks = [
        record
        for record in index.every("skill")
        if record.reader == f"{BASELINE}length" and record.low is not None and record.low > 0
    ]
    if leaks:
        most = max(leaks, key=lambda record: record.value or 0.0)
        yield (
            f"Counting the frames of the windows has itself a skill of up to {number(most.value)} "
            f"(95 % interval {number(most.low)} to {number(most.high)}, n = {most.n})."
        )


def _left_out(index: Index) -> Iterator[str]:
    """Whom the windows leave out, by group, where they leave anybody out."""
    (everyone,) = index.together("left_out", "task") or (None,)
    if everyone is None or not everyone.k:
        return
    groups = [
        f"{words}: {', '.join(f'{r.by[key]} {r.k} of {r.n}' for r in found)}"
        for key, words in GROUPED.items()
        if (found := index.together("left_out", "task", key))
    ]
    yield (
        f"No window fits {everyone.k} of {everyone.n} clips"
        f"{'; ' * bool(groups)}{'; '.join(groups)}."
    )


def _few(errors: Sequence[Measure]) -> Iterator[str]:
    few = [(r.reader, r.n) for r in errors if r.value is not None and r.n and r.n < _FEW]
    if few:
        least, most = min(n for _, n in few), max(n for _, n in few)
        span = f"{least}" if least == most else f"{least} to {most}"
        yield (
            f"Errors stand on {span} video{'s' * (most > 1)}, fewer than {_FEW}, for "
            f"{readers_listed([reader for reader, _ in few])}."
        )


def _wide(skills: Sequence[Measure]) -> Iterator[str]:
    wide = {
        r.reader: r.high - r.low
        for r in skills
        if r.low is not None and r.high is not None and r.high - r.low > _WIDE
    }
    if wide:
        yield (
            f"In some settings the interval of skill is wider than {number(_WIDE)} for "
            f"{readers_listed(list(wide))}."
        )


def _unread(parsed: Sequence[Measure]) -> Iterator[str]:
    worst: dict[str, Measure] = {}
    for record in parsed:
        if record.value is not None and record.value < _PARSED:
            kept = worst.get(record.reader)
            if kept is None or record.value < (kept.value or 0.0):
                worst[record.reader] = record
    for reader, record in worst.items():
        yield (
            f"Of the replies of {reader} in some setting only {percent(record.value)} % (n = "
            f"{record.n}) could be read; in T1 its errors are those of the readable ones alone."
        )


def _outside(outside: Sequence[Measure]) -> Iterator[str]:
    some = [record.reader for record in outside if record.value]
    if some:
        yield (
            f"{readers_listed(some)} named frames that were not shown; the raw error counts them "
            "as they are."
        )
