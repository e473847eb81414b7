"""What a reply means: one row of the answers table (MEDCMR, "Reading the reply")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.benchmarks import tables
from overread.benchmarks.letter_parser import (
    LETTERS,
    letter_probabilities,
    most_probable,
    read_choice,
)
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.trials import shown_order
from overread.case import Outcome, Reply, Trial
from overread.judging.reading import spoken

if TYPE_CHECKING:
    import polars as pl


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


@lru_cache(4)  # a forecast of what judges cost reads one text for thousands of items
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

NO_ANSWER: Final = "no Answer section"
NO_REASONING: Final = "no Reasoning section"
BY_WORDS: Final = "no usable log-probabilities: read by its words"
Alternatives = Sequence[tuple[str, float]] | None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a row that an edition decides.

    `choice` is the option named, by the letter it has in the case; `shown` the letter it had in the
    question; `rung` how it was read. `probabilities` are the options' by first token, in the order
    of the case, normalised over the options. `reasoning` and `answer` are the sections of an open
    reply. `reason` is all that is to be noted, that of the reading last.
    """

    outcome: Outcome
    choice: str | None = None
    shown: str | None = None
    rung: str | None = None
    probabilities: list[float] | None = None
    reasoning: str | None = None
    answer: str | None = None
    reason: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A row of answers.parquet, one for each trial; the run puts the column `reader` before these.

    `form` is how the item was put: mcq, open, or reformulated (a multiple-choice item asked as an
    open one); `order` which order of the options was shown, 0 the set's own. Then what `Reading`
    says. `tokens` and `logprobs` are what the reader gave for its first token.
    """

    case: str
    form: str
    image: str
    order: tables.Int8
    outcome: Outcome
    choice: str | None = None
    shown: str | None = None
    rung: str | None = None
    probabilities: list[float] | None = None
    reasoning: str | None = None
    answer: str | None = None
    text: str | None = None
    tokens: list[str] | None = None
    logprobs: list[float] | None = None
    finish: str | None = None
    seconds: float | None = None
    tokens_out: int | None = None
    reason: str | None = None


def read_reply(
    text: str, alternatives: Alternatives, form: str, order: int, case: MedCase, edition: Edition
) -> Reading:
    """What a reply means under an edition. Never raises, whatever the text."""
    if form == "mcq":
        return _letter(text, alternatives, order, case, edition)
    reasoning, answer, lead = read_sections(text)
    if answer is None:
        # Still judged: all of the reply as reasoning, beside an empty answer.
        said = spoken(text)
        words = text if said is None else said
        return Reading(outcome="unparsed", reasoning=words, answer="", reason=NO_ANSWER)
    if reasoning is None:
        # What was said before the answer is reasoning, though it is not called so.
        lead_in = lead or None
        return Reading(outcome="answered", reasoning=lead_in, answer=answer, reason=NO_REASONING)
    return Reading(outcome="answered", reasoning=reasoning, answer=answer)


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
        return Reading(outcome="unparsed", rung=rung, probabilities=probabilities, reason=note)
    return Reading(
        outcome="answered",
        choice=LETTERS[places[LETTERS.index(letter)]],
        shown=letter,
        rung=rung,
        probabilities=probabilities,
        reason=note,
    )


def answer_of(
    trial: Trial, reply: Reply | None, edition: Edition, case: MedCase, reason: str = ""
) -> Answer:
    """A reply as a row.

    A refusal by the server is no answer, whatever its words, and keeps them; one in words alone is
    a reply without an answer. Without a reply there is no text; `reason` says why.
    """
    told = trial.condition
    form, image, order = str(told["form"]), str(told["image"]), int(told["order"])
    reading, said = Reading(outcome="unanswered"), dict[str, Any]()
    if reply is not None:
        tokens, values = tables.alternatives_of(reply)
        said = {
            "text": tables.storable(reply.text),
            "tokens": tokens,
            "logprobs": values,
            "finish": reply.finish,
            "seconds": float(reply.seconds),
            "tokens_out": tables.tokens_of(reply),
        }
        reading = Reading(outcome="refused")
        if not reply.refused:
            given = _paired(tokens, values)
            reading = read_reply(said["text"], given, form, order, case, edition)
    noted = tables.joined_notes([*tables.notes_of(reply, reason), reading.reason])
    read = msgspec.structs.asdict(reading) | {"reason": noted}
    return Answer(case=trial.case, form=form, image=image, order=order, **read, **said)


def _paired(tokens: list[str] | None, values: list[float] | None) -> Alternatives:
    return None if tokens is None or values is None else list(zip(tokens, values, strict=True))


class _Kept(msgspec.Struct, frozen=True):
    """What of a kept row is read again."""

    case: str
    form: str
    order: int
    outcome: str
    text: str | None
    tokens: list[str] | None
    logprobs: list[float] | None
    finish: str | None


def reread(answers: pl.DataFrame, cases: Mapping[str, MedCase], edition: Edition) -> pl.DataFrame:
    """Kept replies read again under this edition, as if they were read for the first time.

    Refusals and trials without a reply stay what they are.
    """

    def read(kept: _Kept) -> Reading | None:
        if kept.text is None or kept.outcome == "refused":
            return None
        given, case = _paired(kept.tokens, kept.logprobs), cases[kept.case]
        reading = read_reply(kept.text, given, kept.form, kept.order, case, edition)
        cut = tables.CUT_OFF if kept.finish == "length" else None
        return msgspec.structs.replace(reading, reason=tables.joined_notes([cut, reading.reason]))

    return tables.read_again(answers, _Kept, Reading, read)
