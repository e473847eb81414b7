"""What goes wrong on the way: said, never scored, and healed by the same command."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from support.commands import Overread, write_manifest
from support.served import served

pytestmark = pytest.mark.usefixtures("no_pages")

RUN = ("run", "grounding", "--cases", "phantom:16")


@contextmanager
def refusing(status: int) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers every request with this status, and what it was sent."""
    heads: list[bytes] = []
    ready = threading.Event()
    address: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))  # fmt: skip
        await reader.readexactly(length)
        body = b'{"error": {"message": "Incorrect API key provided"}}'
        writer.write(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address.append(server.sockets[0].getsockname()[1])
        ready.set()
        while not done.is_set():
            await asyncio.sleep(0.02)
        server.close()

    done = threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{address[0]}/v1", heads
    finally:
        done.set()
        thread.join()


def test_a_server_that_is_down(overread: Overread) -> None:
    done = overread(*RUN, "--reader", "openai:m@http://127.0.0.1:1/v1?attempts=1", "--out", "run")
    assert (done.code, done.out) == (3, "")
    last = done.err.splitlines()[-1]
    assert "cannot connect" in last
    assert "Nothing was measured" in last
    assert ".." not in last
    assert "Run the same command again" in last
    assert not Path("run").exists()


def test_a_wrong_key_stops_at_once(overread: Overread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-the-right-one")
    with refusing(401) as (url, heads):
        words = ("--cases", "phantom:48", "--reader", f"openai:m@{url}?concurrency=2")
        done = overread("run", "grounding", *words, "--out", "run")
    assert (done.code, done.out) == (3, "")
    assert "401" in done.err
    assert "not-the-right-one" not in done.err
    assert all(b"not-the-right-one" in head for head in heads)
    assert len(heads) < 30  # of 188 trials
    assert not Path("run").exists()


def test_unanswered_trials_are_not_scored_and_heal(overread: Overread) -> None:
    with served("hostile", trouble=("400",), permanent_share=0.3, seed=5) as server:
        words = (*RUN, "--reader", f"openai:m@{server.base_url}?identity=one", "--out", "run")
        done = overread(*words)
        refused = server.stats()["refused_bodies"]
    assert refused
    assert done.code == 3
    assert done.err.splitlines()[-1].startswith("overread: ")
    assert "unanswered" in done.err
    assert "Run the same command again to resume." in done.err
    answers = pl.read_parquet("run/answers.parquet")
    assert answers.filter(outcome="unanswered").height >= refused
    assert answers.filter(outcome="unanswered")["answer"].null_count() >= refused
    first = json.loads(Path("run/measures.json").read_text())["measures"][0]
    with served("instant", tally=True) as server:  # the same model, mended
        words = (*RUN, "--reader", f"openai:m@{server.base_url}?identity=one", "--out", "run")
        assert overread(*words).code == 0
        assert server.stats()["requests"] == refused
    healed = json.loads(Path("run/measures.json").read_text())["measures"][0]
    assert healed["measure"] == first["measure"] == "accuracy"
    assert healed["n"] == 16 > first["n"]


@pytest.mark.parametrize(
    "image", ["gone.png", "../film.png", "/etc/hostname", "corrupt.png", "folder", "empty.png"]
)
def test_a_picture_that_cannot_be_shown(overread: Overread, workspace: Path, image: str) -> None:
    from overread.sight import digit_picture

    folder = workspace / "set"
    write_manifest(folder, {}, {"image_path": image})
    (folder / "film.png").write_bytes(digit_picture("1234"))
    (workspace / "film.png").write_bytes(digit_picture("1234"))
    (folder / "corrupt.png").write_bytes(digit_picture("1234")[:200])
    (folder / "empty.png").touch()
    (folder / "folder").mkdir()
    done = overread("run", "grounding", "--cases", folder, "--reader", "control:looks", "--out", "run")  # fmt: skip
    assert done.code == 3
    assert "picture" in done.err.splitlines()[-1]
    answers = pl.read_parquet("run/answers.parquet").filter(case="c1", image="original")
    assert answers["outcome"].to_list() == ["unanswered"]
    assert any(image in str(value) for value in answers.row(0))
