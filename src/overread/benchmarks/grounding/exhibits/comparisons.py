"""One reader against another, and against readers that get no image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, interval, p_value, percent, table
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    Spec,
    figure_spec,
    number_axis,
    reader_axis,
    shown,
)
from overread.benchmarks.grounding.exhibits.dot_plot import (
    LANE,
    WIDTH,
    Index,
    bounds,
    dots,
    hundred,
    identity,
    lane_row,
    numbers,
)
from overread.case import Figure, Measure, Table

__all__ = ["BASELINE", "DIFFERENCES", "accuracy_baselines", "against_baselines", "pairwise"]

# ---------------------------------------------------------------- tables
# Supplementary Table 1 and its kin: one reader against another on the cases both decided.


# The kinds of comparison, as comparisons.py names them; it imports numpy, and this module is
# imported with the benchmark.
BASELINE: Final = "text_baseline"
PAIRWISE: Final = "pairwise"

DIFFERENCES: Final = (
    ("diff_accuracy", "accuracy"),
    ("diff_uar", "UAR"),
    ("diff_cgr", "CGR"),
    ("diff_is", "IS"),
)
_COMPARISON_COLUMNS: Final = ("reader", "against", "rate", "difference", "both rates", "p", "q")
_COMPARISON_NOTES: Final = (
    "Percentage points [95 % interval] on the cases that decide the rate for both readers.",
    "p of the paired bootstrap; q is adjusted within a family of comparisons "
    "(Benjamini–Hochberg). † q < 0.05.",
)


def against_baselines(index: Index, signature: str) -> Table | None:
    """Every reader less each reader that gets no image."""
    title = "Is it better than a reader without the image?"
    rows = _comparison_rows(index, BASELINE)
    return table(
        "comparisons", title, _COMPARISON_COLUMNS, rows, signature, _COMPARISON_NOTES, facts=3
    )


def pairwise(index: Index, signature: str) -> Table | None:
    """Every reader less every other."""
    title = "How do the readers differ, two by two?"
    rows = _comparison_rows(index, PAIRWISE)
    return table(
        "pairwise", title, _COMPARISON_COLUMNS, rows, signature, _COMPARISON_NOTES, facts=3
    )


def _comparison_rows(index: Index, kind: str) -> Iterator[tuple[str, ...]]:
    for name, title in DIFFERENCES:
        for record in index.all(name, "versus", "comparison"):
            if record.by["comparison"] == kind:
                mark = "†" if record.q is not None and record.q < 0.05 else ""
                yield (
                    record.reader,
                    record.by["versus"],
                    title,
                    cell(record),
                    _both_rates(record),
                    p_value(record.p),
                    p_value(record.q) + mark,
                )


def _both_rates(record: Measure) -> str:
    """The rates that were compared, in percent."""
    if record.beside is None:
        return NOT_KNOWN
    return f"{100 * record.beside[0]:.1f} against {100 * record.beside[1]:.1f}"


# ---------------------------------------------------------------- the figure
# Figure 3: accuracy, and what is left of it against readers that get no image.


_MOST_BASELINES: Final = 2
_SIGNIFICANT: Final = 0.05
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
        if record.by["comparison"] == BASELINE and record.value is not None
    )
    return index.ranked("accuracy", list(named))


def accuracy_baselines(index: Index, signature: str) -> Figure | None:
    """Figure 3a-c: accuracy with the text-only baselines, and the paired differences from them."""
    if not index.any("accuracy"):
        return None
    names = shown(index.readers)
    order = index.ranked("accuracy")
    lanes = [names[reader] for reader in order]
    baselines = _ranked_baselines(index)
    drawn = baselines[:_MOST_BASELINES]
    rows = [
        lane_row(index, r, names, index.get(r, "accuracy")) | {"panel": 0, "against": ""}
        for r in order
    ]
    panels = [_accuracy_lanes(rows, lanes, index, drawn)]
    for panel, baseline in enumerate(drawn, 1):
        found = _difference_rows(index, baseline, order, names, panel)
        panels.append(_forest_lanes(found, lanes, names[baseline], panel))
        rows += found
    return Figure(
        name="accuracy_baselines",
        title="Is it more accurate than a reader without the image?",
        spec=_stacked_lanes(rows, panels),
        alt="Accuracy of every reader, and its difference from readers that get no image, percent "
        f"with 95 % interval: {_rows_alt(rows)}",
        signature=signature,
        notes=_baseline_notes(len(baselines)),
    )


def _baseline_notes(baselines: int) -> tuple[str, ...]:
    if not baselines:
        return ("No reader of this run goes without the image.",)
    rest = f"The {_MOST_BASELINES} most accurate of them are drawn; the table has all."
    return (
        "Dashed: the accuracy of readers that get no image.",
        "Differences in percentage points [95 % interval] on the cases both readers decided; q is "
        "adjusted within the family (Benjamini–Hochberg).",
        *((rest,) if baselines > _MOST_BASELINES else ()),
    )


def _stacked_lanes(rows: Sequence[Spec], panels: Sequence[Spec]) -> Spec:
    apart = {"scale": {"shape": "independent", "stroke": "independent", "fill": "independent"}}
    return figure_spec(rows, vconcat=list(panels), spacing=28, resolve=apart)


def _rows_alt(rows: Sequence[Spec]) -> str:
    return "; ".join(map(_row_alt, rows)) + "."


def _row_alt(row: Spec) -> str:
    if not row["against"]:
        return f"{row['reader']} {row['text']}"
    return f"{row['reader']} less {row['against']} {row['text']}, {row['q_text']}"


# ---------------------------------------------------------------- panels


def _lanes_numbered(panel: int) -> list[Spec]:
    # By number: what a reader is called must not enter an expression.
    return [{"filter": f"datum.panel === {panel}"}]


def _accuracy_lanes(
    rows: Sequence[Spec], lanes: Sequence[str], index: Index, baselines: Sequence[str]
) -> Spec:
    low, high = bounds(v for row in rows for v in (row["value"], row["low"], row["high"]))
    x: Any = number_axis("value", "accuracy, percent", low, high)
    lines = [{"value": hundred(r.value)} for b in baselines if (r := index.known(b, "accuracy"))]
    layers = [
        {
            "data": {"values": lines},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT},
            "encoding": {"x": x},
        },
        *dots(rows, x, lanes),
        *numbers(WIDTH, lanes),
    ]
    return {
        "transform": _lanes_numbered(0),
        "width": WIDTH,
        "height": {"step": LANE},
        "layer": layers,
    }


def _difference_rows(
    index: Index, baseline: str, order: Sequence[str], names: dict[str, str], panel: int
) -> list[Spec]:
    found = []
    for reader in order:
        record = index.known(reader, "diff_accuracy", versus=baseline, comparison=BASELINE)
        if record is not None and reader != baseline:
            facts = identity(index, reader, names) | {"panel": panel, "against": baseline}
            found.append(facts | _difference_row(record))
    return found


def _difference_row(record: Measure) -> Spec:
    value = record.value or 0.0
    told = record.q is not None and record.q < _SIGNIFICANT
    verdict = _VERDICTS[1] if not told else _VERDICTS[0] if value > 0 else _VERDICTS[2]
    return {
        "value": hundred(value),
        "low": hundred(record.low),
        "high": hundred(record.high),
        "n": record.n,
        "q": record.q,
        "verdict": verdict,
        "text": f"{percent(value, signed=True)}{interval(record)}",
        "q_text": f"q {p_value(record.q)}",
    }


def _forest_lanes(rows: Sequence[Spec], lanes: Sequence[str], baseline: str, panel: int) -> Spec:
    """One panel of differences; the lanes are those of the whole figure less the baseline's."""
    kept = [lane for lane in lanes if lane != baseline]
    known = [v for row in rows for v in (row["value"], row["low"], row["high"]) if v is not None]
    reach = max((abs(v) for v in known), default=1.0)
    bound = 5 * (int(reach / 5) + 1)
    x: Any = number_axis("value", f"accuracy less that of {baseline}", -bound, bound)
    y = reader_axis(kept)
    colour, shape = (_verdict_scale(at, legend=panel == 1) for at in (0, 1))
    layers = [
        {"mark": {"type": "rule", "color": INK}, "encoding": {"x": {"datum": 0}}},
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "stroke": colour,
            },
        },
        {
            "mark": {"type": "point", "size": 80, "strokeWidth": 1, "opacity": 1},
            "encoding": {"x": x, "y": y, "shape": shape, "stroke": colour, "fill": colour},
        },
        *numbers(WIDTH, kept, (64, "q_text")),
    ]
    return {
        "transform": _lanes_numbered(panel),
        "width": WIDTH,
        "height": {"step": LANE},
        "layer": layers,
    }


def _verdict_scale(at: int, *, legend: bool) -> Spec:
    """The colours (0) or shapes (1) of the verdicts."""
    scale = {
        "domain": list(_VERDICT_LOOKS),
        "range": [look[at] for look in _VERDICT_LOOKS.values()],
    }
    found: Spec = {"field": "verdict", "type": "nominal", "scale": scale}
    return found if legend else {**found, "legend": None}
