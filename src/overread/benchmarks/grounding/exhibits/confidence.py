"""How sure a reader was: by what became of its answer, and whether P(Yes) is calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, percent, table
from overread.benchmarks.exhibits.style import BLUE, FAINT, Spec, figure_spec, shown
from overread.benchmarks.grounding.exhibits.dot_plot import Index, hundred, identity
from overread.case import Figure, Measure, Table

__all__ = ["BINS", "REGIMES", "confidence", "confidence_histogram", "reliability", "tenths"]

# ---------------------------------------------------------------- mean confidence and calibration
# Table 3: how sure a reader was, by what became of its answer.


REGIMES: Final = (
    ("grounded_correct", "grounded-correct"),
    ("ungrounded_correct", "ungrounded-correct"),
    ("incorrect", "incorrect"),
)
_CALIBRATION: Final = (
    ("auroc", "AUROC"),
    ("brier", "Brier"),
    ("ece_answer", "ECE of the answer"),
    ("ece_label", "ECE of P(Yes)"),
    ("ece_authors", "ECE as published"),
)
# What is averaged, and the `by` of its records beside the regime [D8, D8b].
_AVERAGED: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("P(Yes)", {}),
    ("P(answer)", {"of": "answer"}),
    ("P(Yes), regimes by swap", {"definition": "metrics"}),
)
_CONFIDENCE_NOTES: Final = (
    "Mean confidence in percent ± standard deviation over cases. Grounded-correct: correct, and "
    "the target mask flips the answer; all of these are Yes answers, so their P(Yes) is high "
    "partly by construction.",
    "AUROC, Brier score and expected calibration error (ECE, ten bins) in percent [95 % interval]. "
    "ECE of the answer: confidence in the answer given against its being correct. ECE of P(Yes): "
    "against the key. ECE as published: P(Yes) against being correct, which is neither.",
)


def confidence(index: Index, signature: str) -> Table | None:
    """Mean confidence by regime, and calibration."""
    return table(
        "confidence",
        "Does confidence tell when it looked?",
        ("reader", "averaged", *(t for _, t in REGIMES), *(t for _, t in _CALIBRATION)),
        (row for reader in index.readers for row in _confidence_rows(index, reader)),
        signature,
        (*_CONFIDENCE_NOTES, *_withheld_notes(index)),
        facts=2,
    )


def _confidence_rows(index: Index, reader: str) -> Iterator[tuple[str, ...]]:
    for place, (title, by) in enumerate(_AVERAGED):
        found = [index.get(reader, "confidence", regime=name, **by) for name, _ in REGIMES]
        if place and not any(found):
            continue
        calibration = [cell(index.get(reader, name)) for name, _ in _CALIBRATION]
        yield (
            reader,
            title,
            *map(_mean_with_sd, found),
            *(calibration if not place else _NO_CALIBRATION),
        )


_NO_CALIBRATION: Final = ("",) * len(_CALIBRATION)


def _mean_with_sd(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    spread = ""
    if record.se is not None and record.n is not None:
        spread = f" ± {percent(record.se * sqrt(record.n))}"
    return f"{percent(record.value)}{spread} n={record.n}"


def _withheld_notes(index: Index) -> Iterator[str]:
    """Why a reader has no calibration."""
    for reader in index.readers:
        record = index.get(reader, "auroc")
        if record is not None and record.value is None and record.note:
            yield f"{reader}: no calibration; {record.note}."


# ---------------------------------------------------------------- reliability
# Supplementary Figure 3: is P(Yes) calibrated?


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
        "positive": hundred(rate.value),
        "low": hundred(rate.low),
        "high": hundred(rate.high),
        "n": rate.n,
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


# ---------------------------------------------------------------- histogram
# Supplementary Figure 2: how sure a reader was, by what became of its answer.


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
