"""Texts as tables can hold them."""

from __future__ import annotations

__all__ = ["storable"]


def storable(text: str) -> str:
    """The text with half characters (lone surrogates) replaced: no file can hold those."""
    return text.encode("utf-8", "replace").decode("utf-8")
