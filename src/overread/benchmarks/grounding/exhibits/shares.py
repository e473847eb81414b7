"""Figure 4: how much of a reader's answers the image, and the finding in it, really carries."""

from __future__ import annotations

from typing import Any, Final

from overread.benchmarks.exhibits.cells import cell
from overread.benchmarks.exhibits.style import (
    INK,
    PAPER,
    Spec,
    figure_spec,
    number_axis,
    reader_axis,
    shown,
)
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import (
    LANE,
    WIDTH,
    bounds,
    category_marks,
    hundred,
    numbers,
    spoken,
)
from overread.benchmarks.grounding.exhibits.style import identity, tint
from overread.case import Figure

__all__ = ["decomposition", "premium"]

_OFFSET: Final = 22


def premium(index: Index, signature: str) -> Figure | None:
    """Figure 4c: flips under the target mask and under a mask elsewhere, joined by the GSP."""
    if not any(index.known(r, "cgr") and index.known(r, "is") for r in index.readers):
        return None
    names = shown(index.readers)
    order = index.ranked("gsp")
    rows = []
    for reader in order:
        gsp, cgr, stable = (index.get(reader, name) for name in ("gsp", "cgr", "is"))
        kept = hundred(stable.value) if stable is not None else None
        rows.append(
            identity(index, reader, names)
            | {
                "cgr": hundred(cgr.value) if cgr is not None else None,
                "elsewhere": None if kept is None else round(100 - kept, 3),
                "gsp": hundred(gsp.value) if gsp is not None else None,
                "low": hundred(gsp.low) if gsp is not None else None,
                "high": hundred(gsp.high) if gsp is not None else None,
                "n": gsp.n if gsp is not None else None,
                "text": cell(gsp).partition(" n=")[0],
            }
        )
    lanes = [names[reader] for reader in order]
    low, high = bounds((v for row in rows for v in (row["cgr"], row["elsewhere"])), 0)
    y = reader_axis(lanes, offset=_OFFSET)
    x: Any = number_axis("cgr", "answers flipped, percent", low - high / 50, high)

    def flips(field: str, size: int, fill: str) -> Spec:
        mark = {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1}
        return {
            "mark": {**mark, "stroke": INK, "fill": fill},
            "encoding": {"x": {**x, "field": field}, "y": y},
        }

    # The ring is the larger, so that both are seen where the masks flip alike.
    layers = [
        category_marks(rows, lanes, _OFFSET),
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.6},
            "encoding": {"x": x, "x2": {"field": "elsewhere"}, "y": y, "stroke": tint(rows)},
        },
        flips("elsewhere", 110, PAPER),
        flips("cgr", 30, INK),
        *numbers(WIDTH, lanes),
    ]
    key = {
        "text": "●\u2002target mask (CGR)\u2003\u2003○\u2002mask elsewhere (100 − IS)",
        "fontWeight": "normal",
        "frame": "group",
    }
    return Figure(
        name="gsp",
        title="Does the target mask flip more answers than a mask elsewhere?",
        spec=figure_spec(rows, title=key, width=WIDTH, height={"step": LANE}, layer=layers),
        alt="Grounding-specificity premium (GSP), answers flipped by the target mask less those "
        f"flipped by a mask elsewhere, in percentage points with 95 % interval: {spoken(rows)}",
        signature=signature,
        notes=(
            "At the right the GSP in percentage points [95 % interval], on the n cases answered "
            "under both masks. The bar joins the two rates, each on its own cases: it may be "
            "longer or shorter.",
        ),
    )


def decomposition(index: Index, signature: str) -> Figure | None:
    """Figure 4a: correct answers that a like image of another patient leaves, and changes."""
    if not index.any("image_contingent"):
        return None
    names = shown(index.readers)
    order = index.ranked("image_contingent")
    rows = []
    for reader in order:
        record = index.get(reader, "image_contingent")
        changed = hundred(record.value) if record is not None else None
        rows.append(
            identity(index, reader, names)
            | {
                "kept": None if changed is None else round(100 - changed, 3),
                "changed": changed,
                "low": hundred(record.low) if record is not None else None,
                "high": hundred(record.high) if record is not None else None,
                "n": record.n if record is not None else None,
                "text": cell(record).partition(" n=")[0],
            }
        )
    lanes = [names[reader] for reader in order]
    y = reader_axis(lanes, offset=_OFFSET)
    axis = number_axis("kept", "correct answers, percent", 0, 100)

    def bar(start: Any, end: str, opacity: float) -> Spec:
        return {
            "mark": {"type": "bar", "height": 14, "opacity": opacity},
            "encoding": {"x": start, "x2": {"field": end}, "y": y, "fill": tint(rows)},
        }

    zero = {"calculate": "0", "as": "none"}
    whole = {"calculate": "100", "as": "whole"}
    layers = [
        category_marks(rows, lanes, _OFFSET),
        {**bar(axis, "none", 0.25), "transform": [zero]},
        {**bar(axis, "whole", 1), "transform": [{"filter": "datum.changed > 0"}, whole]},
        *numbers(WIDTH, lanes),
    ]
    return Figure(
        name="decomposition",
        title="How many correct answers does a like image of another patient change?",
        spec=figure_spec(rows, width=WIDTH, height={"step": LANE}, layer=layers),
        alt="Share of correct answers that another patient's image of the same finding and label "
        f"changes, percent with 95 % interval: {spoken(rows)}",
        signature=signature,
        notes=(
            "Pale: another patient's image of the same finding and label leaves the answer. Full: "
            "it changes it; that share stands at the right [95 % interval].",
            "The right answer is the same for both images: a reader that sees the finding keeps it "
            "as one that does not look does.",
        ),
    )
