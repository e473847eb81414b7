"""A set of synthetic four-chamber echo clips on disk, with a csv that `clip_folder` reads.

Every heart is made up, so its volume in every frame is exact and anyone may share it. The clips are
for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from overread.case import BadInput
from overread.phantoms.heart_worker import CLIPS, MASKS, VOLUMES, Made, make_hearts
from overread.phantoms.set_folder import Card, write_csv, write_once
from overread.phantoms.workers import worker_count

__all__ = ["COLUMNS", "HEART_REVISION", "write_heart_set"]

HEART_REVISION = 2
"""Raised whenever the same seed would give other bytes."""

COLUMNS = (
    "case_id", "clip", "ed", "es", "frames", "fps", "ef", "ed_volume", "es_volume", "patient",
    "view", "sex", "age", "split", "mask", "volumes",
)  # fmt: skip
"""Columns of cases.csv; volumes in pixels cubed. The split is EchoNet's word for what is asked."""

_TRUTH = ("case_id", "beat", "ed", "es", "annotated", "heart_rate")


def write_heart_set(folder: Path, n: int = 100, seed: int = 0, workers: int | None = None) -> Path:
    """Write n clips below `folder` and return the path of cases.csv.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    if n < 1:
        raise BadInput(f"a heart set of {n} clips is none; ask for at least 1.")
    if seed < 0:
        raise BadInput(f"seed {seed} is negative; use 0 or above.")
    hands = worker_count(workers, n, share=4, drawn="clips")

    def fill(staging: Path) -> None:
        for part in (CLIPS, MASKS, VOLUMES):
            (staging / part).mkdir()
        # Names are in no order of anything, so that they say nothing.
        names = [f"heart_{k:05d}" for k in np.random.default_rng([seed, 0]).permutation(n)]
        made = make_hearts(staging, seed, names, hands)
        named = sorted(zip(names, made, strict=True), key=lambda pair: pair[0])
        write_csv(staging / "cases.csv", COLUMNS, _cases(named))
        write_csv(staging / "phantom_truth.csv", _TRUTH, _truths(named))

    return write_once(folder, Card("heart", "cases.csv", n, seed, HEART_REVISION), fill)


# ---------------------------------------------------------------- tables


def _cases(named: Sequence[tuple[str, Made]]) -> Iterable[dict[str, object]]:
    for name, one in named:
        yield {
            "case_id": name,
            "clip": f"{CLIPS}/{name}.mkv",
            "ed": one.ed,
            "es": one.es,
            "frames": one.frames,
            "fps": one.fps,
            "ef": f"{one.ef:.1f}",
            "ed_volume": f"{one.ed_volume:.3f}",
            "es_volume": f"{one.es_volume:.3f}",
            "patient": f"p_{name}",
            "view": "A4C",
            "sex": one.sex,
            "age": one.age,
            "split": "VAL",
            "mask": f"{MASKS}/{name}.npz",
            "volumes": f"{VOLUMES}/{name}.csv",
        }


def _truths(named: Sequence[tuple[str, Made]]) -> Iterable[dict[str, object]]:
    """Every beat that is in a clip with both its phases."""
    for name, one in named:
        for beat, (ed, es) in enumerate(one.beats):
            yield {
                "case_id": name,
                "beat": beat,
                "ed": ed,
                "es": es,
                "annotated": int(ed == one.ed),
                "heart_rate": f"{one.heart_rate:.1f}",
            }
