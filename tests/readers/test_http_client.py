"""Our own HTTP: whatever way a good response comes it is read, and what is not one is a failure."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.case import ReaderFailure
from overread.readers import Guard, http_client
from overread.readers.http_client import Broken, Client, Response, Unreachable, Untrusted

CERTIFICATE = Path(__file__).parent / "models_test.pem"  # of `models.test`, signed by itself
OPEN = Guard("open")
OK = b"HTTP/1.1 200 OK\r\n"
Streams = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[..., object]:
    """Both loops: their transports differ in what they do when they are paused or closed."""
    new = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def on_that_loop(work: Awaitable[object]) -> object:
        with asyncio.Runner(loop_factory=new) as runner:
            return runner.run(work)

    return on_that_loop


@asynccontextmanager
async def listening(serve: Streams, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone
        finally:
            writer.close()

    server = await asyncio.start_server(quietly, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def request_from(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


def saying(*parts: bytes, wait: float = 0.0, stay: bool = False) -> Streams:
    """A server that answers every request with these bytes, in parts."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_from(reader)
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(wait)
            if not stay:
                return

    return serve


async def answered(*parts: bytes, wait: float = 0.0) -> Response:
    async with listening(saying(*parts, wait=wait)) as port:
        client = Client(f"http://127.0.0.1:{port}", OPEN, {})
        try:
            return await client.send("POST", "/v1", [b"{", b"}"], 5)
        finally:
            await client.close()


# ---------------------------------------------------------------- good responses

CHUNKED = (
    OK + b"Transfer-Encoding: chunked\r\n\r\n3;why=not\r\nYes\r\n4 \r\n, it\r\n0\r\nX: y\r\n\r\n"
)
GOOD = {
    "with its length": (OK + b"Content-Length: 7\r\n\r\nYes, it", b"Yes, it"),
    "in chunks": (CHUNKED, b"Yes, it"),
    "to the end": (OK + b"\r\nYes, it", b"Yes, it"),
    "of the older kind": (b"HTTP/1.0 200 OK\r\n\r\nYes, it", b"Yes, it"),
    "without a reason": (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", b"x"),
    "after an interim one": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        + OK
        + b"Content-Length: 1\r\n\r\nx",
        b"x",
    ),
    "without a body": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "empty": (OK + b"Content-Length: 0\r\n\r\n", b""),
    "with two lengths in chunks": (
        CHUNKED.replace(b"\r\n", b"\r\nContent-Length: 3\r\n", 1),
        b"Yes, it",
    ),
}
PACKED = {
    "gzip": gzip.compress(b"Yes, it"),
    "x-gzip": gzip.compress(b"Yes, it"),
    "deflate": zlib.compress(b"Yes, it"),
    "Deflate": zlib.compress(b"Yes, it", wbits=-15),
}
for _how, _body in PACKED.items():
    _head = b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (_how.encode(), len(_body))
    GOOD[f"packed by {_how} {len(_body)}"] = (OK + _head + _body, b"Yes, it")


@pytest.mark.parametrize("name", GOOD)
def test_a_good_response_is_read_however_it_comes(name: str, run) -> None:
    raw, body = GOOD[name]
    assert run(answered(raw)).body == body
    bytewise = [raw[at : at + 1] for at in range(len(raw))]
    assert run(answered(*bytewise)).body == body


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.lists(st.integers(1, 120), max_size=4))
def test_wherever_it_is_cut(name: str, cuts: list[int]) -> None:
    raw, body = GOOD[name]
    edges = [0, *sorted({min(cut, len(raw)) for cut in cuts}), len(raw)]
    parts = [raw[a:b] for a, b in pairwise(edges)]
    assert asyncio.run(answered(*parts, wait=0.001)).body == body


def test_what_is_sent_is_what_was_meant(run) -> None:
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await request_from(reader))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    async def go() -> int:
        async with listening(serve) as port:
            client = Client(f"http://127.0.0.1:{port}", OPEN, {"X-Key": "é"})
            await client.send("POST", "/team a/vé1", [b'{"a":', b"1", b"}"], 5)
            await client.close()
            return port

    port = run(go())
    head, _, body = got[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /team%20a/v%C3%A91 HTTP/1.1"
    assert lines[1:] == [
        f"Host: 127.0.0.1:{port}", "Accept: */*", "Accept-Encoding: gzip, deflate", "X-Key: é",
        "Content-Length: 7",
    ]  # fmt: skip
    assert body == b'{"a":1}'


def test_headers_are_found_by_their_small_letters() -> None:
    raw = b"HTTP/1.1 429 Slow\r\nRETRY-After:  7 \r\nX: 1\r\nx: 2\r\nContent-Length: 0\r\n\r\n"
    found = asyncio.run(answered(raw))
    assert found.status == 429
    assert found.headers == {"retry-after": "7", "x": "1, 2", "content-length": "0"}


# ---------------------------------------------------------------- what is none

BAD = {
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP of the future": b"HTTP/2 200\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a header without a name": OK + b": x\r\n\r\n",
    "a header that goes on": OK + b"X: a\r\n b\r\n\r\n",
    "a header with a space": OK + b"Content-Length : 3\r\n\r\nYes",
    "a length that is none": OK + b"Content-Length: -1\r\n\r\n",
    "a length in another script": OK + "Content-Length: ³\r\n\r\nYes".encode(),
    "two lengths": OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nYes!",
    "another transfer encoding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a chunk without a size": OK + b"Transfer-Encoding: chunked\r\n\r\nYes\r\n0\r\n\r\n",
    "a chunk of a signed size": OK + b"Transfer-Encoding: chunked\r\n\r\n+3\r\nYes\r\n0\r\n\r\n",
    "a chunk that is longer": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nYes!\r\n0\r\n\r\n",
    "a chunk's endless line": OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 5000,
    "an endless head": OK + b"X: " + b"x" * 70_000,
    "a body cut short": OK + b"Content-Length: 9\r\n\r\nYes",
    "chunks cut short": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nYes\r\n",
    "a head cut short": OK[:-4],
    "nothing": b"",
    "an unknown encoding": OK + b"Content-Encoding: br\r\nContent-Length: 3\r\n\r\nYes",
    "what cannot be unpacked": OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nYes",
    "a packed body cut short": OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"Yes")[:-3],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_response_breaks_the_connection(name: str, run) -> None:
    with pytest.raises(Broken):
        run(answered(BAD[name]))


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_a_response_or_a_failure_never_a_crash(raw: bytes) -> None:
    for given_ in (raw, OK + raw, OK + b"Transfer-Encoding: chunked\r\n\r\n" + raw):
        with suppress(Broken, ReaderFailure):
            assert isinstance(asyncio.run(answered(given_)), Response)


@pytest.mark.parametrize(
    "head", [b"Content-Length: 4001", b"Transfer-Encoding: chunked", b"X: to the end"]
)
def test_a_body_too_long_ends_where_it_is_too_long(head: bytes, run, monkeypatch) -> None:
    monkeypatch.setattr(http_client, "MOST_BYTES", 4000)
    body = b"fa1\r\n" + b"x" * 4001 if b"chunked" in head else b"x" * 4001
    with pytest.raises(ReaderFailure, match="too long: a reply of over 4,000 bytes") as caught:
        run(answered(OK + head + b"\r\n\r\n" + body))
    assert not caught.value.heals


def test_a_length_beyond_all_measure_is_refused_before_it_comes(run) -> None:
    with pytest.raises(ReaderFailure, match="too long"):
        run(answered(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n"))


# ---------------------------------------------------------------- connections


async def sent_in_turn(serve: Streams, times: int, pause: float = 0.0) -> tuple[int, list[object]]:
    """How many connections were made for so many requests, and what came of each."""
    made = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        await serve(reader, writer)

    async with listening(counted) as port:
        client, found = Client(f"http://127.0.0.1:{port}", OPEN, {}), []
        for _ in range(times):
            try:
                found.append((await client.send("POST", "/", [b"q"], 5)).body)
            except Broken:
                found.append(None)
            await asyncio.sleep(pause)
        await client.close()
    return made, found


YES = OK + b"Content-Length: 3\r\n\r\nYes"


def test_a_connection_is_used_again(run) -> None:
    assert run(sent_in_turn(saying(YES, stay=True), 5)) == (1, [b"Yes"] * 5)


@pytest.mark.parametrize(
    "raw",
    [
        YES.replace(b"\r\n", b"\r\nConnection: close\r\n", 1),
        b"HTTP/1.0" + YES[8:],
        YES + b"No",  # what nobody asked for
        YES + YES,
    ],
)
def test_a_connection_that_cannot_be_trusted_to_go_on_is_not(raw: bytes, run) -> None:
    assert run(sent_in_turn(saying(raw, stay=True), 3)) == (3, [b"Yes"] * 3)


def test_what_comes_unasked_later_is_no_answer_to_the_next_question(run) -> None:
    lies = YES.replace(b"Yes", b"Lie")
    serve = saying(YES, lies, wait=0.02, stay=True)
    assert run(sent_in_turn(serve, 3, pause=0.1)) == (3, [b"Yes"] * 3)


def test_a_connection_that_the_server_closed_is_not_used_again(run) -> None:
    assert run(sent_in_turn(saying(YES), 3, pause=0.05)) == (3, [b"Yes"] * 3)


def test_a_connection_idle_for_long_is_not_used_again(run, monkeypatch) -> None:
    monkeypatch.setattr(http_client, "_IDLE", 0.01)
    assert run(sent_in_turn(saying(YES, stay=True), 3, pause=0.05)) == (3, [b"Yes"] * 3)


def test_a_connection_on_which_a_question_is_still_going_out_is_not_used_again(run) -> None:
    made = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(YES)  # without having read the question
        await asyncio.sleep(1)

    async def go() -> list[bytes]:
        async with listening(serve) as port:
            client = Client(f"http://127.0.0.1:{port}", OPEN, {})
            long = [b"x" * 30_000_000]
            return [(await client.send("POST", "/", long, 5)).body for _ in range(2)]

    assert run(go()) == [b"Yes", b"Yes"]
    assert made == 2


def test_who_is_told_to_stop_leaves_no_connection_behind(run) -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_from(reader)
        came.set()
        assert await reader.read() == b""
        gone.set()

    async def go() -> None:
        async with listening(serve) as port:
            client = Client(f"http://127.0.0.1:{port}", OPEN, {})
            asked = asyncio.create_task(client.send("POST", "/", [b"q"], 60))
            await came.wait()
            asked.cancel()
            await asyncio.wait_for(gone.wait(), 30)
            with pytest.raises(asyncio.CancelledError):
                await asked

    run(go())


def test_long_bodies_are_read_two_at_a_time(run, monkeypatch) -> None:
    """The others wait in the server's hands."""
    size, held, most = 3_000_000, {}, 0
    add = http_client._Connection._add

    def counted(self, part: bytes) -> None:
        nonlocal most
        add(self, part)
        held[self] = len(self._body) % size
        most = max(most, sum(length > 1_000_000 for length in held.values()))

    monkeypatch.setattr(http_client._Connection, "_add", counted)

    async def go() -> list[int]:
        parts = [OK + b"Content-Length: %d\r\n\r\n" % size, *[b"x" * 100_000] * 30]
        async with listening(saying(*parts, wait=0.001)) as port:
            client = Client(f"http://127.0.0.1:{port}", OPEN, {})
            asked = [client.send("POST", "/", [b"q"], 60) for _ in range(8)]
            return [len(response.body) for response in await asyncio.gather(*asked)]

    assert run(go()) == [size] * 8
    assert most == 2


def test_nobody_there_is_unreachable(run) -> None:
    async def go() -> None:
        await Client("http://127.0.0.1:9", OPEN, {}).send("POST", "/", [b"q"], 5)

    with pytest.raises(Unreachable):
        run(go())


def test_time_is_up_even_where_a_long_body_waits_for_its_turn(run) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_from(reader)
        writer.write(OK + b"Content-Length: 900000\r\n\r\n" + b"x" * 400_000)
        await asyncio.sleep(60)

    async def go() -> list[object]:
        async with listening(serve) as port:
            client = Client(f"http://127.0.0.1:{port}", OPEN, {})
            asked = [client.send("POST", "/", [b"q"], 0.3) for _ in range(4)]
            return await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)

    assert [type(outcome) for outcome in run(go())] == [TimeoutError] * 4


def test_of_a_name_with_several_addresses_only_the_allowed_are_tried(run, monkeypatch) -> None:
    tried: list[str] = []
    real = Guard.socket_for

    def spy(self: Guard, host: str, info: tuple) -> object:
        tried.append(info[4][0])
        return real(self, host, info)

    monkeypatch.setattr(Guard, "socket_for", spy)

    async def go(guard: Guard, *addresses: str) -> Response:
        async with listening(saying(YES)) as port:
            client = Client(f"http://models.test:{port}", guard, {})
            client._addresses = [(2, 1, 6, "", (address, port)) for address in addresses]
            client._resolved_at = float("inf")
            return await client.send("POST", "/", [b"q"], 5)

    guard = Guard("credentialed")
    assert run(go(guard, "8.8.8.8", "127.0.0.1")).body == b"Yes"
    assert tried == ["127.0.0.1"]
    with pytest.raises(ReaderFailure, match=r"models\.test \(address 8\.8\.8\.8\)"):
        run(go(guard, "8.8.8.8", "1.1.1.1"))
    assert tried == ["127.0.0.1"]


# ---------------------------------------------------------------- TLS and proxies


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The certificate of models.test is one that this machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    http_client._trust.cache_clear()
    yield
    http_client._trust.cache_clear()


def tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


def found_at(client: Client, port: int) -> Client:
    client._addresses = [(2, 1, 6, "", ("127.0.0.1", port))]
    client._resolved_at = float("inf")
    return client


async def over_tls(host: str) -> list[bytes]:
    async with listening(saying(YES, stay=True), tls()) as port:
        client = found_at(Client(f"https://{host}:{port}", OPEN, {}), port)
        found = [(await client.send("POST", "/", [b"x" * 3_000_000], 20)).body for _ in range(2)]
        await client.close()
        return found


def test_a_trusted_server_is_asked_over_tls(run, trusted) -> None:
    assert run(over_tls("models.test")) == [b"Yes", b"Yes"]


def test_a_certificate_of_another_name_is_not_trusted(run, trusted) -> None:
    with pytest.raises(Untrusted, match="other\\.test"):
        run(over_tls("other.test"))


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(run) -> None:
    with pytest.raises(Untrusted):
        run(over_tls("models.test"))


def test_a_server_that_speaks_no_tls_is_not_asked(run) -> None:
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read(1 << 16))
        writer.write(YES)

    async def go() -> None:
        async with listening(serve) as port:
            client = found_at(Client(f"https://models.test:{port}", OPEN, {}), port)
            await client.send("POST", "/", [b"secret"], 5)

    with pytest.raises(Unreachable):
        run(go())
    assert b"secret" not in got[0]


async def through_a_proxy(
    url: str, answer: bytes, proxy_tls: ssl.SSLContext | None = None
) -> tuple[list[bytes], bytes]:
    """The heads that a proxy got, and the body that came of it. It leads everything to one place."""
    heads: list[bytes] = []
    secure = url.startswith("https")

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while part := await source.read(1 << 16):
            sink.write(part)
            await sink.drain()
        sink.close()

    async with listening(saying(YES, stay=True), tls() if secure else None) as port:

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head)
            there, back = await asyncio.open_connection("127.0.0.1", port)
            if head.startswith(b"CONNECT"):
                writer.write(answer)
                if b" 200" not in answer:
                    return
            else:
                back.write(head)
            try:
                await asyncio.gather(carry(reader, back), carry(there, writer))
            finally:
                back.close()

        async with listening(proxy, proxy_tls) as at:
            scheme, host = ("https", "models.test") if proxy_tls else ("http", "127.0.0.1")
            client = Client(f"{url}", OPEN, {"X-Key": "k"}, f"{scheme}://{host}:{at}")
            found_at(client, at)
            try:
                found = [(await client.send("POST", "/v1", [b"q"], 10)).body for _ in range(2)]
            finally:
                await client.close()
            return heads, b"".join(found)


def test_a_proxy_is_told_where_a_plain_request_goes(run) -> None:
    heads, body = run(through_a_proxy("http://models.test:8000", b""))
    assert body == b"YesYes"
    assert heads[0].startswith(
        b"POST http://models.test:8000/v1 HTTP/1.1\r\nHost: models.test:8000"
    )


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_proxy_sees_nothing_of_what_goes_over_tls(version: bytes, run, trusted) -> None:
    agreed = b"HTTP/" + version + b" 200 Connection established\r\n\r\n"
    heads, body = run(through_a_proxy("https://models.test", agreed))
    assert body == b"YesYes"
    assert heads == [b"CONNECT models.test:443 HTTP/1.1\r\nHost: models.test:443\r\n\r\n"]


def test_a_proxy_may_speak_tls_itself(run, trusted) -> None:
    agreed = b"HTTP/1.1 200 Connection established\r\n\r\n"
    for url in ("http://models.test", "https://models.test"):
        assert run(through_a_proxy(url, agreed, tls()))[1] == b"YesYes"


def test_a_proxy_that_refuses_is_a_failure_and_gets_nothing(run, trusted) -> None:
    with pytest.raises(Broken, match="the proxy answered CONNECT with HTTP 403"):
        run(through_a_proxy("https://models.test", b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"))
