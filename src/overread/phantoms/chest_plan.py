"""Which films a set needs: how many of what, under which names, decided before any is drawn.

The standard set has 480 cases: for each of eight findings 40 films that show it and 20 healthy
films that do not. Two things besides the finding go with the label, as in real archives, and a
reader may lean on either instead of looking: the marker (seven films in eight agree with the label)
and the view (bedside AP films are more often of the sick).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from overread.case import BadInput
from overread.phantoms.chest_findings import FINDINGS

__all__ = ["LEAST", "Order", "Planned", "SetPlan", "plan_set"]

LEAST = 16
MARKER_AGREES = 0.875
AP_WHEN_PRESENT, AP_WHEN_ABSENT = 0.65, 0.35


class Order(msgspec.Struct, frozen=True):
    """One film to make. `number` seeds it; `name` is its file's stem and says nothing of it."""

    number: int
    name: str
    finding: str
    present: bool
    view: str
    marker: bool


class Planned(msgspec.Struct, frozen=True):
    """One case: its film, another patient's that agrees with it, and one that does not."""

    case_id: str
    film: Order
    swap: Order
    opposite: Order


class SetPlan(msgspec.Struct, frozen=True):
    """All films, and the cases in the order of their ids.

    Films that are no case are spare: the other patient where a finding has a single case.
    """

    films: tuple[Order, ...]
    cases: tuple[Planned, ...]


def plan_set(n: int, seed: int) -> SetPlan:
    """The plan for n cases; the same n and seed always give the same plan."""
    if n < LEAST:
        raise BadInput(f"a chest set of {n} cases is too small; ask for at least {LEAST}.")
    if seed < 0:
        raise BadInput(f"seed {seed} is negative; use 0 or above.")
    rng = np.random.default_rng([seed, 0])
    positives = round(n * 2 / 3)
    strata = [(f, True, k) for f, k in _shares(positives)]
    strata += [(f, False, k) for f, k in _shares(n - positives)]
    spares = [(f, True, 1) for f, present, k in strata if present and k == 1]

    kinds = [(f, present) for f, present, k in strata + spares for _ in range(k)]
    marker = np.concatenate(
        [_spread(rng, strata, True, MARKER_AGREES), _spread(rng, strata, False, 1 - MARKER_AGREES)]
    )
    bedside = np.concatenate(
        [_spread(rng, strata, True, AP_WHEN_PRESENT), _spread(rng, strata, False, AP_WHEN_ABSENT)]
    )
    extra = np.ones(len(spares), bool)
    marker, bedside = np.concatenate([marker, extra]), np.concatenate([bedside, extra])
    names = rng.permutation(len(kinds))
    films = tuple(
        Order(k, f"film_{names[k]:05d}", f, present, "AP" if bedside[k] else "PA", bool(marker[k]))
        for k, (f, present) in enumerate(kinds)
    )
    ids = rng.permutation(n)
    swaps = _swaps(rng, films, n)
    # A stream of their own: what was planned before they were thought of stays as it was.
    opposites = _opposites(np.random.default_rng([seed, 2]), films, n)
    cases = (Planned(f"phantom_{ids[k]:05d}", films[k], swaps[k], opposites[k]) for k in range(n))
    return SetPlan(films, tuple(sorted(cases, key=lambda case: case.case_id)))


def _shares(total: int) -> list[tuple[str, int]]:
    """As near to equal parts as whole numbers allow, the first findings taking what is over."""
    each, over = divmod(total, len(FINDINGS))
    return [(finding, each + (i < over)) for i, finding in enumerate(FINDINGS)]


def _spread(
    rng: np.random.Generator,
    strata: Sequence[tuple[str, bool, int]],
    present: bool,
    share: float,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """True for a share of each stratum, exact over all strata together, shuffled within each."""
    flags, given, seen = [], 0, 0
    for _, stratum, k in strata:
        if stratum is present:
            seen += k
            due = round(share * seen) - given
            flags.append(rng.permutation(np.arange(k) < due))
            given += due
    return np.concatenate(flags)


def _swaps(rng: np.random.Generator, films: Sequence[Order], n: int) -> list[Order]:
    """For each of the first n films another patient's, of the same finding and label.

    A healthy film lacks every finding, so where a finding has one healthy film any other serves.
    """
    alike = _alike(films)
    healthy = [film for film in films if not film.present]
    swaps = []
    for film in films[:n]:
        pool = alike[film.finding, film.present]
        pool = pool if len(pool) > 1 else healthy
        other = pool[int(rng.integers(len(pool) - 1))]
        swaps.append(pool[-1] if other is film else other)  # uniform over all but the film itself
    return swaps


def _opposites(rng: np.random.Generator, films: Sequence[Order], n: int) -> list[Order]:
    """For each of the first n films one of the same finding and the opposite label.

    In a small set some findings have no healthy film of their own; any healthy film lacks them.
    """
    alike = _alike(films)
    healthy = [film for film in films if not film.present]
    pools = (alike.get((film.finding, not film.present), healthy) for film in films[:n])
    return [pool[int(rng.integers(len(pool)))] for pool in pools]


def _alike(films: Sequence[Order]) -> dict[tuple[str, bool], list[Order]]:
    alike: dict[tuple[str, bool], list[Order]] = {}
    for film in films:
        alike.setdefault((film.finding, film.present), []).append(film)
    return alike
