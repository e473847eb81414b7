"""Figures 2, 3 and 5 of the paper: points with their intervals, a lane per reader.

How far from the frame, in every context and format, and which of two frames. Panels stand side by
side, guessers in grey below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    Look,
    Spec,
    figure_spec,
    label_room,
)
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    GUESSES,
    NAMES,
    PHASES,
    HeartIndex,
    number,
)
from overread.benchmarks.heartbeat.study import ASKED, TIES_WRONG
from overread.case import Figure, Measure

# ---------------------------------------------------------------- lanes and panels

_PANEL_WIDTH: Final = 200
_LANE_HEIGHT: Final = 13
_PANEL_SPACE: Final = 24
_NUMBER_ROOM: Final = 62  # room for a number printed beside a panel


class _Panel(NamedTuple):
    """A part of the rows with its title, and what is drawn below the points on an axis."""

    title: str
    below: Callable[[Spec], Sequence[Spec]]


def _dot_row(
    reader: str, name: str, panel: str, kind: str, record: Measure, top: float, **more: Any
) -> Spec:
    """One point; what lies beyond the axis is drawn at its end and printed beside it.

    An interval that goes on beyond the axis is `cut`. `kind` is what is told apart, empty for a
    guesser.
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
        "reader": reader,
        **more,
    }


def _dot_plot(
    rows: list[Spec], panels: Sequence[_Panel], looks: Mapping[str, Look], title: str, top: float
) -> Spec:
    """The whole figure; the lanes are in the order of the rows, named beside the first panel."""
    readers, guessers = (
        list(dict.fromkeys(row["shown"] for row in rows if bool(row["kind"]) is told))
        for told in (True, False)
    )
    room = label_room([*readers, *guessers])
    x: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {"title": title, "tickCount": 5, "labelFlush": False},
    }
    bare = {**x, "axis": {**x["axis"], "labels": False, "title": None, "ticks": False}}
    used = {kind: look for kind, look in looks.items() if any(r["kind"] == kind for r in rows)}
    columns = []
    for place, panel in enumerate(panels):
        named = 0 if place else room
        heading = {"title": {"text": panel.title, "frame": "group"}}
        blocks = [heading | _lanes(panel, readers, named, bare if guessers else x, used)]
        if guessers:
            blocks.append(_lanes(panel, guessers, named, x, {}))
        columns.append({"vconcat": blocks, "spacing": 6})
    beyond = any(row["beyond"] for row in rows)
    return figure_spec(rows, hconcat=columns, spacing=_NUMBER_ROOM if beyond else _PANEL_SPACE)


def _lanes(panel: _Panel, names: list[str], room: int, x: Spec, looks: Mapping[str, Look]) -> Spec:
    """The lanes of readers by their looks, or those of guessers, which have none.

    Intervals have heads where they are cut; what lies beyond the axis has its number.
    """
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": bool(room)}
    if room:
        axis |= {"labelPadding": 8, "minExtent": room}
    place: Spec = {
        "y": {
            "field": "shown",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": names, "paddingInner": 0.3, "paddingOuter": 0.2},
            "axis": axis,
        }
    }
    here = f"datum.panel === '{panel.title}' && {'' if looks else '!'}datum.kind"
    point: Spec = {"type": "point", "filled": True, "size": 55, "opacity": 1}
    colour: Spec = {"value": FAINT}
    shape: dict[str, Spec] = {}
    if looks:
        kind: Spec = {"field": "kind", "type": "nominal", "scale": {"domain": list(looks)}}
        ranges = ([look.colour for look in looks.values()], [look.shape for look in looks.values()])
        colour, shape["shape"] = ({**kind, "scale": kind["scale"] | {"range": r}} for r in ranges)
        place["yOffset"] = kind
    else:
        point |= {"shape": "cross", "size": 45}

    def layer(mark: Spec, test: str, field: str, **more: Spec) -> Spec:
        return {
            "transform": [{"filter": f"{here}{test}"}],
            "mark": mark,
            "encoding": {**place, "x": {"field": field, **x}, **more},
        }

    arrow = {"type": "point", "shape": "triangle-right", "filled": True, "size": 50, "opacity": 1}
    rule = {"type": "rule", "strokeWidth": 1.6}
    text = {"type": "text", "align": "left", "dx": 8, "baseline": "middle"}
    return {
        "width": _PANEL_WIDTH,
        "height": {"step": _LANE_HEIGHT if looks else _LANE_HEIGHT + 5},
        "layer": [
            *panel.below(x),
            layer(rule, "", "drawn_low", x2={"field": "drawn_high"}, color=colour),
            layer({**arrow, "size": 30}, " && datum.cut", "drawn_high", color=colour),
            layer(arrow, " && datum.beyond", "drawn", color=colour),
            layer(text, " && datum.beyond", "drawn", text={"field": "printed"}),
            layer(point, " && !datum.beyond", "drawn", color=colour, **shape),
        ],
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


def error_figures(index: HeartIndex) -> Iterator[Figure]:
    """MAE of one phase by context and format, with uniform guesses and the best constant."""
    for phase, words in PHASES.items():
        found = [
            (one, record)
            for one in index.settings("t1")
            if (record := index.known(one.reader, "mae", phase=phase, **one.by))
        ]
        if not found:
            continue
        lines: list[Spec] = [
            {"panel": NAMES[context], "line": said, "value": record.value}
            for context in index.contexts("t1")
            for measure, said in _LINE_WORDS.items()
            if (record := index.reference(measure, "t1", context, phase))
        ]
        top = _axis_end([record for _, record in found], lines)
        points = [
            (one.reader, index.names[one.reader], NAMES[one.context], one.format, record)
            for one, record in found
        ]
        # The guessers' own rows: the same in every context, for the windows are.
        points += [
            (name, name, context, "", record)
            for name in index.references(BASELINE)
            if (record := index.known(name, "mae", task="t1", phase=phase))
            for context in dict.fromkeys(NAMES[one.context] for one, _ in found)
        ]
        rows = [_dot_row(*point, top, printed=number(point[-1].value)) for point in points]
        panels = [
            _Panel(title, partial(_line_layers, lines, title))
            for title in dict.fromkeys(row["panel"] for row in rows)
        ]
        spoken = "; ".join(
            f"{row['reader']} {row['panel']} {row['kind']} {number(row['value'])}"
            for row in rows
            if row["kind"]
        )
        beaten = "; ".join(f"{ln['line']} {ln['panel']} {number(ln['value'])}" for ln in lines)
        yield index.figure(
            "mae",
            _dot_plot(rows, panels, FORMAT_LOOKS, "MAE, frames", top),
            spoken,
            " ".join(_error_notes(index, rows, lines)),
            of=phase,
            phase=words,
            beaten=f" To be beaten: {beaten}." if beaten else "",
        )


def _axis_end(records: list[Measure], lines: list[Spec]) -> float:
    """The end of the axis: half as far again as uniform guesses holds all but absurd errors.

    It reaches to the ends of the intervals as long as they are within that.

    Where nothing is known of those, three times the median error.
    """
    values = sorted(record.value or 0.0 for record in records)
    ends = max(values[-1], *(record.high or 0.0 for record in records))
    chance = max((line["value"] for line in lines), default=2 * values[len(values) // 2])
    return float(max(1, ceil(min(max(ends, chance) * 1.04, 1.5 * chance))))


def _line_layers(lines: list[Spec], panel: str, x: Spec) -> list[Spec]:
    known = list(dict.fromkeys(line["line"] for line in lines))
    dash = {"domain": known, "range": [_LINE_DASHES[name] for name in known]}
    return [
        {
            "data": {"values": [line]},
            "mark": {"type": "rule", "color": FAINT, "strokeWidth": 1.5},
            "encoding": {
                "x": {"field": "value", **x},
                "strokeDash": {"field": "line", "type": "nominal", "scale": dash},
            },
        }
        for line in lines
        if line["panel"] == panel
    ]


def _error_notes(index: HeartIndex, rows: list[Spec], lines: list[Spec]) -> Iterator[str]:
    yield index.note("bars")
    if lines:
        yield index.note("lines")
        yield from index.one_pass()
    told = {
        "guessers": any(not row["kind"] for row in rows),
        "beyond": any(row["beyond"] for row in rows),
        "cut": any(row["cut"] for row in rows),
    }
    yield from (index.note(name) for name, there in told.items() if there)


# ---------------------------------------------------------------- Figure 5: which of two frames

_CONTEXT_LOOKS: Final = {
    "original": Look(INK, "circle"),
    "segmented": Look(VERMILLION, "square"),
    "non-medical": Look(BLUE, "diamond"),
}


def accuracy_figure(index: HeartIndex) -> Figure | None:
    """Accuracy by context, with the coin's line and the range of sets of coins."""
    rows = []
    for one in index.settings("t2"):
        (phase,) = one.phases
        record = index.known(one.reader, "accuracy", phase=phase, **one.by)
        if record is not None:
            where = (index.names[one.reader], PHASES[phase], NAMES[one.context])
            rows.append(_dot_row(one.reader, *where, record, 1.0))
    if not rows:
        return None
    rows.sort(key=lambda row: index.asked.index(row["reader"]))
    bands = {words: _coin_band(index, phase) for phase, words in PHASES.items()}
    panels = [
        _Panel(words, partial(_coin_layers, band))
        for words, band in bands.items()
        if any(row["panel"] == words for row in rows)
    ]
    spoken = "; ".join(
        f"{row['reader']} {row['kind']} {row['panel']} {row['value']:.3f}" for row in rows
    )
    spec = _dot_plot(rows, panels, _CONTEXT_LOOKS, "accuracy", 1.0)
    notes = _coin_notes(index, [band for band in bands.values() if band])
    return index.figure("accuracy_two_frames", spec, spoken, *notes)


def dashed_line(value: float, x: Spec) -> Spec:
    """What is to be beaten, across a panel."""
    return {
        "data": {"values": [{"value": value}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1.5},
        "encoding": {"x": {"field": "value", **x}},
    }


def _coin_layers(record: Measure | None, x: Spec) -> list[Spec]:
    if record is None:
        return [dashed_line(0.5, x)]
    band = {
        "data": {"values": [{"low": record.low, "high": record.high}]},
        "mark": {"type": "rect", "color": FAINT, "opacity": 0.18},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
    }
    return [band, dashed_line(0.5, x)]


def _coin_band(index: HeartIndex, phase: str) -> Measure | None:
    """The bounds of coins over the most videos anybody was shown."""
    found = [
        record
        for context in index.contexts("t2")
        if (record := index.reference("chance_accuracy", "t2", context, phase))
        and record.low is not None
    ]
    return max(found, key=lambda record: record.n or 0, default=None)


def _coin_notes(index: HeartIndex, bands: list[Measure]) -> tuple[str, ...]:
    """What the band is of: one seed. How seeds hang together is the reader's, not the coin's."""
    if not bands:
        return ()
    sizes = " or ".join(f"{n:,}" for n in dict.fromkeys(band.n for band in bands if band.n))
    told = [index.note("coins", sizes=sizes)]
    if index.how_many("seeds") != 1:
        told.append(index.note("seeds"))
    passes = index.known("", ASKED, of="passes")
    if passes is not None and TIES_WRONG in passes.flags and (passes.value or 1) % 2 == 0:
        told.append(index.note("ties"))
    return (" ".join(told),)
