"""Drawing that many tests need, once: pages and phantoms are the same to the byte.

What a page shows of a picture is a function of bytes alone, and a small run is shown
by many tests. Files are still read each time, and what cannot be read is still refused.
"""

from __future__ import annotations

import functools
from hashlib import blake2b

import pytest

from overread.case import Clip, Overlay, Picture, Shown
from overread.imaging._files import read
from overread.phantoms import sets
from overread.report import browser
from overread.runs._reporting import Pictures

__all__ = ["draw_once"]


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Pictures of cards, each once in this process; phantoms drawn in it.

    To start a process that draws phantoms takes longer than to draw a few.
    """
    count = sets.worker_count
    patch.setattr(
        sets,
        "worker_count",
        lambda asked, *given, **more: count(1 if asked is None else asked, *given, **more),
    )
    _keep_pictures(patch)
    patch.setattr(browser, "embedded", functools.cache(browser.embedded))


def _keep_pictures(patch: pytest.MonkeyPatch) -> None:
    make = Pictures._rendered
    kept: dict[tuple[object, ...], Shown] = {}

    def rendered(self: Pictures, case: str, picture: Picture | Clip) -> Shown:
        if isinstance(picture, Clip) or any(
            isinstance(operation, Overlay) for operation in picture.operations
        ):
            return make(self, case, picture)  # of more files than one
        key = blake2b(read(picture.source)).digest(), picture.operations, picture.wire
        if key not in kept:
            kept[key] = make(self, case, picture)
        return kept[key]

    patch.setattr(Pictures, "_rendered", rendered)
