"""What tests of all benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from overread import case
from support.commands import phantom_cache
from support.law_runs import Measured, measured_runs

__all__ = ["phantom_cache"]


@pytest.fixture(scope="session")
def kept(
    tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path
) -> Callable[[str, str], Measured]:
    """A run of each benchmark, asked once, as an edition reads it."""
    return measured_runs(tmp_path_factory.mktemp("laws"))


@pytest.fixture(autouse=True)
def drawn_by_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure of ours is left to the renderer of the whole language: it takes half a second."""

    def left(spec: str) -> str:
        raise AssertionError(f"left to Vega: {spec[:200]}")

    monkeypatch.setattr(case, "_drawn_by_vega", left)
