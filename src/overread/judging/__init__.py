"""Judges: readers that judge what other readers said. Questions, rubrics, fitness, agreement."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = ["VERDICT_COLUMNS", "Read", "Role"]

Role: TypeAlias = Literal["answer", "steps", "order", "score"]
# A row of `verdicts.parquet`, whatever the benchmark. `question` is the question of the role
# (steps: precision, recall); `about` says which reply was judged, as JSON of its condition;
# `payload` is the verdict in canonical JSON; `how` says how it was read (strict, fenced, repaired,
# ...); `attempts` counts the times it was asked; `check` marks a control's reply, judged to see
# whether the judge is fit. Of the outcomes, `judged` is a verdict that could be read, `invalid` a
# reply that could not, `unanswered` no reply.
VERDICT_COLUMNS: Final = (
    *("judge", "role", "question", "reader", "case", "about", "check", "attempts"),
    *("outcome", "how", "payload", "text", "reason", "prompt"),
)


class Read(msgspec.Struct, frozen=True):
    """A judge's reply as it was read: the value, or None and why not; `how` it was got."""

    value: Any = None
    how: str = ""
    fault: str = ""

    @property
    def valid(self) -> bool:
        return not self.fault
