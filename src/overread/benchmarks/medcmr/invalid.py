"""Replies that could not be read as an answer, as a share of what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from overread.benchmarks.drafts import Draft
from overread.benchmarks.medcmr.accuracy import conditions_of, replies_of
from overread.benchmarks.medcmr.coverage import by_kind
from overread.benchmarks.medcmr.marks import MCQ, OUTCOMES, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.case import Measure

__all__ = ["METRICS"]


def _invalid(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the items asked, those whose reply could not be read: a multiple-choice reply that names
    no single option, an open reply without an answer section."""
    record = Measure(reader=marks.reader, measure="invalid_rate")
    code = OUTCOMES.index("unparsed")
    if MCQ in marks.said:
        bad, asked = marks.said[MCQ].had("unparsed"), marks.asked(MCQ)
        for group in study.groups("mcq", "dimension"):
            started = msgspec.structs.replace(record, by=group.by)
            yield study.share(started, bad, group.members & asked)
    yield from by_kind("unparsed", "invalid_rate")(marks, study)
    for condition in conditions_of(marks):
        replies = replies_of(marks, study, condition)
        started = msgspec.structs.replace(record, by={"condition": condition})
        clusters = study.facts.clusters[replies.items]
        yield study.share_of(started, replies.outcome == code, clusters)


METRICS: Final = (
    Metric(
        name="invalid_rate",
        says="share of items asked whose reply could not be read as an answer",
        make=_invalid,
    ),
)
