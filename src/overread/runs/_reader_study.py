"""A reader study from its file to its numbers: made, served, exported, taken in, analysed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import overread.case as oc
from overread.benchmarks.base import Benchmark, Tables
from overread.benchmarks.people import ForPeople
from overread.case import BadInput, Policy
from overread.scratch import scratch_folder
from overread.study import design as designs
from overread.study import packets
from overread.study.journal import Journal

if TYPE_CHECKING:
    from overread.study.app import Links
    from overread.study.candidates import Candidate, Place, Said, Settled

Tell = Callable[[str], None]
_LOOPBACK = "127.0.0.1"


def study_new(path: Path, out: Path | None = None) -> packets.Made:
    """Make the study that a file describes, in a folder of its name unless another is given."""
    design = designs.read_design(path)
    beside = path.absolute().parent
    design = _found_from_anywhere(design, beside)
    opened: dict[bool, Benchmark] = {}

    def bench(*, as_shown: bool) -> Benchmark:
        """The benchmark as models are asked, or as people are shown."""
        if as_shown not in opened:
            from overread.benchmarks.registry import class_of
            from overread.runs._opening import open_cases

            words = dict(design.settings)
            if as_shown:
                words |= class_of(design.benchmark).people_settings
                words |= {name: str(value) for name, value in design.show.items()}
            opened[as_shown] = open_cases(design.benchmark, design.cases, design.edition, words)
        return opened[as_shown]

    screens: list[Iterable[ForPeople]] = []
    policies: list[Policy] = []
    for number, task in enumerate(design.task, 1):
        if task.kind in designs.OWN_KINDS:
            screens.append(_own_screens(task, number))
            policies.append("credentialed")
            continue
        shown = bench(as_shown=True)
        if task.kind not in shown.people_kinds:
            known = ", ".join([*shown.people_kinds, *designs.OWN_KINDS])
            raise BadInput(f'{path}: task {number}: kind "{task.kind}"; known are {known}.')
        tables = _tables_of_run(Path(task.run)) if task.run else None
        screens.append(shown.for_people(task.kind, tables, task.models))
        policies.append(shown.policy)
    policy: Policy = "credentialed" if "credentialed" in policies else policies[0]
    # What models are asked in the same places, at their own size of picture.
    asked: dict[tuple[str, str], oc.Trial | None] = {}
    for kind in {task.kind for task in design.task} - {*designs.OWN_KINDS}:
        for one in bench(as_shown=False).for_people(kind):
            if one.trial is not None:
                asked[one.case, one.condition] = one.trial
    return packets.make_study(
        out or Path(design.name),
        design,
        screens,
        policy,
        _rendered,
        lambda one: _request_digest(asked.get((one.case, one.condition))),
    )


def _found_from_anywhere(design: designs.Design, beside: Path) -> designs.Design:
    """The design with whole paths: the study is analysed later, and from another folder."""
    from overread.runs._opening import recorded_cases

    def whole(name: str) -> str:
        return str(beside / name) if name else ""

    cases = design.cases
    if cases and not cases.startswith("phantom:"):
        cases = recorded_cases(beside / cases)
    tasks = [
        msgspec.structs.replace(
            task, run=whole(task.run), table=whole(task.table), study=whole(task.study)
        )
        for task in design.task
    ]
    return msgspec.structs.replace(design, cases=cases, task=tasks)


def _request_digest(trial: oc.Trial | None) -> str:
    """What the request of a trial is called, as a model of no special traits gets it."""
    if trial is None:
        return ""
    from overread.engine import request_digest
    from overread.imaging import digest

    return request_digest(trial.request.for_reader(oc.Traits()), digest).hex()


def _rendered(picture: oc.Picture | oc.Clip) -> tuple[oc.Shown, int]:
    from overread.imaging import Films
    from overread.runs._reporting import rendered

    frames = len(picture.frames) if isinstance(picture, oc.Clip) else 1
    return rendered(picture, Films()), frames


def _tables_of_run(folder: Path) -> Tables:
    from overread.runs._kept import kept_runs

    (kept,) = kept_runs([folder])
    return kept.tables


def _own_screens(task: designs.Task, number: int) -> Iterator[ForPeople]:
    """Screens of a task that is no benchmark's."""
    from overread.study import candidates

    if task.kind == "form":
        return _forms(task, number)
    if task.kind == "audit":
        return _audited(Path(task.study))
    table = Path(task.table)
    return candidates.screens_of(
        candidates.read_candidates(table),
        task.kind,
        str(table.absolute().parent),
        pick=task.pick,
        reasons=task.reasons or candidates.REASONS,
    )


def _audited(folder: Path) -> Iterator[ForPeople]:
    """What the readers of another study do not agree on, once all of them are through."""
    from overread.study import candidates

    study, said, key = _said(folder, "audit", early=False)
    return candidates.audit_screens(study, said, key)


def _said(
    folder: Path, why: str, early: bool
) -> tuple[packets.Opened, list[Said], dict[str, packets.Key]]:
    from overread.study import candidates

    study = packets.open_study(folder)
    journal = Journal(folder, read_only=True)
    try:
        key = _key_of(study, journal, why, early)
        return study, list(candidates.said_of(study, journal.answers(), key)), key
    finally:
        journal.close()


# ---------------------------------------------------------------- studies of candidates


def study_of_candidates(
    out: Path,
    candidates: Iterable[Candidate],
    kind: str,
    readers: Sequence[str],
    *,
    root: Path,
    name: str = "review",
    each: int = 0,
    pick: int = 4,
    reasons: Sequence[str] = (),
    repeat: float = 0.0,
    seed: int = 0,
    text: str = "",
    welcome: str = "",
    policy: Policy = "credentialed",
    slides_of: Callable[[Candidate], Sequence[oc.Slide]] | None = None,
) -> packets.Made:
    """Make a study of candidate items: `kind` is what is asked of each (`study.candidates`).

    Pictures are files below `root`, or whatever `slides_of` makes of a candidate. Every reviewer
    gets every candidate, or each candidate goes to `each` of them in turn. A `repeat` of the
    candidates is shown once more, in a second session.
    """
    from overread.study import candidates as asked

    listed = list(candidates)
    task = designs.Task(
        kind=kind, repeat=repeat, training=0, pick=pick, text=text, each=each or len(readers)
    )
    design = designs.Design(
        name=name,
        readers=list(readers),
        task=[task],
        seed=seed,
        washout_days=0,
        cap=2 * len(listed) if each else 0,
        welcome=welcome,
    )
    designs.check_names(str(out), design)
    screens = asked.screens_of(
        listed, kind, str(root), pick=pick, reasons=reasons or asked.REASONS, slides_of=slides_of
    )
    return packets.make_study(out, design, [screens], policy, _rendered, lambda one: "")


def study_answers(folder: Path, *, early: bool = False) -> list[Said]:
    """Every answer of a study that counts, by candidate, reviewer and question.

    Opens the key, which is written down; while somebody still reads, only if told to (`early`).
    """
    return _said(folder, "answers", early)[1]


def study_audit(
    out: Path, study: Path, readers: Sequence[str], *, name: str = "audit", seed: int = 0
) -> packets.Made | None:
    """A study of what the readers of another do not agree on; None where they agree on all."""
    first, said, key = _said(study, "audit", early=False)
    from overread.study import candidates

    screens = list(candidates.audit_screens(first, said, key))
    if not screens:
        return None
    task = designs.Task(kind="audit", study=str(study), repeat=0.0, training=0)
    design = designs.Design(
        name=name, readers=list(readers), task=[task], seed=seed, washout_days=0
    )
    designs.check_names(str(out), design)
    return packets.make_study(out, design, [screens], first.policy, _rendered, lambda one: "")


def study_settled(study: Path, audit: Path | None = None) -> dict[Place, Settled]:
    """What stands of every screen of a study: where its readers agree, or its auditor decided."""
    from overread.study import candidates

    first, said, key = _said(study, "settle", early=False)
    final = [] if audit is None else _said(audit, "settle", early=False)[1]
    return candidates.settled(first, said, key, final)


def _forms(task: designs.Task, number: int) -> Iterator[ForPeople]:
    """Screens of one's own: a row a screen, with the image's name and whatever questions name."""
    from overread.benchmarks.files.sheets import rows_of

    table = Path(task.table)
    root = str(table.absolute().parent)
    for line, row in rows_of(table, ("case", "image")):
        asks = tuple(
            msgspec.structs.replace(
                one.ask(f"task {number}"), text=_filled_in(one.text, row, table, line)
            )
            for one in task.questions
        )
        names = [name.strip() for name in row["image"].split(";") if name.strip()]
        slides = tuple(
            oc.Slide(label="", picture=oc.Picture(oc.Source(root, name))) for name in names
        )
        hidden = ("case", "image", "patient", "stratum")
        yield ForPeople(
            case=row["case"],
            patient=row.get("patient") or row["case"],
            condition=row.get("condition", ""),
            slides=slides,
            asks=asks,
            stratum=(row.get("stratum", ""),),
            facts={name: cell for name, cell in row.items() if name not in hidden},
        )


def _filled_in(text: str, row: Mapping[str, str], table: Path, line: int) -> str:
    """`{column}` in a question by the row's cell; braces that name no column are refused."""
    import re

    def cell(found: re.Match[str]) -> str:
        if found[1] not in row:
            raise BadInput(f'{table} row {line}: a question names "{found[1]}", no column of it.')
        return row[found[1]]

    return re.sub(r"\{(\w+)\}", cell, text)


# ---------------------------------------------------------------- serving


def study_serve(
    folder: Path,
    *,
    host: str | None = None,
    port: int = 0,
    names: Sequence[str] = (),
    cert: Path | None = None,
    key: Path | None = None,
    listens: Callable[[Links], None],
    trouble: Tell = lambda line: None,
) -> None:
    """Serve a study to its readers until interrupted or terminated."""
    from overread.door import bound
    from overread.study.app import certificate_of

    study = packets.open_study(folder)
    certificate = certificate_of(cert, key)
    if host not in (None, _LOOPBACK, "localhost", "::1") and certificate is None:
        raise BadInput(
            f"--host {host}: readings and pictures would cross the network in the clear. Give "
            "--tls-cert and --tls-key, or leave --host out and forward the port by ssh."
        )
    at = bound(host or _LOOPBACK, port, tuple(names), tls=certificate is not None)
    with at.listening:
        try:
            asyncio.run(_until_stopped(study, at, certificate, listens, trouble))
        except KeyboardInterrupt:
            return


async def _until_stopped(
    study: packets.Opened,
    at: Any,
    certificate: Any,
    listens: Callable[[Links], None],
    trouble: Tell,
) -> None:
    from overread.runs._asking import on_interrupt
    from overread.study.app import serving_study

    stopped = asyncio.Event()
    with on_interrupt(stopped.set):
        async with serving_study(study, at, certificate=certificate, trouble=trouble) as links:
            listens(links)
            await stopped.wait()


# ---------------------------------------------------------------- sheets


def study_export(folder: Path, out: Path, *, imrmc: bool = False, early: bool = False) -> int:
    """Sheets for readers who work elsewhere, or with `imrmc` the answers in list mode; how many.

    The latter opens the key: while somebody still reads, only if told to (`early`).
    """
    from overread.study import sheets

    study = packets.open_study(folder)
    journal = Journal(folder, read_only=True)
    try:
        if imrmc:
            return sheets.write_imrmc(out, study, journal, _key_of(study, journal, "export", early))
        return sheets.write_sheets(out, study, journal)
    finally:
        journal.close()


def _key_of(
    study: packets.Opened, journal: Journal, why: str, early: bool
) -> dict[str, packets.Key]:
    """The key, once everything is read; before that only `early`, and then that is written down."""
    reading = [name for name, done, total, _ in journal.progress(study) if done < total]
    if reading and not early:
        raise BadInput(
            f"{study.folder}: {', '.join(reading)} have not read everything, and the key stays "
            "shut until then. Open it all the same with --early, which is written down."
        )
    return packets.open_key(study.folder, f"{why}, early" if reading else why)


def study_import(folder: Path, reader: str, path: Path) -> tuple[int, int, int]:
    """Take a filled sheet of one reader: how many answers are new, changed, and as they stood."""
    from overread.study import sheets

    study = packets.open_study(folder)
    if reader not in study.design.readers:
        known = ", ".join(study.design.readers)
        raise BadInput(f'"{reader}" is no reader of this study; its readers are {known}.')
    given = sheets.read_sheet(path, study, reader)
    journal = Journal(folder)
    try:
        return journal.take(reader, given)
    finally:
        journal.close()


# ---------------------------------------------------------------- analysing


class StudyFound(msgspec.Struct, frozen=True, kw_only=True):
    """What a study came to: measures of people, and of models against them."""

    folder: Path
    people: tuple[str, ...]
    readings: int
    cannot_tell: dict[str, int]
    measures: list[oc.Measure]
    remarks: tuple[str, ...]


def study_analyse(
    folder: Path,
    *,
    run: Path | None = None,
    margin: float | None = None,
    early: bool = False,
) -> StudyFound:
    """Measure people as readers, alone or beside the models of a run over the same cases.

    Opens the key, which is written down; while somebody still reads, only if told to (`early`).
    Writes `analysis.json` and, for `human:` readers, `readings/READER.jsonl`.
    """
    from overread.study import analysis

    if margin is not None and not 0 <= margin < inf:
        raise BadInput(f"--margin {margin}: expected 0 or more, in the unit of the measures.")
    if margin is not None and run is None:
        raise BadInput("--margin is for models beside people. Name their run with --run.")
    study = packets.open_study(folder)
    journal = Journal(folder, read_only=True)
    try:
        key = _key_of(study, journal, "analyse", early)
        readings = analysis.readings_of(study, journal.answers(), key)
    finally:
        journal.close()
    people = tuple(name for name in study.design.readers if any(r.reader == name for r in readings))
    # What a model is asked in the same place; of tasks that ask it twice, the first.
    answers = {
        (one.reader, one.key.request): one
        for one in reversed(readings)
        if one.key.request and not one.key.iteration and one.ask.name == "answer"
    }
    asked = [*reversed(answers.values())]
    _write_readings(folder, people, asked)
    measures = [*analysis.form_shares(readings), *analysis.agreements(readings)]
    remarks: list[str] = []
    if asked:
        bench, tables = _with_people(study, asked, run)
        known = frozenset(people)
        measures += [
            one
            for one in bench.measure(tables)
            if one.reader in known and one.by.get("versus", "") not in known
        ]
        if run is not None:
            measures += analysis.differences(
                bench.per_case(tables), people, margin, bench.higher_is_better
            )
    if len(people) < 3:
        remarks.append(
            "With fewer than three readers these numbers speak of these readers on cases like "
            "these. Nothing is said of other readers."
        )
    found = StudyFound(
        folder=folder,
        people=people,
        readings=len(readings),
        cannot_tell=analysis.cannot_tell(readings),
        measures=measures,
        remarks=tuple(remarks),
    )
    _write_privately(folder / "analysis.json", msgspec.json.encode(found, enc_hook=str))
    return found


def study_sheets(run: Path, sheets: Mapping[str, Path]) -> StudyFound:
    """What the paper's own scripts count of sheets that its readers filled, beside a run's models.

    Edition `authors`; nothing is written.
    """
    from overread.plugins import at
    from overread.runs._kept import kept_runs

    (kept,) = kept_runs([run])
    if not kept.bench.people_sheets:
        raise BadInput(f"{run}: {kept.record.benchmark} has no sheets of a paper's readers.")
    measures = at(kept.bench.people_sheets)(kept.tables, sheets)
    return StudyFound(
        folder=run,
        people=tuple(sheets),
        readings=0,
        cannot_tell={},
        measures=measures,
        remarks=("edition: authors. Two readers say nothing of others.",),
    )


def _write_readings(folder: Path, people: Sequence[str], readings: Sequence[Any]) -> None:
    """Answers as replies to what models are asked, under the names of those requests."""
    place = folder / "readings"
    if place.is_symlink():
        raise BadInput(f"{place} is a link. Take it away, and analyse again.")
    place.mkdir(mode=0o700, exist_ok=True)
    for person in people:
        lines: dict[str, str] = {}
        for one in readings:
            if one.reader == person:
                lines[one.key.request] = one.key.said.get(one.value, one.value)
        data = b"".join(
            msgspec.json.encode({"request": request, "text": text}) + b"\n"
            for request, text in sorted(lines.items())
        )
        _write_privately(place / f"{person}.jsonl", data)


def _write_privately(path: Path, data: bytes) -> None:
    """Whole or not at all, its owner's alone, and never through a link that stands there."""
    with scratch_folder(path.parent) as scratch:
        made = scratch / path.name
        made.write_bytes(data)
        made.chmod(0o600)
        made.replace(path)


def _with_people(
    study: packets.Opened, asked: Sequence[Any], run: Path | None
) -> tuple[Benchmark, Tables]:
    """A run's tables with a reader more for each person; without a run, tables of people alone."""
    import polars as pl

    from overread.benchmarks.base import ReaderRecord
    from overread.runs._kept import kept_runs
    from overread.runs._opening import open_cases

    design = study.design
    kept = None if run is None else kept_runs([run])[0]
    if kept is not None and kept.record.benchmark != design.benchmark:
        raise BadInput(
            f"{run} is a run of {kept.record.benchmark}, and the study of {design.benchmark}."
        )
    opened = open_cases(design.benchmark, design.cases, design.edition, design.settings)
    bench, tables = (opened, None) if kept is None else (kept.bench, kept.tables)
    strange = (
        set() if tables is None else {one.key.case for one in asked} - set(tables.cases["case"])
    )
    models = () if tables is None else tables.readers
    alike = {one.reader for one in asked} & {one.name for one in models}
    if alike:
        raise BadInput(
            f"{run} has a reader called {min(alike)}, and so has the study. Give a run of models "
            "alone, or with another label."
        )
    if strange:
        raise BadInput(
            f"{run} has not case {min(strange)} of the study (and {len(strange) - 1} others). "
            "Give a run over the same cases."
        )
    traits = oc.Traits()
    places: dict[tuple[str, str], oc.Trial] = {}
    kinds = {one.key.kind for one in asked}
    for kind in kinds:
        for screen in opened.for_people(kind):
            if screen.trial is not None:
                places[screen.case, screen.condition] = screen.trial
    rows = [
        (
            one.reader,
            *opened.answer(
                places[one.key.case, one.key.condition],
                oc.Reply(text=one.key.said.get(one.value, one.value)),
                traits,
            ),
        )
        for one in asked
    ]
    own = pl.DataFrame(rows, schema={"reader": pl.String, **opened.answer_schema}, orient="row")
    people = tuple(
        ReaderRecord(name=name, group="people")
        for name in dict.fromkeys(one.reader for one in asked)
    )
    if tables is None:
        cases = pl.DataFrame(
            map(opened.case_row, opened.cases()), schema=dict(opened.case_schema), orient="row"
        )
        return opened, Tables(cases=cases, answers=own, readers=people)
    both = pl.concat([tables.answers, own.select(tables.answers.columns)])
    return bench, msgspec.structs.replace(tables, answers=both, readers=(*tables.readers, *people))


def study_tables(found: StudyFound) -> Iterator[oc.Table]:
    """What was found, a table for each kind of number; cells are those of every other table."""
    from overread.benchmarks.exhibits.cells import cell
    from overread.measuring.units import INDEX

    known = frozenset(found.people)
    rates = [one for one in found.measures if one.reader in known and not one.by]
    if rates:
        names = list(dict.fromkeys(one.measure for one in rates if one.value is not None))
        by = {(one.reader, one.measure): one for one in rates}
        yield oc.Table(
            name="people",
            title="People as readers",
            columns=("person", *names),
            rows=tuple(
                (name, *(cell(by.get((name, measure))) for measure in names))
                for name in found.people
            ),
        )
    kinds = {
        ("forms", "Forms"): [
            one for one in found.measures if "answer" in one.by and len(one.by) == 1
        ],
        ("agreement", "Agreement of readers"): [one for one in found.measures if "task" in one.by],
        ("differences", "Models minus readers"): [
            one for one in found.measures if one.reader not in known
        ],
    }
    for (name, title), rows in kinds.items():
        if rows:
            who = "model" if name == "differences" else "person"
            yield oc.Table(
                name=name,
                title=title,
                columns=(who, "measure", "of", "value", "q"),
                rows=tuple(
                    (
                        one.reader,
                        one.measure,
                        ", ".join(f"{k} {v}" for k, v in one.by.items()),
                        cell(one, unit=INDEX if one.measure.startswith("kappa") else None),
                        "" if one.q is None else f"{one.q:.3f}",
                    )
                    for one in rows
                ),
            )
