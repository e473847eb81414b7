"""Columns: see `overread.benchmarks.exhibits.index`."""

from __future__ import annotations

from overread.benchmarks.exhibits.index import Column

__all__ = ["Column"]
