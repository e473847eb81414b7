"""What the integration tests share: one cache of phantoms, and no configuration of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.drawn_once import draw_once


@pytest.fixture(scope="session", autouse=True)
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where phantoms are made once for all tests; workers side by side share the place."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as patch:
        place = Path(os.environ.get("OVERREAD_CACHE") or shared / "phantoms")
        patch.setenv("OVERREAD_CACHE", str(place.resolve()))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in ("OVERREAD_CONFIG", "OPENAI_API_KEY"):
            patch.delenv(name, raising=False)
        draw_once(patch)
        yield place
