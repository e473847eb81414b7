"""What kind of errors people found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import fraction, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import (
    PAPER,
    VERMILLION,
    Spec,
    figure_spec,
    label_room,
    number_axis,
    shown,
)
from overread.benchmarks.medcmr.exhibits.columns import interval_notes
from overread.benchmarks.medcmr.vocabulary import DIMENSIONS
from overread.case import Figure, Measure, Table

__all__ = ["error_exhibits"]

# Light enough for black numbers on them, and told apart by people of any colour vision.
_ERRORS: Final = {
    "recognition": "#56b4e9",
    "reasoning": "#e69f00",
    "knowledge": "#009e73",
    "question": "#cc79a7",
    "format": VERMILLION,
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
_PLAIN: Final = (
    "Recognition errors call for better eyes, the others for better medicine: a reader that fails "
    "by recognition is not mended by reasoning longer."
)


def error_exhibits(index: Index, signature: str) -> Iterator[Table | Figure | None]:
    """The bars, and their table."""
    readers = list(dict.fromkeys(record.reader for record in index.every("error_share")))
    yield _figure(index, readers, signature)
    yield _table(index, readers, signature)


def _groups(index: Index) -> list[str]:
    """Dimensions in the paper's order, a set's own after them; all together first."""
    found = {r.by["dimension"] for r in index.every("error_share") if "dimension" in r.by}
    known = [name for name in DIMENSIONS if name in found]
    return [_ALL, *known, *sorted(found - set(known))]


def _share(index: Index, reader: str, group: str, error: str) -> Measure | None:
    by = {} if group == _ALL else {"dimension": group}
    return index.get(reader, "error_share", error=error, **by)


def _figure(index: Index, readers: Sequence[str], signature: str) -> Figure | None:
    drawn = list(readers[:_READERS])
    names = shown(drawn)
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
        spec=figure_spec(rows, vconcat=panels, spacing=20),
        alt=f"Shares of labelled errors in percent: {said}.",
        signature=signature,
        notes=(
            f"{_PLAIN} Labelled errors in brackets.",
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
            "minExtent": label_room(everyone),
        },
    }
    x = number_axis("start", "percent of labelled errors", 0, 100, grid=False)
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
                "mark": {"type": "bar", "stroke": PAPER, "strokeWidth": 1.5},
                "encoding": {"y": lane, "x": x, "x2": {"field": "end"}, "color": colour},
            },
            {
                "mark": {"type": "text", "fontSize": 11, "color": _BLACK},
                "encoding": {"y": lane, "x": {**x, "field": "middle"}, "text": {"field": "said"}},
            },
        ],
    }


def _table(index: Index, readers: Sequence[str], signature: str) -> Table | None:
    rows = []
    for reader in readers:
        for group in _groups(index):
            found = [_share(index, reader, group, error) for error in _WORDS]
            if any(found):
                rows.append((reader or "all readers", group, *map(fraction, found)))
    return table(
        "errors",
        "What kind of errors does it make?",
        ("reader", "dimension", *_WORDS.values()),
        rows,
        signature,
        (
            _PLAIN,
            "Of the errors that people labelled, the share of each kind; what was not labelled is "
            "in none. All errors: as they were sampled, not as often as the reader makes them.",
            *interval_notes(index, "error_share"),
        ),
        facts=2,
    )
