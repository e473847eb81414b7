"""Do judges agree? Each pair of them, over the verdicts both gave."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import msgspec

from overread.stats import Interval, bootstrap_kappa, percent_agreement, wilson

__all__ = ["Agreement", "agreements", "pair_agreement"]


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How two judges agree, overall (`group` None) or within one group.

    `n` counts verdicts that both gave, `missing` those that one or both did not. `kappa` is None
    where it has no value, and its bounds are None where resampling cannot tell; `note` says why.
    """

    first: str
    second: str
    group: str | None
    n: int
    missing: int
    percent: Interval
    kappa: Interval
    note: str = ""


def agreements(
    labels: Mapping[str, Sequence[Hashable | None]],
    groups: Sequence[str] | None = None,
    *,
    n_boot: int = 10_000,
    seed: int = 0,
) -> list[Agreement]:
    """Percent agreement and Cohen's kappa of each pair of judges, overall and per group.

    Parameters
    ----------
    labels : by judge, sequences of shape (n,)
        What each said of the same replies in the same order; None where it said nothing readable.
    groups : sequence of shape (n,), optional
        The group (task) of each.
    n_boot, seed : int
        Resamples for the interval of kappa.

    Returns
    -------
    list of Agreement
        For each pair in the order of `labels`: overall, then the groups by name.
    """
    found = []
    for first, second in combinations(labels, 2):
        one, two = labels[first], labels[second]
        if len(one) != len(two) or (groups is not None and len(groups) != len(one)):
            raise ValueError(f"{first} and {second} are not aligned")
        parts: list[tuple[str | None, list[int]]] = [(None, list(range(len(one))))]
        for name in sorted(set(groups or ())):
            parts.append((name, [at for at, group in enumerate(groups or ()) if group == name]))
        for group, places in parts:
            mine, theirs = [one[at] for at in places], [two[at] for at in places]
            made = pair_agreement(first, second, mine, theirs, n_boot=n_boot, seed=seed)
            found.append(msgspec.structs.replace(made, group=group))
    return found


def pair_agreement(
    first: str,
    second: str,
    one: Sequence[Hashable | None],
    two: Sequence[Hashable | None],
    *,
    n_boot: int = 10_000,
    seed: int = 0,
) -> Agreement:
    """How two that judged the same agree; percent with Wilson's interval, kappa resampled."""
    both = [(a, b) for a, b in zip(one, two, strict=True) if a is not None and b is not None]
    # Labels by number: any label may be compared, and the order of the numbers does not matter.
    numbers: dict[Hashable, int] = {}
    for pair in both:
        for label in pair:
            numbers.setdefault(label, len(numbers))
    mine = [numbers[a] for a, _ in both]
    theirs = [numbers[b] for _, b in both]
    same = sum(a == b for a, b in zip(mine, theirs, strict=True))
    percent = wilson(same, len(both))
    assert percent.point == percent_agreement(mine, theirs)
    kappa, note = Interval(None, None, None, None, len(both)), "no verdict of both"
    if both:
        kappa = bootstrap_kappa(mine, theirs, n_boot=n_boot, seed=seed)
        note = "" if kappa.defined else "both said one thing only"
    if kappa.low is not None and kappa.low == kappa.high:
        # No resample differs: that is no certainty, so no interval is claimed.
        kappa = Interval(kappa.point, None, None, None, kappa.n)
        note = "no interval: every resample agrees alike"
    return Agreement(
        first=first,
        second=second,
        group=None,
        n=len(both),
        missing=len(one) - len(both),
        percent=percent,
        kappa=kappa,
        note=note,
    )
