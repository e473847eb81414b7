"""What a reader said about an item: one row of the answers table. What it means, judges say."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.texts import storable
from overread.case import Outcome, Reply, Trial

__all__ = ["ANSWER_COLUMNS", "CUT_OFF", "answer_row"]

ANSWER_COLUMNS: Final = (
    "case",
    "mode",
    "image",
    "follow",
    "timed",
    "outcome",
    "text",
    "finish",
    "seconds",
    "tokens_out",
    "reason",
)
CUT_OFF: Final = "cut off at the token limit"
_TOO_MANY: Final = 2**63


def answer_row(trial: Trial, reply: Reply | None, reason: str = "") -> tuple[object, ...]:
    """One row, in the order of `ANSWER_COLUMNS`.

    A refusal is no answer, whatever its words, and keeps them. Without a reply there is no text;
    `reason` says why. An empty reply is a reply: its text is empty.
    """
    told = trial.condition
    where = (trial.case, told["mode"], told["image"], told["follow"], bool(told["timed"]))
    notes = [reason] if reason else []
    if reply is None:
        return (*where, "unanswered", None, None, None, None, _noted(notes))
    outcome: Outcome = "refused" if reply.refused else "answered"
    if reply.refusal:
        notes.append(f"refusal: {reply.refusal}")
    if reply.finish == "length":
        notes.append(CUT_OFF)
    finish = None if reply.finish is None else storable(reply.finish)
    tokens = reply.tokens_out
    if tokens is not None and not 0 <= tokens < _TOO_MANY:
        tokens = None  # whatever a server counted there, it was not tokens
    return (
        *where,
        outcome,
        storable(reply.text),
        finish,
        float(reply.seconds),
        tokens,
        _noted(notes),
    )


def _noted(notes: list[str]) -> str | None:
    return storable("; ".join(notes)) or None
