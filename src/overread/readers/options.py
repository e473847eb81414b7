"""Every option of a reader as a person reads of it: from the spec's own fields, and their words."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any, Literal

import msgspec

from overread.files import read_toml
from overread.readers.openai_http import LIMITS
from overread.readers.spec import OF_KINDS, ReaderSpec

_NAMES = ("kind", "model", "base_url")  # what stands before the "?", not behind it
_LIMIT_NAMES = {"rpm": "requests_per_minute", "tpm": "tokens_per_minute"}


class ReaderOption(msgspec.Struct, frozen=True, kw_only=True):
    """An option behind the `?` of a spec: what it takes, its default, and what it says.

    `replies`: it is part of what replies are kept under, so that a change asks the reader anew.
    `kinds` are those that have it; empty, all that a spec opens.
    """

    name: str
    kinds: tuple[str, ...] = ()
    takes: str
    default: str
    replies: bool
    says: str


def reader_options() -> list[ReaderOption]:
    """All of them; those without words last, as a new one of a kind may be for a while."""
    words = read_toml(Path(__file__).with_suffix(".toml"))
    hints = typing.get_type_hints(ReaderSpec)
    fields = {field.name: field for field in msgspec.structs.fields(ReaderSpec)}
    named = [name for name in (*words, *fields) if name in fields and name not in _NAMES]
    return [
        ReaderOption(
            name=name,
            kinds=tuple(OF_KINDS.get(name, ())),
            takes=_takes(hints[name]),
            default=_default(fields[name]),
            replies=words.get(name, {}).get("replies", False),
            says=words.get(name, {}).get("says", ""),
        )
        for name in dict.fromkeys(named)
    ]


def _takes(hint: Any) -> str:
    """A type in words: `images, sheet or video`, `a number`."""
    if typing.get_origin(hint) is Literal:
        *first, last = map(str, typing.get_args(hint))
        return f"{', '.join(first)} or {last}" if first else last
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_takes(part) for part in typing.get_args(hint) if part is not type(None)]
        return " or ".join(parts)
    if typing.get_origin(hint) is dict:
        return "a JSON object"
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(hint, "text")


def _default(field: msgspec.structs.FieldInfo) -> str:
    """What holds where it is not given; a served model's limit where the spec leaves it open."""
    limit = getattr(LIMITS, _LIMIT_NAMES.get(field.name, field.name), None)
    value = limit if field.default is None else field.default
    if value is None or value is msgspec.NODEFAULT:
        return ""
    return str(value).lower() if isinstance(value, bool) else f"{value}"
