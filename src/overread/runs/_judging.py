"""Replies become verdicts: judges are asked about every reply, and again where nothing can be read.

A judge's question is a trial like any other: kept, resumed, retried and priced. Each judge also
judges what the controls say, whose truth is known: that shows whether it is fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Reader, Reply, Trial
from overread.engine import Given, Plan, Store, Studio, read_back
from overread.judging import VERDICT_COLUMNS, Read, Role
from overread.runs._asking import stages_of, trials_of, whole_plan

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 1024
# Rows of answers, made anew at every call: the columns of the benchmark, reader and check.
Answers: TypeAlias = Callable[[], Iterator[Mapping[str, Any]]]


class Judge(msgspec.Struct, frozen=True):
    """A reader and what it judges."""

    reader: Reader
    roles: tuple[Role, ...]
    # The rubric it is asked with in place of the usual one.
    rubric: str = ""


def answers_of(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    readers: Sequence[Reader],
    store: Store,
    studio: Studio,
) -> Answers:
    """What readers said in this run, read back from the store."""

    def rows() -> Iterator[Mapping[str, Any]]:
        for reader in readers:
            stages = stages_of(bench, chosen, reader, store, studio)
            yield from _read_back(bench, whole_plan(stages), reader, store, studio, check=0)

    return rows


def kept_answers(answers: pl.DataFrame) -> Answers:
    """What readers said in a run that is there."""
    return lambda: (row | {"check": 0} for row in answers.iter_rows(named=True))


def _read_back(
    bench: Benchmark, plan: Plan, reader: Reader, store: Store, studio: Studio, check: int
) -> Iterator[Mapping[str, Any]]:
    columns = tuple(bench.answer_schema)
    for trial, reply, reason in read_back(plan, reader, store, studio):
        cells = bench.answer(trial, reply, reader.traits, reason)
        row = dict(zip(columns, cells, strict=True))
        yield row | {"reader": reader.name, "check": check}


class Judging:
    """The questions put to judges over one run. A class, for every plan needs all of it."""

    def __init__(
        self,
        bench: Benchmark,
        chosen: frozenset[str] | None,
        answers: Answers,
        store: Store,
        studio: Studio,
    ) -> None:
        if not bench.roles:
            raise BadInput(f"--judge: {bench.name} asks no judge. Leave the option out.")
        self._bench = bench
        self._chosen, self._answers = chosen, answers
        self._store, self._studio = store, studio
        controls = bench.controls()
        self.checked: list[Reader] = [controls[name] for name in bench.checks]

    def check_plan(self, control: Reader) -> Plan:
        """What a control is asked, so that its replies can be judged."""
        return trials_of(self._bench, self._bench.check_cases(self._chosen), control)

    def plan(self, judge: Judge, attempt: int = 0) -> Plan:
        """The judge's questions; from the second attempt on those it has not answered readably."""
        if attempt == 0:
            return lambda: self._questions(judge)

        def again() -> Iterator[Trial]:
            before = self.plan(judge, attempt - 1)
            for trial, reply, _ in self._replies(judge, before):
                if self._again(trial, reply, attempt):
                    yield self._bench.again(trial, attempt)

        return again

    def _replies(
        self, judge: Judge, plan: Plan, given: Given | None = None
    ) -> Iterator[tuple[Trial, Reply | None, str]]:
        return read_back(plan, judge.reader, self._store, self._studio, given, judges=True)

    def _again(self, trial: Trial, reply: Reply | None, attempt: int) -> bool:
        """Whether a reply is one that cannot be read, and may be asked for once more."""
        if reply is None or attempt > self._bench.reask(trial.condition):
            return False
        return not self._read(trial, reply).valid

    def _again_of(self, trials: Sequence[Trial], attempt: int) -> Plan:
        return lambda: (self._bench.again(trial, attempt) for trial in trials)

    def first_plan(self, judge: Judge) -> Plan:
        """The judge's questions about the controls, which can be asked before any reader is."""
        return lambda: self._questions(judge, self._checked_rows())

    def _questions(
        self, judge: Judge, rows: Iterator[Mapping[str, Any]] | None = None
    ) -> Iterator[Trial]:
        for row in self._rows() if rows is None else rows:
            for role in judge.roles:
                yield from self._bench.judge_trials(row, role, judge.rubric)

    def _checked_rows(self) -> Iterator[Mapping[str, Any]]:
        for control in self.checked:
            plan = self.check_plan(control)
            yield from _read_back(self._bench, plan, control, self._store, self._studio, check=1)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        """The answers to be judged: first the controls', then the readers'."""
        yield from self._checked_rows()
        yield from self._answers()

    def _read(self, trial: Trial, reply: Reply) -> Read:
        return self._bench.read_verdict(trial.case, trial.condition, reply.text)

    def rows(self, judge: Judge, given: Given | None = None) -> Iterator[tuple[Any, ...]]:
        """One row of verdicts.parquet per question, in the order of the plan."""
        said = self._replies(judge, self.plan(judge), given)
        while some := list(islice(said, _CHUNK)):
            for verdict in self._settled(judge, some, given):
                yield _row(judge, verdict)

    def _settled(
        self, judge: Judge, said: Sequence[tuple[Trial, Reply | None, str]], given: Given | None
    ) -> list[_Verdict]:
        """Verdicts by the last reply to each question, that can be read or not."""
        found = [
            _Verdict(trial, reply, reason, None if reply is None else self._read(trial, reply))
            for trial, reply, reason in said
        ]
        left = [place for place, one in enumerate(found) if one.read is not None]
        for attempt in count(1):
            left = [place for place in left if self._unread(found[place], attempt)]
            if not left:
                return found
            plan = self._again_of([found[place].trial for place in left], attempt)
            replies = self._replies(judge, plan, given)
            for place, (trial, reply, _) in zip(tuple(left), replies, strict=True):
                if reply is None:  # no reply to the last attempt: what was said before it stays
                    left.remove(place)
                    continue
                found[place] = msgspec.structs.replace(
                    found[place], reply=reply, read=self._read(trial, reply), attempts=attempt + 1
                )
        raise AssertionError("a judge is asked again without end")

    def _unread(self, verdict: _Verdict, attempt: int) -> bool:
        read = verdict.read
        return (
            read is not None
            and not read.valid
            and attempt <= self._bench.reask(verdict.trial.condition)
        )


class _Verdict(msgspec.Struct, frozen=True):
    """A question to a judge, its last reply and what was read in it, or why there is none."""

    trial: Trial
    reply: Reply | None
    reason: str
    read: Read | None
    attempts: int = 1


def _row(judge: Judge, verdict: _Verdict) -> tuple[Any, ...]:
    trial, reply, read = verdict.trial, verdict.reply, verdict.read
    about = trial.condition
    outcome = "unanswered" if read is None else "judged" if read.valid else "invalid"
    kept = read is not None and read.valid
    cells = {
        "judge": judge.reader.name,
        "role": about["role"],
        "question": about["question"],
        "reader": about["reader"],
        "case": trial.case,
        "about": about["about"],
        "check": bool(about["check"]),
        "attempts": 0 if read is None else verdict.attempts,
        "outcome": outcome,
        "how": read.how if read is not None else None,
        "payload": msgspec.json.encode(read.value).decode() if kept and read is not None else None,
        "text": None if reply is None else _storable(reply.text),
        "reason": _storable(verdict.reason if read is None else _fault(reply, read)),
        "prompt": about["prompt"],
    }
    return tuple(cells[column] for column in VERDICT_COLUMNS)


def _storable(text: str) -> str:
    """The text with half characters (lone surrogates) replaced: no table can hold those."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _fault(reply: Reply | None, read: Read) -> str:
    """Why a reply could not be read, and that it was a refusal if it was one."""
    refused = reply is not None and reply.refused and not read.valid
    return f"refused: {read.fault}" if refused else read.fault


def verdict_schema() -> dict[str, Any]:
    """The columns of verdicts.parquet."""
    import polars as pl

    other: dict[str, Any] = {"check": pl.Boolean, "attempts": pl.Int8}
    return {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
