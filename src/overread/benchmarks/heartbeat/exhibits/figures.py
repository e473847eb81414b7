"""Figures 2-5 of the paper: errors by setting, said against true, and which of two frames."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    Spec,
    figure_spec,
    label_room,
    shown,
)
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.exhibits.tables import NAMES, asked, number
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Figure, Measure

__all__ = ["accuracy_figure", "error_figures", "scatter"]

_PHASES: Final = {"ed": "end-diastole", "es": "end-systole"}
_COLOURS: Final = {"edv_esv": BLUE, "esv_edv": VERMILLION, "edv": "#009e73", "esv": "#009e73"}
_SHAPES: Final = {"edv_esv": "circle", "esv_edv": "square", "edv": "diamond", "esv": "diamond"}
_PANEL: Final = 200
_LANE: Final = 16


def _readers(index: Index) -> list[str]:
    return [reader for reader in index.readers if not reader.startswith("baseline:")]


def _row(reader: str, names: dict[str, str], record: Measure, **more: Any) -> Spec:
    return {
        "reader": reader,
        "shown": names[reader],
        "value": record.value,
        "low": record.low,
        "high": record.high,
        "n": record.n,
        **more,
    }


def _by_format(formats: list[str]) -> tuple[Spec, Spec]:
    colour = {"domain": formats, "range": [_COLOURS[wanted] for wanted in formats]}
    shape = {"domain": formats, "range": [_SHAPES[wanted] for wanted in formats]}
    field = {"field": "format", "type": "nominal"}
    return {**field, "scale": colour}, {**field, "scale": shape}


# ---------------------------------------------------------------- Figures 2 and 3


def error_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """MAE of one phase by context and format, with uniform guesses and the best constant."""
    for phase, words in _PHASES.items():
        names = shown(_readers(index))
        rows, lines = _errors(index, phase, names)
        if not rows:
            continue
        top = _top(rows, lines)
        for row in rows:
            row["drawn"] = min(row["value"], top)
            row["beyond"] = f"▸ {number(row['value'])}" if row["value"] > top else ""
            row["drawn_low"] = None if row["low"] is None else min(row["low"], top)
            row["drawn_high"] = None if row["high"] is None else min(row["high"], top)
        spoken = "; ".join(
            f"{row['reader']} {row['context']} {row['format']} {number(row['value'])}"
            for row in rows
        )
        yield Figure(
            name=f"mae_{phase}",
            title=f"How many frames from {words}?",
            spec=_error_spec(rows, lines, top),
            alt=f"Mean absolute error of every reader in finding {words}, frames: {spoken}.",
            signature=signature,
            notes=(
                "Bars: 95 % intervals over videos. Solid line: the best constant answer; dashed "
                "line: uniform guesses. An error beyond the axis is printed at its end.",
            ),
        )


def _errors(index: Index, phase: str, names: dict[str, str]) -> tuple[list[Spec], list[Spec]]:
    rows: list[Spec] = []
    lines: dict[tuple[str, str], Spec] = {}
    for context in CONTEXTS:
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted, "phase": phase}
            record = index.known(reader, "mae", **by)
            if record is None:
                continue
            rows.append(_row(reader, names, record, context=NAMES[context], format=wanted))
            for line in ("constant_mae", "chance_mae"):
                known = index.known(reader, line, **by)
                if known is not None and (context, line) not in lines:
                    lines[context, line] = {
                        "context": NAMES[context],
                        "line": line,
                        "value": known.value,
                    }
    return rows, list(lines.values())


def _top(rows: list[Spec], lines: list[Spec]) -> float:
    """The end of the axis: twice the chance line holds all but absurd errors."""
    most = max((row["value"] for row in rows), default=1.0)
    chance = max((line["value"] for line in lines), default=most)
    return max(1.0, ceil(min(most * 1.05, 2 * chance)))


def _error_spec(rows: list[Spec], lines: list[Spec], top: float) -> Spec:
    formats = [wanted for wanted in FORMATS if any(row["format"] == wanted for row in rows)]
    colour, shape = _by_format(formats)
    lanes = list(dict.fromkeys(row["shown"] for row in rows))
    x = {"type": "quantitative", "scale": {"domain": [0, top], "nice": False}}
    axis = {"title": "MAE, frames", "tickCount": 5}
    y = {
        "field": "shown",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": lanes},
        "axis": {"title": None, "ticks": False, "domain": False, "minExtent": label_room(lanes)},
    }
    offset = {"field": "format", "type": "nominal", "scale": {"domain": formats}}
    place = {"y": y, "yOffset": offset}
    panels = []
    for context in dict.fromkeys(row["context"] for row in rows):
        only = [{"filter": f"datum.context === '{context}'"}]
        here = [line for line in lines if line["context"] == context]
        panels.append(
            {
                "title": context,
                "width": _PANEL,
                "height": {"step": _LANE},
                "transform": only,
                "layer": [
                    *(_line(line, x) for line in here),
                    {
                        "mark": {"type": "rule", "strokeWidth": 1.6},
                        "encoding": {
                            **place,
                            "x": {"field": "drawn_low", **x, "axis": axis},
                            "x2": {"field": "drawn_high"},
                            "color": colour,
                        },
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                        "encoding": {
                            **place,
                            "x": {"field": "drawn", **x, "axis": axis},
                            "color": colour,
                            "shape": shape,
                        },
                    },
                    {
                        "mark": {"type": "text", "align": "right", "dx": -7, "baseline": "middle"},
                        "encoding": {
                            **place,
                            "x": {"field": "drawn", **x, "axis": axis},
                            "text": {"field": "beyond"},
                        },
                    },
                ],
            }
        )
    return figure_spec(rows, hconcat=panels)


def _line(line: Spec, x: Spec) -> Spec:
    dash = [4, 3] if line["line"] == "chance_mae" else [1, 0]
    return {
        "data": {"values": [line]},
        "mark": {"type": "rule", "strokeDash": dash, "color": FAINT},
        "encoding": {"x": {"field": "value", **x}},
    }


# ---------------------------------------------------------------- Figures 4, 6 and 7


def scatter(index: Index, signature: str) -> Iterator[Figure | None]:
    """Said against true, a panel for each context and format; one figure per reader and phase."""
    names = _slugs(_readers(index))
    for reader, name in names.items():
        for phase, words in _PHASES.items():
            rows = [
                {
                    "context": NAMES[record.by["context"]],
                    "format": record.by["format"],
                    "true": int(record.by["truth"]),
                    "said": record.value,
                    "videos": record.n,
                }
                for record in index.all("predicted", "task", "context", "format", "phase", "truth")
                if record.reader == reader and record.by["phase"] == phase
            ]
            if rows:
                yield _scatter(reader, f"scatter_{phase}_{name}", phase, words, rows, signature)


def _scatter(
    reader: str, name: str, phase: str, words: str, rows: list[Spec], signature: str
) -> Figure:
    top = max(row["true"] for row in rows) * 1.5 + 1
    formats = [wanted for wanted in FORMATS if phase in phases_of(wanted)]
    formats = [wanted for wanted in formats if any(row["format"] == wanted for row in rows)]
    contexts = [name for name in NAMES.values() if any(row["context"] == name for row in rows)]
    for row in rows:
        row["drawn"] = max(0.0, min(row["said"], top))
    scale = {"domain": [0, top], "nice": False}
    panels = []
    for wanted in formats:
        line = []
        for context in contexts:
            test = f"datum.context === '{context}' && datum.format === '{wanted}'"
            line.append(_panel(f"{context}, {wanted}", test, scale, top))
        panels.append({"hconcat": line})
    beyond = sum(row["said"] > top for row in rows)
    note = f" {beyond} points beyond the axis are drawn at its end." if beyond else ""
    return Figure(
        name=name,
        title=f"{reader}: {words}, said against true",
        spec=figure_spec(rows, vconcat=panels),
        alt=f"Mean answer of {reader} for each true frame of {words}, "
        f"{len(rows)} points in {len(formats) * len(contexts)} panels.",
        signature=signature,
        notes=(
            "Each point is the mean answer over the videos with that true frame; its size is "
            f"their number. On the line the answer is right.{note}",
        ),
    )


def _panel(title: str, test: str, scale: Spec, top: float) -> Spec:
    def axis(field: str, words: str) -> Spec:
        return {
            "field": field,
            "type": "quantitative",
            "scale": scale,
            "axis": {"title": words, "tickCount": 5},
        }

    return {
        "title": title,
        "width": 170,
        "height": 170,
        "layer": [
            {
                "data": {"values": [{"true": 0, "drawn": 0}, {"true": top, "drawn": top}]},
                "mark": {"type": "line", "color": FAINT, "strokeDash": [4, 3]},
                "encoding": {"x": axis("true", "true frame"), "y": axis("drawn", "frame said")},
            },
            {
                "transform": [{"filter": test}],
                "mark": {"type": "point", "filled": True, "opacity": 0.7, "color": BLUE},
                "encoding": {
                    "x": axis("true", "true frame"),
                    "y": axis("drawn", "frame said"),
                    "size": {
                        "field": "videos",
                        "type": "quantitative",
                        "scale": {"range": [15, 140]},
                        "legend": None,
                    },
                },
            },
        ],
    }


def _slugs(readers: list[str]) -> dict[str, str]:
    """The readers as names of files, no two alike."""
    found: dict[str, str] = {}
    for reader in readers:
        kept = "".join(letter if letter.isalnum() else "-" for letter in reader.lower())
        first = name = "-".join(part for part in kept.split("-") if part) or "reader"
        again = 2
        while name in found.values():
            name, again = f"{first}-{again}", again + 1
        found[reader] = name
    return found


# ---------------------------------------------------------------- Figure 5


def accuracy_figure(index: Index, signature: str) -> Figure | None:
    """Which of two frames: accuracy by context, with the coin's line."""
    names = shown(_readers(index))
    rows = []
    for context in CONTEXTS:
        for reader, wanted in asked(index, "t2", context):
            (phase,) = phases_of(wanted)
            by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
            record = index.known(reader, "accuracy", **by)
            if record is not None:
                more = {"context": NAMES[context], "phase": phase.upper()}
                rows.append(_row(reader, names, record, **more))
    if not rows:
        return None
    contexts = list(dict.fromkeys(row["context"] for row in rows))
    lanes = list(dict.fromkeys(row["shown"] for row in rows))
    x = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"title": "accuracy"}}
    colour = {
        "field": "context",
        "type": "nominal",
        "scale": {"domain": contexts, "range": [INK, VERMILLION, BLUE][: len(contexts)]},
    }
    y = {
        "field": "shown",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": lanes},
        "axis": {"title": None, "ticks": False, "domain": False, "minExtent": label_room(lanes)},
    }
    place = {
        "y": y,
        "yOffset": {"field": "context", "type": "nominal", "scale": {"domain": contexts}},
    }
    panels = [
        {
            "title": phase,
            "width": _PANEL,
            "height": {"step": _LANE},
            "transform": [{"filter": f"datum.phase === '{phase}'"}],
            "layer": [
                {
                    "data": {"values": [{"value": 0.5}]},
                    "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT},
                    "encoding": {"x": {"field": "value", **x}},
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 1.6},
                    "encoding": {
                        **place,
                        "x": {"field": "low", **x},
                        "x2": {"field": "high"},
                        "color": colour,
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": {**place, "x": {"field": "value", **x}, "color": colour},
                },
            ],
        }
        for phase in dict.fromkeys(row["phase"] for row in rows)
    ]
    spoken = "; ".join(
        f"{row['reader']} {row['context']} {row['phase']} {row['value']:.3f}" for row in rows
    )
    return Figure(
        name="accuracy_two_frames",
        title="Which of two frames?",
        spec=figure_spec(rows, hconcat=panels),
        alt=f"Accuracy in telling two frames apart: {spoken}.",
        signature=signature,
        notes=("Bars: 95 % intervals. The dashed line is a coin.",),
    )
