"""The whole engine against bare aiohttp posting the same bodies."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import uvloop
from bench.clients import bare_aiohttp, own_client, raw_socket
from bench.films import picture, questions, write_films
from tests.support.served import served

from overread.case import Prompt, PromptMessage, Reply, Source
from overread.engine import Sources, Store, Studio, ask
from overread.imaging import render
from overread.readers import Guard, open_reader, parse_spec
from overread.readers.openai_http import request_body

CONNECTIONS = 64


SIZES = {"29 kB": 224, "2 kB": 62}  # of a body, by the pixels of the picture in it


def against_bare_aiohttp(trials: int = 6000, films: int = 120, rounds: int = 5) -> dict:
    """Pictures already rendered, server answering at once, all clients alternating."""
    results = {}
    with tempfile.TemporaryDirectory() as folder, served("instant") as server:
        sources = write_films(Path(folder), films)
        spec = f"openai:bench@{server.base_url}?concurrency={CONNECTIONS}"
        url = f"{server.base_url}/chat/completions"
        for name, px in SIZES.items():
            plan = questions(sources, trials, px)
            bodies = _bodies(plan, sources, px, spec)
            clients = {"server": raw_socket, "own_client": own_client, "bare_aiohttp": bare_aiohttp}
            rates: dict[str, list[float]] = {each: [] for each in (*clients, "engine")}
            for number in range(rounds):
                for each, post in clients.items():
                    rates[each].append(uvloop.run(post(url, bodies, CONNECTIONS)))
                store = Path(folder) / f"store-{px}-{number}.sqlite"
                rates["engine"].append(_engine_rate(plan, spec, store, trials, prerender=True))
            rate = {each: statistics.median(found) for each, found in rates.items()}
            bare = rate["bare_aiohttp"]
            results[name] = {
                "body_bytes": len(bodies[0]),
                **{f"{each}_per_s": round(found) for each, found in rate.items()},
                **{f"{each}_over_bare": round(found / bare, 3) for each, found in rate.items()},
                # A server hardly faster than its client would measure itself.
                "ok": rate["server"] >= 1.5 * bare and rate["engine"] >= 0.7 * bare,
            }
    return {**results, "ok": all(result["ok"] for result in results.values())}


def _bodies(plan, sources: list[Source], px: int, spec: str) -> list[bytes]:
    shown = {source: render(picture(source, px)) for source in sources}
    bodies = []
    for trial in plan():
        (message,) = trial.request.messages
        parts = tuple(p if isinstance(p, str) else shown[p.source] for p in message.parts)
        prompt = Prompt((PromptMessage("user", parts),), trial.request.decoding)
        bodies.append(request_body(prompt, parse_spec(spec)))
    return bodies


def against_a_slow_server(trials: int = 4000, films: int = 120, delay: float = 0.05) -> dict:
    """Pictures already rendered, every answer 50 ms late: what so many connections allow."""
    with tempfile.TemporaryDirectory() as folder, served("slow", delay=delay) as server:
        sources = write_films(Path(folder), films)
        spec = f"openai:bench@{server.base_url}?concurrency={CONNECTIONS}"
        plan = questions(sources, trials)
        rate = _engine_rate(plan, spec, Path(folder) / "store.sqlite", trials, prerender=True)
    allowed = CONNECTIONS / delay
    return {
        "delay_s": delay,
        "connections": CONNECTIONS,
        "allowed_per_s": round(allowed),
        "engine_per_s": round(rate),
        "engine_over_allowed": round(rate / allowed, 3),
        "ok": rate >= 0.85 * allowed,
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
