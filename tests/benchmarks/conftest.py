"""What tests of all benchmarks share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.law_runs import Measured, measured_runs


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Measured]:
    """A run of each benchmark, asked once, as an edition reads it."""
    return measured_runs(tmp_path_factory.mktemp("laws"))
