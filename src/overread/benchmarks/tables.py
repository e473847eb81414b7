"""Tables made of structs: columns are the fields of a struct, rows its values.

A case and an answer are structs; `cases.parquet` and `answers.parquet` have a column for each of
their fields, in order. What is kept can be read back as structs, and parsed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from overread.case import Reply

if TYPE_CHECKING:
    import polars as pl


S = TypeVar("S", bound=msgspec.Struct)
Again = TypeVar("Again", bound=msgspec.Struct)

Int8: TypeAlias = Annotated[int, "Int8"]
Int32: TypeAlias = Annotated[int, "Int32"]
"""A whole number that a table keeps in fewer bits than 64."""

CUT_OFF: Final = "cut off at the token limit"
_TOO_MANY: Final = 2**63
_TOGETHER: Final = 512


def storable(text: str) -> str:
    """The text with half characters (lone surrogates) replaced: no file can hold those."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# ---------------------------------------------------------------- columns


@cache
def schema_of(struct: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The columns of a table of these structs; `case_id` is `case` in every table.

    A field's name as it is encoded is the column's, so that `pass_` can be renamed to `pass`.
    """
    hints = get_type_hints(struct, include_extras=True)
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {
        "case" if encoded == "case_id" else encoded: _kind(hints[field]) for field, encoded in names
    }


def _kind(hint: Any) -> Any:
    """The polars type of a field."""
    import polars as pl

    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return getattr(pl, parts[1]) if isinstance(parts[1], str) else _kind(parts[0])
    if origin in (Union, UnionType):
        return _kind(next(part for part in parts if part is not type(None)))
    if origin is Literal:
        return _kind(type(parts[0]))
    if origin in (tuple, list, Sequence):
        return pl.List(_kind(parts[0]))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return pl.Struct(dict(schema_of(hint)))
    return {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}[hint]


def cells_of(row: msgspec.Struct) -> tuple[Any, ...]:
    """The values of a struct, in the order of its columns, as a table can hold them."""
    return tuple([_cell(value) for value in msgspec.structs.astuple(row)])


_AS_THEY_ARE = frozenset({bool, int, float, type(None)})


def _cell(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return storable(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, (tuple, list)):
        return [_cell(one) for one in value]
    if isinstance(value, msgspec.Struct):
        return dict(zip(schema_of(type(value)), cells_of(value), strict=True))
    return storable(value) if isinstance(value, str) else value


# ---------------------------------------------------------------- frames


def frame_of(struct: type[S], rows: Iterable[S]) -> pl.DataFrame:
    """The table of these structs."""
    import polars as pl

    return pl.DataFrame(map(cells_of, rows), schema=dict(schema_of(struct)), orient="row")


def answers_frame(struct: type[S], rows: Iterable[tuple[str, S]]) -> pl.DataFrame:
    """The table of readers' answers, with the column `reader` before those of the struct."""
    import polars as pl

    cells = ((reader, *cells_of(row)) for reader, row in rows)
    return pl.DataFrame(cells, schema={"reader": pl.String, **schema_of(struct)}, orient="row")


def structs_in(frame: pl.DataFrame, struct: type[S]) -> list[S]:
    """The rows of a kept table as structs; columns that these have not are passed over."""
    kept = frame.select(list(schema_of(struct)))
    if "case_id" in struct.__struct_fields__:
        kept = kept.rename({"case": "case_id"})
    found: list[S] = []
    for part in kept.iter_slices(_TOGETHER):
        found += msgspec.convert(part.to_dicts(), list[struct])  # type: ignore[valid-type]
    return found


def read_again(
    answers: pl.DataFrame,
    row: type[S],
    reading: type[Again],
    read: Callable[[S], Again | None],
) -> pl.DataFrame:
    """The table with its replies read again: the columns of `reading` are made anew of each row.

    `row` has the columns that `read` looks at; a row of which it makes nothing (None) is kept.
    """
    import polars as pl

    schema = dict(schema_of(reading))
    made = [
        kept if (new := read(one)) is None else cells_of(new)
        for kept, one in zip(
            answers.select(list(schema)).iter_rows(), structs_in(answers, row), strict=True
        )
    ]
    return answers.with_columns(pl.DataFrame(made, schema=schema, orient="row"))


# ---------------------------------------------------------------- what a reply says of itself


def joined_notes(notes: Iterable[str | None]) -> str | None:
    """Notes as one cell, None where there are none."""
    return storable("; ".join(note for note in notes if note)) or None


def notes_of(reply: Reply | None, reason: str = "") -> list[str]:
    """What is worth noting of a reply: why it is missing, what it refused with, that it was cut."""
    notes = [reason] if reason else []
    if reply is not None and reply.refusal:
        notes.append(f"refusal: {reply.refusal}")
    if reply is not None and reply.finish == "length":
        notes.append(CUT_OFF)
    return notes


def tokens_of(reply: Reply) -> int | None:
    """How many tokens a server counted; None for what cannot have been tokens."""
    count = reply.tokens_out
    return count if count is not None and 0 <= count < _TOO_MANY else None


def alternatives_of(reply: Reply) -> tuple[list[str] | None, list[float] | None]:
    """The first token's alternatives and their log-probabilities, where any were given."""
    if reply.logprobs is None:
        return None, None
    tokens = [storable(token) for token, _ in reply.logprobs]
    return tokens, [float(value) for _, value in reply.logprobs]
