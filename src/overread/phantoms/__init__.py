"""Synthetic patients whose truth is known exactly. Each kind is imported when it is made."""

from pathlib import Path

from overread.case import BadInput

__all__ = ["write_set"]


def write_set(benchmark: str, root: Path, n: int, seed: int = 0) -> Path:
    """The phantom cases of a benchmark in a folder of their own below `root`, made if not there."""
    if benchmark == "grounding":
        from overread.phantoms.chest import REVISION, write_chest_set

        return write_chest_set(root / f"phantom-chest-{n}-{seed}-r{REVISION}", n, seed)
    if benchmark == "heartbeat":
        from overread.phantoms.heart import HEART_REVISION, write_heart_set

        return write_heart_set(root / f"phantom-heart-{n}-{seed}-r{HEART_REVISION}", n, seed)
    if benchmark == "m3cot":
        from overread.phantoms.question import QUESTION_REVISION, write_question_set

        return write_question_set(
            root / f"phantom-question-{n}-{seed}-r{QUESTION_REVISION}", n, seed
        )
    if benchmark == "medcmr":
        from overread.phantoms.vignette import VIGNETTE_REVISION, write_vignette_set

        return write_vignette_set(
            root / f"phantom-vignette-{n}-{seed}-r{VIGNETTE_REVISION}", n, seed
        )
    raise BadInput(
        f'benchmark "{benchmark}" has no phantoms; grounding, heartbeat, m3cot and medcmr have.'
    )
