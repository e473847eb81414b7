"""Dot plots: lanes of points with their intervals, one per reader in every lane, panels abreast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits import style
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.style import Cast, Spec
from overread.case import Figure

_PANEL: Final = 210
_STEP: Final = 12


class Panel(NamedTuple):
    """One of the panels: its name, its axis, and a value that a dashed line stands for.

    `column` is what it shows, where that is not what a lane does.
    """

    name: str
    axis: str = "percent"
    low: float = 0
    high: float = 100
    line: float | None = None
    column: Column | None = None


class Lane(NamedTuple):
    """One of the lanes: its name, the group it is about, and what it shows where no panel says it.

    `facts` stand in every row of the figure's data.
    """

    name: str
    by: Mapping[str, str] = {}
    column: Column | None = None
    facts: Mapping[str, str] = {}


def lane_rows(
    index: Index,
    lanes: Sequence[Lane],
    panels: Sequence[Panel],
    cast: Cast,
    *,
    by_panel: bool = False,
) -> list[Spec]:
    """A row for every number there is, lane by lane or panel by panel."""
    places = [(lane, panel) for lane in lanes for panel in panels]
    if by_panel:
        places = [(lane, panel) for panel in panels for lane in lanes]
    rows = []
    for lane, panel in places:
        column = panel.column or lane.column
        assert column is not None
        for reader, name in cast.names.items():
            record = column.known(index, reader, **lane.by)
            if record is not None:
                where = {"lane": lane.name, "panel": panel.name, **lane.facts}
                rows.append(style.point_row(reader, name, column.heading, record, **where))
    return rows


def dot_figure(
    name: str,
    title: str,
    rows: Sequence[Spec],
    panels: Sequence[Panel],
    cast: Cast,
    signature: str,
    *,
    says: str,
    keys: Sequence[str],
    before: Iterable[str],
    after: Iterable[str] = (),
) -> Figure | None:
    """Lanes of points, of the rows that `lane_rows` made; None where there are none.

    `says` opens the words for those who do not see the figure, `keys` say of what each number is.
    Between the notes stands what open marks are and which readers are not drawn.
    """
    if not rows:
        return None
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    drawn = [panel for panel in panels if any(row["panel"] == panel.name for row in rows)]
    return Figure(
        name=name,
        title=title,
        spec=dots(rows, lanes, drawn, cast),
        alt=f"{says} {style.spoken(rows, *keys)}.",
        signature=signature,
        notes=(*before, *style.unfit_note(rows), *cast.notes, *after),
    )


def dots(
    rows: Sequence[Spec],
    lanes: Sequence[str],
    panels: Sequence[Panel],
    cast: Cast,
    *,
    across: int = 4,
) -> Spec:
    """The whole figure: `lane` and `panel` of a row say where its point stands.

    At most `across` panels stand beside each other.
    """
    alone = len(panels) == 1
    drawn = [
        _panel(panel, lanes, cast, first=number % across == 0, alone=alone)
        for number, panel in enumerate(panels)
    ]
    if len(drawn) <= across:
        return style.figure_spec(rows, hconcat=drawn, spacing=20)
    beside = [
        {"hconcat": drawn[at : at + across], "spacing": 20} for at in range(0, len(drawn), across)
    ]
    return style.figure_spec(rows, vconcat=beside, spacing=20)


def _panel(panel: Panel, lanes: Sequence[str], cast: Cast, *, first: bool, alone: bool) -> Spec:
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": first, "grid": False}
    if first:
        axis |= {"labelPadding": 8, "minExtent": style.label_room(lanes)}
    y = {
        "field": "lane",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(lanes), "paddingInner": 0.25, "paddingOuter": 0.2},
        "axis": axis,
    }
    names = list(cast.names.values())
    offset = {"field": "shown", "type": "nominal", "scale": {"domain": names}}
    place: Spec = {"y": y, "yOffset": offset}
    here = f"datum.panel === '{panel.name}'"
    x = style.number_axis("value", panel.axis, panel.low, panel.high)
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": style.told(cast)[0]}
    bar = {
        "transform": [{"filter": f"{here} && isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {**place, **ends},
    }
    line = []
    if panel.line is not None:
        mark = {"type": "rule", "color": style.FAINT, "strokeDash": [4, 3]}
        at = {"field": "value", "type": "quantitative"}
        line = [style.ground([{"value": panel.line}], mark, x=at)]
    return {
        **({} if alone else {"title": {"text": panel.name, "frame": "group"}}),
        "width": 2 * _PANEL if alone else _PANEL,
        "height": {"step": _STEP},
        "layer": [*line, bar, *style.point_layers(cast, here, 55, **place, x=x)],
    }
