"""A store that is served is the store in the file: the same calls, the same answers."""

from __future__ import annotations

import http.client
import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from overread.case import BadInput, Reply
from overread.door import certificate_of
from overread.engine import Asker, Enrolment, ReplyStore, Store, store_door
from overread.engine import store as store_module
from overread.engine import store_served as store_served_module
from overread.engine import store_wire as wire
from overread.engine.store import Session
from overread.engine.store_door import bound_privately, token_of
from overread.engine.store_file import Life, this_process
from overread.engine.store_served import ServedStore
from overread.readers import http_client
from support.readers import Scripted
from support.store_server import TOKEN, free_port, store_served

CERTIFICATE = Path(__file__).parents[1] / "readers" / "models_test.pem"  # of `models.test`
KEYS = [bytes([n]) * 16 for n in range(9)]
OLD = Enrolment(identity='["openai","m"]', label="old", weights=True)
NEW = msgspec.structs.replace(OLD, label="new")
Opens = Callable[[], ReplyStore]


@pytest.fixture(params=["file", "served"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opens]:
    """Opens the same store again and again: as a process would its file, or behind one server."""
    with ExitStack() as stack:
        place = tmp_path / "store.sqlite"
        if request.param == "file":
            yield lambda: closed_later(stack, Store(place))
        else:
            link = stack.enter_context(store_served(stack.enter_context(Store(place))))
            yield lambda: closed_later(stack, ServedStore(link))


def closed_later(stack: ExitStack, store: ReplyStore) -> ReplyStore:
    """Unless the test closes it."""

    def close() -> None:
        with suppress(sqlite3.ProgrammingError):
            store.close()

    stack.callback(close)
    return store


# ---------------------------------------------------------------- one protocol, two stores


def test_what_is_committed_comes_back_and_is_claimed_by_nobody(opens: Opens) -> None:
    store, other = opens(), opens()
    number = store.dataset_id("grounding", "set@1", "credentialed")
    assert other.dataset_id("grounding", "set@1", "credentialed") == number
    assert other.dataset_id("grounding", "set@1", "open") != number

    odd = Reply(
        "no <b> \x00 ✓ \ud800", (("No", -0.5),), reasoning="because", tokens_in=3, model="m"
    )
    assert store.claim(KEYS[:3]).ours == set(KEYS[:3])
    assert other.claim(KEYS[:4]).elsewhere == set(KEYS[:3])
    store.commit([(KEYS[0], number, odd)], [(KEYS[1], number, "HTTP 400: \udc80 bad")])
    kept = other.get(KEYS)[KEYS[0]]
    assert kept.reply == msgspec.structs.replace(odd, text="no <b> \x00 ✓ ?")
    assert not kept.before  # it came since the other opened the store
    assert opens().get(KEYS, Asker()).keys() == other.known(KEYS) == {KEYS[0]}
    assert other.failures(KEYS) == {KEYS[1]: "HTTP 400: ? bad"}
    again = other.claim(KEYS[:3])
    assert (again.ours, again.answered, again.elsewhere) == ({KEYS[1]}, {KEYS[0]}, {KEYS[2]})
    assert again.lately == 1
    store.close()  # lets go
    assert other.claim(KEYS[2:3]).ours == {KEYS[2]}
    assert [(one.dataset, one.replies) for one in other.listing()] == [("set@1", 1), ("set@1", 0)]


def test_labels_and_what_was_asked_anew_are_the_same_to_both(opens: Opens) -> None:
    store = opens()
    number = store.dataset_id("grounding", "set@1", "open")
    store.enrol([OLD], number)
    store.commit([(KEYS[0], number, Reply("yes"))], [], store.enrolled(OLD))
    with pytest.raises(BadInput, match=r'^reader "new": the same model .* answered as "old"'):
        opens().enrol([NEW], number)
    with pytest.raises(BadInput, match='"new"'):
        opens().foresee([NEW], "grounding", "set@1")
    anew = opens()
    anew.enrol([NEW], number, fresh=True)
    assert anew.known(KEYS, anew.enrolled(NEW)) == set()  # what was kept before counts no more
    assert anew.claim(KEYS[:1], anew.enrolled(NEW)).ours == {KEYS[0]}
    row = anew.enrolled(NEW).number
    assert row is not None
    assert anew.reader_rows([row]) == {row: ("new", "")}

    reader = Scripted()
    anew.count_for(reader, anew.enrolled(NEW))
    assert anew.note_served(reader, "m@1") == ""
    anew.commit([(KEYS[0], number, Reply("no"))], [], anew.asker(reader))
    assert anew.note_served(reader, "m@2") == "m@1"
    assert anew.asker(reader).number != row
    assert anew.rate(OLD.identity) is None


def test_digests_of_files_stay_on_their_machine(opens: Opens, tmp_path: Path) -> None:
    store = opens()
    number = store.dataset_id("grounding", "set@1", "open")
    store.keep_sources([("/films/a.png", 10, 20, b"d" * 16, number)])
    assert store.source("/films/a.png", 10, 20) == b"d" * 16
    assert store.source("/films/a.png", 10, 21) is None
    assert opens().source("/films/a.png", 10, 20) == (
        None if isinstance(store, ServedStore) else b"d" * 16
    )


def test_with_a_store_of_its_own_a_client_remembers_digests(tmp_path: Path) -> None:
    beside = tmp_path / "beside.sqlite"

    def own(make: bool) -> Store | None:
        return Store(beside) if make or beside.exists() else None

    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        kept.dataset_id("other", "first@1", "open")  # numbers of data sets are not the same
        for known in (None, b"d" * 16):
            with ServedStore(link, digests=own) as store:
                assert beside.exists() == (known is not None)  # who only looks makes none
                number = store.dataset_id("grounding", "set@1", "credentialed")
                assert store.source("/a.png", 1, 2) == known
                store.keep_sources([("/a.png", 1, 2, b"d" * 16, number)])
    with Store(beside) as left:
        assert [(one.dataset, one.policy) for one in left.listing()] == [("set@1", "credentialed")]


def test_more_than_fits_a_message_goes_in_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "ENOUGH_BYTES", 30_000)
    monkeypatch.setattr(wire, "MOST_KEYS", 50)
    keys = [number.to_bytes(16, "big") for number in range(200)]
    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        with ServedStore(link) as store:
            assert store.claim(keys).ours == set(keys)
            store.commit([(key, 1, Reply("x" * 3000)) for key in keys], [])
            assert {key: one.reply.text for key, one in store.get(keys).items()} == dict.fromkeys(
                keys, "x" * 3000
            )
            assert store.known(keys) == set(keys)
            assert store.claim(keys).answered == set(keys)
        assert kept.count() == 200


def test_no_message_is_longer_than_the_other_side_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "ENOUGH_BYTES", 30_000)
    monkeypatch.setattr(wire, "MOST_BYTES", 60_000)
    monkeypatch.setattr(http_client, "MOST_BYTES", 60_000)
    monkeypatch.setattr(store_served_module, "_FAILURES", 10)
    with (
        Store(tmp_path / "store.sqlite") as kept,
        store_served(kept) as link,
        ServedStore(link) as store,
    ):
        lengths = [1, 29_000, 50_000, 1, 1, 20_000, 20_000]
        replies = [
            (key, 1, Reply("", refusal="x" * length))
            for key, length in zip(KEYS, lengths, strict=False)
        ]
        store.commit(replies, [(bytes([n]) * 8, 1, "y" * 1000) for n in range(100)])
        found = store.get(KEYS)
        assert [len(found[key].reply.refusal or "") for key, *_ in replies] == lengths
        assert len(store.failures([bytes([n]) * 8 for n in range(0, 100, 5)])) == 20


@pytest.mark.slow
def test_replies_of_megabytes_come_back_a_few_at_a_time(tmp_path: Path) -> None:
    """What a reader may say is bounded, and so is what a message may be."""
    with (
        Store(tmp_path / "store.sqlite") as kept,
        store_served(kept) as link,
        ServedStore(link) as store,
    ):
        store.commit([(key, 1, Reply("é" * 6_000_000)) for key in KEYS[:3]], [])
        assert [len(one.reply.text) for one in store.get(KEYS).values()] == [6_000_000] * 3


def test_a_damaged_reply_is_asked_for_again(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        kept.commit([(KEYS[0], 1, Reply("yes"))], [])
        with kept.writing() as raw:
            raw.execute("UPDATE replies SET reply=x'00'")
        with ServedStore(link) as store:
            assert store.get(KEYS) == {}
            assert store.claim(KEYS[:1]).ours == {KEYS[0]}
            assert store.damaged == 1


# ---------------------------------------------------------------- who lives


def test_claims_of_a_client_that_is_silent_lapse_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another host's process nothing is known but its heartbeat, by the server's own clock."""
    monkeypatch.setattr(store_module, "_BEAT_EVERY", 0.0)
    clock = [1000.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: clock[0])
    with Store(tmp_path / "store.sqlite") as kept:
        silent, speaks, new = (kept.session(Life(name, 7, 1)) for name in ("h1", "h2", "h3"))
        for session, key in ((silent, KEYS[0]), (speaks, KEYS[1])):
            kept.join(session)
            assert kept.claim([key], session=session).ours == {key}
        for _ in range(5):
            clock[0] += 40.0
            kept.beat(speaks)
        kept.join(new)
        claimed = kept.claim(KEYS[:2], session=new)
        assert (claimed.ours, claimed.elsewhere) == ({KEYS[0]}, {KEYS[1]})


def test_after_a_reboot_of_the_server_s_host_who_lives_keeps_its_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client brings a heartbeat by the clock before: by the clock since, that is far ahead."""
    clock = [1e6]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: clock[0])
    with Store(tmp_path / "store.sqlite") as kept:
        lives, other = (kept.session(Life(name, 7, 1)) for name in ("h1", "h2"))
        kept.join(lives)
        assert kept.claim(KEYS[:1], session=lives).ours
        clock[0] = 5.0
        kept.join(other)
        desk = store_door._Desk(kept, TOKEN, print)
        for _ in range(12):
            clock[0] += 16.0
            desk._done(wire.Beat(msgspec.structs.replace(lives)))
            desk._done(wire.Beat(other))
        assert desk._done(wire.Claim(KEYS[:1], Asker(), other)).elsewhere == {KEYS[0]}
        desk.close()


def test_a_client_killed_on_the_server_s_own_host_is_known_to_be_dead(tmp_path: Path) -> None:
    gone = this_process()._replace(pid=2**22 + 1)  # no such process
    with Store(tmp_path / "store.sqlite") as kept:
        dead, alive = kept.session(gone), kept.session(this_process())
        kept.join(dead)
        assert kept.claim(KEYS[:1], session=dead).ours
        kept.join(alive)
        assert kept.claim(KEYS[:1], session=alive).ours == {KEYS[0]}


# ---------------------------------------------------------------- a server that comes and goes


@pytest.mark.slow
def test_clients_wait_for_a_server_and_lose_nothing(tmp_path: Path) -> None:
    place, port, said = tmp_path / "store.sqlite", free_port(), []
    done = threading.Event()

    def late() -> None:
        time.sleep(0.3)
        with Store(place) as kept, store_served(kept, port):
            done.wait(20)

    with Store(place) as kept, store_served(kept, port) as link:
        store = ServedStore(link, tell=said.append)
        assert store.claim(KEYS[:2]).ours == set(KEYS[:2])
    server = threading.Thread(target=late)
    server.start()
    store.commit([(KEYS[0], 1, Reply("yes"))], [])  # sent until it is taken
    store.commit([(KEYS[0], 1, Reply("no"))], [])  # as if its answer had been lost
    assert store.get(KEYS)[KEYS[0]].reply.text == "yes"
    with ServedStore(link) as other:  # the claims are those of before the restart
        assert other.claim(KEYS[:2]).elsewhere == {KEYS[1]}
    assert store.claim(KEYS[:2]).ours == {KEYS[1]}
    store.close()
    done.set()
    server.join()


def test_patience_ends_in_one_line_and_then_nothing_waits(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        store = ServedStore(link, patience=0.2)
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(BadInput, match=r"^http://127.0.0.1:\d+: .* does not answer .*again"):
            store.known(KEYS)
    store.close()
    assert time.monotonic() - began < 5


def test_who_wants_to_leave_waits_for_no_server(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        store = ServedStore(link)
    began = time.monotonic()
    threading.Timer(0.2, store.hurry).start()
    with pytest.raises(BadInput, match="does not answer"):
        store.commit([(KEYS[0], 1, Reply("yes"))], [])
    store.close()
    assert time.monotonic() - began < 10  # and not five minutes


def test_who_wants_to_leave_waits_for_no_server_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes a message and says nothing more, as a process that was stopped does."""
    monkeypatch.setattr(store_served_module, "_LEAST_TIMEOUT", 0.05)
    monkeypatch.setattr(store_served_module, "_LOOKS_EVERY", 0.02)
    welcome = wire.encode(Session(this_process(), 1, 1, 5))
    head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(welcome)}\r\n\r\n"
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as hangs:

        def answer_once() -> None:
            connection = stack.enter_context(hangs.accept()[0])
            connection.recv(65536)
            connection.sendall(head.encode() + welcome)
            connection.close()

        first = threading.Thread(target=answer_once)
        first.start()
        store = ServedStore(f"http://127.0.0.1:{hangs.getsockname()[1]}/?token={TOKEN}")
        first.join()
        began = time.monotonic()
        threading.Timer(0.1, store.hurry).start()
        with pytest.raises(BadInput, match="does not answer"):
            store.known(KEYS)
        store.close()
        assert time.monotonic() - began < 10  # and not two minutes and a half for each


# ---------------------------------------------------------------- who is let in


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "8.8.8.8"])
def test_a_store_is_served_at_private_addresses_only(host: str) -> None:
    with pytest.raises(BadInput, match=rf"^--host {host}"):
        bound_privately(host, 0, (), tls=False).listening.close()


def test_a_client_goes_to_private_addresses_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the address connected to, whatever the name; before a byte is sent."""

    def resolved(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.7", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    made = []
    monkeypatch.setattr(socket.socket, "connect", lambda *given: made.append(given))
    with pytest.raises(BadInput, match=r"store at intranet\.local .*203\.0\.113\.7.*Nothing was"):
        ServedStore(f"http://intranet.local/?token={TOKEN}")
    assert made == []


def test_with_a_certificate_it_is_encrypted_and_the_name_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *more, **named: resolve("127.0.0.1", *more, **named)
    )
    tls = certificate_of(CERTIFICATE, CERTIFICATE)
    with (
        Store(tmp_path / "store.sqlite") as kept,
        store_served(kept, names=("models.test",), tls=tls) as link,
    ):
        assert link.startswith("https://models.test:")
        with pytest.raises(BadInput, match=r"not trusted .*SSL_CERT_FILE"):
            ServedStore(link)
        trusting = ssl.create_default_context(cafile=CERTIFICATE)
        monkeypatch.setattr(http_client, "_trust", lambda: trusting)
        with ServedStore(link) as store:
            assert store.dataset_id("grounding", "set@1", "open") == 1
        with pytest.raises(BadInput, match="not trusted"):
            ServedStore(link.replace("models.test", "other.test"))
    with pytest.raises(BadInput, match="go together"):
        certificate_of(CERTIFICATE, None)


@pytest.mark.parametrize(
    ("link", "line"),
    [
        ("http://127.0.0.1:1", "token is missing"),
        ("http://127.0.0.1:1/?token=", "token is missing"),
        ("http://127.0.0.1:1/?tok=a", "token is missing"),
        ("http://127.0.0.1:1/?token=a%0Ab", "no token"),
        ("http://127.0.0.1:1/store?token=a", "no link to a store"),
        ("http://127.0.0.1:99999/?token=a", "no link to a store"),
        ("http://:80/?token=a", "no link to a store"),
        ("http://me:pw@127.0.0.1/?token=a", "no link to a store"),
        ("http://:pw@127.0.0.1/?token=a", "no link to a store"),
        ("http://a..b/?token=a", "no link to a store"),
    ],
)
def test_a_link_that_is_none_is_one_line_without_the_token(link: str, line: str) -> None:
    with pytest.raises(BadInput, match=line) as refused:
        ServedStore(link)
    assert "\n" not in str(refused.value)
    assert "pw" not in str(refused.value)


def test_who_has_no_token_or_says_something_else_gets_a_line(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as kept, store_served(kept) as link:
        place = urlsplit(link).netloc

        def said(body: bytes = b"", path: str = "/store", method: str = "POST", **headers: str):
            usual = {"Authorization": f"Bearer {TOKEN}", "Content-Type": wire.KIND}
            with closing(http.client.HTTPConnection(place, timeout=10)) as connection:
                connection.request(method, path, body, usual | headers)
                answer = connection.getresponse()
                return answer.status, answer.read().decode("utf-8", "replace")

        hello = wire.encode(wire.Hello(wire.REVISION, this_process()))
        assert said(hello)[0] == 200
        assert said(hello, Authorization="")[0] == 403
        assert said(hello, Authorization=f"Bearer {TOKEN}x")[0] == 403
        assert said(hello, Host="evil.example")[0] == 421
        assert said(hello, path="/")[0] == 404
        assert said(method="GET")[0] == 405
        for odd in (b"", b"\x80", b"\xc1", hello[:-1], hello + b"\x00", b"\x91" * 4000,
                    wire.encode({"type": "Get", "keys": ["text"], "asker": None}),
                    wire.encode({"type": "ReaderRows", "numbers": [1] * (wire.MOST_KEYS + 1)}),
                    wire.encode({"type": "Hello", "revision": 1, "life": ["", 1, 1], "more": 1})):  # fmt: skip
            status, line = said(odd)
            assert (status, line.count("\n")) == (400, 1), odd
        other = wire.encode(wire.Hello(wire.REVISION + 1, this_process()))
        assert said(other)[0] == 409
        session = kept.session(this_process())
        assert said(wire.encode(wire.Beat(session)))[0] == 409  # it never joined
        with pytest.raises(BadInput, match="HTTP 403"):
            ServedStore(link + "x")
        assert kept.count() == 0


def test_the_token_is_kept_beside_the_store_for_its_owner_alone(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    token = token_of(store)
    assert token_of(store) == token
    (place,) = tmp_path.iterdir()
    assert place.stat().st_mode & 0o077 == 0
    place.chmod(0o644)
    assert token_of(store) == token
    assert place.stat().st_mode & 0o077 == 0
    place.write_text("short\n")
    with pytest.raises(BadInput, match="this is no token"):
        token_of(store)
