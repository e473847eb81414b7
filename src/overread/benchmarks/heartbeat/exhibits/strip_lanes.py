"""The lanes of a strip: what every reader said, beside the truth, placed by pixel."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Final

from overread.benchmarks.exhibits.style import BLUE, FAINT, VERMILLION, Spec, label_room
from overread.benchmarks.heartbeat.exhibits.seen import Seen
from overread.benchmarks.heartbeat.exhibits.settings import short_names
from overread.benchmarks.heartbeat.exhibits.tiles import WIDTH
from overread.benchmarks.heartbeat.marks import Phase, phases_of

__all__ = ["COLOURS", "Lanes", "drawn"]

COLOURS: Final = {"ed": BLUE, "es": VERMILLION}
_SHAPES: Final = {"ed": "circle", "es": "square"}
_LANE: Final = 30
_HALF: Final = 7  # ED lies so far above the middle of its lane, ES below
_EDGE: Final = 76  # room for what no frame bears, at the end where it is
_NO_EDGE: Final = 8
_LABEL: Final = 52  # what `true ED` takes


def drawn(values: list[Spec], mark: Spec, **encoding: Any) -> Spec:
    """A layer of marks placed by pixel."""
    places: Spec = {"x": {"field": "x"}, "y": {"field": "y"}}
    return {"data": {"values": values}, "mark": mark, "encoding": places | encoding}


class Lanes:
    """The lanes' geometry. A class, for everything drawn there needs the same few numbers."""

    def __init__(self, seen: Seen, top: float) -> None:
        self.seen = seen
        self.names = short_names(list(seen.said))
        self.top = top
        self.bottom = top + _LANE * len(self.names)
        low, high = _edges(seen)
        self.left = label_room(self.names.values()) + low
        self.right = WIDTH - high

    def at(self, index: float) -> float:
        return self.left + (index + 0.5) / self.seen.count * (self.right - self.left)

    def lane(self, reader: str) -> float:
        return self.top + _LANE * (list(self.names).index(reader) + 0.5)

    def ground(self) -> Iterator[Spec]:
        """Names, the axis below, and the true frames through all lanes."""
        names = [{"x": 0, "y": self.lane(r), "text": shown} for r, shown in self.names.items()]
        yield drawn(
            names,
            {"type": "text", "align": "left", "baseline": "middle", "fontSize": 12},
            text={"field": "text"},
        )
        edges = [self.top + _LANE * n for n in range(len(self.names) + 1)]
        ends = {"x": self.left, "x2": self.right}
        yield drawn(
            [{**ends, "y": y} for y in edges],
            {"type": "rule", "color": FAINT, "opacity": 0.35},
            x2={"field": "x2"},
        )
        step = ceil(self.seen.count / 24)
        ticks = [
            {"x": self.at(n), "y": self.bottom + 5, "text": str(n)}
            for n in range(0, self.seen.count, step)
        ]
        yield drawn(ticks, {"type": "text", "baseline": "top"}, text={"field": "text"})
        middle = {"x": (self.left + self.right) / 2, "y": self.bottom + 20, "text": "frame said"}
        yield drawn([middle], {"type": "text", "baseline": "top"}, text={"field": "text"})
        near = abs(self.at(self.seen.ed) - self.at(self.seen.es)) < _LABEL
        for phase, index in (("ed", self.seen.ed), ("es", self.seen.es)):
            line = {"x": self.at(index), "y": self.top, "y2": self.bottom}
            mark = {"type": "rule", "color": COLOURS[phase], "strokeWidth": 1.5}
            yield drawn([line], mark | {"strokeDash": [4, 3]}, y2={"field": "y2"})
            word = {"x": self.at(index), "y": self.top - 3, "text": f"true {phase.upper()}"}
            first = index == min(self.seen.ed, self.seen.es)
            align = ("right" if first else "left") if near else "center"
            text = {"type": "text", "baseline": "bottom", "color": COLOURS[phase]}
            text |= {"fontWeight": "bold", "align": align}
            yield drawn([word], text, text={"field": "text"})

    def marks(self, rows: list[Spec]) -> Iterator[Spec]:
        """The answers: inside where they belong, outside as an arrow with their numbers."""
        most = max((row["times"] for row in rows), default=1)
        scale = {"domain": [0, most], "range": [20, 110]}
        size = {"field": "times", "type": "quantitative", "legend": None, "scale": scale}
        for phase in phases_of(self.seen.format):
            here = [row for row in rows if row["phase"] == phase]
            inside = [
                {"x": self.at(row["said"]), "y": self._y(row["reader"], phase), **row}
                for row in here
                if row["shown"]
            ]
            mark = {"type": "point", "filled": True, "opacity": 0.8, "shape": _SHAPES[phase]}
            yield drawn(inside, mark | {"color": COLOURS[phase]}, size=size)
            yield from self._outside([row for row in here if not row["shown"]], phase)
        silent = [
            {"x": self.left, "y": self.lane(reader), "text": "no answer"}
            for reader in self.seen.silent
        ]
        if silent:
            text = {"type": "text", "align": "right", "baseline": "middle", "dx": -6}
            yield drawn(silent, text | {"fontStyle": "italic"}, text={"field": "text"})

    def _outside(self, rows: list[Spec], phase: Phase) -> Iterator[Spec]:
        for side, x, sign in (("left", self.left - 8, -1), ("right", self.right + 8, 1)):
            some: dict[str, list[int]] = {}
            for row in rows:
                if (row["said"] < 0) == (sign < 0):
                    some.setdefault(row["reader"], []).append(row["said"])
            if not some:
                continue
            values = [
                {"x": x, "y": self._y(reader, phase), "text": _between(numbers)}
                for reader, numbers in some.items()
            ]
            arrow = {"type": "point", "shape": f"triangle-{side}", "filled": True, "size": 45}
            yield drawn(values, arrow | {"color": COLOURS[phase], "opacity": 1})
            align = "right" if sign < 0 else "left"
            text = {"type": "text", "align": align, "baseline": "middle", "dx": 7 * sign}
            yield drawn(values, text | {"color": COLOURS[phase]}, text={"field": "text"})

    def _y(self, reader: str, phase: Phase) -> float:
        return self.lane(reader) + (-_HALF if phase == "ed" else _HALF)


def _edges(seen: Seen) -> tuple[int, int]:
    """The room left and right of the lanes."""
    phases = phases_of(seen.format)
    answers = [n for said in seen.said.values() for phase in phases for n in said.get(phase, ())]
    low = bool(seen.silent) or min(answers, default=0) < 0
    high = max(answers, default=0) >= seen.count
    return _EDGE if low else _NO_EDGE, _EDGE if high else _NO_EDGE


def _between(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return _short(low) if low == high else f"{_short(low)} … {_short(high)}"


def _short(value: int) -> str:
    return str(value) if abs(value) < 10_000 else f"{value:.0e}"
