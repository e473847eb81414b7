"""A run: ask first, read afterwards.

`ask` fills the store in whatever order replies arrive; then the trials are planned a second time
and read back in plan order, so that the files of two runs over one store are the same to the byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import chain, count
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overread import records
from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import class_of
from overread.case import Fact, Reader
from overread.engine import Enrolment, Given, Plan, Tally, moment, read_back
from overread.readers import Altered, Attesting, ReaderSpec
from overread.runs import _asking, _opening
from overread.runs._asking import Answers, Work
from overread.runs._engines import LOCAL, Engine
from overread.runs._environment import give_back, machine
from overread.runs._live import Beacon, Known
from overread.runs._measuring import Run, measure_into, versions
from overread.runs._opening import Seat, Tell

if TYPE_CHECKING:
    from overread.engine.on_ray import Cluster

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


class Prepared(NamedTuple):
    """What a user wrote, opened: the cases with their settings, who is asked, and about which."""

    bench: Benchmark
    words: dict[str, str]
    seats: list[Seat]
    chosen: _opening.Chosen


def prepared(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    judges: Sequence[str | Mapping[str, Any] | Reader],
    *,
    edition: str,
    limit: int | None,
    only: str | Path | None,
    settings: Mapping[str, str] | None,
    concurrency: int | None,
) -> Prepared:
    """Open cases, readers and judges, and choose the cases; readers stand before judges."""
    words = class_of(benchmark).absolute(settings)
    bench = _opening.open_cases(benchmark, cases, edition, words)
    seats = _opening.open_readers(bench, readers, concurrency)
    bench.look_ahead([seat.reader.name for seat in seats])
    seats += _opening.open_judges(bench, judges, concurrency)
    return Prepared(bench, words, seats, _opening.survey(bench, limit, only))


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
    engine: str = "local",
    address: str | None = None,
    actors: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    live: Callable[[Path], None] | None = None,
) -> Run:
    """Ask the readers about the cases, have judged what is to be judged, measure, write a folder.

    `only` is a file that names the cases to ask about. `fresh` asks everything again: replies kept
    before count no more. `engine` "ray" has trials asked by the actors of a Ray cluster: one that
    is begun here, or the one at an `address`. `tell` gets a line for whatever a user should know.
    `live` is told the folder when the run can be looked at from outside (`_live`).

    Examples
    --------
    >>> import overread as ov
    >>> run = ov.run("grounding", cases="phantom:480", readers=["control:looks"])  # doctest: +SKIP
    """
    chosen_engine = Engine(engine, address, actors)
    chosen_engine.check()
    bench, words, seats, (chosen, n_cases, named) = prepared(
        benchmark, cases, readers, judges,
        edition=edition, limit=limit, only=only, settings=settings, concurrency=concurrency,
    )  # fmt: skip
    specs = [seat.spec for seat in seats if not seat.judges]
    recipe = (limit if named is None else (limit, named), words)
    folder = Path(out) if out is not None else _default_folder(bench, specs, recipe)
    records.check_out(folder)
    remarks = _opening.remarks_of(bench, seats)
    who = _opening.enrolments(seats)
    told = tell or (lambda line: None)
    for line in remarks:
        told(line)
    Thread(target=_import_ahead, daemon=True).start()
    with _asking.work_on(bench, chosen, store, tell) as work, ExitStack() as stack:
        asking = Asking(work, seats, engine=chosen_engine)
        recipe_of_it = {
            "benchmark": benchmark, "cases": str(cases), "edition": edition, "settings": words,
            "limit": limit, "only": None if only is None else str(only),
            "store": work.store.named, "policy": bench.policy,
        }  # fmt: skip
        beacon = Beacon(folder, lambda: {**recipe_of_it, "readers": asking.known})
        stack.enter_context(beacon.lit(at_once=live is not None))
        if live is not None:
            live(folder)
        asking.ask(who, beacon.watch(watch), tell, fresh=fresh)
        beacon.measuring = True
        give_back()
        with records.folder_being_written(folder, bench.policy, whole=True) as scratch:
            _opening.write_left_out(scratch, bench)
            rows = (
                bench.case_row(case)
                for case in bench.cases()
                if chosen is None or case.case_id in chosen
            )
            records.write_rows(scratch / "cases.parquet", bench.case_schema, rows)
            entries = asking.write_answers(scratch)
            judge_entries = asking.write_verdicts(scratch)
            for line in asking.sayings():
                told(line)
            record = records.RunRecord(
                benchmark=bench.name,
                edition=bench.edition,
                answers_edition=bench.edition,
                cases=_opening.recorded_cases(cases),
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
            opened = bench if bench.policy == "open" else None
            return measure_into(
                scratch, folder, bench, record, opened,
                whole=True, tallies=asking.tallies,
            )  # fmt: skip


def _import_ahead() -> None:
    """What numbers and pages stand on takes a fifth of a second to import: while others answer."""
    import polars

    from overread import stats
    from overread.report import document
    from overread.stats import special

    del polars, special, stats, document


class Asking:
    """Everybody who is asked in a run, and about what. A class, for every step needs all of it.

    Where no reader is asked, `answers` are what judges judge.
    """

    def __init__(
        self,
        work: Work,
        seats: Sequence[Seat],
        answers: Answers | None = None,
        *,
        engine: Engine = LOCAL,
    ) -> None:
        self._engine = engine
        self._cluster: Cluster | None = None
        self._work, self._seats, self.roles = work, seats, work.bench.roles
        self._readers = [seat for seat in seats if not seat.judges]
        self.panel = [seat for seat in seats if seat.judges]
        self._judging = _asking.Judging(work, answers or self._answers) if self.panel else None
        self.tallies: dict[str, Tally] = {}
        self._own_tallies: dict[tuple[str, bool], list[Tally]] = {}
        self._given: dict[tuple[str, bool], Given] = {}

    @property
    def known(self) -> list[Known]:
        """The readers, as another process finds their replies."""
        return [
            Known(
                name=seat.reader.name,
                identity=seat.reader.identity,
                traits=seat.reader.traits,
                row=self._work.store.asker(seat.reader),
            )
            for seat in self._readers
        ]

    def _answers(self) -> Iterator[Mapping[str, Any]]:
        """What readers said in this run, read back from the store."""
        work = self._work
        readers = [seat.reader for seat in self._readers]
        return chain.from_iterable(work.answers(work.whole_plan(one), one) for one in readers)

    # ------------------------------------------------------------ asking

    def ask(
        self, who: Sequence[Enrolment], watch: Watch | None, tell: Tell | None, *, fresh: bool
    ) -> None:
        """Have everybody asked everything, or say why that was not finished."""
        work = self._work
        # With the controls that are asked so that judges can be held against what they say.
        controls = self._judging.checked if self._judging is not None else []
        checked = [Enrolment(identity=one.identity, label=one.name) for one in controls]
        work.store.enrol([*who, *checked], work.dataset, fresh=fresh)
        self._cluster = self._engine.cluster(self._seats, work.bench.policy, tell)
        interrupted = _asking.run_async(
            _asking.ask_in_turn(self._rounds(watch), self._seats, work, tell, self._cluster)
        )
        if work.store.damaged and tell is not None:
            tell(f"{work.store.damaged} kept replies were damaged, and were asked for again.")
        self._check_finished(interrupted, fresh)

    def _rounds(self, watch: Watch | None) -> Generator[Sequence[_asking.Job], None, None]:
        """Who is asked what, at once; then what follows from it.

        Judges judge the controls before any reader is asked: one that cannot be asked at all, or
        that the guard refuses, is found before it costs a call.
        """
        judging, panel = self._judging, self.panel
        if judging is not None:
            checks = [(_opening.seat_of(one), judging.check_plan(one)) for one in judging.checked]
            yield from self._round(watch, checks, "check")
            first = [(judge, judging.first_plan(judge)) for judge in panel]
            yield from self._round(watch, first, "check")
        stages = [self._work.stages(seat.reader) for seat in self._readers]
        for number, together in enumerate(zip(*stages, strict=True)):
            stage = together[0]
            jobs = [(s, one.plan) for s, one in zip(self._readers, together, strict=True)]
            if stage.alone:  # nobody else is asked meanwhile
                for seat, plan in jobs:
                    one = msgspec.structs.replace(seat, reader=Altered(seat.reader, concurrency=1))
                    yield from self._round(watch, [(one, plan)], stage.name)
            else:
                yield from self._round(watch, jobs, "" if number == 0 else stage.name)
        if judging is not None:
            for attempt in count():
                questions = [(judge, judging.plan(judge, attempt)) for judge in panel]
                name = "judging" if attempt == 0 else f"judging again {attempt}"
                asked = yield from self._round(watch, questions, name)
                if not asked:
                    break

    def _round(
        self, watch: Watch | None, questions: Sequence[tuple[Seat, Plan]], name: str
    ) -> Generator[Sequence[_asking.Job], None, bool]:
        """Have these asked, and say whether there was anything to ask."""
        shown, jobs = [], []
        for seat, plan in questions:
            label = f"{seat.reader.name} ({name})" if name else seat.reader.name
            tally = self.tallies.setdefault(label, Tally())
            self._own_tallies.setdefault(seat.key, []).append(tally)
            jobs.append(_asking.Job(seat, plan, tally))
            shown.append((label, tally, sum(1 for _ in plan()), seat.spec))
        if not any(total for _, _, total, _ in shown):
            return False
        with watch(shown) if watch else nullcontext():
            yield jobs
        return True

    def _check_finished(self, interrupted: bool, fresh: bool) -> None:
        tallies = self.tallies
        kept = sum(tally.answered + tally.kept for tally in tallies.values())
        again = "without --fresh" if fresh else "again"
        if interrupted:
            raise Unfinished(f"interrupted; {kept} replies are kept.", again)
        stopped = [f"{n}: {t.stopped.rstrip('.')}" for n, t in tallies.items() if t.stopped]
        if stopped:
            raise Unfinished(
                "; ".join(stopped) + f". Nothing was measured; the {kept} replies already there "
                "are kept. Mend that.",
                again,
            )

    # ------------------------------------------------------------ reading back

    def write_answers(self, scratch: Path) -> tuple[records.ReaderEntry, ...]:
        """Stream answers.parquet in the order of the plan."""
        import polars as pl

        work, bench = self._work, self._work.bench
        entries: list[records.ReaderEntry] = []

        def rows() -> Iterable[Sequence[Any]]:
            for seat in self._readers:
                reader, spec, plan = seat.reader, seat.spec, work.whole_plan(seat.reader)
                given = self._given.setdefault(seat.key, Given())
                asked = unanswered = 0
                model = decoding = None
                for trial, reply, why in read_back(plan, reader, work.store, work.studio, given):
                    asked += 1
                    unanswered += reply is None
                    if reply is not None:
                        model = reply.model
                        decoding = reader.traits.adjust(trial.request.decoding)
                    yield (reader.name, *bench.answer(trial, reply, reader.traits, why))
                counted = {"unanswered": unanswered, "model": model, "decoding": decoding}
                declared = {"params_b": spec.params_b, "group": spec.group}
                about = self._about(seat) | declared | counted
                entries.append(records.ReaderEntry(**about, asked=asked))

        schema = {"reader": pl.String, **bench.answer_schema}
        records.write_rows(scratch / "answers.parquet", schema, rows())
        return tuple(entries)

    def write_verdicts(
        self, scratch: Path, before: Iterable[Sequence[Any]] = ()
    ) -> tuple[records.JudgeEntry, ...]:
        """Stream verdicts.parquet in the order of the plan; nothing where nobody judges.

        `before` are rows that are there already: they stand first, and are in no entry.
        """
        judging = self._judging
        if judging is None:
            return ()
        entries: list[records.JudgeEntry] = []
        schema = _asking.verdict_schema()
        outcome = list(schema).index("outcome")

        def rows() -> Iterable[Sequence[Any]]:
            yield from before
            for seat in self.panel:
                given = self._given.setdefault(seat.key, Given())
                outcomes: Counter[str] = Counter()
                for row in judging.rows(seat, given):
                    outcomes[row[outcome]] += 1
                    yield row
                entry = records.JudgeEntry(
                    **self._about(seat),
                    unanswered=outcomes["unanswered"],
                    invalid=outcomes["invalid"],
                    roles=seat.roles,
                    rubric=seat.rubric or None,
                    asked=outcomes.total(),
                )
                entries.append(entry)

        records.write_rows(scratch / "verdicts.parquet", schema, rows())
        return tuple(entries)

    # ------------------------------------------------------------ where replies come from

    def _about(self, seat: Seat) -> dict[str, Any]:
        """What the record says of a reader, and of when and by what its replies were given."""
        reader, spec = seat.reader, seat.spec
        given = self._given.get(seat.key, Given())
        rows = self._work.store.reader_rows(list(given.readers)).values()
        return {
            "name": reader.name,
            "spec": f"{spec.kind}:{spec.model}" + (f"@{spec.base_url}" if spec.base_url else ""),
            "identity": reader.identity,
            "traits": reader.traits,
            "first_reply": moment(given.first) or None,
            "last_reply": moment(given.last) or None,
            "models": tuple(sorted(given.models)),
            "fingerprints": tuple(sorted(given.fingerprints)),
            "listed": tuple(sorted({served for _, served in rows if served})),
            "labels": tuple(sorted({label for label, _ in rows} - {reader.name})),
            "facts": self._facts(seat) or None,
        }

    def _facts(self, seat: Seat) -> dict[str, Fact]:
        facts = self._attested(seat)[0]
        filled_in = self._given.get(seat.key, Given()).filled_in
        if filled_in:
            facts["logprobs_not_used"] = filled_in
        if _opening.filtered(seat, _opening.filters_of(self._work.bench)):
            facts["filtered_this_set"] = True
        return facts

    def _attested(self, seat: Seat) -> tuple[dict[str, Fact], tuple[str, ...]]:
        """How the replies of this run came about, and what is to be said of that."""
        if self._cluster is not None:
            return self._cluster.attested(seat.called)
        if isinstance(seat.reader, Attesting):
            return dict(seat.reader.facts), tuple(seat.reader.remarks)
        return {}, ()

    def sayings(self) -> Iterator[str]:
        """Lines on replies that this run did not ask for, and on servers that changed."""
        old = []
        twins: dict[tuple[tuple[int, int], ...], str] = {}
        answered = [seat for seat in self._seats if seat.key in self._given]
        for seat in answered:
            who, given = seat.called, self._given[seat.key]
            served = seat.spec.kind != "control"  # a control says the same for ever
            if given.replies and served:
                first = twins.setdefault(tuple(sorted(given.readers.items())), who)
                if first != who:
                    yield (
                        f"{first} and {who} have the same replies: what tells their specs apart "
                        "changes no question. Leave one out."
                    )
            asked = sum(t.answered + t.failed for t in self._own_tallies.get(seat.key, ()))
            if given.before and served:
                dates = _dates(given.first, given.last_before)
                if asked:
                    yield (
                        f"{given.before} of {given.replies} replies of {who} were kept ({dates}), "
                        "the others given now. --fresh asks all again."
                    )
                else:
                    old.append(f"{who} ({dates})")
            yield from self._changes(who, given)
            for remark in self._attested(seat)[1]:
                yield f"{who}: {remark}"
            if given.filled_in:
                yield (
                    f"{who}: its log-probabilities mean nothing (every one says a probability of "
                    f"exactly 0 or 1); those of {given.filled_in} replies are not used."
                )
            others = set(self._about(seat)["labels"]) - {one.reader.name for one in answered}
            if others:
                yield f"{who}: some of its replies were given as {', '.join(sorted(others))}."
        if old:
            yield (
                f"NOTHING WAS ASKED of {', '.join(old)}: every reply came from the store. "
                "--fresh asks again."
            )

    def _changes(self, who: str, given: Given) -> Iterator[str]:
        listed: Counter[str] = Counter()
        for number, (_, served) in self._work.store.reader_rows(list(given.readers)).items():
            if served:
                listed[served] += given.readers[number]
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
