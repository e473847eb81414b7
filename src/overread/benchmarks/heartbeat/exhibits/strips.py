"""One clip frame by frame: the true frames framed, and below them what every reader said.

Strips for a few clips of a run, chosen by how one reader did on them.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.draws import lot
from overread.benchmarks.exhibits.style import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    Spec,
    figure_spec,
    label_room,
)
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, Edition
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, PHASES, short_names
from overread.benchmarks.heartbeat.frame_measures import error_of
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.benchmarks.heartbeat.study import HeartRun
from overread.case import Figure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

# ---------------------------------------------------------------- a window as it was shown

# How often a reader gave each answer, by phase.
AnswerCounts: TypeAlias = Mapping[Phase, Mapping[int, int]]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A window as it was shown, and the answers to it; indices are local, from 0."""

    case: str
    context: str
    format: str
    ed: int
    es: int
    count: int
    said: Mapping[str, AnswerCounts]

    @property
    def silent(self) -> list[str]:
        """The readers without an answer to anything that was asked."""
        asked = phases_of(self.format)
        return [name for name, said in self.said.items() if not any(said.get(p) for p in asked)]


def _answer_rows(seen: Seen) -> list[Spec]:
    """The numbers behind the drawing: every answer of every reader, and how often."""
    return [
        {
            "reader": reader,
            "phase": phase,
            "true": seen.ed if phase == "ed" else seen.es,
            "said": answer,
            "times": times,
            "shown": 0 <= answer < seen.count,
        }
        for reader, said in seen.said.items()
        for phase in phases_of(seen.format)
        for answer, times in sorted(said.get(phase, {}).items())
    ]


# ---------------------------------------- frames as small pictures: PNG data URLs, laid out in rows

_TILES_ACROSS: Final = 12
_TILE_SIDE: Final = 72  # pixels of the longer side
_TILE_GAP: Final = 4
_WIDTH: Final = _TILES_ACROSS * (_TILE_SIDE + _TILE_GAP) - _TILE_GAP
_INDEX_HEIGHT: Final = 18  # the line with the frame's index
_MOST_TILES: Final = 36


class Tile(NamedTuple):
    """A frame's place in the drawing, its index in the window, and its picture."""

    frame: int
    x: float
    y: float
    width: int
    height: int
    url: str


def _tiles(frames: Sequence[NDArray[np.uint8]], keep: Sequence[int]) -> tuple[list[Tile], int]:
    """The frames in rows of twelve, and how high they stand together.

    A long window is thinned to every n-th frame; those of `keep` are there in any case.
    """
    step = ceil(len(frames) / _MOST_TILES)
    chosen = sorted({*range(0, len(frames), step), *keep})
    made: list[Tile] = []
    row = 0
    for place, index in enumerate(chosen):
        url, width, height = _small_png(frames[index])
        row, column = divmod(place, _TILES_ACROSS)
        x = column * (_TILE_SIDE + _TILE_GAP) + (_TILE_SIDE - width) / 2
        made.append(Tile(index, x, row * (height + _INDEX_HEIGHT + _TILE_GAP), width, height, url))
    return made, (row + 1) * (max(tile.height for tile in made) + _INDEX_HEIGHT + _TILE_GAP)


def _small_png(frame: Any) -> tuple[str, int, int]:
    """A frame scaled to `_TILE_SIDE`; grey stays grey."""
    from PIL import Image

    if frame.ndim == 3 and (frame == frame[:, :, :1]).all():
        frame = frame[:, :, 0]
    high, wide = frame.shape[:2]
    scale = _TILE_SIDE / max(high, wide)
    size = max(1, round(wide * scale)), max(1, round(high * scale))
    image = Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR)
    held = io.BytesIO()
    image.save(held, "PNG", optimize=True)
    data = base64.b64encode(held.getvalue()).decode("ascii")
    return f"data:image/png;base64,{data}", *size


# ---------------------------------------- what every reader said, beside the truth, placed by pixel

_COLOURS: Final = {"ed": BLUE, "es": VERMILLION}
_SHAPES: Final = {"ed": "circle", "es": "square"}
_LANE_HEIGHT: Final = 30
_PHASE_OFFSET: Final = {"ed": -7, "es": 7}  # of the middle of a lane
_EDGE_ROOM: Final = 76  # room for what no frame bears, at the end where it is
_NO_EDGE: Final = 8
_LABEL_WIDTH: Final = 52  # what `true ED` takes


def _layer(values: list[Spec], mark: Spec, **encoding: Any) -> Spec:
    """A layer of marks placed by pixel."""
    places: Spec = {"x": {"field": "x"}, "y": {"field": "y"}}
    return {"data": {"values": values}, "mark": mark, "encoding": places | encoding}


def _texts(values: list[Spec], **mark: Any) -> Spec:
    return _layer(values, {"type": "text", **mark}, text={"field": "text"})


class _AnswerLanes:
    """The lanes' geometry. A class, for everything drawn there needs the same few numbers."""

    def __init__(self, seen: Seen, rows: list[Spec], top: float) -> None:
        self.seen = seen
        self.rows = rows
        self.names = short_names(list(seen.said))
        self.top = top
        self.bottom = top + _LANE_HEIGHT * len(self.names)
        answers = [row["said"] for row in rows]
        low = bool(seen.silent) or min(answers, default=0) < 0
        high = max(answers, default=0) >= seen.count
        self.left = label_room(self.names.values()) + (_EDGE_ROOM if low else _NO_EDGE)
        self.right = _WIDTH - (_EDGE_ROOM if high else _NO_EDGE)

    def at(self, index: float) -> float:
        return self.left + (index + 0.5) / self.seen.count * (self.right - self.left)

    def lane(self, reader: str, phase: str = "") -> float:
        middle = self.top + _LANE_HEIGHT * (list(self.names).index(reader) + 0.5)
        return middle + _PHASE_OFFSET.get(phase, 0)

    def ground(self) -> Iterator[Spec]:
        """Names, the axis below, and the true frames through all lanes."""
        names = [{"x": 0, "y": self.lane(r), "text": shown} for r, shown in self.names.items()]
        yield _texts(names, align="left", baseline="middle", fontSize=12)
        edges = [self.top + _LANE_HEIGHT * n for n in range(len(self.names) + 1)]
        yield _layer(
            [{"x": self.left, "x2": self.right, "y": y} for y in edges],
            {"type": "rule", "color": FAINT, "opacity": 0.35},
            x2={"field": "x2"},
        )
        ticks = range(0, self.seen.count, ceil(self.seen.count / 24))
        numbers = [{"x": self.at(n), "y": self.bottom + 5, "text": str(n)} for n in ticks]
        yield _texts(numbers, baseline="top")
        middle = {"x": (self.left + self.right) / 2, "y": self.bottom + 20, "text": "frame said"}
        yield _texts([middle], baseline="top")
        near = abs(self.at(self.seen.ed) - self.at(self.seen.es)) < _LABEL_WIDTH
        for phase, index in (("ed", self.seen.ed), ("es", self.seen.es)):
            line = {"x": self.at(index), "y": self.top, "y2": self.bottom}
            mark = {"type": "rule", "color": _COLOURS[phase], "strokeWidth": 1.5}
            yield _layer([line], mark | {"strokeDash": [4, 3]}, y2={"field": "y2"})
            word = {"x": self.at(index), "y": self.top - 3, "text": f"true {phase.upper()}"}
            first = index == min(self.seen.ed, self.seen.es)
            align = ("right" if first else "left") if near else "center"
            bold = {"color": _COLOURS[phase], "fontWeight": "bold", "align": align}
            yield _texts([word], baseline="bottom", **bold)

    def marks(self) -> Iterator[Spec]:
        """The answers: inside where they belong, outside as an arrow with their numbers."""
        most = max((row["times"] for row in self.rows), default=1)
        scale = {"domain": [0, most], "range": [20, 110]}
        size = {"field": "times", "type": "quantitative", "legend": None, "scale": scale}
        for phase in phases_of(self.seen.format):
            here = [row for row in self.rows if row["phase"] == phase]
            inside = [
                {"x": self.at(row["said"]), "y": self.lane(row["reader"], phase), **row}
                for row in here
                if row["shown"]
            ]
            mark = {"type": "point", "filled": True, "opacity": 0.8, "shape": _SHAPES[phase]}
            yield _layer(inside, mark | {"color": _COLOURS[phase]}, size=size)
            outside = [row for row in here if not row["shown"]]
            yield from self._outside([r for r in outside if r["said"] < 0], phase, "left")
            yield from self._outside([r for r in outside if r["said"] >= 0], phase, "right")
        if self.seen.silent:
            word = {"x": self.left, "text": "no answer"}
            silent = [word | {"y": self.lane(reader)} for reader in self.seen.silent]
            yield _texts(silent, align="right", baseline="middle", dx=-6, fontStyle="italic")

    def _outside(self, rows: list[Spec], phase: Phase, side: str) -> Iterator[Spec]:
        before = side == "left"
        x = self.left - 8 if before else self.right + 8
        numbers: dict[str, list[int]] = {}
        for row in rows:
            numbers.setdefault(row["reader"], []).append(row["said"])
        values = [
            {"x": x, "y": self.lane(reader, phase), "text": _number_span(said)}
            for reader, said in numbers.items()
        ]
        if values:
            colour = _COLOURS[phase]
            arrow = {"type": "point", "shape": f"triangle-{side}", "filled": True, "size": 45}
            yield _layer(values, arrow | {"color": colour, "opacity": 1})
            align, dx = ("right", -7) if before else ("left", 7)
            yield _texts(values, align=align, baseline="middle", dx=dx, color=colour)


def _number_span(numbers: list[int]) -> str:
    ends = dict.fromkeys((min(numbers), max(numbers)))
    return " … ".join(str(end) if abs(end) < 10_000 else f"{end:.0e}" for end in ends)


# ---------------------------------------------------------------- one strip

_HEAD_ROOM: Final = 26  # between the frames and the lanes
_FOOT_ROOM: Final = 34  # the numbers below the lanes


def strip(
    seen: Seen,
    frames: Sequence[NDArray[np.uint8]],
    *,
    name: str = "strip",
    title: str = "",
    signature: str = "",
    chosen: Sequence[str] = (),
) -> Figure:
    """The frames of a window as pixels (uint8, H x W or H x W x 3), truth and answers marked.

    `chosen` says why this clip is shown.
    """
    placed, height = _tiles(frames, (seen.ed, seen.es))
    rows = _answer_rows(seen)
    lanes = _AnswerLanes(seen, rows, height + _HEAD_ROOM)
    whole = lanes.bottom + _FOOT_ROOM
    layers = [*_frame_layers(placed, seen), *lanes.ground(), *lanes.marks()]
    for layer in layers:
        for axis, length in (("x", _WIDTH), ("y", whole)):
            scale = {"domain": [0, length], "nice": False, "zero": False, "reverse": axis == "y"}
            layer["encoding"][axis] |= {"type": "quantitative", "scale": scale, "axis": None}
    notes = " ".join(_strip_notes(seen, rows, thinned=len(placed) < seen.count))
    return Figure(
        name=name,
        title=title or f"Frame by frame: {seen.case}",
        spec=figure_spec(rows, width=_WIDTH, height=whole, layer=layers),
        alt=_strip_alt(seen),
        signature=signature,
        notes=(*chosen, notes),
    )


def _frame_layers(placed: list[Tile], seen: Seen) -> Iterator[Spec]:
    """The pictures, those of the true frames framed, and each one's index below it."""
    pictures = [{"x": t.x, "y": t.y, "url": t.url} for t in placed]
    image = {"type": "image", "width": placed[0].width, "height": placed[0].height}
    url = {"field": "url", "type": "nominal"}
    yield _layer(pictures, {**image, "align": "left", "baseline": "top"}, url=url)
    framed: list[Spec] = []
    words: dict[str, list[Spec]] = {"normal": [], "bold": []}
    for tile in placed:
        phase = "ed" if tile.frame == seen.ed else "es" if tile.frame == seen.es else None
        middle, below = tile.x + tile.width / 2, tile.y + tile.height + 4
        text = f"{tile.frame} {phase.upper()}" if phase else str(tile.frame)
        colour, weight = (_COLOURS[phase], "bold") if phase else (INK, "normal")
        word = {"x": middle, "y": below, "text": text, "colour": colour, "weight": weight}
        words[weight].append(word)
        if phase:
            ends = {"x2": tile.x + tile.width, "y2": tile.y + tile.height}
            framed.append({"x": tile.x, "y": tile.y, **ends, "colour": colour})
    painted = {"field": "colour", "type": "nominal", "scale": None}
    corners = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    frame = {"type": "rect", "filled": False, "strokeWidth": 3}
    yield _layer(framed, frame, **corners, stroke=painted)
    for weight, some in words.items():
        layer = _texts(some, baseline="top", fontWeight=weight)
        layer["encoding"]["color"] = painted
        yield layer


def _strip_alt(seen: Seen) -> str:
    told = []
    for reader, said in seen.said.items():
        words = [
            f"{phase.upper()} " + ", ".join(f"{a} ({n}×)" for a, n in sorted(said[phase].items()))
            for phase in phases_of(seen.format)
            if said.get(phase)
        ]
        told.append(f"{reader} said {' and '.join(words) or 'nothing'}")
    return (
        f"{seen.count} frames of {seen.case}, numbered from 0; end-diastole is {seen.ed}, "
        f"end-systole {seen.es}. {'; '.join(told)}."
    )


def _strip_notes(seen: Seen, rows: list[Spec], *, thinned: bool) -> Iterator[str]:
    yield (
        f"Context {NAMES[seen.context]}, format {seen.format}. Blue and circles: end-diastole; "
        "vermillion and squares: end-systole. A mark is as large as the answer is frequent over "
        "seeds and passes."
    )
    if any(not row["shown"] for row in rows):
        yield "An arrow is an answer that no frame bears, with its number."
    if thinned:
        yield f"Of the {seen.count} frames some are left out of the pictures."


# ---------------------------------------------------------------- which clips

# The frames of a case's window (case, start, count, context) as pixels, or None without them.
Pictures: TypeAlias = Callable[[str, int, int, str], Sequence[NDArray[np.uint8]] | None]


def strips(
    tables: Tables, pictures: Pictures, edition: Edition, signature: str = ""
) -> Iterator[Figure]:
    """`strip-1` .. `strip-3`: clips by the error of the first reader that was asked.

    Its first context and format decide: one of the tenth with the least error and one of the tenth
    with the greatest, each by lot, and the median one. No strip where the frames cannot be had.
    """
    import polars as pl

    asked = tables.answers.filter(pl.col("task").eq("t1") & pl.col("start").is_not_null())
    there = set(asked.select("reader", "context", "format").unique().iter_rows())
    order = [row.name for row in tables.readers]
    first = next((each for each in product(order, CONTEXTS, FORMATS) if each in there), None)
    if first is None:
        return
    reader, context, wanted = first
    answers = tables.answers.filter(
        pl.col("task").eq("t1") & pl.col("context").eq(context) & pl.col("format").eq(wanted)
    )
    errors = _case_errors(tables, answers.filter(pl.col("reader").eq(reader)), edition)
    over = "phases and seeds" if len(phases_of(wanted)) > 1 else "seeds"
    windows, number = windows_by_case(answers), 0
    for case, words in _chosen_cases(errors, edition.seed):
        if (window := windows.get(case)) is None:
            continue
        frames = pictures(case, window["start"], window["count"], context)
        if frames is None or len(frames) != window["count"]:
            continue
        rows = answers.filter(pl.col("case").eq(case)).partition_by("reader", as_dict=True)
        said: dict[str, AnswerCounts] = {
            name: {p: Counter(rows[name,][f"pred_{p}"].drop_nulls()) for p in phases_of(wanted)}
            for name in order
            if (name,) in rows
        }
        seen = Seen(
            case=case,
            context=context,
            format=wanted,
            ed=window["truth_ed"],
            es=window["truth_es"],
            count=window["count"],
            said=said,
        )
        number += 1
        off = f"{errors[case]:.1f} frames"
        yield strip(
            seen,
            frames,
            name=f"strip-{number}",
            title=f"Frame by frame, {words} of {reader}: {case}, off by {off}",
            signature=signature,
            chosen=[f"Chosen by the error of {reader}, here {off}, a mean over {over}."],
        )


def _case_errors(tables: Tables, answers: pl.DataFrame, edition: Edition) -> dict[str, float]:
    """Each case's error in frames, a mean over its phases; cases without an answer are left out."""
    run = HeartRun(msgspec.structs.replace(tables, answers=answers), edition)
    (marks,) = run.marks
    off = np.mean([error_of(marks, run, phase).per_video for phase in marks.phases], axis=0)
    return {case: float(e) for case, e in zip(run.cases, off, strict=True) if not np.isnan(e)}


def _chosen_cases(errors: dict[str, float], seed: int) -> Iterator[tuple[str, str]]:
    """Cases and what they are, no case twice."""
    ranked = sorted(errors, key=lambda case: (errors[case], lot("strip", seed, case)))
    if not ranked:
        return
    tenth = max(1, len(ranked) // 10)
    ends = "{} clip" if tenth == 1 else "a clip of the {} tenth"

    def by_lot(some: list[str]) -> str:
        return min(some, key=lambda case: lot("strip", seed, case))

    picked = {
        by_lot(ranked[:tenth]): ends.format("best"),
        ranked[len(ranked) // 2]: "median clip",
        by_lot(ranked[-tenth:]): ends.format("worst"),
    }
    yield from picked.items() if len(ranked) > 1 else [(ranked[0], "the only clip")]


def windows_by_case(t1: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """By case the frames shown and the true ones among them, where an answer knows them."""
    needed = ("start", "count", "truth_ed", "truth_es")
    if not set(needed) <= set(t1.columns):
        return {}
    known = t1.select("case", "context", "format", *needed).drop_nulls(needed)
    rows = known.unique("case", keep="first", maintain_order=True).iter_rows(named=True)
    # Somebody else's file may name a truth beyond the frames it says were shown.
    return {
        row["case"]: row
        for row in rows
        if all(0 <= row[f"truth_{phase}"] < row["count"] for phase in PHASES)
    }
