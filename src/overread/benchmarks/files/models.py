"""`models.json`: what an import's readers are, as the papers' scripts have it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import ReaderRecord
from overread.case import BadInput, Modality, Traits
from overread.files import read_bytes

__all__ = ["declared_models", "declared_readers"]

_ROLES: Final[Mapping[str, Modality]] = {
    "multimodal": "multimodal",
    "text_only": "text",
    "vision_only": "vision",
}


def declared_models(path: Path) -> dict[str, Traits]:
    """The traits of each model: its role, and whether its thinking is parsed away."""
    return {name: _traits(path, name, model) for name, model in _models(path).items()}


def declared_readers(path: Path) -> dict[str, ReaderRecord]:
    """The same as records, with the size in billions of parameters and the group, if declared."""
    return {
        name: ReaderRecord(
            name=name,
            traits=_traits(path, name, model),
            identity="imported",
            params_b=_size(path, name, model.get("params_b")),
            group=_group(path, name, model.get("group")),
        )
        for name, model in _models(path).items()
    }


def _models(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return msgspec.json.decode(read_bytes(path), type=dict[str, dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"{path} is not an object of models: {error}. Mend it.") from None


def _size(path: Path, name: str, given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < 1e9:
        raise BadInput(f"{path}: {name} has params_b {given!r}; it is billions of parameters.")
    return float(given)


def _group(path: Path, name: str, given: Any) -> str | None:
    if given is not None and not isinstance(given, str):
        raise BadInput(f"{path}: {name} has group {given!r}; it is a text.")
    return (given or "").strip() or None


def _traits(path: Path, name: str, model: Mapping[str, Any]) -> Traits:
    role, reasoning = model.get("role", "multimodal"), model.get("reasoning_parser", False)
    if role not in _ROLES:
        raise BadInput(f'{path}: {name} has role "{role}"; the roles are {", ".join(_ROLES)}.')
    if not isinstance(reasoning, bool):
        raise BadInput(f"{path}: {name} has reasoning_parser {reasoning!r}; it is true or false.")
    return Traits(modality=_ROLES[role], reasoning=reasoning)
