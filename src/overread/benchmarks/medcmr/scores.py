"""What judges make of open replies: four scores, and S of them (MEDCMR, "Scores")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Floats,
    columns_of,
    counted_in,
    drafted,
    joined,
    panel,
)
from overread.benchmarks.medcmr.components import COMPONENTS
from overread.benchmarks.medcmr.marks import OPEN, REFORMULATED, Cell, Marks
from overread.benchmarks.medcmr.scored import Scored, noted_of, scored
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = ["CONDITIONS", "METRICS", "SCORES", "combined", "mean_of"]

SCORES: Final = (*COMPONENTS, "score")
CONDITIONS: Final = ("blank", "swap", "text")


def combined(clarity: float, coherence: float, visual: float, truth: float) -> float:
    """S = (con + coh + 4 vis + 4 gt) / 10 of components that all run from 0 to 1, or to 100.

    >>> round(combined(97.77, 88.86, 40.45, 34.65), 2)
    48.7
    """
    return (clarity + coherence + 4 * visual + 4 * truth) / 10


def _kinds(marks: Marks) -> Iterator[tuple[str, Cell]]:
    for kind, cell in (("open", OPEN), ("reformulated", REFORMULATED)):
        if cell in marks.said and marks.asked(cell).any():
            yield kind, cell


def _making(name: str) -> Metric:
    def make(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
        yield from _records(marks, study, name)

    says = {
        "clarity": "language clarity, 0 to 1",
        "coherence": "coherence of the reasoning, 0 to 1",
        "visual": "what is said of the image against its caption, 0 to 4 over 4",
        "truth": "reasoning and answer against the true answer, 0 to 4 over 4",
        "score": "S = (clarity + coherence + 4 visual + 4 truth) / 10",
    }
    return Metric(name=name, says=says[name], make=make)


def _records(marks: Marks, study: Study, name: str) -> Iterator[Draft | Measure]:
    for kind, cell in _kinds(marks):
        found = scored(study, marks, cell)
        started = Measure(reader=marks.reader, measure=name, by={"kind": kind})
        if not found.judges:
            for by in ({}, started.by) if kind == "open" else (started.by,):
                yield msgspec.structs.replace(started, by=by, n=0, note="not judged")
            continue
        started = msgspec.structs.replace(started, label=study.label(found.judges, name))
        note = noted_of(found, name, found.judges)
        units, one = found.units(name)
        if kind == "open":
            for by, members in study.groups("open"):
                some = np.where(members, units, np.nan)
                if not by or not np.isnan(some).all():
                    record = msgspec.structs.replace(started, by=by, note=None if by else note)
                    yield mean_of(record, some, one)
        yield mean_of(msgspec.structs.replace(started, note=note), units, one)
        for judge in found.judges:
            record = msgspec.structs.replace(
                started, note=noted_of(found, name, [judge]), label=study.label([judge], name)
            )
            for more in ({}, {"kind": kind}) if kind == "open" else ({"kind": kind},):
                by = {**more, "judge": judge}
                yield mean_of(msgspec.structs.replace(record, by=by), *found.units(name, [judge]))
    for condition, found in _conditions(marks, study):
        record = Measure(
            reader=marks.reader,
            measure=name,
            by={"condition": condition},
            label=study.label(found.judges, name),
        )
        units, one = found.units(name)
        for by, members in study.groups("open", "dimension"):
            some = np.where(members, units, np.nan)
            if not by or not np.isnan(some).all():
                note = None if by else noted_of(found, name, found.judges)
                made = msgspec.structs.replace(record, by={**record.by, **by}, note=note)
                yield mean_of(made, some, one)


def _conditions(marks: Marks, study: Study) -> Iterator[tuple[str, Scored]]:
    """The conditions that were asked and judged."""
    for condition in CONDITIONS:
        cell = Cell("open", condition)
        if cell in marks.said and marks.asked(cell).any():
            found = scored(study, marks, cell)
            if found.judges:
                yield condition, found


def mean_of(
    record: Measure, units: Floats, one: int, *, limits: tuple[float, float] = (0.0, 1.0)
) -> Draft:
    """The mean of whole numbers, `one` of which make 1: items, or items x groups alike.

    Totals of whole numbers are exact, and quicker than those of fractions.
    """
    table = units if units.ndim == 2 else units[:, None]

    def again(totals: Floats) -> Floats:
        return panel(totals) / one

    return drafted(record, columns_of(table), again, counted_in(table), limits=limits)


def _macro(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    cells: list[tuple[dict[str, str], Scored]]
    cells = [({}, scored(study, marks, cell)) for kind, cell in _kinds(marks) if kind == "open"]
    cells += [({"condition": name}, found) for name, found in _conditions(marks, study)]
    groups = [one.members for one in study.groups("open", "dimension") if one.by]
    for by, found in cells:
        if not found.judges or not groups:
            continue
        units, one = found.units("score")
        table = np.stack([np.where(members, units, np.nan) for members in groups], axis=1)
        there = int((~np.isnan(table)).any(axis=0).sum())
        record = Measure(
            reader=marks.reader,
            measure="score_macro",
            by=by,
            label=study.label(found.judges, "score"),
            note=joined(f"mean over {there} dimensions", noted_of(found, "score", found.judges)),
        )
        yield mean_of(record, table, one)


def _judged_rate(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of replies x judges, the share with a verdict that could be read."""
    for kind, cell in _kinds(marks):
        found = scored(study, marks, cell)
        started = Measure(reader=marks.reader, measure="judged_rate", by={"kind": kind})
        due, clusters = found.due, study.facts.clusters[found.due]
        if not found.judges:
            yield msgspec.structs.replace(started, n=int(due.sum()), note="not judged")
            continue
        read = found.read[due]
        yield study.share_of(started, read.T.ravel(), np.tile(clusters, len(found.judges)))
        for column, judge in enumerate(found.judges):
            record = msgspec.structs.replace(started, by={"kind": kind, "judge": judge})
            yield study.share_of(record, read[:, column], clusters)


METRICS: Final = (
    *(_making(name) for name in SCORES),
    Metric(name="score_macro", says="mean of the dimensions' S, each dimension alike", make=_macro),
    Metric(
        name="judged_rate",
        says="share of replies to be judged whose verdict could be read, over all judges",
        make=_judged_rate,
    ),
)
