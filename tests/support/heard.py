"""Steps of curation driven by a function in place of models, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from overread.case import Picture
from overread.curate.questions import Heard, Question, Steps
from overread.curate.records import Record
from overread.judging.rubric import sections_of

Says = Callable[[Question], str | None]


def driven(steps: Steps, says: Says, asked: list[Question] | None = None) -> Sequence[Record]:
    """The records of a step whose models say what `says` returns; None is a refusal."""
    heard: list[Heard] | None = None
    while True:
        try:
            questions = next(steps) if heard is None else steps.send(heard)
        except StopIteration as end:
            found: Sequence[Record] = end.value
            return found
        if asked is not None:
            asked.extend(questions)
        heard = []
        for one in questions:
            text = says(one)
            heard.append(
                Heard(question=one, by=one.to, text=text, lack="refused" if text is None else "")
            )


def text_of(question: Question) -> str:
    """All text of the last turn."""
    return "\n".join(part for part in question.messages[-1].parts if isinstance(part, str))


def told(question: Question) -> dict[str, str]:
    """The fenced material of the first turn."""
    first = next(message for message in question.messages if message.role == "user")
    return sections_of("\n".join(part for part in first.parts if isinstance(part, str)))


def shown(question: Question) -> list[Picture]:
    return [p for message in question.messages for p in message.parts if isinstance(p, Picture)]
