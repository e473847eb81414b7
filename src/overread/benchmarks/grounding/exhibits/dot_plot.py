"""Figures with one lane per reader, and how a reader's category is drawn in any figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Any, Final

from overread.benchmarks.exhibits.cells import cell
from overread.benchmarks.exhibits.index import Index as Plain
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    PAPER,
    VERMILLION,
    Spec,
    figure_spec,
    number_axis,
    reader_axis,
    shown,
)
from overread.benchmarks.grounding.category import (
    IGNORES,
    INDETERMINATE,
    INSUFFICIENT,
    UNSTABLE,
    USES,
)
from overread.case import Figure, Measure
from overread.measuring.notes import NO_PICTURE

__all__ = [
    "LANE",
    "UNKNOWN",
    "WIDTH",
    "Index",
    "bounds",
    "category_marks",
    "category_scale",
    "decomposition",
    "dots",
    "glyph",
    "hundred",
    "identity",
    "lane_row",
    "numbers",
    "premium",
    "spoken",
    "tint",
    "uar",
]

# ---------------------------------------------------------------- the records of a run
# The measures of a grounding run, found by reader, name and group, and each reader's category.


class Index(Plain):
    """The records by what they are about, with what every grounding exhibit says of a reader."""

    def category(self, reader: str) -> str:
        record = self.get(reader, "category")
        return (record.label if record is not None else None) or INSUFFICIENT

    def sees(self, reader: str) -> bool:
        """Whether the reader gets pictures at all."""
        record = self.get(reader, "category")
        return record is None or NO_PICTURE not in record.flags


# ---------------------------------------------------------------- how a category is drawn
# How a reader's category is drawn.
#
# A category has a colour and a shape, so that neither is needed alone; a reader that gets no image
# is drawn open.


UNKNOWN: Final = ""
"""The category of a reader where nothing says what it is."""
_CATEGORIES: Final = {
    USES: (BLUE, "circle"),
    IGNORES: (VERMILLION, "square"),
    UNSTABLE: ("#e69f00", "triangle-up"),
    INDETERMINATE: ("#666666", "diamond"),
    INSUFFICIENT: ("#969696", "cross"),
    UNKNOWN: (BLUE, "circle"),
}


def identity(index: Index, reader: str, names: dict[str, str]) -> Spec:
    """The facts every row of a figure begins with."""
    return {
        "reader": reader,
        "shown": names[reader],
        "category": index.category(reader),
        "gets_image": index.sees(reader),
    }


def category_scale(rows: Iterable[Spec], channel: str) -> Spec:
    """The colours or shapes of the categories that occur, in a fixed order."""
    present = {row["category"] for row in rows}
    domain = [word for word in _CATEGORIES if word in present]
    at = 1 if channel == "shape" else 0
    return {"domain": domain, "range": [_CATEGORIES[word][at] for word in domain]}


def tint(rows: Iterable[Spec]) -> Spec:
    """Colour by category."""
    return {"field": "category", "type": "nominal", "scale": category_scale(rows, "color")}


def glyph(rows: Sequence[Spec], *, size: int = 80) -> tuple[Spec, Spec]:
    """The mark and the encoding that say a reader's category, and whether it gets the image."""
    # Vega-Lite makes one legend of channels with one field; switched off in one it is off in all.
    encoding = {
        "stroke": tint(rows),
        "shape": {**tint(rows), "scale": category_scale(rows, "shape")},
        "fill": {"condition": {"test": "datum.gets_image", **tint(rows)}, "value": PAPER},
    }
    return {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1}, encoding


# ---------------------------------------------------------------- lanes
# Figures with one lane per reader: a mark, its interval, and the numbers at the right.


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


# ---------------------------------------------------------------- shares of answers
# Figure 4: how much of a reader's answers the image, and the finding in it, really carries.


_OFFSET: Final = 22


def premium(index: Index, signature: str) -> Figure | None:
    """Figure 4c: flips under the target mask and under a mask elsewhere, joined by the GSP."""
    if not any(index.known(r, "cgr") and index.known(r, "is") for r in index.readers):
        return None
    names = shown(index.readers)
    order = index.ranked("gsp")
    rows = []
    for reader in order:
        gsp, cgr, stable = (index.get(reader, name) for name in ("gsp", "cgr", "is"))
        kept = hundred(stable.value) if stable is not None else None
        rows.append(
            identity(index, reader, names)
            | {
                "cgr": hundred(cgr.value) if cgr is not None else None,
                "elsewhere": None if kept is None else round(100 - kept, 3),
                "gsp": hundred(gsp.value) if gsp is not None else None,
                "low": hundred(gsp.low) if gsp is not None else None,
                "high": hundred(gsp.high) if gsp is not None else None,
                "n": gsp.n if gsp is not None else None,
                "text": cell(gsp).partition(" n=")[0],
            }
        )
    lanes = [names[reader] for reader in order]
    low, high = bounds((v for row in rows for v in (row["cgr"], row["elsewhere"])), 0)
    y = reader_axis(lanes, offset=_OFFSET)
    x: Any = number_axis("cgr", "answers flipped, percent", low - high / 50, high)

    def flips(field: str, size: int, fill: str) -> Spec:
        mark = {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1}
        return {
            "mark": {**mark, "stroke": INK, "fill": fill},
            "encoding": {"x": {**x, "field": field}, "y": y},
        }

    # The ring is the larger, so that both are seen where the masks flip alike.
    layers = [
        category_marks(rows, lanes, _OFFSET),
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.6},
            "encoding": {"x": x, "x2": {"field": "elsewhere"}, "y": y, "stroke": tint(rows)},
        },
        flips("elsewhere", 110, PAPER),
        flips("cgr", 30, INK),
        *numbers(WIDTH, lanes),
    ]
    key = {
        "text": "●\u2002target mask (CGR)\u2003\u2003○\u2002mask elsewhere (100 − IS)",
        "fontWeight": "normal",
        "frame": "group",
    }
    return Figure(
        name="gsp",
        title="Does the target mask flip more answers than a mask elsewhere?",
        spec=figure_spec(rows, title=key, width=WIDTH, height={"step": LANE}, layer=layers),
        alt="Grounding-specificity premium (GSP), answers flipped by the target mask less those "
        f"flipped by a mask elsewhere, in percentage points with 95 % interval: {spoken(rows)}",
        signature=signature,
        notes=(
            "At the right the GSP in percentage points [95 % interval], on the n cases answered "
            "under both masks. The bar joins the two rates, each on its own cases: it may be "
            "longer or shorter.",
        ),
    )


def decomposition(index: Index, signature: str) -> Figure | None:
    """Figure 4a: correct answers that a like image of another patient leaves, and changes."""
    if not index.any("image_contingent"):
        return None
    names = shown(index.readers)
    order = index.ranked("image_contingent")
    rows = []
    for reader in order:
        record = index.get(reader, "image_contingent")
        changed = hundred(record.value) if record is not None else None
        rows.append(
            identity(index, reader, names)
            | {
                "kept": None if changed is None else round(100 - changed, 3),
                "changed": changed,
                "low": hundred(record.low) if record is not None else None,
                "high": hundred(record.high) if record is not None else None,
                "n": record.n if record is not None else None,
                "text": cell(record).partition(" n=")[0],
            }
        )
    lanes = [names[reader] for reader in order]
    y = reader_axis(lanes, offset=_OFFSET)
    axis = number_axis("kept", "correct answers, percent", 0, 100)

    def bar(start: Any, end: str, opacity: float) -> Spec:
        return {
            "mark": {"type": "bar", "height": 14, "opacity": opacity},
            "encoding": {"x": start, "x2": {"field": end}, "y": y, "fill": tint(rows)},
        }

    zero = {"calculate": "0", "as": "none"}
    whole = {"calculate": "100", "as": "whole"}
    layers = [
        category_marks(rows, lanes, _OFFSET),
        {**bar(axis, "none", 0.25), "transform": [zero]},
        {**bar(axis, "whole", 1), "transform": [{"filter": "datum.changed > 0"}, whole]},
        *numbers(WIDTH, lanes),
    ]
    return Figure(
        name="decomposition",
        title="How many correct answers does a like image of another patient change?",
        spec=figure_spec(rows, width=WIDTH, height={"step": LANE}, layer=layers),
        alt="Share of correct answers that another patient's image of the same finding and label "
        f"changes, percent with 95 % interval: {spoken(rows)}",
        signature=signature,
        notes=(
            "Pale: another patient's image of the same finding and label leaves the answer. Full: "
            "it changes it; that share stands at the right [95 % interval].",
            "The right answer is the same for both images: a reader that sees the finding keeps it "
            "as one that does not look does.",
        ),
    )
