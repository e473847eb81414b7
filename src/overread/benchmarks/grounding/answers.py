"""What a reply means: Yes, No or neither, and how sure the reader was (GROUNDING 6 and 7)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.tables import Int8, Int32, alternatives_of, joined_notes, notes_of
from overread.case import Outcome, Reply, Traits, Trial

Rung: TypeAlias = Literal["last_line", "first_token", "substring", "words", "none"]
Alternatives: TypeAlias = Sequence[tuple[str, float]] | None

_YES_WORDS: Final = frozenset({"yes", "yeah", "correct", "true", "present", "positive"})
_NO_WORDS: Final = frozenset({"no", "not", "absent", "negative", "false", "incorrect"})
_TRAILING: Final = ".,!?:;"
_REACH: Final = 60  # the last rung looks at this many characters

# Whole words: no letter or digit on either side. An underscore (markdown) may stand there.
_WORD: Final = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])")

_YES_TOKENS: Final = frozenset({"Yes", "yes", "YES", " Yes", " yes", " YES"})
_NO_TOKENS: Final = frozenset({"No", "no", "NO", " No", " no", " NO"})

# The rung of an answer, and the source of a confidence, taken over from somebody else's file.
RECORDED: Final = "recorded"


class Parsed(NamedTuple):
    """1 (Yes), 0 (No) or -1 (neither), and the rung of the ladder that decided."""

    answer: int
    rung: Rung


# ---------------------------------------------------------------- the ladder


def parse(text: str, reasoning: bool, edition: Edition) -> Parsed:
    """Read a reply: last line (reasoning readers), first token, then the first 60 characters.

    The order is the authors'. Parser 1 takes "no" anywhere, so "normal", "nodule" and "I don't
    know" mean No. Parser 2 takes whole words, and removes thinking from every reader's reply.
    Never raises, whatever the text.
    """
    strict = edition.parser == 2
    text = text.replace("Ġ", " ").replace("Ċ", "\n")
    if strict:
        text = _after_thinking(text)
    elif reasoning:
        text = _without_thinking(text)
    text = text.strip()
    if not text:
        return Parsed(-1, "none")
    if reasoning:
        last = next(line for line in reversed(text.splitlines()) if line.strip())
        answer = _of_word(last.strip())
        if answer >= 0:
            return Parsed(answer, "last_line")
    answer = _of_word(text.split(maxsplit=1)[0])
    if answer >= 0:
        return Parsed(answer, "first_token")
    # One character more than may match: "no" at the very end must not be the start of "nodule".
    start = text.lower()[: _REACH + 1]
    if strict:
        found = {match[1] for match in _WORD.finditer(start) if match.end() <= _REACH}
    else:
        found = {word for word in ("yes", "no") if word in start[:_REACH]}
    if len(found) != 1:
        return Parsed(-1, "none")
    return Parsed(int(found == {"yes"}), "words" if strict else "substring")


def _of_word(candidate: str) -> int:
    word = candidate.lower().rstrip(_TRAILING)
    return 1 if word in _YES_WORDS else 0 if word in _NO_WORDS else -1


def _without_thinking(text: str) -> str:
    """Every `<think>…</think>` removed; a tag never closed stays, as the authors leave it.

    By `find` and not by a pattern: a pattern needs quadratic time on many unclosed tags.
    """
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0:
        end = text.find("</think>", start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len("</think>")
    return "".join(kept) + text[at:]


def _after_thinking(text: str) -> str:
    """What was said apart from thinking; nothing if the thinking never ended.

    Some servers send the opening tag with the question, so that a reply holds only the closing
    one: what stands before it is thinking too.
    """
    text = _without_thinking(text)
    if "<think>" in text:
        return ""
    return text.rpartition("</think>")[2]


# ---------------------------------------------------------------- confidence


def p_yes(logprobs: Alternatives, answer: int, edition: Edition) -> tuple[float | None, str | None]:
    """P(Yes) from the first token's alternatives, never the probability of the given answer.

    Returns the number and, unless it comes from log-probabilities, the reason. `authors` fills in
    the answer itself as 0 or 1 (0.5 unparsed) and stores six decimals; `corrected` leaves null
    what the reader did not say [D9].
    """
    hard = edition.confidence == "hard"
    if logprobs is None:
        return ({1: 1.0, 0: 0.0}.get(answer, 0.5) if hard else None), "no_logprobs"
    yes = _mass(logprobs, _YES_TOKENS)
    no = _mass(logprobs, _NO_TOKENS)
    if hard:
        return round(yes / (yes + no + 1e-8), 6), (None if yes + no > 0 else "no_yes_no_mass")
    if yes + no <= 0:
        return None, "no_yes_no_mass"
    return yes / (yes + no), None


def _mass(logprobs: Sequence[tuple[str, float]], tokens: frozenset[str]) -> float:
    # A log-probability is at most 0; a server that says more, or NaN, must not break the reading.
    return math.fsum(
        math.exp(min(value, 0.0)) for token, value in logprobs if token in tokens and value == value
    )


# ---------------------------------------------------------------- rows


class Reading(msgspec.Struct, frozen=True):
    """The columns of a row that an edition decides."""

    outcome: Outcome
    answer: Int8 | None
    rung: str | None
    p_yes: float | None
    p_reason: str | None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One row of answers.parquet; the run puts the column `reader` before these."""

    case: str
    image: str
    phrasing: str
    px: Int32
    repeat: Int32
    outcome: Outcome
    answer: Int8 | None
    rung: str | None
    p_yes: float | None
    p_reason: str | None
    text: str | None = None
    reasoning: str | None = None
    tokens: list[str] | None = None
    logprobs: list[float] | None = None
    refused: bool = False
    recorded: bool = False
    note: str | None = None


class KeptReply(Answer, frozen=True, kw_only=True):
    """A kept row, which is read again."""

    reader: str


def read_reply(
    text: str, logprobs: Alternatives, refused: bool, reasoning: bool, edition: Edition
) -> Reading:
    """What a reply means under an edition. A refusal is no answer, whatever its words."""
    if refused and edition.failures == "apart":
        return Reading("refused", None, None, None, "refused")
    answer, rung = parse(text, reasoning, edition)
    confidence, reason = p_yes(logprobs, answer, edition)
    if answer < 0:
        return Reading("unparsed", None, rung, confidence, reason)
    return Reading("answered", answer, rung, confidence, reason)


def read_kept(row: KeptReply, traits: Traits, edition: Edition, *, reparse: bool) -> Reading | None:
    """A kept reply read again; None where it is kept as it is.

    An answer taken over from somebody else's file is kept unless `reparse`; one of a reader
    without text always is, since its words were made from its number.
    """
    if traits.modality == "vision" or (row.rung == RECORDED and not reparse):
        return None
    if row.text is None:
        return unanswered(edition)
    said = None
    if row.tokens is not None:
        said = list(zip(row.tokens, row.logprobs or (), strict=True))
    reading = read_reply(row.text, said, row.refused, traits.reasoning, edition)
    if not row.recorded:
        return reading
    # The file's confidence is all there is.
    return replace(reading, p_yes=row.p_yes, p_reason=row.p_reason)


def unanswered(edition: Edition) -> Reading:
    """A trial without a reply; the authors' files hold 0.5 there."""
    sure = 0.5 if edition.confidence == "hard" else None
    return Reading("unanswered", None, None, sure, "unanswered")


def answer_of(
    trial: Trial, reply: Reply | None, traits: Traits, edition: Edition, reason: str = ""
) -> Answer:
    """What a reader said to a trial, as a row of the answers table."""
    facts: dict[str, Any] = {"case": trial.case, "repeat": trial.repeat, **trial.condition}
    facts["note"] = joined_notes(notes_of(reply, reason))
    if reply is None:
        return Answer(**facts, **msgspec.structs.asdict(unanswered(edition)))
    reading = read_reply(reply.text, reply.logprobs, reply.refused, traits.reasoning, edition)
    tokens, logprobs = alternatives_of(reply)
    return Answer(
        **facts,
        **msgspec.structs.asdict(reading),
        text=reply.text,
        reasoning=reply.reasoning,
        tokens=tokens,
        logprobs=logprobs,
        refused=reply.refused,
    )
