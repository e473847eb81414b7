"""What models say to a step, read: a strict small JSON form, or why it cannot be used.

Whoever replies in another form is told so once and asked again; then it costs the item. What a
model says is hostile text: it is parsed by a parser, taken as one line of printable text, and put
into the prompts of others between fences.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from overread.benchmarks.curated import Item
from overread.case import Decoding, Message, Picture, printable
from overread.curate.questions import Heard, Question, user
from overread.files import read_toml
from overread.judging import Read
from overread.judging.lexicon import content
from overread.judging.reading import read_json, spoken
from overread.judging.rubric import fenced

PROMPTS: Final = read_toml(Path(__file__).with_name("prompts.toml"))
_TOKENS: Final = 2048
_MOST_SHOWN: Final = 8000


class Understood(msgspec.Struct, frozen=True, kw_only=True):
    """A question's last reply and what it was read as; `fault` says why it was not.

    `reason` is the code for a record: refused, unanswered or malformed; empty where it was read.
    """

    heard: Heard
    value: Any = None
    reason: str = ""
    fault: str = ""


Rounds: TypeAlias = Generator[Sequence[Question], Sequence[Heard], list[Understood]]
Reading: TypeAlias = Callable[[Question, str], Read]


def understood(questions: Sequence[Question], read: Reading) -> Rounds:
    """Put the questions, and once more those whose reply cannot be read; in their order."""
    found = [_understood(heard, read) for heard in (yield questions)]
    again = [at for at, one in enumerate(found) if one.reason == "malformed"]
    if again:
        asked = [
            found[at].heard.question.again(
                found[at].heard.text or "",
                f"This cannot be used: {found[at].fault}. Reply with the JSON object alone.",
            )
            for at in again
        ]
        for at, heard in zip(again, (yield asked), strict=True):
            found[at] = _understood(heard, read)
    return found


def _understood(heard: Heard, read: Reading) -> Understood:
    if heard.text is None:
        return Understood(heard=heard, reason=heard.lack, fault=heard.lack)
    found = read(heard.question, heard.text)
    if found.valid:
        return Understood(heard=heard, value=found.value)
    return Understood(heard=heard, reason="malformed", fault=found.fault)


def object_in(text: str, form: type[Any]) -> Read:
    """The JSON object of a reply as a struct; a key or type that is none of its own is a fault.

    >>> class Said(msgspec.Struct, forbid_unknown_fields=True):
    ...     answer: str
    >>> object_in('Well: {"answer": "left"}', Said).value
    Said(answer='left')
    >>> object_in('{"answer": 1}', Said).fault
    'Expected `str`, got `int` - at `$.answer`'
    """
    said = spoken(text)
    if said is None:
        return Read(fault="the reply ends in its thoughts")
    found = read_json(said, "object")
    if not found.valid:
        return found
    try:
        return Read(msgspec.convert(found.value, form), found.how)
    except msgspec.ValidationError as error:
        # A strange key is a model's own word.
        return Read(how=found.how, fault=one_line(str(error))[:200])


def one_line(text: str) -> str:
    """A model's words on one line, without what would steer a terminal or a page.

    >>> one_line(" a\\n  b ")
    'a b'
    """
    return printable(" ".join(text.split()))


def prompt(name: str, sections: Mapping[str, str], **words: str) -> str:
    """The prompt of a step: our words, and the material between fences."""
    shown = {key: text[:_MOST_SHOWN] for key, text in sections.items() if text.strip()}
    return fenced(f"{PROMPTS['notice'].strip()}\n\n{PROMPTS[name].strip()}", shown, words)


def question_to(
    seat: str, of: str, about: str, text: str, pictures: Sequence[Picture] = (), **more: str
) -> Question:
    """A question of a step, decoded greedily, with its pictures first."""
    messages: tuple[Message, ...] = user(*pictures, text)
    return Question(
        to=seat, item=of, about={"ask": about, **more}, messages=messages,
        decoding=Decoding(max_tokens=_TOKENS),
    )  # fmt: skip


def material_of(item: Item) -> dict[str, str]:
    """What is known of an item, as sections of a prompt."""
    return {
        "caption": item.caption,
        "labels": ", ".join(item.labels),
        "examination": ", ".join(filter(None, (item.modality, item.examination))),
        "question": item.question,
        "options": "\n".join(item.options),
        "answer": "; ".join(item.answers),
    }


def supported(text: str, by: str, least: float = 0.8) -> bool:
    """Whether at least this share of a text's words stand in another, negated words apart.

    >>> supported("left nodules", "A nodule in the left lung."), supported("nodule", "No nodule.")
    (True, False)
    """
    words, known = content(text), content(by)
    return bool(words) and len(words & known) >= least * len(words)
