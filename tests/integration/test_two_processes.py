"""Two processes on one store: nothing is lost, and nothing is asked twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from integration.commands import overread, starting
from overread.engine import Store
from overread.runs import phantom_cases
from support.served import ROOT, Served, served

CASES = "phantom:48"
BODIES = 140  # distinct requests of a multimodal reader: its swaps are other cases' originals


def recipe(out: Path, store: Path, *readers: str, limit: int | None = None) -> list[object]:
    named = [word for reader in readers for word in ("--reader", reader)]
    sample = [] if limit is None else ["--limit", limit]
    # By their file: a process that gets it need not know how phantoms are made.
    cases = phantom_cases("grounding", CASES)
    words = ["run", "grounding", "--cases", cases, *named, *sample]
    return [*words, "--store", store, "--out", out]


def at_once(*commands: list[object]) -> None:
    """Start all, then wait for all to end well."""
    with starting(*commands[0], page=False) as one, starting(*commands[1], page=False) as other:
        for process in (one, other):
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said


def asked(server: Served) -> Counter[tuple[int, int]]:
    """How many bodies were (asked, answered) so often."""
    return Counter((each["asked"], each["answered"]) for each in server.bodies().values())


def measures(folder: Path) -> bytes:
    return (folder / "measures.json").read_bytes()


@pytest.mark.slow
def test_the_same_recipe_twice_at_once_asks_everything_once(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with served(control="looks", delay=0.05) as server:
        reader = f"openai:m@{server.base_url}?concurrency=4&label=control:looks"
        at_once(recipe(tmp_path / "a", store, reader), recipe(tmp_path / "b", store, reader))
        assert asked(server) == {(1, 1): BODIES}
    with Store(store) as kept:
        assert kept.count() == BODIES
    alone = overread(*recipe(tmp_path / "alone", tmp_path / "own.sqlite", "control:looks"))
    assert alone.returncode == 0
    assert measures(tmp_path / "a") == measures(tmp_path / "b") == measures(tmp_path / "alone")


@pytest.mark.slow
def test_different_recipes_at_once_ask_what_they_share_once(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with served(control="looks", delay=0.05) as server:
        m, other = (f"openai:{name}@{server.base_url}?concurrency=4" for name in ("m", "other"))
        at_once(
            recipe(tmp_path / "a", store, m),
            recipe(tmp_path / "b", store, m, other, "control:unstable", limit=24),
        )
        together = server.bodies()
        assert {(each["asked"], each["answered"]) for each in together.values()} == {(1, 1)}

    with served(control="looks") as server:
        m, other = (f"openai:{name}@{server.base_url}" for name in ("m", "other"))
        for name, command in {
            "a": recipe(tmp_path / "calm a", tmp_path / "calm.sqlite", m),
            "b": recipe(
                tmp_path / "calm b",
                tmp_path / "calm.sqlite",
                m,
                other,
                "control:unstable",
                limit=24,
            ),
        }.items():
            assert overread(*command).returncode == 0
            assert measures(tmp_path / name) == measures(tmp_path / f"calm {name}")
        assert set(server.bodies()) == set(together)


SHARES = """
import asyncio, sys
from overread.engine import Sources, Store, Studio, ask
from support.readers import Scripted, questions

reader = Scripted(delay=0.005)
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    studio = Studio(Sources(store, 1))
    asyncio.run(ask(questions(int(sys.argv[2])), reader, store, studio, dataset=1))
    studio.close()
print(*(text for text, times in reader.asked.items() for _ in range(times)), sep=",")
"""


def test_two_processes_share_a_long_plan(tmp_path: Path) -> None:
    file, n = tmp_path / "store.sqlite", 4_000
    command = [sys.executable, "-c", SHARES, str(file), str(n)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    pair = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    for process in pair:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in pair:  # neither has asked before both may
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    parts = [process.communicate(timeout=60)[0].strip().split(",") for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    assert all(len(part) > n / 10 for part in parts), "one did all the work"
    assert sorted(parts[0] + parts[1]) == sorted(f"question {number}" for number in range(n))
    with Store(file) as store:
        assert store.count() == n


@pytest.mark.parametrize("still_lives", [True, False])
def test_a_claim_lasts_as_long_as_its_process(tmp_path: Path, still_lives: bool) -> None:
    file, key = tmp_path / "store.sqlite", b"k" * 16
    holds = "from overread.engine import Store; import sys; s = Store(sys.argv[1]); "
    holds += f"print(s.claim([{key!r}]).ours, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert key.decode() in holder.stdout.readline().decode()
        if not still_lives:
            os.kill(holder.pid, 9)
            holder.wait()
        with Store(file) as store:
            claimed = store.claim([key])
        holder.kill()
    assert claimed.elsewhere == ({key} if still_lives else set())
    assert claimed.ours == (set() if still_lives else {key})


CLAIMS = """
import sys, time
from overread.engine import Store
late = float(sys.argv[2])
real = time.time
time.time = lambda: real() + late  # a clock that somebody set wrong
key = b"k" * 16
with Store(sys.argv[1]) as store:
    claimed = store.claim([key])
    print("ours" if claimed.ours else "elsewhere", flush=True)
    sys.stdin.read()
"""


def claims(file: Path, clock: float = 0.0, *before: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", CLAIMS, str(file), str(clock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("clock", [-3600.0, 3600.0])
def test_clocks_that_differ_by_an_hour_make_nobody_ask_twice(tmp_path: Path, clock: float) -> None:
    file = tmp_path / "store.sqlite"
    with claims(file, clock) as first:
        assert outcome(first) == "ours"
        with claims(file) as second:
            assert outcome(second) == "elsewhere"
            second.communicate("")
        first.communicate("")


def own_numbers() -> list[str]:
    """How a process is started that has process numbers of its own, where that is allowed."""
    words = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    try:
        allowed = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    return words if allowed else []


@pytest.mark.parametrize("inside", ["first", "second", "both"])
def test_containers_of_one_host_do_not_take_each_others_claims(tmp_path: Path, inside: str) -> None:
    file, unshare = tmp_path / "store.sqlite", own_numbers()
    if not unshare:
        pytest.skip("needs namespaces of process numbers")
    one = unshare if inside in ("first", "both") else []
    two = unshare if inside in ("second", "both") else []
    with claims(file, 0.0, *one) as first:
        assert outcome(first) == "ours"
        with claims(file, 0.0, *two) as second:
            assert outcome(second) == "elsewhere"
            second.communicate("")
        first.communicate("")
