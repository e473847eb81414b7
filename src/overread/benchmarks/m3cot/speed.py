"""Time: efficiency, latency and seconds of a reply, from replies asked one at a time (M3COT 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.authors import failed_text
from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.study import Marks, Said, Study
from overread.case import Measure
from overread.measuring.estimates import (
    Estimate,
    Floats,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    quotients,
)
from overread.measuring.notes import NOT_JUDGED, noted, remarked
from overread.measuring.specs import Spec
from overread.measuring.units import AMOUNT, SECONDS

NOT_TIMED: Final = "not_timed"
"""The flag of a time that nobody took."""
_WHY_NOT: Final = "not timed: time under load is queueing"
_BACKENDS: Final = "not comparable across backends"


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


def _seconds_in(study: Study, marks: Marks, mode: str) -> Floats:
    searched = study.edition.error_text == "searched"
    return seconds_of(marks.timed.get(mode, {}), marks.facts.n, searched=searched)


def _seconds_of_modes(study: Study, marks: Marks) -> tuple[Floats, Floats]:
    """Seconds of cot and of direct: of all successes as published, else of those in both modes."""
    cot, direct = (_seconds_in(study, marks, mode) for mode in ("cot", "direct"))
    if study.edition.error_text != "searched":
        both = ~(np.isnan(cot) | np.isnan(direct))
        cot, direct = (np.where(both, one, np.nan) for one in (cot, direct))
    return cot, direct


def _not_timed(record: Measure) -> Measure:
    return noted(msgspec.structs.replace(record, n=0), NOT_TIMED, _WHY_NOT)


def _matched_steps(marks: Marks, judges: list[str]) -> Floats:
    """Matched gold steps of each timed reply: items x judges.

    A timed reply that nobody judged has the verdict on the same question asked under load.
    """
    found = np.zeros((marks.facts.n, len(judges)))
    timed = marks.timed_verdicts.get(("recall", "cot"), {})
    plain = [
        rows
        for (question, asking), rows in marks.verdicts.items()
        if question == "recall" and asking.mode == "cot" and asking.plain
    ]
    for column, judge in enumerate(judges):
        for rows in (*plain, timed):
            for place, verdict in rows.get(judge, {}).items():
                if place in marks.timed.get("cot", {}) and verdict.outcome == "judged":
                    found[place, column] = sum(verdict.value)
    return found


def _efficiency(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """E = matched gold steps / seconds of cot."""
    started = Measure(reader=marks.reader, measure="efficiency")
    cot, _ = _seconds_of_modes(study, marks)
    judges = sorted(
        {judge for key, rows in marks.verdicts.items() if key[0] == "recall" for judge in rows}
        | set(marks.timed_verdicts.get(("recall", "cot"), {}))
    )
    if np.isnan(cot).all():
        yield _not_timed(started)
        return
    if not judges:
        yield noted(msgspec.structs.replace(started, n=0), NOT_JUDGED)
        return
    matched = _matched_steps(marks, judges)
    if study.edition.error_text != "searched":
        matched = np.where(np.isnan(cot)[:, None], 0.0, matched)
    record = msgspec.structs.replace(started, label=study.label(judges, "recall"))
    yield _ratio(record, matched, cot)
    for column, judge in enumerate(judges):
        own = study.label([judge], "recall")
        record = msgspec.structs.replace(started, by={"judge": judge}, label=own)
        yield _ratio(record, matched[:, [column]], cot)


def _latency(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """L = seconds of cot / seconds of direct."""
    started = Measure(reader=marks.reader, measure="latency")
    cot, direct = _seconds_of_modes(study, marks)
    if np.isnan(cot).all() or np.isnan(direct).all():
        yield _not_timed(started)
        return
    yield _ratio(started, np.nan_to_num(cot)[:, None], direct)


def _ratio(record: Measure, over: Floats, under: Floats) -> Estimate:
    """The mean over judges of each one's total over the seconds."""
    return estimated(
        remarked(record, _BACKENDS),
        np.hstack([over, np.nan_to_num(under)[:, None]]),
        lambda totals: quotients(totals[:, :-1].mean(axis=1), totals[:, -1]),
        ~np.isnan(under) | (over > 0).any(axis=1),
        limits=AMOUNT.limits,
        step=None,
    )


def _seconds(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Seconds of a reply by mode, as the paper's Table A2 has them."""
    for mode in MODES:
        started = Measure(reader=marks.reader, measure="seconds", by={"mode": mode})
        found = _seconds_in(study, marks, mode)[:, None]
        if np.isnan(found).all():
            yield _not_timed(started)
            continue
        yield estimated(
            remarked(started, _BACKENDS),
            columns_of(found),
            mean_of_columns,
            counted_in(found),
            limits=SECONDS.limits,
            step=None,
        )


SPECS: Final = (
    Spec(
        name="efficiency",
        says="gold steps matched per second of reasoning, timed one at a time",
        unit=AMOUNT,
        make=_efficiency,
    ),
    Spec(
        name="latency",
        says="seconds with reasoning over seconds without, timed one at a time",
        unit=AMOUNT,
        better="lower",
        make=_latency,
    ),
    Spec(
        name="seconds",
        says="mean seconds of a reply that was asked alone, by mode",
        unit=SECONDS,
        better="lower",
        make=_seconds,
    ),
)
