"""Which multiple-choice items are also asked as open ones (MEDCMR, analyses 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from overread.benchmarks.draws import spread
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Options
from overread.case import BadInput

__all__ = ["chosen"]


def chosen(cases: Iterable[MedCase], options: Options, seed: int) -> frozenset[str]:
    """The ids of the items: none, a seeded sample, or those of a csv with a column `case`.

    A sample takes every dimension in proportion, does not change with the order of the cases, and a
    larger one holds the smaller.
    """
    if options.reformulate == "none":
        return frozenset()
    known = list(cases)
    items = [case for case in known if case.kind == "mcq"]
    if not options.reformulate.isdecimal():
        return _listed(Path(options.reformulate), items, known)
    sample = spread(
        items,
        int(options.reformulate),
        seed,
        purpose="reformulate",
        name=lambda case: case.case_id,
        stratum=lambda case: case.dimension,
    )
    return frozenset(case.case_id for case in sample)


def _listed(path: Path, items: list[MedCase], known: list[MedCase]) -> frozenset[str]:
    named = dict.fromkeys(row["case"].strip() for _, row in rows_of(path, ("case",)))
    named.pop("", None)
    if not named:
        raise BadInput(
            f"--set reformulate={path}: its column case is empty. Name multiple-choice items."
        )
    askable = {case.case_id for case in items}
    strange = [name for name in named if name not in askable]
    if strange:
        first, open_items = strange[0], {case.case_id for case in known} - askable
        what = "is an open item" if first in open_items else "is no item of the set"
        more = f" (and {len(strange) - 1} more like it)" if len(strange) > 1 else ""
        raise BadInput(
            f'--set reformulate={path}: "{first}" {what}{more}. Name multiple-choice items.'
        )
    return frozenset(named)
