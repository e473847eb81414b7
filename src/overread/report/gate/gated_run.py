"""A run as the gate sees it."""

from __future__ import annotations

import msgspec

from overread.benchmarks.exhibits.judges import LEXICAL
from overread.benchmarks.registry import class_of
from overread.benchmarks.sentences import PHANTOM
from overread.case import Measure
from overread.records import JudgeEntry, Measures, RunRecord

# Measures of judges and of their replies say nothing by way of a verdict.
_OF_JUDGES = ("judge", "verdicts_")


class GatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for in a run, and what was measured."""

    folder: str
    record: RunRecord
    measures: Measures

    def has(self, reader: str) -> bool:
        named = any(reader == one.name for one in self.record.readers)
        return named or any(reader == one.reader for one in self.measures.measures)

    @property
    def partial(self) -> bool:
        return self.record.partial or self.measures.signature.endswith("|partial")

    def unanswered(self, reader: str) -> float:
        """The share of a reader's trials that got no reply."""
        asked = next((one for one in self.record.readers if one.name == reader), None)
        return asked.unanswered / asked.asked if asked and asked.asked else 0.0

    def by_words_alone(self, record: Measure) -> bool:
        """Whether the lexical judge is behind a measure of cases that were not made up for it.

        Who judged a measure is known by its records judge by judge.
        """
        if self.record.dataset.startswith(PHANTOM) or record.measure.startswith(_OF_JUDGES):
            return False
        lexical = {one.name for one in self.record.judges if _is_lexical(one)}
        if not lexical:
            return False
        if "judge" in record.by:
            return record.by["judge"] in lexical
        base = record.measure.removeprefix("diff_").removesuffix("_macro")
        names = {base, *class_of(self.record.benchmark).made_of.get(base, ())}
        return any(
            one.by.get("judge") in lexical
            for one in self.measures.measures
            if one.measure in names and one.reader == record.reader
        )


def _is_lexical(judge: JudgeEntry) -> bool:
    """By what it is, for it may go by another name."""
    said = (judge.name, judge.spec.rpartition("=")[2], judge.identity.rpartition(":")[0])
    return any(one.removeprefix("control:") == LEXICAL for one in said)
