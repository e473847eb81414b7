"""Curation wired to models: a step's questions are trials on the engine, its models are readers.

A step is a generator of rounds (`curate.questions.Steps`). Each round is asked of all its models at
once, its replies are read back from the folder's store in the order of the questions, and the step
goes on with them. So a step that is killed is run again from its beginning and asks nothing twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.curated import Candidate
from overread.benchmarks.files.card import held_at, policy_of
from overread.case import BadInput, Overlay, Picture, Policy, Reader, Source, Trial
from overread.curate import folder as kept
from overread.curate import leakage
from overread.curate.folder import Model
from overread.curate.funnel import Stage, stage_of
from overread.curate.publish import Published, check_free, publish
from overread.curate.questions import Heard, Question, Steps
from overread.curate.records import Content, Record, candidates_of, items_of
from overread.curate.steps import STEPS, Asking
from overread.curate.wanted import Spec, Wanted, read_wanted, with_people
from overread.engine import Given, Plan, Sources, Store, Studio, Tally, moment, read_back
from overread.plugins import at
from overread.readers import Guard, open_reader, parse_spec
from overread.runs import _asking, _opening
from overread.runs._environment import environment, load_config
from overread.runs._opening import Seat, Tell
from overread.runs._running import Unfinished, Watch

_DATASET: Final = "curate"


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to: where its file is, its part of the funnel, who was asked.

    `unanswered` are questions without any reply: run again, the step asks those once more.
    """

    file: str
    stage: Stage
    models: tuple[Model, ...] = ()
    unanswered: int = 0


def curate_step(
    folder: str | Path,
    step: str,
    *,
    models: Mapping[str, Reader] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Stepped:
    """Run a step that asks models, over what passed the newest step before it.

    `models` are readers by seat ("writer", "filters.2") in place of those `curate.toml` names.
    """
    place = Path(folder)
    wanted = with_people(read_wanted(place), place, step)
    run: Asking = at(STEPS[step])
    roles: Sequence[str] = at(f"{STEPS[step].partition(':')[0]}:ROLES")
    upstream = kept.upstream_of(place, step)
    for line in kept.stale(place, [upstream]):
        if tell is not None:
            tell(line)
    found = kept.read_step(place, upstream)
    given: Sequence[Content] = candidates_of(found) or items_of(found)
    if not given:
        raise BadInput(f"{place}: nothing passed {upstream}, so {step} has nothing to do.")
    policy = policy_of_set(given, wanted)
    seats = _opened(wanted, roles, policy, models or {})
    with _desk(place / kept.STORE, wanted, policy, tell) as (store, studio, dataset):
        asked = Rounds(store, studio, dataset, seats, watch, tell)
        records = asked.of(run(given, wanted), step)
        who = asked.models()
        kept.write_step(place, step, records, who)
    return Stepped(
        file=str(kept.file_of(place, step)),
        stage=stage_of(step, list(records)),
        models=who,
        unanswered=asked.unanswered,
    )


def curate_collect(folder: str | Path, *, tell: Tell | None = None) -> Stepped:
    """Collect the candidates of every source that `curate.toml` names."""
    from overread.curate.collect import collect
    from overread.curate.sources import candidates_of_source
    from overread.readers.probe.features import features_folder

    place = Path(folder)
    wanted = with_people(read_wanted(place), place, "collect")
    if not wanted.sources:
        raise BadInput(f"{wanted.file}: it names no [[sources]]. Name one with a path.")
    found = (
        one
        for source in wanted.sources
        for one in candidates_of_source(source, wanted, _opening.case_file)
    )
    records = collect(found, wanted, place, features_folder(environment()))
    kept.write_step(place, "collect", records)
    stage = stage_of("collect", records)
    waiting = sum(one.reason == "waits_for_a_person" for one in records)
    waiting += stage.verdicts["flagged"]
    if waiting and tell is not None:
        tell(
            f"{waiting:,} pictures should be looked at: overread curate review {folder} "
            "--of collect"
        )
    return Stepped(file=str(kept.file_of(place, "collect")), stage=stage)


def curate_leakage(
    folder: str | Path,
    *,
    models: Mapping[str, Reader] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> leakage.Report:
    """Ask models for signs that they have met the newest step's items before."""
    place = Path(folder)
    wanted = read_wanted(place)
    wanted.seats("leakage")
    items = items_of(kept.read_step(place, kept.upstream_of(place, "leakage")))
    policy = policy_of_set(items, wanted)
    seats = _opened(wanted, leakage.ROLES, policy, models or {})
    with _desk(place / kept.STORE, wanted, policy, tell) as (store, studio, dataset):
        asked = Rounds(store, studio, dataset, seats, watch, tell)
        asked.of(leakage.signs(items, wanted), "leakage")
        named = {seat.reader.identity: seat.reader.name for seat in seats.values()}
        heard = [msgspec.structs.replace(one, by=named[one.by]) for one in asked.heard]
        report = leakage.report_of(items, heard, wanted)
    kept.put(place, leakage.FILE, kept.to_json(report))
    return report


def curate_publish(folder: str | Path, out: str | Path | None = None) -> Published:
    """Write the reviewed items as a set that `overread run` takes, with all that is known of it."""
    place = Path(folder)
    target = place / "published" if out is None else Path(out)
    check_free(target)
    wanted = read_wanted(place)
    there = kept.steps_there(place)
    items = items_of(kept.read_step(place, there[-1])) if there else []
    return publish(place, wanted, target, policy_of_set(items, wanted))


# ---------------------------------------------------------------- who may be asked


def policy_of_set(contents: Sequence[Content], wanted: Wanted) -> Policy:
    """Who may see these: the strictest card of all the folders their pictures stand in now, and of
    those their captions, labels and boxes were read from.
    """
    held: dict[str, set[str]] = defaultdict(set)
    for content in contents:
        pictures = (content.picture,) if isinstance(content, Candidate) else content.pictures
        for source in (one for picture in pictures for one in _sources(picture)):
            held[source.root].add(source.name)
    for one in wanted.sources:
        paths = () if one.path.startswith("phantom:") else (one.path,)
        for path in (*paths, *filter(None, (one.boxes,))):
            held[str(wanted.place(path).absolute())].add("")
    return policy_of(*(held_at(Path(root), sorted(names)) for root, names in sorted(held.items())))


def _sources(picture: Picture) -> Iterator[Source]:
    masks = (one.mask for one in picture.operations if isinstance(one, Overlay))
    yield from (one for one in (picture.source, *masks) if isinstance(one, Source))


def _opened(
    wanted: Wanted, roles: Sequence[str], policy: Policy, models: Mapping[str, Reader]
) -> dict[str, Seat]:
    """A reader for each seat of these roles, behind the guard; equal specs share one."""
    guard = Guard(policy, load_config().share_with)
    opened: dict[bytes, Seat] = {}
    seats: dict[str, Seat] = {}
    for role in roles:
        for seat, spec in wanted.specs(role).items():
            if seat in models:
                seats[seat] = _opening.seat_of(models[seat])
                continue
            name = msgspec.json.encode(spec, order="deterministic")
            if name not in opened:
                opened[name] = _seat(spec, guard, seat, wanted)
            seats[seat] = opened[name]
    different = {id(one.reader): one.reader.name for one in seats.values()}
    names = list(different.values())
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadInput(
            f'{wanted.file}: two models are called "{min(twice)}". Give one a label= option.'
        )
    return seats


def _seat(spec: Spec, guard: Guard, seat: str, wanted: Wanted) -> Seat:
    parsed = parse_spec(spec)
    if parsed.kind == "control":
        raise BadInput(f"{wanted.file}: {seat} is a control, and curation has none. Name a model.")
    return Seat(open_reader(parsed, guard=guard, environment=environment(), controls={}), parsed)


@contextmanager
def _desk(
    store: Path, wanted: Wanted, policy: Policy, tell: Tell | None
) -> Iterator[tuple[Store, Studio, int]]:
    """The folder's store opened, and a studio for as long as somebody is asked."""
    with Store(store, tell) as opened:
        dataset = opened.dataset_id(_DATASET, wanted.name, policy)
        studio = Studio(Sources(opened, dataset))
        try:
            yield opened, studio, dataset
        finally:
            studio.close()


# ---------------------------------------------------------------- rounds


class Rounds(msgspec.Struct):
    """A step's rounds put to its models. A class, for every round needs all of it.

    `store`, `studio` and `dataset` are what `_asking.Desk` wants of it; `heard` is the last round.
    """

    store: Store
    studio: Studio
    dataset: int
    seats: Mapping[str, Seat]
    watch: Watch | None = None
    tell: Tell | None = None
    unanswered: int = 0
    heard: list[Heard] = []
    _given: dict[str, Given] = {}
    _lacking: dict[str, int] = {}
    _tallies: list[Tally] = []
    _records: list[Record] = []

    def of(self, steps: Steps, name: str) -> list[Record]:
        """Ask round by round; the records the step returns."""
        readers = list({id(seat.reader): seat for seat in self.seats.values()}.values())
        self.store.enrol(_opening.enrolments(readers), self.dataset)
        interrupted = _asking.run_async(
            _asking.ask_in_turn(self._jobs(steps, name), readers, self, self.tell)
        )
        answered = sum(one.answered + one.kept for one in self._tallies)
        if interrupted:
            raise Unfinished(f"interrupted; {answered} replies are kept.", "again")
        stopped = sorted({one.stopped.rstrip(".") for one in self._tallies if one.stopped})
        if stopped:
            raise Unfinished(f"{'; '.join(stopped)}. Nothing was written. Mend that.", "again")
        return self._records

    def _jobs(self, steps: Steps, name: str) -> Generator[Sequence[_asking.Job], None, None]:
        heard: Sequence[Heard] | None = None
        for number in range(1, 1_000_000):
            try:
                # A generator is begun with None, and sent what was heard from then on.
                questions = list(next(steps) if heard is None else steps.send(heard))
            except StopIteration as end:
                self._records = list(end.value)
                return
            if questions:
                yield from self._asked(questions, name if number == 1 else f"{name} {number}")
            heard = self.heard = self._heard(questions)

    def _asked(
        self, questions: Sequence[Question], name: str
    ) -> Generator[Sequence[_asking.Job], None, None]:
        jobs, shown = [], []
        for seat, asked in self._by_reader(questions):
            tally = Tally()
            self._tallies.append(tally)
            jobs.append(_asking.Job(seat, _plan([one for _, one in asked]), tally))
            shown.append((f"{seat.reader.name} ({name})", tally, len(asked), seat.spec))
        with self.watch(shown) if self.watch else nullcontext():
            yield jobs

    def _heard(self, questions: Sequence[Question]) -> list[Heard]:
        """What was said, in the order of the questions."""
        found: dict[int, Heard] = {}
        for seat, asked in self._by_reader(questions):
            reader = seat.reader
            given = self._given.setdefault(reader.identity, Given())
            back = read_back(_plan([q for _, q in asked]), reader, self.store, self.studio, given)
            for (place, question), (_, reply, _) in zip(asked, back, strict=True):
                heard = Heard(question=question, by=reader.identity)
                if reply is None:
                    heard = msgspec.structs.replace(heard, lack="unanswered")
                    self.unanswered += 1
                    lacking = self._lacking
                    lacking[reader.identity] = lacking.get(reader.identity, 0) + 1
                elif reply.refused:
                    heard = msgspec.structs.replace(heard, lack="refused", reply=reply)
                else:
                    heard = msgspec.structs.replace(heard, text=reply.text, reply=reply)
                found[place] = heard
        return [found[place] for place in range(len(questions))]

    def _by_reader(
        self, questions: Sequence[Question]
    ) -> Iterator[tuple[Seat, list[tuple[int, Question]]]]:
        """Questions with their places, together by who is asked."""
        together: dict[int, list[tuple[int, Question]]] = defaultdict(list)
        for place, question in enumerate(questions):
            together[id(self.seats[question.to].reader)].append((place, question))
        seats = {id(seat.reader): seat for seat in self.seats.values()}
        for number, asked in together.items():
            yield seats[number], asked

    def models(self) -> tuple[Model, ...]:
        """Everybody who was asked, in the order of the seats."""
        found = []
        for reader in {id(seat.reader): seat.reader for seat in self.seats.values()}.values():
            given = self._given.get(reader.identity)
            if given is None:
                continue
            found.append(
                Model(
                    identity=reader.identity,
                    name=reader.name,
                    seats=tuple(n for n, seat in self.seats.items() if seat.reader is reader),
                    served=tuple(sorted(given.models)),
                    replies=given.replies,
                    unanswered=self._lacking.get(reader.identity, 0),
                    first=moment(given.first),
                    last=moment(given.last),
                )
            )
        return tuple(found)


def _plan(questions: Sequence[Question]) -> Plan:
    def trials() -> Iterator[Trial]:
        return (question.trial for question in questions)

    return trials
