"""One clip frame by frame: the true frames framed, and below them what every reader said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from overread.benchmarks.exhibits.style import INK, Spec, figure_spec
from overread.benchmarks.heartbeat.exhibits.seen import Seen, answer_rows
from overread.benchmarks.heartbeat.exhibits.settings import NAMES
from overread.benchmarks.heartbeat.exhibits.strip_lanes import COLOURS, Lanes, drawn
from overread.benchmarks.heartbeat.exhibits.tiles import WIDTH, Tile, tiles
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.case import BadInput, Figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Seen", "strip"]

_HEAD: Final = 26  # between the frames and the lanes
_FOOT: Final = 34  # the numbers below the lanes


def strip(
    seen: Seen,
    frames: Sequence[NDArray[np.uint8]],
    *,
    name: str = "strip",
    title: str = "",
    signature: str = "",
) -> Figure:
    """The frames of a window as pixels (uint8, H x W or H x W x 3), truth and answers marked."""
    if len(frames) != seen.count or not all(0 <= at < seen.count for at in (seen.ed, seen.es)):
        raise BadInput(
            f"{seen.case}: {len(frames)} frames were given for a window of {seen.count} with true "
            f"frames {seen.ed} and {seen.es}. Give every frame of the window."
        )
    placed, height = tiles(frames, (seen.ed, seen.es))
    lanes = Lanes(seen, height + _HEAD)
    rows = list(answer_rows(seen))
    whole = lanes.bottom + _FOOT
    layers = [*_frames(placed, seen), *lanes.ground(), *lanes.marks(rows)]
    for layer in layers:
        layer["encoding"]["x"] |= _pixels(WIDTH)
        layer["encoding"]["y"] |= _pixels(whole, reverse=True)
    thinned = len(placed) < seen.count
    return Figure(
        name=name,
        title=title or f"Frame by frame: {seen.case}",
        spec=figure_spec(rows, width=WIDTH, height=whole, layer=layers),
        alt=_alt(seen),
        signature=signature,
        notes=_notes(seen, rows, thinned),
    )


def _pixels(length: float, *, reverse: bool = False) -> Spec:
    scale = {"domain": [0, length], "nice": False, "zero": False, "reverse": reverse}
    return {"type": "quantitative", "scale": scale, "axis": None}


def _frames(placed: list[Tile], seen: Seen) -> list[Spec]:
    pictures = [{"x": t.x, "y": t.y, "url": t.url} for t in placed]
    first = placed[0]
    image = {"type": "image", "width": first.width, "height": first.height}
    framed, words = [], []
    for tile in placed:
        phase = _phase_of(tile.frame, seen)
        middle, below = tile.x + tile.width / 2, tile.y + tile.height + 4
        text = f"{tile.frame} {phase.upper()}" if phase else str(tile.frame)
        colour = COLOURS[phase] if phase else INK
        weight = "bold" if phase else "normal"
        words.append({"x": middle, "y": below, "text": text, "colour": colour, "weight": weight})
        if phase:
            ends = {"x2": tile.x + tile.width, "y2": tile.y + tile.height}
            framed.append({"x": tile.x, "y": tile.y, **ends, "colour": colour})
    painted = {"field": "colour", "type": "nominal", "scale": None}
    return [
        drawn(
            pictures,
            {**image, "align": "left", "baseline": "top"},
            url={"field": "url", "type": "nominal"},
        ),
        drawn(
            framed,
            {"type": "rect", "filled": False, "strokeWidth": 3},
            x2={"field": "x2"},
            y2={"field": "y2"},
            stroke=painted,
        ),
        *(
            drawn(
                [word for word in words if word["weight"] == weight],
                {"type": "text", "baseline": "top", "fontWeight": weight},
                text={"field": "text"},
                color=painted,
            )
            for weight in ("normal", "bold")
        ),
    ]


def _phase_of(index: int, seen: Seen) -> Phase | None:
    return "ed" if index == seen.ed else "es" if index == seen.es else None


def _alt(seen: Seen) -> str:
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


def _notes(seen: Seen, rows: list[Spec], thinned: bool) -> tuple[str, ...]:
    said = [
        f"Context {NAMES[seen.context]}, format {seen.format}. Blue and circles: end-diastole; "
        "vermillion and squares: end-systole. A mark is as large as the answer is frequent over "
        "seeds and passes."
    ]
    if any(not row["shown"] for row in rows):
        said.append("An arrow is an answer that no frame bears, with its number.")
    if thinned:
        said.append(f"Of the {seen.count} frames some are left out of the pictures.")
    return (" ".join(said),)
