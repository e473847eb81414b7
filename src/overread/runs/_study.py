"""Study files: several benchmarks, readers and options in one TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from overread.case import BadInput
from overread.runs._measuring import Run
from overread.runs._running import Watch, run

__all__ = ["Study", "run_study"]


class StudyRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a study: a benchmark, its cases, and its own settings."""

    benchmark: str
    cases: str
    edition: str = "corrected"
    out: str | None = None
    limit: int | None = None
    set: dict[str, Any] = {}


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study file: `[[run]]` and `[[reader]]` tables; every reader goes through each run."""

    run: list[StudyRun]
    reader: list[dict[str, Any]]
    store: str | None = None
    concurrency: int | None = None


def run_study(
    path: Path, *, store: Path | None = None, watch: Watch | None = None
) -> Iterator[Run]:
    """Run everything a study file asks for, one run folder per benchmark."""
    study = read_study(path)
    for part in study.run:
        yield run(
            part.benchmark,
            part.cases,
            study.reader,
            edition=part.edition,
            out=part.out or Path("runs") / f"{path.stem}-{part.benchmark}",
            store=store or study.store,
            limit=part.limit,
            settings={key: str(value) for key, value in part.set.items()},
            concurrency=study.concurrency,
            watch=watch,
        )


def read_study(path: Path) -> Study:
    """Read a study file, or say in one line what is wrong with it."""
    try:
        study = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Study)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}. Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadInput(f"{path}: {error}. A study has [[run]] and [[reader]] tables.") from None
    if not study.run or not study.reader:
        raise BadInput(f"{path}: a study needs at least one [[run]] and one [[reader]].")
    folders = [part.out or part.benchmark for part in study.run]
    if len(set(folders)) < len(folders):
        raise BadInput(f"{path}: two runs would write the same folder. Give each its own out.")
    return study
