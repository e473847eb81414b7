"""What judges are worth, and what people said: labelled errors, rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from overread.benchmarks.exhibits import cells, style
from overread.benchmarks.exhibits.figures import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.judges import Part, agreement_table, fitness_table
from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.exhibits.tables import interval_notes
from overread.benchmarks.medcmr.exhibits.figures import TITLES
from overread.benchmarks.medcmr.exhibits.tables import (
    COMPONENT_WORDS,
    in_order,
    judged_notes,
    parts_of,
)
from overread.case import Figure, Measure, Table

_cell = partial(cells.cell, absent=cells.NOT_ASKED)


# ---------------------------------------------------------------- judges
# Can the judges be trusted?


def judge_tables(index: Index) -> Iterator[Table | None]:
    """On replies of known truth, and with each other."""
    parts = parts_of(index, every=True)
    yield fitness_table(index, parts)
    scores = [Part(said, name, {"component": name}) for name, said in COMPONENT_WORDS.items()]
    yield agreement_table(index, scores, "dimension")


# ---------------------------------------------------------------- labelled errors
# What kind of errors people found.

# Light enough for black numbers on them, and told apart by people of any colour vision.
_ERRORS: Final = {
    "recognition": "#56b4e9",
    "reasoning": "#e69f00",
    "knowledge": "#009e73",
    "question": "#cc79a7",
    "format": style.VERMILLION,
}
_WORDS: Final = {
    "recognition": "recognition",
    "reasoning": "reasoning",
    "knowledge": "medical knowledge",
    "question": "question misunderstood",
    "format": "format",
}
# On coloured bars, so not the page's own colour of text.
_BLACK: Final = "#000000"
_ALL: Final = "all errors"
_READERS: Final = 6
# Narrower parts have no room for their number.
_LEGIBLE: Final = 7


def _labelled(index: Index) -> list[str]:
    """Readers with labelled errors."""
    return list(dict.fromkeys(record.reader for record in index.every("error_share")))


def _groups(index: Index) -> list[str]:
    """Dimensions in the paper's order, a set's own after them; all together first."""
    found = {r.by["dimension"] for r in index.every("error_share") if "dimension" in r.by}
    return [_ALL, *in_order("dimension", found)]


def _share(index: Index, reader: str, group: str, error: str) -> Measure | None:
    by = {} if group == _ALL else {"dimension": group}
    return index.get(reader, "error_share", error=error, **by)


def error_figure(index: Index) -> Figure | None:
    """Bars of a reader's errors, by dimension."""
    readers = _labelled(index)
    drawn = readers[:_READERS]
    names = style.shown(drawn)
    rows: list[Spec] = []
    for reader in drawn:
        for group in _groups(index):
            start, size = 0.0, 0
            for error, words in _WORDS.items():
                record = _share(index, reader, group, error)
                if record is None or record.value is None:
                    continue
                size = record.n or size
                value = 100 * record.value
                rows.append(
                    {
                        "reader": reader,
                        "shown": names[reader],
                        "group": group,
                        "error": words,
                        "value": value,
                        "start": start,
                        "end": start + value,
                        "middle": start + value / 2,
                        "n": record.n,
                        "said": f"{value:.0f}" if value >= _LEGIBLE else "",
                        "lane": f"{group} ({size})",
                    }
                )
                start += value
    if not rows:
        return None
    panels = [_panel(names[reader], rows, titled=len(readers) > 1) for reader in drawn]
    left = len(readers) - len(drawn)
    said = "; ".join(
        f"{row['reader']} {row['group']} {row['error']} {row['value']:.1f}".strip() for row in rows
    )
    spec = style.figure_spec(rows, vconcat=panels, spacing=20)
    notes = [index.note("more_readers", drawn=len(drawn), left=left)] if left else []
    return index.figure("error_bars", spec, said, *notes)


def _panel(name: str, rows: Sequence[Spec], *, titled: bool) -> Spec:
    own = list(dict.fromkeys(str(row["lane"]) for row in rows if row["shown"] == name))
    everyone = {str(row["lane"]) for row in rows}
    lane = {
        "field": "lane",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": own, "paddingInner": 0.2},
        "axis": {
            "title": None,
            "ticks": False,
            "domain": False,
            "labelPadding": 8,
            "minExtent": style.label_room(everyone),
        },
    }
    x = style.number_axis("start", "percent of labelled errors", 0, 100, grid=False)
    colour = {
        "field": "error",
        "type": "nominal",
        "scale": {"domain": list(_WORDS.values()), "range": list(_ERRORS.values())},
        "legend": {"columns": 3, "symbolType": "square"},
    }
    here = [{"filter": {"field": "shown", "equal": name}}]
    return {
        **({"title": {"text": name, "frame": "group"}} if titled else {}),
        "width": 480,
        "height": {"step": 22},
        "transform": here,
        "layer": [
            {
                "mark": {"type": "bar", "stroke": style.PAPER, "strokeWidth": 1.5},
                "encoding": {"y": lane, "x": x, "x2": {"field": "end"}, "color": colour},
            },
            {
                "mark": {"type": "text", "fontSize": 11, "color": _BLACK},
                "encoding": {"y": lane, "x": {**x, "field": "middle"}, "text": {"field": "said"}},
            },
        ],
    }


def error_table(index: Index) -> Table | None:
    """The same in numbers."""
    rows = []
    for reader in _labelled(index):
        for group in _groups(index):
            found = [_share(index, reader, group, error) for error in _WORDS]
            if any(found):
                rows.append((reader or "all models", group, *map(cells.fraction, found)))
    columns = ("reader", "dimension", *_WORDS.values())
    notes = interval_notes(index, "error_share")
    return index.table("errors", rows, *notes, columns=columns, first=2)


# ---------------------------------------------------------------- rankings
# Do the judges rank readers as people do?

_RATERS: Final = {"human": "people", "judge": "judges"}
_COMPONENTS: Final = {name: TITLES[name] for name in COMPONENT_WORDS}
_OTHERS: Final = "all others"


def _rho(index: Index, component: str) -> Measure | None:
    return index.known("", "rho", component=component, **{"with": "human"})


def rank_figure(index: Index) -> Figure | None:
    """A lane per reader: its mean over the others, as the paper's Figure 4 has it."""
    records = index.all("win_ratio", "component", "rater")
    names = style.shown(list(dict.fromkeys(record.reader for record in records)))
    rows = []
    for component, panel in _COMPONENTS.items():
        for reader, lane in names.items():
            for rater, said in _RATERS.items():
                record = index.known(reader, "win_ratio", component=component, rater=rater)
                if record is not None:
                    place = {"lane": lane, "panel": panel, "rater": rater}
                    rows.append(style.point_row(reader, said, "win ratio", record, **place))
    if not rows:
        return None
    known = {words: _rho(index, component) for component, words in _COMPONENTS.items()}
    rhos = [f"{words} {_plain(record)}" for words, record in known.items() if record is not None]
    drawn = [panel for panel in _COMPONENTS.values() if any(row["panel"] == panel for row in rows)]
    lines = [Panel(panel, line=50) for panel in drawn]
    said = "; ".join(
        f"{row['reader']}, {row['panel']}, by {row['shown']} {row['value']:.1f}" for row in rows
    )
    spec = dots(rows, list(names.values()), lines, style.Cast(dict(_RATERS), 0), across=2)
    notes = (
        *([index.note("rankings", rhos=", ".join(rhos))] if rhos else []),
        *style.unfit_note(rows),
        *interval_notes(index, "win_ratio"),
    )
    return index.figure("win_ratio_lanes", spec, said, *notes)


def rank_table(index: Index) -> Table | None:
    """The same in numbers, and pair by pair."""
    whole = dict.fromkeys(
        (record.reader, "") for record in index.all("win_ratio", "component", "rater")
    )
    pairs = dict.fromkeys(
        (record.reader, record.by["versus"])
        for record in index.all("win_ratio", "component", "versus", "rater")
    )
    rows = []
    for component, words in _COMPONENTS.items():
        for block, more in ((whole, {"of": "reader"}), (pairs, {})):
            gap = index.get("", "win_ratio_gap", component=component, **more)
            told = (cells.cell(gap), _plain(_rho(index, component)))
            for reader, versus in block:
                by = {"component": component, **({"versus": versus} if versus else {})}
                found = [index.get(reader, "win_ratio", rater=rater, **by) for rater in _RATERS]
                if any(found):
                    rows.append((words, reader, versus or _OTHERS, *map(_cell, found), *told))
                    told = ("", "")
    notes = (*judged_notes(index), *interval_notes(index, "win_ratio"))
    return index.table("win_ratio", rows, *notes, first=3)


def _plain(record: Measure | None) -> str:
    if record is None or record.value is None:
        return cells.NOT_KNOWN
    size = "" if record.n is None else f" n={record.n}"
    return f"{cells.coefficient(record)}{size}{cells.worth(record)}"
