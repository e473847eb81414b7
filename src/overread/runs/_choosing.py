"""Which cases a run takes: all of them, those a file names, or a seeded stratified sample.

What a set holds and a run does not ask about is told before anybody is asked, and kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput
from overread.files import read_text
from overread.judging.sheet import guarded

# The columns that name a case, the first that a file has; `case` is how our own tables call it.
_COLUMNS: Final = ("case_id", "case", "index", "id")
_TABLES: Final = {".csv": ",", ".tsv": "\t"}
_LINES: Final = (".jsonl", ".ndjson")
_SHOWN: Final = 3


class Chosen(NamedTuple):
    """The cases of a run, None for all; how many they are; and the file that named them.

    `only` is its name and the digest of the cases it names, as in "hard.txt@1a2b3c4d".
    """

    cases: frozenset[str] | None
    n: int
    only: str | None = None


def survey(bench: Benchmark, limit: int | None, only: str | Path | None = None) -> Chosen:
    """Validate every case before anything is asked; choose those named, and of these the sample."""
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: it must be 1 or more.")
    named = None if only is None else _named(Path(only), bench)
    strata: dict[tuple[str, ...], list[str]] = {}
    total = 0
    for case in bench.cases():
        if named is None or case.case_id in named:
            total += 1
            if limit is not None:
                strata.setdefault(bench.stratum(case), []).append(case.case_id)
    chosen = named
    if limit is not None and limit < total:
        chosen, total = stratified_sample(strata, limit), limit
    if chosen is not None:
        bench.sample_from(chosen)
    if only is None or named is None:
        return Chosen(chosen, total)
    digest = blake2b(msgspec.json.encode(sorted(named)), digest_size=4).hexdigest()
    return Chosen(chosen, total, f"{Path(only).name}@{digest}")


def _named(path: Path, bench: Benchmark) -> frozenset[str]:
    """The cases that a file names; by their index too where that is what its column has."""
    column, names = _names_in(path)
    by_index: dict[str, list[str]] = {}
    known = set()
    for case in bench.cases():
        known.add(case.case_id)
        if column == "index" and hasattr(case, "index"):
            by_index.setdefault(str(case.index), []).append(case.case_id)
    strange = [name for name in names if name not in known and name not in by_index]
    if strange:
        raise BadInput(f"--only {path}: {_strange(strange, bench)} Mend the file.")
    found = {one for name in names for one in ([name] if name in known else by_index[name])}
    return frozenset(found)


def _strange(names: Sequence[str], bench: Benchmark) -> str:
    first = ", ".join(f'"{name[:60]}"' for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    left = dict(bench.left_out or ())
    why = f" ({names[0]} is left out: {left[names[0]].rstrip('.')})" if names[0] in left else ""
    return f"{first}{more} {'are no cases' if len(names) > 1 else 'is no case'} of the set{why}."


def _names_in(path: Path) -> tuple[str, dict[str, None]]:
    """The names that a file has, each once in its order, and what it calls them."""
    text = read_text(path, named=f"--only {path}")
    kind = path.suffix.lower()
    if kind in _TABLES:
        column, cells = _of_table(path, text, _TABLES[kind])
    elif kind in _LINES:
        column, cells = _of_lines(path, text)
    else:
        column, cells = "", text.splitlines()
    names = dict.fromkeys(cell.strip() for cell in cells)
    names.pop("", None)
    if not names:
        raise BadInput(f"--only {path}: it names no case. Give a case id on each line.")
    return column, names


def _of_table(path: Path, text: str, comma: str) -> tuple[str, list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True))
    except csv.Error as error:
        raise BadInput(f"--only {path}: it is no csv file: {error}. Mend it.") from None
    header = [name.strip() for name in rows[0]] if rows else []
    column = _column(path, header)
    place = header.index(column)
    return column, [row[place] for row in rows[1:] if len(row) > place]


def _of_lines(path: Path, text: str) -> tuple[str, list[str]]:
    column, cells = "", []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            raise BadInput(f"--only {path} line {number}: it is no JSON. Mend it.") from None
        if isinstance(row, dict):
            column = _column(path, row, f" line {number}")
            row = row[column]
        if isinstance(row, bool) or not isinstance(row, str | int):
            raise BadInput(f"--only {path} line {number}: a case id is a text or a number.")
        cells.append(str(row))
    return column, cells


def _column(path: Path, names: Iterable[str], where: str = "") -> str:
    held = set(names)
    found = next((name for name in _COLUMNS if name in held), None)
    if found is None:
        listed = ", ".join(_COLUMNS)
        raise BadInput(f"--only {path}{where}: it has none of the columns {listed}. Add one.")
    return found


def stratified_sample(
    strata: Mapping[tuple[str, ...], Sequence[str]], limit: int, seed: int = 0
) -> frozenset[str]:
    """`limit` ids, each stratum in proportion (largest remainders first), drawn with a seed."""
    total = sum(map(len, strata.values()))
    limit = min(limit, total)
    quota = {name: limit * len(ids) // total for name, ids in strata.items()}
    remainders = sorted(strata, key=lambda name: (-(limit * len(strata[name]) % total), name))
    for name in remainders[: limit - sum(quota.values())]:
        quota[name] += 1
    draw = Random(seed)
    samples = (draw.sample(sorted(strata[name]), quota[name]) for name in sorted(strata))
    return frozenset(chosen for sample in samples for chosen in sample)


# Where one line for the user goes.
Tell = Callable[[str], None]
_FILE = "left_out.csv"


def remarks_of(bench: Benchmark) -> tuple[str, ...]:
    """A line on what is left out, with the first reason, and the benchmark's own lines."""
    lines = tuple(bench.remarks)
    left = bench.left_out
    if left:
        # Something may be asked about in part only, and be in both.
        total = len({name for name, _ in left} | {case.case_id for case in bench.cases()})
        name, reason = left[0]
        what = f"{len(left)} of {total} are left out, wholly or in part"
        lines = (f"{what}; {name}: {reason.rstrip('.')}. All of them: {_FILE} of the run.", *lines)
    return lines


def write_left_out(folder: Path, bench: Benchmark) -> None:
    """One row for each that is left out, with its reason; only the header where there is none."""
    left = bench.left_out
    if left is None:  # it asks about everything
        return
    with (folder / _FILE).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("name", "reason"))
        rows.writerows([guarded(cell) for cell in row] for row in left)
