"""A secret that does not show itself."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """Holds a key; `repr`, `str` and formatting never reveal it. Call `.reveal()` to use it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(****)"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def __reduce__(self) -> str:
        raise TypeError("a secret is written nowhere")
