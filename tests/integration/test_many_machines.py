"""Shards and a served store: the bytes of one machine, whoever is killed meanwhile."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest

from integration.commands import overread, starting
from integration.test_kill import cases, committed, keys_by_body
from integration.test_two_processes import BODIES, asked, measures
from overread.engine import Store
from support.commands import no_pages
from support.served import served
from support.store_server import free_port, serving_command, store_served

__all__ = ["no_pages"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pages")]
PARTS = 4
JUDGED = ["run", "m3cot", "--cases", "phantom:26", "--reader", "control:clinician"]
JUDGED += ["--reader", "control:rambler", "--judge", "control:lexical-judge"]
JUDGED += ["--set", "boot=100", "--set", "checks=3"]


def in_parts(place: Path, *command: object) -> Path:
    """Ask all parts, each into a store of its own, and merge them; the merged store."""
    stores = [place / f"part {number}.sqlite" for number in range(1, PARTS + 1)]
    for number, store in enumerate(stores, 1):
        done = overread(*command, "--shard", f"{number}/{PARTS}", "--store", store)
        assert done.returncode == 0, done.stderr
    whole = place / "merged.sqlite"
    done = overread("store", "merge", *stores, "--into", whole)
    assert done.returncode == 0, done.stderr
    return whole


def by_two_clients(place: Path, *command: object) -> None:
    """Two processes at once on one served store, into the folders `one` and `other`."""
    with Store(place / "served.sqlite") as store, store_served(store) as link:
        words = [[*command, "--store", link, "--out", place / name] for name in ("one", "other")]
        with starting(*words[0], page=False) as one, starting(*words[1], page=False) as other:
            for process in (one, other):
                _, said = process.communicate(timeout=120)
                assert process.returncode == 0, said


def test_parts_and_clients_of_a_served_store_ask_each_question_once(tmp_path: Path) -> None:
    def command(base_url: str) -> list[object]:
        reader = f"openai:m@{base_url}?concurrency=4&label=control:looks"
        return ["run", "grounding", "--cases", cases(), "--reader", reader]

    alone = ["run", "grounding", "--cases", cases(), "--reader", "control:looks"]
    done = overread(*alone, "--store", tmp_path / "own.sqlite", "--out", tmp_path / "alone")
    assert done.returncode == 0, done.stderr

    with served(control="looks") as server:
        whole = in_parts(tmp_path, *command(server.base_url))
        assert asked(server) == {(1, 1): BODIES}
        done = overread(*command(server.base_url), "--store", whole, "--out", tmp_path / "parts")
        assert done.returncode == 0, done.stderr
        assert asked(server) == {(1, 1): BODIES}  # everything was answered
    with served(control="looks", delay=0.03) as server:
        by_two_clients(tmp_path, *command(server.base_url))
        assert asked(server) == {(1, 1): BODIES}
    expected = measures(tmp_path / "alone")
    for name in ("parts", "one", "other"):
        assert measures(tmp_path / name) == expected, name


def test_with_judges_the_bytes_are_the_same_too(tmp_path: Path) -> None:
    done = overread(*JUDGED, "--store", tmp_path / "own.sqlite", "--out", tmp_path / "alone")
    assert done.returncode == 0, done.stderr
    whole = in_parts(tmp_path, *JUDGED)
    with Store(whole) as store, Store(tmp_path / "own.sqlite") as own:
        assert store.count() == own.count()
    done = overread(*JUDGED, "--store", whole, "--out", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    assert "NOTHING WAS ASKED" in done.stderr or "/s" not in done.stderr
    with Store(whole) as store, Store(tmp_path / "own.sqlite") as own:
        assert store.count() == own.count()
    by_two_clients(tmp_path, *JUDGED)
    expected = measures(tmp_path / "alone")
    for name in ("parts", "one", "other"):
        assert measures(tmp_path / name) == expected, name
        verdicts = (tmp_path / name / "verdicts.parquet").read_bytes()
        assert verdicts == (tmp_path / "alone" / "verdicts.parquet").read_bytes()


def wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def kill(process: Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_killed_parts_clients_and_servers_lose_nothing_and_ask_nothing_twice(
    tmp_path: Path,
) -> None:
    log = tmp_path / "answered.log"
    with served(control="looks", delay=0.05, log=log) as server:
        key_of = keys_by_body(server, tmp_path)

        def answered() -> list[bytes]:
            return [key_of[body] for body in log.read_text().split()]

        def command(out: str, *more: object) -> list[object]:
            models = [f"openai:{m}@{server.base_url}?concurrency=3" for m in ("m1", "m2")]
            readers = [word for model in models for word in ("--reader", model)]
            words = ["run", "grounding", "--cases", cases(), *readers]
            return [*words, "--out", tmp_path / out, *more]

        log.touch()
        # ---- a part is killed, and asked again
        store = tmp_path / "part.sqlite"
        one = command("parts", "--shard", "1/2", "--store", store)
        with starting(*one, page=False) as process:
            wait_until(lambda: len(answered()) >= 40)
            kill(process)
        kept, before = committed(store), len(answered())
        assert 0 < len(kept) <= before
        assert overread(*one).returncode == 0
        assert not set(answered()[before:]) & kept, "a committed trial was asked again"
        other = tmp_path / "other.sqlite"
        assert overread(*command("parts", "--shard", "2/2", "--store", other)).returncode == 0
        whole = tmp_path / "whole.sqlite"
        assert overread("store", "merge", store, other, "--into", whole).returncode == 0
        assert committed(whole) == set(key_of.values())
        count = len(answered())
        assert overread(*command("parts", "--store", whole)).returncode == 0
        assert len(answered()) == count

        # ---- the server of a store is killed and comes back; then one of its clients is killed
        log.write_text("")
        file, port = tmp_path / "served.sqlite", free_port()
        with serving_command(file, port) as (serves, link):
            clients = [command(name, "--store", link) for name in ("killed", "lives")]
            with (
                starting(*clients[0], page=False) as killed,
                starting(*clients[1], page=False) as lives,
            ):
                wait_until(lambda: len(answered()) >= 40)
                kill(serves)
                time.sleep(0.3)
                with serving_command(file, port) as (_, again):
                    assert again == link
                    wait_until(lambda: len(committed(file)) >= 120)
                    # Both live, so nothing is asked twice, committed or not.
                    assert len(set(answered())) == len(answered())
                    kill(killed)
                    kept, before = committed(file), len(answered())
                    _, said = lives.communicate(timeout=60)
                    assert lives.returncode == 0, said
                    assert not set(answered()[before:]) & kept, "a committed trial was asked again"
                    assert committed(file) == set(key_of.values())
                    count = len(answered())
                    assert overread(*clients[0]).returncode == 0  # resumed: nothing is left to ask
                    assert len(answered()) == count
    for name in ("killed", "lives"):
        assert measures(tmp_path / name) == measures(tmp_path / "parts")
