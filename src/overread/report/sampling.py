"""Which cases a page embeds: flips and errors first, spread over readers and facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

# What each kind of case may take of the places while the others need theirs too.
_SHARES: Final = {"flips": 0.5, "errors": 0.3, "the rest": 0.2}
_KEYS: Final = ("case", "reader", "right", "flipped")

# A case's labels: the readers it is of interest for, and its facts.
_Label = tuple[str, str]


def choose(index: pl.DataFrame, n: int, seed: int) -> tuple[list[str], list[str]]:
    """At most `n` cases of an index, in the order they are shown, and a line on each kind.

    `index` has a row for each case and reader: case, reader, right, flipped, and facts. A case is
    a flip if any reader's answer flipped, else an error if any reader was wrong. Flips come first,
    then errors, then the rest; places that one kind does not need go to the others in that order.
    Within a kind, each next case is the one whose readers and facts are seen least so far; ties go
    by a digest of seed and case, so that the order of rows does not matter.
    """
    kinds = _kinds(index)
    places = _places({kind: len(cases) for kind, cases in kinds.items()}, n)
    chosen = [case for kind, cases in kinds.items() for case in _spread(cases, places[kind], seed)]
    strata = [
        f"{kind}: {places[kind]} of {len(cases)} shown" for kind, cases in kinds.items() if cases
    ]
    return chosen, strata


def _kinds(index: pl.DataFrame) -> dict[str, dict[str, frozenset[_Label]]]:
    """The cases of each kind, each with its labels."""
    import polars as pl

    facts = [name for name in index.columns if name not in _KEYS]
    rows = index.with_columns(pl.col("right", "flipped").cast(pl.Boolean))
    cases = (
        rows.group_by("case")
        .agg(
            pl.col("reader").filter(pl.col("flipped")).unique().sort().alias("flipped_for"),
            pl.col("reader").filter(~pl.col("right")).unique().sort().alias("wrong_for"),
            # The least, should the readers' rows differ: the order of rows says nothing.
            *(pl.col(fact).cast(pl.String).drop_nulls().min() for fact in facts),
        )
        .sort("case")
    )
    found: dict[str, dict[str, frozenset[_Label]]] = {kind: {} for kind in _SHARES}
    for case, flipped, wrong, *values in cases.iter_rows():
        kind = "flips" if flipped else "errors" if wrong else "the rest"
        of_interest = [("", reader) for reader in flipped or wrong]
        told = [(fact, value) for fact, value in zip(facts, values, strict=True) if value]
        found[kind][str(case)] = frozenset([*of_interest, *told])
    return found


def _places(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    given = {kind: min(size, int(n * _SHARES[kind])) for kind, size in sizes.items()}
    left = n - sum(given.values())
    for kind, size in sizes.items():
        more = min(left, size - given[kind])
        given[kind] += more
        left -= more
    return given


def _spread(cases: Mapping[str, frozenset[_Label]], n: int, seed: int) -> list[str]:
    """`n` of the cases, whose labels are as different as they can be."""
    seen: Counter[_Label] = Counter()

    def drawn(case: str) -> tuple[bytes, str]:
        text = f"{seed}\0{case}".encode(errors="replace")
        return blake2b(text, digest_size=16).digest(), case

    def worth(case: str) -> float:
        # What has been seen k times is worth a (k+1)th of what has not been seen.
        return sum(sorted(1 / (1 + seen[label]) for label in cases[case]))

    open_ = _candidates(sorted(cases, key=drawn), cases, n)
    taken: list[str] = []
    while len(taken) < n:
        best = max(open_, key=worth)
        open_.remove(best)
        taken.append(best)
        seen.update(cases[best])
    return taken


def _candidates(order: Sequence[str], cases: Mapping[str, frozenset[_Label]], n: int) -> list[str]:
    """The first `n` in order with each label: enough to spread, however many cases there are."""
    met: Counter[_Label] = Counter()
    kept = []
    for number, case in enumerate(order):
        if number < n or any(met[label] < n for label in cases[case]):
            kept.append(case)
            met.update(cases[case])
    return kept
