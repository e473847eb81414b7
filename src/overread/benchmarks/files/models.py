"""`models.json`: what an import's readers are, as the papers' scripts have it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.case import BadInput, Modality, Traits

__all__ = ["declared_models"]

_ROLES: Final[Mapping[str, Modality]] = {
    "multimodal": "multimodal",
    "text_only": "text",
    "vision_only": "vision",
}


def declared_models(path: Path) -> dict[str, Traits]:
    """The traits of each model: its role, and whether its thinking is parsed away."""
    try:
        models = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Any]])
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except msgspec.MsgspecError as error:
        raise BadInput(f"{path} is not an object of models: {error}. Mend it.") from None
    return {name: _traits(path, name, model) for name, model in models.items()}


def _traits(path: Path, name: str, model: Mapping[str, Any]) -> Traits:
    role, reasoning = model.get("role", "multimodal"), model.get("reasoning_parser", False)
    if role not in _ROLES:
        raise BadInput(f'{path}: {name} has role "{role}"; the roles are {", ".join(_ROLES)}.')
    if not isinstance(reasoning, bool):
        raise BadInput(f"{path}: {name} has reasoning_parser {reasoning!r}; it is true or false.")
    return Traits(modality=_ROLES[role], reasoning=reasoning)
