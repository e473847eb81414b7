"""Figures with one lane per reader: a mark, its interval, and the numbers at the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Final

from overread.benchmarks.exhibits.cells import cell
from overread.benchmarks.exhibits.style import (
    FAINT,
    Spec,
    figure_spec,
    number_axis,
    reader_axis,
    shown,
)
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.style import glyph, identity, tint
from overread.case import Figure, Measure

__all__ = [
    "LANE",
    "WIDTH",
    "bounds",
    "category_marks",
    "dots",
    "hundred",
    "lane_row",
    "numbers",
    "spoken",
    "uar",
]

WIDTH: Final = 330
LANE: Final = 24


def hundred(value: float | None) -> float | None:
    """A fraction as a percentage, as it is drawn."""
    return None if value is None else round(100 * value, 3)


def lane_row(index: Index, reader: str, names: dict[str, str], record: Measure | None) -> Spec:
    """One reader's row: who it is, the value with its interval, and the text at the right."""
    return identity(index, reader, names) | {
        "value": hundred(record.value) if record else None,
        "low": hundred(record.low) if record else None,
        "high": hundred(record.high) if record else None,
        "n": record.n if record else None,
        "text": cell(record).partition(" n=")[0],
    }


def bounds(values: Iterable[float | None], *inside: float) -> tuple[float, float]:
    """Tens around all the values, at least twenty apart and never outside 0 to 100."""
    known = [*(v for v in values if v is not None), *inside]
    low, high = floor(min(known) / 10) * 10, ceil(max(known) / 10) * 10
    while high - low < 20:
        low, high = (low - 10, high) if low > 0 else (low, high + 10)
    return max(0, low), min(100, high)


def numbers(width: int, names: Sequence[str], *more: tuple[int, str]) -> list[Spec]:
    """The layers of text at the right of every lane: value and interval, `more` columns, and n.

    A further column is the room it takes and the field it prints.
    """
    layers: list[Spec] = []
    at = width + 16
    for room, field in ((126, "text"), *more, (0, "n_text")):
        layers.append(
            {
                "mark": {"type": "text", "align": "left", "baseline": "middle"},
                "encoding": {
                    "x": {"value": at},
                    "y": reader_axis(names),
                    "text": {"field": field},
                },
            }
        )
        at += room
    layers[-1]["mark"]["opacity"] = 0.75
    layers[-1]["transform"] = [
        {"filter": "isValid(datum.n)"},
        {"calculate": "'n=' + datum.n", "as": "n_text"},
    ]
    return layers


def category_marks(
    rows: Sequence[Spec], names: Sequence[str], offset: int, *, grid: bool = True
) -> Spec:
    """The layer of category marks between the names and the lanes."""
    mark, encoding = glyph(rows)
    y = reader_axis(names, offset=offset, grid=grid)
    place = {"x": {"value": -offset / 2 - 2}, "y": y}
    return {"mark": mark, "encoding": {**place, **encoding}}


def spoken(rows: Iterable[Spec], field: str = "text") -> str:
    """The rows in words, for those who do not see the figure."""
    return "; ".join(f"{row['reader']} ({row['category']}) {row[field]}" for row in rows) + "."


def uar(index: Index, signature: str) -> Figure | None:
    """Figure 2c: how often a like image of another patient leaves the answer as it was."""
    if not index.any("uar"):
        return None
    names = shown(index.readers)
    order = index.ranked("uar")
    rows = [lane_row(index, reader, names, index.get(reader, "uar")) for reader in order]
    lanes = [names[reader] for reader in order]
    low, high = bounds((v for row in rows for v in (row["value"], row["low"], row["high"])), 100)
    x = number_axis("value", "UAR, percent of correct answers", low, high)
    # At 100 no answer changes with the patient.
    whole = {
        "data": {"values": [{"value": 100}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT},
        "encoding": {"x": x},
    }
    layers = [whole, *dots(rows, x, lanes), *numbers(WIDTH, lanes)]
    return Figure(
        name="uar",
        title="How often does a like image of another patient leave the answer as it was?",
        spec=figure_spec(rows, width=WIDTH, height={"step": LANE}, layer=layers),
        alt="Unrelated-image answer rate (UAR) of every reader, percent with 95 % interval: "
        + spoken(rows),
        signature=signature,
        notes=(
            "The other image is of the same finding and label, so the right answer is the same: at "
            "100, the dashed line, stand a reader that never looks and one that always sees it.",
        ),
    )


def dots(rows: Sequence[Spec], x: Spec, lanes: Sequence[str]) -> list[Spec]:
    """The layers of an interval and a category's mark in every lane."""
    y = reader_axis(lanes)
    mark, encoding = glyph(rows)
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "stroke": tint(rows),
            },
        },
        {"mark": mark, "encoding": {"x": x, "y": y, **encoding}},
    ]
