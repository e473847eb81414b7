"""Rank correlations of the printed columns, and the kind of p beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import Figures, Printed

__all__ = ["CHECKS"]


def rank_correlations(figures: Figures) -> Iterator[Flag]:
    """Spearman's rho of the printed columns is the printed rho."""
    from overread.stats import spearman

    for printed, here, there in _correlated(figures):
        rho, said = spearman(here, there), printed.record.value
        if rho is not None and said is not None and abs(rho - said) > printed.half + 1e-9:
            expected = f"{rho:.3f} from the printed values of {len(here)} systems"
            yield _flag(printed, "not that of the printed values", f"{said:.3f}", expected)


def rank_probabilities(figures: Figures) -> Iterator[Flag]:
    """A p said to come from permuting the ranks is the share of all orders, not Student's t."""
    from overread.stats import spearman, spearman_asymptotic_p, spearman_exact_p

    for printed, here, there in _correlated(figures):
        exact, _ = spearman_exact_p(here, there)
        student = spearman_asymptotic_p(spearman(here, there), len(here))
        if exact is None or student is None or printed.record.p is None:
            continue
        if not _says(printed, exact):
            known = ", which Student's t gives" if _says(printed, student) else ""
            found = f"p{printed.cell.partition(' p')[2]}{known}"
            expected = f"p={exact:.4f}, of all orders of {len(here)} ranks"
            yield _flag(printed, "its p is no permutation's", found, expected, "D25")


def _says(printed: Printed, p: float) -> bool:
    """Whether a p prints as the cell has it: `p=0.077`, or `p<0.001`."""
    bound = printed.record.p or 0.0
    return p < bound if " p<" in printed.cell else abs(p - bound) <= 0.0005 + 1e-9


def _correlated(figures: Figures) -> Iterator[tuple[Printed, list[float], list[float]]]:
    """Every printed rho with the two columns it is of."""
    for printed in figures.printed:
        record = printed.record
        if record.measure != "rho":
            continue
        key, _, word = record.by["against"].partition("=")
        left_out = record.reader.removeprefix("all but ")
        here, there = [], []
        for system in figures.systems:
            one = figures.find(system.name, record.by["of"])
            other = figures.find(system.name, record.by["of"], {key: word})
            if system.name == left_out or one is None or other is None:
                continue
            if one.record.value is not None and other.record.value is not None:
                here.append(one.record.value)
                there.append(other.record.value)
        yield printed, here, there


def _flag(printed: Printed, what: str, found: str, expected: str, note: str = "") -> Flag:
    by = printed.record.by
    return Flag(
        where=printed.where,
        what=f"rho of {by['of']} against {by['against']}: {what}",
        found=found,
        expected=expected,
        reader=printed.record.reader,
        tables=(printed.table,),
        note=note,
    )


CHECKS: Final = (rank_correlations, rank_probabilities)
