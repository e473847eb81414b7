"""Study files: several benchmarks, readers and options in one TOML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput
from overread.engine import Enrolment, Store
from overread.files import read_toml
from overread.records import check_out
from overread.runs._choosing import Tell, survey
from overread.runs._environment import default_store, load_config
from overread.runs._measuring import Run
from overread.runs._opening import enrolments, open_cases, open_judges, open_readers
from overread.runs._planning import Forecast, plan
from overread.runs._running import Unfinished, Watch, run


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


_KEYS: Final = (
    "A study has [[run]] tables ("
    + ", ".join(StudyRun.__struct_fields__)
    + "), [[reader]] tables (kind, model and a spec's other options), [[judge]] tables (the same, "
    "and role), store and concurrency. See docs/studies.md."
)


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a study, and what is known of it before it begins."""

    benchmark: str
    cases: str
    out: str
    forecasts: list[Forecast]


def plan_study(
    path: Path, *, store: Path | None = None, fresh: bool = False, tell: Tell | None = None
) -> Iterator[PlannedRun]:
    """Forecast everything a study file asks for, run by run. Nobody is asked."""
    study = read_study(path)
    for part, asked, _, _ in _checked(study, path):
        yield PlannedRun(
            benchmark=part.benchmark,
            cases=part.cases,
            out=str(part.folder(path)),
            forecasts=plan(**asked, store=store or study.store, fresh=fresh, tell=tell),
        )


def run_study(
    path: Path,
    *,
    store: Path | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[Run]:
    """Run everything a study file asks for, one run folder per benchmark."""
    study = read_study(path)
    place = store or study.store or default_store(load_config())
    checked = _checked(study, path)
    with Store(place, tell) as kept:
        begun: set[str] = set()  # two runs about one set are begun anew once, all before the first
        for _, _, bench, who in checked:
            dataset = kept.dataset_id(bench.name, bench.dataset, bench.policy)
            kept.enrol(who, dataset, fresh=fresh and bench.dataset not in begun)
            begun.add(bench.dataset)
    also: dict[str, Any] = {"concurrency": study.concurrency, "watch": watch, "tell": tell}
    for part, asked, _, _ in checked:
        try:
            done = run(**asked, out=part.folder(path), store=place, **also)
        except Unfinished as unfinished:
            if not fresh:
                raise
            raise Unfinished(unfinished.why, "without --fresh") from None
        yield done


def _checked(
    study: Study, path: Path
) -> list[tuple[StudyRun, dict[str, Any], Benchmark, list[Enrolment]]]:
    """Each run, what it asks for, its cases and who is asked.

    All are opened: a mistake in the last is better known before the first is asked.
    """
    config = load_config()
    found = []
    for part in study.run:
        bench = open_cases(part.benchmark, part.cases, part.edition, part.settings)
        seats = open_readers(bench, study.reader, config, study.concurrency)
        judges = study.judge if bench.roles else []
        seats += open_judges(bench, judges, config, study.concurrency)
        who = enrolments(seats)
        survey(bench, part.limit, part.only)
        check_out(part.folder(path))
        asked = {
            "benchmark": part.benchmark,
            "cases": part.cases,
            "readers": study.reader,
            "judges": judges,
            "edition": part.edition,
            "limit": part.limit,
            "only": part.only,
            "settings": part.settings,
        }
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
