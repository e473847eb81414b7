"""Can it integrate evidence on hard cases? One sentence per reader, from its choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.reporting import PHANTOM, is_lexical, rate, says_unseen
from overread.case import Headline, Measure

__all__ = ["CONDITIONS", "HALF", "QUESTION", "headlines"]

QUESTION: Final = "Can it integrate evidence on hard cases?"
HALF: Final = 0.5
"""What accuracy must lie above with its whole interval: more right than wrong."""
CONDITIONS: Final = {
    "blank": "a black image",
    "swap": "another item's image",
    "text": "no image at all",
}
"""What is asked in place of the item's own image; the first that was asked decides."""

Answer: TypeAlias = Literal["yes", "no", "in part", "cannot tell"]
_Told: TypeAlias = tuple[Answer, str, Measure]
_WORDS_ALONE: Final = "it got no picture, so that all of this comes from the words alone"


def headlines(measures: Sequence[Measure], dataset: str = "") -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order.

    Accuracy on the multiple-choice items decides, with its interval, against chance (the mean of 1
    over the number of options) and against the accuracy without the item's image:

    cannot tell  no multiple-choice item was asked, accuracy has no interval, or it holds chance.
                 S of open items alone does not decide: it has no level of chance
    no           all of the interval is at or below chance
    yes          all of it is above one half, and accuracy falls without the image: the interval of
                 the paired difference lies below 0
    in part      above chance, and not all of this is shown: accuracy not surely above one half, or
                 it survives without the image, or that was not asked, or the reader gets none

    Of several images asked the black one decides, else another item's, else none at all. The
    measure is accuracy, or S where there is none.
    """
    index = Index(measures)
    chance = index.known("", "chance")
    for reader in index.readers:
        accuracy, score = index.get(reader, "accuracy"), index.get(reader, "score")
        if accuracy is None and score is None:
            continue
        found = _Found(index, reader, chance, made_up=dataset.startswith(PHANTOM))
        if accuracy is None or accuracy.value is None:
            answer, sentence, measure = _without_choices(found, accuracy, score)
        else:
            answer, sentence, measure = _told(found, accuracy)
        yield Headline(
            reader=reader, question=QUESTION, answer=answer, sentence=sentence, measure=measure
        )


class _Found(NamedTuple):
    """One reader's records, and the words they are told in."""

    records: Index
    reader: str
    chance: Measure | None
    made_up: bool

    def right(self, accuracy: Measure) -> str:
        """Accuracy beside chance, with what could not be read."""
        guessed = "" if self.chance is None else f", where guessing gets {_whole(self.chance)}"
        said = f"it chose the right option in {rate(accuracy, 'accuracy')} of the items{guessed}"
        invalid = self.records.known(self.reader, "invalid_rate")
        if invalid is None:
            return said
        return f"{said}; {rate(invalid, 'invalid')} of its replies named no single option"

    @property
    def picture(self) -> tuple[bool | None, str]:
        """Whether accuracy falls without the image, if that was asked, in words."""
        for condition, shown in CONDITIONS.items():
            record = self.records.get(
                self.reader, "diff_accuracy", condition=condition, versus="original"
            )
            if record is None:
                continue
            if says_unseen(record):
                return False, _WORDS_ALONE
            if record.value is None:
                return None, f"what {shown} changes cannot be said ({record.note or 'no items'})"
            left = self.records.known(self.reader, "accuracy", condition=condition)
            stands = "" if left is None else f", to {rate(left, 'accuracy')}"
            change = f"{rate(record, 'difference', signed=True)}{stands}"
            if record.high is None:
                return None, f"with {shown} accuracy changes by {change}"
            if record.high < 0:
                return True, f"without the picture it does worse: with {shown} by {change}"
            return False, f"its score survives without the picture: {shown} changes it by {change}"
        if not self.sees:
            return False, _WORDS_ALONE
        return None, "whether it needs the picture was not asked (images=original,blank)"

    @property
    def sees(self) -> bool:
        records = self.records.all("unanswered_rate", "kind")
        return not any(says_unseen(one) for one in records if one.reader == self.reader)

    @property
    def opened(self) -> str:
        """S of the open items, and what its judges are worth."""
        score = self.records.known(self.reader, "score")
        if score is None:
            return ""
        said = f"; judges gave its open answers S = {rate(score, 'score')}"
        judges = {
            record.by["judge"]
            for record in self.records.all("score", "judge")
            if record.reader == self.reader
        }
        worth = [score.label] if score.label else []
        if any(is_lexical(judge) for judge in judges):
            worth.append("by a judge that compares words and knows no medicine")
            if not self.made_up:
                worth.append("which counts for nothing outside made-up cases")
        return f"{said}, {', '.join(worth)}" if worth else said


def _told(found: _Found, accuracy: Measure) -> _Told:
    right, chance = found.right(accuracy), found.chance
    falls, picture = found.picture
    numbers = f"{right}; {picture}{found.opened}."
    if chance is None or chance.value is None:
        return "cannot tell", f"It cannot be told without a level of chance: {numbers}", accuracy
    if accuracy.low is None or accuracy.high is None:
        return "cannot tell", f"Too few items to tell: {numbers}", accuracy
    if accuracy.high <= chance.value:
        return "no", f"It does no better than guessing: {numbers}", accuracy
    if accuracy.low <= chance.value:
        return "cannot tell", f"It cannot be told from guessing: {numbers}", accuracy
    if accuracy.low > HALF and falls:
        return "yes", f"It is mostly right, and looks at the picture for it: {numbers}", accuracy
    if accuracy.low > HALF:
        start = "It is mostly right, but its use of the picture is not shown"
    else:
        start = "It does better than guessing, but is not surely right more often than wrong"
    return "in part", f"{start}: {numbers}", accuracy


def _without_choices(found: _Found, accuracy: Measure | None, score: Measure | None) -> _Told:
    measure = score if score is not None and score.value is not None else accuracy or score
    assert measure is not None
    why = (
        "no multiple-choice item was asked"
        if accuracy is None
        else f"accuracy has no value ({accuracy.note or 'no items'})"
    )
    open_ended = found.opened or "; nobody judged its open answers"
    tail = ", and S has no level of chance to be set against" if found.opened else ""
    tail = tail if found.sees else f"{tail}; {_WORDS_ALONE}"
    return "cannot tell", f"It cannot be told: {why}{open_ended}{tail}.", measure


def _whole(chance: Measure) -> str:
    return f"{percent(chance.value)} %"
