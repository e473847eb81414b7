"""The machine a run was made on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from overread.records import Machine


def machine() -> Machine:
    """System, processor, cores and memory, as far as the system tells them."""
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=_processor(),
        cores=os.cpu_count() or 0,
        memory_gb=_memory(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _memory() -> float:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0.0
    return round(pages * size / 1e9, 1)
