"""Figures 2, 3 and 5 of the paper: points with their intervals, a lane per reader.

How far from the frame, in every context and format, and which of two frames. Panels stand side by
side, guessers in grey below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    Spec,
    figure_spec,
    label_room,
)
from overread.benchmarks.heartbeat.edition import FORMATS
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    GUESSES,
    NAMES,
    PHASES,
    contexts_of,
    how_many,
    number,
    one_pass,
    readers_of,
    reference,
    references,
    settings_of,
    short_names,
)
from overread.benchmarks.heartbeat.study import ASKED, TIES_WRONG
from overread.case import Figure, Measure

# ---------------------------------------------------------------- lanes and panels

_PANEL_WIDTH: Final = 200
_LANE_HEIGHT: Final = 13
_PANEL_SPACE: Final = 24
_NUMBER_ROOM: Final = 62  # room for a number printed beside a panel


class Look(NamedTuple):
    """How one of the things told apart is drawn: colour and shape both say which."""

    colour: str
    shape: str


class Panel(NamedTuple):
    """A part of the rows with its title, and what is drawn below the points on an axis."""

    title: str
    below: Callable[[Spec], Sequence[Spec]]


def dot_row(name: str, panel: str, kind: str, record: Measure, top: float, **more: Any) -> Spec:
    """One point; what lies beyond the axis is drawn at its end and printed beside it.

    An interval that goes on beyond the axis is `cut`.

    `kind` is what is told apart, empty for a guesser.
    """
    value, low, high = record.value, record.low, record.high
    assert value is not None
    return {
        "shown": name,
        "panel": panel,
        "kind": kind,
        "value": value,
        "low": low,
        "high": high,
        "n": record.n,
        "drawn": min(value, top),
        "drawn_low": None if low is None else min(low, top),
        "drawn_high": None if high is None else min(high, top),
        "beyond": value > top,
        "cut": value <= top and high is not None and high > top,
        **more,
    }


def axis_of(title: str, top: float) -> Spec:
    """A linear axis from 0."""
    return {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {"title": title, "tickCount": 5, "labelFlush": False},
    }


def dot_plot(rows: list[Spec], panels: Sequence[Panel], looks: Mapping[str, Look], x: Spec) -> Spec:
    """The whole figure; the lanes are in the order of the rows, named beside the first panel."""
    readers, guessers = (
        list(dict.fromkeys(row["shown"] for row in rows if bool(row["kind"]) is told))
        for told in (True, False)
    )
    room = label_room([*readers, *guessers])
    beyond = any(row["beyond"] for row in rows)
    columns = []
    for place, panel in enumerate(panels):
        axes = [_lane_axis(names, 0 if place else room) for names in (readers, guessers)]
        blocks = [_reader_lanes(panel, axes[0], looks, x, last=not guessers)]
        if guessers:
            blocks.append(_guesser_lanes(panel, axes[1], x))
        columns.append({"vconcat": blocks, "spacing": 6})
    return figure_spec(rows, hconcat=columns, spacing=_NUMBER_ROOM if beyond else _PANEL_SPACE)


def _reader_lanes(panel: Panel, y: Spec, looks: Mapping[str, Look], x: Spec, *, last: bool) -> Spec:
    kinds = list(looks)
    colour = _scale_by_kind(kinds, [look.colour for look in looks.values()])
    shape = _scale_by_kind(kinds, [look.shape for look in looks.values()])
    place = {"y": y, "yOffset": {"field": "kind", "type": "nominal", "scale": {"domain": kinds}}}
    if not last:
        x = {**x, "axis": {**x["axis"], "labels": False, "title": None, "ticks": False}}
    return {
        "title": {"text": panel.title, "frame": "group"},
        "width": _PANEL_WIDTH,
        "height": {"step": _LANE_HEIGHT},
        "layer": [
            *panel.below(x),
            *_interval_layers(
                f"datum.panel === '{panel.title}' && datum.kind", place, x, color=colour
            ),
            _filtered_layer(
                {"type": "point", "filled": True, "size": 55, "opacity": 1},
                f"datum.panel === '{panel.title}' && datum.kind && !datum.beyond",
                {**place, "x": {"field": "drawn", **x}},
                color=colour,
                shape=shape,
            ),
        ],
    }


def _guesser_lanes(panel: Panel, y: Spec, x: Spec) -> Spec:
    here = f"datum.panel === '{panel.title}' && !datum.kind"
    cross = {"type": "point", "shape": "cross", "filled": True, "size": 45, "opacity": 1}
    grey: Spec = {"value": FAINT}
    place = {"y": y}
    return {
        "width": _PANEL_WIDTH,
        "height": {"step": _LANE_HEIGHT + 5},
        "layer": [
            *panel.below(x),
            *_interval_layers(here, place, x, color=grey),
            _filtered_layer(
                cross,
                f"{here} && !datum.beyond",
                {**place, "x": {"field": "drawn", **x}},
                color=grey,
            ),
        ],
    }


def _interval_layers(here: str, place: Spec, x: Spec, *, color: Spec) -> list[Spec]:
    """The intervals with heads where they are cut; what lies beyond the axis with its number."""
    point = {**place, "x": {"field": "drawn", **x}}
    bar = {**place, "x": {"field": "drawn_low", **x}, "x2": {"field": "drawn_high"}}
    end = {**place, "x": {"field": "drawn_high", **x}}
    arrow = {"type": "point", "shape": "triangle-right", "filled": True, "size": 50, "opacity": 1}
    head = {**arrow, "size": 30}
    text = {"type": "text", "align": "left", "dx": 8, "baseline": "middle"}
    beyond = f"{here} && datum.beyond"
    return [
        _filtered_layer({"type": "rule", "strokeWidth": 1.6}, here, bar, color=color),
        _filtered_layer(head, f"{here} && datum.cut", end, color=color),
        _filtered_layer(arrow, beyond, point, color=color),
        _filtered_layer(text, beyond, point, text={"field": "printed"}),
    ]


def _filtered_layer(mark: Spec, test: str, places: Spec, **more: Spec) -> Spec:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": {**places, **more}}


def _scale_by_kind(kinds: list[str], values: list[str]) -> Spec:
    return {"field": "kind", "type": "nominal", "scale": {"domain": kinds, "range": values}}


def _lane_axis(names: list[str], room: int) -> Spec:
    """The lanes; they are named where there is room for names."""
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": bool(room)}
    if room:
        axis |= {"labelPadding": 8, "minExtent": room}
    return {
        "field": "shown",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": names, "paddingInner": 0.3, "paddingOuter": 0.2},
        "axis": axis,
    }


# ---------------------------------------------------------- Figures 2 and 3: how far from the frame

_GREEN: Final = "#009e73"
FORMAT_LOOKS: Final = {
    "edv_esv": Look(BLUE, "circle"),
    "esv_edv": Look(VERMILLION, "square"),
    "edv": Look(_GREEN, "diamond"),
    "esv": Look(_GREEN, "diamond"),
}
_LINE_WORDS: Final = {"constant_mae": "best constant", "chance_mae": GUESSES}
_LINE_DASHES: Final = {"best constant": [1, 0], GUESSES: [4, 3]}


def error_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """MAE of one phase by context and format, with uniform guesses and the best constant."""
    for phase, words in PHASES.items():
        found = [
            (one, record)
            for one in settings_of(index, "t1")
            if (record := index.known(one.reader, "mae", phase=phase, **one.by))
        ]
        if not found:
            continue
        lines: list[Spec] = [
            {"panel": NAMES[context], "line": said, "value": record.value}
            for context in contexts_of(index, "t1")
            for measure, said in _LINE_WORDS.items()
            if (record := reference(index, measure, "t1", context, phase))
        ]
        top = _axis_end([record for _, record in found], lines)
        names = short_names(readers_of(index))
        rows = [
            _error_row(names[one.reader], NAMES[one.context], one.format, record, top, one.reader)
            for one, record in found
        ]
        # The guessers' own rows: the same in every context, for the windows are.
        rows += [
            _error_row(name, context, "", record, top, name)
            for name in references(index, BASELINE)
            if (record := index.known(name, "mae", task="t1", phase=phase))
            for context in dict.fromkeys(row["panel"] for row in rows)
        ]
        yield Figure(
            name=f"mae_{phase}",
            title=f"How many frames from {words}?",
            spec=_error_spec(rows, lines, top),
            alt=_error_alt(words, rows, lines),
            signature=signature,
            notes=_error_notes(rows, lines, index),
        )


def _error_row(name: str, panel: str, kind: str, record: Measure, top: float, reader: str) -> Spec:
    return dot_row(name, panel, kind, record, top, reader=reader, printed=number(record.value))


def _axis_end(records: list[Measure], lines: list[Spec]) -> float:
    """The end of the axis: half as far again as uniform guesses holds all but absurd errors.

    It reaches to the ends of the intervals as long as they are within that.

    Where nothing is known of those, three times the median error.
    """
    values = sorted(record.value or 0.0 for record in records)
    ends = max(values[-1], *(record.high or 0.0 for record in records))
    chance = max((line["value"] for line in lines), default=2 * values[len(values) // 2])
    return float(max(1, ceil(min(max(ends, chance) * 1.04, 1.5 * chance))))


def _error_spec(rows: list[Spec], lines: list[Spec], top: float) -> Spec:
    kinds = [wanted for wanted in FORMATS if any(row["kind"] == wanted for row in rows)]
    x = axis_of("MAE, frames", top)
    panels = [
        Panel(title, partial(_lines_of_panel, lines, title))
        for title in dict.fromkeys(row["panel"] for row in rows)
    ]
    return dot_plot(rows, panels, {kind: FORMAT_LOOKS[kind] for kind in kinds}, x)


def _lines_of_panel(lines: list[Spec], panel: str, x: Spec) -> list[Spec]:
    return [_line_layer(line, x, lines) for line in lines if line["panel"] == panel]


def _line_layer(line: Spec, x: Spec, lines: list[Spec]) -> Spec:
    known = list(dict.fromkeys(other["line"] for other in lines))
    dash = {"domain": known, "range": [_LINE_DASHES[name] for name in known]}
    return {
        "data": {"values": [line]},
        "mark": {"type": "rule", "color": FAINT, "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "value", **x},
            "strokeDash": {"field": "line", "type": "nominal", "scale": dash},
        },
    }


def _error_alt(words: str, rows: list[Spec], lines: list[Spec]) -> str:
    spoken = "; ".join(
        f"{row['reader']} {row['panel']} {row['kind']} {number(row['value'])}"
        for row in rows
        if row["kind"]
    )
    beaten = "; ".join(f"{line['line']} {line['panel']} {number(line['value'])}" for line in lines)
    return (
        f"Mean absolute error of every reader in finding {words}, frames: {spoken}."
        + f" To be beaten: {beaten}." * bool(beaten)
    )


def _error_notes(rows: list[Spec], lines: list[Spec], index: Index) -> tuple[str, ...]:
    said = ["Bars: 95 % intervals over videos."]
    if lines:
        said.append(
            "Left of the solid line a reader is better than always naming one frame, left of the "
            "dashed one better than uniform guesses."
        )
        said += one_pass(index)
    if any(not row["kind"] for row in rows):
        said.append(
            "Grey crosses: guessers; those of area and volume read masks, the others look at "
            "nothing. All contexts show one window."
        )
    if any(row["beyond"] for row in rows):
        said.append("An arrow is an error beyond the axis, printed beside it.")
    if any(row["cut"] for row in rows):
        said.append("An arrow head at the end of a bar: the interval goes on beyond the axis.")
    return (" ".join(said),)


# ---------------------------------------------------------------- Figure 5: which of two frames

_CONTEXT_LOOKS: Final = {
    "original": Look(INK, "circle"),
    "segmented": Look(VERMILLION, "square"),
    "non-medical": Look(BLUE, "diamond"),
}
_SEEDS_NOTE: Final = (
    "The marks are means over seeds. Where all seeds say the same, such a mean strays as far as "
    "one set of coins does; the less they agree, the less it strays, and the band is too wide "
    "rather than too narrow."
)
_TIES_NOTE: Final = (
    "With an even number of passes their votes tie, which counts as wrong: a coin thrown in every "
    "pass lies left of the line."
)


def accuracy_figure(index: Index, signature: str) -> Figure | None:
    """Accuracy by context, with the coin's line and the range of sets of coins."""
    names = short_names(readers_of(index))
    rows = []
    for one in settings_of(index, "t2"):
        (phase,) = one.phases
        record = index.known(one.reader, "accuracy", phase=phase, **one.by)
        if record is not None:
            where = (names[one.reader], PHASES[phase], NAMES[one.context])
            rows.append(dot_row(*where, record, 1.0, reader=one.reader))
    if not rows:
        return None
    rows.sort(key=lambda row: readers_of(index).index(row["reader"]))
    x = axis_of("accuracy", 1.0)
    kinds = [kind for kind in _CONTEXT_LOOKS if any(row["kind"] == kind for row in rows)]
    panels = [
        Panel(words, partial(_coin_layers, index, phase))
        for phase, words in PHASES.items()
        if any(row["panel"] == words for row in rows)
    ]
    spoken = "; ".join(
        f"{row['reader']} {row['kind']} {row['panel']} {row['value']:.3f}" for row in rows
    )
    return Figure(
        name="accuracy_two_frames",
        title="Which of two frames?",
        spec=dot_plot(rows, panels, {kind: _CONTEXT_LOOKS[kind] for kind in kinds}, x),
        alt=f"Accuracy in telling two frames apart: {spoken}. A coin has 0.5.",
        signature=signature,
        notes=(
            "Bars: 95 % intervals by patient. The dashed line is a coin, thrown once per video.",
            *_coin_notes(index),
        ),
    )


def dashed_line(value: float, x: Spec) -> Spec:
    """What is to be beaten, across a panel."""
    return {
        "data": {"values": [{"value": value}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1.5},
        "encoding": {"x": {"field": "value", **x}},
    }


def _coin_layers(index: Index, phase: str, x: Spec) -> list[Spec]:
    record = _coin_band(index, phase)
    if record is None:
        return [dashed_line(0.5, x)]
    band = {
        "data": {"values": [{"low": record.low, "high": record.high}]},
        "mark": {"type": "rect", "color": FAINT, "opacity": 0.18},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
    }
    return [band, dashed_line(0.5, x)]


def _coin_band(index: Index, phase: str) -> Measure | None:
    """The bounds of coins over the most videos anybody was shown."""
    found = [
        record
        for context in contexts_of(index, "t2")
        if (record := reference(index, "chance_accuracy", "t2", context, phase))
        and record.low is not None
    ]
    return max(found, key=lambda record: record.n or 0, default=None)


def _coin_notes(index: Index) -> tuple[str, ...]:
    """What the band is of: one seed. How seeds hang together is the reader's, not the coin's."""
    bands = [band for phase in PHASES if (band := _coin_band(index, phase))]
    if not bands:
        return ()
    sizes = " or ".join(f"{n:,}" for n in dict.fromkeys(band.n for band in bands if band.n))
    said = f"Grey band: 95 % of sets of {sizes} coins, one per video, as one seed has them."
    told = [said] if how_many(index, "seeds") == 1 else [said, _SEEDS_NOTE]
    passes = index.known("", ASKED, of="passes")
    if passes is not None and TIES_WRONG in passes.flags and (passes.value or 1) % 2 == 0:
        told.append(_TIES_NOTE)
    return (" ".join(told),)
