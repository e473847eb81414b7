"""The reply store: one SQLite file per workspace, where every reply is kept for ever.

Replies are committed in groups and survive `kill -9`; errors are recorded but never served as
replies. Claims let two processes share one store without asking the same trial at once. Every
reply knows when it was given and by whom: a reader under a label, as its server listed it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread.case import BadInput, Policy, Reader, Reply
from overread.engine import store_file
from overread.engine.reply_store import (
    ANYBODY,
    Asker,
    Claimed,
    Enrolled,
    Enrolment,
    Kept,
    Listed,
    Row,
)
from overread.engine.store_file import PATIENCE, Life, held_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA_VERSION = 2
# `replies` keeps its rows in order of arrival with an index of keys beside them: inserting random
# keys into a clustered table was measured at half the speed.
# `reader` and `at` are NULL in rows of format 1, which knew neither.
_SCHEMA = """
CREATE TABLE datasets (
  id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, dataset TEXT NOT NULL, policy TEXT NOT NULL,
  UNIQUE (benchmark, dataset, policy));
CREATE TABLE replies (
  key BLOB PRIMARY KEY, dataset INTEGER NOT NULL, reply BLOB NOT NULL, reader INTEGER, at INTEGER);
CREATE TABLE failures (
  key BLOB PRIMARY KEY, dataset INTEGER NOT NULL, reason TEXT NOT NULL, reader INTEGER)
  WITHOUT ROWID;
CREATE TABLE sources (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL,
  dataset INTEGER NOT NULL) WITHOUT ROWID;
"""
_TO_FORMAT_2 = """
ALTER TABLE replies ADD COLUMN reader INTEGER;
ALTER TABLE replies ADD COLUMN at INTEGER;
ALTER TABLE failures ADD COLUMN reader INTEGER;
DROP TABLE claims;
DROP TABLE owners;
"""
# A reader as it was when it answered: one row for each label, each asking anew (`since`: older rows
# count no more, in one data set or in all) and each way its server listed it.
_NEW_IN_FORMAT_2 = """
CREATE TABLE readers (
  id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, use TEXT NOT NULL,
  label TEXT NOT NULL, since INTEGER NOT NULL, dataset INTEGER, served TEXT NOT NULL,
  last INTEGER);
CREATE TABLE owners (
  id INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, pid INTEGER NOT NULL,
  began INTEGER NOT NULL, beat INTEGER NOT NULL);
CREATE TABLE claims (key BLOB PRIMARY KEY, owner INTEGER NOT NULL) WITHOUT ROWID;
"""
_BEAT_EVERY = 15.0
_BEAT_LASTS = 120.0  # only for processes of other places, whose life cannot be asked
_GIVES_UP = 60.0  # seconds after which a store that another process holds is a failure
_NO_TIME = 0.0
# How a reader's speed is told: by its last replies among the newest of the store.
_LOOKED_AT = 100_000
_TIMED = 2_000
_LEAST_TIMED = 20
_SILENCE = 60
_VARIABLES = 30_000  # SQLite's default limit is 32,766 per statement

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, TypeError, ValueError, RecursionError)


class Session(msgspec.Struct):
    """Who has a store open: a process, since when, and its row while it asks.

    `last_row` was the newest reply then. `beat` is when it was last heard of, by the clock of who
    writes.
    """

    life: Life
    opened: int
    last_row: int
    number: int = 0
    beat: float = 0.0

    def saw(self, at: int, row: int) -> bool:
        """Whether a reply was there when the store was opened.

        Within that second its row tells; later no more, for the number of a deleted row is used
        again.
        """
        return at < self.opened or (at == self.opened and row <= self.last_row)


class Store(Enrolled):
    """A reply store. Reads go through one connection, writes through another behind a lock."""

    def __init__(self, path: Path | str, tell: Callable[[str], None] | None = None) -> None:
        self.path = Path(path)
        self.named = self.shown = str(path)
        self._tell = tell
        fresh = not self.path.exists()
        if fresh:
            store_file.create_private(self.path)
        self._network = store_file.is_network_mount(self.path)
        self._alone = store_file.only_writer(self.path) if self._network else None
        try:
            if not fresh:
                store_file.refuse_foreign(self.path)
            store_file.make_private(self.path)
            self._write = self._connect()
            self._read = self._connect()
            self._prepare()
        except sqlite3.DatabaseError as error:
            if _locked(error):
                raise BadInput(held_elsewhere(self.path)) from None
            raise BadInput(
                f"{self.path}: cannot be used as a reply store ({error}). "
                "Give another file with --store, or move this one away."
            ) from None
        self._lock = threading.Lock()
        self._read_lock = threading.Lock()
        super().__init__()
        self._own = self.session(store_file.this_process())
        # Heartbeats of other places: which one, and when it was first seen by our own clock.
        self._heard: dict[int, tuple[object, float]] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Reply).decode

    # ------------------------------------------------------------ opening and closing

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        # WAL needs shared memory, which network file systems do not give.
        self._set_journal(connection, "delete" if self._network else "wal")
        connection.execute("PRAGMA synchronous=FULL")  # measured: costs nothing in batches
        return connection

    def _set_journal(self, connection: sqlite3.Connection, mode: str) -> None:
        """For this SQLite does not wait on its own: processes that begin together would fail."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                connection.execute(f"PRAGMA journal_mode={mode}")
                return
            except sqlite3.OperationalError as error:
                if not _locked(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _prepare(self) -> None:
        if _number(self._write, "PRAGMA user_version") == _SCHEMA_VERSION:
            return
        with self._writing(_NO_TIME):
            version = _number(self._write, "PRAGMA user_version")
            if version == _SCHEMA_VERSION:
                return  # another process prepared it while we waited for the lock
            if version not in (0, 1):
                raise BadInput(
                    f"{self.path}: the store has format {version}, this version reads format "
                    f"{_SCHEMA_VERSION}. Use the Overread that wrote it, or another --store."
                )
            began = _TO_FORMAT_2 if version else _SCHEMA
            for statement in (began + _NEW_IN_FORMAT_2).split(";"):
                if statement.strip():
                    self._write.execute(statement)
            self._write.execute(f"PRAGMA application_id={store_file.APPLICATION}")
            self._write.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")

    @contextmanager
    def _writing(self, gives_up: float = _GIVES_UP) -> Iterator[None]:
        """A write transaction that takes its lock at once, so that it cannot fail half-way.

        Where another process keeps the lock for long, that is said; later it is an error.
        """
        began, said = time.monotonic(), self._tell is None
        while True:
            try:
                self._write.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if not _locked(error):
                    raise
            if time.monotonic() - began >= gives_up:
                raise BadInput(held_elsewhere(self.path))
            if not said and self._tell is not None:
                self._tell(f"{held_elsewhere(self.path)} Waiting …")
                said = True
        try:
            yield
        except BaseException:
            self._write.execute("ROLLBACK")
            raise
        self._write.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: what is done inside is done whole, or not at all."""
        with self._lock, self._writing():
            yield self._write

    def rows(self, query: str) -> Iterator[Any]:
        """The rows of a query, as they come; over a connection of its own."""
        with closing(self._connect()) as connection:
            yield from connection.execute(query)

    def counts_from(self, identity: str, dataset: int) -> int:
        """From which row of `readers` on replies to this data set count."""
        with self._lock:
            return counts_from(self._write, identity, (), dataset)

    def close(self) -> None:
        """Let go of claims and close. Replies are already committed."""
        self.let_go(self._own)
        with self._lock:
            self._read.close()
            self._write.close()
            if self._alone is not None:
                self._alone.close()

    def hurry(self) -> None:
        """Whoever else holds the file does so for a minute at most."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def session(self, life: Life) -> Session:
        """What tells somebody who opens the store now from all others."""
        return Session(
            life, int(time.time()), _number(self._read, "SELECT max(rowid) FROM replies")
        )

    def join(self, one: Session) -> None:
        """Give somebody who is about to ask a row in the store."""
        with self._lock, self._loosely(), self._writing():
            self._keep_alive(one)

    def let_go(self, one: Session) -> None:
        """Whoever leaves asks nothing any more."""
        if one.number:
            with self._lock, self._writing():
                self._write.execute("DELETE FROM claims WHERE owner=?", (one.number,))
                self._write.execute("DELETE FROM owners WHERE id=?", (one.number,))

    # ------------------------------------------------------------ readers

    def enrol(self, readers: Sequence[Enrolment], dataset: int, *, fresh: bool = False) -> None:
        """Write down who is about to be asked, and from when on their kept replies count.

        A reader under another label than its identity last answered as is refused: other weights
        may stand behind it. `fresh` takes it; what was kept before counts no more, in this data set
        or, under a new label, in any. That is written down too, so a run that is broken off and
        resumed does not mix old and new; but a label under which nobody answered binds no other.
        """
        self.keep_askers(readers, self.askers_of(readers, dataset, fresh=fresh))

    def askers_of(
        self, readers: Sequence[Enrolment], dataset: int, *, fresh: bool = False
    ) -> list[Asker]:
        """As `enrol`, for whoever keeps the rows: one for each reader."""
        labels = {one.label for one in readers}
        found = []
        with self._lock, self._writing():
            last = _number(self._write, "SELECT seq FROM sqlite_sequence WHERE name='readers'")
            begins = last + 1
            numbers = [self._enrolled(one, dataset, begins if fresh else 0) for one in readers]
            for one, number in zip(readers, numbers, strict=True):
                since = counts_from(self._write, one.identity, labels, dataset)
                if number < since:  # everything of this identity was begun anew since
                    number = self._add_reader(one)
                found.append(Asker(number, since))
        return found

    def _enrolled(self, one: Enrolment, dataset: int, begins: int) -> int:
        """The row of a reader; a new one where none stands for its label, or where it begins."""
        if begins:
            renamed = self._bound(one) is not None
            return self._add_reader(one, begins, None if renamed else dataset)
        self._check_label(one)
        query = "SELECT max(id) FROM readers WHERE identity=? AND use=? AND label=?"
        found = _number(self._write, query, one.identity, one.use, one.label)
        return found or self._add_reader(one)

    def _bound(self, one: Enrolment) -> tuple[int, str, int] | None:
        """The row of another label as which a reader last answered, that label, and when."""
        query = (
            "SELECT id, label, last FROM readers WHERE identity=? AND use=? "
            "AND last IS NOT NULL ORDER BY id DESC LIMIT 1"
        )
        found = self._write.execute(query, (one.identity, one.use)).fetchone()
        if found is None or found[1] == one.label:
            return None
        return int(found[0]), str(found[1]), _whole(found[2])

    def _check_label(self, one: Enrolment) -> None:
        """Refuse a label other than the last one to answer, unless it was begun anew since."""
        bound = self._bound(one) if one.weights else None
        if bound is None:
            return
        number, label, last = bound
        query = "SELECT 1 FROM readers WHERE identity=? AND use=? AND label=? AND since>0 AND id>?"
        if _number(self._write, query, one.identity, one.use, one.label, number):
            return
        when = f", last on {moment(last)}" if last else ""
        raise BadInput(
            f'{"judge" if one.judges else "reader"} "{one.label}": the same model at the same '
            f'address answered as "{label}"{when}, and what it said is kept. If its weights '
            "changed, put revision=NAME into its spec, or ask anew with --fresh; if not, give it "
            f"the old label: label={label}."
        )

    def _add_reader(
        self, one: Enrolment, since: int = 0, dataset: int | None = None, served: str = ""
    ) -> int:
        query = (
            "INSERT INTO readers (identity, use, label, since, dataset, served) "
            "VALUES (?,?,?,?,?,?)"
        )
        row = (one.identity, one.use, one.label, since, dataset, served)
        return int(self._write.execute(query, row).lastrowid or 0)

    def foresee(self, readers: Sequence[Enrolment], benchmark: str, dataset: str) -> None:
        """As `enrol`, for a forecast: refuses the same labels, and writes nothing down."""
        self.keep_askers(readers, self.foreseen(readers, benchmark, dataset))

    def foreseen(self, readers: Sequence[Enrolment], benchmark: str, dataset: str) -> list[Asker]:
        """As `foresee`, for whoever keeps the rows: one for each reader."""
        query = "SELECT id FROM datasets WHERE benchmark=? AND dataset=?"
        labels = {one.label for one in readers}
        with self._lock:
            number = _number(self._write, query, benchmark, dataset)
            for one in readers:
                self._check_label(one)
            since = (counts_from(self._write, o.identity, labels, number) for o in readers)
            return [Asker(None, first) for first in since]

    def note_served(self, reader: Reader, served: str, *, judges: bool = False) -> str:
        """Keep how the server lists a reader; returns how it did when it last answered, if else."""
        before, asker = self.served_as(self.asker(reader, judges=judges), served)
        self.count_for(reader, asker, judges=judges)
        return before

    def served_as(self, asker: Asker, served: str) -> tuple[str, Asker]:
        """As `note_served`, for whoever keeps the rows: with the row from now on."""
        if not served or asker.number is None:
            return "", asker
        with self._lock, self._writing():
            query = "SELECT identity, label, use, served FROM readers WHERE id=?"
            row = self._write.execute(query, (asker.number,)).fetchone()
            if row is None:
                return "", asker
            if not row[3]:
                query = "UPDATE readers SET served=? WHERE id=?"
                self._write.execute(query, (served, asker.number))
            elif row[3] != served:
                one = Enrolment(identity=row[0], label=row[1], use=row[2])
                asker = Asker(self._add_reader(one, served=served), asker.since)
            query = (
                "SELECT served FROM readers WHERE identity=? AND label=? AND use=? AND id>=? "
                "AND last IS NOT NULL AND served<>'' ORDER BY id DESC LIMIT 1"
            )
            before = self._write.execute(query, (*row[:3], asker.since)).fetchone()
        return (str(before[0]) if before and before[0] != served else ""), asker

    def reader_rows(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The label of these rows, and how their server listed them."""
        found = self._select("SELECT id, label, served FROM readers WHERE id IN", numbers)
        return {number: (str(label), str(served)) for number, label, served in found}

    # ------------------------------------------------------------ reading

    def get(
        self, keys: Sequence[bytes], asker: Asker = ANYBODY, session: Session | None = None
    ) -> dict[bytes, Kept]:
        """The replies that exist among these keys, and count; a damaged one does not exist."""
        query = "SELECT key, reply, reader, at, rowid FROM replies WHERE key IN"
        found, own = {}, session or self._own
        for key, value, reader, at, row in self._select(query, keys):
            reply, by = self.decoded(value), _whole(reader)
            if reply is not None and by >= asker.since:
                found[key] = Kept(reply, _whole(at), by, own.saw(_whole(at), row))
        return found

    def known(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> set[bytes]:
        """Which of these keys have a reply."""
        return set(self.get(keys, asker))

    def decoded(self, value: Any) -> Reply | None:
        """A reply as the file has it; None of one that is damaged."""
        try:
            return self._decode(value)
        except _UNREADABLE:
            return None

    def failures(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Why the last attempt at these keys failed, where it did and none succeeded since."""
        rows = self._select("SELECT key, reason FROM failures WHERE key IN", keys)
        return {key: str(reason) for key, reason in rows}

    def count(self) -> int:
        """How many replies the store holds."""
        return _number(self._read, "SELECT count(*) FROM replies")

    def rate(self, identity: str) -> float | None:
        """Replies a second of a reader while it last answered; None of too few to tell.

        The latest replies, up to a minute's silence before them: as many as came at once then.
        """
        rows = self._read.execute(
            "SELECT at FROM replies WHERE rowid > (SELECT max(rowid) FROM replies) - ? AND reader "
            "IN (SELECT id FROM readers WHERE identity=?) AND at IS NOT NULL "
            "ORDER BY rowid DESC LIMIT ?",
            (_LOOKED_AT, identity, _TIMED),
        ).fetchall()
        times = [_whole(at) for (at,) in rows]
        burst = times[:1]
        for at in times[1:]:
            if burst[-1] - at > _SILENCE:
                break
            burst.append(at)
        took = burst[0] - burst[-1] if burst else 0
        return len(burst) / took if len(burst) >= _LEAST_TIMED and took > 0 else None

    def listing(self) -> list[Listed]:
        """What is kept here of each data set and reader, and from when."""
        rows = self._read.execute(
            "SELECT benchmark, d.dataset, policy, coalesce(a.label, ''), count(r.key), "
            "min(r.at), max(r.at) FROM datasets d "
            "LEFT JOIN replies r ON r.dataset = d.id LEFT JOIN readers a ON a.id = r.reader "
            "GROUP BY d.id, a.identity, a.label ORDER BY 1, 2, 4"
        ).fetchall()
        return [
            Listed(str(bench), str(dataset), str(policy), str(label), count, *map(moment, times))
            for bench, dataset, policy, label, count, *times in rows
        ]

    def _select(self, query: str, keys: Sequence[bytes | int]) -> list[Any]:
        with self._read_lock:
            return over(self._read, query, keys)

    # ------------------------------------------------------------ writing

    def dataset_id(self, benchmark: str, dataset: str, policy: Policy) -> int:
        """The row number that replies of this data set carry."""
        row = (benchmark, dataset, policy)
        with self._lock, self._writing():
            self._write.execute(
                "INSERT OR IGNORE INTO datasets (benchmark, dataset, policy) VALUES (?,?,?)", row
            )
            query = "SELECT id FROM datasets WHERE benchmark=? AND dataset=? AND policy=?"
            return _number(self._write, query, *row)

    def commit(
        self,
        replies: Sequence[Row],
        failures: Sequence[tuple[bytes, int, str]],
        asker: Asker = ANYBODY,
    ) -> None:
        """Keep replies and record failures in one transaction; their claims are let go.

        One statement for all rows: each SQLite step gives up and retakes the interpreter's lock,
        and against a busy event loop retaking it is what costs (measured).
        """
        now, by = int(time.time()), asker.number
        encoded = [(k, d, self._encode(storable(reply)), by, now) for k, d, reply in replies]
        # A reason may quote a server's bytes; SQLite keeps text only as UTF-8.
        failed = [(k, d, r.encode("utf-8", "replace").decode(), by) for k, d, r in failures]
        answered = [row[0] for row in replies]
        with self._lock, self._writing():
            if asker.since:  # what counts no more makes room
                older = f"DELETE FROM replies WHERE coalesce(reader, 0) < {asker.since:d}"  # noqa: S608
                over(self._write, f"{older} AND key IN", answered)
            insert(self._write, "INSERT OR IGNORE INTO replies VALUES", encoded)
            insert(self._write, "INSERT OR REPLACE INTO failures VALUES", failed)
            if encoded and by is not None:
                self._write.execute("UPDATE readers SET last=? WHERE id=?", (now, by))
            if _number(self._write, "SELECT EXISTS (SELECT 1 FROM failures)"):
                over(self._write, "DELETE FROM failures WHERE key IN", answered)
            done = answered + [row[0] for row in failed]
            over(self._write, "DELETE FROM claims WHERE key IN", done)

    # ------------------------------------------------------------ claims

    def claim(
        self, keys: Sequence[bytes], asker: Asker = ANYBODY, session: Session | None = None
    ) -> Claimed:
        """Take the keys that nobody has answered or is asking; dead processes' claims lapse.

        A damaged reply is taken away, and with it the answer to its key.
        """
        own = session or self._own
        with self._lock, self._loosely(), self._writing():
            self._keep_alive(own)
            query = "SELECT key, rowid, at, reader, reply FROM replies WHERE key IN"
            answered: dict[bytes, bool] = {}
            damaged: list[bytes] = []
            nobodys: list[bytes] = []
            for key, row, at, reader, value in over(self._write, query, keys):
                if self.decoded(value) is None:
                    damaged.append(key)
                elif _whole(reader) >= asker.since:
                    answered[key] = own.saw(_whole(at), row)
                    if reader is None:
                        nobodys.append(key)
            over(self._write, "DELETE FROM replies WHERE key IN", damaged)
            self.damaged += len(damaged)
            if nobodys and asker.number is not None:
                # Replies of format 1 are the reader's whose key they have.
                query = f"UPDATE replies SET reader={asker.number:d} WHERE key IN"  # noqa: S608
                over(self._write, query, nobodys)
                query = "UPDATE readers SET last=coalesce(last, 0) WHERE id=?"
                self._write.execute(query, (asker.number,))
            lately = sum(not before for before in answered.values())
            wanted = [key for key in keys if key not in answered]
            before = self._write.total_changes
            insert(
                self._write,
                "INSERT OR IGNORE INTO claims VALUES",
                [(k, own.number) for k in wanted],
            )
            if self._write.total_changes - before == len(wanted):
                return Claimed(set(wanted), set(answered), set(), lately, len(damaged))
            query = f"SELECT key FROM claims WHERE owner={own.number:d} AND key IN"  # noqa: S608
            ours = {row[0] for row in over(self._write, query, keys)}
        return Claimed(ours, set(answered), set(wanted) - ours, lately, len(damaged))

    def beat(self, session: Session | None = None) -> None:
        """Say that this process still asks what it has claimed."""
        own = session or self._own
        if own.number:
            with self._lock, self._loosely(), self._writing():
                self._keep_alive(own)

    @contextmanager
    def _loosely(self) -> Iterator[None]:
        """Without waiting for the disk: a claim lost with the power is a claim let go.

        The same connection as for replies, since SQLite empties a connection's page cache whenever
        another one writes.
        """
        self._write.execute("PRAGMA synchronous=NORMAL")
        try:
            yield
        finally:
            self._write.execute("PRAGMA synchronous=FULL")

    def _keep_alive(self, own: Session) -> None:
        """Say that somebody lives, and let go what dead ones claimed. Inside a transaction.

        Nobody's clock is believed: of a process at another place, where its number says nothing,
        the heartbeat counts, and whether it changed while our own clock ran.
        """
        now = time.monotonic()
        if own.number and now - own.beat < _BEAT_EVERY:
            return
        query = "SELECT id, place, pid, began, beat FROM owners WHERE id<>?"
        for row in self._write.execute(query, (own.number,)).fetchall():
            if not self._lives(row, now):
                self._write.execute("DELETE FROM owners WHERE id=?", row[:1])
        # With the claims of those whose row was lost or damaged.
        self._write.execute(
            "DELETE FROM claims WHERE owner<>? AND NOT EXISTS "
            "(SELECT 1 FROM owners WHERE id=owner)",
            (own.number,),
        )
        query = "INSERT OR REPLACE INTO owners VALUES (?,?,?,?,?)"
        said = (own.number or None, *own.life, int(now * 1000))
        own.number = int(self._write.execute(query, said).lastrowid or 0)
        own.beat = now

    def _lives(self, row: tuple[int, object, object, object, object], now: float) -> bool:
        owner, place, pid, began, beat = row
        if isinstance(place, str) and isinstance(pid, int) and isinstance(began, int) and pid > 0:
            known = store_file.alive(Life(place, pid, began), self._own.life)
            if known is not None:
                return known
        if owner not in self._heard or self._heard[owner][0] != beat:
            self._heard[owner] = (beat, now)
        return now - self._heard[owner][1] < _BEAT_LASTS

    # ------------------------------------------------------------ source digests

    def has_sources(self) -> bool:
        """Whether any digest is kept."""
        with self._read_lock:
            return bool(_number(self._read, "SELECT EXISTS (SELECT 1 FROM sources)"))

    def source(self, path: str, size: int, mark: int) -> bytes | None:
        """The kept digest of a file, if the file has not changed since.

        `mark` stands in the column `mtime_ns`, where earlier versions kept the time alone.
        """
        query = "SELECT digest FROM sources WHERE path=? AND size=? AND mtime_ns=?"
        with self._read_lock:
            row = self._read.execute(query, (path, size, mark)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else None

    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None:
        """Remember (path, size, mark, digest, dataset).

        Without waiting for the disk: what is lost with the power is read again.
        """
        with self._lock, self._loosely(), self._writing():
            insert(self._write, "INSERT OR REPLACE INTO sources VALUES", rows)

    # ------------------------------------------------------------ forgetting

    def forget(
        self, dataset: str | None = None, reader: str | None = None
    ) -> tuple[int, list[str]]:
        """Delete everything of a data set, of a reader, or of a reader for a data set.

        A data set is named whole or by what follows or precedes its `@`, a reader by its label.
        Returns how many replies went and the names that matched. The file is vacuumed, so that
        nothing of it stays behind in free pages.
        """
        sets = self._read.execute("SELECT id, dataset FROM datasets").fetchall()
        names = [(i, str(n)) for i, n in sets if dataset in (n, *str(n).split("@"))]
        where = [f"dataset={number:d}" for number, _ in names]
        if reader is not None:
            query = "SELECT id, label FROM readers WHERE label=?"
            labels = self._read.execute(query, (reader,)).fetchall()
            where = [
                " AND ".join(filter(None, (one, f"reader={number:d}")))
                for number, _ in labels
                for one in (where if dataset is not None else [""])
            ]
            names = labels if where else []
        removed = 0
        with self._lock:
            with self._writing():
                for rows in where:
                    removed += self._write.execute(f"DELETE FROM replies WHERE {rows}").rowcount  # noqa: S608
                    self._write.execute(f"DELETE FROM failures WHERE {rows}")  # noqa: S608
                for number, _ in names:
                    if reader is None:
                        self._write.execute("DELETE FROM sources WHERE dataset=?", (number,))
                        self._write.execute("DELETE FROM datasets WHERE id=?", (number,))
                    elif dataset is None:
                        self._write.execute("DELETE FROM readers WHERE id=?", (number,))
                if names:  # a label holds no longer than there are replies under it
                    self._write.execute(
                        "UPDATE readers SET last=(SELECT max(coalesce(at, 0)) FROM replies "
                        "WHERE reader=readers.id)"
                    )
            if names:
                self._vacuum(" of ".join(filter(None, (reader, dataset))))
        return removed, sorted({name for _, name in names})

    def _vacuum(self, what: str) -> None:
        try:
            self._write.execute("VACUUM")
            busy = self._write.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not _locked(error):
                raise
            busy = 1
        if busy:
            raise BadInput(
                f"{self.path}: {what} is deleted, but another process is reading the "
                "store, so its bytes are still in the file. They go when that process ends."
            )


def over(connection: sqlite3.Connection, query: str, keys: Sequence[bytes | int]) -> list[Any]:
    """The rows of a query that ends in `IN`, over however many keys."""
    found: list[Any] = []
    for start in range(0, len(keys), _VARIABLES):
        part = keys[start : start + _VARIABLES]
        marks = ",".join("?" * len(part))
        found += connection.execute(f"{query} ({marks})", part).fetchall()
    return found


def insert(connection: sqlite3.Connection, query: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert rows by as few statements as can be; the query ends in `VALUES`."""
    if not rows:
        return
    width = len(rows[0])
    step = _VARIABLES // width
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        marks = ",".join(["(" + ",".join("?" * width) + ")"] * len(part))
        values = [value for row in part for value in row]
        connection.execute(f"{query} {marks}", values)


def counts_from(
    connection: sqlite3.Connection, identity: str, labels: Collection[str], dataset: int
) -> int:
    """The first row that counts: where one of these labels, or one that answered, began."""
    query = (  # a set is the same under another policy
        "SELECT label, last, since FROM readers WHERE identity=? AND since > 0 "
        "AND (dataset IS NULL OR dataset=? OR dataset IN (SELECT other.id FROM datasets own "
        "JOIN datasets other USING (benchmark, dataset) WHERE own.id=?))"
    )
    begun = connection.execute(query, (identity, dataset, dataset)).fetchall()
    counts = (_whole(s) for label, last, s in begun if last is not None or label in labels)
    return max(counts, default=0)


def _number(connection: sqlite3.Connection, query: str, *values: object) -> int:
    """The one number that a query gives; 0 where it gives none."""
    return int((connection.execute(query, values).fetchone() or (0,))[0] or 0)


def _whole(value: object) -> int:
    """A number of the file, which somebody may have damaged; 0 for none."""
    return value if type(value) is int else 0


def _locked(error: sqlite3.Error) -> bool:
    return "locked" in str(error)


def moment(at: object) -> str:
    """A time of the store as people and files write it; "" for one that is not known."""
    try:
        seconds = _whole(at)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S UTC}" if seconds else ""
    except (OverflowError, OSError, ValueError):
        return ""


def storable(reply: Reply) -> Reply:
    """The reply with half characters (lone surrogates) replaced: no file can hold those."""
    text = reply.text
    if text.isascii():
        return reply
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return reply if clean == text else msgspec.structs.replace(reply, text=clean)
