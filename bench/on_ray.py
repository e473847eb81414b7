"""`--engine ray` beside `local`: its rate over a slow server, and the memory of a million trials.

Ray is started once and its actors have their readers: what is compared is asking, not starting.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from bench.films import questions, write_films
from bench.million import FEW, MANY, peak_mb
from bench.throughput import CONNECTIONS
from tests.support.served import served

from overread.benchmarks.grounding.controls import grounding_controls
from overread.case import Decoding, Message, Reader, Request, Trial
from overread.engine import Sources, Store, Studio, ask
from overread.engine.on_ray import Cluster, Seated
from overread.readers import Guard, open_reader
from overread.runs import run_async

ACTORS = 2


def installed() -> bool:
    return find_spec("ray") is not None


def _opened(spec: str, environment: Mapping[str, str]) -> Reader:
    return open_reader(spec, guard=Guard("open"), environment=environment, controls={})


def _control(environment: Mapping[str, str]) -> Reader:
    return grounding_controls()["prior"]


def against_local(
    trials: int = 6000, films: int = 120, delay: float = 0.05, rounds: int = 3
) -> dict:
    """The same trials over a server of 50 ms, by this process and by two actors, alternating."""
    rates: dict[str, list[float]] = {"local": [], "ray": []}
    seconds: dict[str, list[float]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory() as folder, served("slow", delay=delay) as server:
        sources = write_films(Path(folder), films)
        spec = f"openai:bench@{server.base_url}?concurrency={CONNECTIONS}"
        opens = partial(_opened, spec)
        reader = opens({})
        cluster = Cluster([Seated("bench", opens)], actors=ACTORS)

        async def rate(engine: str, number: int, many: int) -> float:
            crew = cluster.crew("bench") if engine == "ray" else None
            with Store(Path(folder) / f"{engine}-{number}.sqlite") as store:
                studio = Studio(Sources(store, 1))
                began = time.perf_counter(), time.process_time()
                await ask(questions(sources, many), reader, store, studio, dataset=1, crew=crew)
                taken = time.perf_counter() - began[0]
                seconds[engine].append(time.process_time() - began[1])
                assert store.count() == many, "a reply is missing from the store"
                studio.close()
            return many / taken

        async def work() -> None:
            for engine in rates:
                await rate(engine, -1, 500)  # Ray and its actors begin; files are in memory
            for times in seconds.values():
                times.clear()
            for number in range(rounds):
                for engine, found in rates.items():
                    found.append(await rate(engine, number, trials))
            await reader.close()
            await cluster.close()

        run_async(work())
    ratios = [ray / local for ray, local in zip(rates["ray"], rates["local"], strict=True)]
    return {
        "trials": trials,
        "connections": CONNECTIONS,
        "actors": ACTORS,
        "allowed_per_s": round(CONNECTIONS / delay),
        **{f"{engine}_per_s": [round(rate) for rate in found] for engine, found in rates.items()},
        **{
            f"{engine}_driver_us_a_trial": round(min(times) / trials * 1e6)
            for engine, times in seconds.items()
        },
        "ray_over_local": round(max(ratios), 3),
        "ok": max(ratios) >= 0.8,
    }


def flat_memory(many: int = MANY) -> dict:
    """Peak memory of the driver of a million trials against ten thousand, each by itself."""
    found = {n: _measured(n) for n in (FEW, many)}
    more = found[many]["peak_mb"] - found[FEW]["peak_mb"]
    return {
        "trials": many,
        "per_s": round(many / found[many]["seconds"]),
        "driver_us_a_trial": round(found[many]["processor_s"] / many * 1e6),
        "peak_mb": found[many]["peak_mb"],
        "peak_mb_of_ten_thousand": found[FEW]["peak_mb"],
        "more_mb": round(more, 1),
        "ok": more < 150,
    }


def _measured(n: int) -> dict:
    command = [sys.executable, "-m", "bench.on_ray", str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(n: int, folder: Path) -> dict:
    """n distinct trials through actors that have a control, to committed replies."""
    decoding = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)

    def plan() -> Iterator[Trial]:
        for number in range(n):
            text = f"Film {number}: Is atelectasis present in this chest X-ray? Answer Yes or No."
            request = Request((Message("user", (text,)),), decoding)
            yield Trial(f"case {number}", {"image": "original", "px": 224}, request)

    reader = _control({})
    cluster = Cluster([Seated("prior", _control)], actors=ACTORS)

    async def work(store: Store, studio: Studio) -> float:
        began = time.perf_counter()
        await ask(plan, reader, store, studio, dataset=1, crew=cluster.crew("prior"))
        taken = time.perf_counter() - began
        await asyncio.shield(cluster.close())
        return taken

    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        taken = run_async(work(store, studio))
        assert store.count() == n, f"{n} trials, {store.count()} kept"
        studio.close()
    return {
        "seconds": round(taken, 2),
        "processor_s": round(time.process_time(), 2),
        "peak_mb": round(peak_mb(), 1),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        # By its name, so that actors find what they are told to open.
        from bench.on_ray import run as measured

        print(json.dumps(measured(int(sys.argv[1]), Path(scratch))))
