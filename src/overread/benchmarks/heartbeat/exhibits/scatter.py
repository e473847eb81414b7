"""Figures 4, 6 and 7 of the paper, the frame said against the true one; box plots over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.style import FAINT, INK, Spec, figure_spec, label_room
from overread.benchmarks.heartbeat.exhibits.dot_plots import FORMAT_LOOKS, dashed_line
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, PHASES, HeartIndex, number
from overread.benchmarks.heartbeat.marks import Phase
from overread.case import Figure

# ---------------------------------------------------------------- said against true

_PANEL_SIDE: Final = 165
_PANEL_SPACE: Final = 14
_PANELS_ACROSS: Final = 3
_ARROWS: Final = {"above": "triangle-up", "below": "triangle-down"}


def scatters(index: HeartIndex) -> Iterator[Figure]:
    """A row of panels per reader, a panel per context; the formats are told apart in it."""
    rows: dict[str, list[Spec]] = {phase: [] for phase in PHASES}
    for record in index.all("predicted", "task", "context", "format", "phase", "truth"):
        if record.reader in index.names and record.value is not None:
            row = {
                "reader": record.reader,
                "shown": index.names[record.reader],
                "context": NAMES[record.by["context"]],
                "format": record.by["format"],
                "true": int(record.by["truth"]),
                "said": record.value,
                "videos": record.n,
            }
            rows[record.by["phase"]].append(row)
    last = max((row["true"] for some in rows.values() for row in some), default=0)
    last, why = _last_frame(index, last)
    for phase in PHASES:
        if rows[phase]:
            yield _scatter(index, phase, rows[phase], last, why)


def _last_frame(index: HeartIndex, last: int) -> tuple[int, str]:
    """Both axes end with the longest window, where it is known; else beyond the last truth."""
    frames = index.how_many("window")
    if frames is None:
        return ceil(1.25 * last) + 1, index.note("unknown_window")
    if last < frames:
        return frames - 1, index.note("window", end=frames - 1)
    # Somebody else's records may name a truth beyond what they say was shown.
    return last, index.note("short_window", end=frames - 1, last=last)


def _scatter(index: HeartIndex, phase: Phase, rows: list[Spec], last: int, why: str) -> Figure:
    # Half a frame more on either side, so that the marks of the first and last are whole.
    ends = low, high = -0.5, last + 0.5
    said: dict[str, list[float]] = {}
    for row in rows:
        side = "below" if row["said"] < 0 else "above" if row["said"] > last else "inside"
        row |= {"lies": side, "drawn": {"below": low, "above": high}.get(side, row["said"])}
        said.setdefault(row["reader"], []).append(row["said"])
    readers = list(dict.fromkeys(row["shown"] for row in rows))
    contexts = [c for c in NAMES.values() if any(row["context"] == c for row in rows)]
    panels = [(reader, context) for reader in readers for context in contexts]
    wide = len(contexts) if len(contexts) > 1 else _PANELS_ACROSS
    grid = [
        {
            "spacing": _PANEL_SPACE,
            "hconcat": [
                _scatter_panel(panel, rows, ends, left=not column, last=start + wide >= len(panels))
                for column, panel in enumerate(panels[start : start + wide])
            ],
        }
        for start in range(0, len(panels), wide)
    ]
    beyond = sum(row["lies"] in _ARROWS for row in rows)
    if beyond:
        one = "1 mean answer lies" if beyond == 1 else f"{beyond} mean answers lie"
        why += f" {one} beyond them: an arrow at the edge."
    true = [row["true"] for row in rows]
    spans = "; ".join(f"{name} {min(v):.1f} to {max(v):.1f}" for name, v in said.items())
    words = PHASES[phase]
    return index.figure(
        "scatter",
        figure_spec(rows, vconcat=grid, spacing=_PANEL_SPACE),
        spans,
        why,
        of=phase,
        phase=words,
        capital=words.capitalize(),
        points=len(rows),
        readers=len(readers),
        contexts=", ".join(contexts),
        first=min(true),
        last=max(true),
    )


def _scatter_panel(
    panel: tuple[str, str], rows: list[Spec], ends: tuple[float, float], *, left: bool, last: bool
) -> Spec:
    reader, context = panel
    alone = all(row["context"] == context for row in rows)
    there = {row["format"] for row in rows}
    looks = {wanted: look for wanted, look in FORMAT_LOOKS.items() if wanted in there}
    colour = {"domain": list(looks), "range": [look.colour for look in looks.values()]}
    shape = {"domain": list(looks), "range": [look.shape for look in looks.values()]}
    size = {"domain": [1, max(2, *(row["videos"] for row in rows))], "range": [20, 130]}

    def axis(field: str, words: str, said: bool) -> Spec:
        title = words if said else None
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": list(ends), "nice": False, "zero": False},
            "axis": {"title": title, "labels": said, "tickCount": 5, "labelFlush": False},
        }

    places: Spec = {
        "x": axis("true", "true frame", said=last),
        "y": axis("drawn", "frame said", said=left),
    }
    marks: Spec = {
        **places,
        "color": {"field": "format", "type": "nominal", "scale": colour},
        "size": {"field": "videos", "type": "quantitative", "scale": size, "legend": None},
    }
    shaped: Spec = {**marks, "shape": {"field": "format", "type": "nominal", "scale": shape}}

    def layer(lies: str, encoding: Spec, **mark: str) -> Spec:
        # A name may hold any sign, so it is compared as data are, not as an expression.
        equal = {"shown": reader, "context": context, "lies": lies}
        return {
            "transform": [{"filter": {"field": f, "equal": v}} for f, v in equal.items()],
            "mark": {"type": "point", **mark, "filled": True, "opacity": 0.65},
            "encoding": encoding,
        }

    diagonal: Spec = {
        "data": {"values": [{"true": end, "drawn": end} for end in ends]},
        "mark": {"type": "line", "color": FAINT, "strokeDash": [4, 3]},
        "encoding": places,
    }
    name = reader if left or alone else " "
    return {
        "title": {"text": name, "subtitle": context, "subtitleColor": INK, "frame": "group"},
        "width": _PANEL_SIDE,
        "height": _PANEL_SIDE,
        "layer": [
            diagonal,
            layer("inside", shaped),
            *(layer(side, marks, shape=arrow) for side, arrow in _ARROWS.items()),
        ],
    }


# ------------ box plots over seeds, as the paper's repository draws them: how far one asking strays

_BOX_PANEL: Final = 200
_BOX_STEP: Final = 22
_FARTHEST_DRAWN: Final = 8  # times the best constant's error is drawn, where anything lies beyond


class _SeedFigure(NamedTuple):
    """One figure: of which task and measure, and what is to be beaten."""

    task: str
    measure: str
    axis: str
    line: str


_SEED_FIGURES: Final = (
    _SeedFigure("t1", "mae_seed", "MAE of a seed, frames", "constant_mae"),
    _SeedFigure("t2", "accuracy_seed", "accuracy of a seed", "chance_accuracy"),
)


def seed_boxes(index: HeartIndex) -> Iterator[Figure]:
    """A box for each reader, phase and format of the first context asked, and a dot for each seed.

    Only where some reader has several seeds.
    """
    for boxes in _SEED_FIGURES:
        context = next(iter(index.contexts(boxes.task)), "")
        found = [
            {
                "shown": f"{index.names[record.reader]} {record.by['format']}",
                "panel": PHASES["ed" if record.by["phase"] == "ed" else "es"],
                "seed": record.by["seed"],
                "value": record.value,
                "n": record.n,
                "reader": record.reader,
            }
            for record in index.every(boxes.measure)
            if record.by["context"] == context
        ]
        asked = [f"{index.names[o.reader]} {o.format}" for o in index.settings(boxes.task, context)]
        if lanes := [lane for lane in asked if any(row["shown"] == lane for row in found)]:
            yield _box_figure(index, boxes, context, found, lanes)


def _box_figure(
    index: HeartIndex, boxes: _SeedFigure, context: str, rows: list[Spec], lanes: list[str]
) -> Figure:
    panels = [words for words in PHASES.values() if any(row["panel"] == words for row in rows)]
    lines = {
        words: record.value or 0.0
        for phase, words in PHASES.items()
        if (record := index.reference(boxes.line, boxes.task, context, phase))
    }
    spoken = "; ".join(
        f"{lane}, {panel}: {number(min(values))} to {number(max(values))}"
        for lane in lanes
        for panel in panels
        if (values := [r["value"] for r in rows if (r["shown"], r["panel"]) == (lane, panel)])
    )
    # One absurd answer must not make a point of all the others.
    most = None if boxes.task == "t2" or not lines else _FARTHEST_DRAWN * max(lines.values())
    beyond = sum(most is not None and row["value"] > most for row in rows)
    gone = f" {beyond} seeds lie beyond the axis." if beyond else ""
    scale: Spec = {"domain": [0, most], "nice": False} if beyond else {"zero": False}
    x: Spec = {
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": boxes.axis, "labelFlush": False},
    }
    drawn = [
        _box_panel(panel, lanes, lines.get(panel), x, named=not place)
        for place, panel in enumerate(panels)
    ]
    spec = figure_spec(rows, hconcat=drawn, spacing=24)
    return index.figure(f"seeds_{boxes.task}", spec, spoken, context=NAMES[context], gone=gone)


def _box_panel(panel: str, lanes: list[str], line: float | None, x: Spec, *, named: bool) -> Spec:
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": named}
    if named:
        axis |= {"labelPadding": 8, "minExtent": label_room(lanes)}
    y = {"field": "shown", "type": "nominal", "sort": None, "scale": {"domain": lanes},
         "axis": axis}  # fmt: skip
    box = {"type": "boxplot", "extent": "min-max", "size": 11, "color": FAINT, "clip": True}
    dot = {"type": "point", "filled": True, "size": 16, "opacity": 0.8, "clip": True}
    marks = [
        {
            "transform": [{"filter": f"datum.panel === '{panel}'"}],
            "mark": mark,
            "encoding": {"x": {"field": "value", **x}, "y": y},
        }
        for mark in (box, dot)
    ]
    return {
        "title": {"text": panel, "frame": "group"},
        "width": _BOX_PANEL,
        "height": {"step": _BOX_STEP},
        "layer": [*([] if line is None else [dashed_line(line, x)]), *marks],
    }
