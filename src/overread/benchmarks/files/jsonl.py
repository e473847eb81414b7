"""Reading JSON that other people made: lists and lines of objects, each with its place."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.case import BadInput
from overread.files import open_file, read_bytes

# What decoding may raise: a recursion error is a text of nothing but opening brackets.
JSON_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
_PEEK: Final = 1 << 16
_LONGEST: Final = 1 << 24
_MARK: Final = b"\xef\xbb\xbf"


def data_of(path: Path) -> bytes:
    """The bytes of a file, without the mark that some editors put first."""
    return read_bytes(path).removeprefix(_MARK)


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line of JSON lines as (its number, its object); blank lines are skipped."""
    for number, line in enumerate(io.BytesIO(data_of(path)), start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except JSON_ERRORS as error:
            raise BadInput(
                f"{path.name} line {number} is no JSON object: {_told(error)}. Fix the line."
            ) from None


def list_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a JSON list as (its place from 1, the object)."""
    try:
        found = msgspec.json.decode(data_of(path), type=list[Any])
    except JSON_ERRORS as error:
        raise BadInput(
            f"{path.name} is no JSON list of objects: {_told(error)}. Fetch or write it again."
        ) from None
    for place, given in enumerate(found, start=1):
        if not isinstance(given, dict):
            raise BadInput(f"{path.name} item {place} is no JSON object. Fix it.")
        yield place, given


def first_object(path: Path) -> dict[str, Any]:
    """The first object of a JSON list or of JSON lines; empty where there is none to be read.

    Only the head of the file is looked at, unless that object is longer.
    """
    import json

    try:
        with open_file(path) as file:
            head = file.read(_PEEK)
            text = _opened(head)
            try:
                found, _ = json.JSONDecoder().raw_decode(text)
            except ValueError:
                found, _ = json.JSONDecoder().raw_decode(_opened(head + file.read(_LONGEST)))
    except (BadInput, OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _opened(data: bytes) -> str:
    """The text from the first object on."""
    text = data.removeprefix(_MARK).decode("utf-8", "replace").lstrip()
    return text[1:].lstrip() if text.startswith("[") else text


def _told(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
