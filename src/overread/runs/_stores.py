"""Reply stores as users name them: opened."""

from __future__ import annotations

from pathlib import Path

from overread.engine import ReplyStore, Store
from overread.runs._environment import default_store
from overread.runs._opening import Tell


def open_store(named: str | Path | None = None, tell: Tell | None = None) -> ReplyStore:
    """The store that a user names, the configuration's, or the workspace's."""
    return Store(default_store(named), tell)
