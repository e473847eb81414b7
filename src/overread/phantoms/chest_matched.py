"""Boxes of a finding's size elsewhere in the body: masks that should not matter, and look no odder.

The irrelevant box lies in a corner of the film, half off the patient, where no finding could be. A
matched box lies on the trunk as the target does.
"""

from __future__ import annotations

import numpy as np

from overread.case import Box

__all__ = ["DRAWS", "TRUNK", "matched_boxes"]

DRAWS = 5
TRUNK = Box(27, 43, 170, 181)
"""Inside every patient's outline at 224, below the shoulders and clear of where markers stand."""
_SPARE = 3  # between the boxes, for masks that grow and for rounding at other resolutions


def matched_boxes(rng: np.random.Generator, target: Box) -> tuple[Box, ...]:
    """Up to five different boxes of the target's size, drawn evenly from all places there are.

    They may overlap each other, never the target. A target as large as the heart of a cardiomegaly
    leaves no room for any.
    """
    x, y = np.meshgrid(
        np.arange(TRUNK.x, TRUNK.x + TRUNK.w - target.w + 1),
        np.arange(TRUNK.y, TRUNK.y + TRUNK.h - target.h + 1),
    )
    beside = np.abs(x - target.x) >= target.w + _SPARE
    above = np.abs(y - target.y) >= target.h + _SPARE
    places = np.column_stack([x[beside | above], y[beside | above]])
    drawn = rng.choice(len(places), min(DRAWS, len(places)), replace=False)
    return tuple(Box(int(x), int(y), target.w, target.h) for x, y in places[drawn])
