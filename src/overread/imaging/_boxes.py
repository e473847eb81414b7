"""Boxes on a square picture: from source pixels to it, what they share, and a like box elsewhere.

Boxes stand in a square of 224 pixels that the image is stretched to, each axis on its own
(GROUNDING 2.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from overread.case import Box

RESOLUTION = 224
MINIMUM_SIDE = 50


def rescale_box(
    x: float,
    y: float,
    w: float,
    h: float,
    image_width: float,
    image_height: float,
    minimum_side: float = MINIMUM_SIDE,
) -> Box | None:
    """A box in source pixels as a box at the working resolution, or None if it is too small.

    A side is judged before rounding: at least `minimum_side` pixels of the 224, by default 50
    (GROUNDING 2.2 step 2, [D12]). Each number is rounded half to even on its own and nothing
    is clipped, so x + w can be 225: see `within_square`.
    """
    if image_width <= 0 or image_height <= 0:
        raise ValueError(f"an image of {image_width} x {image_height} pixels has no box")
    across, down = RESOLUTION / image_width, RESOLUTION / image_height
    if w * across < minimum_side or h * down < minimum_side:
        return None
    return Box(round(x * across), round(y * down), round(w * across), round(h * down))


def within_square(box: Box) -> Box:
    """What of a box lies in the square: its mask must be as large as the irrelevant one [D11]."""
    left, top = max(0, box.x), max(0, box.y)
    right, bottom = min(RESOLUTION, box.x + box.w), min(RESOLUTION, box.y + box.h)
    return Box(left, top, right - left, bottom - top)


def irrelevant_box(box: Box) -> Box:
    """A box of the same size in the corner whose centre lies farthest from the target's centre.

    Ties go to the earliest of top left, top right, bottom left, bottom right; then each coordinate
    is clipped to [0, 224 - side] (GROUNDING 2.7). A large or central target overlaps its
    irrelevant box: see `overlap_fraction`.
    """
    right, bottom = RESOLUTION - box.w, RESOLUTION - box.h
    corners = ((0, 0), (right, 0), (0, bottom), (right, bottom))
    # Both boxes have one size, so the distance of the centres is that of the corners.
    x, y = max(corners, key=lambda at: (at[0] - box.x) ** 2 + (at[1] - box.y) ** 2)
    return Box(max(0, min(x, right)), max(0, min(y, bottom)), box.w, box.h)


def irrelevant_boxes(targets: Sequence[Box]) -> tuple[Box, ...]:
    """A box in a corner for every target, the largest target first.

    One target gets its `irrelevant_box`. Of several, each gets the farthest corner in which its box
    lies on no target and no earlier control, and its `irrelevant_box` where there is none.
    """
    if len(targets) == 1:
        return (irrelevant_box(targets[0]),)
    placed: dict[int, Box] = {}
    for at in sorted(range(len(targets)), key=lambda at: -targets[at].w * targets[at].h):
        box = targets[at]
        corners = (
            Box(x, y, box.w, box.h)
            for x, y in itertools.product((0, RESOLUTION - box.w), (0, RESOLUTION - box.h))
        )
        taken = [*targets, *placed.values()]
        free = [corner for corner in corners if not _any([corner], taken)]
        far = [(corner.x - box.x) ** 2 + (corner.y - box.y) ** 2 for corner in free]
        placed[at] = free[far.index(max(far))] if free else irrelevant_box(box)
    return tuple(placed[at] for at in range(len(targets)))


def at_resolution(box: Box, px: int) -> Box:
    """The box at `px` pixels: each number times px / 224, truncated toward zero."""
    x, y, w, h = (abs(v) * px // RESOLUTION for v in (box.x, box.y, box.w, box.h))
    return Box(x if box.x >= 0 else -x, y if box.y >= 0 else -y, w, h)


def closed(box: Box) -> Box:
    """The half-open box with the pixels of the authors' mask, whose second corner is painted too.

    Their rectangle blacks (w + 1) x (h + 1) pixels, less what falls outside the image [D11].
    """
    return Box(box.x, box.y, box.w + 1, box.h + 1)


def overlap(a: Box, b: Box) -> int:
    """The pixels two half-open boxes share."""
    across = min(a.x + a.w, b.x + b.w) - max(a.x, b.x)
    down = min(a.y + a.h, b.y + b.h) - max(a.y, b.y)
    return max(0, across) * max(0, down)


def overlap_fraction(targets: Sequence[Box], controls: Sequence[Box]) -> float:
    """The share of the targets the irrelevant boxes cover: 0 where the control is clean."""
    return _area(targets, controls) / _area(targets) if _any(targets, controls) else 0.0


def mirrored_share(boxes: Sequence[Box], hidden: Sequence[Box], resolution: int) -> float:
    """The most any of the boxes, mirrored at the picture's middle, lies on what is hidden.

    Such a box has nothing to be filled with from the other side.
    """
    other = [Box(resolution - box.x - box.w, box.y, box.w, box.h) for box in boxes]
    return max(overlap_fraction([box], hidden) for box in other)


def _any(some: Sequence[Box], others: Sequence[Box]) -> bool:
    return any(overlap(one, other) for one in some for other in others)


def _area(*groups: Sequence[Box]) -> int:
    """The pixels that lie in some box of every group."""
    boxes = [box for group in groups for box in group]
    across = sorted({edge for box in boxes for edge in (box.x, box.x + box.w)})
    down = sorted({edge for box in boxes for edge in (box.y, box.y + box.h)})
    cells = (
        Box(x, y, right - x, bottom - y)
        for x, right in itertools.pairwise(across)
        for y, bottom in itertools.pairwise(down)
    )
    return sum(cell.w * cell.h for cell in cells if all(_any([cell], group) for group in groups))
