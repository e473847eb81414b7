"""Figures 4, 6 and 7 of the paper: the frame said against the true one."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

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
from overread.benchmarks.heartbeat.exhibits.stated import longest_window
from overread.case import Figure

__all__ = ["scatters"]

_SIDE: Final = 165
_SPACE: Final = 14
_ACROSS: Final = 3
_ARROWS: Final = {"above": "triangle-up", "below": "triangle-down"}


class _Reach(NamedTuple):
    """The frames both axes have, 0 .. `last`, in both phases alike, and why so many."""

    last: int
    why: str

    @property
    def ends(self) -> tuple[float, float]:
        """Half a frame more on either side, so that the marks of the first and last are whole."""
        return -0.5, self.last + 0.5


def scatters(index: Index, signature: str) -> Iterator[Figure | None]:
    """A row of panels per reader, a panel per context; the formats are told apart in it."""
    rows = {phase: list(_rows(index, phase)) for phase in PHASES}
    reach = _reach([row["true"] for some in rows.values() for row in some], signature)
    for phase, words in PHASES.items():
        if rows[phase]:
            yield _scatter(f"scatter_{phase}", words, rows[phase], reach, signature)


def _rows(index: Index, phase: str) -> Iterator[Spec]:
    names = short_names(readers_of(index))
    for record in index.all("predicted", "task", "context", "format", "phase", "truth"):
        if record.reader in names and record.by["phase"] == phase and record.value is not None:
            yield {
                "reader": record.reader,
                "shown": names[record.reader],
                "context": NAMES[record.by["context"]],
                "format": record.by["format"],
                "true": int(record.by["truth"]),
                "said": record.value,
                "videos": record.n,
            }


def _reach(truths: list[int], signature: str) -> _Reach:
    """As far as the longest window, which the signature states; else beyond the last truth."""
    last, frames = max(truths, default=0), longest_window(signature)
    if frames is None:
        why = (
            "How many frames the windows have is not known; the axes go a quarter beyond the last "
            "true frame."
        )
        return _Reach(ceil(1.25 * last) + 1, why)
    why = f"The axes have the frames of the longest window, 0 to {frames - 1}"
    if last < frames:
        return _Reach(frames - 1, f"{why}.")
    # Somebody else's records may name a truth beyond what they say was shown.
    return _Reach(last, f"{why}, and go on to the last true frame, {last}.")


def _scatter(name: str, words: str, rows: list[Spec], reach: _Reach, signature: str) -> Figure:
    low, high = reach.ends
    for row in rows:
        side = "below" if row["said"] < 0 else "above" if row["said"] > reach.last else "inside"
        row["lies"] = side
        row["drawn"] = {"below": low, "above": high}.get(side, row["said"])
    readers = list(dict.fromkeys(row["shown"] for row in rows))
    contexts = [c for c in NAMES.values() if any(row["context"] == c for row in rows)]
    panels = [(reader, context) for reader in readers for context in contexts]
    wide = len(contexts) if len(contexts) > 1 else _ACROSS
    grid = [
        {
            "spacing": _SPACE,
            "hconcat": [
                _panel(panel, rows, reach.ends, left=not column, last=start + wide >= len(panels))
                for column, panel in enumerate(panels[start : start + wide])
            ],
        }
        for start in range(0, len(panels), wide)
    ]
    beyond = sum(row["lies"] in _ARROWS for row in rows)
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
            "for all videos.",
            f"{reach.why}{_arrows(beyond)}",
        ),
    )


def _arrows(beyond: int) -> str:
    if not beyond:
        return ""
    one = "1 mean answer lies" if beyond == 1 else f"{beyond} mean answers lie"
    return f" {one} beyond them: an arrow at the edge."


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
    places: Spec = {
        "x": _axis("true", "true frame", ends, titled=last, labelled=last),
        "y": _axis("drawn", "frame said", ends, titled=left, labelled=left),
    }
    points: Spec = {
        **places,
        "color": {**kind, "scale": colour},
        "shape": {**kind, "scale": shape},
        "size": {"field": "videos", "type": "quantitative", "scale": size, "legend": None},
    }
    arrows: Spec = {**places, "color": points["color"], "size": points["size"]}
    # A name may hold any sign, so it is compared as data are, not as an expression.
    here: list[Spec] = [
        {"filter": {"field": "shown", "equal": reader}},
        {"filter": {"field": "context", "equal": context}},
    ]
    right = [{"true": end, "drawn": end} for end in ends]
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
                "transform": [*here, {"filter": {"field": "lies", "equal": "inside"}}],
                "mark": {"type": "point", "filled": True, "opacity": 0.65},
                "encoding": points,
            },
            *(
                {
                    "transform": [*here, {"filter": {"field": "lies", "equal": side}}],
                    "mark": {"type": "point", "shape": arrow, "filled": True, "opacity": 0.65},
                    "encoding": arrows,
                }
                for side, arrow in _ARROWS.items()
            ),
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
