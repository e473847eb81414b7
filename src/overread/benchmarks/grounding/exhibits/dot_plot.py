"""Figures with one lane per reader; the words of any exhibit, and how it draws a category.

A category has a colour and a shape, so that neither is needed alone; a reader that gets no image is
drawn open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any, Final

from overread.benchmarks.exhibits import cells, style
from overread.benchmarks.exhibits import index as records
from overread.benchmarks.exhibits.figures import Marks
from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.grounding import category
from overread.case import Figure, Measure
from overread.measuring.notes import NO_PICTURE

# ---------------------------------------------------------------- the words of exhibits

FEW: Final = 10
"""Below so many cases a rate by finding is printed and not to be read (Supplementary Table 2)."""
_WORDING: Final = records.wording_beside(
    __file__,
    few=FEW,
    few_mark=cells.FEW_MARK,
    told_apart=cells.TOLD_APART_MARK,
    other_rule=cells.OTHER_RULE_MARK,
)

# ---------------------------------------------------------------- a reader's category


class Index(records.Index):
    """The records by what they are about, with what every grounding exhibit says of a reader."""

    def __init__(self, measures: Iterable[Measure], signature: str = "") -> None:
        super().__init__(measures, signature, _WORDING)
        self.names: Final = style.shown(self.readers)

    def category(self, reader: str) -> str:
        record = self.get(reader, "category")
        return (record.label if record is not None else None) or category.INSUFFICIENT

    def sees(self, reader: str) -> bool:
        """Whether the reader gets pictures at all."""
        record = self.get(reader, "category")
        return record is None or NO_PICTURE not in record.flags

    def identity(self, reader: str) -> Spec:
        """The facts every row of a figure begins with."""
        return {
            "reader": reader,
            "shown": self.names[reader],
            "category": self.category(reader),
            "gets_image": self.sees(reader),
        }


UNKNOWN: Final = ""
"""The category of a reader where nothing says what it is."""
_Looks = Mapping[str, tuple[str, str]]  # a colour and a shape for each
_CATEGORIES: Final[_Looks] = {
    category.USES: (style.BLUE, "circle"),
    category.IGNORES: (style.VERMILLION, "square"),
    category.UNSTABLE: ("#e69f00", "triangle-up"),
    category.INDETERMINATE: ("#666666", "diamond"),
    category.INSUFFICIENT: ("#969696", "cross"),
    UNKNOWN: (style.BLUE, "circle"),
}


def _told_by(field: str, looks: _Looks) -> tuple[Spec, Spec]:
    """The colours and the shapes by a field."""
    colour, shape = (
        {
            "field": field,
            "type": "nominal",
            "scale": {"domain": list(looks), "range": [look[at] for look in looks.values()]},
        }
        for at in (0, 1)
    )
    return colour, shape


def glyph(rows: Iterable[Spec]) -> Marks:
    """How a reader's category is drawn, and whether it gets the image.

    Of the categories that occur, in a fixed order.
    """
    present = {row["category"] for row in rows}
    # Vega-Lite makes one legend of channels with one field; switched off in one it is off in all.
    colour, shape = _told_by(
        "category", {name: look for name, look in _CATEGORIES.items() if name in present}
    )
    fill = {"condition": {"test": "datum.gets_image", **colour}, "value": style.PAPER}
    return Marks(_point(80), {"stroke": colour, "shape": shape, "fill": fill}, colour)


def _point(size: int, **more: str) -> Spec:
    return {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1, **more}


# ---------------------------------------------------------------- lanes

_WIDTH: Final = 330
OFFSET: Final = 22
"""The room between the names and the lanes in which a category's mark stands."""


def hundred(value: float | None) -> float | None:
    """A fraction as a percentage, as it is drawn."""
    return None if value is None else round(100 * value, 3)


def lane_row(index: Index, reader: str, record: Measure | None, value: str = "value") -> Spec:
    """One reader's row: who it is, the value with its interval, and the text at the right."""
    text = cells.cell(record).partition(" n=")[0]
    return index.identity(reader) | ends(record, value) | {"text": text}


def _ranked_rows(
    index: Index, measure: str, value: str = "value", **facts: Any
) -> tuple[list[Spec], list[str]]:
    """A row for every reader by falling value, and what their lanes are called."""
    rows = [
        lane_row(index, reader, index.get(reader, measure), value) | facts
        for reader in index.ranked(measure)
    ]
    return rows, [row["shown"] for row in rows]


def ends(record: Measure | None, value: str = "value") -> Spec:
    """A number as it is drawn: its value, its interval and its n."""
    if record is None:
        return dict.fromkeys((value, "low", "high", "n"))
    bounds = {value: record.value, "low": record.low, "high": record.high}
    return {name: hundred(number) for name, number in bounds.items()} | {"n": record.n}


def _ends(rows: Iterable[Spec]) -> Iterable[float | None]:
    return (row[end] for row in rows for end in ("value", "low", "high"))


def bounds(values: Iterable[float | None], *inside: float) -> tuple[float, float]:
    """Tens around all the values, at least twenty apart and never outside 0 to 100."""
    known = [*(v for v in values if v is not None), *inside]
    low, high = floor(min(known) / 10) * 10, ceil(max(known) / 10) * 10
    while high - low < 20:
        low, high = (low - 10, high) if low > 0 else (low, high + 10)
    return max(0, low), min(100, high)


def layer(mark: Spec, **channels: Any) -> Spec:
    """One mark of a figure and what its channels show."""
    return {"mark": mark, "encoding": channels}


def _numbers(names: Sequence[str], *more: tuple[int, str]) -> list[Spec]:
    """The layers of text at the right of every lane: value and interval, `more` columns, and n.

    A further column is the room it takes and the field it prints.
    """
    layers: list[Spec] = []
    at = _WIDTH + 16
    for room, field in ((126, "text"), *more, (0, "n_text")):
        text = {"type": "text", "align": "left", "baseline": "middle"}
        layers.append(
            layer(text, x={"value": at}, y=style.reader_axis(names), text={"field": field})
        )
        at += room
    layers[-1]["mark"]["opacity"] = 0.75
    layers[-1]["transform"] = [
        {"filter": "isValid(datum.n)"},
        {"calculate": "'n=' + datum.n", "as": "n_text"},
    ]
    return layers


def category_marks(rows: Sequence[Spec], names: Sequence[str], *, grid: bool = True) -> Spec:
    """The layer of category marks between the names and the lanes."""
    drawn, y = glyph(rows), style.reader_axis(names, offset=OFFSET, grid=grid)
    return layer(drawn.mark, x={"value": -OFFSET / 2 - 2}, y=y, **drawn.channels)


def _spoken(rows: Iterable[Spec]) -> str:
    """The rows in words, for those who do not see the figure."""
    return "; ".join(f"{row['reader']} ({row['category']}) {row['text']}" for row in rows)


def _dots(rows: Sequence[Spec], x: Spec, lanes: Sequence[str]) -> list[Spec]:
    """The layers of an interval and a category's mark in every lane."""
    drawn, y = glyph(rows), style.reader_axis(lanes)
    bar = _interval_layer(x, y, drawn.stroke)
    return [bar, layer(drawn.mark, x=x, y=y, **drawn.channels)]


def _interval_layer(x: Spec, y: Spec, colour: Spec, width: float = 2, **more: Spec) -> Spec:
    """A bar from the lower to the upper bound."""
    bar = {"type": "rule", "strokeWidth": width}
    return layer(bar, x={**x, "field": "low"}, x2={"field": "high"}, y=y, stroke=colour, **more)


def _dashed(x: Spec, *values: float | None) -> Spec:
    """Dashed lines at these values."""
    line = {"type": "rule", "strokeDash": [4, 3], "color": style.FAINT}
    return {"data": {"values": [{"value": one} for one in values]}, **layer(line, x=x)}


def _lanes(layers: Sequence[Spec]) -> Spec:
    return {"width": _WIDTH, "height": {"step": 24}, "layer": list(layers)}


# ---------------------------------------------------------------- rates and shares of answers


def uar(index: Index) -> Figure | None:
    """Figure 2c: how often a like image of another patient leaves the answer as it was."""
    if not index.any("uar"):
        return None
    rows, lanes = _ranked_rows(index, "uar")
    x = style.number_axis("value", "UAR, percent of correct answers", *bounds(_ends(rows), 100))
    # At 100 no answer changes with the patient.
    layers = [_dashed(x, 100), *_dots(rows, x, lanes), *_numbers(lanes)]
    return index.figure("uar", style.figure_spec(rows, **_lanes(layers)), _spoken(rows))


def premium(index: Index) -> Figure | None:
    """Figure 4c: flips under the target mask and under a mask elsewhere, joined by the GSP."""
    if not any(index.known(r, "cgr") and index.known(r, "is") for r in index.readers):
        return None
    rows, lanes = _ranked_rows(index, "gsp", "gsp")
    for row in rows:
        row["cgr"], kept = (ends(index.get(row["reader"], rate))["value"] for rate in ("cgr", "is"))
        row["elsewhere"] = None if kept is None else round(100 - kept, 3)
    low, high = bounds((v for row in rows for v in (row["cgr"], row["elsewhere"])), 0)
    y = style.reader_axis(lanes, offset=OFFSET)
    x: Any = style.number_axis("cgr", "answers flipped, percent", low - high / 50, high)
    bar = {"type": "rule", "strokeWidth": 5, "opacity": 0.6}
    # The ring is the larger, so that both are seen where the masks flip alike.
    layers = [
        category_marks(rows, lanes),
        layer(bar, x=x, x2={"field": "elsewhere"}, y=y, stroke=glyph(rows).stroke),
        layer(_point(110, stroke=style.INK, fill=style.PAPER), x={**x, "field": "elsewhere"}, y=y),
        layer(_point(30, stroke=style.INK, fill=style.INK), x=x, y=y),
        *_numbers(lanes),
    ]
    key = {
        "text": "●\u2002target mask (CGR)\u2003\u2003○\u2002mask elsewhere (100 − IS)",
        "fontWeight": "normal",
        "frame": "group",
    }
    return index.figure("gsp", style.figure_spec(rows, title=key, **_lanes(layers)), _spoken(rows))


def decomposition(index: Index) -> Figure | None:
    """Figure 4a: correct answers that a like image of another patient leaves, and changes."""
    if not index.any("image_contingent"):
        return None
    rows, lanes = _ranked_rows(index, "image_contingent", "changed")
    for row in rows:
        row["kept"] = None if row["changed"] is None else round(100 - row["changed"], 3)
    x = style.number_axis("kept", "correct answers, percent", 0, 100)
    place = {"y": style.reader_axis(lanes, offset=OFFSET), "fill": glyph(rows).stroke}
    pale, full = ({"type": "bar", "height": 14, "opacity": opacity} for opacity in (0.25, 1))
    zero, whole = {"calculate": "0", "as": "none"}, {"calculate": "100", "as": "whole"}
    changed = {"filter": "datum.changed > 0"}
    layers = [
        category_marks(rows, lanes),
        {**layer(pale, x=x, x2={"field": "none"}, **place), "transform": [zero]},
        {**layer(full, x=x, x2={"field": "whole"}, **place), "transform": [changed, whole]},
        *_numbers(lanes),
    ]
    return index.figure("decomposition", style.figure_spec(rows, **_lanes(layers)), _spoken(rows))


# ---------------------------------------------------------------- accuracy against baselines
# Figure 3: accuracy, and what is left of it against readers that get no image.

BASELINE: Final = "text_baseline"
"""The kind of comparison, as comparisons.py names it, which imports numpy."""
_MOST_BASELINES: Final = 2
_VERDICTS: Final[_Looks] = {
    "above, q < 0.05": (style.BLUE, "triangle-right"),
    "not told apart": (style.FAINT, "circle"),
    "below, q < 0.05": (style.VERMILLION, "triangle-left"),
}


def accuracy_baselines(index: Index) -> Figure | None:
    """Figure 3a-c: accuracy with the text-only baselines, and the paired differences from them."""
    if not index.any("accuracy"):
        return None
    rows, lanes = _ranked_rows(index, "accuracy", panel=0, against="")
    less = {
        (record.reader, record.by["versus"]): record
        for record in index.all("diff_accuracy", "versus", "comparison")
        if record.by["comparison"] == BASELINE and record.value is not None
    }
    # Readers others are compared with for want of an image; the most accurate first.
    baselines = index.ranked("accuracy", list(dict.fromkeys(baseline for _, baseline in less)))
    drawn = baselines[:_MOST_BASELINES]
    x = style.number_axis("value", "accuracy, percent", *bounds(_ends(rows)))
    lines = [hundred(one.value) for name in drawn if (one := index.known(name, "accuracy"))]
    panels = [_panel(0, [_dashed(x, *lines), *_dots(rows, x, lanes), *_numbers(lanes)])]
    order = [row["reader"] for row in rows]
    for panel, baseline in enumerate(drawn, 1):
        found = [
            index.identity(reader)
            | {"panel": panel, "against": baseline}
            | _difference_row(less[reader, baseline])
            for reader in order
            if reader != baseline and (reader, baseline) in less
        ]
        panels.append(_forest_lanes(found, lanes, index.names[baseline], panel))
        rows += found
    apart = {"scale": {"shape": "independent", "stroke": "independent", "fill": "independent"}}
    notes = [index.note("dashed_baselines"), index.note("less_baselines")]
    notes = notes if baselines else [index.note("no_baselines")]
    if len(baselines) > _MOST_BASELINES:
        notes.append(index.note("more_baselines", drawn=_MOST_BASELINES))
    said = "; ".join(
        f"{row['reader']} less {row['against']} {row['text']}, {row['q_text']}"
        if row["against"]
        else f"{row['reader']} {row['text']}"
        for row in rows
    )
    return index.figure(
        "accuracy_baselines",
        style.figure_spec(rows, vconcat=panels, spacing=28, resolve=apart),
        said,
        *notes,
    )


def _panel(number: int, layers: Sequence[Spec]) -> Spec:
    # By number: what a reader is called must not enter an expression.
    return {"transform": [{"filter": f"datum.panel === {number}"}], **_lanes(layers)}


def _difference_row(record: Measure) -> Spec:
    above, alike, below = _VERDICTS
    value = record.value or 0.0
    verdict = above if value > 0 else below if value < 0 else alike
    return ends(record) | {
        "q": record.q,
        "verdict": verdict if cells.told_apart(record) else alike,
        "text": f"{cells.percent(value, signed=True)} {cells.interval(record)}".rstrip(),
        "q_text": f"q {cells.p_value(record.q)}",
    }


def _forest_lanes(rows: Sequence[Spec], lanes: Sequence[str], baseline: str, panel: int) -> Spec:
    """One panel of differences; the lanes are those of the whole figure less the baseline's."""
    kept = [lane for lane in lanes if lane != baseline]
    reach = max((abs(v) for v in _ends(rows) if v is not None), default=1.0)
    bound = 5 * (int(reach / 5) + 1)
    x: Any = style.number_axis("value", f"accuracy less that of {baseline}", -bound, bound)
    y = style.reader_axis(kept)
    legend: Spec = {} if panel == 1 else {"legend": None}
    colour, shape = ({**looks, **legend} for looks in _told_by("verdict", _VERDICTS))
    point = {"type": "point", "size": 80, "strokeWidth": 1, "opacity": 1}
    layers = [
        layer({"type": "rule", "color": style.INK}, x={"datum": 0}),
        _interval_layer(x, y, colour),
        layer(point, x=x, y=y, shape=shape, stroke=colour, fill=colour),
        *_numbers(kept, (64, "q_text")),
    ]
    return _panel(panel, layers)


# ---------------------------------------------------------------- wordings side by side
# Supplementary Figure 1d, e: parse rate and accuracy of every wording.

_WORDING_RATES: Final = {
    "parse_rate": "replies with an answer, percent",
    "accuracy": "accuracy, percent",
}
_WORDING_LOOKS: Final = (
    ("#0072b2", "circle"),
    ("#d55e00", "square"),
    ("#009e73", "triangle-up"),
    ("#cc79a7", "diamond"),
    ("#56b4e9", "cross"),
    ("#e69f00", "triangle-down"),
)


def phrasing_lanes(index: Index) -> Figure | None:
    """One lane per reader, one mark per wording: the further apart, the more brittle."""
    wordings = index.groups("parse_rate", "phrasing")
    # Wordings of one lane stand a little above each other.
    rows = [
        lane_row(index, reader, record)
        | {"rate": name, "phrasing": wording, "place": place, "text": str(cells.cell(record))}
        for reader in index.readers
        for place, wording in enumerate(wordings)
        for name in _WORDING_RATES
        if (record := index.known(reader, name, phrasing=wording))
    ]
    if not rows:
        return None
    lanes = list(dict.fromkeys(row["shown"] for row in rows))
    told = "; ".join(
        f"{row['reader']} {row['phrasing']} {row['rate'].replace('_', ' ')} {row['text']}"
        for row in rows
    )
    panels = [_wording_lanes(name, lanes, wordings) for name in _WORDING_RATES]
    return index.figure("phrasing_lanes", style.figure_spec(rows, hconcat=panels, spacing=24), told)


def _wording_lanes(name: str, lanes: Sequence[str], wordings: Sequence[str]) -> Spec:
    x: Any = style.number_axis("value", _WORDING_RATES[name], 0, 100)
    y = style.reader_axis(lanes)
    if name != "parse_rate":  # the first panel names the readers for both
        y["axis"] = {**y["axis"], "labels": False, "minExtent": 0}
    nudge = {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0}}
    looks = {word: _WORDING_LOOKS[at % len(_WORDING_LOOKS)] for at, word in enumerate(wordings)}
    colour, shape = _told_by("phrasing", looks)
    point = {"type": "point", "size": 55, "opacity": 1}
    return {
        "transform": [{"filter": f"datum.rate === '{name}'"}],
        "width": 230,
        "height": len(lanes) * (10 + 12 * len(wordings)),
        "layer": [
            _interval_layer(x, y, colour, 1.6, yOffset=nudge),
            layer(point, x=x, y=y, yOffset=nudge, stroke=colour, fill=colour, shape=shape),
        ],
    }
