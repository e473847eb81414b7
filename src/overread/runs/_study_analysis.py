"""What the people of a study come to as numbers: alone, beside models, and of models' replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

import overread.case as oc
from overread import __version__
from overread.benchmarks.base import Benchmark, Tables
from overread.case import BadInput
from overread.runs._reader_study import key_of, other_cases, said_in
from overread.scratch import scratch_folder
from overread.study import packets
from overread.study.design import Rater
from overread.study.journal import Journal

if TYPE_CHECKING:
    from overread.benchmarks.people import PeopleMeasured
    from overread.records import RunRecord
    from overread.study.consensus import Said


# Between -1 and 1, and no share.
_INDICES = ("kappa", "rho")


class StudyFound(msgspec.Struct, frozen=True, kw_only=True):
    """What a study came to: measures of people, and of models against them.

    `raters` says of people how experienced they are, as far as the study file does; `margin` is
    the one that differences were held to, `run` that of the models.
    """

    folder: Path
    overread: str = __version__
    benchmark: str
    edition: str
    run: str = ""
    margin: float | None = None
    people: tuple[str, ...]
    raters: tuple[Rater, ...] = ()
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
    audit: Path | None = None,
) -> StudyFound:
    """Measure people as readers, alone or beside the models of a run over the same cases.

    Opens the key, which is written down; while somebody still reads, only if told to (`early`).
    Writes `analysis.json` and, for `human:` readers, `readings/READER.jsonl` and `cases.txt`, the
    cases that they read. What people made of models' replies becomes sheets, and those runs are
    measured with them; what an `audit` settled stands in place of what its readers said.
    """
    from overread.records import read_record
    from overread.study import analysis, consensus, rankings

    if margin is not None and not 0 <= margin < inf:
        raise BadInput(f"--margin {margin}: expected 0 or more, in the unit of the measures.")
    study = packets.open_study(folder)
    if run is not None:  # refused before the key is opened and anything written
        benchmark = read_record(run).benchmark
        if study.design.benchmark not in ("", benchmark):
            raise BadInput(
                f"{run} is a run of {benchmark}, and the study of {study.design.benchmark}. Give a "
                "run over the study's cases."
            )
    if audit is not None and all(
        task.kind != "audit" for task in packets.open_study(audit).design.task
    ):
        raise BadInput(
            f"--audit {audit}: this is no audit, a study of what others' readers did not agree on. "
            'Make one with kind = "audit".'
        )
    journal = Journal(folder, read_only=True)
    try:
        key = key_of(study, journal, "analyse", early)
        answers = list(journal.answers())
    finally:
        journal.close()
    readings = analysis.readings_of(study, answers, key)
    said = list(consensus.said_of(study, answers, key))
    final = [] if audit is None else _said_by_auditor(audit, said, early)
    decided = {
        at: one.values
        for at, one in consensus.settled(study, said, key, final).items()
        if one.audited and one.values
    }
    people = tuple(name for name in study.design.readers if any(r.reader == name for r in readings))
    # What a model is asked in the same place; of tasks that ask it twice, the first.
    replies = {
        (one.reader, one.key.request): one
        for one in reversed(readings)
        if one.key.request and not one.key.iteration and one.ask.name == "answer"
    }
    asked = [*reversed(replies.values())]
    _write_readings(folder, people, asked)
    if asked:
        cases = "".join(f"{name}\n" for name in sorted({one.key.case for one in asked}))
        _write_privately(folder / "cases.txt", cases.encode())
    remarks: list[str] = []
    sheets = _write_sheets(study, said, key, final, run)
    about_replies = {task.kind for task in study.design.task if task.run} & {
        one.kind for one in sheets
    }
    forms = [one for one in readings if one.key.kind not in about_replies]
    measures = [
        *analysis.form_shares(forms),
        *rankings.win_ratios(forms, decided),
        *analysis.agreements(readings),
        *analysis.conditions_apart(readings, margin),
    ]
    if margin is not None and run is None and not any("condition" in one.by for one in measures):
        raise BadInput(
            "--margin is for models beside people, or for two conditions. Name a run with --run."
        )
    for place in dict.fromkeys(one.run for one in sheets if one.run):
        measures += _measured_with(place, [one for one in sheets if one.run == place])
    if asked:
        # The same sheets restrict what is measured of people.
        words = {one.about.setting: str(one.path) for one in sheets if one.about.by}
        bench, tables = _with_people(study, asked, run, words, remarks)
        known = frozenset(people)
        measures += [
            one
            for one in bench.measure(tables)
            if one.reader in known and one.by.get("versus", "") not in known
        ]
        if run is not None:
            shares = {one.measure for one in bench.compared if one.in_shares}
            measures += analysis.differences(
                bench.per_case(tables), people, margin, bench.higher_is_better, shares
            )
    if len(people) < 3:
        remarks.append(
            "With fewer than three readers these numbers speak of these readers on cases like "
            "these. Nothing is said of other readers."
        )
    found = StudyFound(
        folder=folder,
        benchmark=study.design.benchmark,
        edition=study.design.edition,
        run="" if run is None else str(run),
        margin=margin,
        people=people,
        raters=tuple(one for one in study.design.reader if one.name in people),
        readings=len(readings),
        cannot_tell=analysis.cannot_tell(readings),
        measures=measures,
        remarks=tuple(remarks),
    )
    _write_privately(folder / "analysis.json", msgspec.json.encode(found, enc_hook=str))
    return found


def _said_by_auditor(audit: Path, said: Sequence[Said], early: bool) -> list[Said]:
    """What an audit decided; refused where it is one of another study."""
    from overread.study import consensus

    final = said_in(audit, "analyse", early)[1]
    strange = {consensus.place_of(one) for one in final} - {*map(consensus.place_of, said)}
    if strange:
        raise BadInput(
            f"--audit {audit}: it decides case {min(strange).case}, of which no reader of this "
            "study said anything. Give the audit of this one."
        )
    return final


class _Sheet(NamedTuple):
    """What all readers of a study together said about one run, as measuring takes it."""

    kind: str
    about: PeopleMeasured
    run: str
    path: Path


def _write_sheets(
    study: packets.Opened,
    said: Sequence[Said],
    key: Mapping[str, packets.Key],
    audit: Sequence[Said],
    run: Path | None,
) -> list[_Sheet]:
    """Sheets of all readers together, and of each beside them, for every kind that has one.

    They are about the run of their task, or about `run`.
    """
    from overread.benchmarks.people import Decided
    from overread.benchmarks.registry import class_of
    from overread.judging.sheet import write_csv
    from overread.study import consensus

    design = study.design
    bench = class_of(design.benchmark) if design.benchmark else None
    tasks = [
        (number, task)
        for number, task in enumerate(design.task, 1)
        if bench is not None and task.kind in bench.people_measured
    ]
    if bench is None or not tasks:
        return []
    shown = {
        consensus.Place(one.case, one.condition, one.task): one
        for one in key.values()
        if not one.training and not one.iteration
    }
    place = study.folder / "sheets"
    if place.is_symlink():
        raise BadInput(f"{place} is a link. Take it away, and analyse again.")
    place.mkdir(mode=0o700, exist_ok=True)
    kinds = [task.kind for _, task in tasks]
    found: list[_Sheet] = []
    for number, task in tasks:
        own = [one for one in said if one.task == number]
        of_task = {name: one for name, one in key.items() if one.task == number}
        together = consensus.joint(study, own, of_task, audit)
        about = bench.people_measured[task.kind]
        stem = about.setting if kinds.count(task.kind) == 1 else f"{about.setting}-{number}"
        for person, values in [("", together), *consensus.by_reader(own).items()]:
            decided = [
                Decided(
                    case=one.case,
                    facts=one.facts,
                    asks=study.displays[one.display].asks,
                    values=dict(given),
                )
                for at, given in values.items()
                for one in [shown[at]]
            ]
            header, *cells = bench.people_rows(task.kind, decided)
            name = f"{stem}-{person}.csv" if person else f"{stem}.csv"
            with scratch_folder(place) as scratch:
                write_csv(scratch / name, header, cells)
                (scratch / name).chmod(0o600)
                (scratch / name).replace(place / name)
        if own:
            about_run = task.run or ("" if run is None else str(run))
            path = (place / f"{stem}.csv").absolute()
            found.append(_Sheet(task.kind, about, about_run, path))
    return found


def _measured_with(run: str, sheets: Sequence[_Sheet]) -> list[oc.Measure]:
    """A run measured with the sheets that are about it.

    The same as `overread measure RUN --set SETTING=SHEET`: there is no other way to these numbers.
    """
    from overread.runs._kept import kept_runs

    (kept,) = kept_runs([Path(run)])
    words: dict[str, str] = {}
    for one in sheets:  # two tasks of one kind may be about one run
        others = words.get(one.about.setting)
        words[one.about.setting] = f"{others},{one.path}" if others else str(one.path)
    made = _with_words(kept.record, words).measure(kept.tables)
    return [
        one
        for one in made
        if any(
            one.measure in about.measures and (not about.by or about.by in one.by)
            for about in {sheet.about for sheet in sheets}
        )
    ]


def _with_words(record: RunRecord, words: Mapping[str, str]) -> Benchmark:
    """The benchmark of a run under its last settings and these."""
    from overread.runs._kept import reopened

    settings = record.settings | record.measured | dict(words)
    return reopened(record, record.edition.partition("+")[0], settings)


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
        benchmark=kept.record.benchmark,
        edition="authors",
        run=str(run),
        people=tuple(sheets),
        readings=0,
        cannot_tell={},
        measures=measures,
        remarks=(
            "As in the paper's tables, a difference on all boxes is reader minus model, and one on "
            "accurate boxes model minus reader.",
            "Two readers say nothing of others.",
        ),
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
    study: packets.Opened,
    asked: Sequence[Any],
    run: Path | None,
    words: Mapping[str, str],
    remarks: list[str],
) -> tuple[Benchmark, Tables]:
    """A run's tables with a reader more for each person; without a run, tables of people alone."""
    import polars as pl

    from overread.benchmarks.base import ReaderRecord
    from overread.runs._kept import kept_runs
    from overread.runs._opening import open_cases

    design = study.design
    kept = None if run is None else kept_runs([run])[0]
    settings = design.settings | dict(words)
    opened = open_cases(design.benchmark, design.cases, design.edition, settings)
    bench, tables = opened, None
    if kept is not None:
        bench, tables = _with_words(kept.record, words) if words else kept.bench, kept.tables
    if kept is not None and other_cases(kept.record.dataset, opened.dataset):
        remarks.append(
            f"{run} is over {kept.record.dataset}, and the study over {opened.dataset}: cases of "
            "one name are taken to be one."
        )
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
    from overread.report.comparing import margin_word

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
            one
            for one in found.measures
            if "answer" in one.by and one.by.keys() <= {"answer", "condition"}
        ],
        ("agreement", "Agreement of readers"): [
            one for one in found.measures if "question" in one.by
        ],
        ("differences", "Models minus readers, and readers under two conditions"): [
            one for one in found.measures if one.measure.startswith("diff_")
        ],
        ("replies", "Measured with what people said"): [
            one
            for one in found.measures
            if not one.measure.startswith("diff_")
            and (one.reader not in known or "coverage" in one.by)
            and not {"dimension", "finding", "versus"} & one.by.keys()
        ],
    }
    for (name, title), rows in kinds.items():
        if rows:
            who = "who" if name in ("differences", "replies") else "person"
            held = name == "differences" and found.margin is not None
            margin = (f"margin {found.margin:g}",) if held else ()
            yield oc.Table(
                name=name,
                title=title,
                columns=(who, "measure", "of", "value", "q", *margin),
                rows=tuple(
                    (
                        one.reader,
                        one.measure,
                        ", ".join(f"{k} {v}" for k, v in one.by.items()),
                        cell(one, unit=INDEX if one.measure.startswith(_INDICES) else None),
                        "" if one.q is None else f"{one.q:.3f}",
                        *(["" if "comparison" in one.by else margin_word(one)] if margin else []),
                    )
                    for one in rows
                ),
            )
