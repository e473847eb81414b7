"""The loopback server does what the tests and benchmarks that lean on it believe."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from io import BytesIO
from typing import Any

import aiohttp
import pytest
from PIL import Image

from overread.benchmarks.grounding.controls import grounding_controls
from overread.case import Decoding
from support.served import SERVER, Served, digest_of, flags, served

PICTURES = [b"\x89PNG first", b"\x89PNG second"]


def chat(text: str = "Is there a nodule?", *pictures: bytes, **fields: Any) -> bytes:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for picture in pictures:
        url = "data:image/png;base64," + base64.b64encode(picture).decode()
        parts.append({"type": "image_url", "image_url": {"url": url}})
    content: Any = parts if pictures else text
    body = {"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 10}
    return json.dumps(body | fields).encode()


def post(server: Served, body: bytes, timeout: float = 10) -> tuple[int, Any, dict[str, str]]:
    """Status, parsed body (or the raw bytes) and headers of one request on its own connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer k"})
        response = connection.getresponse()
        raw = response.read()
        try:
            return response.status, json.loads(raw), dict(response.getheaders())
        except ValueError:
            return response.status, raw, dict(response.getheaders())
    finally:
        connection.close()


def said(answer: Any) -> str:
    return answer["choices"][0]["message"]["content"]


def raw(server: Served, request: bytes) -> bytes:
    """All a server says to these bytes before it closes or falls silent for a second."""
    got = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as wire:
        wire.sendall(request)
        try:
            while chunk := wire.recv(65536):
                got += chunk
        except TimeoutError:
            pass
    return got


# ---------------------------------------------------------------- the wire


def test_instant_answers_a_whole_completion() -> None:
    with served() as server:
        status, answer, _ = post(server, chat(logprobs=True, top_logprobs=5))
        assert status == 200
        assert said(answer) == "Yes"
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "stop"
        first = choice["logprobs"]["content"][0]
        assert first["token"] == "Yes"
        assert len(first["top_logprobs"]) == 5
        assert answer["usage"]["total_tokens"] == 301
        assert server.get("/v1/models")["data"][0]["id"] == answer["model"]
        stats = server.stats()
        assert (stats["requests"], stats["answered"], stats["authorized"]) == (1, 1, 1)


def test_requests_in_pieces_and_in_a_row_are_answered_in_order() -> None:
    bodies = [chat(f"question {n}", b"x" * size) for n, size in enumerate((10, 200_000, 0))]
    with served(reply="digest") as server:
        wire = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        with wire, wire.makefile("rb") as answers:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
            stream = b"".join(head % len(b) + b for b in bodies)
            for at in range(0, len(stream), 30_011):
                wire.sendall(stream[at : at + 30_011])
            for body in bodies:
                length = 0
                while (line := answers.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                assert said(json.loads(answers.read(length))) == digest_of(body)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"GET /v1/chat/completions HTTP/1.1\r\n\r\n", 405),
        (b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (b"GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n", 404),
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
def test_what_is_not_understood_is_refused_politely(request_: bytes, status: int) -> None:
    with served() as server:
        assert raw(server, request_).startswith(b"HTTP/1.1 %d " % status)
        assert post(server, chat())[0] == 200


# ---------------------------------------------------------------- counting


def test_stats_tell_bodies_and_pictures_apart(tmp_path: Any) -> None:
    log = tmp_path / "answered.log"
    one, two = chat("one", *PICTURES), chat("two")
    with served(log=log, keep=2) as server:
        for body in (one, two, one):
            post(server, body)
        stats = server.stats()
        assert stats["bodies"] == 2
        assert stats["histogram"] == {"1": 1, "2": 1}
        assert stats["pictures"] == {"2": 2, "0": 1}
        assert server.bodies()[digest_of(one)] == {"asked": 2, "answered": 2}
        assert [text.encode() for text in server.kept()] == [two, one]
        assert log.read_text().split() == [digest_of(one), digest_of(two), digest_of(one)]


async def ask_many(server: Served, bodies: list[bytes], connections: int) -> list[int]:
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(body: bytes) -> int:
            async with session.post(f"{server.base_url}/chat/completions", data=body) as response:
                await response.read()
                return response.status

        return await asyncio.gather(*map(ask, bodies))


def test_slow_waits_for_many_at_once() -> None:
    with served("slow", delay=0.2) as server:
        began = time.monotonic()
        statuses = asyncio.run(ask_many(server, [chat(str(n)) for n in range(40)], 40))
        took = time.monotonic() - began
        assert statuses == [200] * 40
        assert 0.2 <= took < 4
        stats = server.stats()
        assert 20 <= stats["max_concurrency"] <= 40
        assert stats["connections"] <= 41


def test_a_client_that_leaves_is_not_counted_as_answered() -> None:
    with served("slow", delay=0.3) as server:
        with pytest.raises(TimeoutError):
            post(server, chat(), timeout=0.1)
        time.sleep(0.4)
        stats = server.stats()
        assert (stats["requests"], stats["answered"]) == (1, 0)


# ---------------------------------------------------------------- troubles


def trouble(kind: str, **options: Any) -> Any:
    options = {"min_troubles": 1, "max_troubles": 1, "permanent_share": 1.0} | options
    return served("hostile", trouble=kind, **options)


@pytest.mark.parametrize("kind", ["429", "429-date", "429-bare", "500", "503"])
def test_troubles_told_by_status(kind: str) -> None:
    with trouble(kind, retry_after=7) as server:
        status, answer, headers = post(server, chat())
        assert status == int(kind[:3])
        assert answer["error"]["message"]
        after = headers.get("Retry-After")
        if kind == "429":
            assert after == "7"
        elif kind == "429-date":
            until = email.utils.parsedate_to_datetime(str(after)).timestamp()
            assert 4 < until - time.time() < 8
        else:
            assert after is None
        assert said(post(server, chat())[1]) == "Yes"
        assert server.stats()["troubles"] == {kind: 1}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("not-json", b"<html>upstream timeout</html>"),
        ("empty-list", []),
        ("no-choices", {"choices": []}),
        ("error-in-200", {"error": {"message": "CUDA out of memory", "code": 500}}),
    ],
)
def test_troubles_told_by_content(kind: str, answer: Any) -> None:
    with trouble(kind) as server:
        assert post(server, chat())[:2] == (200, answer)
        assert said(post(server, chat())[1]) == "Yes"
        assert server.stats()["answered"] == 1


def test_null_content() -> None:
    with trouble("null-content") as server:
        assert said(post(server, chat())[1]) is None


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("hang", TimeoutError),
        ("truncated", http.client.IncompleteRead),
        ("reset-after", ConnectionError),
    ],
)
def test_troubles_of_the_connection(kind: str, error: type[Exception]) -> None:
    with trouble(kind) as server:
        with pytest.raises(error):
            post(server, chat(), timeout=0.5)
        assert said(post(server, chat())[1]) == "Yes"
        assert server.bodies()[digest_of(chat())] == {"asked": 2, "answered": 1}


def test_a_reset_before_reading_strikes_a_length_once() -> None:
    bodies = [chat("x" * n) for n in range(20)]
    with trouble("reset-before") as server:
        struck = 0
        for body in bodies:
            try:
                post(server, body)
            except ConnectionError:
                struck += 1
        assert 0 < struck < 20
        assert [post(server, body)[0] for body in bodies] == [200] * 20
        assert server.stats()["troubles"] == {"reset-before": struck}


def test_what_is_refused_for_ever_stays_refused() -> None:
    with trouble("400") as server:
        assert [post(server, chat())[0] for _ in range(4)] == [400] * 4
        assert server.stats()["refused_bodies"] == 1
    with trouble("redirect") as server:
        status, _, headers = post(server, chat())
        assert status == 307
        assert headers["Location"] == server.base_url.replace("/v1", "/elsewhere")
        assert server.stats()["redirected"] == 0
        server.get("/elsewhere")
        assert server.stats()["redirected"] == 1


def statuses(server: Served, bodies: list[bytes], rounds: int) -> list[list[int]]:
    return [[post(server, body)[0] for _ in range(rounds)] for body in bodies]


def test_troubles_are_fixed_by_seed_and_body() -> None:
    bodies = [chat(str(n)) for n in range(60)]
    kinds = ("429-bare", "500", "503", "400")
    options: dict[str, Any] = {"trouble": kinds, "max_troubles": 3, "permanent_share": 0.2}
    with served("hostile", seed=5, **options) as server:
        first = statuses(server, bodies, 5)
    with served("hostile", seed=5, **options) as server:
        assert statuses(server, bodies[::-1], 5)[::-1] == first
    with served("hostile", seed=6, **options) as server:
        assert statuses(server, bodies, 5) != first
    for met in first:
        assert met == [400] * 5 or met[3:] == [200, 200]
    forever = sum(met[0] == 400 for met in first)
    assert 3 <= forever <= 25
    lengths = Counter(met.index(200) for met in first if 200 in met)
    assert set(lengths) == {0, 1, 2, 3}


def test_an_unknown_trouble_is_named() -> None:
    with (
        pytest.raises(RuntimeError, match=r"'gremlins' is none of 429"),
        served("hostile", trouble="gremlins"),
    ):
        pass


# ---------------------------------------------------------------- readers behind HTTP


def test_a_reader_behind_http_says_what_it_says_in_process() -> None:
    with served(control="support.telltale:Telltale") as server:
        body = chat("look", *PICTURES, logprobs=True, top_logprobs=5, temperature=0.0, seed=4)
        answer = post(server, body)[1]
        decoding = Decoding(10, 0.0, 5, 4)
        assert said(answer) == f"'look' {PICTURES[0].hex()} {PICTURES[1].hex()} {decoding}"
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "length"
        assert choice["message"]["reasoning_content"] == "because"
        first = choice["logprobs"]["content"][0]
        assert first["token"] == "Yes"
        assert [each["logprob"] for each in first["top_logprobs"]] == [
            -0.1,
            -2.3456789012345678,
            -9999.0,
        ]
        assert answer["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
        assert post(server, chat("plain"))[1]["choices"][0]["message"]["content"] == (
            f"'plain' {Decoding(10, None, 0, None)}"
        )
        assert post(server, chat("fail"))[0] == 400
        assert post(server, chat("wait"))[0] == 429
        assert post(server, b"[]")[0] == 400
        assert server.stats()["answered"] == 2


def test_grounding_controls_behind_http_say_what_they_say_in_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SERVER.parent))
    from chat_server.wire import prompt_of

    png = BytesIO()
    Image.linear_gradient("L").save(png, "PNG")
    question = "Is there a nodule in this image? Answer Yes or No."
    body = chat(question, png.getvalue(), logprobs=True, top_logprobs=5, temperature=0.0)
    for name, control in grounding_controls().items():
        here = asyncio.run(control.reply(prompt_of(body)))
        with served(control=name) as server:
            answer = post(server, body)[1]
        assert said(answer) == here.text, name
        logprobs = answer["choices"][0]["logprobs"]
        if here.logprobs is None:
            assert logprobs is None, name
        else:
            top = logprobs["content"][0]["top_logprobs"]
            assert tuple((each["token"], each["logprob"]) for each in top) == here.logprobs, name


def test_an_unknown_control_is_named() -> None:
    pytest.importorskip("overread.benchmarks.grounding.controls")
    with (
        pytest.raises(RuntimeError, match="no control is named 'nobody'"),
        served(control="nobody"),
    ):
        pass


# ---------------------------------------------------------------- digits


def digits(server: Served, *pictures: bytes) -> tuple[str, Any, int | None]:
    answer = post(server, chat("Which digits?", *pictures, logprobs=True, top_logprobs=5))[1]
    usage = answer.get("usage")
    return said(answer), answer["choices"][0]["logprobs"], usage and usage["prompt_tokens"]


def test_a_blind_reader_is_moved_by_no_picture() -> None:
    with served("digits", sight="blind") as server:
        assert digits(server) == digits(server, PICTURES[0]) == digits(server, *PICTURES)


def test_pictures_that_arrive_change_everything_but_are_not_read() -> None:
    with served("digits", sight="arrives") as server:
        none, one, other = digits(server), digits(server, PICTURES[0]), digits(server, PICTURES[1])
        assert one == digits(server, PICTURES[0])
        assert one[0] != other[0]
        assert one[1] != other[1]
        assert none[2] < one[2] == other[2] < digits(server, *PICTURES)[2]


def test_a_random_reader_changes_without_pictures() -> None:
    with served("digits", sight="random") as server:
        one, other = digits(server, PICTURES[0]), digits(server, PICTURES[0])
        assert one[:2] != other[:2]
        assert one[2] == digits(server)[2]


def test_a_constant_reader_gives_nothing_to_measure() -> None:
    with served("digits", sight="constant") as server:
        assert (
            digits(server)
            == digits(server, PICTURES[0])
            == ("I cannot help with that.", None, None)
        )


# ---------------------------------------------------------------- the process


def start(**options: Any) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(SERVER), *flags(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("listening http://127.0.0.1:")
    return process


def test_it_ends_on_sigterm_even_with_a_client_hanging() -> None:
    with trouble("hang") as server:
        with pytest.raises(TimeoutError):
            post(server, chat(), timeout=0.2)
        assert server.stop() == 0


def test_it_ends_when_standard_input_closes() -> None:
    process = start(with_parent=True)
    try:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def test_it_ends_when_its_parent_is_killed() -> None:
    code = (
        "import subprocess, sys, time\n"
        f"s = subprocess.Popen([sys.executable, {str(SERVER)!r}, '--with-parent'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "s.stdout.readline(); print(s.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and alive(server):
        time.sleep(0.05)
    if alive(server):
        os.kill(server, signal.SIGKILL)
        pytest.fail("the server outlived its parent")


def alive(pid: int) -> bool:
    """Whether a process still runs; one that ended and waits to be collected does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
