"""The whole engine against bare aiohttp posting the same bodies."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import uvloop
from bench.clients import bare_aiohttp, raw_socket
from bench.films import picture, questions, write_films
from tests.support.served import served

from overread.case import Prompt, PromptMessage, Reply
from overread.engine import Sources, Store, Studio, ask
from overread.imaging import render
from overread.readers import Guard, open_reader, parse_spec
from overread.readers.openai_http import request_body

CONNECTIONS = 64


def against_bare_aiohttp(trials: int = 6000, films: int = 120, rounds: int = 5) -> dict:
    """Pictures already rendered, server answering at once, both clients alternating."""
    with tempfile.TemporaryDirectory() as folder, served("instant") as server:
        sources = write_films(Path(folder), films)
        shown = {source: render(picture(source)) for source in sources}
        spec = f"openai:bench@{server.base_url}?concurrency={CONNECTIONS}"
        plan = questions(sources, trials)
        bodies = []
        for trial in plan():
            (message,) = trial.request.messages
            parts = tuple(p if isinstance(p, str) else shown[p.source] for p in message.parts)
            prompt = Prompt((PromptMessage("user", parts),), trial.request.decoding)
            bodies.append(request_body(prompt, parse_spec(spec)))
        url = f"{server.base_url}/chat/completions"
        bare, engine, raw = [], [], []
        for number in range(rounds):
            raw.append(uvloop.run(raw_socket(url, bodies, CONNECTIONS)))
            bare.append(uvloop.run(bare_aiohttp(url, bodies, CONNECTIONS)))
            store = Path(folder) / f"store-{number}.sqlite"
            engine.append(_engine_rate(plan, spec, store, trials, prerender=True))
    bare_rate, engine_rate = statistics.median(bare), statistics.median(engine)
    server_rate = statistics.median(raw)
    return {
        "body_bytes": len(bodies[0]),
        "server_per_s": round(server_rate),
        "bare_aiohttp_per_s": round(bare_rate),
        "engine_per_s": round(engine_rate),
        "engine_over_bare": round(engine_rate / bare_rate, 3),
        "server_over_bare": round(server_rate / bare_rate, 3),
        "server_fast_enough": server_rate >= 1.5 * bare_rate,
        "ok": server_rate >= 1.5 * bare_rate and engine_rate >= 0.5 * bare_rate,
    }


def _engine_rate(plan, spec: str, place: Path, trials: int, *, prerender: bool) -> float:
    reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
    with Store(place) as store:
        studio = Studio(Sources(store, 1))

        async def prepare() -> None:
            class Nobody:
                name = identity = "nobody"
                traits, limits = reader.traits, reader.limits

                async def reply(self, prompt: Prompt) -> Reply:
                    return Reply(text="")

                async def close(self) -> None: ...

            await ask(plan, Nobody(), store, studio, dataset=1)

        async def work() -> float:
            began = time.perf_counter()
            await ask(plan, reader, store, studio, dataset=1)
            taken = time.perf_counter() - began
            await reader.close()
            return taken

        before = 0
        if prerender:
            uvloop.run(prepare())
            before = store.count()
        taken = uvloop.run(work())
        assert store.count() - before == trials, "a reply is missing from the store"
        studio.close()
    return trials / taken
