"""What a gate says of one rule and one reader, and of all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

Outcome: TypeAlias = Literal["pass", "skipped", "cannot tell", "fail"]
"""`cannot tell`: the data neither meet the rule nor break it. `skipped`: optional, not measured."""

# From best to worst; a gate's own outcome is its worst ruling's.
OUTCOMES: Final[tuple[Outcome, ...]] = ("skipped", "pass", "cannot tell", "fail")
EXIT_CODES: Final[Mapping[Outcome, int]] = {"pass": 0, "fail": 1, "cannot tell": 4}


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """One rule upon one reader of one run: what was demanded, what was found, and by how much.

    `margin` is above 0 where the demand is met and below where it is not, in the measure's own unit
    and from the end of the interval that decides; None where there is nothing to compare. `needed`
    is how many cases would settle what the data cannot tell, were the value to stay what it is.
    `run` is empty where no run of the benchmark has the reader.
    """

    rule: str
    why: str
    run: str
    benchmark: str
    reader: str
    measure: str
    by: dict[str, str]
    demanded: str
    found: str
    outcome: Outcome
    says: str
    margin: float | None = None
    needed: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    label: str | None = None
    method: str | None = None
    note: str | None = None
    edition: str | None = None
    signature: str | None = None


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy says of some runs."""

    title: str
    policy: str
    policy_sha256: str
    overread: str
    outcome: Outcome
    exit_code: int
    counts: dict[str, int]
    rulings: list[Ruling]
    disclaimer: str


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of some outcomes; `skipped` where there is nothing else."""
    return max(outcomes, key=OUTCOMES.index, default="skipped")
