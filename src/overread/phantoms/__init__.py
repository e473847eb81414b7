"""Synthetic patients whose truth is known exactly. Each kind is imported when it is made."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from overread.case import BadInput
from overread.phantoms.sets import SetMaker

__all__ = ["write_phantoms", "write_set"]

_MAKERS = {
    "grounding": "overread.phantoms.chest:write_chest_set",
    "heartbeat": "overread.phantoms.heart:write_heart_set",
    "m3cot": "overread.phantoms.question:write_question_set",
    "medcmr": "overread.phantoms.vignette:write_vignette_set",
}


def write_phantoms(maker: str, root: Path, n: int, seed: int = 0) -> Path:
    """The set of a maker in a folder of its own below `root`, made if it is not there.

    `maker` says where a `SetMaker` stands, as `overread.phantoms.chest:write_chest_set`.
    """
    module, _, name = maker.partition(":")
    write: SetMaker[Any, Any, Any] = getattr(import_module(module), name)
    return write(root / write.folder_name(n, seed), n, seed)


def write_set(benchmark: str, root: Path, n: int, seed: int = 0) -> Path:
    """The phantom cases of a benchmark in a folder of their own below `root`, made if not there."""
    if benchmark not in _MAKERS:
        *others, last = _MAKERS
        raise BadInput(
            f'benchmark "{benchmark}" has no phantoms; {", ".join(others)} and {last} have.'
        )
    return write_phantoms(_MAKERS[benchmark], root, n, seed)
