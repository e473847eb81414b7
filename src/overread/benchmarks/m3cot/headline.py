"""Does it reason as a clinician would? One sentence per reader, from its steps and its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.sentences import (
    PHANTOM,
    Told,
    gets_no_picture,
    is_lexical,
    listed,
    rate,
    side_of,
)
from overread.case import Headline, Measure
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT
from overread.measuring.notes import NOT_ASKED, NOT_JUDGED

QUESTION: Final = "Does it reason as a clinician would?"
HALF: Final = 0.5
"""What a share must lie above with its whole interval for "most of them"."""

_WORDS_ALONE: Final = "it got no image (text only), so that all of this comes from the words alone"
_WHY: Final = {
    UNFIT: (
        f"a judge of its {{}} called less than {LIMIT:.0%} of what is known to be right right, or "
        "of what is known to be wrong wrong (judge unfit)"
    ).replace("%", " %"),
    NOT_CHECKED: (
        "a judge of its {} was not tried on enough replies of known truth (judge not checked)"
    ),
}

_COMPARES: Final = (
    "a judge of its {} compares words and knows no medicine, and is fit for made-up cases alone "
    "(lexical judge)"
)


def headlines(measures: Sequence[Measure], dataset: str = "") -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order.

    Precision (of its steps, those that match a gold step), recall (of the gold steps, those it
    has), their F1 and the accuracy of its answers with reasoning decide, each with its interval:

    cannot tell  nobody judged its steps, a judge of them is unfit or was not checked or only
                 compares words and the cases are not made up, there is no interval, or that of F1
                 holds one half
    no           all of the interval of F1 is at or below one half, or no step matches at all
    yes          all of the intervals of precision, recall and accuracy are above one half, and the
                 judges of steps and answers are fit, and the reader gets the image
    in part      that of F1 is above one half, and not all of this is shown

    One half is a convention: most of a clinician's steps, and most of its own right. The measure
    is F1, or what stands in its place where F1 has no value.
    """
    index = Index(measures)
    for reader in index.readers:
        f1 = index.get(reader, "f1")
        if f1 is None:
            continue
        found = _Found(
            f1=f1,
            precision=index.known(reader, "precision"),
            recall=index.known(reader, "recall"),
            accuracy=index.known(reader, "accuracy", mode="cot"),
            sees=not _unseeing(index, reader),
            worded=_worded(index, reader),
            made_up=dataset.startswith(PHANTOM),
        )
        told = _told(found)
        told = told._replace(sentence=f"{told.sentence}{_remark(found)}")
        yield told.headline(reader, QUESTION)


class _Found(NamedTuple):
    """One reader's records; those without a value are None, except F1, whose note says why."""

    f1: Measure
    precision: Measure | None
    recall: Measure | None
    accuracy: Measure | None
    sees: bool
    worded: frozenset[str]
    """Which of steps and answers a judge judged that compares words."""
    made_up: bool

    def unjudged(self, what: str) -> bool:
        """Whether who judged these cannot judge such cases."""
        return what in self.worded and not self.made_up

    @property
    def steps(self) -> str:
        """What is known of the steps, in words."""
        parts = []
        if self.recall is not None:
            parts.append(
                f"its reasoning has {rate(self.recall, 'recall')} of the clinician's steps"
            )
        if self.precision is not None:
            parts.append(f"{rate(self.precision, 'precision')} of its own steps match one")
        said = listed(parts) if parts else ""
        return f"{said}; F1 is {rate(self.f1)}" if said and self.f1.value is not None else said

    @property
    def answers(self) -> str:
        """What is known of the answers, in words."""
        if self.accuracy is None:
            return "whether its answers are right was not judged"
        said = f"its answer is right in {rate(self.accuracy, 'accuracy')} of the questions"
        if self.accuracy.label in _WHY:
            return f"{said}, which counts for little: {_WHY[self.accuracy.label].format('answers')}"
        if self.unjudged("answers"):
            return f"{said}, which counts for little: {_COMPARES.format('answers')}"
        return said


def _told(found: _Found) -> Told:
    f1 = found.f1
    records = [one for one in (f1, found.precision, found.recall) if one is not None]
    labels = {record.label for record in records}
    label = next((one for one in (UNFIT, NOT_CHECKED) if one in labels), None)
    numbers = f"{found.steps}; {found.answers}" if found.steps else found.answers
    numbers = numbers if found.sees else f"{numbers}; {_WORDS_ALONE}"
    if label is not None or (found.steps and found.unjudged("steps")):
        why = (_COMPARES if label is None else _WHY[label]).format("steps")
        return Told("cannot tell", f"It cannot be told: {why}; as it judged, {numbers}.", f1)
    if f1.value is None:
        return _without(found, numbers)
    side = side_of(f1, HALF)
    if not side:
        return Told("cannot tell", f"Too few questions to tell: {numbers}.", f1)
    if side == "below":
        return Told("no", f"Most of its reasoning is not a clinician's: {numbers}.", f1)
    if side == "holds":
        start = "It cannot be told whether most of its reasoning is a clinician's"
        sentence = f"{start}, for the interval of F1 holds one half: {numbers}."
        return Told("cannot tell", sentence, f1)
    missing = _missing(found)
    if not missing:
        start = "Its steps are mostly a clinician's, and so are its answers"
        return Told("yes", f"{start}: {numbers}.", f1)
    start = f"Its steps agree with a clinician's more than not, but {listed(missing)}"
    return Told("in part", f"{start}: {numbers}.", f1)


def _without(found: _Found, numbers: str) -> Told:
    """F1 has no value: no step matches either way, or nobody judged."""
    precision, recall = found.precision, found.recall
    if precision is not None and recall is not None and precision.value == recall.value == 0:
        if recall.low is None:
            return Told("cannot tell", f"Too few questions to tell: {numbers}.", recall)
        return Told("no", f"None of its steps is a clinician's: {numbers}.", recall)
    reasons = {NOT_JUDGED: "no judge judged its steps", NOT_ASKED: "it was not asked to reason"}
    why = next((reasons[flag] for flag in found.f1.flags if flag in reasons), None)
    why = why or found.f1.note or "there is nothing to go by"
    return Told("cannot tell", f"It cannot be told: {why}; {numbers}.", found.f1)


def _missing(found: _Found) -> list[str]:
    """What is at most one half, then what is not shown to be more or cannot be believed."""
    named = (
        (found.recall, "it lacks most of the clinician's steps", "has most of the clinician's"),
        (found.precision, "most of its own steps match none", "mostly takes steps that match"),
        (found.accuracy, "most of its answers are wrong", "is mostly right in its answers"),
    )
    below, not_shown = [], []
    for record, wrong, right in named:
        doubted = record is not None and record.label in _WHY
        doubted |= record is found.accuracy and found.unjudged("answers")
        side = "" if doubted else side_of(record, HALF)
        if side == "below":
            below.append(wrong)
        elif side != "above":
            not_shown.append(right)
    if not found.sees:
        not_shown.append("looked at the image")
    return [*below, *([f"it is not shown that it {listed(not_shown)}"] if not_shown else [])]


def _worded(index: Index, reader: str) -> frozenset[str]:
    """What a judge judged that compares words, where one is of the panel."""
    named = {
        "steps": [*index.all("precision", "judge"), *index.all("recall", "judge")],
        "answers": [
            one for one in index.all("accuracy", "judge", "mode") if one.by["mode"] == "cot"
        ],
    }
    return frozenset(
        what
        for what, records in named.items()
        if any(is_lexical(one.by["judge"]) for one in records if one.reader == reader)
    )


def _unseeing(index: Index, reader: str) -> bool:
    own = (*index.every("answered"), *index.every("image_effect"))
    return any(gets_no_picture(record) for record in own if record.reader == reader)


def _remark(found: _Found) -> str:
    """A word on the judge that knows no medicine, where its verdicts count."""
    if not found.made_up or "steps" not in found.worded:
        return ""
    return " The judge compares words and knows no medicine: fit for made-up cases alone."
