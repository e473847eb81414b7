"""Boxes of a finding's size elsewhere on a phantom: masks that should not matter.

Where a patient's trunk is need not be found on a phantom: it is known.
"""

from __future__ import annotations

import numpy as np

from overread.benchmarks.grounding.boxes import RESOLUTION
from overread.benchmarks.grounding.build.body import matched_boxes
from overread.case import Box

__all__ = ["DRAWS", "TRUNK", "on_the_trunk"]

DRAWS = 5
TRUNK = Box(27, 43, 170, 181)
"""Inside every patient's outline at 224, below the shoulders and clear of where markers stand."""


def on_the_trunk(rng: np.random.Generator, target: Box) -> tuple[Box, ...]:
    """Up to five different boxes of the target's size, drawn evenly from all places there are.

    A target as large as the heart of a cardiomegaly leaves no room for any.
    """
    trunk = np.zeros((RESOLUTION, RESOLUTION), np.bool_)
    trunk[TRUNK.y : TRUNK.y + TRUNK.h, TRUNK.x : TRUNK.x + TRUNK.w] = True
    return matched_boxes(target, trunk, DRAWS, rng)
