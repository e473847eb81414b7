"""Figures as files for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from overread.report.exports import Exported, figures_of
from overread.report.reported import Reported

SUFFIXES: Final = ("svg", "pdf", "png")
"""Vector twice, and pixels at 300 dpi."""


def write_figure_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """Every figure of the runs as SVG, PDF and PNG; `notes` say in words what it shows."""
    written = []
    for stem, figure in figures_of(runs):
        for suffix in SUFFIXES:
            figure.save(folder / f"{stem}.{suffix}")
            written.append(
                Exported(
                    file=f"{stem}.{suffix}",
                    kind="figure",
                    title=figure.title,
                    notes=" ".join((figure.alt, *figure.notes)),
                    signature=figure.signature,
                )
            )
    return written
