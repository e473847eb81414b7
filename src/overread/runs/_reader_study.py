"""A reader study from its file to its answers: made, served, exported, taken in, settled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

import overread.case as oc
from overread.benchmarks.base import Benchmark, Tables
from overread.benchmarks.people import Decided, ForPeople
from overread.case import BadInput, Policy
from overread.study import design as designs
from overread.study import packets
from overread.study.journal import Journal

if TYPE_CHECKING:
    from overread.study.app import Links
    from overread.study.candidates import Candidate
    from overread.study.consensus import Place, Said, Settled

Tell = Callable[[str], None]
_LOOPBACK = "127.0.0.1"


def study_new(path: Path, out: Path | None = None) -> packets.Made:
    """Make the study that a file describes, in a folder of its name unless another is given."""
    from overread.study import consensus

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
    # How many screens of a task named a model.
    naming: list[tuple[int, Counter[int]]] = []
    remarks: list[str] = []
    for number, task in enumerate(design.task, 1):
        if task.kind in designs.OWN_KINDS:
            screens.append(_own_screens(task, number))
            policies.append("credentialed")
            continue
        shown = bench(as_shown=True)
        if task.kind not in shown.people_kinds:
            known = ", ".join([*shown.people_kinds, *designs.OWN_KINDS])
            raise BadInput(f'{path}: task {number}: kind "{task.kind}"; known are {known}.')
        if not task.run:
            screens.append(_screens(shown, task, design.edition))
        else:
            named = Counter[int]()
            screens.append(_about_models(shown, task, number, named, design.edition, remarks))
            naming.append((number, named))
        policies.append(shown.policy)
    policy: Policy = "credentialed" if "credentialed" in policies else policies[0]
    # What models are asked in the same places, at their own size of picture.
    asked: dict[tuple[str, str], oc.Trial | None] = {}
    for kind in {task.kind for task in design.task} - {*designs.OWN_KINDS}:
        for one in bench(as_shown=False).for_people(kind):
            if one.trial is not None:
                asked[one.case, one.condition] = one.trial
    sheets = {
        source: frames
        for task in design.task
        if task.kind == "audit"
        for source, frames in consensus.sheets_in(packets.open_study(Path(task.study))).items()
    }
    made = packets.make_study(
        out or Path(design.name),
        design,
        screens,
        policy,
        lambda one: _rendered(one, sheets),
        lambda one: _request_digest(asked.get((one.case, one.condition))),
    )
    remarks += [
        f"task {number}: {found[number]:,} screens had a reply that names a model; the name is "
        "taken out."
        for number, found in naming
        if found
    ]
    return msgspec.structs.replace(made, remarks=(*made.remarks, *remarks))


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


def _rendered(
    picture: oc.Picture | oc.Clip,
    sheets: Mapping[oc.Source | oc.Inline, int] = MappingProxyType({}),
) -> tuple[oc.Shown, int]:
    """A picture, or all frames of a clip on a sheet; `sheets` are such already."""
    from overread.imaging import Films
    from overread.runs._reporting import rendered

    frames = len(picture.frames) if isinstance(picture, oc.Clip) else sheets.get(picture.source, 1)
    return rendered(picture, Films()), frames


def _screens(
    bench: Benchmark,
    task: designs.Task,
    edition: str,
    tables: Tables | None = None,
    models: Sequence[str] = (),
) -> Iterator[ForPeople]:
    """A task's screens: in `authors` as the paper's readers had them, if it had readers."""
    if edition == "authors":
        published = bench.people_as_published(task.kind, tables, models, task.cases)
        if published is not None:
            return published
    return bench.for_people(task.kind, tables, models)


def _about_models(
    bench: Benchmark,
    task: designs.Task,
    number: int,
    named: Counter[int],
    edition: str,
    remarks: list[str],
) -> Iterator[ForPeople]:
    """Screens about models' replies, in which no model is named."""
    from overread.runs._kept import kept_runs
    from overread.study.naming import unnamed

    (kept,) = kept_runs([Path(task.run)])
    if kept.record.benchmark != bench.name:
        raise BadInput(
            f"task {number}: {task.run} is a run of {kept.record.benchmark}, and the study of "
            f"{bench.name}. Give a run over the study's cases."
        )
    if other_cases(kept.record.dataset, bench.dataset):
        remarks.append(
            f"task {number}: {task.run} is over {kept.record.dataset}, and the study over "
            f"{bench.dataset}: cases of one name are taken to be one."
        )
    known = [one.name for one in kept.tables.readers]
    for name in task.models:
        if name not in known:
            raise BadInput(
                f'task {number}: models: "{name}"; those of {task.run} are {", ".join(known)}.'
            )
    screens = _screens(bench, task, edition, kept.tables, task.models or known)
    return unnamed(screens, known, lambda: named.update([number]))


def other_cases(one: str, other: str) -> bool:
    """Whether two sets differ in what is asked of them, wherever they stand."""
    return one.rpartition("@")[2] != other.rpartition("@")[2]


def _own_screens(task: designs.Task, number: int) -> Iterator[ForPeople]:
    """Screens of a task that is no benchmark's."""
    from overread.study import candidates, forms

    if task.kind == "form":
        return forms.screens_of(task, number)
    if task.kind == "audit":
        return _audited(Path(task.study))
    table = Path(task.table)
    return candidates.screens_of(
        candidates.read_candidates(table),
        task.kind,
        str(table.absolute().parent),
        pick=task.pick,
        reasons=task.reasons or candidates.REASONS,
        frames=task.frames,
    )


def _audited(folder: Path) -> Iterator[ForPeople]:
    """What the readers of another study do not agree on, once all of them are through."""
    from overread.study import consensus

    study, said, key = said_in(folder, "audit", early=False)
    return consensus.audit_screens(study, said, key)


def said_in(
    folder: Path, why: str, early: bool
) -> tuple[packets.Opened, list[Said], dict[str, packets.Key]]:
    from overread.study import consensus

    study = packets.open_study(folder)
    journal = Journal(folder, read_only=True)
    try:
        key = key_of(study, journal, why, early)
        return study, list(consensus.said_of(study, journal.answers(), key)), key
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
    return said_in(folder, "answers", early)[1]


def study_audit(
    out: Path, study: Path, readers: Sequence[str], *, name: str = "audit", seed: int = 0
) -> packets.Made | None:
    """A study of what the readers of another do not agree on; None where they agree on all."""
    from overread.study import consensus

    first, said, key = said_in(study, "audit", early=False)
    screens = list(consensus.audit_screens(first, said, key))
    if not screens:
        return None
    task = designs.Task(kind="audit", study=str(study), repeat=0.0, training=0)
    design = designs.Design(
        name=name, readers=list(readers), task=[task], seed=seed, washout_days=0
    )
    designs.check_names(str(out), design)
    sheets = consensus.sheets_in(first)
    return packets.make_study(
        out, design, [screens], first.policy, lambda one: _rendered(one, sheets), lambda one: ""
    )


def study_settled(study: Path, audit: Path | None = None) -> dict[Place, Settled]:
    """What stands of every screen of a study: where its readers agree, or its auditor decided."""
    from overread.study import consensus

    first, said, key = said_in(study, "settle", early=False)
    final = [] if audit is None else said_in(audit, "settle", early=False)[1]
    return consensus.settled(first, said, key, final)


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
    from overread.door import bound, certificate_of

    study = packets.open_study(folder)
    packets.check_pictures(study)
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


def study_export(
    folder: Path, out: Path, *, imrmc: bool = False, paper: bool = False, early: bool = False
) -> int:
    """Sheets for readers who work elsewhere, with `imrmc` the answers in list mode, or with
    `paper` the filled sheets of the benchmark's paper, a folder for each reader; how many rows.

    The latter two open the key: while somebody still reads, only if told to (`early`).
    """
    from overread.study import sheets

    study = packets.open_study(folder)
    if imrmc and paper:
        raise BadInput("--imrmc and --paper are two exports. Give one of them.")
    journal = Journal(folder, read_only=True)
    try:
        if imrmc:
            return sheets.write_imrmc(out, study, journal, key_of(study, journal, "export", early))
        if paper:
            tasks = _published_tasks(study)
            sheets.check_new_folder(out)
            key = key_of(study, journal, "export of the paper's sheets", early)
            return _write_as_published(out, study, journal, key, tasks)
        return sheets.write_sheets(out, study, journal)
    finally:
        journal.close()


def _published_tasks(study: packets.Opened) -> list[int]:
    """The numbers of the tasks that were drawn as a paper's."""
    from overread.benchmarks.registry import class_of

    design = study.design
    kinds = class_of(design.benchmark).people_kinds if design.benchmark else {}
    found = [number for number, task in enumerate(design.task, 1) if task.kind in kinds]
    if design.edition != "authors" or not found:
        raise BadInput(
            f"{study.folder}: --paper is for a paper's own study. Make one with edition = "
            '"authors", or leave --paper out.'
        )
    return found


def _write_as_published(
    out: Path,
    study: packets.Opened,
    journal: Journal,
    key: Mapping[str, packets.Key],
    tasks: Sequence[int],
) -> int:
    from overread.judging.sheet import write_csv
    from overread.runs._kept import kept_runs
    from overread.runs._opening import open_cases

    design = study.design
    bench = open_cases(design.benchmark, design.cases, design.edition, design.settings)
    values: dict[tuple[str, str], dict[str, str]] = {}
    for one in journal.answers():
        values.setdefault((one.reader, one.display), {})[one.question] = one.value
    rows = 0
    for number in tasks:
        task = design.task[number - 1]
        tables = kept_runs([Path(task.run)])[0].tables if task.run else None
        models = task.models or ([one.name for one in tables.readers] if tables else [])
        for reader in design.readers:
            given = [
                Decided(
                    case=key[turn.display].case,
                    facts=key[turn.display].facts,
                    asks=study.displays[turn.display].asks,
                    values=values.get((reader, turn.display), {}),
                )
                for turn in study.schedule
                if turn.reader == reader and key[turn.display].task == number
            ]
            second = reader != design.readers[0]
            made = bench.people_packets(task.kind, tables, models, task.cases, given, second=second)
            for name, some in (made or {}).items():
                place = out / reader / name
                place.parent.mkdir(parents=True, exist_ok=True)
                out.chmod(0o700)
                header = list(some[0]) if some else []
                write_csv(place, header, [list(row.values()) for row in some])
                place.chmod(0o600)
                rows += len(some) if name.endswith("/cases.csv") else 0
    return rows


def key_of(
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
