"""What a paper takes of a report: names of files, and the list that says what each of them is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from overread.case import BadInput, Figure, Table
from overread.files import MOST_TOML, open_file, read_bytes
from overread.judging.sheet import guarded
from overread.report.reported import Exhibit, Reported

CONTENTS: Final = "contents.csv"
_HEADER: Final = ("file", "kind", "title", "notes", "signature")
_LONGEST: Final = 80
_FILE: Final = re.compile(r"[a-z0-9_-]{1,120}\.(csv|tex|svg|pdf|png)")


class Named(NamedTuple):
    """An exhibit, and how its files are called without their suffix."""

    stem: str
    exhibit: Exhibit


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was written: a row of `contents.csv`."""

    file: str
    kind: str
    title: str
    notes: str = ""
    signature: str = ""


def tables_of(runs: Sequence[Reported]) -> Iterator[tuple[str, Table]]:
    """Every table of the runs with the stem of its file; those with published figures last."""
    for stem, exhibit in _named(runs):
        if isinstance(exhibit, Table):
            yield stem, exhibit


def figures_of(runs: Sequence[Reported]) -> Iterator[tuple[str, Figure]]:
    """Every figure of the runs with the stem of its files."""
    for stem, exhibit in _named(runs):
        if isinstance(exhibit, Figure):
            yield stem, exhibit


def _named(runs: Sequence[Reported]) -> Iterator[Named]:
    """`BENCHMARK-summary`; a second run of a benchmark is `BENCHMARK-2-…`."""
    met: dict[str, int] = {}
    taken: set[str] = set()
    for run in runs:
        benchmark = run.record.benchmark
        met[benchmark] = met.get(benchmark, 0) + 1
        lead = benchmark if met[benchmark] == 1 else f"{benchmark}-{met[benchmark]}"
        for exhibit in run.exhibits:
            yield Named(_free(f"{lead}-{exhibit.name}", taken), exhibit)
        for table in run.published:
            yield Named(_free(f"{lead}-published-{table.name}", taken), table)


def _free(words: str, taken: set[str]) -> str:
    """A plain name nobody has yet: small letters, digits, - and _, since disks differ."""
    plain = re.sub(r"[^a-z0-9_]+", "-", words.lower()).strip("-")[:_LONGEST] or "exhibit"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name)
    return name


# ---------------------------------------------------------------- the list of files


def write_contents(folder: Path, written: Sequence[Exported]) -> None:
    """`contents.csv`: what every file of a folder is, and what its numbers stand on."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for one in written:
        row = (one.file, one.kind, one.title, one.notes, one.signature)
        writer.writerow([guarded(cell) for cell in row])
    (folder / CONTENTS).write_text(text.getvalue(), encoding="utf-8")


def is_ours(folder: Path) -> bool:
    """Whether a folder holds an earlier export."""
    try:
        with open_file(folder / CONTENTS) as file:
            return file.readline(1000).decode().rstrip("\r\n") == ",".join(_HEADER)
    except (BadInput, UnicodeDecodeError):
        return False


def earlier(folder: Path) -> list[Path]:
    """The files of an earlier export that are still there; no name leads out of the folder."""
    if not is_ours(folder):
        return []
    text = read_bytes(folder / CONTENTS, at_most=MOST_TOML).decode("utf-8", "replace")
    try:
        names = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:
        return []
    return [folder / name for name in names if _FILE.fullmatch(name) and (folder / name).is_file()]
