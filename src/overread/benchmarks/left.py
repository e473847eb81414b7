"""An item that is not asked about."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Left"]


class Left(NamedTuple):
    """The item's case id, and why it is not asked about; told with the run."""

    case: str
    reason: str
