"""The reply store: nothing lost, nothing mixed up, nothing readable by others."""

from __future__ import annotations

import os
import platform
import sqlite3
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import BadInput, Reply
from overread.engine import Store

KEYS = [bytes([n]) * 16 for n in range(8)]


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "kept" / "store.sqlite") as made:
        yield made


def test_a_reply_comes_back_as_it_was(store: Store) -> None:
    reply = Reply(
        text="Yes <script>\x00 ✓",
        logprobs=(("Yes", -0.1), (" No", -2.5)),
        reasoning="because",
        refusal="no",
        finish="stop",
        tokens_in=3,
        tokens_out=1,
        seconds=0.25,
        sent="ab",
        model="m",
    )
    store.commit([(KEYS[0], 1, reply)], [])
    assert store.get(KEYS) == {KEYS[0]: reply}


@given(st.text(), st.lists(st.tuples(st.text(), st.floats(allow_nan=False)), max_size=5))
def test_any_text_survives(tmp_path_factory, text: str, logprobs: list[tuple[str, float]]) -> None:
    place = tmp_path_factory.mktemp("store") / "store.sqlite"
    # Lone surrogates cannot be written anywhere; the wire never delivers them.
    if any("\ud800" <= c <= "\udfff" for c in text + "".join(t for t, _ in logprobs)):
        return
    reply = Reply(text=text, logprobs=tuple(logprobs) or None)
    with Store(place) as store:
        store.commit([(KEYS[0], 1, reply)], [])
        assert store.get(KEYS[:1])[KEYS[0]] == reply


def test_the_first_reply_stays(store: Store) -> None:
    store.commit([(KEYS[0], 1, Reply(text="first"))], [])
    store.commit([(KEYS[0], 1, Reply(text="second"))], [])
    assert store.get(KEYS[:1])[KEYS[0]].text == "first"


def test_a_failure_is_never_served_as_a_reply_and_goes_when_one_arrives(store: Store) -> None:
    store.commit([], [(KEYS[0], 1, "HTTP 500: oops")])
    assert store.get(KEYS) == {}
    assert store.known(KEYS) == set()
    assert store.failures(KEYS) == {KEYS[0]: "HTTP 500: oops"}
    store.commit([(KEYS[0], 1, Reply(text="well"))], [])
    assert store.failures(KEYS) == {}


def test_more_keys_than_a_statement_takes(store: Store) -> None:
    keys = [n.to_bytes(16, "big") for n in range(40_000)]
    store.commit([(key, 1, Reply(text="x")) for key in keys], [])
    assert store.known(keys) == set(keys)
    assert store.count() == 40_000


def test_files_are_private(store: Store) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    store.commit([(KEYS[0], 1, Reply(text="x"))], [])
    for beside in store.path.parent.iterdir():
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600


def test_two_processes_do_not_claim_the_same_key(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as one, Store(place) as two:
        mine = one.claim(KEYS[:5])
        theirs = two.claim(KEYS)
        assert mine.ours == set(KEYS[:5])
        assert theirs.ours == set(KEYS[5:])
        assert theirs.elsewhere == set(KEYS[:5])
        one.commit([(KEYS[0], 1, Reply(text="x"))], [])
        assert two.claim(KEYS[:1]).answered == {KEYS[0]}


def test_claims_of_a_dead_process_lapse(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as one:
        one.claim(KEYS)
        # What kill -9 leaves behind: claims whose owner's process is gone.
        with sqlite3.connect(place) as raw:
            raw.execute("UPDATE owners SET pid = 2147483646")
        with Store(place) as two:
            assert two.claim(KEYS).ours == set(KEYS)


def claimed_by(place: Path, pid: int, beat: float) -> None:
    """What a process that was killed leaves: claims of an owner with its number and last beat."""
    with sqlite3.connect(place) as raw:
        raw.execute("INSERT INTO owners VALUES (77, ?, ?, ?)", (platform.node(), pid, beat))
        raw.executemany("INSERT INTO claims VALUES (?, 77)", [(key,) for key in KEYS])


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_claims_lapse_when_the_number_of_their_process_is_another_processes(tmp_path: Path) -> None:
    long_ago = 1.0  # before any process that runs now began
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for number, pid in enumerate((os.getpid(), sleeper.pid, 1)):
            place = tmp_path / f"{number}.sqlite"
            Store(place).close()
            claimed_by(place, pid, long_ago)
            with Store(place) as store:
                assert store.claim(KEYS).ours == set(KEYS)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_claims_of_a_living_process_stay(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        Store(place).close()
        claimed_by(place, sleeper.pid, time.time())
        with Store(place) as store:
            assert store.claim(KEYS).elsewhere == set(KEYS)
    finally:
        sleeper.kill()
        sleeper.wait()
    with Store(place) as store:
        assert store.claim(KEYS).ours == set(KEYS)


def test_an_owner_that_was_taken_for_dead_shares_no_number_with_the_next(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as next_one:
        with Store(place) as given_up:
            given_up.claim(KEYS[:1])
            with sqlite3.connect(place) as raw:  # a machine that was asleep for long
                raw.execute("UPDATE owners SET host = 'another', beat = 0")
            next_one.claim(KEYS[1:])
        # It has closed, and with that let its own claims go, not the other's.
        with Store(place) as third:
            assert third.claim(KEYS).elsewhere == set(KEYS[1:])


def test_closing_lets_claims_go(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as one:
        one.claim(KEYS)
    with Store(place) as two:
        assert two.claim(KEYS).ours == set(KEYS)


def test_forget_deletes_one_data_set_and_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        secret = store.dataset_id("grounding", "hospital@12ab", "credentialed")
        other = store.dataset_id("grounding", "phantom@34cd", "open")
        store.commit([(KEYS[0], secret, Reply(text="Mrs Smith's effusion"))], [])
        store.commit([(KEYS[1], other, Reply(text="kept"))], [(KEYS[2], secret, "HTTP 500")])
        store.keep_sources([("/data/p10/smith.dcm", 1, 2, b"d" * 16, secret)])
        assert store.forget("nothing") == (0, [])
        assert store.forget("hospital@12ab") == (1, ["hospital@12ab"])
        assert store.known(KEYS) == {KEYS[1]}
        assert store.failures(KEYS) == {}
    left = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"Smith" not in left
    assert b"smith.dcm" not in left
    assert b"kept" in left


def test_forgetting_says_so_when_another_process_keeps_the_bytes_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        secret = store.dataset_id("grounding", "hospital@12ab", "credentialed")
        store.commit([(KEYS[0], secret, Reply(text="Mrs Smith's effusion"))], [])
    reading = sqlite3.connect(place, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM replies").fetchone()
    monkeypatch.setattr(sqlite3, "connect", impatient(sqlite3.connect))
    with Store(place) as store:
        with pytest.raises(BadInput, match="hospital is deleted, but another process") as caught:
            store.forget("hospital")
        assert "\n" not in str(caught.value)
        assert store.known(KEYS) == set()
    reading.close()
    assert b"Smith" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def impatient(connect):
    """Connections that wait for others a tenth of a second, not a minute."""

    def made(*args, **options):
        return connect(*args, **{**options, "timeout": 0.1})

    return made


OPENS = """
import sys
from overread.engine import Store
print("ready", flush=True)
for line in sys.stdin:
    try:
        with Store(line.strip()) as store:
            store.dataset_id("b", "d", "open")
        print("ok", flush=True)
    except BaseException as error:
        print(repr(error), flush=True)
"""


def test_processes_that_begin_together_all_open_a_fresh_store(tmp_path: Path) -> None:
    start = partial(
        subprocess.Popen, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    processes = [start([sys.executable, "-c", OPENS]) for _ in range(4)]
    try:
        assert [p.stdout.readline() for p in processes] == ["ready\n"] * 4
        for number in range(20):
            for process in processes:
                process.stdin.write(f"{tmp_path / str(number)}.sqlite\n")
            assert [p.stdout.readline() for p in processes] == ["ok\n"] * 4
    finally:
        for process in processes:
            process.communicate()


def test_a_reason_that_quotes_a_servers_bytes_is_kept(store: Store) -> None:
    store.commit([(KEYS[1], 1, Reply(text="x"))], [(KEYS[0], 1, "HTTP 302: to \udcff")])
    assert store.failures(KEYS) == {KEYS[0]: "HTTP 302: to ?"}
    assert store.known(KEYS) == {KEYS[1]}


def test_a_store_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    Store(place).close()
    place.chmod(0o644)
    with Store(place) as store:
        store.commit([(KEYS[0], 1, Reply(text="x"))], [])
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"\x00" * 4096])
def test_a_file_that_is_no_store_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "store.sqlite"
    place.write_bytes(content)
    with pytest.raises(BadInput, match="store.sqlite") as caught:
        Store(place)
    assert "\n" not in str(caught.value)


def test_another_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as raw:
        raw.execute("CREATE TABLE mine (x)")
    place.chmod(0o664)
    with pytest.raises(BadInput, match="not a reply store"):
        Store(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o664
    with sqlite3.connect(place) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    Store(place).close()
    with sqlite3.connect(place) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(BadInput, match="format 99"):
        Store(place)
