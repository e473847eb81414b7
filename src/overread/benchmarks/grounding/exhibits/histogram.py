"""Supplementary Figure 2: how sure a reader was, by what became of its answer."""

from __future__ import annotations

from typing import Any, Final

from overread.benchmarks.exhibits.style import BLUE, Spec, figure_spec, shown
from overread.benchmarks.grounding.exhibits.certainty import REGIMES
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import hundred
from overread.benchmarks.grounding.exhibits.reliability import BINS, tenths
from overread.benchmarks.grounding.exhibits.style import identity
from overread.case import Figure

__all__ = ["confidence_histogram"]

_REGIME: Final = 150
_LANE: Final = 40


def confidence_histogram(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 2: how P(Yes) is spread within each regime."""
    names = shown(index.readers)
    known = [r for r in index.readers if any(_cases(index, r, regime) for regime, _ in REGIMES)]
    if not known:
        return None
    rows = [
        identity(index, reader, names) | {"lane": lane, "regime": title} | row
        for lane, reader in enumerate(known)
        for regime, title in REGIMES
        for row in _bars(index, reader, regime, lane)
    ]
    panels = [
        _regime(rows, title, len(known), place == 0) for place, (_, title) in enumerate(REGIMES)
    ]
    return Figure(
        name="confidence_histogram",
        title="How sure was it, by what became of the answer?",
        spec=figure_spec(rows, hconcat=panels, spacing=26),
        alt=f"Mean P(Yes) by regime, percent: {_means(rows)}.",
        signature=signature,
        notes=(
            "The height of a bar is the share of a regime's cases in that tenth of P(Yes); the "
            "dashed line is their mean. Grounded-correct: correct, and the target mask flips the "
            "answer.",
        ),
    )


def _regime(rows: list[Spec], title: str, lanes: int, named: bool) -> Spec:
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
                "x": {"value": _REGIME + 4},
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
    return {"title": heading, "width": _REGIME, "height": lanes * _LANE, "layer": layers}


def _cases(index: Index, reader: str, regime: str) -> dict[int, int]:
    """The cases of a regime in each tenth of P(Yes)."""
    return {
        int(name): record.n
        for name in BINS
        if (record := index.get(reader, "confidence", regime=regime, bin=name)) and record.n
    }


def _bars(index: Index, reader: str, regime: str, lane: int) -> list[Spec]:
    """The rows of one lane; a regime nobody is in has one, without a bar."""
    counts = _cases(index, reader, regime)
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


def _means(rows: list[Spec]) -> str:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        mean = "n/a" if row["mean"] is None else f"{row['mean']:.1f}"
        said = f"{row['regime']} {mean} (n={row['n']})"
        found.setdefault(row["reader"], {})[row["regime"]] = said
    return "; ".join(f"{reader}: {', '.join(said.values())}" for reader, said in found.items())
