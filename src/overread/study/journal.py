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
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from overread.benchmarks.people import is_whole
from overread.case import BadInput
from overread.study.packets import TRAINING, Opened, Turn

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


class Conflict(Exception):
    """Somebody has answered since this was read: another tab, as a rule."""


class Journal:
    """The answers of one study. A class, for it holds the file open."""

    def __init__(
        self, folder: Path, *, clock: Callable[[], float] = time.time, read_only: bool = False
    ) -> None:
        path = folder / "answers.sqlite"
        self._clock = clock
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
        answered: dict[str, dict[str, str]] = {}
        finished: dict[str, float] = {}
        for one in self.answers(reader):
            answered.setdefault(one.display, {})[one.question] = one.value
        # A display is read when the last of what must be answered was first said; a correction of
        # it later puts nothing off.
        for display, question, at in self._file.execute(
            "SELECT display, question, MIN(at) FROM answers WHERE reader=? AND value<>'' "
            "GROUP BY display, question",
            (reader,),
        ):
            shown = study.displays.get(display)
            if shown is not None and question in {ask.name for ask in shown.asks if ask.required}:
                finished[display] = max(at, finished.get(display, at))
        own: dict[int, list[Turn]] = {}
        for turn in study.schedule:
            if turn.reader == reader:
                own.setdefault(turn.session, []).append(turn)
        opens: float | None = None
        for session in sorted(own):
            turns = sorted(own[session], key=lambda turn: turn.place)
            done = frozenset(
                turn.display
                for turn in turns
                if is_whole(study.displays[turn.display].asks, answered.get(turn.display, {}))
            )
            if len(done) < len(turns):
                now = self._clock()
                waits = opens if opens is not None and now < opens and not done else None
                return Standing(session, turns, done, waits)
            if session != TRAINING:
                ended = max(finished[turn.display] for turn in turns)
                opens = ended + study.design.washout_days * _DAY
        return Standing(None, (), frozenset(), None)

    def progress(self, study: Opened) -> list[tuple[str, int, int, float | None]]:
        """Of each reader: displays answered whole, all displays, and when he last answered."""
        found = []
        for reader in study.design.readers:
            answered: dict[str, dict[str, str]] = {}
            last: float | None = None
            for one in self.answers(reader):
                answered.setdefault(one.display, {})[one.question] = one.value
                last = one.at if last is None else max(last, one.at)
            own = [turn.display for turn in study.schedule if turn.reader == reader]
            whole = sum(is_whole(study.displays[name].asks, answered.get(name, {})) for name in own)
            found.append((reader, whole, len(own), last))
        return found

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
