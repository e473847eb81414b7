"""A study of the paper's size: 100 clips x 3 contexts x 4 formats x 10 seeds x 3 passes, and T2.

Planned and run as a user would, each in a process of its own. Against a run of one seed, a tenth:
the same clips, so that whatever grows grows with the trials.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.hearts import write_hearts
from bench.million import peak_mb

CLIPS, SEEDS, PASSES = 100, 10, 3
T1 = CLIPS * 3 * 4 * SEEDS * PASSES


def paper_size() -> dict:
    """Seconds and memory of the plan and of the run, and how often a frame was made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_hearts(folder, CLIPS)
        tenth_plan, plan = (_measured("plan", folder, seeds) for seeds in (1, SEEDS))
        tenth, run = (_measured("run", folder, seeds) for seeds in (1, SEEDS))
        again = _measured("plan", folder, SEEDS)  # every digest known, every reply kept
    once = run["frames_decoded"] == run["frames_of_windows"] == run["decoded_at_all"]
    once = once and run["frames_encoded"] == plan["pictures"]
    asking_more = run["asking_peak_mb"] - tenth["asking_peak_mb"]
    return {
        "trials_t1": run["t1"],
        "trials": run["trials"],
        "frames_a_window": round(run["frames_of_windows"] / CLIPS, 1),
        "plan_s": plan["s"],
        "plan_after_the_run_s": again["s"],
        "plan_mb": plan["peak_mb"],
        "plan_mb_of_a_tenth": tenth_plan["peak_mb"],
        "run_s": run["s"],
        "asking_s": run["asking_s"],
        "asked_per_s": round(run["trials"] / run["asking_s"]),
        "asking_mb": run["asking_peak_mb"],
        "asking_mb_of_a_tenth": tenth["asking_peak_mb"],
        "asking_more_mb": round(asking_more, 1),
        "run_mb": run["peak_mb"],
        "run_mb_of_a_tenth": tenth["peak_mb"],
        "run_more_mb": round(run["peak_mb"] - tenth["peak_mb"], 1),
        "frames_shown": run["frames_shown"],
        "frames_planned": plan["pictures"],
        "frames_encoded": run["frames_encoded"],
        "frames_decoded": run["frames_decoded"],
        "each_frame_once": once,
        "ok": once
        and run["t1"] == T1
        and run["trials"] == plan["trials"] == plan["calls"] == again["answered"]
        and max(plan["s"], again["s"]) < 5
        and asking_more < 50
        and run["peak_mb"] - tenth["peak_mb"] < 150,  # its answers are measured in memory
    }


def _measured(what: str, folder: Path, seeds: int) -> dict:
    command = [sys.executable, "-m", "bench.heartbeat", what, str(folder), str(seeds)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _asked(folder: Path, seeds: int) -> dict:
    """What `plan` and `run` are given alike; one store for each number of seeds."""
    return {
        "benchmark": "heartbeat",
        "cases": folder / "cases.csv",
        "edition": "authors",
        "settings": {"seeds": f"2020-{2019 + seeds}", "passes": str(PASSES)},
        "store": folder / f"store-{seeds}.sqlite",
    }


class Constant:
    """Says one line to everything, at once; samples, so that every trial is a call of its own."""

    name = identity = "constant"

    def __init__(self) -> None:
        from overread.case import Limits, Reply, Traits

        self.traits, self.limits = Traits(), Limits(concurrency=64)
        self.said = Reply("Frame: EDV=11, ESV=28")
        self.shown = 0

    async def reply(self, prompt):  # type: ignore[no-untyped-def]
        self.shown += len(prompt.pictures)
        return self.said

    async def close(self) -> None: ...


def plan(folder: Path, seeds: int) -> dict:
    from overread.runs import plan

    began = time.perf_counter()
    (found,) = plan(readers=[Constant()], **_asked(folder, seeds))
    taken = time.perf_counter() - began
    counts = {name: getattr(found, name) for name in ("trials", "calls", "answered", "pictures")}
    return {"s": round(taken, 2), "peak_mb": round(peak_mb(), 1), **counts}


def run(folder: Path, seeds: int) -> dict:
    import polars as pl

    from overread.runs import run

    reader, asking = Constant(), {}

    @contextmanager
    def watch(shown: object) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        asking.update(s=time.perf_counter() - begun, mb=peak_mb())

    with _counted() as (decoded, encoded):
        began = time.perf_counter()
        done = run(
            readers=[reader], out=folder / f"run-{seeds}", watch=watch, **_asked(folder, seeds)
        )
        taken, peak = time.perf_counter() - began, peak_mb()
    answers = pl.read_parquet(done.folder / "answers.parquet", columns=["case", "task", "count"])
    t1 = answers.filter(pl.col("task") == "t1")
    return {
        "s": round(taken, 2),
        "asking_s": round(asking["s"], 2),
        "asking_peak_mb": round(asking["mb"], 1),
        "peak_mb": round(peak, 1),
        "trials": answers.height,
        "t1": t1.height,
        "frames_of_windows": int(t1.unique("case")["count"].sum()),
        "frames_shown": reader.shown,
        "decoded_at_all": len(decoded),
        "frames_decoded": decoded.total(),
        "frames_encoded": encoded.total(),
    }


@contextmanager
def _counted() -> Iterator[tuple[Counter, Counter]]:
    """Count at the codecs themselves: (file, frame) decoded, and frames encoded by their mode."""
    from overread.imaging import _clips

    decoded: Counter = Counter()
    encoded: Counter = Counter()
    decode, encode = _clips.decode, _clips.pngs

    def counting_decode(data, name, wanted):  # type: ignore[no-untyped-def]
        decoded.update((name, number) for number in wanted)
        return decode(data, name, wanted)

    def counting_encode(frames):  # type: ignore[no-untyped-def]
        encoded.update("L" if frame.ndim == 2 else "RGB" for frame in frames)
        return encode(frames)

    _clips.decode, _clips.pngs = counting_decode, counting_encode
    try:
        yield decoded, encoded
    finally:
        _clips.decode, _clips.pngs = decode, encode


if __name__ == "__main__":
    task = {"plan": plan, "run": run}[sys.argv[1]]
    print(json.dumps(task(Path(sys.argv[2]), int(sys.argv[3]))))
