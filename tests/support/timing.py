"""Times that a busy machine does not change much: of the processor, not of the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def cpu_seconds(work: Callable[[], T], times: int = 1) -> tuple[float, T]:
    """The processor's seconds that it took at the least, and what came of it."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        made = work()
        taken.append(time.process_time() - began)
    return min(taken), made
