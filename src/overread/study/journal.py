"""Every answer that readers gave, as it was given: one SQLite file, rows added and never changed.

An answer is known by reader, display and question; giving the same again adds nothing, giving
another adds a row with the next revision. What counts is the last one.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from overread.benchmarks.people import is_whole
from overread.case import BadInput
from overread.study.packets import TRAINING, Display, Opened, Turn

_DAY = 86_400.0
_NEW = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  row INTEGER PRIMARY KEY, reader TEXT NOT NULL, display TEXT NOT NULL, question TEXT NOT NULL,
  revision INTEGER NOT NULL, value TEXT NOT NULL, at REAL NOT NULL, seconds REAL, visible REAL,
  UNIQUE (reader, display, question, revision));
CREATE TABLE IF NOT EXISTS shown (
  row INTEGER PRIMARY KEY, reader TEXT NOT NULL, display TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS shown_by ON shown (reader, display);
"""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: what, when (seconds since 1970, by the server's clock), and how long it took.

    `seconds` from the moment the display was shown, by the server's clock; `visible` those during
    which the reader's page was in front, as the page says.
    """

    reader: str
    display: str
    question: str
    value: str
    revision: int
    at: float
    seconds: float | None = None
    visible: float | None = None


class Standing(NamedTuple):
    """Where a reader stands: the session that is open, or when one will be.

    `session` is None where nothing is left; `waits` is the time at which it opens, where that is
    not yet.
    """

    session: int | None
    turns: Sequence[Turn]
    done: frozenset[str]
    waits: float | None


class _Read:
    """What one reader has answered so far, and in which sessions: kept, for it is asked for at
    every request and there may be thousands of answers."""

    def __init__(self, study: Opened, reader: str) -> None:
        sessions: dict[int, list[Turn]] = {}
        for turn in study.schedule:
            if turn.reader == reader:
                sessions.setdefault(turn.session, []).append(turn)
        self.sessions: Final = {
            session: tuple(sorted(sessions[session], key=lambda turn: turn.place))
            for session in sorted(sessions)
        }
        self.whole: Final[set[str]] = set()
        self.last: float | None = None
        self._values: Final[dict[str, dict[str, str]]] = {}
        self._first: Final[dict[str, dict[str, float]]] = {}

    def add(self, display: Display, question: str, value: str, at: float) -> None:
        values = self._values.setdefault(display.id, {})
        values[question] = value
        self.last = at if self.last is None else max(self.last, at)
        if value:
            first = self._first.setdefault(display.id, {})
            first.setdefault(question, at)  # rows come as they were given: a clock may go back
        if is_whole(display.asks, values):
            self.whole.add(display.id)
        else:
            self.whole.discard(display.id)

    def finished(self, display: Display) -> float:
        """When a whole display was read: when the last of what must be answered was first said.

        A correction of it later puts nothing off.
        """
        first = self._first[display.id]
        return max(first[ask.name] for ask in display.asks if ask.required and ask.name in first)


class Conflict(Exception):
    """Somebody has answered since this was read: another tab, as a rule."""


class Journal:
    """The answers of one study. A class, for it holds the file open."""

    def __init__(
        self, folder: Path, *, clock: Callable[[], float] = time.time, read_only: bool = False
    ) -> None:
        path = folder / "answers.sqlite"
        self._clock = clock
        self._reads: dict[str, _Read] = {}
        self._row = 0
        there = _is_kept(path)
        try:
            if read_only and not there:
                self._file = sqlite3.connect(":memory:")
            elif read_only:
                # Able to write where it may: what a killed server left half-done must be undone
                # before anybody can read.
                self._file = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)
                self._file.execute("PRAGMA query_only=ON")
            else:
                if not there:
                    os.close(os.open(path, _NEW, 0o600))
                self._file = sqlite3.connect(path, isolation_level=None)
                # A rollback journal: the file may stand on a share, and answers come once in
                # seconds.
                self._file.execute("PRAGMA synchronous=FULL")
            if not read_only or not there:
                self._file.executescript(_SCHEMA)
            self._file.execute("SELECT COUNT(*) FROM answers, shown WHERE 0")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise BadInput(
                    f"{path}: another process writes to it and does not end. Wait, and run again."
                ) from None
            raise BadInput(f"{path}: {error}. Take it from a copy.") from None

    def close(self) -> None:
        self._file.close()

    # ------------------------------------------------------------ reading

    def answers(self, reader: str | None = None, *, every: bool = False) -> Iterator[Given]:
        """The last answer to every question, or with `every` all that were ever given."""
        rows = self._file.execute(
            "SELECT reader, display, question, value, revision, at, seconds, visible FROM answers "
            "WHERE ? IS NULL OR reader = ? ORDER BY row",
            (reader, reader),
        )
        given = (
            Given(reader=r, display=d, question=q, value=v, revision=n, at=at, seconds=s, visible=w)
            for r, d, q, v, n, at, s, w in rows
        )
        if every:
            yield from given
            return
        last = {(one.reader, one.display, one.question): one for one in given}
        yield from last.values()

    def of_display(self, reader: str, display: str) -> dict[str, Given]:
        rows = self._file.execute(
            "SELECT question, value, revision, at FROM answers WHERE reader=? AND display=? "
            "ORDER BY revision",
            (reader, display),
        )
        return {
            q: Given(reader=reader, display=display, question=q, value=v, revision=n, at=at)
            for q, v, n, at in rows
        }

    def standing(self, study: Opened, reader: str) -> Standing:
        """The session a reader is in. The next one opens a wash-out after the last answer of this.

        A session is over when every display of it is answered whole. Time is the server's.
        """
        own = self._read_by(study, reader)
        before: Sequence[Turn] = ()
        for session, turns in own.sessions.items():
            done = frozenset(turn.display for turn in turns if turn.display in own.whole)
            if len(done) == len(turns):
                before = turns if session != TRAINING else ()
                continue
            waits = None
            if before and not done:
                ended = max(own.finished(study.displays[turn.display]) for turn in before)
                opens = ended + study.design.washout_days * _DAY
                waits = opens if self._clock() < opens else None
            return Standing(session, turns, done, waits)
        return Standing(None, (), frozenset(), None)

    def progress(self, study: Opened) -> list[tuple[str, int, int, float | None]]:
        """Of each reader: displays answered whole, all displays, and when he last answered."""
        found = []
        for reader in study.design.readers:
            own = self._read_by(study, reader)
            turns = [turn.display for turns in own.sessions.values() for turn in turns]
            found.append((reader, len(own.whole.intersection(turns)), len(turns), own.last))
        return found

    def _read_by(self, study: Opened, reader: str) -> _Read:
        """What a reader has answered, other processes' rows included; only new rows are read.

        Whoever writes does so alone and rows are only added: what is above the last row that was
        read is all that is new.
        """
        if not self._reads:
            self._reads = {name: _Read(study, name) for name in study.design.readers}
        for row, name, display, question, value, at in self._file.execute(
            "SELECT row, reader, display, question, value, at FROM answers WHERE row > ? "
            "ORDER BY row",
            (self._row,),
        ).fetchall():
            self._row = row
            if name in self._reads and display in study.displays:
                self._reads[name].add(study.displays[display], question, value, at)
        return self._reads[reader]

    # ------------------------------------------------------------ writing

    def show(self, reader: str, display: str) -> None:
        """The display is in front of the reader from now on."""
        self._file.execute(
            "INSERT INTO shown (reader, display, at) VALUES (?, ?, ?)",
            (reader, display, self._clock()),
        )

    def put(
        self,
        reader: str,
        display: str,
        values: Mapping[str, str],
        *,
        revision: int | None = None,
        visible: float | None = None,
    ) -> int:
        """Commit the answers to a display together; returns its revision.

        What stands already is not written again. `revision` is what the reader's page had seen:
        where somebody wrote something else since then, `Conflict`.
        """
        self._file.execute("BEGIN IMMEDIATE")
        try:
            standing = self.of_display(reader, display)
            newest = max((one.revision for one in standing.values()), default=0)
            changed = {
                question: value
                for question, value in values.items()
                if (standing[question].value if question in standing else "") != value
            }
            if changed:
                if revision is not None and revision != newest:
                    raise Conflict
                now = self._clock()
                row = self._file.execute(
                    "SELECT MAX(at) FROM shown WHERE reader=? AND display=?", (reader, display)
                ).fetchone()
                seconds = None if row[0] is None else max(0.0, now - row[0])
                newest += 1
                self._file.executemany(
                    "INSERT INTO answers (reader, display, question, revision, value, at, seconds, "
                    "visible) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (reader, display, question, newest, value, now, seconds, visible)
                        for question, value in changed.items()
                    ],
                )
            self._file.execute("COMMIT")
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        return newest

    def take(self, reader: str, sheet: Mapping[str, Mapping[str, str]]) -> tuple[int, int, int]:
        """Answers by display from a sheet filled elsewhere: how many new, changed, and the same."""
        new = changed = same = 0
        for display, values in sheet.items():
            before = self.of_display(reader, display)
            for question, value in values.items():
                stood = before[question].value if question in before else ""
                if not stood and not value:
                    continue
                new += not stood
                same += stood == value
                changed += stood not in ("", value)
            self.put(reader, display, values)
        return new, changed, same


def _is_kept(path: Path) -> bool:
    """Whether answers are there already. A link, pipe or folder in their place is refused."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise BadInput(f"{path}: expected a file of answers. Take it from a copy.")
    return True
