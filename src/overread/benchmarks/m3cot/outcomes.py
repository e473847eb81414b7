"""What the numbers stand on: replies given, verdicts read, rescued and missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.accuracy import asked_of
from overread.benchmarks.m3cot.marks import Marks, asking_of
from overread.benchmarks.m3cot.study import Study
from overread.benchmarks.m3cot.verdicts import QUESTIONS, rescued
from overread.case import Measure
from overread.measuring.arrays import RunArrays
from overread.measuring.estimates import Mask, clustered_share
from overread.measuring.notes import noted, remarked
from overread.measuring.specs import (
    SHARE_OF,
    Codes,
    Condition,
    Counted,
    Spec,
    coverage_specs,
    named,
)
from overread.measuring.units import Unit

UNKNOWN_END: Final = "unknown_end"
"""The flag of a share of replies of which nobody knows how they ended."""
VERDICT_MEASURES: Final = {
    "judged": "verdicts_judged",
    "invalid": "verdicts_invalid",
    "unanswered": "verdicts_unanswered",
}


def _outcomes(study: Study, marks: Marks, condition: Condition) -> tuple[Mask, Codes]:
    asking = asking_of(condition)
    return marks.items(asking), marks.outcomes(asking)


def _cut_off(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Cut off at the token limit, whatever is in it; of no value where no reply says how it ended,
    as in results made elsewhere."""
    rows = marks.said[asking_of(condition)]
    known = any(said.finish is not None for said in rows.values())
    found = np.full(study.n, 0.0 if known else np.nan)
    found[[place for place, said in rows.items() if said.finish == "length"]] = 1.0
    return Counted(found, marks.items(asking_of(condition)))


def _share_known(record: Measure, counted: Counted, run: RunArrays, unit: Unit) -> Measure:
    if np.isnan(counted.value).all():
        bare = msgspec.structs.replace(record, n=0)
        return noted(bare, UNKNOWN_END, "not known how replies ended")
    return SHARE_OF(record, counted, run, unit)


def _verdict_outcomes(study: Study, marks: Marks) -> Iterator[Measure]:
    """Of the questions put to a judge: read, not readable, without a reply; and of those read,
    how many had to be rescued, and how."""
    for question in QUESTIONS:
        for asking in sorted(asking for one, asking in marks.verdicts if one == question):
            for judge in marks.judges(question, asking):
                by = {"question": question, **asking.by, "judge": judge}
                rows = marks.verdicts[question, asking][judge]
                owners = study.clusters[list(rows)]
                became = np.array([verdict.outcome for verdict in rows.values()], dtype=np.str_)
                for outcome, name in VERDICT_MEASURES.items():
                    record = Measure(reader=marks.reader, measure=name, by=by)
                    yield clustered_share(record, became == outcome, owners)
                read = [verdict.how for verdict in rows.values() if verdict.outcome == "judged"]
                saved = Counter(how for how in read if rescued(how))
                note = ", ".join(f"{how}: {n}" for how, n in sorted(saved.items(), key=str))
                record = Measure(reader=marks.reader, measure="verdicts_rescued", by=by)
                hits = np.array([rescued(how) for how in read], dtype=bool)
                own = owners[became == "judged"]
                yield clustered_share(remarked(record, note), hits, own)


_COVERAGE: Final = coverage_specs(asked_of, _outcomes)
SPECS: Final = (
    *_COVERAGE,
    Spec(
        name="cut_off",
        says="share of what was asked whose reply the token limit cut off",
        better="lower",
        of=_cut_off,
        conditions=asked_of,
        estimate=_share_known,
    ),
    # Names of an earlier release for `unparsed` and `cut_off`.
    Spec(
        name="empty",
        says="share of items with a blank reply, no refusal",
        better="lower",
        of=named(_COVERAGE)["unparsed"].of,
        conditions=asked_of,
    ),
    Spec(
        name="truncated",
        says="share of items whose reply the token limit cut off",
        better="lower",
        of=_cut_off,
        conditions=asked_of,
        estimate=_share_known,
    ),
    Spec(
        name="verdicts_judged",
        says="share of a judge's verdicts that could be read; with it those invalid, unanswered, "
        "and of those read the rescued",
        make=_verdict_outcomes,
    ),
)
