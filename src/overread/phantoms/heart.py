"""A set of synthetic four-chamber echo clips on disk, with a csv that `clip_folder` reads.

Every heart is made up, so its volume in every frame is exact and anyone may share it. The clips are
for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from overread.case import BadInput
from overread.phantoms.heart_worker import CLIPS, MASKS, VOLUMES, Made, make_hearts

__all__ = ["COLUMNS", "HEART_REVISION", "write_heart_set"]

HEART_REVISION = 1
"""Raised whenever the same seed would give other bytes."""

COLUMNS = (
    "case_id", "clip", "ed", "es", "frames", "fps", "ef", "ed_volume", "es_volume", "patient",
    "view", "sex", "age", "split", "mask", "volumes",
)  # fmt: skip
"""Columns of cases.csv; volumes in pixels cubed. The split is EchoNet's word for what is asked."""

_TRUTH = ("case_id", "beat", "ed", "es", "annotated", "heart_rate")
_NAME = "phantom-heart"


def write_heart_set(folder: Path, n: int = 100, seed: int = 0, workers: int | None = None) -> Path:
    """Write n clips below `folder` and return the path of cases.csv.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    if n < 1:
        raise BadInput(f"a heart set of {n} clips is none; ask for at least 1.")
    if seed < 0:
        raise BadInput(f"seed {seed} is negative; use 0 or above.")
    if workers is not None and workers < 1:
        raise BadInput(f"{workers} workers cannot draw clips; use 1 or more.")
    folder = Path(folder)
    facts = {"seed": seed, "n": n, "generator": HEART_REVISION}
    if _holds(folder, facts):
        return folder / "cases.csv"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"{folder} holds something other than the heart set n={n}, seed={seed}; "
            "name a new folder or remove this one."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = folder.parent / f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part"
    try:
        for part in (CLIPS, MASKS, VOLUMES):
            (staging / part).mkdir(parents=True)
        # Names are in no order of anything, so that they say nothing.
        names = [f"heart_{k:05d}" for k in np.random.default_rng([seed, 0]).permutation(n)]
        made = make_hearts(staging, seed, names, workers or _workers(n))
        named = sorted(zip(names, made, strict=True), key=lambda pair: pair[0])
        _write(staging / "cases.csv", COLUMNS, _cases(named))
        _write(staging / "phantom_truth.csv", _TRUTH, _truths(named))
        (staging / "dataset.toml").write_text(_dataset(facts), encoding="utf-8", newline="\n")
        try:
            staging.rename(folder)
        except OSError:
            # Someone else finished the same set meanwhile: theirs is as good.
            if not _holds(folder, facts):
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder / "cases.csv"


def _workers(clips: int) -> int:
    """One per core, but no process for fewer than four clips: starting one takes as long."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(cores, clips // 4))


def _dataset(facts: Mapping[str, int]) -> str:
    lines = [f'name = "{_NAME}"', 'policy = "open"', 'licence = "Apache-2.0"']
    return "\n".join(lines + [f"{key} = {value}" for key, value in facts.items()]) + "\n"


def _holds(folder: Path, facts: Mapping[str, int]) -> bool:
    try:
        found = tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    same = all(found.get(key) == value for key, value in facts.items())
    return same and found.get("name") == _NAME and (folder / "cases.csv").is_file()


# ---------------------------------------------------------------- tables


def _write(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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
