"""The rows of a data file made into records like those of measures.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec

from overread.case import Measure
from overread.published._cells import Cell, read_cell
from overread.published._printed import CASES, Column, Part, Printed

__all__ = ["read_part"]


def read_part(part: Part) -> Iterator[Printed]:
    """Every number of a printed table, row by row."""
    for line in part.lines:
        words = (part.names.get(word, word) for word in line)
        named = dict(zip(part.keys, words, strict=False))
        cells = line[len(part.keys) :]
        for column, cell in zip(part.columns, cells, strict=True):
            if not cell:
                continue
            for made in _records(part, column, cell, named):
                yield made
                if column.overall:
                    whole = msgspec.structs.replace(made.record, by={})
                    yield msgspec.structs.replace(made, record=whole)


def _records(part: Part, column: Column, cell: str, named: Mapping[str, str]) -> Iterator[Printed]:
    """What one cell holds: one number, one per group, K of N, a count, or a word."""
    by = {**part.by, **{key: word for key, word in named.items() if key != "reader" and word}}
    by |= column.by
    reader = named.get("reader", CASES)
    if column.reader is not None:
        by, reader = {**by, "versus": reader}, column.reader
    base = Measure(reader=reader, measure=column.measure, by=by)
    place = Printed(
        record=base, table=part.table, where=part.where, cell=cell, repeat=column.repeats
    )

    def holding(**fields: object) -> Printed:
        return msgspec.structs.replace(place, record=msgspec.structs.replace(base, **fields))

    if column.measure == "cases":
        yield holding(n=int(cell))
    elif column.measure == "category":
        for group in column.groups:
            yield holding(label=cell, by={**by, str(column.over): group})
    elif column.counted:
        k, n = map(int, cell.split("/"))
        yield holding(value=k / n, k=k, n=n)
    elif column.groups:
        yield from _groups(part, column, cell, place)
    else:
        yield _numbered(part, column, read_cell(cell), place)


def _groups(part: Part, column: Column, cell: str, place: Printed) -> Iterator[Printed]:
    """`28.4/40.5 q=0.037 †`: a value for each group, and the q of the gap between them."""
    values, _, rest = cell.partition(" ")
    # One N/A stands for all groups; "N/A/27.3/50.0" has it for the first.
    words = values.replace("N/A", "-").split("/")
    words = words * len(column.groups) if len(words) == 1 else words
    base, over = place.record, str(column.over)

    def holding(text: str, **fields: object) -> Printed:
        record = msgspec.structs.replace(base, **fields)
        own = msgspec.structs.replace(place, record=record)
        return _numbered(part, column, read_cell(text), own)

    for group, word in zip(column.groups, words, strict=True):
        yield holding("N/A" if word == "-" else word, by={**base.by, over: group})
    gap = holding(rest, measure=f"gap_{base.measure}", by={**base.by, "attribute": over})
    family = f"subgroups|{base.reader}"
    yield msgspec.structs.replace(gap, record=msgspec.structs.replace(gap.record, family=family))


def _numbered(part: Part, column: Column, cell: Cell, place: Printed) -> Printed:
    scale = Decimal(100 if (column.unit or part.unit) == "percent" else 1)
    kind = column.spread or part.spread
    spread = _scaled(cell.spread, scale)
    q, bounded_q = _probability(cell.q)
    p, bounded_p = _probability(cell.p)
    notes = [
        f"standard deviation {cell.spread / scale}" if cell.spread and kind == "sd" else None,
        f"q is a bound: printed q {cell.q}" if bounded_q else None,
        f"p is a bound: printed p {cell.p}" if bounded_p else None,
        "marked †" if cell.dagger else None,
    ]
    record = msgspec.structs.replace(
        place.record,
        value=_scaled(cell.value, scale),
        n=cell.n,
        se=spread if kind == "se" else None,
        sd_boot=spread if kind == "sd_boot" else None,
        sd_seeds=spread if kind == "sd_seeds" else None,
        sd_videos=spread if kind == "sd_videos" else None,
        low=_scaled(cell.low, scale),
        high=_scaled(cell.high, scale),
        method=None if cell.low is None else column.method or part.method,
        p=p,
        q=q,
        family=part.family if q is not None else None,
        note="; ".join(note for note in notes if note) or None,
    )
    return msgspec.structs.replace(
        place,
        record=record,
        half=_half(cell.value, scale),
        spread=spread,
        spread_half=_half(cell.spread, scale),
    )


def _scaled(number: Decimal | None, scale: Decimal) -> float | None:
    return None if number is None else float(number / scale)


def _half(number: Decimal | None, scale: Decimal) -> float:
    """Half a unit of the last printed digit."""
    if number is None:
        return 0.0
    exponent = number.as_tuple().exponent
    return float(Decimal(5).scaleb(int(exponent) - 1) / scale)


def _probability(word: str | None) -> tuple[float | None, bool]:
    """`<0.001` is kept as 0.001, which errs on the safe side for every threshold above it."""
    return (None, False) if word is None else (float(word[1:]), word[0] != "=")
