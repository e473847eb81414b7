"""Synthetic patients whose truth is known exactly."""

from pathlib import Path

from overread.case import BadInput
from overread.phantoms.chest import REVISION, write_chest_set
from overread.phantoms.heart import HEART_REVISION, write_heart_set

__all__ = ["write_chest_set", "write_heart_set", "write_set"]


def write_set(benchmark: str, root: Path, n: int, seed: int = 0) -> Path:
    """The phantom cases of a benchmark in a folder of their own below `root`, made if not there."""
    if benchmark == "heartbeat":
        return write_heart_set(root / f"phantom-heart-{n}-{seed}-r{HEART_REVISION}", n, seed)
    if benchmark != "grounding":
        raise BadInput(f'benchmark "{benchmark}" has no phantoms; grounding and heartbeat have.')
    return write_chest_set(root / f"phantom-chest-{n}-{seed}-r{REVISION}", n, seed)
