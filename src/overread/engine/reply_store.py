"""What a reply store is, wherever it is kept: a file of this machine, or one that another serves.

`ask`, `read_back`, plans and runs know this protocol and nothing else of a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

import msgspec

from overread.case import Policy, Reader, Reply

# A key, the number of the data set, and what was said.
Row: TypeAlias = tuple[bytes, int, Reply]


class Asker(msgspec.Struct, frozen=True):
    """A reader's row in the store, and the first row whose replies it is given."""

    number: int | None = None
    since: int = 0


ANYBODY: Final = Asker()


class Enrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A reader that is about to be asked.

    `use` is what else tells two readers of one identity apart (what they are shown, how they
    decode). `weights` says that other weights may stand behind the same identity, as they may
    behind a server's address: then another label is refused. `judges` tells a judge from a reader
    of the same name.
    """

    identity: str
    label: str
    judges: bool = False
    use: str = ""
    weights: bool = False


class Kept(NamedTuple):
    """A reply, when it was given and by which row of `readers`; 0 where that is not known.

    `before`: it was there when the store was opened.
    """

    reply: Reply
    at: int
    reader: int
    before: bool


class Listed(msgspec.Struct, frozen=True):
    """What is kept of one reader for one data set; times are "" where no reply has one."""

    benchmark: str
    dataset: str
    policy: str
    reader: str
    replies: int
    first: str
    last: str


class Claimed(msgspec.Struct, frozen=True):
    """What came of claiming keys: ours to ask, already answered, or being asked by another.

    `lately` counts those answered since this store was opened; `damaged` replies that could not be
    read, and are not there any more.
    """

    ours: set[bytes]
    answered: set[bytes]
    elsewhere: set[bytes]
    lately: int = 0
    damaged: int = 0


class Enrolled:
    """What a process knows of those it asks, whichever store their replies are kept in."""

    def __init__(self) -> None:
        self.under_way: set[bytes] = set()
        self.damaged = 0
        self._askers: dict[tuple[str, str, bool], Asker] = {}

    def keep_askers(self, readers: Sequence[Enrolment], askers: Sequence[Asker]) -> None:
        for one, asker in zip(readers, askers, strict=True):
            self._askers[one.identity, one.label, one.judges] = asker

    def asker(self, reader: Reader, *, judges: bool = False) -> Asker:
        """The row of a reader that was enrolled; one that counts every reply for another."""
        return self._askers.get((reader.identity, reader.name, judges), ANYBODY)

    def enrolled(self, one: Enrolment) -> Asker:
        """The same, of what was enrolled."""
        return self._askers.get((one.identity, one.label, one.judges), ANYBODY)

    def count_for(self, reader: Reader, asker: Asker, *, judges: bool = False) -> None:
        """Count for a reader what counts for it in the process that asks it. Nothing is written."""
        self._askers[reader.identity, reader.name, judges] = asker


class ReplyStore(Protocol):
    """Where every reply is kept for ever, and who is asking what just now.

    Called from threads: each call waits until what it says is kept. What is committed stays,
    whatever is killed afterwards; what was claimed by a process that is gone is let go.

    `named` is what `--store` names it by, and `shown` how lines for people do. `under_way` are the
    keys that this process is asking, for all its readers; `damaged` counts replies that could not
    be read and are asked for again.
    """

    named: str
    shown: str
    under_way: set[bytes]
    damaged: int

    def close(self) -> None:
        """Let go of claims and close. Replies are already committed."""

    def hurry(self) -> None:
        """Wait for nobody from now on: the user wants to leave. May be called from any thread."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    # ------------------------------------------------------------ who is asked, about what

    def dataset_id(self, benchmark: str, dataset: str, policy: Policy) -> int:
        """The number that replies of this data set carry."""

    def enrol(self, readers: Sequence[Enrolment], dataset: int, *, fresh: bool = False) -> None:
        """Write down who is about to be asked, and from when on their kept replies count."""

    def foresee(self, readers: Sequence[Enrolment], benchmark: str, dataset: str) -> None:
        """As `enrol`, for a forecast: refuses the same labels, and writes nothing down."""

    def asker(self, reader: Reader, *, judges: bool = False) -> Asker:
        """The row of a reader that was enrolled; one that counts every reply for another."""

    def enrolled(self, one: Enrolment) -> Asker:
        """The same, of what was enrolled."""

    def count_for(self, reader: Reader, asker: Asker, *, judges: bool = False) -> None:
        """Count for a reader what counts for it in the process that asks it. Nothing is written."""

    def note_served(self, reader: Reader, served: str, *, judges: bool = False) -> str:
        """Keep how the server lists a reader; returns how it did when it last answered, if else."""

    def reader_rows(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The label of these rows, and how their server listed them."""

    # ------------------------------------------------------------ reading

    def get(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> dict[bytes, Kept]:
        """The replies that exist among these keys, and count; a damaged one does not exist."""

    def known(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> set[bytes]:
        """Which of these keys have a reply."""

    def failures(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Why the last attempt at these keys failed, where it did and none succeeded since."""

    def rate(self, identity: str) -> float | None:
        """Replies a second of a reader while it last answered; None of too few to tell."""

    def listing(self) -> list[Listed]:
        """What is kept here of each data set and reader, and from when."""

    # ------------------------------------------------------------ asking

    def claim(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> Claimed:
        """Take the keys that nobody has answered or is asking; dead processes' claims lapse."""

    def beat(self) -> None:
        """Say that this process still asks what it has claimed."""

    def commit(
        self,
        replies: Sequence[Row],
        failures: Sequence[tuple[bytes, int, str]],
        asker: Asker = ANYBODY,
    ) -> None:
        """Keep replies and record failures, all or none; their claims are let go."""

    # ------------------------------------------------------------ digests of files of this machine

    def has_sources(self) -> bool:
        """Whether any digest is kept."""

    def source(self, path: str, size: int, mark: int) -> bytes | None:
        """The kept digest of a file, if the file has not changed since."""

    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None:
        """Remember (path, size, mark, digest, data set)."""
