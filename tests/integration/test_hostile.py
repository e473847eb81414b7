"""Whatever a server does, a trial ends answered once or recorded as failed with its reason."""

from __future__ import annotations

import asyncio
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from integration.commands import overread, starting
from integration.crowded import SEATS
from overread.engine import Sources, Store, Studio, Tally, ask
from overread.readers import Guard, open_reader
from overread.runs import phantom_cases, run_async
from support.readers import Scripted, questions
from support.served import Served, served

CASES = "phantom:48"
BODIES, TRIALS = 140, 188
TROUBLES = (
    "429", "429-date", "429-bare", "500", "503", "hang", "reset-before", "reset-after", "truncated",
    "not-json", "empty-list", "no-choices", "error-in-200", "400", "redirect",
)  # fmt: skip
RESUME = "Run the same command again to resume."


def recipe(server: Served, folder: Path, options: str) -> list[object]:
    """Whatever server it is, the same reader: `identity` stands for the address in its keys."""
    reader = f"openai:m@{server.base_url}?identity=house&label=control:looks&{options}"
    # By their file: a process that gets it need not know how phantoms are made.
    cases = phantom_cases("grounding", CASES)
    words = ["run", "grounding", "--cases", cases, "--reader", reader]
    return [*words, "--store", folder / "store.sqlite", "--out", folder / "run"]


def answers(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "run" / "answers.parquet")


def failures(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / "store.sqlite")
    try:
        return [row[0] for row in connection.execute("SELECT reason FROM failures")]
    finally:
        connection.close()


def replies(folder: Path) -> int:
    with Store(folder / "store.sqlite") as store:
        return store.count()


def wait_for(happens: Callable[[], bool], patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The control asked in process: what every answer that counts must be."""
    folder = tmp_path_factory.mktemp("truth")
    words = ["--store", folder / "store.sqlite", "--out", folder / "run"]
    done = overread("run", "grounding", "--cases", CASES, "--reader", "control:looks", *words)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_trouble_at_once(tmp_path: Path, truth: Path) -> None:
    options = "timeout=1&backoff=0.01&attempts=8&concurrency=32"
    with served(
        "hostile",
        control="looks",
        seed=3,
        trouble=TROUBLES,
        min_troubles=1,
        max_troubles=2,
        permanent_share=0.15,
        retry_after=0,
    ) as server:
        done = overread(*recipe(server, tmp_path, options))
        stats, bodies = server.stats(), server.bodies()
    assert set(stats["troubles"]) == set(TROUBLES), "some trouble never came"
    refused = stats["refused_bodies"]
    assert 0 < refused < BODIES / 2

    # Answered once, or recorded as failed with its reason.
    assert replies(tmp_path) == stats["answered"] == BODIES - refused
    assert {each["answered"] for each in bodies.values()} == {0, 1}
    reasons = failures(tmp_path)
    assert len(reasons) == refused
    assert {reason.partition(":")[0] for reason in reasons} == {"HTTP 400", "HTTP 307"}
    # What cannot heal is asked once.
    assert {each["asked"] for each in bodies.values() if not each["answered"]} == {1}
    assert stats["redirected"] == 0

    # No error passes for an answer: what was answered is what the control says in process.
    found, wanted = answers(tmp_path), answers(truth)
    assert found.height == TRIALS
    left = found["outcome"] == "unanswered"
    assert found.filter(~left).equals(wanted.filter(~left))
    assert found.filter(left)["text"].null_count() == left.sum() > 0
    assert found.filter(left)["answer"].null_count() == left.sum()
    assert set(found.filter(left)["note"]) == set(reasons)

    # It says so, and how to go on.
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"overread: {left.sum()} trials are unanswered (HTTP 307 × ")
    assert last.endswith(RESUME)

    # And going on with a server that has healed asks what was missing, and that alone.
    with served(control="looks", tally=True) as healed:
        patient = options.replace("timeout=1", "timeout=60")  # nothing hangs here
        again = overread(*recipe(healed, tmp_path, patient))
        assert again.returncode == 0, again.stderr
        missing = {body for body, each in bodies.items() if not each["answered"]}
        assert healed.bodies() == {body: {"asked": 1, "answered": 1} for body in missing}
    assert failures(tmp_path) == []
    assert answers(tmp_path).equals(wanted)
    measures = [(folder / "run" / "measures.json").read_bytes() for folder in (tmp_path, truth)]
    assert measures[0] == measures[1]


@pytest.mark.slow
def test_what_does_not_heal_in_time_is_recorded_and_asked_again_the_next_time(
    tmp_path: Path, truth: Path
) -> None:
    options = "timeout=10&backoff=0.001&attempts=3&concurrency=32"  # nothing here hangs
    kinds = ("500", "truncated", "not-json", "no-choices", "error-in-200", "reset-after")
    with served(
        "hostile", control="looks", trouble=kinds, min_troubles=1, max_troubles=5
    ) as server:
        done = overread(*recipe(server, tmp_path, options))
        assert done.returncode == 3
        assert done.stderr.rstrip().endswith(RESUME)
        reasons = failures(tmp_path)
        assert all(reason.endswith(" (after 3 attempts)") for reason in reasons)
        told = {reason.partition(":")[0] for reason in reasons}
        assert told == {
            "HTTP 500",  # also what an error inside a 200 speaks of
            "connection broke",
            "not JSON",
            "not a chat completion",
        }
        assert replies(tmp_path) + len(reasons) == BODIES
        again = overread(*recipe(server, tmp_path, options))
        assert again.returncode == 0, again.stderr
        assert {each["answered"] for each in server.bodies().values()} == {1}
    assert failures(tmp_path) == []
    assert answers(tmp_path).equals(answers(truth))


@pytest.mark.slow
def test_a_reply_without_content_is_an_empty_reply_and_not_an_error(tmp_path: Path) -> None:
    with served("hostile", trouble=("null-content",), min_troubles=1, max_troubles=1) as server:
        done = overread(*recipe(server, tmp_path, "concurrency=32"), "--limit", 8)
    assert done.returncode == 0, done.stderr
    assert set(answers(tmp_path)["outcome"]) == {"unparsed"}
    assert set(answers(tmp_path)["text"]) == {""}


@pytest.mark.slow
def test_a_server_that_dies_and_comes_back_is_waited_for(tmp_path: Path, truth: Path) -> None:
    port, log = free_port(), tmp_path / "answered.log"
    words = {"control": "looks", "delay": 0.1, "port": port, "log": log}
    with served(**words) as server:
        command = recipe(server, tmp_path, "concurrency=8&attempts=60&backoff=0.05&timeout=10")
        with starting(*command, page=False) as process:
            wait_for(lambda: len(log.read_text().split()) >= 16)
            server.stop()
            time.sleep(0.5)
            assert process.poll() is None
            with served(**words):
                _, said = process.communicate(timeout=60)
                assert process.returncode == 0, said
    assert answers(tmp_path).equals(answers(truth))
    asked = log.read_text().split()
    assert len(set(asked)) == BODIES
    assert len(asked) <= BODIES + 8  # answered as it died, and lost on the way


@pytest.mark.slow
def test_a_server_that_dies_for_good_leaves_a_run_that_can_be_resumed(
    tmp_path: Path, truth: Path
) -> None:
    options = "concurrency=8&attempts=2&backoff=0.01&timeout=10"
    log = tmp_path / "answered.log"
    with served(control="looks", delay=0.1, log=log) as server:
        with starting(*recipe(server, tmp_path, options), page=False) as process:
            wait_for(lambda: len(log.read_text().split()) >= 16)
            server.stop()
            _, said = process.communicate(timeout=60)
        assert process.returncode == 3
        assert said.rstrip().endswith(RESUME)
        assert "cannot connect × " in said.splitlines()[-1]
    kept = replies(tmp_path)
    assert 8 <= kept < BODIES
    assert kept + len(failures(tmp_path)) == BODIES
    with served(control="looks", tally=True) as server:
        again = overread(*recipe(server, tmp_path, options))
        assert again.returncode == 0, again.stderr
        assert server.stats()["requests"] == BODIES - kept
    assert answers(tmp_path).equals(answers(truth))


@pytest.mark.slow
def test_a_server_that_was_never_there_is_not_asked_for_long(tmp_path: Path) -> None:
    began = time.monotonic()
    with served() as server:
        server.stop()
        done = overread(*recipe(server, tmp_path, "attempts=2&backoff=0.01"))
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert "trials all failed alike: cannot connect" in last
    assert "Run the same command again" in last
    assert not (tmp_path / "run").exists(), "there is nothing to measure"
    assert time.monotonic() - began < 20


def test_a_server_that_throttles_is_asked_less_at_once(tmp_path: Path) -> None:
    n = 300
    with (
        served(control="integration.crowded:Crowded") as server,
        Store(tmp_path / "store.sqlite") as store,
    ):
        spec = f"openai:m@{server.base_url}?concurrency=64&attempts=50&backoff=0.05"
        reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
        studio, tally = Studio(Sources(store, 1)), Tally()

        async def work() -> None:
            try:
                await ask(questions(n), reader, store, studio, dataset=1, tally=tally)
            finally:
                await reader.close()

        run_async(work())
        studio.close()
        assert store.count() == n
        stats = server.stats()
    assert tally.failed == 0
    turned_away = stats["requests"] - stats["answered"]
    assert 0 < turned_away == tally.retried
    # 64 at once, 60 of them turned away again and again, would be refused many times an answer.
    assert turned_away < n / 2
    assert tally.slots <= 2 * SEATS


@pytest.mark.slow
def test_an_interrupt_keeps_what_came_and_says_how_to_resume(tmp_path: Path, truth: Path) -> None:
    log = tmp_path / "answered.log"
    with served(control="looks", delay=0.3, log=log) as server:
        command = recipe(server, tmp_path, "concurrency=4")
        with starting(*command, page=False) as process:
            wait_for(lambda: len(log.read_text().split()) >= 8)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, said = process.communicate(timeout=30)
        assert process.returncode == 3
        assert time.monotonic() - began < 5
        answered = len(log.read_text().split())
        assert replies(tmp_path) == answered < BODIES  # calls under way could finish
        last = said.splitlines()[-1]
        assert last == f"overread: interrupted; {answered} replies are kept. {RESUME}"
        assert not (tmp_path / "run").exists()

        again = overread(*command)
        assert again.returncode == 0, again.stderr
        asked = log.read_text().split()
        assert len(asked) == len(set(asked)) == BODIES
    assert answers(tmp_path).equals(answers(truth))


def test_an_interrupt_waits_for_a_call_under_way_no_longer_than_its_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much is still queued behind the calls that hang."""
    monkeypatch.setattr(sys.modules["overread.engine.ask"], "_GRACE", 0.5)

    async def work(store: Store, studio: Studio) -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, stop.set)
        reader = Scripted(delay=30)
        await ask(questions(2_000), reader, store, studio, dataset=1, stop=stop)

    began = time.monotonic()
    with Store(tmp_path / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        run_async(work(store, studio))
        studio.close()
    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_a_second_interrupt_does_not_wait_for_calls_under_way(tmp_path: Path) -> None:
    with served("hostile", trouble=("hang",), min_troubles=99, max_troubles=99) as server:
        with starting(*recipe(server, tmp_path, "concurrency=4&timeout=60"), page=False) as process:
            wait_for(lambda: server.stats()["requests"] >= 4)
            process.send_signal(signal.SIGINT)
            time.sleep(1)
            assert process.poll() is None, "calls under way may finish"
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, said = process.communicate(timeout=30)
        assert process.returncode == 3
        assert time.monotonic() - began < 3
        assert "Run the same command again" in said.splitlines()[-1]
        assert "Traceback" not in said
