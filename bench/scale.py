"""A study of a hospital network on paper: 50 readers, a million cases, four conditions.

    python -m bench scale       # what is measured here, and whether the simulation foretells it
    python -m bench.scale       # the tables of docs/scale.md

First rates are measured on this machine. Then a simulation, held against a run that is really made,
carries them to machines that are not here: chunks of requests go through stations (naming, showing,
the model, the writer), each with so many servers, and no more are under way than may be. What is
assumed, and cannot be measured without graphics processors, stands in `Assumed`.
"""

from __future__ import annotations

import heapq
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path

import uvloop
from bench.films import write_films
from bench.throughput import CONNECTIONS, _engine_rate
from tests.support.readers import questions as questions_in_words
from tests.support.served import served

from bench import measuring, million, on_ray
from overread.case import (
    Box,
    Decoding,
    Fill,
    Message,
    Picture,
    Reply,
    Request,
    Resize,
    Source,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask
from overread.engine.store_merge import merge
from overread.imaging import render
from overread.readers import Guard, open_reader

READERS, CASES, CONDITIONS = 50, 1_000_000, 4
REQUESTS = READERS * CASES * CONDITIONS
_PARTS = 50  # so much less is simulated


@dataclass(frozen=True)
class Assumed:
    """What this machine cannot tell."""

    gpu_per_s: float = 20.0  # requests a second that one graphics processor answers
    gpu_hour: float = 2.0  # its price
    tokens_in: int = 350
    tokens_out: int = 5
    price_in: float = 0.5  # of a million tokens, where a model is rented by the token
    price_out: float = 1.5
    cores: int = 32  # of a machine
    fails_after_h: float = 24.0  # a machine, on the average
    back_after_s: float = 300.0


@dataclass(frozen=True)
class Rates:
    """What was measured, in seconds of processor time and in bytes."""

    trial: float  # of this process, all threads: naming, showing, asking, committing
    wired: float  # the same of a trial without a picture: naming, asking, committing
    film: int  # bytes of a film's file
    body: int  # bytes of a request
    answer_row: int  # bytes of the store for a one-word reply with five log-probabilities
    chain_row: int  # and for one of 2,000 characters
    commit: float  # by the clock, for it waits for the disk: a row
    merged: float  # a row merged from a part's store
    driver: float  # of the driver of a Ray cluster, a trial
    read_back: float  # a row read back and written to answers.parquet
    measured: float  # a row of answers measured
    measured_mb: float  # memory for a million rows of answers
    held: float  # bytes of memory that a case takes in every process that opens the set


# ---------------------------------------------------------------- what is measured here


def _four_conditions(sources: list[Source]):
    """As the audit asks: a film, two masks on it, and another patient's film."""
    decoding = Decoding(max_tokens=10, temperature=0.0, top_logprobs=5)

    def plan():
        for number, source in enumerate(sources):
            other = sources[(number + len(sources) // 2) % len(sources)]
            for shown in (
                Picture(source, (Resize(224, 224),)),
                Picture(source, (Fill(Box(100, 100, 300, 300)), Resize(224, 224))),
                Picture(source, (Fill(Box(600, 600, 300, 300)), Resize(224, 224))),
                # A pixel larger: among a million cases it would not be kept from before.
                Picture(other, (Resize(225, 225),)),
            ):
                text = "Is pleural effusion present in this chest X-ray? Answer Yes or No."
                yield Trial(f"{number}", {}, Request((Message("user", (shown, text)),), decoding))

    return plan


def _asking(folder: Path, films: int = 160, words: int = 4000) -> dict[str, float]:
    """Processor time of a trial with a picture and of one without, and bytes of its request."""
    sources = write_films(folder, films)
    shown = _four_conditions(sources)
    asked = {"wired": (questions_in_words(words), words), "trial": (shown, 4 * films)}
    files = [Path(source.root, source.name).stat().st_size for source in sources]
    found: dict[str, float] = {"film": round(sum(files) / films)}
    with served("instant") as server, Store(folder / "asked.sqlite") as store:
        spec = f"openai:m@{server.base_url}?concurrency={CONNECTIONS}"
        for name, (plan, many) in asked.items():
            reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
            studio = Studio(Sources(store, 1))
            began = time.process_time()
            uvloop.run(_asked(plan, reader, store, studio))
            found[name] = (time.process_time() - began) / many
            studio.close()
    sizes = [len(render(trial.request.pictures[0]).base64) for trial in islice(shown(), 100)]
    return found | {"body": round(sum(sizes) / len(sizes)) + 600}


async def _asked(plan, reader, store, studio) -> None:
    await ask(plan, reader, store, studio, dataset=1)
    await reader.close()


def _stores(folder: Path, rows: int = 60_000) -> dict[str, float]:
    """Bytes and seconds of a row committed, and of one merged."""
    words = tuple((word, -0.5 * place) for place, word in enumerate(("Yes", "No", "The", "I", "A")))
    answer = Reply("Yes", logprobs=words, tokens_in=350, tokens_out=1, seconds=0.1, model="m")
    letters = random.Random(0)
    chain = "".join(letters.choices("abcdefghij ", k=2000))
    found: dict[str, float] = {}
    for name, reply, many in (("answer", answer, rows), ("chain", Reply(chain), rows // 10)):
        place = folder / f"{name}.sqlite"
        with Store(place) as store:
            began = time.perf_counter()
            for first in range(0, many, 512):
                group = range(first, min(first + 512, many))
                keyed = [(number.to_bytes(16, "big"), 1, reply) for number in group]
                store.commit(keyed, [])
            taken = time.perf_counter() - began
        found[f"{name}_row"] = round(place.stat().st_size / many)
        if name == "answer":
            found["commit"] = taken / many
    with Store(folder / "merged.sqlite") as into:
        began = time.process_time()
        merge(into, [folder / "answer.sqlite"])
        found["merged"] = (time.process_time() - began) / rows
    return found


def _reading(folder: Path, rows: int = 60_000) -> dict[str, float]:
    made = million.run(rows, folder)
    return {"read_back": made["reading_processor_s"] / rows}


def _measuring(folder: Path) -> dict[str, float]:
    """Between 2,575 and 7,725 cases of nine readers: what a row of answers takes more."""
    few, many = measuring.CASES, 3 * measuring.CASES
    took = {n: _measured(measuring.imported(folder, n)) for n in (few, many)}
    rows = (many - few) * measuring.READERS * CONDITIONS
    return {
        "measured": (took[many][0] - took[few][0]) / rows,
        "measured_mb": (took[many][1] - took[few][1]) / rows * 1e6,
    }


_OPEN = """
import sys
from bench.million import peak_mb
from overread.runs import open_cases
for _ in open_cases("grounding", sys.argv[1], "corrected", {}).cases():
    pass
print(peak_mb())
"""


def _holding(folder: Path) -> dict[str, float]:
    """Between 2,000 and 22,000 cases of a manifest: the memory that one more takes."""
    held = []
    for many in (2_000, 22_000):
        manifest = folder / f"{many}.csv"
        cases = list(measuring._cases(many, random.Random(0)))
        measuring._write(manifest, measuring.COLUMNS, cases)
        command = [sys.executable, "-c", _OPEN, str(manifest)]
        held.append(float(subprocess.run(command, check=True, capture_output=True).stdout))
    return {"held": (held[1] - held[0]) * 1e6 / 20_000}


def _measured(run: Path) -> tuple[float, float]:
    """Processor seconds and memory of one `overread measure`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, peak = measuring._measured(run)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak


def _driving() -> float:
    few, many = (on_ray._measured(n) for n in (10_000, 50_000))
    return (many["processor_s"] - few["processor_s"]) / 40_000


def rates() -> Rates:
    """Everything that can be measured on this machine, in some two minutes."""
    found: dict[str, float] = {"driver": _driving()}
    for measure in (_asking, _stores, _reading, _measuring, _holding):
        with tempfile.TemporaryDirectory() as folder:
            found |= measure(Path(folder))
    return Rates(**found)


# ---------------------------------------------------------------- what is simulated


@dataclass(frozen=True)
class Shape:
    """How a study is divided: processes that plan and commit, and machines that show and ask.

    `naming` and `writing` are seconds of one thread a request, of each planner; `showing` those of
    a machine's cores. `slots` answer at once, each in `answer` seconds. `window` requests may be
    under way, of each planner.
    """

    name: str
    planners: int
    machines: int
    cores: int
    naming: float
    showing: float
    writing: float
    slots: int
    answer: float
    window: int
    fails_after: float = 0.0
    back_after: float = 0.0


@dataclass(frozen=True)
class Simulated:
    requests: int
    seconds: float
    per_s: float
    repeated: int  # asked again, since a machine failed
    busy: dict[str, float]  # share of the time that each station worked

    @property
    def bends(self) -> str:
        return max(self.busy, key=self.busy.__getitem__)


class Station:
    """So many servers, each with one thing at a time, first come first served."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers
        self.worked = 0.0

    def done(self, comes: float, takes: float) -> float:
        begins = max(comes, heapq.heappop(self._free))
        heapq.heappush(self._free, begins + takes)
        self.worked += takes
        return begins + takes

    def busy(self, seconds: float) -> float:
        return self.worked / (seconds * len(self._free))


def simulate(shape: Shape, requests: int, *, chunk: int, seed: int = 0) -> Simulated:
    """Requests go through the stations chunk by chunk, in the order of the plan.

    A planner begins a chunk when as many are under way as may be, and one more is done. Answers
    vary by a third. A machine that fails loses what it has in hand: all of it is counted, and of
    the time it takes a chunk.
    """
    chance = random.Random(seed)
    plans = [Station(1) for _ in range(shape.planners)]
    writers = [Station(1) for _ in range(shape.planners)]
    shows = [Station(shape.cores) for _ in range(shape.machines)]
    # A server here is as many slots as a chunk has requests, or all of them where they are fewer.
    answers = Station(max(1, shape.slots // chunk))
    answer = shape.answer * max(1.0, chunk / shape.slots)
    fails = [chance.expovariate(1 / shape.fails_after) for _ in shows] if shape.fails_after else []
    under_way: list[list[float]] = [[] for _ in plans]
    many, last, repeated = -(-requests // chunk), 0.0, 0
    room = max(1, shape.window // chunk)
    for number in range(many):
        who = number % shape.planners
        begins = 0.0
        if len(under_way[who]) >= room:
            begins = heapq.heappop(under_way[who])
        named = plans[who].done(begins, shape.naming * chunk)
        where = number % shape.machines
        shown = shows[where].done(named, shape.showing * chunk)
        if fails and shown > fails[where]:
            fails[where] = shown + shape.back_after + chance.expovariate(1 / shape.fails_after)
            repeated += shape.window * shape.planners // shape.machines
            other = (where + 1) % shape.machines
            again = shown if shape.machines > 1 else shown + shape.back_after
            shown = shows[other].done(again, shape.showing * chunk)
        told = answers.done(shown, answer * chance.uniform(2 / 3, 4 / 3))
        kept = writers[who].done(told, shape.writing * chunk)
        heapq.heappush(under_way[who], kept)
        last = max(last, kept)
    stations = {"naming": plans, "showing": shows, "model": [answers], "writer": writers}
    busy = {
        name: round(sum(one.busy(last) for one in several) / len(several), 3)
        for name, several in stations.items()
    }
    return Simulated(many * chunk, last, many * chunk / last, repeated, busy)


def shapes(found: Rates, assumed: Assumed, gpus: int) -> list[Shape]:
    """The study on one machine, on Ray and in parts: a machine for each 16 graphics processors."""
    machines = max(1, gpus // 16)
    common = {
        "cores": assumed.cores,
        "showing": found.trial - found.wired,
        "slots": gpus * 16,
        "answer": 16 / assumed.gpu_per_s,
        "fails_after": assumed.fails_after_h * 3600,
        "back_after": assumed.back_after_s,
    }
    return [
        Shape(
            "one machine", 1, 1, naming=found.wired, writing=found.commit,
            window=gpus * 32, **common,
        ),
        Shape(
            "--engine ray", 1, machines, naming=found.driver, writing=found.commit,
            window=1024 * machines, **common,
        ),
        Shape(
            "--shard", machines, machines, naming=found.wired, writing=found.commit,
            window=gpus * 32 // machines, **common,
        ),
    ]  # fmt: skip


def _foretold(found: Rates, trials: int = 1500, slots: int = 16, delay: float = 0.05) -> dict:
    """A run that is really made, over a slow server, and what the simulation says of it.

    With few slots, so that a busy machine does not change much: the model is what is waited for.
    """
    with tempfile.TemporaryDirectory() as folder, served("slow", delay=delay) as server:
        spec = f"openai:m@{server.base_url}?concurrency={slots}"
        plan, place = questions_in_words(trials), Path(folder) / "store.sqlite"
        really = _engine_rate(plan, spec, place, trials, prerender=False)
    shape = Shape(
        "here", 1, 1, 2, naming=found.wired, showing=0.0, writing=found.commit,
        slots=slots, answer=delay, window=4 * slots,
    )  # fmt: skip
    said = simulate(shape, trials, chunk=4).per_s
    return {"really_per_s": round(really), "simulated_per_s": round(said), "ratio": said / really}


def on_paper() -> dict:
    """The rates, the simulation held against a real run, and the study at three sizes."""
    found, assumed = rates(), Assumed()
    foretold = _foretold(found)
    return {
        "rates": asdict(found),
        "assumed": asdict(assumed),
        "foretold": foretold,
        "study": {gpus: _sized(found, assumed, gpus) for gpus in (8, 64, 512, 4096)},
        "ok": 0.75 <= foretold["ratio"] <= 1.33,
    }


def _sized(found: Rates, assumed: Assumed, gpus: int) -> dict:
    told = {}
    for shape in shapes(found, assumed, gpus):
        # A part of the study, in which machines fail as often as in all of it.
        often = {
            "fails_after": shape.fails_after / _PARTS,
            "back_after": shape.back_after / _PARTS,
        }
        part = simulate(replace(shape, **often), REQUESTS // _PARTS, chunk=64)
        told[shape.name] = {
            "hours": round(REQUESTS / part.per_s / 3600),
            "per_s": round(part.per_s),
            "repeated": part.repeated,
            "busy": part.busy,
            "bends_at": part.bends,
        }
    return told


# ---------------------------------------------------------------- the tables of docs/scale.md


def tables() -> str:
    told = on_paper()
    found, assumed = Rates(**told["rates"]), Assumed()
    lines = [f"Measured on {date.today():%d %B %Y} by `python -m bench.scale`.", ""]

    def table(*rows: tuple[object, ...]) -> None:
        head, *rest = rows
        for row in (head, ["---"] * len(head), *rest):
            lines.append("| " + " | ".join(map(str, row)) + " |")
        lines.append("")

    table(
        ("what", "measured here"),
        ("a trial, all of it (processor)", f"{found.trial * 1e3:.2f} ms"),
        ("of that: naming, wire, committing", f"{found.wired * 1e3:.2f} ms"),
        ("a film's file", f"{found.film / 1e3:,.0f} kB"),
        ("a request's body", f"{found.body / 1e3:.1f} kB"),
        ("a row of the store: one word with five log-probabilities", f"{found.answer_row} bytes"),
        ("a row of the store: 2,000 characters", f"{found.chain_row} bytes"),
        ("rows committed, one writer, by the clock", f"{1 / found.commit:,.0f} a second"),
        ("rows merged from a part", f"{1 / found.merged:,.0f} a second"),
        ("the driver of a Ray cluster, a trial (processor)", f"{found.driver * 1e6:.0f} µs"),
        ("replies read back into a table", f"{1 / found.read_back:,.0f} a second"),
        ("answers measured", f"{1 / found.measured:,.0f} a second"),
        ("memory of measuring", f"{found.measured_mb:,.0f} MB for a million answers"),
        ("memory of an open set", f"{found.held:,.0f} bytes a case"),
        ("simulated rate over that of a real run", f"{told['foretold']['ratio']:.2f}"),
    )
    tokens = REQUESTS * (
        assumed.tokens_in * assumed.price_in + assumed.tokens_out * assumed.price_out
    )
    gpu_hours = REQUESTS / assumed.gpu_per_s / 3600
    price = gpu_hours * assumed.gpu_hour
    measures, memory = REQUESTS * found.measured, REQUESTS * found.measured_mb / 1e9
    table(
        ("the study", "", "from"),
        ("requests", f"{REQUESTS:,}", "50 x 1,000,000 x 4"),
        ("sent", f"{REQUESTS * found.body / 1e12:.1f} TB", "body, measured"),
        ("store, one word", f"{REQUESTS * found.answer_row / 1e9:.0f} GB", "row, measured"),
        ("store, 2,000 characters", f"{REQUESTS * found.chain_row / 1e9:.0f} GB", "row, measured"),
        (
            "processor, asking", f"{REQUESTS * found.trial / 3600:,.0f} core hours",
            "trial, measured",
        ),
        ("one writer, busy", f"{REQUESTS * found.commit / 3600:.1f} h", "commit, measured"),
        ("merging all parts", f"{REQUESTS * found.merged / 3600:.1f} h", "merge, measured"),
        ("reading back", f"{REQUESTS * found.read_back / 3600:.1f} h", "read back, measured"),
        ("measuring at once", f"{measures / 3600:.1f} h, {memory:,.0f} GB", "extrapolated"),
        ("cases, in each process", f"{CASES * found.held / 1e9:.1f} GB", "extrapolated"),
        ("graphics processors", f"{gpu_hours:,.0f} h, {price:,.0f}", "assumed"),
        ("or by the token", f"{tokens / 1e6:,.0f}", "assumed"),
    )  # fmt: skip
    rows: list[tuple[object, ...]] = [
        ("processors", "", "hours", "requests a second", "repeated", "busiest", "busy")
    ]
    for gpus, sized in told["study"].items():
        for name, one in sized.items():
            rows.append(
                (gpus, name, f"{one['hours']:,}", f"{one['per_s']:,}", f"{one['repeated']:,}",
                 one["bends_at"], f"{one['busy'][one['bends_at']]:.0%}")
            )  # fmt: skip
    table(*rows)
    return "\n".join(lines)


if __name__ == "__main__":
    print(tables())
