"""Tables 2 and 3 of the paper with the readers of runs below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from overread.case import Measure, Table
from overread.published._flag import Flag
from overread.published._paper_table import Column, any_labelled, paper_table, sources_of
from overread.published._printed import Figures

__all__ = ["headline"]

_DIMENSIONS: Final = ("SOD", "FDD", "SU", "TP", "CR", "LTG", "MSI")
_ABILITIES: Final = ("CDS", "DX", "PA", "PRA", "SEE", "TRE")
_TABLE_2: Final = (
    *(Column(name, ("accuracy", (("dimension", name),))) for name in _DIMENSIONS),
    Column("all", ("accuracy", ())),
    Column("Con", ("clarity", ())),
    Column("Coh", ("coherence", ())),
    Column("VA", ("visual", ())),
    Column("GT", ("truth", ())),
    Column("S", ("score", ())),
)
_TABLE_3: Final = tuple(Column(name, ("accuracy", (("ability", name),))) for name in _ABILITIES)


def headline(
    figures: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table]:
    """The two tables; `beside` are runs by name with their measures."""
    cite = f"As printed in {figures.cite}"
    sources, labelled = sources_of(figures, beside), any_labelled(beside)
    return [
        paper_table(
            "dimensions",
            "2",
            f"How hard a case can it read? (Table 2) {cite}",
            _TABLE_2,
            sources,
            flags,
            (
                "Percent. SOD to all: accuracy of multiple-choice items by dimension. Con, Coh, VA "
                "and GT: clarity, coherence, visual accuracy and truth of open replies as a judge "
                "scored them; S = (Con + Coh + 4 VA + 4 GT) / 10.",
                *(["! what the judges of the run are worth is in its own report."] * labelled),
            ),
            with_judges=bool(beside),
        ),
        paper_table(
            "abilities",
            "3",
            f"Which clinical work can it do? (Table 3) {cite}",
            _TABLE_3,
            sources,
            flags,
            ("Percent: accuracy of multiple-choice items by medical intelligence.",),
        ),
    ]
