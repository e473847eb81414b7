"""Finding a set by its files and their columns, whatever its folder is called."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from overread.benchmarks.files.jsonl import first_object, lines_of, list_of
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, gather
from overread.case import BadInput
from overread.files import open_file

__all__ = [
    "Layout",
    "Set",
    "fields_of",
    "images_below",
    "loader",
    "one_of",
    "records_of",
    "sets_in",
]

# Where a download keeps its tables: beside the images, or as Hugging Face lays data sets out.
_FOLDERS: Final = ("", "data", "MM")
_LONGEST_HEADER: Final = 1 << 20


class Set(NamedTuple):
    """A set that was found: its files, and the folder (or parquet file) its images stand in."""

    files: tuple[Path, ...]
    root: Path
    remarks: tuple[str, ...] = ()


class Layout(NamedTuple):
    """How one published set lies on a disk.

    `find` gives the set at a path, or None for what is not this layout; `load` its items, with the
    images below the folder given.
    """

    name: str
    find: Callable[[Path], Set | None]
    load: Callable[[Set, Path, Options, bool], Loaded]


def loader(
    stated: Callable[[Path, Path], Iterable[Stated]],
) -> Callable[[Set, Path, Options, bool], Loaded]:
    """How a set of one file is loaded: `stated` gives its items, by the file and the root."""

    def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
        items = stated(found.files[0], root)
        return gather(items, root, seen=seen, remarks=found.remarks)

    return load


def fields_of(path: Path) -> frozenset[str]:
    """The columns of a table, or the fields of its first object; nothing of an unreadable file."""
    try:
        found = path.stat()
    except OSError:
        return frozenset()
    return _fields(path, found.st_size, found.st_mtime_ns)


# Every layout looks at the same files.
@lru_cache(4096)
def _fields(path: Path, size: int, mtime_ns: int) -> frozenset[str]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        import polars as pl

        try:
            open_file(path).close()
            return frozenset(pl.read_parquet_schema(path))
        except (BadInput, OSError, pl.exceptions.PolarsError):
            return frozenset()
    if suffix == ".csv":
        try:
            with open_file(path) as file:
                head = io.TextIOWrapper(file, "utf-8-sig", newline="").readline(_LONGEST_HEADER)
            return frozenset(name.strip() for name in next(csv.reader([head]), ()))
        except (BadInput, OSError, UnicodeError, csv.Error):
            return frozenset()
    return frozenset(first_object(path)) if suffix in (".json", ".jsonl") else frozenset()


def sets_in(path: Path, suffixes: Sequence[str], needed: Sequence[str]) -> list[Path]:
    """The files at a path, or in a folder, of these suffixes that have all of these fields."""
    if path.is_file():
        listed = [path]
    else:
        homes = (path / name for name in _FOLDERS)
        listed = [file for home in homes if home.is_dir() for file in sorted(home.iterdir())]
    return [
        file
        for file in listed
        if file.suffix.lower() in suffixes
        and not file.name.startswith(".")
        and file.is_file()
        and fields_of(file).issuperset(needed)
    ]


def one_of(found: Sequence[Path], path: Path) -> tuple[Path, tuple[str, ...]]:
    """The one file that is meant: the only one, or the only one of a test split."""
    tests = [file for file in found if file.stem.casefold().startswith("test")]
    if len(found) > 1 and len(tests) != 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{path} holds several sets of questions: {named}. Give one of them.")
    if len(found) == 1:
        return found[0], ()
    others = ", ".join(file.name for file in found if file != tests[0])
    return tests[0], (f"the items are those of {tests[0].name}; not of {others}.",)


def records_of(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each item of a file as (where it stands, its fields)."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        for line, cells in rows_of(path, needed):
            yield f"{path.name} row {line}", cells
    elif suffix == ".parquet":
        yield from _rows(path)
    elif suffix == ".jsonl":
        for line, record in lines_of(path):
            yield f"{path.name} line {line}", record
    else:
        for place, record in list_of(path):
            yield f"{path.name} item {place}", record


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of a parquet file without the pictures in them, which nobody needs yet."""
    import polars as pl

    try:
        schema = pl.read_parquet_schema(path)
        kept = [name for name, kind in schema.items() if not _holds_bytes(kind)]
        frame = pl.read_parquet(path, columns=kept)
    except (OSError, pl.exceptions.PolarsError) as error:
        told = " ".join(str(error).split())[:120]
        raise BadInput(f"{path} cannot be read as parquet: {told}. Fetch it again.") from None
    for place, record in enumerate(frame.iter_rows(named=True)):
        yield f"{path.name} row {place}", record


def _holds_bytes(kind: Any) -> bool:
    return "Binary" in str(kind)


def images_below(root: Path, names: Sequence[str], folders: Sequence[str]) -> str:
    """In which of these folders the images stand, with a slash: the first that has any of them."""
    for folder in folders:
        prefix = f"{folder}/" if folder else ""
        if any((root / (prefix + name)).is_file() for name in names[:20] if ".." not in name):
            return prefix
    there = next((folder for folder in folders if folder and (root / folder).is_dir()), folders[0])
    return f"{there}/" if there else ""
