"""20,654 items planned and asked from the archive they came in, never unpacked.

Against the same items from a folder, by the same engine in the same run; and against an archive of
a tenth of them, whose run shows what grows. Each in a process of its own, as a user would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.items import MCQ, OPEN, write_release
from bench.million import peak_mb
from tests.support.served import served

from overread.cli.app import RETURNED

ITEMS = MCQ + OPEN
PLANS, RUNS = 3, 2
# What ten times the items may cost in memory; docs/performance.md says what it is.
MORE_MB = 60


def from_the_archive() -> dict:
    """Seconds of a plan, and the rate and memory of a run, from `dataset.zip`."""
    with tempfile.TemporaryDirectory() as scratch, served("instant") as server:
        folder = Path(scratch)
        whole = write_release(folder / "whole")
        tenth = write_release(folder / "tenth", MCQ // 10, OPEN // 10)
        plain = folder / "plain"
        with zipfile.ZipFile(whole) as opened:
            opened.extractall(plain)
        (plain / "dataset.toml").write_text('policy = "open"\n')
        reader = f"openai:bench@{server.base_url}?concurrency=64"

        index = min(_measured("index", whole)["s"] for _ in range(PLANS))
        plans = [_planned(whole, reader, folder / "none.sqlite") for _ in range(PLANS)]
        plan_s = sorted(seconds for seconds, _ in plans)[PLANS // 2]
        few = _measured("run", tenth, reader, folder / "run-few")
        zipped, loose = [], []
        for number in range(RUNS):
            zipped.append(_measured("run", whole, reader, folder / f"run-zip-{number}"))
            loose.append(_measured("run", plain, reader, folder / f"run-plain-{number}"))
        again_s, again = _planned(whole, reader, folder / "run-zip-0" / "store.sqlite")
    many = max(zipped, key=lambda run: run["asked_per_s"])
    rate, plain_rate = many["asked_per_s"], max(run["asked_per_s"] for run in loose)
    more = max(run["asking_peak_mb"] for run in zipped) - few["asking_peak_mb"]
    more_in_all = max(run["peak_mb"] for run in zipped) - few["peak_mb"]
    forecast = plans[0][1]
    planned = forecast["trials"] == forecast["calls"] == forecast["pictures"] == ITEMS
    planned = planned and forecast["undigested"] == forecast["missing"] == 0
    asked = all(run["answered"] == ITEMS for run in (*zipped, *loose))
    return {
        "items": ITEMS,
        "index_s": index,
        "plan_s": round(plan_s, 2),
        "plan_after_the_run_s": round(again_s, 2),
        "asked_per_s": rate,
        "asked_per_s_from_files": plain_rate,
        "archive_over_files": round(rate / plain_rate, 3),
        "run_s": many["s"],
        "asking_mb": many["asking_peak_mb"],
        "asking_mb_of_a_tenth": few["asking_peak_mb"],
        "asking_more_mb": round(more, 1),
        "run_mb": many["peak_mb"],
        "run_mb_of_a_tenth": few["peak_mb"],
        "run_more_mb": round(more_in_all, 1),
        "ok": planned
        and asked
        and again["answered"] == ITEMS
        and index < 0.5
        and max(plan_s, again_s) < 3
        and rate >= 0.85 * plain_rate
        and max(more, more_in_all) <= MORE_MB,
    }


def _measured(what: str, *more: object) -> dict:
    command = [sys.executable, "-m", "bench.medcmr", what, *map(str, more)]
    environment = os.environ | {"_RJEM_MALLOC_CONF": RETURNED}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout)


def _planned(cases: Path, reader: str, store: Path) -> tuple[float, dict]:
    """The command itself, from its start to its end."""
    command = [sys.executable, "-m", "overread", "plan", "medcmr", "--cases", str(cases), "--json"]
    command += ["--reader", reader, "--store", str(store)]
    began = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    taken = time.perf_counter() - began
    (forecast,) = json.loads(done.stdout)
    return taken, forecast


def index(cases: Path) -> dict:
    from overread.imaging import archive

    began = time.perf_counter()
    names = archive(cases).names
    return {"s": round(time.perf_counter() - began, 3), "members": len(names)}


def run(cases: Path, reader: str, out: str) -> dict:
    import polars as pl

    from overread.runs import run

    asking = {}

    @contextmanager
    def watch(shown: object) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        asking.update(s=time.perf_counter() - begun, mb=peak_mb())

    place = Path(out)
    place.mkdir()
    began = time.perf_counter()
    done = run(
        "medcmr",
        cases,
        readers=[reader],
        out=place / "run",
        store=place / "store.sqlite",
        watch=watch,
    )
    taken = time.perf_counter() - began
    answers = pl.read_parquet(done.folder / "answers.parquet", columns=["outcome"])["outcome"]
    return {
        "s": round(taken, 2),
        "asking_s": round(asking["s"], 2),
        "asked_per_s": round(len(answers) / asking["s"]),
        "asking_peak_mb": round(asking["mb"], 1),
        "peak_mb": round(peak_mb(), 1),
        "answered": int((answers != "unanswered").sum()),
    }


if __name__ == "__main__":
    task = {"index": index, "run": run}[sys.argv[1]]
    print(json.dumps(task(Path(sys.argv[2]), *sys.argv[3:])))
