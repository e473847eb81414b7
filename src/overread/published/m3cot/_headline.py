"""Table 2 of the paper with the readers of runs below it, and Table A2.

Our own summary needs intervals and judges, which the paper does not print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from overread.case import Measure, Table
from overread.published._flag import Flag
from overread.published._paper_table import Column, any_labelled, paper_table, sources_of
from overread.published._printed import Figures

__all__ = ["headline"]

_MODES: Final = {"direct": (("mode", "direct"),), "cot": (("mode", "cot"),)}
_TABLE_2: Final = (
    Column("F1", ("f1", ())),
    Column("P", ("precision", ())),
    Column("R", ("recall", ())),
    Column("acc. direct", ("accuracy", _MODES["direct"])),
    Column("acc. CoT", ("accuracy", _MODES["cot"])),
    Column("I", ("impact", ()), sign="+"),
    Column("E", ("efficiency", ()), 1.0),
    Column("L", ("latency", ()), 1.0),
    Column("C path", ("consistency", ())),
)
_TABLE_A2: Final = (
    Column("direct, s", ("seconds", _MODES["direct"]), 1.0),
    Column("CoT, s", ("seconds", _MODES["cot"]), 1.0),
)


def headline(
    figures: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table]:
    """The two tables; `beside` are runs by name with their measures."""
    cite = f"As printed in {figures.cite}"
    sources, labelled = sources_of(figures, beside), any_labelled(beside)
    return [
        paper_table(
            "reasoning",
            "2",
            f"Does it reason as a clinician would? (Table 2) {cite}",
            _TABLE_2,
            sources,
            flags,
            (
                "Percent. I: accuracy with reasoning less accuracy without, in points. E: gold "
                "steps matched a second; L: time with reasoning over time without; both hang on "
                "the machine. C path: how alike the order of steps is within a task.",
                *(["! what the judges of the run are worth is in its own report."] * labelled),
            ),
            with_judges=bool(beside),
        ),
        paper_table(
            "response_time",
            "A2",
            f"How long does an answer take? (Table A2) {cite}",
            _TABLE_A2,
            sources,
            flags,
            ("Mean seconds of a question.",),
        ),
    ]
