"""The reply store: nothing lost, nothing mixed up, nothing readable by others."""

from __future__ import annotations

import errno
import fcntl
import os
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
from overread.engine import Enrolment, Store
from overread.engine import store as store_module
from overread.engine.store_file import this_process

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
        fingerprint="fp_1",
    )
    store.commit([(KEYS[0], 1, reply)], [])
    assert store.get(KEYS)[KEYS[0]].reply == reply


@pytest.mark.slow
@given(st.text(), st.lists(st.tuples(st.text(), st.floats(allow_nan=False)), max_size=5))
def test_any_text_survives(tmp_path_factory, text: str, logprobs: list[tuple[str, float]]) -> None:
    place = tmp_path_factory.mktemp("store") / "store.sqlite"
    # Lone surrogates cannot be written anywhere; the wire never delivers them.
    if any("\ud800" <= c <= "\udfff" for c in text + "".join(t for t, _ in logprobs)):
        return
    reply = Reply(text=text, logprobs=tuple(logprobs) or None)
    with Store(place) as store:
        store.commit([(KEYS[0], 1, reply)], [])
        assert store.get(KEYS[:1])[KEYS[0]].reply == reply


def test_the_first_reply_stays(store: Store) -> None:
    store.commit([(KEYS[0], 1, Reply(text="first"))], [])
    store.commit([(KEYS[0], 1, Reply(text="second"))], [])
    assert store.get(KEYS[:1])[KEYS[0]].reply.text == "first"


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


def claimed_by(place: Path, *life: object) -> None:
    """What a process leaves in the store: claims of an owner at this place, with this number."""
    with sqlite3.connect(place) as raw:
        raw.execute("INSERT INTO owners VALUES (77, ?, ?, ?, 1)", life)
        raw.executemany("INSERT INTO claims VALUES (?, 77)", [(key,) for key in KEYS])


def life_of(pid: int) -> tuple[str, int, int]:
    began = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return this_process().place, pid, began


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_claims_lapse_when_the_number_of_their_process_is_another_processes(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for number, pid in enumerate((os.getpid(), sleeper.pid, 1)):
            place = tmp_path / f"{number}.sqlite"
            Store(place).close()
            here, _, began = life_of(pid)
            claimed_by(place, here, pid, began + 1)
            with Store(place) as store:
                assert store.claim(KEYS).ours == set(KEYS)
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_claims_of_a_living_process_stay(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        Store(place).close()
        claimed_by(place, *life_of(sleeper.pid))
        with Store(place) as store:
            assert store.claim(KEYS).elsewhere == set(KEYS)
    finally:
        sleeper.kill()
        sleeper.wait()
    with Store(place) as store:
        assert store.claim(KEYS).ours == set(KEYS)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_claims_of_a_process_nobody_has_buried_lapse(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    sleeper = subprocess.Popen(["sleep", "60"])
    Store(place).close()
    claimed_by(place, *life_of(sleeper.pid))
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and still has a number
    try:
        with Store(place) as store:
            assert store.claim(KEYS).ours == set(KEYS)
    finally:
        sleeper.wait()


def test_a_process_elsewhere_lives_as_long_as_its_heart_beats_by_our_own_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, now = tmp_path / "store.sqlite", 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    Store(place).close()
    claimed_by(place, "a container", os.getpid(), 1)

    def beats(count: int) -> None:
        with sqlite3.connect(place) as raw:
            raw.execute("UPDATE owners SET beat=? WHERE id=77", (count,))

    with Store(place) as store:
        for count in (7, 3, 5):  # whatever its own clock says, or says again
            now += 100
            beats(count)
            assert store.claim(KEYS).elsewhere == set(KEYS)
        now += 100
        assert store.claim(KEYS).elsewhere == set(KEYS)
        now += 30
        assert store.claim(KEYS).ours == set(KEYS)


@pytest.mark.parametrize("life", [("\x00", "no pid", "x"), (b"\xff", -1, 2.5), (7, 2**40, 1)])
def test_a_damaged_owner_stops_nobody_and_goes_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, life: tuple[object, ...]
) -> None:
    place, now = tmp_path / "store.sqlite", 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    Store(place).close()
    claimed_by(place, *life)
    with Store(place) as store:
        assert store.claim(KEYS).elsewhere == set(KEYS)
        now += 130
        assert store.claim(KEYS).ours == set(KEYS)


def test_claims_whose_owner_is_lost_are_nobodys(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    Store(place).close()
    claimed_by(place, "here", 1, 1)
    with sqlite3.connect(place) as raw:
        raw.execute("DELETE FROM owners")
    with Store(place) as store:
        assert store.claim(KEYS).ours == set(KEYS)


def test_an_owner_that_was_taken_for_dead_shares_no_number_with_the_next(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as next_one:
        with Store(place) as given_up:
            given_up.claim(KEYS[:1])
            with sqlite3.connect(place) as raw:  # a machine that was asleep for long
                raw.execute("DELETE FROM owners")
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


@pytest.mark.slow
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


# ---------------------------------------------------------------- what is damaged


DAMAGE = [b"", b"\xc1garbage", b"\x81\xa4text\x07", b"\x81\xa4text\xc0", b"\x81\xa4text\xa1\xff"]
DAMAGE += ["a text", 7, 1.5]


@pytest.mark.parametrize("value", DAMAGE)
def test_a_damaged_reply_is_asked_for_again(tmp_path: Path, value: object) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        store.commit([(key, 1, Reply(text="x")) for key in KEYS], [])
    with sqlite3.connect(place) as raw:
        raw.execute(
            "UPDATE replies SET reply=?, reader='no', at='never' WHERE key=?", (value, KEYS[0])
        )
    with Store(place) as store:
        assert store.known(KEYS) == set(KEYS[1:])
        claimed = store.claim(KEYS)
        assert (claimed.ours, claimed.answered) == ({KEYS[0]}, set(KEYS[1:]))
        assert store.damaged == 1
        store.commit([(KEYS[0], 1, Reply(text="again"))], [])
        assert store.get(KEYS)[KEYS[0]].reply.text == "again"


def test_a_store_of_damaged_rows_is_still_listed_and_forgotten(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        dataset = store.dataset_id("b", "set@1", "open")
        store.commit([(key, dataset, Reply(text="x")) for key in KEYS], [(b"f" * 16, dataset, "y")])
        store.keep_sources([("film.png", 1, 2, b"d" * 16, dataset)])
    with sqlite3.connect(place) as raw:
        raw.execute("UPDATE replies SET reader='no', at='never', reply=x'c1'")
        raw.execute("UPDATE failures SET reason=x'ff'")
        raw.execute("UPDATE sources SET digest='text'")
        raw.execute("UPDATE datasets SET benchmark=7, policy=x'ff'")
    with Store(place) as store:
        (row,) = store.listing()
        assert (row.dataset, row.replies, row.first) == ("set@1", 8, "")
        assert store.source("film.png", 1, 2) is None
        assert store.forget("set") == (8, ["set@1"])


# ---------------------------------------------------------------- what is no store, or is held


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "store"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "device":
        place.symlink_to("/dev/zero")
    else:
        import socket

        socket.socket(socket.AF_UNIX).bind(str(place))
    began = time.monotonic()
    with pytest.raises(BadInput) as caught:
        Store(place)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 5


HOLDS = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("PRAGMA locking_mode=EXCLUSIVE" if "whole" in sys.argv else "PRAGMA user_version")
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["whole", "to write"])
def test_who_holds_the_store_is_said_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    assert store_module.PATIENCE <= 10
    place = tmp_path / "store.sqlite"
    Store(place).close()
    monkeypatch.setattr(sqlite3, "connect", impatient(sqlite3.connect))
    monkeypatch.setattr(store_module, "PATIENCE", 0.1)
    told: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(place), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        if how == "whole":
            with pytest.raises(BadInput) as caught:
                Store(place, told.append)
            told.append(str(caught.value))
            holder.stdin.close()
        else:

            def let_go(line: str) -> None:
                told.append(line)
                assert holder.stdin is not None
                holder.stdin.close()

            with Store(place, let_go) as store:  # it is opened, and waits to write
                store.commit([(KEYS[0], 1, Reply(text="x"))], [])
                assert store.known(KEYS) == {KEYS[0]}
    (line,) = told
    assert "\n" not in line
    assert "--store" in line
    if sys.platform == "linux":
        assert f"process {holder.pid} " in line


def test_a_store_that_stays_held_is_an_error_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store.sqlite"
    Store(place).close()
    monkeypatch.setattr(sqlite3, "connect", impatient(sqlite3.connect))
    with sqlite3.connect(place, isolation_level=None) as held:
        held.execute("BEGIN IMMEDIATE")
        store = Store(place)
        with pytest.raises(BadInput, match="another process holds|process .* holds"):
            store._writing(0.2).__enter__()
        held.execute("ROLLBACK")
        store.close()


# ---------------------------------------------------------------- readers, and asking anew


def someone(label: str = "v1", **more: object) -> Enrolment:
    return Enrolment(**{"identity": "model@host", "label": label, "weights": True} | more)  # type: ignore[arg-type]


class Named:
    identity = "model@host"

    def __init__(self, name: str) -> None:
        self.name = name


def answered(store: Store, label: str, text: str, keys: list[bytes] = KEYS) -> None:
    store.commit([(key, 1, Reply(text=text)) for key in keys], [], store.asker(Named(label)))


def texts(store: Store, label: str) -> list[str]:
    kept = store.get(KEYS, store.asker(Named(label)))
    return [kept[key].reply.text if key in kept else "" for key in KEYS]


def test_another_label_of_what_has_answered_is_refused(store: Store) -> None:
    store.enrol([someone("v1")], 1)
    store.enrol([someone("v0")], 1)  # nobody has answered yet
    store.enrol([someone("v1")], 1)
    answered(store, "v1", "old")
    with pytest.raises(BadInput) as caught:
        store.enrol([someone("v2")], 1)
    line = str(caught.value)
    for part in ('"v2"', '"v1"', time.strftime("%Y-", time.gmtime()), "revision=", "--fresh"):
        assert part in line
    assert "label=v1" in line
    assert "\n" not in line
    with pytest.raises(BadInput, match="v2"):
        store.foresee([someone("v2")], "b", "d")


def test_what_is_shown_or_who_is_known_by_construction_may_have_its_own_label(store: Store) -> None:
    store.enrol([someone("v1")], 1)
    answered(store, "v1", "old")
    store.enrol([someone("v1 text", use="modality=text"), someone("control", weights=False)], 1)
    store.enrol([someone("v2", identity="model@host revision 2")], 1)


def test_asking_anew_counts_nothing_from_before_and_replaces_it(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        store.enrol([someone("v1")], 1)
        answered(store, "v1", "old")
        store.enrol([someone("v2")], 1, fresh=True)
        asker = store.asker(Named("v2"))
        assert store.known(KEYS, asker) == set()
        assert store.claim(KEYS, asker).ours == set(KEYS)
        answered(store, "v2", "new", KEYS[:3])
    with Store(place) as store:  # broken off, and resumed without asking anew
        store.enrol([someone("v2")], 1)
        assert texts(store, "v2") == ["new"] * 3 + [""] * 5
        assert store.claim(KEYS, store.asker(Named("v2"))).ours == set(KEYS[3:])
        answered(store, "v2", "newer")
        assert texts(store, "v2") == ["new"] * 3 + ["newer"] * 5
        assert store.count() == len(KEYS)
        with pytest.raises(BadInput, match='answered as "v2"'):
            store.enrol([someone("v1")], 1)
        store.enrol([someone("v2")], 2)  # in another data set too, for the label is new
        assert store.asker(Named("v2")).since > 0


def test_a_label_begun_anew_under_which_nobody_answered_binds_no_other(store: Store) -> None:
    store.enrol([someone("v1")], 1)
    answered(store, "v1", "old")
    store.enrol([someone("v1x")], 1, fresh=True)  # a slip, and the server was down
    store.enrol([someone("v1")], 1)
    assert texts(store, "v1") == ["old"] * 8
    for _ in range(2):
        store.foresee([someone("v1x")], "b", "d")
        store.enrol([someone("v1x")], 1)  # it can be gone on with, and counts nothing from before
        assert texts(store, "v1x") == [""] * 8
    answered(store, "v1x", "new", KEYS[:1])
    with pytest.raises(BadInput, match='answered as "v1x"'):
        store.enrol([someone("v1")], 1)


def test_a_reader_and_a_judge_of_one_name_are_told_apart(store: Store) -> None:
    judge = someone("v1", use="judge of answer", judges=True)
    store.enrol([someone("v1"), judge], 1)
    answered(store, "v1", "read", KEYS[:4])
    asker = store.asker(Named("v1"), judges=True)
    store.commit([(key, 1, Reply(text="judged")) for key in KEYS[4:]], [], asker)
    assert store.note_served(Named("v1"), "root /a", judges=True) == ""
    assert store.note_served(Named("v1"), "root /b") == ""  # of which the judge's listing is none
    for other in (someone("v2"), someone("v2", use="judge of answer", judges=True)):
        with pytest.raises(BadInput, match='answered as "v1"'):
            store.enrol([other], 1)


def test_what_was_there_when_the_store_was_opened_is_known(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        store.enrol([someone()], 1)
        answered(store, "v1", "old", KEYS[:3])
        assert not any(kept.before for kept in store.get(KEYS).values())
    with Store(place) as store:
        store.enrol([someone()], 1)
        assert store.claim(KEYS, store.asker(Named("v1"))).lately == 0
        answered(store, "v1", "new")
        assert [store.get(KEYS)[key].before for key in KEYS] == [True] * 3 + [False] * 5
        assert store.claim(KEYS, store.asker(Named("v1"))).lately == 5


def test_asking_anew_under_the_same_label_is_about_one_data_set(store: Store) -> None:
    store.enrol([someone()], 1)
    answered(store, "v1", "old")
    store.enrol([someone()], 1, fresh=True)
    assert texts(store, "v1") == [""] * 8
    store.enrol([someone()], 2)
    assert texts(store, "v1") == ["old"] * 8


def test_asking_anew_holds_under_another_policy_of_the_set(store: Store) -> None:
    first, then = (store.dataset_id("b", "set@1", policy) for policy in ("local", "open"))
    other = store.dataset_id("b", "other@2", "local")
    store.enrol([someone()], first)
    answered(store, "v1", "old")
    store.enrol([someone()], first, fresh=True)
    store.enrol([someone()], then)
    assert texts(store, "v1") == [""] * 8
    store.foresee([someone()], "b", "set@1")
    assert texts(store, "v1") == [""] * 8
    store.enrol([someone()], other)
    assert texts(store, "v1") == ["old"] * 8


def test_readers_of_one_identity_that_begin_anew_together_share_what_they_are_told(
    store: Store,
) -> None:
    pair = [someone("sees"), someone("reads", use="modality=text")]
    store.enrol(pair, 1, fresh=True)
    answered(store, "sees", "shared")
    assert texts(store, "reads") == ["shared"] * 8
    store.enrol(pair[:1], 1, fresh=True)  # the other is begun anew with it: it is one server
    store.enrol(pair, 1)
    assert texts(store, "reads") == [""] * 8
    answered(store, "reads", "again")
    assert texts(store, "reads") == ["again"] * 8


def test_a_reader_is_listed_with_its_times_and_forgotten_by_its_label(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        dataset = store.dataset_id("grounding", "set@1", "open")
        other = store.dataset_id("grounding", "other@2", "open")
        store.enrol([someone("v1"), someone("b", identity="b")], dataset)
        asker = store.asker(Named("v1"))
        store.commit(
            [(KEYS[0], dataset, Reply(text="Smith"))], [(KEYS[5], dataset, "Smith")], asker
        )
        store.commit([(KEYS[1], other, Reply(text="Smith"))], [], asker)
        store.commit([(KEYS[2], dataset, Reply(text="x"))], [])
        rows = [(row.dataset, row.reader, row.replies) for row in store.listing()]
        assert rows == [("other@2", "v1", 1), ("set@1", "", 1), ("set@1", "v1", 1)]
        assert all(
            row.first.startswith(time.strftime("%Y-", time.gmtime())) for row in store.listing()
        )
        assert store.forget("set", "v1") == (1, ["v1"])
        assert store.known(KEYS) == {KEYS[1], KEYS[2]}
        assert store.forget(None, "nobody") == (0, [])
        assert store.forget(None, "v1") == (1, ["v1"])
        assert store.failures(KEYS) == {}
        store.enrol([someone("v2")], dataset)  # the label is free again
    assert b"Smith" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def test_how_a_server_lists_a_model_is_kept_and_a_change_is_told(store: Store) -> None:
    store.enrol([someone()], 1)
    reader = Named("v1")
    assert store.note_served(reader, "root /a") == ""
    answered(store, "v1", "old", KEYS[:1])
    assert store.note_served(reader, "root /a") == ""
    assert store.note_served(reader, "") == ""
    for _ in range(2):  # until it answers as that
        assert store.note_served(reader, "root /b") == "root /a"
        store.enrol([someone()], 1)
    assert store.note_served(reader, "root /a") == ""
    assert store.note_served(reader, "root /b") == "root /a"
    answered(store, "v1", "new")
    numbers = [kept.reader for kept in store.get(KEYS).values()]
    assert sorted(served for _, served in store.reader_rows(numbers).values()) == [
        "root /a",
        "root /b",
    ]
    store.enrol([someone()], 1)
    assert store.note_served(reader, "root /b") == ""


# ---------------------------------------------------------------- stores of earlier versions

FORMAT_1 = """
CREATE TABLE datasets (
  id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, dataset TEXT NOT NULL, policy TEXT NOT NULL,
  UNIQUE (benchmark, dataset, policy));
CREATE TABLE replies (key BLOB PRIMARY KEY, dataset INTEGER NOT NULL, reply BLOB NOT NULL);
CREATE TABLE failures (
  key BLOB PRIMARY KEY, dataset INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL,
  dataset INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE owners (
  id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, pid INTEGER NOT NULL,
  beat REAL NOT NULL);
CREATE TABLE claims (key BLOB PRIMARY KEY, owner INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO datasets VALUES (1, 'grounding', 'set@1', 'open');
INSERT INTO failures VALUES (x'66', 1, 'HTTP 500');
INSERT INTO sources VALUES ('film.png', 1, 2, x'00ff', 1);
INSERT INTO owners VALUES (1, 'host', 4711, 1.5);
INSERT INTO claims VALUES (x'67', 1);
PRAGMA application_id = 937645;
PRAGMA user_version = 1;
"""
OLD_REPLY = bytes.fromhex(
    "84a474657874a3596573a9746f6b656e735f696e03a77365636f6e6473cb3fd0000000000000a56d6f64656ca16d"
)


def test_a_store_of_format_1_is_opened_without_loss(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    with sqlite3.connect(place) as raw:
        raw.executescript(FORMAT_1)
        raw.executemany("INSERT INTO replies VALUES (?, 1, ?)", [(key, OLD_REPLY) for key in KEYS])
    raw.close()
    for _ in range(2):  # once to change it over, once as it is then
        with Store(place) as store:
            kept = store.get(KEYS)
            assert set(kept) == set(KEYS)
            assert kept[KEYS[0]] == (
                Reply(text="Yes", tokens_in=3, seconds=0.25, model="m"),
                0,
                0,
                True,
            )
            assert store.failures([b"f"]) == {b"f": "HTTP 500"}
            assert store.source("film.png", 1, 2) == b"\x00\xff"
            (row,) = store.listing()
            assert (row.dataset, row.reader, row.replies, row.last) == ("set@1", "", 8, "")
    with Store(place) as store:  # they become those of the reader that is given them
        store.enrol([someone("v1")], 1)
        assert store.claim(KEYS, store.asker(Named("v1"))).answered == set(KEYS)
        assert [row.reader for row in store.listing()] == ["v1"]
        with pytest.raises(BadInput, match='answered as "v1", and'):
            store.enrol([someone("v2")], 1)
        store.enrol([someone("v1")], 1, fresh=True)
        assert store.known(KEYS, store.asker(Named("v1"))) == set()


@pytest.mark.parametrize("first", ["store", "phantoms"])
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_the_workspace_is_its_owners_alone_whatever_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, umask: int
) -> None:
    workspace = tmp_path / ".overread"
    if first == "phantoms":
        workspace.mkdir()
        workspace.chmod(0o755)
    before = os.umask(umask)
    try:
        Store(workspace / "store.sqlite").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(workspace.stat().st_mode) == 0o700
    assert stat.S_IMODE((workspace / "store.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("number", "line"), [(errno.EAGAIN, "another process has it open"), (errno.ENOLCK, "has no locks")]
)  # fmt: skip
def test_a_network_file_system_has_one_writer_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, line: str
) -> None:
    def locked(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(store_module.store_file, "is_network_mount", lambda path: True)
    monkeypatch.setattr(fcntl, "lockf", locked)
    with pytest.raises(BadInput, match=line):
        Store(tmp_path / "store.sqlite")
