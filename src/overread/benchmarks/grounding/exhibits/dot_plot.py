"""Figures with one lane per reader, and how a reader's category is drawn in any figure.

A category has a colour and a shape, so that neither is needed alone; a reader that gets no image is
drawn open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Any, Final

from overread.benchmarks.exhibits.cells import cell, interval, p_value, percent, told_apart
from overread.benchmarks.exhibits.index import Index as PlainIndex
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

# ---------------------------------------------------------------- a reader's category


class Index(PlainIndex):
    """The records by what they are about, with what every grounding exhibit says of a reader."""

    def category(self, reader: str) -> str:
        record = self.get(reader, "category")
        return (record.label if record is not None else None) or INSUFFICIENT

    def sees(self, reader: str) -> bool:
        """Whether the reader gets pictures at all."""
        record = self.get(reader, "category")
        return record is None or NO_PICTURE not in record.flags


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

WIDTH: Final = 330
LANE: Final = 24
OFFSET: Final = 22
"""The room between the names and the lanes in which a category's mark stands."""


def hundred(value: float | None) -> float | None:
    """A fraction as a percentage, as it is drawn."""
    return None if value is None else round(100 * value, 3)


def lane_row(
    index: Index, reader: str, names: dict[str, str], record: Measure | None, value: str = "value"
) -> Spec:
    """One reader's row: who it is, the value with its interval, and the text at the right."""
    text = cell(record).partition(" n=")[0]
    return identity(index, reader, names) | ends(record, value) | {"text": text}


def ends(record: Measure | None, value: str = "value") -> Spec:
    """A number as it is drawn: its value, its interval and its n."""
    if record is None:
        return dict.fromkeys((value, "low", "high", "n"))
    bounds = {value: record.value, "low": record.low, "high": record.high}
    return {name: hundred(number) for name, number in bounds.items()} | {"n": record.n}


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


def dots(rows: Sequence[Spec], x: Spec, lanes: Sequence[str]) -> list[Spec]:
    """The layers of an interval and a category's mark in every lane."""
    y = reader_axis(lanes)
    mark, encoding = glyph(rows)
    return [
        _interval_layer(x, y, tint(rows)),
        {"mark": mark, "encoding": {"x": x, "y": y, **encoding}},
    ]


def _interval_layer(x: Spec, y: Spec, colour: Spec, width: float = 2, **more: Spec) -> Spec:
    """A bar from the lower to the upper bound."""
    bar = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "stroke": colour}
    return {"mark": {"type": "rule", "strokeWidth": width}, "encoding": {**bar, **more}}


# ---------------------------------------------------------------- rates and shares of answers


def _dashed(value: float, x: Spec) -> Spec:
    """A dashed line at a value."""
    return {
        "data": {"values": [{"value": value}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT},
        "encoding": {"x": x},
    }


def uar(index: Index, signature: str) -> Figure | None:
    """Figure 2c: how often a like image of another patient leaves the answer as it was."""
    if not index.any("uar"):
        return None
    names, order = shown(index.readers), index.ranked("uar")
    rows = [lane_row(index, reader, names, index.get(reader, "uar")) for reader in order]
    lanes = [names[reader] for reader in order]
    x = number_axis("value", "UAR, percent of correct answers", *bounds(_ends(rows), 100))
    # At 100 no answer changes with the patient.
    layers = [_dashed(100, x), *dots(rows, x, lanes), *numbers(WIDTH, lanes)]
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


def _ends(rows: Iterable[Spec]) -> Iterable[float | None]:
    return (row[end] for row in rows for end in ("value", "low", "high"))


def premium(index: Index, signature: str) -> Figure | None:
    """Figure 4c: flips under the target mask and under a mask elsewhere, joined by the GSP."""
    if not any(index.known(r, "cgr") and index.known(r, "is") for r in index.readers):
        return None
    names, order = shown(index.readers), index.ranked("gsp")
    rows = []
    for reader in order:
        gsp, cgr, stable = (index.get(reader, name) for name in ("gsp", "cgr", "is"))
        kept = hundred(stable.value) if stable is not None else None
        flips = {
            "cgr": hundred(cgr.value) if cgr is not None else None,
            "elsewhere": None if kept is None else round(100 - kept, 3),
        }
        rows.append(lane_row(index, reader, names, gsp, "gsp") | flips)
    lanes = [names[reader] for reader in order]
    low, high = bounds((v for row in rows for v in (row["cgr"], row["elsewhere"])), 0)
    y = reader_axis(lanes, offset=OFFSET)
    x: Any = number_axis("cgr", "answers flipped, percent", low - high / 50, high)

    def mark_of(field: str, size: int, fill: str) -> Spec:
        mark = {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1}
        return {
            "mark": {**mark, "stroke": INK, "fill": fill},
            "encoding": {"x": {**x, "field": field}, "y": y},
        }

    # The ring is the larger, so that both are seen where the masks flip alike.
    layers = [
        category_marks(rows, lanes, OFFSET),
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.6},
            "encoding": {"x": x, "x2": {"field": "elsewhere"}, "y": y, "stroke": tint(rows)},
        },
        mark_of("elsewhere", 110, PAPER),
        mark_of("cgr", 30, INK),
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
    names, order = shown(index.readers), index.ranked("image_contingent")
    rows = []
    for reader in order:
        row = lane_row(index, reader, names, index.get(reader, "image_contingent"), "changed")
        kept = None if row["changed"] is None else round(100 - row["changed"], 3)
        rows.append(row | {"kept": kept})
    lanes = [names[reader] for reader in order]
    y = reader_axis(lanes, offset=OFFSET)
    axis = number_axis("kept", "correct answers, percent", 0, 100)

    def bar(start: Any, end: str, opacity: float) -> Spec:
        return {
            "mark": {"type": "bar", "height": 14, "opacity": opacity},
            "encoding": {"x": start, "x2": {"field": end}, "y": y, "fill": tint(rows)},
        }

    zero = {"calculate": "0", "as": "none"}
    whole = {"calculate": "100", "as": "whole"}
    layers = [
        category_marks(rows, lanes, OFFSET),
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


# ---------------------------------------------------------------- accuracy against baselines
# Figure 3: accuracy, and what is left of it against readers that get no image.

# As comparisons.py names the kind; it imports numpy.
_BASELINE: Final = "text_baseline"
_MOST_BASELINES: Final = 2
_VERDICTS: Final = ("above, q < 0.05", "not told apart", "below, q < 0.05")
_VERDICT_LOOKS: Final = {
    _VERDICTS[0]: (BLUE, "triangle-right"),
    _VERDICTS[1]: (FAINT, "circle"),
    _VERDICTS[2]: (VERMILLION, "triangle-left"),
}


def _ranked_baselines(index: Index) -> list[str]:
    """Readers others are compared with for want of an image; the most accurate first."""
    named = dict.fromkeys(
        record.by["versus"]
        for record in index.all("diff_accuracy", "versus", "comparison")
        if record.by["comparison"] == _BASELINE and record.value is not None
    )
    return index.ranked("accuracy", list(named))


def accuracy_baselines(index: Index, signature: str) -> Figure | None:
    """Figure 3a-c: accuracy with the text-only baselines, and the paired differences from them."""
    if not index.any("accuracy"):
        return None
    names, order = shown(index.readers), index.ranked("accuracy")
    lanes = [names[reader] for reader in order]
    baselines = _ranked_baselines(index)
    drawn = baselines[:_MOST_BASELINES]
    rows = [
        lane_row(index, r, names, index.get(r, "accuracy")) | {"panel": 0, "against": ""}
        for r in order
    ]
    panels = [_accuracy_lanes(rows, lanes, index, drawn)]
    for panel, baseline in enumerate(drawn, 1):
        found = [
            identity(index, reader, names)
            | {"panel": panel, "against": baseline}
            | _difference_row(record)
            for reader in order
            if reader != baseline
            and (
                record := index.known(
                    reader, "diff_accuracy", versus=baseline, comparison=_BASELINE
                )
            )
        ]
        panels.append(_forest_lanes(found, lanes, names[baseline], panel))
        rows += found
    apart = {"scale": {"shape": "independent", "stroke": "independent", "fill": "independent"}}
    notes = ["No reader of this run goes without the image."]
    if baselines:
        notes = [
            "Dashed: the accuracy of readers that get no image.",
            "Differences in percentage points [95 % interval] on the cases both readers decided; q "
            "is adjusted within the family (Benjamini–Hochberg).",
        ]
    if len(baselines) > _MOST_BASELINES:
        notes.append(f"The {_MOST_BASELINES} most accurate of them are drawn; the table has all.")
    said = "; ".join(
        f"{row['reader']} less {row['against']} {row['text']}, {row['q_text']}"
        if row["against"]
        else f"{row['reader']} {row['text']}"
        for row in rows
    )
    return Figure(
        name="accuracy_baselines",
        title="Is it more accurate than a reader without the image?",
        spec=figure_spec(rows, vconcat=panels, spacing=28, resolve=apart),
        alt="Accuracy of every reader, and its difference from readers that get no image, percent "
        f"with 95 % interval: {said}.",
        signature=signature,
        notes=tuple(notes),
    )


def _panel_of(number: int, layers: Sequence[Spec]) -> Spec:
    # By number: what a reader is called must not enter an expression.
    here = [{"filter": f"datum.panel === {number}"}]
    return {"transform": here, "width": WIDTH, "height": {"step": LANE}, "layer": list(layers)}


def _accuracy_lanes(
    rows: Sequence[Spec], lanes: Sequence[str], index: Index, baselines: Sequence[str]
) -> Spec:
    x = number_axis("value", "accuracy, percent", *bounds(_ends(rows)))
    lines = [{"value": hundred(r.value)} for b in baselines if (r := index.known(b, "accuracy"))]
    dashed = _dashed(0, x) | {"data": {"values": lines}}
    return _panel_of(0, [dashed, *dots(rows, x, lanes), *numbers(WIDTH, lanes)])


def _difference_row(record: Measure) -> Spec:
    value = record.value or 0.0
    sign = (value > 0) - (value < 0) if told_apart(record) else 0
    return ends(record) | {
        "q": record.q,
        "verdict": _VERDICTS[1 - sign if sign else 1],
        "text": f"{percent(value, signed=True)}{interval(record)}",
        "q_text": f"q {p_value(record.q)}",
    }


def _forest_lanes(rows: Sequence[Spec], lanes: Sequence[str], baseline: str, panel: int) -> Spec:
    """One panel of differences; the lanes are those of the whole figure less the baseline's."""
    kept = [lane for lane in lanes if lane != baseline]
    reach = max((abs(v) for v in _ends(rows) if v is not None), default=1.0)
    bound = 5 * (int(reach / 5) + 1)
    x: Any = number_axis("value", f"accuracy less that of {baseline}", -bound, bound)
    y = reader_axis(kept)

    def looks(at: int) -> Spec:
        """The colours (0) or shapes (1) of the verdicts."""
        scale = {"domain": list(_VERDICT_LOOKS), "range": [v[at] for v in _VERDICT_LOOKS.values()]}
        found: Spec = {"field": "verdict", "type": "nominal", "scale": scale}
        return found if panel == 1 else {**found, "legend": None}

    colour, shape = looks(0), looks(1)
    layers = [
        {"mark": {"type": "rule", "color": INK}, "encoding": {"x": {"datum": 0}}},
        _interval_layer(x, y, colour),
        {
            "mark": {"type": "point", "size": 80, "strokeWidth": 1, "opacity": 1},
            "encoding": {"x": x, "y": y, "shape": shape, "stroke": colour, "fill": colour},
        },
        *numbers(WIDTH, kept, (64, "q_text")),
    ]
    return _panel_of(panel, layers)


# ---------------------------------------------------------------- wordings side by side
# Supplementary Figure 1d, e: parse rate and accuracy of every wording.

_WORDING_RATES: Final = (
    ("parse_rate", "replies with an answer, percent"),
    ("accuracy", "accuracy, percent"),
)
_WORDING_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_WORDING_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WORDING_WIDTH: Final = 230


def phrasing_lanes(index: Index, signature: str) -> Figure | None:
    """One lane per reader, one mark per wording: the further apart, the more brittle."""
    wordings = index.groups("parse_rate", "phrasing")
    names = shown(index.readers)
    # Wordings of one lane stand a little above each other.
    rows = [
        lane_row(index, reader, names, record)
        | {"rate": name, "phrasing": wording, "place": place, "text": cell(record)}
        for reader in index.readers
        for place, wording in enumerate(wordings)
        for name, _ in _WORDING_RATES
        if (record := index.known(reader, name, phrasing=wording))
    ]
    if not rows:
        return None
    asked = {row["reader"] for row in rows}
    lanes = [names[reader] for reader in index.readers if reader in asked]
    panels = [
        _wording_lanes(name, title, lanes, wordings, named=place == 0)
        for place, (name, title) in enumerate(_WORDING_RATES)
    ]
    told = "; ".join(
        f"{row['reader']} {row['phrasing']} {row['rate'].replace('_', ' ')} {row['text']}"
        for row in rows
    )
    return Figure(
        name="phrasing_lanes",
        title="Does it depend on the wording?",
        spec=figure_spec(rows, hconcat=panels, spacing=24),
        alt=f"Parse rate and accuracy in every wording, percent with 95 % interval: {told}.",
        signature=signature,
        notes=("Bars are 95 % intervals. An accuracy over few parsed answers is not one.",),
    )


def _wording_lanes(
    name: str, title: str, lanes: Sequence[str], wordings: Sequence[str], *, named: bool
) -> Spec:
    x: Any = number_axis("value", title, 0, 100)
    y = reader_axis(lanes)
    if not named:
        y["axis"] = {**y["axis"], "labels": False, "minExtent": 0}
    nudge = {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0}}
    key = {"field": "phrasing", "type": "nominal"}
    colour = {**key, "scale": _wording_scale(wordings, _WORDING_COLOURS)}
    layers = [
        _interval_layer(x, y, colour, 1.6, yOffset=nudge),
        {
            "mark": {"type": "point", "size": 55, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "yOffset": nudge,
                "stroke": colour,
                "fill": colour,
                "shape": {**key, "scale": _wording_scale(wordings, _WORDING_SHAPES)},
            },
        },
    ]
    return {
        "transform": [{"filter": f"datum.rate === '{name}'"}],
        "width": _WORDING_WIDTH,
        "height": len(lanes) * (10 + 12 * len(wordings)),
        "layer": layers,
    }


def _wording_scale(wordings: Sequence[str], looks: Sequence[str]) -> Spec:
    return {
        "domain": list(wordings),
        "range": [looks[at % len(looks)] for at in range(len(wordings))],
    }
