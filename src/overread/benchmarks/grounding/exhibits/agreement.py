"""Figure 6 and Supplementary Figure 1a: does a rate stay where it was under other circumstances?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.style import FAINT, Spec, shown
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.planes import in_words, limits, plane, plane_row
from overread.benchmarks.grounding.exhibits.robust import sizes
from overread.benchmarks.grounding.exhibits.style import UNKNOWN, identity
from overread.case import Figure, Measure

__all__ = ["resolution_plane", "transfer_figure"]

_LONGEST: Final = 40
_NOTE: Final = "On the dashed line a reader has the same rate twice; bars are 95 % intervals."


def transfer_figure(
    pairs: Sequence[tuple[str, Measure, Measure]],
    *,
    names: tuple[str, str] = ("first run", "second run"),
    rate: str = "UAR",
    categories: Mapping[str, str] | None = None,
    text_only: frozenset[str] = frozenset(),
    signature: str = "",
    notes: Sequence[str] = (),
) -> Figure:
    """Figure 6a, b: a rate in one run against the same rate in another, reader by reader.

    `pairs` are (reader, its record in the first run, its record in the second); one without a value
    is left out. `categories` are those of the first run.
    """
    drawn = shown([reader for reader, _, _ in pairs])
    rows = [
        plane_row(
            {
                "reader": reader,
                "shown": drawn[reader],
                "category": (categories or {}).get(reader, UNKNOWN),
                "gets_image": reader not in text_only,
            },
            x,
            y,
        )
        for reader, x, y in pairs
        if x.value is not None and y.value is not None
    ]
    at = [name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}" for name in names]
    spec = _same_axes(rows, (f"{rate} in {at[0]}, percent", f"{rate} in {at[1]}, percent"))
    if not categories:
        spec["config"] = {**spec["config"], "legend": {"disable": True}}
    told = in_words(rows, f"in {names[0]}", f"in {names[1]}") if rows else "no reader has both"
    return Figure(
        name="transfer",
        title="Do the numbers hold on other cases?",
        spec=spec,
        alt=f"{rate} of every reader in two runs, percent with 95 % intervals: {told}.",
        signature=signature,
        notes=(_NOTE, *notes),
    )


def resolution_plane(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 1a: CGR at another resolution against CGR at the headline's."""
    px = sizes(index)
    if len(px) < 2:
        return None
    names = shown(index.readers)
    rows = [
        plane_row(identity(index, reader, names), x, y)
        for reader in index.readers
        if (x := index.known(reader, "cgr", px=px[0]))
        and (y := index.known(reader, "cgr", px=px[1]))
    ]
    if not rows:
        return None
    return Figure(
        name="resolution_plane",
        title=f"Is CGR the same at {px[1]} pixels?",
        spec=_same_axes(rows, (f"CGR at {px[0]} px, percent", f"CGR at {px[1]} px, percent")),
        alt=f"CGR at {px[1]} against {px[0]} pixels, percent with 95 % intervals: "
        f"{in_words(rows, f'at {px[0]} px', f'at {px[1]} px')}.",
        signature=signature,
        notes=(_NOTE,),
    )


def _same_axes(rows: list[Spec], titles: tuple[str, str]) -> Spec:
    """A plane whose two axes are the same, with the line on which both rates are equal."""
    low, high = 0.0, 100.0
    if rows:
        ends = (*limits(rows, "x"), *limits(rows, "y"))
        low, high = min(ends), max(ends)
    room = (high - low) / 50
    number: Any = {"type": "quantitative"}
    line = {
        "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
        "mark": {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1},
        "encoding": {"x": {"field": "x", **number}, "y": {"field": "y", **number}},
    }
    both = (low - room, high + room)
    return plane(rows, titles, both, both, (line,))
