"""`kill -9` at any moment loses what was under way and nothing else."""

from __future__ import annotations

import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from integration.commands import overread, starting
from overread.engine import Sources, Store, Studio, reply_key
from overread.engine.studio import digests
from overread.readers import parse_spec
from overread.readers.guard import Guard
from overread.readers.openai_http import OpenAIReader, request_body
from overread.runs import open_cases, phantom_cases, run_async
from support.served import Served, digest_of, served
from support.warm import Forked, forked

MODELS = ("m1", "m2")
CONCURRENCY = 2
KILLS = 20


def cases() -> Path:
    """Phantoms by their file: a process that gets it need not know how they are made."""
    return phantom_cases("grounding", "phantom:48")


def spec(model: str, server: Served) -> str:
    return f"openai:{model}@{server.base_url}?concurrency={CONCURRENCY}"


def recipe(server: Served, store: Path, out: Path) -> list[object]:
    readers = [*(spec(model, server) for model in MODELS), "control:looks"]
    named = [word for reader in readers for word in ("--reader", reader)]
    return ["run", "grounding", "--cases", cases(), *named, "--store", store, "--out", out]


def keys_by_body(server: Served, scratch: Path) -> dict[str, bytes]:
    """The key of the reply to every body this recipe sends, the body named as in the log."""
    bench = open_cases("grounding", cases(), "corrected", {})
    found: dict[str, bytes] = {}

    async def work(studio: Studio) -> None:
        for model in MODELS:
            said = parse_spec(spec(model, server))
            reader = OpenAIReader(said, Guard(bench.policy), None)
            for case in bench.cases():
                for trial in bench.trials(case, reader.traits):
                    request = trial.request.for_reader(reader.traits)
                    digest, pictures = digests(request, studio.sources)
                    prompt = await studio.show(request, digest, pictures)
                    key = reply_key(reader.identity, digest, trial, greedy=True)
                    found[digest_of(request_body(prompt, said))] = key

    with Store(scratch / "scratch.sqlite") as store:
        studio = Studio(Sources(store, 1))
        run_async(work(studio))
        studio.close()
    return found


def committed(store: Path) -> set[bytes]:
    """The keys that have a reply, as whoever opens the store next will find them."""
    if not store.exists():
        return set()
    connection = sqlite3.connect(store)
    try:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        if ("replies",) not in tables:
            return set()
        return {row[0] for row in connection.execute("SELECT key FROM replies")}
    finally:
        connection.close()


def kill_at_a_random_moment(
    process: Forked, draw: random.Random, answered: Callable[[], int]
) -> None:
    """Once in four while it starts, else a little after it has got its first answers."""
    if draw.random() < 0.25:
        time.sleep(draw.uniform(0.0, 1.0))
    else:
        before, deadline = answered(), time.monotonic() + 60
        while answered() == before and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.wait(10)


@pytest.mark.slow
def test_twenty_kills_change_no_measure_and_no_committed_trial_is_asked_again(
    tmp_path: Path,
) -> None:
    draw = random.Random(20)
    file = tmp_path / "answered.log"
    with served(control="looks", delay=0.1, log=file) as server:
        key_of = keys_by_body(server, tmp_path)
        undisturbed = overread(*recipe(server, tmp_path / "calm.sqlite", tmp_path / "calm"))
        assert undisturbed.returncode == 0, undisturbed.stderr
        assert sorted(file.read_text().split()) == sorted(key_of)  # each body once, and only these

        store, folder = tmp_path / "store.sqlite", tmp_path / "run"
        command = recipe(server, store, folder)
        file.write_text("")  # the server appends

        def answered() -> list[str]:
            return file.read_text().split()

        lost = 0
        kept: set[bytes] = set()
        for _ in range(KILLS):
            seen = len(answered())
            with starting(*command, page=False) as process:
                kill_at_a_random_moment(process, draw, lambda: len(answered()))
                assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
            answers = {key_of[body] for body in answered()[seen:]}
            assert not answers & kept, "a committed trial was asked again"
            assert kept <= committed(store), "a committed reply is gone"
            kept = committed(store)
            lost += len(answers - kept)
        assert 0 < len(kept & set(key_of.values())) < len(key_of)

        seen = len(answered())
        resumed = overread(*command)
        assert resumed.returncode == 0, resumed.stderr
        answers = [key_of[body] for body in answered()[seen:]]
        assert set(answers) == set(key_of.values()) - kept  # only what was missing,
        assert len(set(answers)) == len(answers)  # and each once

    # A kill may lose, for each reader, the calls under way and what came within the 50 ms for which
    # replies are gathered to be committed together; a call takes 100 ms, so as many again.
    assert lost <= KILLS * len(MODELS) * CONCURRENCY * 2
    calm = tmp_path / "calm"
    assert (folder / "measures.json").read_bytes() == (calm / "measures.json").read_bytes()
    one, other = (pl.read_parquet(place / "answers.parquet") for place in (folder, calm))
    assert one.equals(other)
    assert one["answer"].n_unique() == 2  # not measures of nothing


DIES_WRITING = """
import os, sys
from pathlib import Path
left, run, rename = int(sys.argv.pop(1)), Path(sys.argv[-1]), os.replace

def replace(source, target):
    global left
    if run in (Path(target), Path(target).parent):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
    rename(source, target)

os.replace = replace
from overread.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("files", [0, 1, 3])
def test_a_kill_while_the_run_folder_is_put_in_place_stands_in_nobodys_way(
    tmp_path: Path, files: int
) -> None:
    """Killed when so many files stand in their place."""
    command = ["run", "grounding", "--cases", str(cases()), "--reader", "control:prior"]
    command += ["--store", str(tmp_path / "store.sqlite"), "--out", str(tmp_path / "run")]
    died = forked(files, *command, code=DIES_WRITING)
    died.communicate()
    assert died.returncode == -signal.SIGKILL or (files and (tmp_path / "run/run.toml").exists())
    again = overread(*command)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "run" / "run.toml").exists()
    assert not list(tmp_path.rglob(".unfinished*"))  # what the killed one left is gone
