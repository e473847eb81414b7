"""What the numbers stand on: replies that are invalid, refused, unanswered or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from overread.benchmarks.drafts import Draft
from overread.benchmarks.medcmr.accuracy import conditions_of, replies_of
from overread.benchmarks.medcmr.marks import MCQ, OPEN, OUTCOMES, REFORMULATED, Marks
from overread.benchmarks.medcmr.study import Making, Metric, Study
from overread.case import Measure

__all__ = [
    "INVALID_METRICS",
    "OUTCOME_METRICS",
    "by_kind",
]


# ---------------------------------------------------------------- refused, unanswered, cut off
# What the numbers stand on: refused, unanswered and cut off, by kind of question.
#
# All but cut off are shares of what was asked: with those answered and invalid they add up to 1.

_PLAIN: Final = (MCQ, OPEN, REFORMULATED)


def by_kind(outcome: str, name: str) -> Making:
    """The share of items asked whose reply had this outcome, for each kind of question."""

    def make(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
        for cell in _PLAIN:
            if cell in marks.said:
                record = Measure(reader=marks.reader, measure=name, by={"kind": cell.form})
                missing = int((marks.asked(cell) & ~marks.said[cell].rows).sum())
                if missing and outcome == "unanswered":
                    note = f"{missing} not in the answers"
                    record = msgspec.structs.replace(record, note=note)
                yield study.share(record, marks.said[cell].had(outcome), marks.asked(cell))

    return make


def _cut_off(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the replies of which it is known how they ended, those that the token limit ended."""
    for cell in _PLAIN:
        if cell not in marks.said:
            continue
        said = marks.said[cell]
        known = marks.asked(cell) & said.ended
        record = Measure(reader=marks.reader, measure="cut_off_rate", by={"kind": cell.form})
        if not known.any():
            yield msgspec.structs.replace(record, n=0, note="not known how replies ended")
            continue
        yield study.share(record, said.cut, known)


OUTCOME_METRICS: Final = (
    Metric(
        name="refused_rate",
        says="share of items asked whose reply is a refusal",
        make=by_kind("refused", "refused_rate"),
    ),
    Metric(
        name="unanswered_rate",
        says="share of items asked that have no reply",
        make=by_kind("unanswered", "unanswered_rate"),
    ),
    Metric(
        name="cut_off_rate",
        says="share of replies that the token limit ended",
        make=_cut_off,
    ),
)


# ---------------------------------------------------------------- invalid
# Replies that could not be read as an answer, as a share of what was asked.


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


INVALID_METRICS: Final = (
    Metric(
        name="invalid_rate",
        says="share of items asked whose reply could not be read as an answer",
        make=_invalid,
    ),
)
