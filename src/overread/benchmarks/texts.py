"""Texts as tables can hold them: see `overread.benchmarks.tables`."""

from __future__ import annotations

from overread.benchmarks.tables import storable

__all__ = ["storable"]
