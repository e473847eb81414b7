"""However a server repeats the key it was sent, no file, no line and no page holds it."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import polars as pl
import pytest

from integration.commands import starting
from overread.runs import phantom_cases
from support.answering import raw_server, response

PLAIN = "sk-Zq7vX3wK9pL4fT2mB8nH1cR6yD5sJ0gQ"
ODD = 'Zq7/x+w"9K\\p4fT2&mB8<nH1c%R6yD=5sJ0gQ'


def says(content: Any = "Yes", **fields: Any) -> bytes:
    choice = {"message": {"content": content, **fields.pop("message", {})}, **fields}
    model = choice.pop("model", "m")
    return json.dumps({"model": model, "choices": [choice]}).encode()


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


def replies(key: str) -> dict[str, bytes]:
    """Good replies that hold the key."""
    basic = base64.b64encode(f"user:{key}".encode()).decode()
    token = {"token": key, "logprob": -0.1, "top_logprobs": [{"token": key, "logprob": -0.1}]}
    every = says(
        f"Yes {key}", message={"reasoning_content": key, "refusal": f"no {key}"},
        finish_reason=key, model=f"house/{key}", logprobs={"content": [token]},
    )  # fmt: skip
    return {
        "everywhere": every,
        "in parts": says([{"type": "text", "text": "Yes " + key}]),
        "escaped": says("MARK").replace(b"MARK", ("Yes " + escaped(key)).encode()),
        "percent": says(f"Yes {quote(key, safe='')}"),
        "basic": says(f"Yes Basic {basic}"),
        "a JSON text": says(json.dumps({"sent": f"Bearer {key}"})),
        "cut": says(f"Yes {key[: len(key) // 2]}"),
    }


def refusals(key: str) -> dict[str, bytes]:
    """Errors that hold the key, at every cut."""
    raw = key.encode()
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}}).encode()
    found = {
        "401": response(told, 401),
        "403": response(b"Bearer " + raw, 403),
        "500 nested": response(json.dumps({"error": {"sent": {"auth": key}}}).encode(), 500),
        "200 that is an error": response(told),
        "not JSON": response(b"I know " + raw),
        "redirect": response(b"", 302, b"Location: http://h/?k=" + quote(key, safe="").encode()),
        "retry": response(b"", 429, b"Retry-After: " + raw.replace(b"\n", b"")),
    }
    for at in range(285, 300, 5):
        long = json.dumps({"error": {"message": "x" * at + key}}).encode()
        found[f"cut at {at}"] = response(long, 400)
    found["cut at 80"] = response(b"x" * 70 + raw)
    return found


def broken(key: str) -> dict[str, bytes]:
    """Bytes that are no HTTP, and hold the key."""
    raw = key.encode()
    head = b"HTTP/1.1 200 OK\r\n"
    body = says(f"Yes {key}")
    return {
        "status line": b"HTTP/1.1 " + raw + b"\r\n\r\n",
        "no status line": raw + b"\r\n\r\n",
        "reason": b"HTTP/1.1 500 " + raw + b"\r\nContent-Length: 0\r\n\r\n",
        "header": head + b"X-Key: " + raw + b"\x00\r\n\r\n",
        "header's name": head + raw + b"\r\n\r\n",
        "long header": head + b"X: " + raw * 400 + b"\r\n\r\n",
        "chunk": head + b"Transfer-Encoding: chunked\r\n\r\n" + raw + b"\r\n",
        "length": head + b"Content-Length: " + raw + b"\r\n\r\n",
        "encoding": response(body, 200, b"Content-Encoding: " + raw),
        "no gzip": response(raw * 3, 200, b"Content-Encoding: gzip"),
        "cut gzip": response(gzip.compress(body)[:-9], 200, b"Content-Encoding: gzip"),
        "cut short": head + b"Content-Length: 999\r\n\r\n" + body,
        "cut in the key": head + b"Content-Length: 999\r\n\r\n" + raw[:-3],
        "cookie": response(body, 200, b"Set-Cookie: " + raw + b"[]=" + raw),
        "charset": response(body, 200, b"Content-Type: application/json; charset=" + raw),
    }


def fragments(key: str) -> set[bytes]:
    return {key[at : at + 8].encode() for at in range(len(key) - 7)} | {
        escaped(key[:8]).encode(),
        quote(key, safe="")[:8].encode(),
        base64.b64encode(f"user:{key}".encode())[8:24],
    }


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, and every text inside those that are packed."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        yield path.name, path.read_bytes()
        if path.suffix == ".parquet":
            yield path.name, json.dumps(pl.read_parquet(path).rows(), default=str).encode()


def given(folder: Path, url: str) -> tuple[int, str, str]:
    cases = phantom_cases("grounding", "phantom:48")
    reader = f"openai:m@{url}?attempts=1&timeout=20&concurrency=4"
    place = ("--store", folder / "store.sqlite", "--out", folder / "run")
    with starting("run", "grounding", "--cases", cases, "--reader", reader, *place) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.parametrize("key", [PLAIN, ODD])
def test_a_key_that_a_server_repeats_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    good = [response(body) for body in replies(key).values()]
    evil = [*good, *refusals(key).values(), *broken(key).values()]
    # A good reply first, so that failures are not taken for a server that only fails.
    answers = itertools.chain([response(says())], itertools.cycle(evil))
    heard: list[bytes] = []

    def answer(request: bytes, wire: BinaryIO) -> None:
        heard.append(request)
        wire.write(next(answers))

    with raw_server(answer) as url:
        code, out, err = given(tmp_path, url)
    assert code == 3, err  # some trials are unanswered, and the run is whole
    assert "Traceback" not in err
    assert len(heard) > 3 * len(evil)
    assert all(b"Bearer " + key.encode() in request for request in heard), "it was never sent"

    looked_at = [*written(tmp_path), ("stdout", out.encode()), ("stderr", err.encode())]
    names = {name for name, _ in looked_at}
    assert {"store.sqlite", "run.toml", "answers.parquet", "report.html"} <= names
    for name, held in looked_at:
        for fragment in fragments(key):
            assert fragment not in held, (name, fragment)
    connection = sqlite3.connect(tmp_path / "store.sqlite")
    kept = [bytes(row[0]) for row in connection.execute("SELECT reply FROM replies")]
    reasons = [row[0] for row in connection.execute("SELECT reason FROM failures")]
    connection.close()
    assert sum(b"****" in reply for reply in kept) >= 3 * len(good), "nothing was hidden"
    assert sum("****" in reason for reason in reasons) >= 2 * len(refusals(key))
    entry = tomllib.loads((tmp_path / "run" / "run.toml").read_text())["readers"][0]
    assert key not in str(entry)
    texts = pl.read_parquet(tmp_path / "run" / "answers.parquet")["text"].drop_nulls()
    assert any("Yes ****" in text for text in texts)
