"""`models.json`: see `overread.benchmarks.importing`."""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.importing import declared_readers
from overread.case import Traits


def declared_models(path: Path) -> dict[str, Traits]:
    """The traits of each model: its role, and whether its thinking is parsed away."""
    return {name: record.traits for name, record in declared_readers(path).items()}
