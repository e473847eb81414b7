"""Options that several commands share, and what several do: read KEY=VALUE, print, finish."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from overread.benchmarks.registry import benchmark_names
from overread.case import BadInput, Table, printable
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table, print_verdict

if TYPE_CHECKING:
    from overread.engine import Tally
    from overread.runs import PartDone, Run


def _names() -> str:
    """Listed, not imported: what each is becomes known when one is used."""
    return " or ".join(", ".join(benchmark_names()).rsplit(", ", 1))


def benchmark_help() -> str:
    return f"A benchmark: {_names()}."


Benchmark = Annotated[str, Argument(help=benchmark_help, completes="benchmarks")]
BenchmarkOrStudy = Annotated[
    str, Argument(help=lambda: f"{_names()}; or a study file, .toml.", completes="benchmarks")
]
Folder = Annotated[Path, Argument(help="A run folder.")]
Folders = Annotated[list[Path], Argument(help="Run folders.")]
IncludeImages = Annotated[
    bool,
    Option(
        "--include-images",
        help="Show pictures of a set that is not open, and texts of a credentialed one.",
    ),
]
Cases = Annotated[str | None, Option(help="A case file or folder, or phantom:N[:SEED].")]
Readers = Annotated[
    list[str] | None,
    Option(
        help="openai:MODEL@URL, control:NAME or recorded:FILE. Repeatable.",
        completes="readers",
    ),
]
Judges = Annotated[
    list[str] | None, Option(help="[answer|steps|order|score=]SPEC: a judge. Repeatable.")
]
Edition = Annotated[str, Option(help="corrected (default) or authors.")]
Out = Annotated[Path | None, Option(help="The run folder to write.")]
StoreFile = Annotated[
    str | None,
    Option(help="The reply store (.overread/store.sqlite), or the link of one that is served."),
]
Shard = Annotated[
    str | None,
    Option(help="I/N: ask only part I of N; in a Slurm array, the task's own by default."),
]
Limit = Annotated[int | None, Option(help="Take a seeded stratified sample of N cases.")]
Only = Annotated[
    Path | None, Option(help="Ask only about the cases this file names: txt, csv or jsonl.")
]
Settings = Annotated[
    list[str] | None,
    Option("--set", help="KEY=VALUE, a rule or option. Repeatable.", completes="settings"),
]
Engine = Annotated[
    str | None, Option(help="local (default), or ray: the actors of a Ray cluster ask.")
]
Address = Annotated[
    str | None,
    Option(help="auto, or HOST:PORT of a Ray cluster to join; else one is started here."),
]
Actors = Annotated[int | None, Option(help="How many Ray actors ask each model.")]
Concurrency = Annotated[int | None, Option(help="Most calls under way, for each model.")]
Fresh = Annotated[
    bool, Option("--fresh", help="Ask everything again; what was kept before is not used.")
]
Json = Annotated[bool, Option("--json", help="Print JSON for a machine.")]
Wide = Annotated[bool, Option("--wide", help="Print every column of a table, and every n.")]

# What a study file says itself.
_OF_A_STUDY = ("cases", "reader", "judge", "edition", "out", "limit", "only", "set_", "concurrency")
_AS_GIVEN = ("benchmark", "cases", "edition", "store", "limit", "only", "fresh")


def pairs_from(
    words: Iterable[str] | None, option: str, example: str, shape: str = "KEY=VALUE"
) -> dict[str, str]:
    """`["label=pneumonia"]` -> `{"label": "pneumonia"}`."""
    pairs: dict[str, str] = {}
    for word in words or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(f'{option} {word}: expected {shape}, as in "{option} {example}".')
        if key in pairs:
            raise BadInput(f"{option} {key} is given twice; give it once.")
        pairs[key] = value
    return pairs


def settings_from(words: list[str] | None) -> dict[str, str]:
    """`["px=512"]` -> `{"px": "512"}`."""
    return pairs_from(words, "--set", "px=512")


def listed(words: str | None) -> list[str]:
    """`accuracy, CGR` -> the two."""
    return [word.strip() for word in (words or "").split(",") if word.strip()]


def print_files(files: Mapping[str, Sequence[Path]]) -> None:
    """How many files of each kind were written, and where."""
    for kind, written in files.items():
        print(f"{kind}: {len(written)} files in {written[0].parent}")


def tell(line: str) -> None:
    """One line for the user, beside whatever goes to standard output.

    What a file holds may be quoted in it: nothing of that may steer the terminal.
    """
    print(f"overread: {printable(' '.join(line.split()))}", file=sys.stderr, flush=True)


def print_json(value: Any) -> int:
    """JSON for a machine, and the exit code of a command that has said all it has to say."""
    print(msgspec.json.encode(value, enc_hook=str).decode())
    return 0


def print_found(value: Any, *tables: Table, json: bool, wide: bool = False) -> int:
    """What was found, as tables or as JSON for a machine; and the exit code."""
    if json:
        return print_json(value)
    for table in tables:
        print_table(table, wide=wide)
    return 0


def of_a_run(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `run` and `plan` take alike, of a command's options.

    None where a study is named, beside which nothing that it says itself may be given.
    """
    if not given["benchmark"].endswith(".toml"):
        if given["cases"] is None:
            raise BadInput("--cases is missing. Give a case file, or phantom:480 to try it out.")
        who = {"readers": given["reader"] or [], "judges": given["judge"] or []}
        same = {name: given[name] for name in _AS_GIVEN}
        return who | same | {"settings": settings_from(given["set_"]), "tell": tell}
    for name in _OF_A_STUDY:
        unsaid = "corrected" if name == "edition" else None
        if given[name] not in (unsaid, []):
            option, study = f"--{name.rstrip('_')}", given["benchmark"]
            raise BadInput(f"{option} does not go with a study file. Put it into {study}.")
    return None


def engine_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Where trials are asked, of a command's options: what was said, and was checked."""
    from overread.runs import Engine

    said = {name: given[name] for name in ("engine", "address", "actors")}
    said["engine"] = said["engine"] or "local"
    Engine(*said.values()).check()
    return said


def print_headline(run: Run, *, wide: bool = False) -> None:
    """The answer for each reader, and the first table; the page has the others, and the figures."""
    tables = [exhibit for exhibit in run.exhibits.values() if isinstance(exhibit, Table)]
    for table in tables[:1]:
        print_table(table, wide=wide)
    for headline in run.headlines:
        print_verdict(headline.answer, f"  {headline.reader}: {headline.question}")
    rest = (len(tables[1:]), "more table"), (len(run.exhibits) - len(tables), "figure")
    said = " and ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in rest if count)
    print(f"{said}{': ' * bool(said)}{run.folder / 'report.html'}", flush=True)


def _print_part(done: PartDone) -> None:
    """What became of a part, and what is to be done when all parts are asked."""
    table = Table(
        name="part",
        title=f"Part {done.part} of {done.benchmark}",
        columns=("reader", "trials", "answered", "kept", "shared", "failed"),
        rows=tuple(
            (o.reader, *(f"{n:,}" for n in (o.trials, o.answered, o.kept, o.shared, o.failed)))
            for o in done.asked
        ),
        notes=("A part is not measured: merge the stores, and run without --shard.",),
        signature=f"replies in {done.store}",
    )
    print_table(table)


def finish(
    runs: Iterable[Run | PartDone],
    *,
    json: bool,
    judged: bool = False,
    fresh: bool = False,
    wide: bool = False,
) -> int:
    """Print what runs found and say what is missing: 3 when trials went unanswered, else 0.

    Each is printed when it is there: what comes after it may fail. `judged`: only judges were
    asked, and the same command again would ask nobody else.
    """
    from overread.runs import PartDone

    missing: list[Run] = []
    short = False
    again = "without --fresh" if fresh else "again"
    for run in runs:
        if isinstance(run, PartDone):
            (print_json if json else _print_part)(run)
            if run.failed:
                reasons = sum((Counter(one.reasons) for one in run.asked), Counter[str]())
                tell(
                    f"{run.failed} trials of part {run.part} are unanswered"
                    f"{_reasons(reasons)}. Run the same command {again} to resume."
                )
                short = True
            continue
        if run.unjudged or (run.unanswered and not judged):
            missing.append(run)
        if json:
            print((run.folder / "measures.json").read_text(encoding="utf-8"), end="", flush=True)
            continue
        print_headline(run, wide=wide)
    for run in missing:
        judging = {name: tally for name, tally in run.tallies.items() if "(judging" in name}
        asking = {name: tally for name, tally in run.tallies.items() if name not in judging}
        for count, what, tallies in (
            (0 if judged else run.unanswered, "trials are unanswered", asking),
            (run.unjudged, "questions to judges are unanswered", judging),
        ):
            if count:
                tell(
                    f"{count} {what}{_reasons_of(tallies)}. Run the same command {again} to resume."
                )
    return 3 if missing or short else 0


def _reasons_of(tallies: Mapping[str, Tally]) -> str:
    """` (HTTP 400 × 12)`, as far as this command saw it."""
    reasons: Counter[str] = Counter()
    for tally in tallies.values():
        reasons.update(tally.reasons)
    return _reasons(reasons)


def _reasons(reasons: Mapping[str, int]) -> str:
    told = counted(reasons)
    return f" ({told})" if told else ""


def counted(reasons: Mapping[str, int]) -> str:
    """`HTTP 400 × 12, timeout × 3`."""
    return ", ".join(f"{reason} × {times}" for reason, times in sorted(reasons.items()))
