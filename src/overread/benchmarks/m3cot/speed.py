"""Time: efficiency, latency and seconds of a reply, from replies asked one at a time (M3COT 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.authors import failed_text
from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.marks import Floats, Marks, Said
from overread.benchmarks.m3cot.study import (
    Draft,
    Metric,
    Study,
    columns_of,
    counted_in,
    drafted,
    panel,
    quotients,
)
from overread.case import Measure

__all__ = ["METRICS", "SECONDS_METRICS", "seconds_of"]

NOT_TIMED: Final = "not timed: time under load is queueing"
_OTHER_BACKENDS: Final = "not comparable across backends"


def seconds_of(said: Mapping[int, Said], n: int, *, searched: bool) -> Floats:
    """Seconds of each reply that succeeded, NaN where none did.

    `searched`, as published: any text with Error or Failed counts as a failed attempt, and an
    empty one as a success.
    """
    found = np.full(n, np.nan)
    for place, one in said.items():
        failed = failed_text(one.text) if searched else one.silent
        if not failed and one.outcome != "unanswered" and one.seconds is not None:
            found[place] = one.seconds
    return found


def _seconds_of_modes(marks: Marks, study: Study) -> tuple[Floats, Floats]:
    """Seconds of cot and of direct: of all successes as published, else of those in both modes."""
    searched = study.edition.error_text == "searched"
    cot, direct = (
        seconds_of(marks.timed.get(mode, {}), marks.facts.n, searched=searched)
        for mode in ("cot", "direct")
    )
    if not searched:
        both = ~(np.isnan(cot) | np.isnan(direct))
        cot, direct = (np.where(both, one, np.nan) for one in (cot, direct))
    return cot, direct


def _quotient(totals: Floats) -> Floats:
    """The mean over judges of each one's total over the last column, the seconds."""
    return quotients(totals[:, :-1].mean(axis=1), totals[:, -1])


def _matched_steps(marks: Marks, judges: list[str]) -> Floats:
    """Matched gold steps of each timed reply: items x judges.

    A timed reply that nobody judged has the verdict on the same question asked under load.
    """
    found = np.zeros((marks.facts.n, len(judges)))
    timed = marks.timed_verdicts.get(("recall", "cot"), {})
    loaded = {key[1]: rows for key, rows in marks.verdicts.items() if key[0] == "recall"}
    for column, judge in enumerate(judges):
        plain = {cell: rows for cell, rows in loaded.items() if cell.mode == "cot" and cell.plain}
        for rows in (*plain.values(), timed):
            for place, verdict in rows.get(judge, {}).items():
                if place in marks.timed.get("cot", {}) and verdict.outcome == "judged":
                    found[place, column] = sum(verdict.value)
    return found


def _efficiency(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """E = matched gold steps / seconds of cot."""
    started = Measure(reader=marks.reader, measure="efficiency")
    cot, _ = _seconds_of_modes(marks, study)
    judges = sorted(
        {judge for key, rows in marks.verdicts.items() if key[0] == "recall" for judge in rows}
        | set(marks.timed_verdicts.get(("recall", "cot"), {}))
    )
    if np.isnan(cot).all() or not judges:
        note = "not judged" if judges == [] and not np.isnan(cot).all() else NOT_TIMED
        yield msgspec.structs.replace(started, n=0, note=note)
        return
    matched = _matched_steps(marks, judges)
    if study.edition.error_text != "searched":
        matched = np.where(np.isnan(cot)[:, None], 0.0, matched)
    label = study.label(judges, "recall")
    yield _ratio_draft(started, matched, cot, label)
    for column, judge in enumerate(judges):
        record = msgspec.structs.replace(started, by={"judge": judge})
        yield _ratio_draft(record, matched[:, [column]], cot, study.label([judge], "recall"))


def _latency(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """L = seconds of cot / seconds of direct."""
    started = Measure(reader=marks.reader, measure="latency")
    cot, direct = _seconds_of_modes(marks, study)
    if np.isnan(cot).all() or np.isnan(direct).all():
        yield msgspec.structs.replace(started, n=0, note=NOT_TIMED)
        return
    yield _ratio_draft(started, np.nan_to_num(cot)[:, None], direct, None)


def _ratio_draft(record: Measure, over: Floats, under: Floats, label: str | None) -> Draft:
    counted = ~np.isnan(under) | (over > 0).any(axis=1)
    return drafted(
        msgspec.structs.replace(record, label=label, note=_OTHER_BACKENDS),
        np.hstack([over, np.nan_to_num(under)[:, None]]),
        _quotient,
        counted,
        limits=(0.0, np.inf),
        unit=None,
    )


METRICS: Final = (
    Metric(
        name="efficiency",
        says="gold steps matched per second of reasoning, timed one at a time",
        make=_efficiency,
    ),
    Metric(
        name="latency",
        says="seconds with reasoning over seconds without, timed one at a time",
        make=_latency,
    ),
)


def _seconds_records(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    searched = study.edition.error_text == "searched"
    for mode in MODES:
        started = Measure(reader=marks.reader, measure="seconds", by={"mode": mode})
        said = marks.timed.get(mode, {})
        found = seconds_of(said, marks.facts.n, searched=searched)[:, None]
        if np.isnan(found).all():
            yield msgspec.structs.replace(started, n=0, note=NOT_TIMED)
            continue
        record = msgspec.structs.replace(started, note="not comparable across backends")
        yield drafted(
            record,
            columns_of(found),
            panel,
            counted_in(found),
            limits=(0.0, np.inf),
            unit=None,
        )


SECONDS_METRICS: Final = (
    Metric(
        name="seconds",
        says="mean seconds of a reply that was asked alone, by mode",
        make=_seconds_records,
    ),
)
