"""Whether a run's measures show each control for what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from overread.benchmarks.benchmark import Recovered
from overread.case import Measure
from overread.judging.fitness import UNFIT

__all__ = ["CRITERIA", "EXPECTED", "Criterion", "recovered"]

EXPECTED: Final[Mapping[str, str]] = {
    "oracle": "right",
    "letter-a": "always the first",
    "longest-option": "goes by length",
    "reads-caption": "found nothing to read",
    "format-breaker": "cannot be read",
}
"""What each control is by construction."""

_By = tuple[tuple[str, str], ...]
_NOBODY: Final = "nothing was measured that tells"


class Criterion(msgspec.Struct, frozen=True):
    """A bound that a control's measure must keep.

    `needed` wherever multiple-choice items were asked: that it is not known then breaks it. Else it
    is looked at where there is such a measure.
    """

    measure: str
    least: float | None = None
    most: float | None = None
    by: _By = ()
    needed: bool = False
    reason: str = ""


# One item in a hundred may have a twin with another truth, which no control can tell.
_NEARLY: Final = 0.99
_FEW: Final = 0.01
_READ: Final = Criterion(
    "invalid_rate", most=_FEW, needed=True, reason="every reply is a letter and no more"
)
_BLIND: Final = tuple(
    Criterion(name, most=0.25, reason="its reply says nothing of the case")
    for name in ("visual", "truth")
)
_UNREAD: Final = (
    Criterion("invalid_rate", least=1, needed=True, reason="no reply names an option"),
    *(
        Criterion("invalid_rate", least=1, by=(("kind", kind),), reason="no reply has an answer")
        for kind in ("open", "reformulated")
    ),
)

CRITERIA: Final[Mapping[str, tuple[Criterion, ...]]] = {
    "oracle": (
        Criterion("accuracy", least=_NEARLY, needed=True, reason="every answer is right"),
        _READ,
        Criterion("order_consistency", least=_NEARLY, reason="right in every order"),
        Criterion("visual", least=0.75, reason="it says what the caption says"),
        Criterion("truth", least=0.75, reason="it gives the true answer"),
        Criterion("score", least=0.7, reason="both are high"),
    ),
    "letter-a": (
        Criterion(
            "position_share",
            least=1,
            by=(("position", "A"),),
            needed=True,
            reason="it knows one letter",
        ),
        _READ,
        *_BLIND,
    ),
    "longest-option": (
        Criterion("longest_rate", least=_NEARLY, needed=True, reason="it takes the longest option"),
        _READ,
        Criterion("order_consistency", least=_NEARLY, reason="order does not change length"),
        *_BLIND,
    ),
    "reads-caption": (
        Criterion(
            "accuracy", most=0, needed=True, reason="what it answers was given away by the prompt"
        ),
        *_UNREAD,
        *_BLIND,
    ),
    "format-breaker": (
        Criterion("accuracy", most=0, needed=True, reason="what cannot be read is wrong"),
        *_UNREAD,
    ),
}
"""What must hold of each control, whatever judge is fit."""

_Known = Mapping[tuple[str, str, _By], Measure]


def recovered(measures: Sequence[Measure]) -> list[Recovered]:
    """One line for each control that was asked.

    What an unfit judge says is not looked at. A control of which nothing else is known is not
    recovered.
    """
    known = {
        (m.reader.removeprefix("control:"), m.measure, tuple(sorted(m.by.items()))): m
        for m in measures
        if m.reader.startswith("control:")
    }
    asked = {reader for reader, _, _ in known}
    return [_judged(name, known) for name in EXPECTED if name in asked]


def _judged(name: str, known: _Known) -> Recovered:
    # Accuracy has a value wherever multiple-choice items were asked.
    lettered = _value(known.get((name, "accuracy", ()))) is not None
    kept: list[str] = []
    broken: list[str] = []
    for criterion in CRITERIA[name]:
        own = known.get((name, criterion.measure, criterion.by))
        found = _value(own)
        if found is None:
            if criterion.needed and lettered:
                broken.append(f"{_named(criterion)} is not known")
            continue
        if own is not None and own.label == UNFIT:
            continue
        ok = (criterion.least is None or found >= criterion.least) and (
            criterion.most is None or found <= criterion.most
        )
        said = f"{_named(criterion)} {found:.2f}"
        (kept if ok else broken).append(said if ok else f"{said} ({criterion.reason})")
    ok = bool(kept) and not broken
    return Recovered(
        control=name,
        expected=EXPECTED[name],
        found=EXPECTED[name] if ok else "; ".join(broken) or _NOBODY,
        ok=ok,
        note="; ".join(kept) if ok else None,
    )


def _value(measure: Measure | None) -> float | None:
    return None if measure is None or not measure.n else measure.value


def _named(criterion: Criterion) -> str:
    return " of ".join((criterion.measure, *(value for _, value in criterion.by)))
