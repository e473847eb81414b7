"""What a reply means: one row of the answers table (MEDCMR, "Reading the reply")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.benchmarks.letter_parser import (
    REASONS,
    letter_probabilities,
    most_probable,
    read_choice,
)
from overread.benchmarks.medcmr.cases import LETTERS, MedCase, answer_schema
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.trials import shown_order
from overread.benchmarks.texts import storable
from overread.case import Outcome, Reply, Traits, Trial
from overread.judging.reading import spoken

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import ReaderRecord

__all__ = [
    "BY_WORDS",
    "CUT_OFF",
    "NO_ANSWER",
    "NO_REASONING",
    "Reading",
    "Sections",
    "answer_row",
    "read_reply",
    "read_sections",
    "reread",
]


# ---------------------------------------------------------------- sections of an open reply
# The sections of an open reply: its reasoning and its answer (MEDCMR, "Reading the reply").

# A section starts a line: emphasis, a heading's hashes, a quote's or list's mark and a number may
# stand before its name; a colon follows, or a heading or emphasised name stands alone on its line.
_BEFORE: Final = r"^[ \t]*+(?P<marks>(?:[#>*_`\-+]|\d{1,2}[.)])?[#>*_`\-+ \t]*+)"
_NAME: Final = r"(?:(?:final|short|my|the)[ \t]+)?(?P<name>reasoning|answer)(?:[ \t]+process)?"
_AFTER: Final = r"[ \t*_`]*+(?:(?P<colon>[:：])[ \t*_`]*+|$)"
_SECTION: Final = re.compile(_BEFORE + _NAME + _AFTER, re.IGNORECASE | re.MULTILINE)
# Where no line begins with it, an answer may stand behind a tag, emphasised, or after a full stop.
_TAG: Final = re.compile(r"<(?P<name>reasoning|answer)>", re.IGNORECASE)
_OPENED: Final = re.compile(r"^<(?:reasoning|answer)>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</(?:reasoning|answer)>", re.IGNORECASE)
_INLINE: Final = re.compile(
    r"(?:(?<![*_\w])[*_]{1,3}|(?P<stop>(?<=[.!?。！？])[\"')\]*_]{0,4}(?:[ \t]++|(?<=[。！？]))))"
    r"(?P<head>(?:(?:final|short|my|the)[ \t]+)?answer)[ \t*_`]*+[:：][ \t*_`]*+",
    re.IGNORECASE,
)
_EMPHASIS: Final = " \t\r\n*_`"


class Sections(NamedTuple):
    """What stands under each name, None where the reply has no such section; `lead` before all."""

    reasoning: str | None
    answer: str | None
    lead: str = ""


class _Head(NamedTuple):
    """A section's name: where it starts, where its text does, and whether it is the answer's."""

    start: int
    body: int
    answer: bool


def read_sections(text: str) -> Sections:
    """The reasoning and the answer of an open reply, apart from thinking.

    Names count in any case of letters, with markdown's emphasis or as headings (`## Answer`), at
    the start of a line. Where no line has the answer, it is what stands in `<answer>`, else behind
    the last "Answer:" that is emphasised or begins a sentence; in the midst of one it is a word. Of
    several sections of a name the last that is not empty counts. Words before the first
    name belong to no section.

    >>> read_sections("**Reasoning:** round and dense.\\n**Answer:** a nodule")
    Sections(reasoning='round and dense.', answer='a nodule', lead='')
    """
    said = spoken(text)
    if said is None:
        return Sections(None, None)
    said = said.replace("\r\n", "\n").replace("\r", "\n")
    heads = _heads(said)
    reasoning: str | None = None
    answer: str | None = None
    ends = [head.start for head in heads[1:]] + [len(said)]
    for head, end in zip(heads, ends, strict=False):
        body = _plain(said[head.body : end])
        if head.answer:
            answer = body if body or answer is None else answer
        elif body or reasoning is None:
            reasoning = body
    return Sections(reasoning, answer, _plain(said[: heads[0].start] if heads else said))


def _heads(said: str) -> list[_Head]:
    """The sections' names in their order; one of the answer only where one is told."""
    lines = [found for found in _SECTION.finditer(said) if found["colon"] or _marked(found)]
    heads = [_head(found) for found in lines]
    if any(head.answer for head in heads):
        return heads
    heads = sorted([*heads, *map(_head, _TAG.finditer(said))])
    if any(head.answer for head in heads):
        return heads
    inline = [
        found
        for found in _INLINE.finditer(said)
        if found["stop"] is None or found["head"][0].isupper()
    ]
    last = [_Head(found.start(), found.end(), answer=True) for found in inline[-1:]]
    return sorted([*heads, *last])


def _head(found: re.Match[str]) -> _Head:
    return _Head(found.start(), found.end(), found["name"].lower() == "answer")


def _marked(head: re.Match[str]) -> bool:
    """Whether a name without a colon is set off as a heading or by emphasis."""
    return bool(set(head["marks"]) & set("#*_"))


def _plain(body: str) -> str:
    """Without outer blanks, the emphasis that a section's name left open, and what a tag ended."""
    body = _OPENED.sub("", body.strip(_EMPHASIS), count=1)
    return _CLOSED.split(body, maxsplit=1)[0].strip(_EMPHASIS)


# ---------------------------------------------------------------- rows of answers

CUT_OFF: Final = "cut off at the token limit"
NO_ANSWER: Final = "no Answer section"
NO_REASONING: Final = "no Reasoning section"
BY_WORDS: Final = "no usable log-probabilities: read by its words"
# All that the reading itself may note; it comes last, so that another reading can replace it.
_NOTES: Final = frozenset({NO_ANSWER, NO_REASONING, BY_WORDS, *REASONS})
_TOO_MANY: Final = 2**63
Alternatives = Sequence[tuple[str, float]] | None


class Reading(NamedTuple):
    """The columns of a row that an edition decides, and what is to be noted."""

    outcome: Outcome
    choice: str | None = None
    shown: str | None = None
    rung: str | None = None
    probabilities: list[float] | None = None
    reasoning: str | None = None
    answer: str | None = None
    note: str = ""


def read_reply(
    text: str,
    alternatives: Alternatives,
    form: str,
    order: int,
    case: MedCase,
    edition: Edition,
) -> Reading:
    """What a reply means under an edition. Never raises, whatever the text."""
    if form == "mcq":
        return _letter(text, alternatives, order, case, edition)
    reasoning, answer, lead = read_sections(text)
    if answer is None:
        # Still judged: all of the reply as reasoning, beside an empty answer.
        said = spoken(text)
        return Reading(
            "unparsed", reasoning=text if said is None else said, answer="", note=NO_ANSWER
        )
    if reasoning is None:
        # What was said before the answer is reasoning, though it is not called so.
        return Reading("answered", reasoning=lead or None, answer=answer, note=NO_REASONING)
    return Reading("answered", reasoning=reasoning, answer=answer)


def _letter(
    text: str, alternatives: Alternatives, order: int, case: MedCase, edition: Edition
) -> Reading:
    """The option that was named, and the options' probabilities in the order of the case.

    Under `letters=logprobs` the most probable letter of the first token is the choice. Where there
    are no probabilities, or two letters are equally probable, the words decide, and a note says so.
    """
    places = shown_order(case, order)
    read = read_choice(text, [case.options[place] for place in places])
    letter, rung, note = read.letter, read.rung, read.reason
    by_letter = letter_probabilities(alternatives, len(places))
    probabilities = first = None
    if by_letter is not None:
        by_place = dict(zip(places, by_letter, strict=True))
        probabilities = [by_place[place] for place in range(len(places))]
        first = most_probable(by_letter)
    if edition.letters == "logprobs":
        if first is not None:
            letter, rung, note = LETTERS[first], "logprobs", ""
        else:
            note = f"{BY_WORDS}; {note}" if note else BY_WORDS
    if letter is None:
        return Reading("unparsed", rung=rung, probabilities=probabilities, note=note)
    choice = LETTERS[places[LETTERS.index(letter)]]
    return Reading("answered", choice, letter, rung, probabilities, note=note)


def answer_row(
    trial: Trial,
    reply: Reply | None,
    traits: Traits,
    edition: Edition,
    case: MedCase,
    reason: str = "",
) -> tuple[Any, ...]:
    """One row, in the order of `ANSWER_COLUMNS`.

    A refusal by the server is no answer, whatever its words, and keeps them; one in words alone is
    a reply without an answer. Without a reply there is no text; `reason` says why.
    """
    told = trial.condition
    form, image, order = str(told["form"]), told["image"], int(told["order"])
    where = (trial.case, form, image, order)
    notes = [reason] if reason else []
    if reply is None:
        nothing = Reading("unanswered")
        return (*where, *nothing[:-1], None, None, None, None, None, None, _noted(notes))
    text = storable(reply.text)
    tokens: list[str] | None = None
    values: list[float] | None = None
    if reply.logprobs is not None:
        tokens = [storable(token) for token, _ in reply.logprobs]
        values = [float(value) for _, value in reply.logprobs]
    if reply.refused:
        reading = Reading("refused")
    else:
        reading = read_reply(text, _paired(tokens, values), form, order, case, edition)
    if reply.refusal:
        notes.append(f"refusal: {reply.refusal}")
    if reply.finish == "length":
        notes.append(CUT_OFF)
    if reading.note:
        notes.append(reading.note)
    finish = None if reply.finish is None else storable(reply.finish)
    count = reply.tokens_out
    if count is not None and not 0 <= count < _TOO_MANY:
        count = None  # whatever a server counted there, it was not tokens
    said = (text, tokens, values, finish, float(reply.seconds), count)
    return (*where, *reading[:-1], *said, _noted(notes))


def _paired(tokens: list[str] | None, values: list[float] | None) -> Alternatives:
    return None if tokens is None or values is None else list(zip(tokens, values, strict=True))


def _noted(notes: list[str]) -> str | None:
    return storable("; ".join(notes)) or None


def reread(
    answers: pl.DataFrame,
    cases: Mapping[str, MedCase],
    readers: Iterable[ReaderRecord],
    edition: Edition,
) -> pl.DataFrame:
    """Kept replies read again under this edition, as if they were read for the first time.

    Refusals and trials without a reply stay what they are. `readers` are not looked at: how a
    reply is read does not depend on who gave it.
    """
    import polars as pl

    columns = (*Reading._fields[:-1], "reason")
    inputs = ("case", "form", "order", "text", "tokens", "logprobs", "reason")
    rows = []
    kept, said = answers.select(columns).iter_rows(), answers.select(inputs).iter_rows()
    for old, (case, form, order, text, tokens, values, reason) in zip(kept, said, strict=True):
        if text is None or old[0] == "refused":
            rows.append(old)
            continue
        reading = read_reply(text, _paired(tokens, values), form, order, cases[case], edition)
        notes = [] if reason is None else _without_reading(reason)
        rows.append((*reading[:-1], _noted([*notes, reading.note] if reading.note else notes)))
    schema = {column: answer_schema()[column] for column in columns}
    read = pl.DataFrame(rows, schema=schema, orient="row")
    return answers.with_columns(read)


def _without_reading(reason: str) -> list[str]:
    """What was noted of a reply apart from its reading, whose notes stand last."""
    before, mark, last = reason.rpartition("; ")
    while last in _NOTES:
        if not mark:
            return []
        reason = before
        before, mark, last = reason.rpartition("; ")
    return [reason]
