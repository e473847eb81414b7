"""How each score goes with the number of parameters, over readers."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import coefficient
from overread.benchmarks.medcmr.exhibits.columns import groups_of, interval_notes
from overread.case import Measure, Table

__all__ = ["FEW_READERS", "TITLES", "correlated", "correlations_table"]

TITLES: Final = {
    "accuracy": "accuracy, percent",
    "clarity": "clarity (Con)",
    "coherence": "coherence (Coh)",
    "visual": "visual accuracy (VA)",
    "truth": "truth (GT)",
    "score": "all together (S)",
    "accuracy_macro": "accuracy, macro",
    "score_macro": "all together (S), macro",
}
FEW_READERS: Final = (
    "A rising cloud: larger readers do better here. Few readers, of few families: no law."
)


def _of(index: Index, name: str, of: str, **by: str) -> Measure | None:
    return index.get("", name, of=of, **{"with": "log_params"}, **by)


def correlated(index: Index, of: str) -> str:
    """`r 0.81, rho 0.79`."""
    said = [
        f"{name} {record.value:.2f}"
        for name in ("r", "rho")
        if (record := _of(index, name, of)) is not None and record.value is not None
    ]
    return ", ".join(said) or "r, rho n/a"


def correlations_table(index: Index, signature: str) -> Table | None:
    groups: list[dict[str, str]] = [{}]
    groups += [{"dimension": name} for name in groups_of(index, "dimension")]
    rows = []
    for measure, words in TITLES.items():
        for by in groups:
            found = [_of(index, name, measure, **by) for name in ("r", "rho")]
            if any(found):
                group = by.get("dimension", "all items")
                rows.append((words, group, *_cells(*found)))
    return table(
        "size_correlations",
        "Does size help? The correlations",
        ("score", "dimension", "r", "rho", "p of rho", "q of rho", "readers"),
        rows,
        signature,
        (
            f"{FEW_READERS} r: Pearson's correlation with the logarithm of the parameters; rho: "
            "Spearman's; a point is a reader.",
            *interval_notes(index, "r"),
        ),
        facts=2,
    )


def _cells(r: Measure | None, rho: Measure | None) -> tuple[str, ...]:
    n = next((str(one.n) for one in (r, rho) if one is not None and one.n is not None), NOT_KNOWN)
    tests = (None, None) if rho is None else (rho.p, rho.q)
    return (coefficient(r), coefficient(rho), *map(p_value, tests), n)
