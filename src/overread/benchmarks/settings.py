"""Words of `--set name=value` as values: the readings that benchmarks share.

A reading takes a word and gives a value, or raises `ValueError` that says what the setting is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from overread.case import BadInput

__all__ = [
    "Reading",
    "absolute",
    "files",
    "folder",
    "label_of",
    "number",
    "one_of",
    "read_words",
    "some_of",
    "whole",
]

Reading: TypeAlias = Callable[[str], Any]

# Settings that name a file or folder, and those that may name several.
_PLACE: Final = frozenset({"reformulate", "root", "rubrics"})
_PLACES: Final = frozenset({"errors", "ranks", "ratings", "specialist"})


def one_of(*values: Any) -> Reading:
    """One of these, written as `str` writes it."""
    words = {str(value): value for value in values}

    def read(text: str) -> Any:
        if text not in words:
            raise ValueError(" or ".join(words))
        return words[text]

    return read


def some_of(*values: str, none: str | None = None) -> Reading:
    """A list joined by commas, each value once, kept in the order they have here.

    The word `none`, where one is given, stands for the empty list.
    """

    def read(text: str) -> tuple[str, ...]:
        if none is not None and text == none:
            return ()
        given = [word.strip() for word in text.split(",")]
        if not set(given) <= set(values) or len(set(given)) < len(given):
            also = "" if none is None else f", or {none}"
            known = ", ".join(values)
            raise ValueError(f"one or more of {known}, joined by commas, each once{also}")
        return tuple(value for value in values if value in given)

    return read


def whole(low: int, high: int) -> Reading:
    """A whole number in plain digits, both bounds included."""

    def read(text: str) -> int:
        plain = text.isascii() and text.isdecimal() and len(text) <= 12
        if not plain or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def number(low: float, high: float) -> Reading:
    """A finite number, both bounds included."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return value + 0.0  # -0.0 is 0.0

    return read


def folder(text: str) -> str:
    """A folder, as an absolute path."""
    if not text:
        raise ValueError("a folder")
    return str(Path(text).absolute())


def files(what: str) -> Reading:
    """One or more paths joined by commas, as absolute paths; `what` says of what."""

    def read(text: str) -> str:
        if not all(part.strip() for part in text.split(",")):
            raise ValueError(f"{what}; several by commas")
        return ",".join(str(Path(part.strip()).absolute()) for part in text.split(","))

    return read


def absolute(words: Mapping[str, str]) -> dict[str, str]:
    """The words with every path absolute: a record is read from whatever folder."""
    return {key: _absolute(key, text) for key, text in words.items()}


def _absolute(key: str, text: str) -> str:
    parts = text.split(",") if key in _PLACES else [text] if key in _PLACE else []
    counted = key == "reformulate" and (text.strip() == "none" or text.strip().isdecimal())
    if not parts or counted or not all(part.strip() for part in parts):
        return text
    return ",".join(str(Path(part.strip()).absolute()) for part in parts)


def read_words(
    benchmark: str, words: Mapping[str, str], readings: Mapping[str, Reading], known: Sequence[str]
) -> dict[str, Any]:
    """The values of these words; `known` are all settings there are, for the refusal."""
    values = {}
    for key, text in words.items():
        if key not in readings:
            has = ", ".join(known)
            raise BadInput(f'--set {key}={text}: {benchmark} has no "{key}"; it has {has}.')
        try:
            values[key] = readings[key](text.strip())
        except ValueError as error:
            raise BadInput(f"--set {key}={text}: {key} is {error}.") from None
    return values


def label_of(edition: Any, standard: Any, rules: Mapping[str, Reading]) -> str:
    """An edition's name, with every rule that is not the standard's: `corrected+match=truthy`."""
    changed = (
        f"+{rule}={getattr(edition, rule)}"
        for rule in rules
        if getattr(edition, rule) != getattr(standard, rule)
    )
    return str(edition.name) + "".join(changed)
