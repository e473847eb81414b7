"""Options that several commands share, and the reading of `--set KEY=VALUE`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.benchmarks.registry import benchmark_names
from overread.case import BadInput, printable

if TYPE_CHECKING:
    from overread.engine import Tally
    from overread.runs import Run

# Listed, not imported: what each is becomes known when one is used.
_NAMES = " or ".join(", ".join(benchmark_names()).rsplit(", ", 1))
Benchmark = Annotated[str, typer.Argument(help=f"A benchmark: {_NAMES}.")]
BenchmarkOrStudy = Annotated[str, typer.Argument(help=f"{_NAMES}; or a study file, .toml.")]
IncludeImages = Annotated[
    bool,
    typer.Option(
        "--include-images",
        help="Show pictures of a set that is not open, and texts of a credentialed one.",
    ),
]
Cases = Annotated[
    str | None, typer.Option("--cases", help="A case file or folder, or phantom:N[:SEED].")
]
Readers = Annotated[
    list[str] | None,
    typer.Option("--reader", help="openai:MODEL@URL, control:NAME or recorded:FILE. Repeatable."),
]
Judges = Annotated[
    list[str] | None,
    typer.Option("--judge", help="[answer|steps|order|score=]SPEC: a judge. Repeatable."),
]
Edition = Annotated[str, typer.Option("--edition", help="corrected (default) or authors.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder to write.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", help="The reply store (.overread/store.sqlite).")
]
Limit = Annotated[
    int | None, typer.Option("--limit", help="Take a seeded stratified sample of N cases.")
]
Only = Annotated[
    Path | None,
    typer.Option("--only", help="Ask only about the cases this file names: txt, csv or jsonl."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="KEY=VALUE, a rule or option. Repeatable.")
]
Engine = Annotated[str, typer.Option("--engine", help="local.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", help="Most calls under way, for each reader.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Ask everything again; what was kept before is not used.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]


def settings_from(words: list[str] | None) -> dict[str, str]:
    """`["px=512"]` -> `{"px": "512"}`."""
    settings: dict[str, str] = {}
    for word in words or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(f'--set {word}: expected KEY=VALUE, as in "--set px=512".')
        if key in settings:
            raise BadInput(f"--set {key} is given twice; give it once.")
        settings[key] = value
    return settings


def tell(line: str) -> None:
    """One line for the user, beside whatever goes to standard output."""
    print(f"overread: {printable(' '.join(line.split()))}", file=sys.stderr, flush=True)


def check_engine(engine: str) -> None:
    if engine != "local":
        raise BadInput(f"--engine {engine}: this version has the engine local.")


def check_study(
    study: str,
    cases: str | None,
    reader: list[str] | None,
    judge: list[str] | None,
    edition: str,
    out: Path | None,
    limit: int | None,
    only: Path | None,
    set_: list[str] | None,
    concurrency: int | None,
) -> None:
    """What a study file says itself cannot be said beside it."""
    given = {
        "--cases": cases,
        "--reader": reader,
        "--judge": judge,
        "--edition": edition if edition != "corrected" else None,
        "--out": out,
        "--limit": limit,
        "--only": only,
        "--set": set_,
        "--concurrency": concurrency,
    }
    extra = [name for name, value in given.items() if value not in (None, [])]
    if extra:
        raise BadInput(f"{extra[0]} does not go with a study file. Put it into {study}.")


def print_headline(run: Run) -> None:
    """The first table of a run; the page has the others, and the figures."""
    from overread.case import Table
    from overread.cli.show import print_table

    tables = [exhibit for exhibit in run.exhibits.values() if isinstance(exhibit, Table)]
    for table in tables[:1]:
        print_table(table)
    rest = (len(tables[1:]), "more table"), (len(run.exhibits) - len(tables), "figure")
    said = " and ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in rest if count)
    print(f"{said}{': ' * bool(said)}{run.folder / 'report.html'}", flush=True)


def finish(runs: Iterable[Run], *, json: bool, judged: bool = False, fresh: bool = False) -> int:
    """Print what runs found and say what is missing: 3 when trials went unanswered, else 0.

    Each is printed when it is there: what comes after it may fail. `judged`: only judges were
    asked, and the same command again would ask nobody else.
    """
    missing = []
    again = "without --fresh" if fresh else "again"
    for run in runs:
        if run.unjudged or (run.unanswered and not judged):
            missing.append(run)
        if json:
            print((run.folder / "measures.json").read_text(encoding="utf-8"), end="", flush=True)
            continue
        print_headline(run)
    for run in missing:
        judging = {name: tally for name, tally in run.tallies.items() if "(judging" in name}
        asking = {name: tally for name, tally in run.tallies.items() if name not in judging}
        for count, what, tallies in (
            (0 if judged else run.unanswered, "trials are unanswered", asking),
            (run.unjudged, "questions to judges are unanswered", judging),
        ):
            if count:
                tell(f"{count} {what}{_reasons(tallies)}. Run the same command {again} to resume.")
    return 3 if missing else 0


def _reasons(tallies: Mapping[str, Tally]) -> str:
    """` (HTTP 400 × 12)`, as far as this command saw it."""
    reasons: dict[str, int] = {}
    for tally in tallies.values():
        for reason, times in tally.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + times
    told = ", ".join(f"{reason} × {times}" for reason, times in sorted(reasons.items()))
    return f" ({told})" if told else ""
