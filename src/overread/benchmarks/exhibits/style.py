"""How the figures look: one palette, one configuration of Vega-Lite, and each reader's look.

The colours are told apart by people with any of the common colour deficiencies (Okabe and Ito's).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os.path import commonprefix
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits.cells import is_unfit
from overread.benchmarks.exhibits.index import Column, Index
from overread.case import Figure, Measure, printable
from overread.judging.fitness import UNFIT

Spec = dict[str, Any]

INK: Final = Figure.INK
PAPER: Final = Figure.PAPER
FAINT: Final = "#8c8c8c"
BLUE: Final = "#0072b2"
VERMILLION: Final = "#d55e00"
_LONGEST: Final = 34
_PER_CHARACTER: Final = 6.6


def figure_spec(values: Sequence[Spec], **parts: Any) -> Spec:
    """A whole specification around `parts`, with the rows the figure stands on."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": list(values)},
        "padding": 8,
        **parts,
        "config": _CONFIG,
    }


_TEXT: Final = {
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}
_CONFIG: Final[Spec] = {
    # Fonts of one width, so that text measured with one fits when it is shown with another.
    "font": "Arial, Liberation Sans, Helvetica, sans-serif",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "labelLimit": 0,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "gridColor": FAINT,
        "gridOpacity": 0.25,
    },
    "legend": {
        **_TEXT,
        "orient": "top",
        "title": None,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "labelLimit": 0,
    },
    "header": {**_TEXT, "labelLimit": 0},
    "title": {"color": INK, "fontSize": 12, "fontWeight": "bold", "anchor": "start"},
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": INK},
}


# ---------------------------------------------------------------- readers


def shown(readers: Sequence[str]) -> dict[str, str]:
    """The names as they are drawn: short enough, and no two alike.

    A long name loses its middle; long names that would then be alike are shown from where they
    begin to differ.
    """
    half = (_LONGEST - 1) // 2
    plain = {reader: printable(" ".join(reader.split())) for reader in readers}
    short = {
        reader: name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"
        for reader, name in plain.items()
    }
    found: dict[str, str] = {}
    for reader, name in short.items():
        alike = [plain[other] for other, cut in short.items() if cut == name]
        if len(alike) > 1:
            start = max(0, len(commonprefix(alike)) - 10)  # noqa: RUF071 (letters, no folders)
            name = ("…" if start else "") + plain[reader][start:]
            name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        number, first = 2, name
        while name in found.values():
            name = f"{first} ({number})"
            number += 1
        found[reader] = name
    return found


def label_room(names: Iterable[str]) -> int:
    """The pixels the longest of these names takes beside an axis."""
    return round(_PER_CHARACTER * max(map(len, names), default=0)) + 10


def reader_axis(names: Sequence[str], *, offset: int = 0, grid: bool = True) -> Spec:
    """One row per reader, in this order; every panel of a figure leaves the same room for names."""
    axis: Spec = {
        "title": None,
        "domain": False,
        "ticks": False,
        "grid": grid,
        "labelPadding": 6 + offset,
        "minExtent": label_room(names) + offset,
    }
    scale = {"domain": list(names)}
    return {"field": "shown", "type": "nominal", "scale": scale, "sort": None, "axis": axis}


def number_axis(field: str, title: str | None, low: float, high: float, **more: Any) -> Spec:
    """A linear axis of percent between two bounds."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [low, high], "nice": False, "zero": False},
        "axis": {"title": title, "tickCount": 6, "labelFlush": False, **more},
    }


# ---------------------------------------------------------------- readers in one drawing
# How readers are told apart in a drawing: a colour and a shape each, six at most.


class Look(NamedTuple):
    """A colour that people of any colour vision tell from the others, and a shape."""

    colour: str
    shape: str


LOOKS: Final = (
    Look(BLUE, "circle"),
    Look(VERMILLION, "square"),
    Look("#009e73", "diamond"),
    Look("#cc79a7", "triangle-up"),
    Look("#e69f00", "triangle-down"),
    Look(INK, "cross"),
)


class Cast(NamedTuple):
    """The readers of a drawing by the names they have there, and those there was no room for."""

    names: dict[str, str]
    left_out: int

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        return (f"The first {len(self.names)} models; {self.left_out} more are in the tables.",)


def cast_of(index: Index, columns: Sequence[Column]) -> Cast:
    """The first readers with any of these numbers."""
    some = [
        reader for reader in index.readers if any(column.known(index, reader) for column in columns)
    ]
    kept = some[: len(LOOKS)]
    return Cast(shown(kept), len(some) - len(kept))


def told(cast: Cast) -> tuple[Spec, Spec]:
    """The scales of colour and shape."""
    names = list(cast.names.values())
    colour, shape = (
        {
            "field": "shown",
            "type": "nominal",
            "scale": {"domain": names, "range": list(values)[: len(names)]},
            "legend": {"columns": 3},
        }
        for values in zip(*LOOKS, strict=True)
    )
    return colour, shape


def point_row(reader: str, name: str, column: str, record: Measure, **more: object) -> Spec:
    """One number of one reader, in percent."""
    assert record.value is not None
    return {
        "reader": reader,
        "shown": name,
        "measure": column,
        "value": _percent(record.value),
        "low": _percent(record.low),
        "high": _percent(record.high),
        "n": record.n,
        "unfit": is_unfit(record),
        **more,
    }


def pooled_row(record: Measure) -> Spec:
    """The pooled number and its interval in percent, where there is one."""
    if record.pooled is None:
        return {}
    ends = {"pooled": "value", "pooled_low": "low", "pooled_high": "high"}
    return {name: _percent(getattr(record.pooled, end)) for name, end in ends.items()}


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def point_layers(cast: Cast, where: str, size: int, **place: Spec) -> Iterator[Spec]:
    """The readers' marks in one part of a figure, open where a judge is unfit."""
    colour, shape = told(cast)
    opened = {"filled": False, "fill": PAPER}
    for test, fill in (("!datum.unfit", {"filled": True}), ("datum.unfit", opened)):
        yield {
            "transform": [{"filter": f"{where} && {test}"}],
            "mark": {"type": "point", "size": size, "opacity": 1, "strokeWidth": 1.5, **fill},
            "encoding": {**place, "color": colour, "shape": shape},
        }


def ground(values: Sequence[Spec], mark: Spec, **channels: Any) -> Spec:
    """A layer with data of its own, behind the readers' marks: lines, rings and words."""
    return {"data": {"values": list(values)}, "mark": mark, "encoding": channels}


def unfit_note(rows: Sequence[Spec]) -> tuple[str, ...]:
    return (f"Open marks: {UNFIT}.",) if any(row["unfit"] for row in rows) else ()


def spoken(rows: Sequence[Spec], *keys: str) -> str:
    """The numbers in words."""
    said = []
    for row in rows:
        where = " ".join(str(row[key]) for key in keys)
        unfit = f", {UNFIT}" if row["unfit"] else ""
        pooled = f" (pooled {row['pooled']:.1f})" if "pooled" in row else ""
        said.append(f"{row['reader']} {where} {row['value']:.1f}{pooled}{unfit}")
    return "; ".join(said)
