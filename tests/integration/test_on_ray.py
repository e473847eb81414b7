"""`--engine ray` on a real cluster of two nodes: the same numbers, and nothing lost or told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overread as ov
from overread.runs import Unfinished, phantom_cases, plan
from support.commands import phantom_cache
from support.installed import needs
from support.served import Served, served

pytestmark = [pytest.mark.slow, needs("ray", "needs ray: it is not installed")]

__all__ = ["phantom_cache"]
NODE = {"num_cpus": 4, "include_dashboard": False, "object_store_memory": 80 << 20}
KEY = "a-key-that-no-log-may-hold-4711"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, for the whole file: Ray takes seconds to start."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Workers are started when they are wanted: those in waiting would import everything for nothing.
    for name in ("enable_worker_prestart", "prestart_worker_first_driver"):
        os.environ[f"RAY_{name}"] = "0"
    from ray.cluster_utils import Cluster

    Path("/tmp/ray").mkdir(exist_ok=True)  # where Ray notes its address
    made = Cluster(initialize_head=True, connect=False, head_node_args=NODE)
    made.add_node(**NODE, wait=True)
    yield made
    logs = Path(made.head_node.get_session_dir_path())
    made.shutdown()
    shutil.rmtree(logs, ignore_errors=True)


@pytest.fixture
def on_ray(cluster: Any, phantom_cache: Path) -> dict[str, Any]:
    """What a run is told to be asked there."""
    return {"engine": "ray", "address": cluster.address, "actors": 2}


def actors(cluster: Any, node: Any = None) -> list[int]:
    """The processes of our actors, of one node or of all: children of its raylet."""
    nodes = [node] if node else [cluster.head_node, *cluster.worker_nodes]
    raylets = {
        process.pid for one in nodes for kind, process in one.live_processes() if kind == "raylet"
    }
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, parent = (place / "cmdline").read_bytes(), (place / "stat").read_text()
        except OSError:
            continue
        if words.startswith(b"ray::Desk") and int(parent.rpartition(")")[2].split()[1]) in raylets:
            found.append(int(place.name))
    return found


def committed(store: Path) -> set[str]:
    """The texts of all replies that are kept."""
    if not store.exists():
        return set()
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT reply FROM replies").fetchall()
    except sqlite3.OperationalError:
        return set()
    finally:
        connection.close()
    return {msgspec.msgpack.decode(row[0], type=ov.Reply).text for row in rows}


class Watched:
    """A server whose every answer is the digest of what was asked, and stands in a log."""

    def __init__(self, server: Served, log: Path, store: Path) -> None:
        self.server, self.log, self.store = server, log, store
        self.again: list[set[str]] = []

    def answers(self) -> list[str]:
        return self.log.read_text().split()

    def wait(self, many: int) -> None:
        deadline = time.monotonic() + 120
        while len(committed(self.store)) < many:
            assert time.monotonic() < deadline, f"{len(committed(self.store))} of {many}"
            time.sleep(0.02)

    def note(self) -> Callable[[], set[str]]:
        """Now something is killed: tells what was committed by now and was asked later."""
        kept, before = committed(self.store), len(self.answers())
        return lambda: kept & set(self.answers()[before:])


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    log = tmp_path / "log"
    log.touch()
    with served("slow", delay=0.1, reply="digest", log=log) as server:
        yield Watched(server, log, tmp_path / "store.sqlite")


def recorded(cases: str, to: Path) -> str:
    """A reader that has a reply for every request of the cases."""
    (to / "none.jsonl").touch()
    plan("grounding", cases, [f"recorded:{to}/none.jsonl"], requests=to / "requests.jsonl")
    lines = (to / "requests.jsonl").read_text().splitlines()
    with (to / "replies.jsonl").open("w") as file:
        for number, line in enumerate(lines):
            reply = {"request": json.loads(line)["request"], "text": "Yes" if number % 3 else "No"}
            file.write(json.dumps(reply) + "\n")
    return f"recorded:{to / 'replies.jsonl'}"


def test_the_engines_give_the_same_measures(on_ray, tmp_path) -> None:
    """A reader behind HTTP, a recorded one and a control; and a benchmark with a judge."""
    with served(control="looks", delay=0.01) as server:
        whose = [
            f"openai:m@{server.base_url}",
            recorded("phantom:48", tmp_path),
            "control:prior",
        ]
        asked = (
            ("grounding", "phantom:48", whose, []),
            ("m3cot", "phantom:26", ["control:clinician"], ["control:lexical-judge"]),
        )
        for name, cases, readers, judges in asked:
            made = {}
            for engine, where in (("local", {}), ("ray", on_ray)):
                place = tmp_path / name / engine
                store = tmp_path / f"{name}-{engine}.sqlite"
                made[engine] = place
                ov.run(name, cases, readers, judges=judges, out=place, store=store, **where)
            for file in ("measures.json", "cases.parquet"):
                same = [(place / file).read_bytes() for place in made.values()]
                assert same[0] == same[1], (name, file)


def test_a_killed_worker_and_a_killed_node_lose_nothing(cluster, on_ray, watched, tmp_path) -> None:
    second = next(iter(cluster.worker_nodes))
    later: list[Callable[[], set[str]]] = []
    trouble: list[BaseException] = []

    def kill() -> None:
        try:
            watched.wait(20)
            later.append(watched.note())
            os.kill(actors(cluster, cluster.head_node)[0], signal.SIGKILL)
            watched.wait(70)
            later.append(watched.note())
            cluster.remove_node(second, allow_graceful=False)
        except BaseException as error:
            trouble.append(error)

    killing = threading.Thread(target=kill)
    killing.start()
    reader = f"openai:m@{watched.server.base_url}?concurrency=6&label=m"
    try:
        run = ov.run(
            "grounding", "phantom:48", [reader], out=tmp_path / "run", store=watched.store, **on_ray
        )
    finally:
        killing.join()
        cluster.add_node(**NODE, wait=True)
    assert not trouble
    assert run.unanswered == 0
    bodies = watched.answers()
    assert set(bodies) == committed(watched.store)
    assert [asked_again() for asked_again in later] == [set(), set()]
    assert len(bodies) - len(set(bodies)) <= 2 * 6  # no more than was under way


def test_the_driver_interrupted_and_killed_is_resumed(on_ray, watched, tmp_path) -> None:
    """Once with a Ray of its own, which it takes away with it; once on the cluster."""
    command = [
        *(sys.executable, "-m", "overread", "run", "grounding", "--cases", "phantom:48"),
        *("--reader", f"openai:m@{watched.server.base_url}?concurrency=6"),
        *("--out", tmp_path / "run", "--store", watched.store, "--engine", "ray"),
    ]
    there = set(Path("/tmp").glob(".unfinished.*"))
    own = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    watched.wait(20)
    os.killpg(own.pid, signal.SIGINT)  # as a terminal does: to all in the foreground
    _, said = own.communicate(timeout=60)
    assert own.returncode == 3, said
    assert "Run the same command again to resume." in said
    assert set(Path("/tmp").glob(".unfinished.*")) <= there, "its own Ray's folder is gone"
    bodies = watched.answers()
    assert set(bodies) == committed(watched.store), "calls under way finish, and are kept"
    assert len(bodies) == len(set(bodies))

    first = watched.note()
    killed = subprocess.Popen(
        [*command, "--address", on_ray["address"], "--actors", "2"], stderr=subprocess.PIPE
    )
    watched.wait(len(bodies) + 40)
    second = watched.note()
    killed.kill()
    killed.communicate()
    whose = [f"openai:m@{watched.server.base_url}?concurrency=6"]
    run = ov.run(
        "grounding", "phantom:48", whose, out=tmp_path / "run", store=watched.store, **on_ray
    )
    assert run.unanswered == 0
    assert first() == second() == set()
    bodies = watched.answers()
    assert set(bodies) == committed(watched.store)
    assert len(bodies) - len(set(bodies)) <= 6 + 64


def test_neither_a_patient_nor_a_key_is_in_the_logs_of_ray(
    cluster, on_ray, tmp_path, monkeypatch
) -> None:
    """Nor of what readers print or raise; and the guard holds where trials are asked."""
    made = phantom_cases("grounding", "phantom:48")
    closed = tmp_path / "set"
    shutil.copytree(made.parent, closed)
    (closed / "dataset.toml").write_text('policy = "credentialed"\n')
    monkeypatch.setenv("OVERREAD_TEST_KEY", KEY)

    class Talkative(ov.Model):
        name = "talkative"
        concurrency = 4

        def reply(self, prompt):
            import logging
            import warnings

            print("PATIENT", prompt.text, flush=True)
            warnings.warn(f"PATIENT {prompt.text}", stacklevel=1)
            logging.getLogger("reader").error("PATIENT %s", prompt.text)
            if len(prompt.text) % 2:
                raise ValueError(f"PATIENT {prompt.text}")
            return "PATIENT Yes"

    out = tmp_path / "run"
    with served("instant", keep=5) as server:
        keyed = f"openai:m@{server.base_url}?key_env=OVERREAD_TEST_KEY"
        where = {"out": out, "store": tmp_path / "store.sqlite", **on_ray}
        run = ov.run("grounding", closed / made.name, [Talkative(), keyed], **where)
        assert server.stats()["answered"] > 0
        asked = server.kept()
        away = "openai:m@http://198.51.100.7:9/v1?attempts=1"
        with pytest.raises(Unfinished, match="data-use guard"):
            ov.run("grounding", closed / made.name, [away], **where | {"out": tmp_path / "away"})
    assert run.record.policy == "credentialed"
    text = next(
        part["text"]
        for body in asked
        for message in json.loads(body)["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part.get("type") == "text"
    )
    logs = Path(cluster.head_node.get_session_dir_path()) / "logs"
    read = b"".join(file.read_bytes() for file in logs.rglob("*") if file.is_file())
    assert b"Desk" in read  # something is told: which actor, and when
    for secret in (b"PATIENT", KEY.encode(), text.encode(), b"base64"):
        assert secret not in read, secret
