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

# The harmless changes of `judging.rubric`, as columns.
_CHANGES: Final = {"sections": "changed by the parts' order", "length": "changed by length"}
_MOVED: Final = (
    "Changed: of its scores on these replies, the share that is another when the parts of the "
    "prompt stand in reverse, or when polite words that say nothing go before the reply."
)
_AGREED: Final = (
    "Agreement: the very same score. Kappa: Cohen's with quadratic weights, agreement beyond that "
    "of judges who give as often the scores that these give, but by lot; n/a where both said one "
    "thing only. Where judges part, a difference between readers may be the judge's."
)


def judge_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """On replies of known truth, and with each other."""
    parts = parts_of(index, every=True)
    yield fitness_table(index, signature, parts, _CHANGES, _MOVED)
    scores = [Part(said, name, {"component": name}) for name, said in COMPONENT_WORDS.items()]
    yield agreement_table(index, signature, scores, "dimension", _AGREED)


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
_ERRORS_SAY: Final = (
    "Recognition errors call for better eyes, the others for better medicine: a reader that fails "
    "by recognition is not mended by reasoning longer."
)


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


def error_figure(index: Index, signature: str) -> Figure | None:
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
    return Figure(
        name="error_bars",
        title="Why it errs",
        spec=style.figure_spec(rows, vconcat=panels, spacing=20),
        alt=f"Shares of labelled errors in percent: {said}.",
        signature=signature,
        notes=(
            f"{_ERRORS_SAY} Labelled errors in brackets.",
            *([f"The first {len(drawn)} readers; {left} more are in the table."] if left else []),
        ),
    )


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


def error_table(index: Index, signature: str) -> Table | None:
    """The same in numbers."""
    rows = []
    for reader in _labelled(index):
        for group in _groups(index):
            found = [_share(index, reader, group, error) for error in _WORDS]
            if any(found):
                rows.append((reader or "all readers", group, *map(cells.fraction, found)))
    return cells.table(
        "errors",
        "What kind of errors does it make?",
        ("reader", "dimension", *_WORDS.values()),
        rows,
        signature,
        (
            _ERRORS_SAY,
            "Of the errors that people labelled, the share of each kind; what was not labelled is "
            "in none. All errors: as they were sampled, not as often as the reader makes them.",
            *interval_notes(index, "error_share"),
        ),
        facts=2,
    )


# ---------------------------------------------------------------- rankings
# Do the judges rank readers as people do?

_RATERS: Final = {"human": "people", "judge": "judges"}
_COMPONENTS: Final = {name: TITLES[name] for name in COMPONENT_WORDS}
_SAID: Final = (
    "Win ratio: how often a reader's answer is ranked above another's, a tie being half a win; 50 "
    "is no difference."
)
_RANKS_SAY: Final = "Where people and judges part, trust the people."
_OTHERS: Final = "all others"


def _rho(index: Index, component: str) -> Measure | None:
    return index.known("", "rho", component=component, **{"with": "human"})


def rank_figure(index: Index, signature: str) -> Figure | None:
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
    return Figure(
        name="win_ratio_lanes",
        title="People and judges, side by side",
        spec=dots(rows, list(names.values()), lines, style.Cast(dict(_RATERS), 0), across=2),
        alt=f"Win ratios over all other readers in percent: {said}.",
        signature=signature,
        notes=(
            f"{_RANKS_SAY} {_SAID} The mean over all other readers that were ranked.",
            *(
                [f"Spearman's rho of people's and judges' rankings: {', '.join(rhos)}."]
                * bool(rhos)
            ),
            *style.unfit_note(rows),
            *interval_notes(index, "win_ratio"),
        ),
    )


def rank_table(index: Index, signature: str) -> Table | None:
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
    return cells.table(
        "win_ratio",
        "Do the judges rank as people do?",
        (
            *("component", "reader", "over", "win ratio, people", "win ratio, judges"),
            *("largest gap", "rho"),
        ),
        rows,
        signature,
        (
            f"{_RANKS_SAY} {_SAID}",
            "Largest gap: between people and judges, in points, in the rows from there on. Rho: "
            "Spearman's, of their rankings of the readers within each item.",
            *judged_notes(index),
            *interval_notes(index, "win_ratio"),
        ),
        facts=3,
    )


def _plain(record: Measure | None) -> str:
    if record is None or record.value is None:
        return cells.NOT_KNOWN
    size = "" if record.n is None else f" n={record.n}"
    return f"{cells.coefficient(record)}{size}{cells.worth(record)}"
