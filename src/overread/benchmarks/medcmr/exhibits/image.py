"""Beyond the paper: what part of the score survives without the picture?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.medcmr.edition import IMAGES
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    groups_of,
    interval_notes,
    judged_notes,
    worded,
)
from overread.case import Figure, Measure, Table

__all__ = ["image_exhibits"]

_OTHERS: Final = tuple(image for image in IMAGES if image != "original")
_NAMES: Final = {"blank": "black image", "swap": "other image", "text": "no image"}
_EXPLAINED: Final = (
    "Black image: the item's own, all black; other image: that of another item of the same "
    "dimension; no image: the words alone."
)
_ALL: Final = "all items"
_OWN: Final = "accuracy with the image"


def image_exhibits(index: Index, signature: str) -> Iterator[Table | Figure | None]:
    """The drawing, the table of accuracy, the table of judged scores."""
    yield _lanes(index, signature)
    yield _table(index, "accuracy", signature)
    yield _table(index, "score", signature)


def _asked(index: Index, measure: str) -> list[str]:
    return [image for image in _OTHERS if index.any(measure, condition=image)]


def _changed(
    index: Index, reader: str, name: str, image: str, by: dict[str, str]
) -> Measure | None:
    return index.get(reader, name, condition=image, versus="original", **by)


def _table(index: Index, measure: str, signature: str) -> Table | None:
    asked = _asked(index, measure)
    if not asked:
        return None
    choice = measure == "accuracy"
    groups: list[dict[str, str]] = [{}]
    groups += [{"dimension": name} for name in groups_of(index, "dimension")]
    rows = []
    for reader in index.readers:
        for by in groups:
            own = index.get(reader, measure, **by)
            others = [index.get(reader, measure, condition=image, **by) for image in asked]
            if not any(others):
                continue
            cells = [cell(own)]
            for image, other in zip(asked, others, strict=True):
                diff = _changed(index, reader, f"diff_{measure}", image, by)
                cells += [cell(other), NOT_ASKED if diff is None else tested(diff)]
                if choice:
                    cells.append(cell(_changed(index, reader, "survives", image, by)))
            rows.append((reader, by.get("dimension", _ALL), *cells))
    said = "accuracy" if choice else "S"
    parts = ("difference", "survives") if choice else ("difference",)
    heads = [
        head
        for image in asked
        for head in (f"{said}, {_NAMES[image]}", *(f"{part}, {_NAMES[image]}" for part in parts))
    ]
    return table(
        "image_dependence" if choice else "image_dependence_open",
        "How much survives without the picture?"
        if choice
        else "Do the open answers depend on the picture?",
        ("reader", "dimension", f"{said}, own image", *heads),
        rows,
        signature,
        (
            "What a reader scores without the picture it did not read off the picture: only the "
            f"difference is evidence that it looks. {_EXPLAINED}",
            "Difference: without the image less with it, in points, on the same items; with p and "
            "q (Benjamini and Hochberg's)."
            + (" Survives: the former as a share of the latter." if choice else ""),
            *(() if choice else judged_notes(index)),
            *interval_notes(index, measure, f"diff_{measure}"),
        ),
        facts=2,
    )


def _lanes(index: Index, signature: str) -> Figure | None:
    asked = _asked(index, "accuracy")
    cast = cast_of(index, [ACCURACY])
    panels = [(_OWN, "")] + [(f"change, {_NAMES[image]}", image) for image in asked]
    lanes: list[tuple[str, dict[str, str]]] = [(_ALL, {})]
    lanes += [(worded(name), {"dimension": name}) for name in groups_of(index, "dimension")]
    rows = []
    for panel, image in panels:
        for lane, by in lanes:
            for reader, name in cast.names.items():
                record = (
                    _changed(index, reader, "diff_accuracy", image, by)
                    if image
                    else index.get(reader, "accuracy", **by)
                )
                if record is not None and record.value is not None:
                    rows.append(point_row(reader, name, panel, record, lane=lane, panel=panel))
    if not any(row["panel"] != _OWN for row in rows):
        return None
    kept = [lane for lane, _ in lanes if any(row["lane"] == lane for row in rows)]
    low, high = _bounds([row for row in rows if row["panel"] != _OWN])
    chance = index.known("", "chance")
    line = None if chance is None else 100 * (chance.value or 0)
    drawn = [Panel(_OWN, line=line)]
    drawn += [Panel(panel, "points", low, high, line=0) for panel, image in panels if image]
    return Figure(
        name="image_lanes",
        title="What changes without the picture",
        spec=dots(rows, kept, drawn, cast),
        alt=f"Accuracy in percent, and its change in points: {spoken(rows, 'lane', 'panel')}.",
        signature=signature,
        notes=(
            "Points on the dashed line at 0: the picture made no difference to the answers. "
            f"{_EXPLAINED}",
            *(["Dashed beside accuracy: an option drawn by lot."] if line is not None else []),
            *unfit_note(rows),
            *cast.notes,
            *interval_notes(index, "accuracy", "diff_accuracy"),
        ),
    )


def _bounds(rows: Sequence[dict[str, object]]) -> tuple[float, float]:
    """Tens around everything drawn, and 0."""
    ends = [
        float(end)
        for row in rows
        for name in ("value", "low", "high")
        if isinstance(end := row[name], int | float)
    ]
    return 10 * (min((0.0, *ends)) // 10), -10 * (-max((0.0, *ends)) // 10)
