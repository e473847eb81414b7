"""Which boxes of a dataset can be masked, and how many cannot and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from overread.benchmarks.grounding.build.films import PRESENT
from overread.benchmarks.grounding.build.films_read import FilmsRead
from overread.benchmarks.grounding.build.scheme import Account, Rules
from overread.case import Box

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Boxed", "usable_boxes"]


class Boxed(NamedTuple):
    """A box at the working resolution, and the dataset's words for it."""

    box: Box
    label_text: str | None


# By finding and image.
Boxes = dict[str, dict[str, list[Boxed]]]


def usable_boxes(
    read: FilmsRead,
    films: pl.DataFrame,
    account: Account,
    edition: Rules,
    resolution: int,
    minimum_side: int,
) -> Boxes:
    """Boxes that can be masked; the others are counted."""
    import polars as pl

    if read.boxes is None:
        return {}
    wanted = read.boxes["image_path"].unique().implode()
    here = films.filter(pl.col("image_path").is_in(wanted)).to_dicts()
    labels = {film["image_path"]: film for film in here}
    lost: Counter[str] = Counter()
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for box in read.boxes.to_dicts():
        finding, image = box["finding"], box["image_path"]
        if image not in labels:
            lost["a box on a film left out"] += 1
        elif labels[image].get(finding) != PRESENT:
            lost["a box of a finding its film is not labelled with"] += 1
        else:
            grouped.setdefault((finding, image), []).append(box)
    found: Boxes = {}
    for (finding, image), boxes in grouped.items():
        if edition == "corrected" and len(boxes) > 1:
            lost["boxes beside others of their finding: masking one leaves the rest"] += len(boxes)
            continue
        for box in boxes:
            scaled = _scaled(box, resolution, minimum_side)
            if scaled is not None and edition == "corrected":
                scaled = _within(scaled, resolution)
            if scaled is None:
                lost[f"box below {minimum_side} pixels of {resolution} [D12]"] += 1
            else:
                place = found.setdefault(finding, {}).setdefault(image, [])
                place.append(Boxed(scaled, box["label_text"]))
    for reason, count in lost.items():
        account.drop(reason, count)
    return found


def _scaled(box: dict[str, Any], resolution: int, minimum_side: int) -> Box | None:
    """The box at the working resolution, each axis on its own (2.2), or None if it is too small."""
    scales = (resolution / box["image_width"], resolution / box["image_height"]) * 2
    x, y, w, h = (box[side] * scale for side, scale in zip("xywh", scales, strict=True))
    if w < minimum_side or h < minimum_side:
        return None
    return Box(round(x), round(y), round(w), round(h))


def _within(box: Box, resolution: int) -> Box:
    """What of a box lies in the square: its mask must be as large as the irrelevant one [D11]."""
    left, top = max(0, box.x), max(0, box.y)
    right, bottom = min(resolution, box.x + box.w), min(resolution, box.y + box.h)
    return Box(left, top, right - left, bottom - top)
