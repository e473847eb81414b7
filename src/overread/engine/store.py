"""The reply store: one SQLite file per workspace, where every reply is kept for ever.

Replies are committed in groups and survive `kill -9`; errors are recorded but never served as
replies. Claims let two processes share one store without asking the same trial at once.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread.case import BadInput, Policy, Reply
from overread.engine.mounts import is_network_mount
from overread.engine.store_file import (
    APPLICATION,
    alive,
    create_private,
    make_private,
    only_writer,
    refuse_foreign,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Claimed", "Row", "Store"]

_SCHEMA_VERSION = 1
# `replies` keeps its rows in order of arrival with an index of keys beside them: inserting random
# keys into a clustered table was measured at half the speed.
_SCHEMA = """
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
"""
_BEAT_EVERY = 15.0
_BEAT_LASTS = 120.0  # only for processes of other machines, whose life cannot be asked
_VARIABLES = 30_000  # SQLite's default limit is 32,766 per statement

Row = tuple[bytes, int, Reply]


class Claimed(msgspec.Struct, frozen=True):
    """What came of claiming keys: ours to ask, already answered, or being asked by another.

    `lately` counts those answered since this store was opened.
    """

    ours: set[bytes]
    answered: set[bytes]
    elsewhere: set[bytes]
    lately: int = 0


class Store:
    """A reply store. Reads go through one connection, writes through another behind a lock."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        fresh = not self.path.exists()
        if fresh:
            create_private(self.path)
        self._network = is_network_mount(self.path)
        self._alone = only_writer(self.path) if self._network else None
        try:
            if not fresh:
                refuse_foreign(self.path)
                make_private(self.path)
            self._write = self._connect()
            self._read = self._connect()
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"{self.path}: cannot be used as a reply store ({error}). "
                "Give another file with --store, or move this one away."
            ) from None
        newest = self._read.execute("SELECT max(rowid) FROM replies").fetchone()[0]
        self._last_row = int(newest or 0)
        self._lock = threading.Lock()
        self._read_lock = threading.Lock()
        self.under_way: set[bytes] = set()  # what this process is asking, for all its readers
        self._owner = 0
        self._beat = 0.0
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Reply).decode

    # ------------------------------------------------------------ opening and closing

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=60, isolation_level=None, check_same_thread=False
        )
        # WAL needs shared memory, which network file systems do not give.
        self._set_journal(connection, "delete" if self._network else "wal")
        connection.execute("PRAGMA synchronous=FULL")  # measured: costs nothing in batches
        return connection

    def _set_journal(self, connection: sqlite3.Connection, mode: str) -> None:
        """For this SQLite does not wait on its own: processes that begin together would fail."""
        deadline = time.monotonic() + 60
        while True:
            try:
                connection.execute(f"PRAGMA journal_mode={mode}")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _prepare(self) -> None:
        application = self._write.execute("PRAGMA application_id").fetchone()[0]
        version = self._write.execute("PRAGMA user_version").fetchone()[0]
        if application == APPLICATION and version == _SCHEMA_VERSION:
            return
        if application == APPLICATION and version != 0:
            raise BadInput(
                f"{self.path}: the store has format {version}, this version reads format "
                f"{_SCHEMA_VERSION}. Use the Overread that wrote it, or another --store."
            )
        with _immediate(self._write):
            if self._write.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
                return  # another process prepared it while we waited for the lock
            for statement in _SCHEMA.split(";"):
                if statement.strip():
                    self._write.execute(statement)
            self._write.execute(f"PRAGMA application_id={APPLICATION}")
            self._write.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")

    def close(self) -> None:
        """Let go of claims and close. Replies are already committed."""
        with self._lock:
            if self._owner:
                with _immediate(self._write):
                    self._write.execute("DELETE FROM claims WHERE owner=?", (self._owner,))
                    self._write.execute("DELETE FROM owners WHERE id=?", (self._owner,))
            self._read.close()
            self._write.close()
            if self._alone is not None:
                self._alone.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ reading

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies that exist among these keys."""
        rows = self._select("SELECT key, reply FROM replies WHERE key IN", keys)
        return {key: self._decode(value) for key, value in rows}

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these keys have a reply."""
        return {row[0] for row in self._select("SELECT key FROM replies WHERE key IN", keys)}

    def failures(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Why the last attempt at these keys failed, where it did and none succeeded since."""
        rows = self._select("SELECT key, reason FROM failures WHERE key IN", keys)
        return {key: str(reason) for key, reason in rows}

    def count(self) -> int:
        """How many replies the store holds."""
        return int(self._read.execute("SELECT count(*) FROM replies").fetchone()[0])

    def datasets(self) -> list[tuple[str, str, str, int]]:
        """(benchmark, dataset, policy, replies) of everything kept here."""
        return self._read.execute(
            "SELECT benchmark, d.dataset, policy, count(r.key) FROM datasets d "
            "LEFT JOIN replies r ON r.dataset = d.id GROUP BY d.id ORDER BY 1, 2"
        ).fetchall()

    def _select(self, query: str, keys: Sequence[bytes]) -> list[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        for start in range(0, len(keys), _VARIABLES):
            part = keys[start : start + _VARIABLES]
            marks = ",".join("?" * len(part))
            with self._read_lock:
                found += self._read.execute(f"{query} ({marks})", part).fetchall()
        return found

    # ------------------------------------------------------------ writing

    def dataset_id(self, benchmark: str, dataset: str, policy: Policy) -> int:
        """The row number that replies of this data set carry."""
        row = (benchmark, dataset, policy)
        with self._lock, _immediate(self._write):
            self._write.execute(
                "INSERT OR IGNORE INTO datasets (benchmark, dataset, policy) VALUES (?,?,?)", row
            )
            query = "SELECT id FROM datasets WHERE benchmark=? AND dataset=? AND policy=?"
            return int(self._write.execute(query, row).fetchone()[0])

    def commit(self, replies: Sequence[Row], failures: Sequence[tuple[bytes, int, str]]) -> None:
        """Keep replies and record failures in one transaction; their claims are let go.

        One statement for all rows: each SQLite step gives up and retakes the interpreter's lock,
        and against a busy event loop retaking it is what costs (measured).
        """
        encoded = [
            (key, dataset, self._encode(_storable(reply))) for key, dataset, reply in replies
        ]
        # A reason may quote a server's bytes; SQLite keeps text only as UTF-8.
        failures = [(k, d, r.encode("utf-8", "replace").decode()) for k, d, r in failures]
        done = [row[0] for row in encoded] + [row[0] for row in failures]
        with self._lock, _immediate(self._write):
            self._insert("INSERT OR IGNORE INTO replies VALUES", encoded)
            self._insert("INSERT OR REPLACE INTO failures VALUES", failures)
            if self._write.execute("SELECT EXISTS (SELECT 1 FROM failures)").fetchone()[0]:
                self._delete("DELETE FROM failures WHERE key IN", [row[0] for row in encoded])
            self._delete("DELETE FROM claims WHERE key IN", done)

    def _insert(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        width = len(rows[0])
        step = _VARIABLES // width
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            marks = ",".join(["(" + ",".join("?" * width) + ")"] * len(part))
            values = [value for row in part for value in row]
            self._write.execute(f"{query} {marks}", values)

    def _delete(self, query: str, keys: Sequence[bytes]) -> None:
        for start in range(0, len(keys), _VARIABLES):
            part = keys[start : start + _VARIABLES]
            marks = ",".join("?" * len(part))
            self._write.execute(f"{query} ({marks})", part)

    # ------------------------------------------------------------ claims

    def claim(self, keys: Sequence[bytes]) -> Claimed:
        """Take the keys that nobody has answered or is asking; dead processes' claims lapse."""
        marks = ",".join("?" * len(keys))
        with self._lock, self._loosely(), _immediate(self._write):
            self._keep_alive()
            query = f"SELECT key, rowid FROM replies WHERE key IN ({marks})"  # noqa: S608
            answered = dict(self._write.execute(query, keys).fetchall())
            lately = sum(row > self._last_row for row in answered.values())
            wanted = [key for key in keys if key not in answered]
            before = self._write.total_changes
            self._insert("INSERT OR IGNORE INTO claims VALUES", [(k, self._owner) for k in wanted])
            if self._write.total_changes - before == len(wanted):
                return Claimed(set(wanted), set(answered), set(), lately)
            query = f"SELECT key FROM claims WHERE owner=? AND key IN ({marks})"  # noqa: S608
            ours = {row[0] for row in self._write.execute(query, (self._owner, *keys))}
        return Claimed(ours, set(answered), set(wanted) - ours, lately)

    def beat(self) -> None:
        """Say that this process still asks what it has claimed."""
        if self._owner:
            with self._lock, self._loosely(), _immediate(self._write):
                self._keep_alive()

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

    def _keep_alive(self) -> None:
        """Say that this process lives, and let go what dead ones claimed. Inside a transaction."""
        now = time.time()
        if self._owner and now - self._beat < _BEAT_EVERY:
            return
        host = platform.node()
        dead = [
            owner
            for owner, its_host, pid, beat in self._write.execute(
                "SELECT id, host, pid, beat FROM owners WHERE id<>?", (self._owner,)
            )
            if (not alive(pid, beat) if its_host == host else now - beat > _BEAT_LASTS)
        ]
        for owner in dead:
            self._write.execute("DELETE FROM claims WHERE owner=?", (owner,))
            self._write.execute("DELETE FROM owners WHERE id=?", (owner,))
        row = (host, os.getpid(), now)
        if self._owner:
            self._write.execute(
                "INSERT OR REPLACE INTO owners VALUES (?,?,?,?)", (self._owner, *row)
            )
        else:
            self._owner = int(
                self._write.execute(
                    "INSERT INTO owners (host, pid, beat) VALUES (?,?,?)", row
                ).lastrowid
                or 0
            )
        self._beat = now

    # ------------------------------------------------------------ source digests

    def source(self, path: str, size: int, mark: int) -> bytes | None:
        """The kept digest of a file, if the file has not changed since.

        `mark` stands in the column `mtime_ns`, where earlier versions kept the time alone.
        """
        query = "SELECT digest FROM sources WHERE path=? AND size=? AND mtime_ns=?"
        with self._read_lock:
            row = self._read.execute(query, (path, size, mark)).fetchone()
        return bytes(row[0]) if row else None

    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None:
        """Remember (path, size, mark, digest, dataset)."""
        with self._lock, _immediate(self._write):
            self._insert("INSERT OR REPLACE INTO sources VALUES", rows)

    # ------------------------------------------------------------ forgetting

    def forget(self, dataset: str) -> tuple[int, list[str]]:
        """Delete everything of a data set, named whole or by what follows or precedes its `@`.

        Returns how many replies went and the names that matched. The file is vacuumed, so that
        nothing of it stays behind in free pages.
        """
        rows = self._read.execute("SELECT id, dataset FROM datasets").fetchall()
        matching = [(i, name) for i, name in rows if dataset in (name, *name.split("@"))]
        removed = 0
        with self._lock:
            with _immediate(self._write):
                for number, _ in matching:
                    cursor = self._write.execute("DELETE FROM replies WHERE dataset=?", (number,))
                    removed += cursor.rowcount
                    self._write.execute("DELETE FROM failures WHERE dataset=?", (number,))
                    self._write.execute("DELETE FROM sources WHERE dataset=?", (number,))
                    self._write.execute("DELETE FROM datasets WHERE id=?", (number,))
            if matching:
                self._write.execute("VACUUM")
                busy = self._write.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if busy:
                    raise BadInput(
                        f"{self.path}: {dataset} is deleted, but another process is reading the "
                        "store, so its bytes are still in the file. They go when that process ends."
                    )
        return removed, sorted({name for _, name in matching})


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction that takes its lock at once, so that it cannot fail half-way."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _storable(reply: Reply) -> Reply:
    """The reply with half characters (lone surrogates) replaced: no file can hold those."""
    text = reply.text
    if text.isascii():
        return reply
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return reply if clean == text else msgspec.structs.replace(reply, text=clean)
