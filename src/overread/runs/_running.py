"""A run: ask first, read afterwards.

`ask` fills the store in whatever order replies arrive; then the trials are planned a second time
and read back in plan order, so that the files of two runs over one store are the same to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import class_of
from overread.case import Decoding, Reader
from overread.engine import Enrolment, Given, Plan, Sources, Store, Studio, Tally, moment, read_back
from overread.readers import ReaderSpec
from overread.records import (
    JudgeEntry,
    ReaderEntry,
    RunRecord,
    check_out,
    folder_being_written,
    write_rows,
)
from overread.runs._asking import Alone, Job, Stage, ask_in_turn, run_async, stages_of, whole_plan
from overread.runs._choosing import Tell, remarks_of, survey, write_left_out
from overread.runs._environment import default_store, load_config, machine
from overread.runs._judging import Answers, Judge, Judging, answers_of, verdict_schema
from overread.runs._measuring import Run, measure_into, versions
from overread.runs._opening import (
    enrolments,
    open_cases,
    open_judges,
    open_readers,
    recorded_cases,
)

# A display of the readers' tallies for as long as they are asked: (name, tally, total, spec).
Watch = Callable[[list[tuple[str, Tally, int, ReaderSpec]]], AbstractContextManager[None]]


_SHOWN = 5


class Unfinished(Exception):
    """The run ended before its end. What was answered is kept; the message says how to go on.

    `again` is how the same command is to be run to resume: "again", or without what.
    """

    def __init__(self, why: str, again: str = "") -> None:
        super().__init__(f"{why} Run the same command {again} to resume." if again else why)
        self.why = why


def run(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    edition: str = "corrected",
    out: str | Path | None = None,
    store: str | Path | None = None,
    limit: int | None = None,
    only: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Ask the readers about the cases, have judged what is to be judged, measure, write a folder.

    `only` is a file that names the cases to ask about. `fresh` asks everything again: replies kept
    before count no more. `tell` gets a line for whatever a user should know.

    Examples
    --------
    >>> import overread as ov
    >>> run = ov.run("grounding", cases="phantom:480", readers=["control:looks"])  # doctest: +SKIP
    """
    config, words = load_config(), class_of(benchmark).absolute(settings)
    bench = open_cases(benchmark, cases, edition, words)
    specs, opened = open_readers(bench, readers, config, concurrency)
    bench.look_ahead([reader.name for reader in opened])
    judge_specs, panel = open_judges(bench, judges, config, concurrency)
    chosen, n_cases, named = survey(bench, limit, only)
    recipe = (limit if named is None else (limit, named), words)
    folder = Path(out) if out is not None else _default_folder(bench, specs, recipe)
    check_out(folder)
    remarks = remarks_of(bench)
    who = enrolments(specs, opened, judge_specs, panel)
    told = tell or _nobody
    for line in remarks:
        told(line)
    with Store(store if store is not None else default_store(config), tell) as kept:
        dataset = kept.dataset_id(bench.name, bench.dataset, bench.policy)
        studio = Studio(Sources(kept, dataset))
        asking = Asking(bench, chosen, opened, specs, panel, judge_specs, kept, studio)
        try:
            kept.enrol([*who, *asking.checked()], dataset, fresh=fresh)
            asking.ask(watch, dataset, tell, fresh=fresh)
            with folder_being_written(folder, bench.policy, whole=True) as scratch:
                write_left_out(scratch, bench)
                _write_cases(bench, chosen, scratch)
                entries = asking.write_answers(scratch)
                judge_entries = asking.write_verdicts(scratch)
                for line in asking.sayings():
                    told(line)
                record = RunRecord(
                    benchmark=bench.name,
                    edition=bench.edition,
                    answers_edition=bench.edition,
                    cases=recorded_cases(cases),
                    dataset=bench.dataset,
                    policy=bench.policy,
                    n_cases=n_cases,
                    limit=limit,
                    only=named,
                    left_out=len(bench.left_out or ()),
                    remarks=remarks,
                    settings=words,
                    machine=machine(),
                    readers=entries,
                    judges=judge_entries,
                    versions=versions(),
                )
                record, records, exhibits = measure_into(
                    scratch, scratch, bench, record, bench if bench.policy == "open" else None
                )
        finally:
            studio.close()
    return Run(
        folder=folder,
        record=record,
        records=records,
        exhibits=exhibits,
        tallies=asking.tallies,
    )


class Asking:
    """Everybody who is asked in a run, and about what. A class, for every step needs all of it.

    Where no reader is asked, `answers` are what judges judge.
    """

    def __init__(
        self,
        bench: Benchmark,
        chosen: frozenset[str] | None,
        readers: Sequence[Reader],
        specs: Sequence[ReaderSpec],
        panel: Sequence[Judge],
        judge_specs: Sequence[ReaderSpec],
        store: Store,
        studio: Studio,
        answers: Answers | None = None,
    ) -> None:
        self._bench, self._chosen = bench, chosen
        self._readers, self._specs = readers, specs
        self._panel, self._judge_specs = panel, judge_specs
        self._store, self._studio = store, studio
        self._stages: list[list[Stage]] = [
            stages_of(bench, chosen, reader, store, studio) for reader in readers
        ]
        said = answers or answers_of(bench, chosen, readers, store, studio)
        self._judging = Judging(bench, chosen, said, store, studio) if panel else None
        self.tallies: dict[str, Tally] = {}
        # By name, and whether as a judge: a reader may judge as well.
        self._own_tallies: dict[tuple[str, bool], list[Tally]] = {}
        self._given: dict[tuple[str, bool], Given] = {}

    # ------------------------------------------------------------ asking

    def ask(self, watch: Watch | None, dataset: int, tell: Tell | None, *, fresh: bool) -> None:
        """Have everybody asked everything, or say why that was not finished."""
        judges = [judge.reader for judge in self._panel]
        store, studio = self._store, self._studio
        interrupted = run_async(
            ask_in_turn(self._rounds(watch), self._readers, judges, store, studio, dataset, tell)
        )
        if store.damaged and tell is not None:
            tell(f"{store.damaged} kept replies were damaged, and were asked for again.")
        self._check_finished(interrupted, fresh)

    def _rounds(self, watch: Watch | None) -> Generator[Sequence[Job], None, None]:
        """Who is asked what, at once; then what follows from it.

        Judges judge the controls before any reader is asked: one that cannot be asked at all, or
        that the guard refuses, is found before it costs a call.
        """
        if self._judging is not None:
            yield from self._round(watch, self._checks(self._judging), "check")
            first = [
                (judge.reader, self._judging.first_plan(judge), spec)
                for judge, spec in zip(self._panel, self._judge_specs, strict=True)
            ]
            yield from self._round(watch, first, "check", judges=True)
        for number in range(max((len(stages) for stages in self._stages), default=0)):
            stage = self._stages[0][number]
            jobs = [
                (reader, stages[number].plan, spec)
                for reader, stages, spec in zip(
                    self._readers, self._stages, self._specs, strict=True
                )
            ]
            if stage.alone:  # nobody else is asked meanwhile
                for reader, plan, spec in jobs:
                    yield from self._round(watch, [(Alone(reader), plan, spec)], stage.name)
            else:
                yield from self._round(watch, jobs, "" if number == 0 else stage.name)
        if self._judging is not None:
            for attempt in count():
                questions = [
                    (judge.reader, self._judging.plan(judge, attempt), spec)
                    for judge, spec in zip(self._panel, self._judge_specs, strict=True)
                ]
                name = "judging" if attempt == 0 else f"judging again {attempt}"
                asked = yield from self._round(watch, questions, name, judges=True)
                if not asked:
                    break

    def checked(self) -> list[Enrolment]:
        """Controls that are asked so that judges can be held against what they say."""
        controls = self._judging.checked if self._judging is not None else []
        return [Enrolment(identity=one.identity, label=one.name) for one in controls]

    def _checks(self, judging: Judging) -> list[tuple[Reader, Plan, ReaderSpec]]:
        """Controls whose replies are only there to be judged."""
        return [
            (control, judging.check_plan(control), _control(control)) for control in judging.checked
        ]

    def _round(
        self,
        watch: Watch | None,
        questions: Sequence[tuple[Reader, Plan, ReaderSpec]],
        name: str,
        judges: bool = False,
    ) -> Generator[Sequence[Job], None, bool]:
        """Have these asked, and say whether there was anything to ask."""
        shown, jobs = [], []
        for reader, plan, spec in questions:
            label = f"{reader.name} ({name})" if name else reader.name
            tally = self.tallies.setdefault(label, Tally())
            self._own_tallies.setdefault((reader.name, judges), []).append(tally)
            jobs.append(Job(plan, reader, tally, judges))
            shown.append((label, tally, sum(1 for _ in plan()), spec))
        if not any(total for _, _, total, _ in shown):
            return False
        with watch(shown) if watch else nullcontext():
            yield jobs
        return True

    def _check_finished(self, interrupted: bool, fresh: bool) -> None:
        kept = sum(tally.answered + tally.kept for tally in self.tallies.values())
        again = "without --fresh" if fresh else "again"
        if interrupted:
            raise Unfinished(f"interrupted; {kept} replies are kept.", again)
        stopped = [
            f"{name}: {tally.stopped.rstrip('.')}"
            for name, tally in self.tallies.items()
            if tally.stopped
        ]
        if stopped:
            raise Unfinished(
                "; ".join(stopped) + f". Nothing was measured; the {kept} replies already there "
                "are kept. Mend that.",
                again,
            )

    # ------------------------------------------------------------ reading back

    def write_answers(self, scratch: Path) -> tuple[ReaderEntry, ...]:
        """Stream answers.parquet in the order of the plan."""
        import polars as pl

        bench = self._bench
        asked = dict.fromkeys((reader.name for reader in self._readers), 0)
        unanswered = dict(asked)
        models: dict[str, str | None] = {}
        decodings: dict[str, Decoding] = {}

        def rows() -> Iterable[Sequence[Any]]:
            for reader, stages in zip(self._readers, self._stages, strict=True):
                given = self._given.setdefault((reader.name, False), Given())
                said = read_back(whole_plan(stages), reader, self._store, self._studio, given)
                for trial, reply, reason in said:
                    asked[reader.name] += 1
                    unanswered[reader.name] += reply is None
                    if reply is not None:
                        models[reader.name] = reply.model
                        decodings[reader.name] = reader.traits.adjust(trial.request.decoding)
                    yield (reader.name, *bench.answer(trial, reply, reader.traits, reason))

        schema = {"reader": pl.String, **bench.answer_schema}
        write_rows(scratch / "answers.parquet", schema, rows())
        return tuple(
            ReaderEntry(
                name=reader.name,
                spec=_described(spec),
                identity=reader.identity,
                traits=reader.traits,
                params_b=spec.params_b,
                group=spec.group,
                asked=asked[reader.name],
                unanswered=unanswered[reader.name],
                model=models.get(reader.name),
                decoding=decodings.get(reader.name),
                **self._origin(reader.name, judges=False),
            )
            for reader, spec in zip(self._readers, self._specs, strict=True)
        )

    def write_verdicts(
        self, scratch: Path, before: Iterable[Sequence[Any]] = ()
    ) -> tuple[JudgeEntry, ...]:
        """Stream verdicts.parquet in the order of the plan; nothing where nobody judges.

        `before` are rows that are there already: they stand first, and are in no entry.
        """
        judging = self._judging
        if judging is None:
            return ()
        counts: dict[str, dict[str, int]] = {judge.reader.name: {} for judge in self._panel}
        schema = verdict_schema()
        outcome = list(schema).index("outcome")

        def rows() -> Iterable[Sequence[Any]]:
            yield from before
            for judge in self._panel:
                own = counts[judge.reader.name]
                given = self._given.setdefault((judge.reader.name, True), Given())
                for row in judging.rows(judge, given):
                    own[row[outcome]] = own.get(row[outcome], 0) + 1
                    yield row

        write_rows(scratch / "verdicts.parquet", schema, rows())
        return tuple(
            JudgeEntry(
                name=judge.reader.name,
                spec=_described(spec),
                identity=judge.reader.identity,
                traits=judge.reader.traits,
                roles=judge.roles,
                rubric=judge.rubric or None,
                asked=sum(counts[judge.reader.name].values()),
                unanswered=counts[judge.reader.name].get("unanswered", 0),
                invalid=counts[judge.reader.name].get("invalid", 0),
                **self._origin(judge.reader.name, judges=True),
            )
            for judge, spec in zip(self._panel, self._judge_specs, strict=True)
        )

    # ------------------------------------------------------------ where replies come from

    def _origin(self, name: str, *, judges: bool) -> dict[str, Any]:
        """What the record says of when and by what a reader's replies were given."""
        given = self._given.get((name, judges), Given())
        rows = self._store.reader_rows(list(given.readers)).values()
        return {
            "first_reply": moment(given.first) or None,
            "last_reply": moment(given.last) or None,
            "models": tuple(sorted(given.models)),
            "fingerprints": tuple(sorted(given.fingerprints)),
            "listed": tuple(sorted({served for _, served in rows if served})),
            "labels": tuple(sorted({label for label, _ in rows} - {name})),
        }

    def sayings(self) -> Iterator[str]:
        """Lines on replies that this run did not ask for, and on servers that changed."""
        old = []
        # A control says the same for ever.
        served = {
            (one.name, judges)
            for specs, judges in ((self._specs, False), (self._judge_specs, True))
            for one in specs
            if one.kind != "control"
        }
        everybody = {name for name, _ in self._given}
        twins: dict[tuple[tuple[int, int], ...], str] = {}
        for (name, judges), given in self._given.items():
            who = f"{'judge ' * judges}{name}"
            if given.replies and (name, judges) in served:
                first = twins.setdefault(tuple(sorted(given.readers.items())), who)
                if first != who:
                    yield (
                        f"{first} and {who} have the same replies: what tells their specs apart "
                        "changes no question. Leave one out."
                    )
            asked = sum(t.answered + t.failed for t in self._own_tallies.get((name, judges), ()))
            if given.before and (name, judges) in served:
                if asked:
                    yield (
                        f"{given.before} of {given.replies} replies of {who} were kept "
                        f"({_dates(given.first, given.last_before)}), the others given now. "
                        "--fresh asks all again."
                    )
                else:
                    old.append(f"{who} ({_dates(given.first, given.last_before)})")
            yield from self._changes(who, given)
            others = set(self._origin(name, judges=judges)["labels"]) - everybody
            if others:
                yield f"{who}: some of its replies were given as {', '.join(sorted(others))}."
        if old:
            yield (
                f"NOTHING WAS ASKED of {', '.join(old)}: every reply came from the store. "
                "--fresh asks again."
            )

    def _changes(self, who: str, given: Given) -> Iterator[str]:
        listed: dict[str, int] = {}
        for number, (_, served) in self._store.reader_rows(list(given.readers)).items():
            if served:
                listed[served] = listed.get(served, 0) + given.readers[number]
        for what, counts in (
            ("model", given.models),
            ("fingerprint", given.fingerprints),
            ("list of models", listed),
        ):
            if len(counts) > 1:
                first = sorted(counts.items())[:_SHOWN]
                told = ", ".join(f"{one} × {times}" for one, times in first)
                more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
                yield f"{who}: the server's {what} is not the same for all replies: {told}{more}."


def _dates(began: int, ended: int) -> str:
    if not ended:
        return "kept by an older Overread, which noted no times"
    first, last = moment(began), moment(ended)
    return f"given {first}" if first == last else f"given {first} to {last}"


def _nobody(line: str) -> None:
    """Where nobody wants to be told."""


def _described(spec: ReaderSpec) -> str:
    return f"{spec.kind}:{spec.model}" + (f"@{spec.base_url}" if spec.base_url else "")


def _control(reader: Reader) -> ReaderSpec:
    return ReaderSpec(kind="control", model=reader.name, label=reader.name)


def _write_cases(bench: Benchmark, chosen: frozenset[str] | None, scratch: Path) -> None:
    """Stream cases.parquet, in the order of the set."""
    cases = (
        bench.case_row(case) for case in bench.cases() if chosen is None or case.case_id in chosen
    )
    write_rows(scratch / "cases.parquet", bench.case_schema, cases)


def _default_folder(
    bench: Benchmark, specs: Sequence[ReaderSpec], recipe: tuple[Any, Mapping[str, str]]
) -> Path:
    """`runs/…`: the same recipe gives the same folder, another recipe another one.

    A recipe is which cases, and the settings.
    """
    from hashlib import blake2b

    asked = (bench.name, bench.edition, bench.dataset, specs, *recipe)
    data = msgspec.json.encode(asked, order="deterministic")
    short = blake2b(data, digest_size=3).hexdigest()
    return Path("runs") / f"{bench.name}-{bench.dataset.partition('@')[0]}-{short}"
