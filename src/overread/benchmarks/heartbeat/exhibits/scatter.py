"""Figures 4, 6 and 7 of the paper: the frame said against the true one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import FAINT, INK, Spec, figure_spec
from overread.benchmarks.heartbeat.edition import FORMATS
from overread.benchmarks.heartbeat.exhibits.error_figures import LOOKS
from overread.benchmarks.heartbeat.exhibits.settings import (
    NAMES,
    PHASES,
    readers_of,
    short_names,
)
from overread.case import Figure

__all__ = ["scatters"]

_SIDE: Final = 140
_SPACE: Final = 14
_ACROSS: Final = 3


def scatters(index: Index, signature: str) -> Iterator[Figure | None]:
    """A row of panels per reader, a panel per context; the formats are told apart in it."""
    names = short_names(readers_of(index))
    keys = ("task", "context", "format", "phase", "truth")
    for phase, words in PHASES.items():
        rows = [
            {
                "reader": record.reader,
                "shown": names[record.reader],
                "context": NAMES[record.by["context"]],
                "format": record.by["format"],
                "true": int(record.by["truth"]),
                "said": record.value,
                "videos": record.n,
            }
            for record in index.all("predicted", *keys)
            if record.reader in names and record.by["phase"] == phase and record.value is not None
        ]
        if rows:
            yield _scatter(f"scatter_{phase}", words, rows, signature)


def _scatter(name: str, words: str, rows: list[Spec], signature: str) -> Figure:
    top = max(row["true"] for row in rows) * 1.25 + 1
    ends = (-0.06 * top, top)  # a mean just below 0 is still drawn where it is
    for row in rows:
        row["drawn"] = max(ends[0], min(row["said"], ends[1]))
        row["beyond"] = row["said"] != row["drawn"]
    readers = list(dict.fromkeys(row["shown"] for row in rows))
    contexts = [c for c in NAMES.values() if any(row["context"] == c for row in rows)]
    panels = [(reader, context) for reader in readers for context in contexts]
    wide = len(contexts) if len(contexts) > 1 else _ACROSS
    grid = [
        {
            "spacing": _SPACE,
            "hconcat": [
                _panel(panel, rows, ends, left=not column, last=start + wide >= len(panels))
                for column, panel in enumerate(panels[start : start + wide])
            ],
        }
        for start in range(0, len(panels), wide)
    ]
    beyond = sum(row["beyond"] for row in rows)
    note = f" {beyond} open marks lie beyond the axis and are drawn at its end." if beyond else ""
    return Figure(
        name=name,
        title=f"Does it follow the heart? {words.capitalize()}, said against true",
        spec=figure_spec(rows, vconcat=grid, spacing=_SPACE),
        alt=f"Mean answer for each true frame of {words}, {len(rows)} points of "
        f"{len(readers)} readers in {', '.join(contexts)}. {_slopes(rows)}",
        signature=signature,
        notes=(
            "Each mark is the mean answer over the videos with that true frame; its size is their "
            "number. On the dashed line the answer is right; a level row of marks is one answer "
            f"for all videos.{note}",
        ),
    )


def _slopes(rows: list[Spec]) -> str:
    """In words: how far each reader's mean answers reach, beside how far the truths do."""
    said: dict[str, list[float]] = {}
    for row in rows:
        said.setdefault(row["reader"], []).append(row["said"])
    true = [row["true"] for row in rows]
    spans = "; ".join(f"{name} {min(v):.1f} to {max(v):.1f}" for name, v in said.items())
    return f"True frames {min(true)} to {max(true)}; mean answers: {spans}."


def _panel(
    panel: tuple[str, str], rows: list[Spec], ends: tuple[float, float], *, left: bool, last: bool
) -> Spec:
    reader, context = panel
    alone = all(row["context"] == context for row in rows)
    formats = [wanted for wanted in FORMATS if any(row["format"] == wanted for row in rows)]
    colour = {"domain": formats, "range": [LOOKS[wanted].colour for wanted in formats]}
    shape = {"domain": formats, "range": [LOOKS[wanted].shape for wanted in formats]}
    kind = {"field": "format", "type": "nominal"}
    size = {"domain": [1, max(2, *(row["videos"] for row in rows))], "range": [20, 130]}
    places = {
        "x": _axis("true", "true frame", ends, titled=last, labelled=last),
        "y": _axis("drawn", "frame said", ends, titled=left, labelled=left),
    }
    points = {
        **places,
        "color": {**kind, "scale": colour},
        "shape": {**kind, "scale": shape},
        "size": {"field": "videos", "type": "quantitative", "scale": size, "legend": None},
    }
    # A name may hold any sign, so it is compared as data are, not as an expression.
    here: list[Spec] = [
        {"filter": {"field": "shown", "equal": reader}},
        {"filter": {"field": "context", "equal": context}},
    ]
    right = [{"true": 0, "drawn": 0}, {"true": ends[1], "drawn": ends[1]}]
    return {
        "title": {
            "text": reader if left or alone else " ",
            "subtitle": context,
            "subtitleColor": INK,
            "frame": "group",
        },
        "width": _SIDE,
        "height": _SIDE,
        "layer": [
            {
                "data": {"values": right},
                "mark": {"type": "line", "color": FAINT, "strokeDash": [4, 3]},
                "encoding": places,
            },
            {
                "transform": [*here, {"filter": "!datum.beyond"}],
                "mark": {"type": "point", "filled": True, "opacity": 0.65},
                "encoding": points,
            },
            {
                "transform": [*here, {"filter": "datum.beyond"}],
                "mark": {"type": "point", "filled": False, "strokeWidth": 1.4, "opacity": 1},
                "encoding": points,
            },
        ],
    }


def _axis(
    field: str, words: str, ends: tuple[float, float], *, titled: bool, labelled: bool
) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": list(ends), "nice": False, "zero": False},
        "axis": {
            "title": words if titled else None,
            "labels": labelled,
            "tickCount": 5,
            "labelFlush": False,
        },
    }
