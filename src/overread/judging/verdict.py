"""What a judge said, read: a row of `verdicts.parquet`, whatever the benchmark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = [
    "ROLES",
    "VERDICT_COLUMNS",
    "Read",
    "Role",
    "VerdictOutcome",
    "boolean",
    "number",
    "word",
]

Role: TypeAlias = Literal["answer", "steps", "order", "score"]
ROLES: Final[tuple[Role, ...]] = ("answer", "steps", "order", "score")
# `judged`: a verdict that could be read. `invalid`: a reply that could not. `unanswered`: no reply.
VerdictOutcome: TypeAlias = Literal["judged", "invalid", "unanswered"]

# `question` is the question of the role (steps: precision, recall); `about` says which reply was
# judged, as JSON of its condition; `payload` is the verdict in canonical JSON; `how` says how it
# was read (strict, fenced, repaired, ...); `attempts` counts the times it was asked; `check` marks
# a control's reply, judged to see whether the judge is fit.
VERDICT_COLUMNS: Final = (
    "judge",
    "role",
    "question",
    "reader",
    "case",
    "about",
    "check",
    "attempts",
    "outcome",
    "how",
    "payload",
    "text",
    "reason",
    "prompt",
)


class Read(msgspec.Struct, frozen=True):
    """A judge's reply as it was read: the value, or None and why not; `how` it was got."""

    value: Any = None
    how: str = ""
    fault: str = ""

    @property
    def valid(self) -> bool:
        return not self.fault


# --------------------------- Single values out of a verdict: truths, numbers and words, or why not


def boolean(value: Any) -> Read:
    """True or false, or one of these words in any case; nothing else is taken for either.

    >>> boolean(" False ").value
    False
    >>> boolean(1).fault
    'neither true nor false'
    """
    if isinstance(value, bool):
        return Read(value, "exact")
    said = _folded(value)
    if said in ("true", "false"):
        return Read(said == "true", "word")
    return Read(fault="neither true nor false")


def number(value: Any, low: float, high: float, step: float = 0) -> Read:
    """A number from `low` to `high`, both allowed, in steps from `low`; 0 takes any between.

    >>> number("3.5", 1, 5, 0.5).value
    3.5
    >>> number(7, 1, 5).fault
    'not from 1 to 5'
    """
    how = "exact"
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([+-]?\d{1,15}(?:\.\d{1,15})?)\s*", value, re.ASCII)
        value, how = (float(found[1]) if found else None), "word"
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        return Read(fault="no number")
    if not low <= value <= high:
        return Read(fault=f"not from {low:g} to {high:g}")
    if step and abs(round((value - low) / step) * step - (value - low)) > 1e-9:
        return Read(fault=f"not in steps of {step:g} from {low:g}")
    return Read(int(value) if value == int(value) else value, how)


def _finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def word(value: Any, choices: Sequence[str], aliases: Mapping[str, str] | None = None) -> Read:
    """One of `choices`; `how` tells whether as it stands, folded (case, spaces) or by an alias.

    >>> word(" matched ", ["Matched", "Unmatched"]).value
    'Matched'
    >>> word("not found", ["Matched", "Unmatched"], {"not found": "Unmatched"}).how
    'alias'
    """
    if isinstance(value, str) and value in choices:
        return Read(value, "exact")
    said = _folded(value)
    for choice in choices:
        if said is not None and said == _folded(choice):
            return Read(choice, "folded")
    for alias, choice in (aliases or {}).items():
        if said is not None and said == _folded(alias):
            return Read(choice, "alias")
    return Read(fault=f"none of {', '.join(choices)}")


def _folded(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return " ".join(value.casefold().split()).strip(" .:;\"'`*")
