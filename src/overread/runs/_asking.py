"""Who is asked what, all at once, until done or interrupted.

The questions of a run have an order: first trials, then what follows from the replies, last what
judges are asked of them. A plan makes its trials anew at every call; one that follows from replies
reads them back from the store, so a resumed run is no special case.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import Reader, Reply, Trial
from overread.engine import Given, Plan, ReplyStore, Sources, Studio, Tally, ask, read_back
from overread.judging import VERDICT_COLUMNS, Read
from overread.readers import Served
from overread.runs._opening import Seat, Tell
from overread.runs._shards import Part
from overread.runs._stores import open_store

if TYPE_CHECKING:
    from overread.engine.on_ray import Cluster

T = TypeVar("T")
_CHUNK = 1024
# Rows of answers, made anew at every call: the columns of the benchmark, reader and check.
Answers: TypeAlias = Callable[[], Iterable[Mapping[str, Any]]]


class Desk(Protocol):
    """Where questions are put: the store that keeps replies, and who renders what is shown."""

    @property
    def store(self) -> ReplyStore: ...
    @property
    def studio(self) -> Studio: ...
    @property
    def dataset(self) -> int: ...


class Stage(msgspec.Struct, frozen=True):
    """Some questions of a reader; those of the next stage are known when these are answered."""

    name: str
    plan: Plan
    # One at a time: what is timed under load is queueing, not the model.
    alone: bool = False


def trials_of(
    bench: Benchmark, chosen: frozenset[str] | None, reader: Reader, part: Part | None = None
) -> Plan:
    """A plan: every trial of every chosen case for this reader, in order, at every call.

    Of a part of the run, those that are in it.
    """

    def trials() -> Iterator[Trial]:
        for case in bench.cases() if chosen is None else bench.by_id.only(chosen):
            yield from bench.trials(case, reader.traits)

    if part is None:
        return trials
    has = part.chooser(bench, reader.traits)
    return lambda: filter(has, trials())


class Work(msgspec.Struct, frozen=True):
    """What is asked about (`chosen`: None for all cases), and where replies are kept.

    `part` is what is asked of it here, where other machines ask the rest.
    """

    bench: Benchmark
    chosen: frozenset[str] | None
    store: ReplyStore
    studio: Studio
    dataset: int
    part: Part | None = None

    def stages(self, reader: Reader) -> list[Stage]:
        """What a reader is asked: its trials; what follows from its replies; what is timed."""
        bench, chosen, part = self.bench, self.chosen, self.part
        first = trials_of(bench, chosen, reader, part)

        def following() -> Iterator[Trial]:
            said = read_back(first, reader, self.store, self.studio)
            for case, replies in groupby(said, key=lambda one: one[0].case):
                kept = [(trial, reply) for trial, reply, _ in replies if reply is not None]
                yield from bench.follow_ups(case, kept, reader.traits)

        found = [Stage("trials", first)]
        if bench.follows:
            found.append(Stage("follow-ups", following))
        if bench.times:

            def timed() -> Iterable[Trial]:
                trials = bench.timed(chosen, reader.traits)
                has = None if part is None else part.chooser(bench, reader.traits)
                return trials if has is None else filter(has, trials)

            found.append(Stage("timing", timed, alone=True))
        return found

    def whole_plan(self, reader: Reader) -> Plan:
        """Every trial of every stage, in their order."""
        stages = self.stages(reader)
        return lambda: chain.from_iterable(stage.plan() for stage in stages)

    def answers(self, plan: Plan, reader: Reader, check: int = 0) -> Iterator[Mapping[str, Any]]:
        """What a reader said, read back from the store; `check` marks what is only judged."""
        bench = self.bench
        for trial, reply, reason in read_back(plan, reader, self.store, self.studio):
            cells = bench.answer(trial, reply, reader.traits, reason)
            row = dict(zip(bench.answer_schema, cells, strict=True))
            yield row | {"reader": reader.name, "check": check}


@contextmanager
def work_on(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    store: str | Path | None,
    tell: Tell | None = None,
    part: Part | None = None,
) -> Iterator[Work]:
    """The store opened, and a studio for as long as somebody is asked."""
    with open_store(store, tell) as kept:
        dataset = kept.dataset_id(bench.name, bench.dataset, bench.policy)
        studio = Studio(Sources(kept, dataset))
        try:
            yield Work(bench, chosen, kept, studio, dataset, part)
        finally:
            studio.close()


# ---------------------------------------------------------------- asking


class Job(msgspec.Struct, frozen=True):
    """A plan, who is asked, and what happened so far."""

    seat: Seat
    plan: Plan
    tally: Tally


async def ask_in_turn(
    rounds: Generator[Sequence[Job], None, None],
    seats: Sequence[Seat],
    work: Desk,
    tell: Tell | None = None,
    cluster: Cluster | None = None,
) -> bool:
    """Ask the jobs of each round at once, so that a picture rendered for one reader serves all.

    A round is made when the one before is done: its plans may read what was said there. True if
    interrupted; nothing more is begun then, nor when a reader was stopped. All are closed.
    `cluster`: whose actors ask, in place of this process.
    """
    stops: list[asyncio.Event] = []
    interrupted = asyncio.Event()

    def interrupt() -> None:
        if interrupted.is_set():  # a second Ctrl-C does not wait for calls under way
            work.store.hurry()
            raise KeyboardInterrupt
        interrupted.set()
        for stop in stops:
            stop.set()
        print("stopping: calls under way may finish …", file=sys.stderr)

    with on_interrupt(interrupt), closing(rounds):
        try:
            await _look(seats, work.store, tell)
            for jobs in rounds:
                stops[:] = [asyncio.Event() for _ in jobs]
                asked = (
                    ask(
                        job.plan, job.seat.reader, work.store, work.studio, dataset=work.dataset,
                        tally=job.tally, stop=stop, judges=job.seat.judges,
                        crew=None if cluster is None else cluster.crew(job.seat.called),
                    )
                    for job, stop in zip(jobs, stops, strict=True)
                )  # fmt: skip
                await asyncio.gather(*asked)
                if interrupted.is_set() or any(job.tally.stopped for job in jobs):
                    break
        finally:
            work.studio.forget()
            for seat in seats:
                await seat.reader.close()
            if cluster is not None:
                await cluster.close()
    return interrupted.is_set()


async def _look(seats: Sequence[Seat], store: ReplyStore, tell: Tell | None) -> None:
    """Keep how servers list their models, and say where one lists it otherwise than before."""
    served = [(seat, seat.reader) for seat in seats if isinstance(seat.reader, Served)]
    listed = await asyncio.gather(*(reader.listed() for _, reader in served))
    for (seat, reader), now in zip(served, listed, strict=True):
        # In a thread: a served store may be waited for, and a Ctrl-C is heard meanwhile.
        noting = partial(store.note_served, reader, now, judges=seat.judges)
        before = await asyncio.to_thread(noting)
        if before and tell is not None:
            tell(
                f"{seat.called}: the server lists the model as {now}, and listed it as {before} "
                "when it last answered. If its weights changed, give it revision=NAME, or ask anew "
                "with --fresh."
            )


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Call something on SIGINT and SIGTERM while inside, where this thread may handle signals."""
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                with suppress(NotImplementedError):  # as on Windows
                    loop.add_signal_handler(number, act)
                    stack.callback(loop.remove_signal_handler, number)
        yield


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop; from inside a running loop (a notebook), in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            return runner.run(work)
    return _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    cancels: list[Callable[[], object]] = []

    async def noted() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancels.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    # Left when the work has ended: what has come back is committed before an interrupt goes on.
    with ThreadPoolExecutor(1) as thread:
        outcome = thread.submit(run_async, noted())
        try:
            wait([outcome])
        except KeyboardInterrupt:
            while not outcome.done() and not cancels:  # it is only beginning
                time.sleep(0.001)
            for cancel in cancels:
                cancel()
            raise
    return outcome.result()


# ---------------------------------------------------------------- judging
#
# Judges are asked about every reply, and again where nothing can be read. A judge's question is a
# trial like any other: kept, resumed, retried and priced. Each judge also judges what the controls
# say, whose truth is known: that shows whether it is fit.


class _Verdict(msgspec.Struct, frozen=True):
    """A question to a judge, its last reply, and what was read in it or why there is none."""

    trial: Trial
    reply: Reply | None
    read: Read
    attempts: int = 1


class Judging:
    """The questions put to judges over one run. A class, for every plan needs all of it."""

    def __init__(self, work: Work, answers: Answers) -> None:
        self._work, self._bench, self._answers = work, work.bench, answers
        controls = work.bench.controls()
        self.checked: list[Reader] = [controls[name] for name in work.bench.checks]

    def check_plan(self, control: Reader) -> Plan:
        """What a control is asked, so that its replies can be judged."""
        work = self._work
        return trials_of(work.bench, work.bench.check_cases(work.chosen), control, work.part)

    def first_plan(self, judge: Seat) -> Plan:
        """The judge's questions about the controls, which can be asked before any reader is."""
        return lambda: self._questions(judge, self._checked_rows())

    def plan(self, judge: Seat, attempt: int = 0) -> Plan:
        """The judge's questions; from the second attempt on those it has not answered readably."""
        if attempt == 0:
            return lambda: self._questions(judge, chain(self._checked_rows(), self._answers()))

        def again() -> Iterator[Trial]:
            for trial, reply, _ in self._replies(judge, self.plan(judge, attempt - 1)):
                if reply is None or attempt > self._bench.reask(trial.condition):
                    continue
                if not self._read(trial, reply).valid:
                    yield self._bench.again(trial, attempt)

        return again

    def _questions(self, judge: Seat, rows: Iterable[Mapping[str, Any]]) -> Iterator[Trial]:
        for row in rows:
            for role in judge.roles:
                yield from self._bench.judge_trials(row, role, judge.rubric)

    def _checked_rows(self) -> Iterator[Mapping[str, Any]]:
        for control in self.checked:
            yield from self._work.answers(self.check_plan(control), control, check=1)

    def _replies(
        self, judge: Seat, plan: Plan, given: Given | None = None
    ) -> Iterator[tuple[Trial, Reply | None, str]]:
        work = self._work
        return read_back(plan, judge.reader, work.store, work.studio, given, judges=True)

    def _read(self, trial: Trial, reply: Reply) -> Read:
        return self._bench.read_verdict(trial.case, trial.condition, reply.text)

    def rows(self, judge: Seat, given: Given | None = None) -> Iterator[tuple[Any, ...]]:
        """One row of verdicts.parquet per question, in the order of the plan."""
        said = self._replies(judge, self.plan(judge), given)
        while some := list(islice(said, _CHUNK)):
            for verdict in self._settled(judge, some, given):
                yield _row(judge, verdict)

    def _settled(
        self, judge: Seat, said: Sequence[tuple[Trial, Reply | None, str]], given: Given | None
    ) -> list[_Verdict]:
        """Verdicts by the last reply to each question, that can be read or not."""
        found = [
            _Verdict(trial, None, Read(fault=reason), 0)
            if reply is None
            else _Verdict(trial, reply, self._read(trial, reply))
            for trial, reply, reason in said
        ]
        left = [place for place, one in enumerate(found) if one.reply is not None]
        for attempt in count(1):
            left = [place for place in left if not found[place].read.valid]
            left = [p for p in left if attempt <= self._bench.reask(found[p].trial.condition)]
            if not left:
                break
            trials = [self._bench.again(found[place].trial, attempt) for place in left]
            replies = self._replies(judge, partial(iter, trials), given)
            for place, (trial, reply, _) in zip(tuple(left), replies, strict=True):
                if reply is None:  # no reply to the last attempt: what was said before it stays
                    left.remove(place)
                    continue
                read = self._read(trial, reply)
                found[place] = _Verdict(found[place].trial, reply, read, attempt + 1)
        return found


def _row(judge: Seat, verdict: _Verdict) -> tuple[Any, ...]:
    trial, reply, read = verdict.trial, verdict.reply, verdict.read
    about = trial.condition
    outcome = "unanswered" if reply is None else "judged" if read.valid else "invalid"
    refused = reply is not None and reply.refused and not read.valid
    cells = {
        "judge": judge.reader.name,
        "case": trial.case,
        "check": bool(about["check"]),
        "attempts": verdict.attempts,
        "outcome": outcome,
        "how": None if reply is None else read.how,
        "payload": msgspec.json.encode(read.value).decode() if outcome == "judged" else None,
        "text": None if reply is None else _storable(reply.text),
        "reason": _storable("refused: " * refused + read.fault),
    }
    return tuple(cells[name] if name in cells else about[name] for name in VERDICT_COLUMNS)


def _storable(text: str) -> str:
    """The text with half characters (lone surrogates) replaced: no table can hold those."""
    return text.encode("utf-8", "replace").decode("utf-8")


def verdict_schema() -> dict[str, Any]:
    """The columns of verdicts.parquet."""
    import polars as pl

    other: dict[str, Any] = {"check": pl.Boolean, "attempts": pl.Int8}
    return {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
