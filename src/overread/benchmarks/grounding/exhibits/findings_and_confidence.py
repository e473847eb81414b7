"""Figures by finding and by confidence: the heat map, reliability diagrams and histograms."""

from __future__ import annotations

from typing import Any, Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, percent
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    Spec,
    figure_spec,
    reader_axis,
    shown,
)
from overread.benchmarks.grounding.exhibits.dot_plot import (
    OFFSET,
    Index,
    category_marks,
    ends,
    hundred,
    identity,
)
from overread.benchmarks.grounding.exhibits.tables import FEW, REGIMES
from overread.case import Figure, Measure

# ---------------------------------------------------------------- findings
# Figure 5: CGR by reader and finding, with the number of cases in every cell.

_TILE_SIZE: Final = (80, 38)
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 0.72
"""The share of the largest CGR from which a cell is dark enough for white figures."""


def finding_heatmap(index: Index, signature: str) -> Figure | None:
    """Which findings carry a reader's CGR, and on how many cases."""
    findings = _findings_by_cgr(index)
    if not findings:
        return None
    names = shown(index.readers)
    order = index.ranked("cgr")
    rows = [
        identity(index, reader, names) | _tile(index, reader, finding)
        for reader in order
        for finding in findings
    ]
    lanes = [names[reader] for reader in order]
    top = max((row["value"] for row in rows if row["n"] >= FEW), default=0.0) or 1.0
    x: Any = {
        "field": "finding",
        "type": "nominal",
        "scale": {"domain": [name.replace("_", " ") for name in findings]},
        "sort": None,
        "axis": {
            "title": None,
            "orient": "top",
            "labelAngle": 0,
            "domain": False,
            "ticks": False,
            "labelExpr": "split(datum.label, ' ')",
            "labelBaseline": "top",
            "labelLineHeight": 13,
            "labelPadding": 4 + 13 * max(name.count("_") + 1 for name in findings),
        },
    }
    y = reader_axis(lanes, offset=OFFSET, grid=False)
    fill = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, top], "range": [_PALE, _DEEP]},
        "legend": None,
    }
    read = f"isValid(datum.value) && datum.n >= {FEW}"
    place = {"x": x, "y": y}
    tile = {"type": "rect", "width": _TILE_SIZE[0] - 4, "height": _TILE_SIZE[1] - 4}

    def words(field: str, dy: int, size: int) -> Spec:
        dark = f"{read} && datum.value >= {_DARK_FROM * top}"
        colour = {
            "condition": [{"test": dark, "value": "#fffffe"}, {"test": read, "value": "#111111"}],
            "value": INK,
        }
        mark = {"type": "text", "dy": dy, "fontSize": size, "baseline": "middle"}
        return {"mark": mark, "encoding": {**place, "text": {"field": field}, "color": colour}}

    layers = [
        category_marks(rows, lanes, OFFSET, grid=False),
        {
            "transform": [{"filter": read}],
            "mark": tile,
            "encoding": {**place, "color": fill},
        },
        {
            "transform": [{"filter": "datum.beyond_any_mask"}],
            "mark": {**tile, "filled": False, "stroke": INK, "strokeWidth": 2},
            "encoding": place,
        },
        words("text", -6, 12),
        words("n_text", 9, 10),
    ]
    return Figure(
        name="finding_heatmap",
        title="Which findings does it look for?",
        spec=figure_spec(
            rows, width={"step": _TILE_SIZE[0]}, height={"step": _TILE_SIZE[1]}, layer=layers
        ),
        alt=f"Causal grounding rate (CGR) by reader and finding, percent: {_heatmap_alt(rows)}.",
        signature=signature,
        notes=(
            "CGR in percent, and the correct Yes answers it stands on. Framed: the interval of CGR "
            "lies above the flips a mask elsewhere causes on the same finding. Without colour: "
            f"fewer than {FEW} cases, not to be interpreted.",
        ),
    )


def _findings_by_cgr(index: Index) -> list[str]:
    """The findings by falling CGR over all readers together."""
    pooled = {}
    for finding in index.groups("cgr", "finding"):
        found = [index.known(reader, "cgr", finding=finding) for reader in index.readers]
        n = sum(record.n or 0 for record in found if record is not None)
        if n:
            pooled[finding] = sum(record.k or 0 for record in found if record is not None) / n
    return sorted(pooled, key=lambda finding: -pooled[finding])


def _tile(index: Index, reader: str, finding: str) -> Spec:
    record = index.known(reader, "cgr", finding=finding)
    facts: Spec = {"finding": finding.replace("_", " "), "value": None, "n": 0}
    if record is None:
        return facts | {"beyond_any_mask": False, "text": NOT_KNOWN, "n_text": ""}
    return (
        facts
        | ends(record)
        | {
            "beyond_any_mask": _beyond_any_mask(record, index.known(reader, "is", finding=finding)),
            "text": percent(record.value),
            "n_text": f"n={record.n}",
        }
    )


def _beyond_any_mask(cgr: Measure, stable: Measure | None) -> bool:
    """Whether the target mask flips more than a mask elsewhere does, by the interval [D37]."""
    if cgr.low is None or stable is None or stable.value is None or (cgr.n or 0) < FEW:
        return False
    return cgr.low > 1 - stable.value


def _heatmap_alt(rows: list[Spec]) -> str:
    of: dict[str, list[str]] = {}
    for row in rows:
        if row["value"] is not None:
            said = f"{row['finding']} {row['text']} ({row['n_text']})"
            of.setdefault(row["reader"], []).append(said)
    return "; ".join(f"{reader}: {', '.join(cells)}" for reader, cells in of.items())


# ---------------------------------------------------------------- confidence
# Supplementary Figure 3: is P(Yes) calibrated? Supplementary Figure 2: how sure a reader was, by
# what became of its answer.

BINS: Final = tuple(map(str, range(10)))
_DIAGRAM: Final = 180
_DIAGRAM_GAP: Final = 32


def reliability(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 3: the share of Yes in the key against P(Yes), bin by bin."""
    names = shown(index.readers)
    rows = [
        row
        for reader in index.readers
        for name in BINS
        if (row := _reliability_row(index, reader, name, names)) is not None
    ]
    if not rows:
        return None
    x: Any = tenths("p_yes", "mean P(Yes), percent")
    y: Any = tenths("positive", "key says Yes, percent")
    size = {
        "field": "n",
        "type": "quantitative",
        "scale": {"range": [12, 220], "zero": True},
        "legend": None,
    }
    calibrated = [{"p_yes": 0, "positive": 0}, {"p_yes": 100, "positive": 100}]
    layers = [
        {
            "data": {"values": calibrated},
            "mark": {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.6, "color": BLUE},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "color": BLUE},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "circle", "opacity": 1, "color": BLUE},
            "encoding": {"x": x, "y": y, "size": size},
        },
    ]
    # In the order of the rows, by number: what a reader is called must not enter an expression.
    facet = {
        "field": "panel",
        "type": "nominal",
        "sort": {"field": "order", "op": "min"},
        "header": {
            "title": None,
            "labelAnchor": "start",
            "labelExpr": "split(datum.label, '\\n')",
            "labelLineHeight": 14,
            "labelLimit": _DIAGRAM + _DIAGRAM_GAP,
        },
    }
    panels: Spec = {
        "facet": facet,
        "columns": 3,
        "spacing": {"row": 18, "column": _DIAGRAM_GAP},
        "spec": {"width": _DIAGRAM, "height": _DIAGRAM, "layer": layers},
    }
    return Figure(
        name="reliability",
        title="When it says 80 percent, is it Yes in 80 percent?",
        spec=figure_spec(rows, **panels),
        alt="Share of cases whose key is Yes against mean P(Yes) in ten bins, percent: "
        f"{_reliability_alt(rows)}.",
        signature=signature,
        notes=(
            "On the dashed line P(Yes) is calibrated; the area of a mark grows with the cases in "
            "its bin. ECE: the mean distance from the line, weighted by cases; n/a where too many "
            "confidences are missing, or are 0 and 1 only.",
        ),
    )


def _reliability_row(index: Index, reader: str, name: str, names: dict[str, str]) -> Spec | None:
    mean = index.known(reader, "confidence", bin=name)
    rate = index.known(reader, "reliability", bin=name)
    if mean is None or rate is None:
        return None
    ece = index.get(reader, "ece_label")
    said = percent(ece.value) if ece is not None else "n/a"
    return identity(index, reader, names) | {
        "panel": f"{names[reader]}\nECE {said}",
        "order": index.readers.index(reader),
        "bin": int(name),
        "p_yes": hundred(mean.value),
        **ends(rate, "positive"),
    }


def tenths(field: str, title: str) -> Spec:
    """An axis of percent for a small panel."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 100], "nice": False},
        "axis": {"title": title, "values": [0, 50, 100], "labelFlush": False},
    }


def _reliability_alt(rows: list[Spec]) -> str:
    of: dict[str, list[str]] = {}
    for row in rows:
        of.setdefault(row["reader"], []).append(f"{row['p_yes']:.0f} → {row['positive']:.0f}")
    return "; ".join(f"{reader}: {', '.join(points)}" for reader, points in of.items())


_REGIME_WIDTH: Final = 150
_REGIME_LANE: Final = 40


def confidence_histogram(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 2: how P(Yes) is spread within each regime."""
    names = shown(index.readers)
    known = [
        r for r in index.readers if any(_cases_by_tenth(index, r, regime) for regime, _ in REGIMES)
    ]
    if not known:
        return None
    rows = [
        identity(index, reader, names) | {"lane": lane, "regime": title} | row
        for lane, reader in enumerate(known)
        for regime, title in REGIMES
        for row in _histogram_rows(index, reader, regime, lane)
    ]
    panels = [
        _regime_lanes(rows, title, len(known), place == 0)
        for place, (_, title) in enumerate(REGIMES)
    ]
    return Figure(
        name="confidence_histogram",
        title="How sure was it, by what became of the answer?",
        spec=figure_spec(rows, hconcat=panels, spacing=26),
        alt=f"Mean P(Yes) by regime, percent: {_histogram_alt(rows)}.",
        signature=signature,
        notes=(
            "The height of a bar is the share of a regime's cases in that tenth of P(Yes); the "
            "dashed line is their mean. Grounded-correct: correct, and the target mask flips the "
            "answer.",
        ),
    )


def _regime_lanes(rows: list[Spec], title: str, lanes: int, named: bool) -> Spec:
    """One regime: a lane per reader, drawn by its number."""
    of_regime = [{"filter": f"datum.regime === '{title}'"}]
    x: Any = tenths("from", "P(Yes), percent")
    x["axis"]["grid"] = False
    y: Any = {
        "field": "foot",
        "type": "quantitative",
        "scale": {"domain": [0, lanes], "reverse": True, "nice": False},
        "axis": {"values": list(range(1, lanes + 1)), "labels": False, "ticks": False}
        | {"domain": False, "title": None},
    }
    once = [*of_regime, {"filter": "datum.first"}]
    words = {"type": "text", "baseline": "middle"}
    layers: list[Spec] = [
        {
            "transform": of_regime,
            "mark": {"type": "rect", "color": BLUE, "opacity": 0.8},
            "encoding": {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"field": "top"}},
        },
        {
            "transform": [*once, {"filter": "isValid(datum.mean)"}],
            "mark": {"type": "rule", "strokeDash": [3, 2], "strokeWidth": 1.4},
            "encoding": {
                "x": {**x, "field": "mean"},
                "y": y,
                "y2": {"field": "ceiling"},
            },
        },
        {
            "transform": once,
            "mark": {**words, "align": "left", "fontSize": 10, "opacity": 0.8},
            "encoding": {
                "x": {"value": _REGIME_WIDTH + 4},
                "y": {**y, "field": "middle"},
                "text": {"field": "n_text"},
            },
        },
    ]
    if named:
        layers.append(
            {
                "transform": once,
                "mark": {**words, "align": "right", "fontSize": 12},
                "encoding": {
                    "x": {"value": -8},
                    "y": {**y, "field": "middle"},
                    "text": {"field": "shown"},
                },
            }
        )
    heading = {"text": title, "fontWeight": "normal", "frame": "group", "anchor": "middle"}
    return {
        "title": heading,
        "width": _REGIME_WIDTH,
        "height": lanes * _REGIME_LANE,
        "layer": layers,
    }


def _cases_by_tenth(index: Index, reader: str, regime: str) -> dict[int, int]:
    """The cases of a regime in each tenth of P(Yes)."""
    return {
        int(name): record.n
        for name in BINS
        if (record := index.get(reader, "confidence", regime=regime, bin=name)) and record.n
    }


def _histogram_rows(index: Index, reader: str, regime: str, lane: int) -> list[Spec]:
    """The rows of one lane; a regime nobody is in has one, without a bar."""
    counts = _cases_by_tenth(index, reader, regime)
    total = sum(counts.values())
    mean = index.known(reader, "confidence", regime=regime)
    facts: Spec = {
        "mean": hundred(mean.value) if mean is not None else None,
        "n": total,
        "n_text": f"n={total}",
        "foot": lane + 1,
        "ceiling": lane + 0.12,
        "middle": lane + 0.6,
    }
    if not total:
        return [facts | {"from": None, "to": None, "cases": 0, "top": None, "first": True}]
    return [
        facts
        | {
            "from": 10 * at,
            "to": 10 * (at + 1),
            "cases": n,
            "top": round(lane + 1 - 0.88 * n / total, 4),
            "first": place == 0,
        }
        for place, (at, n) in enumerate(counts.items())
    ]


def _histogram_alt(rows: list[Spec]) -> str:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        mean = "n/a" if row["mean"] is None else f"{row['mean']:.1f}"
        said = f"{row['regime']} {mean} (n={row['n']})"
        found.setdefault(row["reader"], {})[row["regime"]] = said
    return "; ".join(f"{reader}: {', '.join(said.values())}" for reader, said in found.items())
