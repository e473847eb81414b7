"""What tests of all benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import phantom_cache
from support.law_runs import Measured, measured_runs

__all__ = ["phantom_cache"]


@pytest.fixture(scope="session")
def kept(
    tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path
) -> Callable[[str, str], Measured]:
    """A run of each benchmark, asked once, as an edition reads it."""
    return measured_runs(tmp_path_factory.mktemp("laws"))
