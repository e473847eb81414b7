"""Replies that somebody else's scripts got become the tables of a run; no model is asked.

One file of JSON lines for each reader, called after it: `index` and `kind` (mcq, open,
reformulated) say which item and how it was put, `text` is the reply as it was, null where there was
none. `image` (original, blank, swap, text) and `order` may say what was shown. Where the reply was
judged, `scores` has {clarity, coherence, visual, truth} as the judge gave them and `judge` its
name. Replies are read anew under the edition, whatever the scripts made of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread.benchmarks.benchmark import Imported, ReaderRecord, Tables
from overread.benchmarks.files.models import declared_readers
from overread.benchmarks.medcmr.edition import settings
from overread.benchmarks.medcmr.loading import load, policy_at
from overread.benchmarks.medcmr.results import Taking
from overread.benchmarks.medcmr.schemas import answer_schema, case_row, case_schema
from overread.benchmarks.texts import storable
from overread.case import BadInput
from overread.judging.verdict import VERDICT_COLUMNS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["import_results", "read_results"]


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the replies at `replies`, a file or a folder of them, and at the places of `also`.

    `cases` is a set of questions as for a run; its images need not be there. `readers` is a
    models.json with their roles, `params_b` and `group`. Everything is read under the edition, so
    that `reparse` changes nothing.
    """
    from overread.benchmarks.registry import reopen_benchmark

    tables, warnings = read_results(cases, replies, readers, edition, words, also)
    assert cases is not None
    _, options = settings(edition, words)
    place = Path(cases)
    name = (place if place.is_dir() else place.parent).absolute().name
    digest = hashlib.sha256(tables.cases.write_json().encode()).hexdigest()[:8]
    policy = policy_at(cases, options)
    bench = reopen_benchmark("medcmr", f"{name}@{digest}", policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


def read_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    also: Sequence[str] = (),
) -> tuple[Tables, list[str]]:
    """The tables of what the files hold, and a line for everything passed over."""
    import polars as pl

    rules, options = settings(edition, words)
    if cases is None:
        raise BadInput("--cases is missing: a reply is read against its item. Give the questions.")
    declared = {} if readers is None else declared_readers(Path(readers))
    files = [file for root in (replies, *also) for file in _files(Path(root))]
    found = load(cases, options, seen=False)
    kept = [case for case in found.cases if case.kind in options.kinds]
    taking = Taking(kept, rules)
    for file in files:
        reader = storable(file.stem)
        taking.read(file, reader, declared.get(reader, ReaderRecord(name=reader)).traits)
    if not taking.answers:
        first = f" ({taking.warnings()[0].rstrip('.')})" if taking.warnings() else ""
        raise BadInput(f"{replies} holds no reply to an item of {cases}{first}. Give its replies.")
    names = list(dict.fromkeys(row[0] for row in taking.answers))
    record = {name: ReaderRecord(name=name, identity="imported") for name in names}
    heard: dict[str, set[str]] = {name: set() for name in names}
    for reader, case, *_ in taking.answers:
        heard[reader].add(case)
    told = set().union(*heard.values())
    asked = [case for case in kept if storable(case.case_id) in told]
    tables = Tables(
        cases=pl.DataFrame(map(case_row, asked), schema=dict(case_schema()), orient="row"),
        answers=pl.DataFrame(
            taking.answers, schema={"reader": pl.String, **answer_schema()}, orient="row"
        ),
        verdicts=_verdicts(taking.verdicts),
        readers=tuple(declared.get(name, record[name]) for name in names),
    )
    unheard = [
        f"{name} of the readers file has no replies." for name in declared if name not in record
    ]
    left = [f"{len(found.left)} items of the set are left out."] if found.left else []
    return tables, [*left, *taking.warnings(), *unheard, *_gaps(heard, told, len(kept))]


def _gaps(heard: Mapping[str, set[str]], told: set[str], whole: int) -> Iterator[str]:
    """What a part of the set, or a part of what others answered, means for the numbers."""
    if len(told) < whole:
        yield (
            f"the replies are about {len(told)} of the set's {whole} items: the others are not "
            "counted."
        )
    for name, cases in heard.items():
        if len(cases) < len(told):
            missing = len(told) - len(cases)
            items = "1 item" if missing == 1 else f"{missing} items"
            yield f"{name} has no reply to {items} that others replied to: counted as wrong."


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the replies as JSON lines.")
    found = sorted(
        file for file in root.iterdir() if file.suffix.lower() == ".jsonl" and file.is_file()
    )
    if not found:
        raise BadInput(f"{root} holds no .jsonl. Give one for each reader, called after it.")
    return found


def _verdicts(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame | None:
    import polars as pl

    if not rows:
        return None
    other: dict[str, Any] = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")
