"""Which boxes of a dataset can be masked, and how many cannot and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from overread.benchmarks.grounding.boxes import rescale_box, within_square
from overread.benchmarks.grounding.build.films import PRESENT
from overread.benchmarks.grounding.build.films_read import FilmsRead
from overread.benchmarks.grounding.build.scheme import Account, Rules
from overread.case import Box

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Boxed", "usable_boxes"]


class Boxed(NamedTuple):
    """Boxes at the working resolution, hidden together, and the dataset's words for them."""

    boxes: tuple[Box, ...]
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
    """Boxes that can be masked; the others are counted.

    `corrected` hides all boxes of a finding at once, largest first, if one of them is large enough;
    `authors` makes a mask of each that is (GROUNDING 2.2).
    """
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
        for some in [boxes] if edition == "corrected" else [[box] for box in boxes]:
            side = max(_least_side(box, resolution) for box in some)
            account.sides.append(side)
            if side < minimum_side:
                lost[f"box below {minimum_side} pixels of {resolution} [D12]"] += len(some)
            else:
                place = found.setdefault(finding, {}).setdefault(image, [])
                place.append(_boxed(some, edition, resolution))
    for reason, count in lost.items():
        account.drop(reason, count)
    return found


def _least_side(box: dict[str, Any], resolution: int) -> float:
    """The shorter side at the working resolution, not yet rounded [D12]."""
    across, down = resolution / box["image_width"], resolution / box["image_height"]
    return float(min(box["w"] * across, box["h"] * down))


def _boxed(boxes: list[dict[str, Any]], edition: Rules, resolution: int) -> Boxed:
    scaled = []
    for box in boxes:
        sides = (box["x"], box["y"], box["w"], box["h"], box["image_width"], box["image_height"])
        one = rescale_box(*sides, resolution, 0)
        assert one is not None
        scaled.append(within_square(one, resolution) if edition == "corrected" else one)
    scaled.sort(key=lambda box: -box.w * box.h)
    # A speck beside a large box may come out with no pixel at all.
    scaled = [box for box in scaled if box.w > 0 and box.h > 0] or scaled[:1]
    texts = dict.fromkeys(box["label_text"] for box in boxes if box["label_text"])
    return Boxed(tuple(scaled), "; ".join(texts) or None)
