"""Several runs at once: study files, the demo, and the instrument checked against its controls.

A study has several benchmarks, readers and options in one TOML file. `selfcheck` and `demo` put
every benchmark on synthetic patients to readers whose behaviour is known by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import class_of, with_phantoms
from overread.case import BadInput
from overread.engine import Enrolment
from overread.files import read_toml
from overread.records import check_folder, check_out
from overread.runs._engines import Engine
from overread.runs._environment import default_store
from overread.runs._measuring import Run
from overread.runs._opening import (
    Tell,
    enrolments,
    open_cases,
    open_judges,
    open_readers,
    phantom_cases,
    survey,
)
from overread.runs._planning import Forecast, plan
from overread.runs._reporting import OWN_CARDS
from overread.runs._running import Unfinished, Watch, run
from overread.runs._running_part import PartDone, run_part
from overread.runs._shards import Part, store_of
from overread.runs._stores import open_store


class StudyRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a study: a benchmark, its cases, and its own settings."""

    benchmark: str
    cases: str
    edition: str = "corrected"
    out: str | None = None
    limit: int | None = None
    only: str | None = None
    set: dict[str, Any] = {}

    @property
    def settings(self) -> dict[str, str]:
        return {key: str(value) for key, value in self.set.items()}

    def folder(self, study: Path) -> Path:
        return Path(self.out or Path("runs") / f"{study.stem}-{self.benchmark}")


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study file: `[[run]]`, `[[reader]]` and `[[judge]]` tables.

    Every reader goes through each run; judges judge where a benchmark asks for them. A judge is a
    reader's table that may name its `role`.
    """

    run: list[StudyRun]
    reader: list[dict[str, Any]]
    judge: list[dict[str, Any]] = []
    store: str | None = None
    concurrency: int | None = None
    engine: str = "local"
    address: str | None = None
    actors: int | None = None


_KEYS: Final = (
    "A study has [[run]] tables ("
    + ", ".join(StudyRun.__struct_fields__)
    + "), [[reader]] tables (kind, model and a spec's other options), [[judge]] tables (the same, "
    "and role), store, concurrency, engine, address and actors. See docs/studies.md."
)


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a study, and what is known of it before it begins."""

    benchmark: str
    cases: str
    out: str
    forecasts: list[Forecast]


def plan_study(
    path: Path,
    *,
    store: str | Path | None = None,
    fresh: bool = False,
    part: Part | None = None,
    tell: Tell | None = None,
) -> Iterator[PlannedRun]:
    """Forecast everything a study file asks for, run by run. Nobody is asked."""
    study = read_study(path)
    place = _store_of(study, store, part)
    for one, asked, _, _ in _opened(study, path):
        yield PlannedRun(
            benchmark=one.benchmark,
            cases=one.cases,
            out=str(one.folder(path)),
            forecasts=plan(**asked, store=place, fresh=fresh, part=part, tell=tell),
        )


def run_study(
    path: Path,
    *,
    store: str | Path | None = None,
    fresh: bool = False,
    part: Part | None = None,
    engine: str | None = None,
    address: str | None = None,
    actors: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[Run | PartDone]:
    """Run everything a study file asks for, one run folder per benchmark; or a part of it."""
    study = read_study(path)
    where = Engine(study.engine, study.address, study.actors)
    if engine is not None:
        where = Engine(engine, address, actors)
    where.check()
    place = _store_of(study, store, part)
    opened = _opened(study, path)
    with open_store(place, tell) as kept:
        begun: set[str] = set()  # two runs about one set are begun anew once, all before the first
        for _, _, bench, who in opened:
            dataset = kept.dataset_id(bench.name, bench.dataset, bench.policy)
            kept.enrol(who, dataset, fresh=fresh and bench.dataset not in begun)
            begun.add(bench.dataset)
    also: dict[str, Any] = {"engine": where.name, "address": where.address, "actors": where.actors}
    also |= {"concurrency": study.concurrency, "watch": watch, "tell": tell}
    for one, asked, _, _ in opened:
        done: Run | PartDone
        try:
            if part is not None:
                done = run_part(**asked, part=part, store=place, **also)
            else:
                done = run(**asked, out=one.folder(path), store=place, **also)
        except Unfinished as unfinished:
            if not fresh:
                raise
            raise Unfinished(unfinished.why, "without --fresh") from None
        yield done


def _store_of(study: Study, named: str | Path | None, part: Part | None) -> str | Path:
    if part is not None:
        return store_of(part, named, study.store)
    return named or study.store or default_store()


def _opened(
    study: Study, path: Path
) -> list[tuple[StudyRun, dict[str, Any], Benchmark, list[Enrolment]]]:
    """Each run, what it asks for, its cases and who is asked.

    All are opened: a mistake in the last is better known before the first is asked.
    """
    found = []
    for part in study.run:
        bench = open_cases(part.benchmark, part.cases, part.edition, part.settings)
        seats = open_readers(bench, study.reader, study.concurrency)
        judges = study.judge if bench.roles else []
        seats += open_judges(bench, judges, study.concurrency)
        who = enrolments(seats)
        survey(bench, part.limit, part.only)
        check_out(part.folder(path))
        same = ("benchmark", "cases", "edition", "limit", "only", "settings")
        asked = {name: getattr(part, name) for name in same}
        asked |= {"readers": study.reader, "judges": judges}
        found.append((part, asked, bench, who))
    return found


def read_study(path: Path) -> Study:
    """Read a study file, or say in one line what is wrong with it."""
    try:
        study = msgspec.convert(read_toml(path), Study)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error}. {_KEYS}") from None
    if not study.run or not study.reader:
        raise BadInput(f"{path}: a study needs at least one [[run]] and one [[reader]].")
    places = [study.store or "", *(part.cases + (part.out or "") for part in study.run)]
    if any("\0" in place for place in places):
        raise BadInput(f"{path}: a path cannot hold a NUL character. Mend it.")
    folders = [part.folder(path) for part in study.run]
    if len(set(folders)) < len(folders):
        raise BadInput(f"{path}: two runs would write the same folder. Give each its own out.")
    return study


# ---------------------------------------------------------------- controls on phantoms


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What one control is, what it was found to be, and what the authors' edition takes it for.

    `recovered` is whether each edition found what it must; `signature` is that of `found`.
    """

    benchmark: str
    control: str
    expected: str
    found: str
    authors: str
    note: str | None = None
    recovered: bool
    signature: str


def selfcheck(
    benchmark: str | None = None,
    *,
    seed: int = 0,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[list[Checked]]:
    """Put every control to fresh phantoms with an empty store; one list for each benchmark.

    Both editions are asked, so that a control the published rules misplace is seen.
    """
    for one in with_phantoms(tell) if benchmark is None else (class_of(benchmark),):
        phantoms = one.phantoms
        if phantoms is None:
            raise BadInput(f"{one.name} has no phantoms. Give cases of your own.")
        yield _checked(one.name, f"phantom:{phantoms.size}:{seed}", phantoms.settings, watch)


def _controls(names: Iterable[str]) -> list[str]:
    """Readers or judges that need no server."""
    return [f"control:{name}" for name in names]


def _checked(
    name: str, cases: str, settings: Mapping[str, str], watch: Watch | None
) -> list[Checked]:
    found = {}
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        for edition in ("corrected", "authors"):
            bench = open_cases(name, cases, edition, settings)
            done = run(
                name,
                cases,
                _controls(bench.expected()),
                judges=_controls(bench.judges()),
                edition=edition,
                settings=settings,
                out=place / edition,
                store=place / "store.sqlite",
                watch=watch,
            )
            found[edition] = (bench.recovered(done.records), done.record.signature)
    ours, signature = found["corrected"]
    theirs = {one.control: one for one in found["authors"][0]}
    return [
        Checked(
            benchmark=name,
            control=one.control,
            expected=one.expected,
            found=one.found,
            authors=theirs[one.control].found,
            note=one.note,
            recovered=one.ok and theirs[one.control].ok,
            signature=signature,
        )
        for one in ours
    ]


_PAGE = "report.html"


def demo(out: Path, *, watch: Watch | None = None, tell: Tell | None = None) -> Iterator[Run]:
    """One run folder per benchmark below `out`, each yielded when it is done; last, the page."""
    from overread.runs._reporting import report

    benchmarks = list(with_phantoms(tell))
    names = [one.name for one in benchmarks]
    own = {*names, _PAGE}
    check_folder(f"--out {out}", out, lambda at: own.issuperset(one.name for one in at.iterdir()))
    for name in names:
        check_out(out / name)
    done = []
    with ExitStack() as stack:
        # Processes draw the next benchmark's patients while one is asked about its own.
        ahead = ThreadPoolExecutor(1)
        stack.callback(ahead.shutdown, cancel_futures=True)
        cases_of = {one.name: f"phantom:{one.phantoms.size}" for one in benchmarks if one.phantoms}
        drawn = {name: ahead.submit(phantom_cases, name, of) for name, of in cases_of.items()}
        for name, cases in cases_of.items():
            if tell is not None:
                tell(f"making phantoms for {name} (once) …")
            drawn[name].result()
            bench = open_cases(name, cases, "corrected", {})
            readers, judges = _controls(bench.controls()), _controls(bench.judges())
            made = run(name, cases, readers, judges=judges, out=out / name, watch=watch, tell=tell)
            done.append(made)
            yield made
    report([one.folder for one in done], out / _PAGE, cards=OWN_CARDS)
