"""Figures that are no lanes: one rate against another, by finding, and by confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits import style
from overread.benchmarks.exhibits.cells import NOT_KNOWN, percent, printed
from overread.benchmarks.exhibits.figures import (
    dashed_line,
    ground_word,
    in_words,
    plane,
    plane_row,
)
from overread.benchmarks.exhibits.index import Column
from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.exhibits import dot_plot
from overread.benchmarks.grounding.exhibits.dot_plot import FEW, Index, ends, glyph, hundred, layer
from overread.benchmarks.grounding.exhibits.tables import REGIMES, sizes
from overread.case import Figure, Measure
from overread.measuring.units import ANY

# ---------------------------------------------------------------- one rate against another
# What a reader does, and whether it does so twice.


def _against(index: Index, x: Column, y: Column) -> list[Spec]:
    return [
        plane_row(index.identity(reader), of_x, of_y)
        for reader in index.readers
        if (of_x := x.known(index, reader)) and (of_y := y.known(index, reader))
    ]


def _limits(rows: Sequence[Spec], axis: str, *inside: float) -> tuple[float, float]:
    return dot_plot.bounds(
        (row[f"{axis}{part}"] for row in rows for part in ("", "_low", "_high")), *inside
    )


def triad(index: Index) -> Figure | None:
    """Figure 2a: CGR against IS, with the regions of the category rule shaded."""
    rows = _against(index, Column("IS", "is"), Column("CGR", "cgr"))
    if not rows:
        return None
    left, _ = _limits(rows, "x", 60, 100)
    _, top = _limits(rows, "y", 0)
    x_bounds, y_bounds = (left, 101.0), (-top / 50, float(top))
    regions = [
        {"x": left, "x2": UNSTABLE_BELOW, "y": y_bounds[0], "y2": top, "said": "unstable"},
        {"x": STEADY_FROM, "x2": 101, "y": 0, "y2": top, "said": "uses image"},
    ]
    colours = {"domain": ["unstable", "uses image"], "range": ["#e69f00", style.BLUE]}
    edges: Spec = {axis: {"field": axis, "type": "quantitative"} for axis in "xy"}
    edges |= {end: {"field": end} for end in ("x2", "y2")}
    colour = {"field": "said", "type": "nominal", "scale": colours, "legend": None}
    mark = {"type": "rect", "opacity": 0.12}
    shaded = {"data": {"values": regions}, **layer(mark, **edges, color=colour)}
    titles = (
        "IS: a mask elsewhere leaves the answer, percent",
        "CGR: the target mask flips it, percent",
    )
    unstable = ground_word("unstable", left, top, align="left", dx=4)
    uses = ground_word("uses image", 101, top, align="right", dx=-3)
    spec = plane(rows, titles, x_bounds, y_bounds, glyph(rows), (shaded, unstable, uses))
    spec["resolve"] = {"scale": {"color": "independent"}}
    return index.figure("triad", spec, in_words(rows, "IS", "CGR"))


def sens_spec(index: Index) -> Figure | None:
    """Figure 2d: sensitivity against specificity."""
    rows = _against(index, Column("", "specificity"), Column("", "sensitivity"))
    if not rows:
        return None
    titles, ends_at = ("specificity, percent", "sensitivity, percent"), (-2.0, 102.0)
    behind = (
        dashed_line((0, 100), (100, 0)),
        ground_word("always Yes", 0, 100, align="left", dx=14, dy=-4, baseline="bottom"),
        ground_word("always No", 100, 0, align="right", dx=-14, baseline="middle"),
    )
    return index.figure(
        "sens_spec",
        plane(rows, titles, ends_at, ends_at, glyph(rows), behind),
        in_words(rows, "specificity", "sensitivity"),
    )


# ---------------------------------------------------------------- a rate under other circumstances
# Figure 6 and Supplementary Figure 1a: does a rate stay where it was under other circumstances?


_LONGEST_NAME: Final = 40


def transfer_figure(
    pairs: Sequence[tuple[str, Measure, Measure]], names: tuple[str, str]
) -> Figure:
    """Figure 6a, b: UAR in one run against UAR in another, reader by reader.

    `pairs` are (reader, its record in the first run, its record in the second); one without a value
    is left out.
    """
    drawn = style.shown([reader for reader, _, _ in pairs])
    who = {"category": dot_plot.UNKNOWN, "gets_image": True}
    rows = [
        plane_row({"reader": name, "shown": drawn[name], **who}, x, y)
        for name, x, y in pairs
        if x.value is not None and y.value is not None
    ]
    at = [name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}" for name in names]
    spec = _same_axes(rows, (f"UAR in {at[0]}, percent", f"UAR in {at[1]}, percent"))
    spec["config"] = {**spec["config"], "legend": {"disable": True}}
    told = in_words(rows, f"in {names[0]}", f"in {names[1]}") if rows else "no model has both"
    return Index(()).figure("transfer", spec, told)


def resolution_plane(index: Index) -> Figure | None:
    """Supplementary Figure 1a: CGR at another resolution against CGR at the headline's."""
    px = sizes(index)
    at = [Column("CGR", "cgr", (("px", size),)) for size in px[:2]]
    rows = _against(index, *at) if len(at) == 2 else []
    if not rows:
        return None
    return index.figure(
        "resolution_plane",
        _same_axes(rows, (f"CGR at {px[0]} px, percent", f"CGR at {px[1]} px, percent")),
        in_words(rows, f"at {px[0]} px", f"at {px[1]} px"),
        base=px[0],
        px=px[1],
    )


def _same_axes(rows: list[Spec], titles: tuple[str, str]) -> Spec:
    """A plane whose two axes are the same, with the line on which both rates are equal."""
    limits = (*_limits(rows, "x"), *_limits(rows, "y")) if rows else (0.0, 100.0)
    low, high = min(limits), max(limits)
    room = (high - low) / 50
    both = (low - room, high + room)
    return plane(rows, titles, both, both, glyph(rows), [dashed_line((low, low), (high, high))])


# ---------------------------------------------------------------- findings
# Figure 5: CGR by reader and finding, with the number of cases in every cell.


def _by_reader(said: Iterable[tuple[str, str]]) -> str:
    """What is said of each reader, for those who do not see a figure."""
    of: dict[str, list[str]] = {}
    for reader, words in said:
        of.setdefault(reader, []).append(words)
    return "; ".join(f"{reader}: {', '.join(words)}" for reader, words in of.items())


_TILE_WIDTH: Final = 80
_TILE_HEIGHT: Final = 38
_POOLED_LINE: Final = 14
_DARK_FROM: Final = 0.72
"""The share of the largest CGR from which a cell is dark enough for white figures."""


def finding_heatmap(index: Index) -> Figure | None:
    """Which findings carry a reader's CGR, and on how many cases."""
    findings = _findings_by_cgr(index)
    if not findings:
        return None
    order = index.ranked("cgr")
    rows = [
        index.identity(reader) | _tile(index, reader, finding)
        for reader in order
        for finding in findings
    ]
    lanes = [index.names[reader] for reader in order]
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
    place = {"x": x, "y": style.reader_axis(lanes, offset=dot_plot.OFFSET, grid=False)}
    scale = {"domain": [0, top], "range": ["#e8f1f8", "#08519c"]}
    fill = {"field": "value", "type": "quantitative", "scale": scale, "legend": None}
    read = f"isValid(datum.value) && datum.n >= {FEW}"
    dark = f"{read} && datum.value >= {_DARK_FROM * top}"
    ink = {
        "condition": [{"test": dark, "value": "#fffffe"}, {"test": read, "value": "#111111"}],
        "value": style.INK,
    }
    more = _POOLED_LINE if any("pooled" in row for row in rows) else 0
    height, known = _TILE_HEIGHT + more, "isValid(datum.pooled)"
    tile: Spec = {"type": "rect", "width": _TILE_WIDTH - 4, "height": height - 4}
    frame = {**tile, "filled": False, "stroke": style.INK, "strokeWidth": 2}

    def words(field: str, dy: int, size: int) -> Spec:
        mark = {"type": "text", "dy": dy, "fontSize": size, "baseline": "middle"}
        return layer(mark, **place, text={"field": field}, color=ink)

    layers = [
        dot_plot.category_marks(rows, lanes, grid=False),
        {"transform": [{"filter": read}], **layer(tile, **place, color=fill)},
        {"transform": [{"filter": "datum.beyond_any_mask"}], **layer(frame, **place)},
        words("text", -6 - more // 2, 12),
        words("n_text", 9 - more // 2, 10),
        *([{"transform": [{"filter": known}], **words("pooled_text", 16, 10)}] if more else []),
    ]
    steps = {"width": {"step": _TILE_WIDTH}, "height": {"step": height}}
    said = _by_reader(
        (row["reader"], f"{row['finding']} {row['text']} ({_below(row)})")
        for row in rows
        if row["value"] is not None
    )
    spec = style.figure_spec(rows, **steps, layer=layers)
    notes = [index.note("pooled_tiles")] if more else []
    return index.figure("finding_heatmap", spec, said, *notes)


def _below(row: Spec) -> str:
    """What stands in a tile below its number."""
    return ", ".join(row[name] for name in ("n_text", "pooled_text") if name in row)


def _findings_by_cgr(index: Index) -> list[str]:
    """The findings by falling CGR over all readers together."""
    pooled = {}
    for finding in index.groups("cgr", "finding"):
        found = [r for name in index.readers if (r := index.known(name, "cgr", finding=finding))]
        if n := sum(record.n or 0 for record in found):
            pooled[finding] = sum(record.k or 0 for record in found) / n
    return sorted(pooled, key=lambda finding: -pooled[finding])


def _tile(index: Index, reader: str, finding: str) -> Spec:
    cgr = index.known(reader, "cgr", finding=finding)
    facts: Spec = {"finding": finding.replace("_", " "), "value": None, "n": 0}
    if cgr is None:
        return facts | {"beyond_any_mask": False, "text": NOT_KNOWN, "n_text": ""}
    said = {"text": percent(cgr.value), "n_text": f"n={cgr.n}"}
    if cgr.pooled is not None:
        said["pooled_text"] = f"pooled {percent(cgr.pooled.value)}"
    # Whether the target mask flips more than a mask elsewhere does, by the interval [D37].
    stable, enough = index.known(reader, "is", finding=finding), (cgr.n or 0) >= FEW
    beyond = bool(enough and stable and (cgr.low or 0.0) > 1 - (stable.value or 0.0))
    return facts | ends(cgr) | {"beyond_any_mask": beyond} | said | style.pooled_row(cgr)


# ---------------------------------------------------------------- confidence
# Supplementary Figure 3: is P(Yes) calibrated? Supplementary Figure 2: how sure a reader was, by
# what became of its answer.

_BINS: Final = tuple(map(str, range(10)))
_DIAGRAM: Final = 180
_DIAGRAM_GAP: Final = 32


def _percent_axis(field: str, title: str) -> Spec:
    """An axis of percent for a small panel."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 100], "nice": False},
        "axis": {"title": title, "values": [0, 50, 100], "labelFlush": False},
    }


def reliability(index: Index) -> Figure | None:
    """Supplementary Figure 3: the share of Yes in the key against P(Yes), bin by bin."""
    rows = [row for reader in index.readers for row in _reliability_rows(index, reader)]
    if not rows:
        return None
    x: Any = _percent_axis("p_yes", "mean P(Yes), percent")
    y: Any = _percent_axis("positive", "key says Yes, percent")
    scale = {"range": [12, 220], "zero": True}
    size = {"field": "n", "type": "quantitative", "scale": scale, "legend": None}
    calibrated = [{"p_yes": 0, "positive": 0}, {"p_yes": 100, "positive": 100}]
    dashed = {"type": "line", "strokeDash": [4, 3], "color": style.FAINT, "strokeWidth": 1}
    line = {"type": "line", "strokeWidth": 1, "opacity": 0.6, "color": style.BLUE}
    bar = {"type": "rule", "strokeWidth": 1.6, "color": style.BLUE}
    layers = [
        {"data": {"values": calibrated}, **layer(dashed, x=x, y=y)},
        layer(line, x=x, y=y),
        layer(bar, x=x, y={**y, "field": "low"}, y2={"field": "high"}),
        layer({"type": "circle", "opacity": 1, "color": style.BLUE}, x=x, y=y, size=size),
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
    said = _by_reader(
        (row["reader"], f"{row['p_yes']:.0f} → {row['positive']:.0f}") for row in rows
    )
    return index.figure("reliability", style.figure_spec(rows, **panels), said)


def _reliability_rows(index: Index, reader: str) -> list[Spec]:
    ece = index.get(reader, "ece_label")
    said = percent(ece.value) if ece is not None else NOT_KNOWN
    panel = {"panel": f"{index.names[reader]}\nECE {said}", "order": index.readers.index(reader)}
    return [
        index.identity(reader)
        | panel
        | {"bin": int(name), "p_yes": hundred(mean.value), **ends(rate, "positive")}
        for name in _BINS
        if (mean := index.known(reader, "confidence", bin=name))
        and (rate := index.known(reader, "reliability", bin=name))
    ]


_REGIME_WIDTH: Final = 150
_REGIME_LANE: Final = 40


def confidence_histogram(index: Index) -> Figure | None:
    """Supplementary Figure 2: how P(Yes) is spread within each regime."""
    counts = {
        (reader, regime): _cases_by_tenth(index, reader, regime)
        for reader in index.readers
        for regime, _ in REGIMES
    }
    known = [r for r in index.readers if any(counts[r, regime] for regime, _ in REGIMES)]
    if not known:
        return None
    rows = [
        index.identity(reader) | {"lane": lane, "regime": title} | row
        for lane, reader in enumerate(known)
        for regime, title in REGIMES
        for row in _histogram_rows(
            index.known(reader, "confidence", regime=regime), counts[reader, regime], lane
        )
    ]
    panels = [
        _regime_lanes(title, len(known), named=place == 0)
        for place, (_, title) in enumerate(REGIMES)
    ]
    said = _by_reader(
        (row["reader"], f"{row['regime']} {printed(row['mean'], ANY, digits=1)} (n={row['n']})")
        for row in rows
        if row["first"]
    )
    spec = style.figure_spec(rows, hconcat=panels, spacing=26)
    return index.figure("confidence_histogram", spec, said)


def _regime_lanes(title: str, lanes: int, *, named: bool) -> Spec:
    """One regime: a lane per reader, drawn by its number."""
    of_regime = [{"filter": f"datum.regime === '{title}'"}]
    x: Any = _percent_axis("from", "P(Yes), percent")
    x["axis"]["grid"] = False
    bare = {"labels": False, "ticks": False, "domain": False, "title": None}
    y: Any = {
        "field": "foot",
        "type": "quantitative",
        "scale": {"domain": [0, lanes], "reverse": True, "nice": False},
        "axis": {"values": list(range(1, lanes + 1)), **bare},
    }
    once = [*of_regime, {"filter": "datum.first"}]
    bar = layer(
        {"type": "rect", "color": style.BLUE, "opacity": 0.8},
        **{"x": x, "x2": {"field": "to"}, "y": y, "y2": {"field": "top"}},
    )
    mean = layer(
        {"type": "rule", "strokeDash": [3, 2], "strokeWidth": 1.4},
        **{"x": {**x, "field": "mean"}, "y": y, "y2": {"field": "ceiling"}},
    )

    def words(at: int, field: str, **looks: Any) -> Spec:
        mark = {"type": "text", "baseline": "middle", **looks}
        middle = {**y, "field": "middle"}
        return {"transform": once, **layer(mark, x={"value": at}, y=middle, text={"field": field})}

    layers = [
        {"transform": of_regime, **bar},
        {"transform": [*once, {"filter": "isValid(datum.mean)"}], **mean},
        words(_REGIME_WIDTH + 4, "n_text", align="left", fontSize=10, opacity=0.8),
        *([words(-8, "shown", align="right", fontSize=12)] if named else []),
    ]
    return {
        "title": {"text": title, "fontWeight": "normal", "frame": "group", "anchor": "middle"},
        "width": _REGIME_WIDTH,
        "height": lanes * _REGIME_LANE,
        "layer": layers,
    }


def _cases_by_tenth(index: Index, reader: str, regime: str) -> dict[int, int]:
    """The cases of a regime in each tenth of P(Yes)."""
    return {
        int(name): record.n
        for name in _BINS
        if (record := index.get(reader, "confidence", regime=regime, bin=name)) and record.n
    }


def _histogram_rows(mean: Measure | None, counts: dict[int, int], lane: int) -> list[Spec]:
    """The rows of one lane; a regime nobody is in has one, without a bar."""
    total = sum(counts.values())
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
