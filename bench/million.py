"""A million distinct trials, from a generator to a streamed answers.parquet, in flat memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

FEW, MANY = 10_000, 1_000_000


def flat_memory() -> dict:
    """Peak memory of a million trials against ten thousand, each in a process of its own."""
    few, many = _measured(FEW), _measured(MANY)
    more = many["peak_mb"] - few["peak_mb"]
    rate = MANY / many["seconds"]
    return {
        "trials": MANY,
        "per_s": round(rate),
        "peak_mb": many["peak_mb"],
        "peak_mb_of_ten_thousand": few["peak_mb"],
        "more_mb": round(more, 1),
        "store_mb": many["store_mb"],
        "parquet_mb": many["parquet_mb"],
        "ok": more < 150 and rate >= 5000,
    }


def _measured(n: int) -> dict:
    command = [sys.executable, "-m", "bench.million", str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def peak_mb() -> float:
    """The most memory this process has held. Not ru_maxrss, which begins with the parent's peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def run(n: int, folder: Path) -> dict:
    """n trials through a control to committed replies, then read back into a parquet file."""
    import polars as pl

    from overread.benchmarks.grounding.controls import grounding_controls
    from overread.case import Decoding, Message, Request, Trial
    from overread.engine import Sources, Store, Studio, ask, read_back
    from overread.records import write_rows
    from overread.runs import run_async

    decoding = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)

    def plan() -> Iterator[Trial]:
        for number in range(n):
            text = f"Film {number}: Is atelectasis present in this chest X-ray? Answer Yes or No."
            request = Request((Message("user", (text,)),), decoding)
            yield Trial(f"case {number}", {"image": "original", "px": 224}, request)

    reader = grounding_controls()["prior"]
    schema = {"case": pl.String, "image": pl.String, "text": pl.String, "why": pl.String}
    began = time.perf_counter()
    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        run_async(ask(plan, reader, store, studio, dataset=1))
        asked, reading = time.perf_counter() - began, time.process_time()
        rows = (
            (trial.case, trial.condition["image"], reply.text if reply else None, why)
            for trial, reply, why in read_back(plan, reader, store, studio)
        )
        written = write_rows(folder / "answers.parquet", schema, rows)
        reading = time.process_time() - reading
        kept = store.count()
        studio.close()
    taken = time.perf_counter() - began
    assert written == kept == n, f"{n} trials, {kept} kept, {written} written"
    assert pl.scan_parquet(folder / "answers.parquet").select(pl.len()).collect().item() == n
    return {
        "seconds": round(taken, 2),
        "asking_s": round(asked, 2),
        "reading_processor_s": round(reading, 2),
        "peak_mb": round(peak_mb(), 1),
        "store_mb": round((folder / "store.sqlite").stat().st_size / 1e6, 1),
        "parquet_mb": round((folder / "answers.parquet").stat().st_size / 1e6, 1),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(run(int(sys.argv[1]), Path(scratch))))
