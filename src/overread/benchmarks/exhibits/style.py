"""How the figures look: one palette and one configuration of Vega-Lite.

The colours are told apart by people with any of the common colour deficiencies (Okabe and Ito's).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from overread.case import Figure, printable

__all__ = [
    "BLUE",
    "FAINT",
    "INK",
    "PAPER",
    "VERMILLION",
    "Spec",
    "figure_spec",
    "label_room",
    "number_axis",
    "reader_axis",
    "shown",
]

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
    alike: dict[str, list[str]] = {}
    for reader, name in short.items():
        alike.setdefault(name, []).append(reader)
    found: dict[str, str] = {}
    for reader, name in short.items():
        group = [plain[other] for other in alike[name]]
        if len(group) > 1:
            start = max(0, _alike(group) - 10)
            part = plain[reader][start:]
            name = ("…" if start else "") + part
            name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        number, first = 2, name
        while name in found.values():
            name = f"{first} ({number})"
            number += 1
        found[reader] = name
    return found


def _alike(names: Sequence[str]) -> int:
    """How many characters these names begin with alike."""
    for at, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            return at
    return min(map(len, names))


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
