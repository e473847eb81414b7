"""Figure 5: CGR by reader and finding, with the number of cases in every cell."""

from __future__ import annotations

from typing import Any, Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, percent
from overread.benchmarks.exhibits.style import INK, Spec, figure_spec, reader_axis, shown
from overread.benchmarks.grounding.exhibits.groups import FEW
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import category_marks, hundred
from overread.benchmarks.grounding.exhibits.style import identity
from overread.case import Figure, Measure

__all__ = ["finding_heatmap"]

_OFFSET: Final = 22
_CELL: Final = (80, 38)
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 0.72
"""The share of the largest CGR from which a cell is dark enough for white figures."""


def finding_heatmap(index: Index, signature: str) -> Figure | None:
    """Which findings carry a reader's CGR, and on how many cases."""
    findings = _ordered(index)
    if not findings:
        return None
    names = shown(index.readers)
    order = index.ranked("cgr")
    rows = [
        identity(index, reader, names) | _cell(index, reader, finding)
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
    y = reader_axis(lanes, offset=_OFFSET, grid=False)
    fill = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, top], "range": [_PALE, _DEEP]},
        "legend": None,
    }
    read = f"isValid(datum.value) && datum.n >= {FEW}"
    place = {"x": x, "y": y}

    def words(field: str, dy: int, size: int) -> Spec:
        dark = f"{read} && datum.value >= {_DARK_FROM * top}"
        colour = {
            "condition": [{"test": dark, "value": "#fffffe"}, {"test": read, "value": "#111111"}],
            "value": INK,
        }
        mark = {"type": "text", "dy": dy, "fontSize": size, "baseline": "middle"}
        return {"mark": mark, "encoding": {**place, "text": {"field": field}, "color": colour}}

    layers = [
        category_marks(rows, lanes, _OFFSET, grid=False),
        {
            "transform": [{"filter": read}],
            "mark": {"type": "rect", "width": _CELL[0] - 4, "height": _CELL[1] - 4},
            "encoding": {**place, "color": fill},
        },
        {
            "transform": [{"filter": "datum.beyond_any_mask"}],
            "mark": {
                "type": "rect",
                "width": _CELL[0] - 4,
                "height": _CELL[1] - 4,
                "filled": False,
                "stroke": INK,
                "strokeWidth": 2,
            },
            "encoding": place,
        },
        words("text", -6, 12),
        words("n_text", 9, 10),
    ]
    return Figure(
        name="finding_heatmap",
        title="Which findings does it look for?",
        spec=figure_spec(rows, width={"step": _CELL[0]}, height={"step": _CELL[1]}, layer=layers),
        alt=f"Causal grounding rate (CGR) by reader and finding, percent: {_said(rows)}.",
        signature=signature,
        notes=(
            "CGR in percent, and the correct Yes answers it stands on. Framed: the interval of CGR "
            "lies above the flips a mask elsewhere causes on the same finding. Without colour: "
            f"fewer than {FEW} cases, not to be interpreted.",
        ),
    )


def _ordered(index: Index) -> list[str]:
    """The findings by falling CGR over all readers together."""
    pooled = {}
    for finding in index.groups("cgr", "finding"):
        found = [index.known(reader, "cgr", finding=finding) for reader in index.readers]
        n = sum(record.n or 0 for record in found if record is not None)
        if n:
            pooled[finding] = sum(record.k or 0 for record in found if record is not None) / n
    return sorted(pooled, key=lambda finding: -pooled[finding])


def _cell(index: Index, reader: str, finding: str) -> Spec:
    record = index.known(reader, "cgr", finding=finding)
    facts: Spec = {"finding": finding.replace("_", " "), "value": None, "n": 0}
    if record is None:
        return facts | {"beyond_any_mask": False, "text": NOT_KNOWN, "n_text": ""}
    return facts | {
        "value": hundred(record.value),
        "low": hundred(record.low),
        "high": hundred(record.high),
        "n": record.n,
        "beyond_any_mask": _beyond(record, index.known(reader, "is", finding=finding)),
        "text": percent(record.value),
        "n_text": f"n={record.n}",
    }


def _beyond(cgr: Measure, stable: Measure | None) -> bool:
    """Whether the target mask flips more than a mask elsewhere does, by the interval [D37]."""
    if cgr.low is None or stable is None or stable.value is None or (cgr.n or 0) < FEW:
        return False
    return cgr.low > 1 - stable.value


def _said(rows: list[Spec]) -> str:
    of: dict[str, list[str]] = {}
    for row in rows:
        if row["value"] is not None:
            said = f"{row['finding']} {row['text']} ({row['n_text']})"
            of.setdefault(row["reader"], []).append(said)
    return "; ".join(f"{reader}: {', '.join(cells)}" for reader, cells in of.items())
