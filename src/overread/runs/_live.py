"""A run under way, looked at from outside.

Who asks leaves a note beside the run's place (`.NAME.under-way.json`, the user's alone) and brings
it up to date every second; when it ends, however it ends, the note goes. Another process finds it:
it serves the page, reads replies from the store, measures them and so takes nothing from the one
that asks but what a reader of the same file takes. `run --watch` starts such a process, and
`overread serve` of a run that is not finished is one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from heapq import heappush, heappushpop
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.base import ReaderRecord, Tables
from overread.case import BadInput, Limits, Prompt, Reply, Table, Traits
from overread.engine import NOT_ASKED, Asker, Given, Tally, read_back
from overread.readers import ReaderSpec
from overread.runs import _opening
from overread.runs._asking import Work, on_interrupt, work_on

if TYPE_CHECKING:
    from overread.engine import Kept
    from overread.report.live import Asked, Heard, Live, SoFar
    from overread.report.serving import Serving

Shown = list[tuple[str, Tally, int, ReaderSpec]]
Watch = Callable[[Shown], AbstractContextManager[None]]

_EVERY: Final = 1.0
# A note that was not brought up to date for so long is of a process that is gone.
_SILENCE: Final = 30.0
_RATE_OVER: Final = 20.0  # seconds
_REST: Final = 9  # times as long as measuring took: a tenth of one core at most
_LEAST_REST: Final = 3.0
_LAST: Final = 12
_LONGEST_REPLY: Final = 300
# How long a server waits for the finished page to be fetched; and once there is none.
_UNTIL_FETCHED, _UNTIL_SEEN = 120.0, 10.0


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A reader as the process that asks knows it, so that its replies are found."""

    name: str
    identity: str
    traits: Traits
    row: Asker


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What a run under way tells of itself: its recipe, who is asked, and how far it is."""

    process: int
    began: float
    written: float
    benchmark: str
    cases: str
    edition: str
    settings: dict[str, str]
    limit: int | None
    only: str | None
    store: str
    policy: str
    readers: list[Known]
    asked: list[dict[str, Any]]
    measuring: bool = False


def note_of(folder: Path) -> Path:
    """Where a run that will be in this folder leaves its note."""
    return folder.with_name(f".{folder.name}.under-way.json")


# ---------------------------------------------------------------- the process that asks


class Beacon:
    """Keeps the note up to date, from a thread. A class, for rounds are added as they begin."""

    def __init__(self, folder: Path, about: Callable[[], Mapping[str, Any]]) -> None:
        self._place = note_of(folder)
        self._about = about
        self._began = time.time()
        self._rounds: Shown = []
        self._ended = threading.Event()
        self.measuring = False

    def watch(self, inner: Watch | None) -> Watch:
        """The same display, whose rounds are noted too."""

        @contextmanager
        def noted(shown: Shown) -> Iterator[None]:
            self._rounds = [*self._rounds, *shown]
            with inner(shown) if inner else nullcontext():
                yield

        return noted

    def write(self) -> None:
        note = Note(
            process=os.getpid(),
            began=self._began,
            written=time.time(),
            asked=[_counts(*one) for one in self._rounds],
            measuring=self.measuring,
            **self._about(),
        )
        made = self._place.with_suffix(".part")
        # What cannot be written stops nobody from asking.
        with suppress(OSError):
            with open(made, "wb", opener=lambda path, how: os.open(path, how, 0o600)) as file:
                file.write(msgspec.json.encode(note))
            os.replace(made, self._place)

    @contextmanager
    def lit(self, *, at_once: bool) -> Iterator[None]:
        """A run that is done within a second leaves no note, unless somebody waits for it."""

        def keep_writing() -> None:
            while not self._ended.wait(_EVERY):
                self.write()

        thread = threading.Thread(target=keep_writing, daemon=True, name="overread-note")
        try:
            if at_once:
                self.write()
            thread.start()
            yield
        finally:
            self._ended.set()
            thread.join()
            for path in (self._place, self._place.with_suffix(".part")):
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _counts(name: str, tally: Tally, total: int, spec: ReaderSpec) -> dict[str, Any]:
    names = ("kept", "shared", "answered", "failed", "retried", "slots", "waiting",
             "tokens_in", "tokens_out")  # fmt: skip
    told = {one: getattr(tally, one) for one in names}
    cost = spec.cost(tally.tokens_in, tally.tokens_out)
    return {"name": name, "total": total, **told, "cost": cost, "reasons": dict(tally.reasons)}


def watch_from_outside(folder: Path) -> None:
    """Start a process that serves the page of a run under way, and ends after it.

    It prints the address where this process prints what people read, and survives a Ctrl-C meant
    for this one: it sees that the note is gone.
    """
    subprocess.Popen(  # noqa: S603 (this very program, no shell)
        [sys.executable, "-m", "overread.runs._live", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        stderr=sys.stderr,
        start_new_session=True,
    )


# ---------------------------------------------------------------- the process that looks


def read_note(folder: Path) -> Note | None:
    """The note of a run under way; None where there is none, or its process is gone."""
    from overread.files import read_bytes

    try:
        note = msgspec.json.decode(read_bytes(note_of(folder)), type=Note)
    except (OSError, BadInput, msgspec.MsgspecError):
        return None
    return note if _lives(note) else None


def _lives(note: Note) -> bool:
    if time.time() - note.written > _SILENCE:
        return False
    try:
        os.kill(note.process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or it cannot be told
        return True
    return True


class _Absent:
    """A reader of which only what finds its replies is known; it cannot be asked here."""

    def __init__(self, known: Known) -> None:
        self.name, self.identity, self.traits = known.name, known.identity, known.traits
        self.limits = Limits()

    async def reply(self, prompt: Prompt) -> Reply:
        raise NotImplementedError

    async def close(self) -> None:
        return


class _Latest(Given):
    """Remembers when the reply read last was given."""

    at: int = 0

    def add(self, kept: Kept) -> None:
        self.at = kept.at


class Onlooker:
    """Measures what a run has so far, from its store. A class, for it keeps the cases open."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._readers = [_Absent(one) for one in note.readers]

    @cached_property
    def _opened(self) -> tuple[Any, frozenset[str] | None]:
        note = self._note
        bench = _opening.open_cases(note.benchmark, note.cases, note.edition, note.settings)
        bench.look_ahead([reader.name for reader in self._readers])
        return bench, _opening.survey(bench, note.limit, note.only)[0]

    def measured(self) -> SoFar:
        """The run's first table from what is answered, and what was said last."""
        from overread.report.live import SoFar

        try:
            bench, chosen = self._opened
            with work_on(bench, chosen, self._note.store) as work:
                for reader, known in zip(self._readers, self._note.readers, strict=True):
                    work.store.count_for(reader, known.row)
                return self._of(work)
        except Exception as error:  # whatever it is, the run goes on
            told = str(error) if isinstance(error, BadInput) else type(error).__name__
            return SoFar(note=f"Numbers cannot be made yet: {told}")

    def _of(self, work: Work) -> SoFar:
        import polars as pl

        from overread.report.live import SoFar

        bench, rows = work.bench, []
        last: list[tuple[int, int, Heard]] = []
        for reader in self._readers:
            for row, heard in self._answers(work, reader):
                rows.append(row)
                if heard is not None:
                    entry = (heard.at, len(rows), heard)
                    (heappush if len(last) < _LAST else heappushpop)(last, entry)
        latest = [heard for _, _, heard in sorted(last, key=lambda one: one[:2], reverse=True)]
        if not rows:
            return SoFar(note="Nobody has answered yet.")
        schema = {"reader": pl.String, **bench.answer_schema}
        answers = pl.DataFrame(rows, schema=schema, orient="row")
        among = set(answers["case"])
        cases = (bench.case_row(case) for case in bench.cases() if case.case_id in among)
        tables = Tables(
            cases=pl.DataFrame(list(cases), schema=bench.case_schema, orient="row"),
            answers=answers,
            readers=tuple(ReaderRecord(name=one.name, traits=one.traits) for one in self._readers),
            asked_under=bench.edition,
        )
        found = SoFar(answers=len(rows), cases=len(among), last=latest)
        made = bench.exhibits(bench.measure(tables), "so far")
        table = next((one for one in made if isinstance(one, Table)), None)
        if table is None:
            return msgspec.structs.replace(found, note="There is no table of them yet.")
        judged = "Numbers that judges decide come when they have judged." if bench.roles else ""
        rows_of_it = [[str(cell) for cell in row] for row in table.rows]
        return msgspec.structs.replace(
            found, title=table.title, columns=table.columns, rows=rows_of_it, note=judged
        )

    def _answers(self, work: Work, reader: _Absent) -> Iterator[tuple[Sequence[Any], Heard | None]]:
        from overread.report.live import Heard

        bench, latest = work.bench, _Latest()
        may_show = self._note.policy != "credentialed"
        outcome = list(bench.answer_schema).index("outcome")
        plan = work.whole_plan(reader)
        for trial, reply, why in read_back(plan, reader, work.store, work.studio, latest):
            if reply is None and why == NOT_ASKED:
                continue
            row = (reader.name, *bench.answer(trial, reply, reader.traits, why))
            heard = None
            if may_show and reply is not None:
                heard = Heard(
                    at=latest.at,
                    reader=reader.name,
                    case=trial.case,
                    condition=dict(trial.condition),
                    outcome=str(row[1 + outcome]),
                    text=reply.text[:_LONGEST_REPLY],
                )
            yield row, heard


class _Desk:
    """What the page is told, kept up to date by a thread that measures and rests."""

    def __init__(self, folder: Path, note: Note) -> None:
        from overread.report.live import SoFar

        self.folder, self._note, self._ended = folder, note, ""
        self._so_far = SoFar(note="None yet.")
        self._pace: deque[tuple[float, int]] = deque()
        self.stopped = threading.Event()

    def measure_again_and_again(self) -> None:
        onlooker, known = Onlooker(self._note), -1
        while not self.stopped.is_set():
            began, asked = time.monotonic(), sum(one["answered"] for one in self._note.asked)
            if asked != known:
                known = asked
                self._so_far = onlooker.measured()
            took = time.monotonic() - began
            self.stopped.wait(max(_LEAST_REST, _REST * took))

    @property
    def over(self) -> str:
        """Empty while it goes on; then whether it came to its end."""
        if not self._ended:
            note = read_note(self.folder)
            if note is not None:
                self._note = note
            else:
                self._ended = "finished" if self._is_finished() else "ended"
        return self._ended

    def _is_finished(self) -> bool:
        """Whether the folder that is there now was made by this run."""
        try:
            return (self.folder / "report.html").stat().st_mtime >= self._note.began
        except OSError:
            return False

    def state(self) -> Live:
        from overread.report.live import Asked, Live

        over, note = self.over, self._note
        asked = [Asked(**one) for one in note.asked]
        costs = [one.cost for one in asked if one.cost is not None]
        rate = self._rate(asked)
        left = sum(one.total - one.settled for one in asked)
        state: Any = over or ("measuring" if note.measuring else "asking")
        return Live(
            title=self.folder.name,
            state=state,
            seconds=round(note.written - note.began, 1),
            asked=asked,
            rate=rate,
            left=left / rate if rate and state == "asking" else None,
            cost=sum(costs) if costs else None,
            so_far=self._so_far,
        )

    def _rate(self, asked: Sequence[Asked]) -> float | None:
        """Replies and failures a second, over the last while."""
        now, pace = self._note.written, self._pace
        done = sum(one.answered + one.failed for one in asked)
        if not pace or now > pace[-1][0]:
            pace.append((now, done))
        while len(pace) > 2 and now - pace[0][0] > _RATE_OVER:
            pace.popleft()
        (before, then), (last, at_last) = pace[0], pace[-1]
        if last <= before:
            spent = now - self._note.began
            return round(done / spent, 2) if spent > 0 else None
        return round((at_last - then) / (last - before), 2)

    def report(self) -> bytes | None:
        if self.over != "finished":
            return None
        try:
            return (self.folder / "report.html").read_bytes()
        except OSError:
            return None


def serve_live(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    listens: Callable[[Serving], None],
    trouble: Callable[[str], None] = lambda line: None,
    ends: bool = False,
) -> bool:
    """Serve the page of a run under way until interrupted; False where none is under way.

    With `ends`, also until the run is over and its finished page was fetched, or nobody came.
    """
    from overread.door import bound

    note = read_note(folder)
    if note is None:
        return False
    at = bound(host, port)
    desk = _Desk(folder, note)
    thread = threading.Thread(target=desk.measure_again_and_again, daemon=True)
    with at.listening:
        thread.start()
        try:
            asyncio.run(_until_over(desk, at, listens, trouble, ends=ends))
        except KeyboardInterrupt:  # where signals have no handlers
            pass
        finally:
            desk.stopped.set()
    return True


async def _until_over(
    desk: _Desk,
    at: Any,
    listens: Callable[[Serving], None],
    trouble: Callable[[str], None],
    *,
    ends: bool,
) -> None:
    from overread.report.live import watching

    stopped, fetched = asyncio.Event(), asyncio.Event()
    with on_interrupt(stopped.set):
        async with watching(
            desk.folder.name, desk.state, desk.report, at, delivered=fetched.set, trouble=trouble
        ) as server:
            listens(server)
            while ends and not desk.over:
                if await _set_within(stopped, _EVERY / 2):
                    return
            if not ends:
                await stopped.wait()
            elif desk.over == "finished":
                await _either(stopped, fetched, _UNTIL_FETCHED)
                await _set_within(stopped, _EVERY)  # what was fetched is on its way
            else:
                await _set_within(stopped, _UNTIL_SEEN)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def _either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    tasks = [asyncio.ensure_future(each.wait()) for each in (one, other)]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def main(folder: Path) -> None:
    """The process that `run --watch` starts."""
    from overread.runs._serving import open_in_browser

    def listens(server: Serving) -> None:
        print(f"watch it: {server.url}", flush=True)
        open_in_browser(server.url)

    with suppress(OSError, AttributeError):
        os.nice(10)  # who asks comes first
    serve_live(folder, listens=listens, trouble=lambda line: print(line, flush=True), ends=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
