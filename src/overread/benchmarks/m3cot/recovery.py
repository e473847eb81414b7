"""Whether a run's measures show each control for what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from overread.benchmarks.benchmark import Recovered
from overread.case import Measure

__all__ = ["CRITERIA", "EXPECTED", "Criterion", "recovered"]

EXPECTED: Final[Mapping[str, str]] = {
    "clinician": "reasons as the gold steps do",
    "answer-only": "answers without reasons",
    "rambler": "reasons at length and mostly beside the point",
    "scrambled": "right steps in no steady order",
    "contradicts": "right steps, wrong answer",
}
"""What each control is by construction."""


class Criterion(msgspec.Struct, frozen=True):
    """A bound that a control's measure must keep.

    `end` is the part of the measure it is laid on; without an interval that is its value. Beside a
    number, `versus` names a control whose other end must be on the right side too (its value where
    the bound is on a value), if it was asked.
    """

    measure: str
    end: Literal["value", "low", "high"]
    least: float | None = None
    most: float | None = None
    versus: str = ""
    by: tuple[tuple[str, str], ...] = ()
    reason: str = ""


_COT: Final = (("mode", "cot"),)
_RIGHT: Final = Criterion("accuracy", "low", least=0.8, by=_COT, reason="every answer is right")
_COMPLETE: Final = Criterion("recall", "low", least=0.8, reason="every gold step is there")
_SOUND: Final = Criterion("precision", "low", least=0.6, reason="no step but gold ones")

CRITERIA: Final[Mapping[str, tuple[Criterion, ...]]] = {
    "clinician": (
        _RIGHT,
        _SOUND,
        _COMPLETE,
        Criterion("f1", "low", least=0.7, reason="precision and recall are both high"),
        Criterion("impact", "value", least=-0.1, most=0.1, reason="right in both modes"),
    ),
    "answer-only": (
        _RIGHT,
        Criterion(
            "recall", "high", most=0.35, reason="there are no steps; an answer may state one"
        ),
    ),
    "rambler": (
        Criterion(
            "precision", "high", most=0.5, versus="clinician", reason="one step in eight is right"
        ),
        Criterion(
            "recall", "high", most=0.6, versus="clinician", reason="only the first gold step"
        ),
        Criterion("f1", "high", most=0.6, versus="clinician", reason="neither of the two is high"),
    ),
    "scrambled": (
        _RIGHT,
        _SOUND,
        _COMPLETE,
        Criterion(
            "consistency",
            "value",
            most=0.9,
            versus="clinician",
            reason="every item has an order of its own",
        ),
    ),
    "contradicts": (
        Criterion("accuracy", "high", most=0.2, by=_COT, reason="no answer is right"),
        _SOUND,
        _COMPLETE,
        Criterion("impact", "high", most=-0.5, reason="right when asked directly, wrong else"),
    ),
}
"""What must hold of each control, whatever judge is fit."""


def recovered(measures: Sequence[Measure]) -> list[Recovered]:
    """One line for each control that was asked. A measure that is not known recovers nothing.

    Impact is looked at only where both modes were asked.
    """
    known = {
        (m.reader.removeprefix("control:"), m.measure, tuple(sorted(m.by.items()))): m
        for m in measures
        if m.reader.startswith("control:")
    }
    asked = {reader for reader, _, _ in known}
    return [_judged(name, known) for name in EXPECTED if name in asked]


_Known = Mapping[tuple[str, str, tuple[tuple[str, str], ...]], Measure]


def _judged(name: str, known: _Known) -> Recovered:
    kept: list[str] = []
    broken: list[str] = []
    for criterion in CRITERIA[name]:
        own = known.get((name, criterion.measure, criterion.by))
        if criterion.measure == "impact" and (own is None or own.value is None):
            continue
        other = known.get((criterion.versus, criterion.measure, criterion.by))
        said, ok = _held(criterion, own, other)
        (kept if ok else broken).append(said)
    return Recovered(
        control=name,
        expected=EXPECTED[name],
        found="; ".join(broken) or EXPECTED[name],
        ok=not broken,
        note=None if broken else "; ".join(kept),
    )


def _held(criterion: Criterion, own: Measure | None, other: Measure | None) -> tuple[str, bool]:
    """What the measure is, in words, and whether it keeps to the bound."""
    found = None if own is None else _end(own, criterion.end)
    if found is None:
        return f"{criterion.measure} is not known", False
    ok = (criterion.least is None or found >= criterion.least) and (
        criterion.most is None or found <= criterion.most
    )
    word = {"value": "", "low": " at least", "high": " at most"}[criterion.end]
    said = f"{criterion.measure}{word} {found:.2f}"
    if other is not None:
        opposite = {"value": "value", "low": "high", "high": "low"}[criterion.end]
        against = _end(other, opposite)
        apart = against is not None and found < against
        ok = ok and apart
        said += f", {'below' if apart else 'not below'} {criterion.versus}'s"
    return (said, ok) if ok else (f"{said} ({criterion.reason})", ok)


def _end(measure: Measure, end: str) -> float | None:
    found: float | None = getattr(measure, end)
    return measure.value if found is None else found
