"""Run folders: what was asked for, resolved, and everything measured from it.

`run.toml`, `cases.parquet`, `answers.parquet`, `measures.json`. Parquet is written as a stream, and
a folder is filled beside its place and moved there, so that nothing half-written is ever seen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread import __version__
from overread.case import BadInput, Decoding, Fact, Measure, Policy, Traits
from overread.files import open_file, parse_toml, read_bytes, read_text, size_words
from overread.scratch import UNFINISHED, scratch_folder, sweep

if TYPE_CHECKING:
    import polars as pl

_ROWS_A_GROUP = 50_000
# What is held as rows until it is written: so many, or so many characters of long texts.
_ROWS_A_PART, _TEXT_A_PART = 8_192, 1 << 22
# Far beyond what any reader's absurd answer makes of an error, and far from what overflows.
_LARGEST = 1e100
_NUMBERS = ("value", "n", "k", "se", "sd_boot", "sd_seeds", "sd_videos", "low", "high", "p", "q")
_MARK = f"{UNFINISHED}mark"
# Remarks name cases; a record of all of them is still far below this.
_MOST_RECORD = 1 << 24
RUN_FILES = (
    "run.toml", "measures.json", "cases.parquet", "answers.parquet", "verdicts.parquet",
    "left_out.csv", "report.html",
    "drawings.json",  # of runs that an older Overread made
)  # fmt: skip


class ReaderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the record says of a reader. Never a key, never a price."""

    name: str
    spec: str
    identity: str
    traits: Traits = Traits()
    # What the user declared: parameters in billions, and the group it belongs to.
    params_b: float | None = None
    group: str | None = None
    asked: int = 0
    unanswered: int = 0
    # What answered, as the server names it, and how it was to decode; the last reply's.
    model: str | None = None
    decoding: Decoding | None = None
    # When the first and the last of its replies were given, as far as that is known.
    first_reply: str | None = None
    last_reply: str | None = None
    # Every name, fingerprint and entry of a list of models by which the server called itself, and
    # every other label that replies were given under.
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    # How the replies that this run asked for came about, as the reader says; none where all of them
    # were there already.
    facts: dict[str, Fact] | None = None


class JudgeEntry(ReaderEntry, frozen=True, kw_only=True):
    """What the record says of a judge: what it judged, and how often it could not be read."""

    roles: tuple[str, ...] = ()
    # The rubric it was asked with, where not the usual one.
    rubric: str | None = None
    invalid: int = 0


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`run.toml`: what was asked for, resolved, with versions and digests.

    `edition` is the one last measured under; `answers_edition` the one under which the replies of
    answers.parquet were asked for and read. `settings` are those the run was made with, `measured`
    those given to the last measuring.
    """

    overread: str = __version__
    benchmark: str
    edition: str
    answers_edition: str
    cases: str
    dataset: str
    policy: Policy
    n_cases: int
    limit: int | None = None
    # The file that named the cases asked about, and the digest of their ids: "hard.txt@1a2b3c4d".
    only: str | None = None
    imported: bool = False
    # How many the set holds that were not asked about, and lines a user should know.
    left_out: int = 0
    remarks: tuple[str, ...] = ()
    # Whether the page shows pictures of the cases.
    pictures: bool = False
    settings: dict[str, str] = {}
    measured: dict[str, str] = {}
    signature: str = ""
    machine: Machine | None = None
    readers: tuple[ReaderEntry, ...] = ()
    judges: tuple[JudgeEntry, ...] = ()
    # SHA-256 of each table as it was written: numbers are made of no other.
    tables: dict[str, str] = {}
    versions: dict[str, str] = {}

    @property
    def partial(self) -> bool:
        """Whether some of the set's cases were not to be asked about."""
        return self.limit is not None or self.only is not None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that asked, for times are worth nothing without it. Servers are in the specs."""

    system: str = ""
    processor: str = ""
    cores: int = 0
    memory_gb: float = 0.0


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """`measures.json`."""

    overread: str
    benchmark: str
    edition: str
    signature: str
    measures: list[Measure]


# ---------------------------------------------------------------- writing


@contextmanager
def folder_being_written(out: Path, policy: Policy, *, whole: bool = False) -> Iterator[Path]:
    """A scratch folder whose files replace those of `out` when all has gone well.

    Of a `whole` run nothing of an earlier one is left beside them: its verdicts are not this one's.
    `out` must be new, empty or an earlier run: anything else is refused rather than mixed up.
    """
    private = policy == "credentialed"
    with ExitStack() as stack:
        with _writable(f"--out {out}"):
            # A folder that is there may be a link or a mount: files move into it only from inside.
            place = out if out.is_dir() else out.parent
            place.mkdir(parents=True, exist_ok=True)
            scratch = stack.enter_context(scratch_folder(place))
            if place == out:  # the first writer of it worked beside it
                sweep(out.parent)
        yield scratch
        out.mkdir(exist_ok=True, mode=0o700 if private else 0o755)
        # While the mark stands, files of two runs may be mixed: nobody reads them, all may be
        # written again.
        (out / _MARK).touch()
        written = set()
        for file in sorted(scratch.iterdir()):
            if private:
                file.chmod(0o600)
            os.replace(file, out / file.name)
            written.add(file.name)
        for name in set(RUN_FILES) - written if whole else ():
            (out / name).unlink(missing_ok=True)
        if private:
            out.chmod(0o700)
        (out / _MARK).unlink()


@contextmanager
def _writable(called: str) -> Iterator[None]:
    """What the disk says of a place to write to, in one line."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{called}: {error.strerror}. Give a writable place.") from None


def make_private(folder: Path) -> None:
    """Of a run whose set turned out to be credentialed: its user's alone, as if written so."""
    for path in (folder, *(folder / name for name in RUN_FILES)):
        with suppress(OSError):
            path.chmod(0o700 if path == folder else 0o600)


def check_out(out: Path) -> None:
    """Refuse a place that holds something other than a run or cannot be written to.

    Asked for before anything is: a folder is made where the run will be, and removed again.
    """
    called = f"--out {out}"
    check_folder(called, out, lambda at: (at / "run.toml").exists() or (at / _MARK).exists())
    with _writable(called):
        there = next(place for place in (out, *out.absolute().parents) if place.exists())
        with scratch_folder(there):
            pass


def check_folder(called: str, folder: Path, ours: Callable[[Path], bool]) -> None:
    """Refuse a file, and a folder that is neither empty nor one of `ours`."""
    with _writable(called):
        if folder.is_dir():
            held = any(not path.name.startswith(UNFINISHED) for path in folder.iterdir())
            if held and not ours(folder):
                raise BadInput(
                    f"{called}: the folder holds other things. Give a new or empty folder."
                )
        elif folder.exists() or folder.is_symlink():
            raise BadInput(f"{called}: a file stands there. Give a folder.")


@contextmanager
def _refused_by_the_disk(path: Path) -> Iterator[None]:
    """Polars does not say that a disk is full: it speaks of a transport, or of a file format."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        free = shutil.disk_usage(path.parent).free
        raise BadInput(
            f"{path.name}: the table cannot be written ({said}; {size_words(free)} are free). "
            "Make room if the disk is full, and run the same command again."
        ) from None


def write_rows(
    path: Path, schema: Mapping[str, Any], rows: Iterable[Sequence[Any]], part: int = _ROWS_A_PART
) -> int:
    """Stream rows into one parquet file; returns how many there were.

    Polars cannot append to a parquet file, so parts are written as they fill and joined at the end
    by its streaming engine: memory holds one part, then one group of rows, whatever the length. The
    file is the same however long the parts are.
    """
    import polars as pl

    total = 0
    with _refused_by_the_disk(path), tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        parts: list[Path] = []
        batch: list[Sequence[Any]] = []
        texts = [at for at, kind in enumerate(schema.values()) if kind == pl.String]
        size = 0

        def flush() -> None:
            frame = pl.DataFrame(batch, schema=dict(schema), orient="row")
            parts.append(Path(scratch) / f"{len(parts):06}.parquet")
            frame.write_parquet(parts[-1])
            batch.clear()

        for row in rows:
            batch.append(row)
            total += 1
            size += sum([len(row[at] or "") for at in texts])
            if len(batch) >= part or size > _TEXT_A_PART:
                flush()
                size = 0
        if batch or not parts:
            flush()
        if len(parts) == 1:
            os.replace(parts[0], path)
        else:
            pl.scan_parquet(parts).sink_parquet(path, row_group_size=_ROWS_A_GROUP)
    return total


def write_record(path: Path, record: RunRecord) -> None:
    import tomli_w

    plain = msgspec.to_builtins(record)
    path.write_text(tomli_w.dumps(_without_none(plain)), encoding="utf-8")


def _without_none(value: Any) -> Any:
    """TOML has no null: what is absent is left out."""
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_none(v) for v in value]
    return value


def write_measures(path: Path, measures: Measures) -> None:
    """Strict JSON (msgspec writes NaN as null), one record a line, the same bytes every time."""
    encode = msgspec.json.Encoder().encode
    head = msgspec.structs.asdict(measures)
    records = head.pop("measures")
    lines = ",\n  ".join(encode(record).decode() for record in records)
    opening = encode(head).decode()[:-1]
    path.write_text(f'{opening},"measures":[\n  {lines}\n]}}\n', encoding="utf-8")


# ---------------------------------------------------------------- reading


def read_record(folder: Path) -> RunRecord:
    """Read a run's record, or say in one line why the folder is not a run."""
    path = folder / "run.toml"
    if (folder / _MARK).exists():
        raise BadInput(f"{folder}: the run was cut off while it was written. Run it again.")
    if not path.exists():
        raise BadInput(f"{folder}: not a run folder (no run.toml). Give one that a run made.")
    try:
        held = parse_toml(read_text(path, at_most=_MOST_RECORD), str(path))
        return msgspec.convert(held, RunRecord)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error}. Restore the file or run again.") from None


def read_measures(folder: Path) -> Measures:
    """Read a run's measures, or say in one line why they cannot be what a run wrote."""
    path = folder / "measures.json"
    again = f"Run `overread measure {folder}` again."
    if not path.exists():
        raise BadInput(f"{path}: there is no such file. {again}")
    try:
        found = msgspec.json.decode(read_bytes(path), type=Measures)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadInput(f"{path}: {error}. {again}") from None
    for record in found.measures:
        for name in _NUMBERS:
            value = getattr(record, name)
            if value is not None and abs(value) > _LARGEST:
                raise BadInput(f"{path}: {name} of {record.measure[:60]} is {value:g}. {again}")
    return found


def table_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every table of a run, by the name of its file."""
    found = {}
    for path in sorted(folder.glob("*.parquet")):
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def check_untouched(folder: Path, written: Mapping[str, str]) -> None:
    """Refuse tables that are not those the run wrote: a null or a number more goes unseen else."""
    try:
        now = table_digests(folder)
    except OSError as error:
        raise BadInput(
            f"{error.filename}: {error.strerror}. Restore the file or run again."
        ) from None
    for name, digest in written.items():
        if name not in now:
            raise BadInput(f"{folder / name}: there is no such file. Restore it or run again.")
        if now[name] != digest:
            raise BadInput(
                f"{folder / name} is not the file that the run wrote. Restore it or run again; if "
                "it was changed on purpose, take its line out of [tables] in run.toml."
            )


def read_frame(
    path: Path,
    columns: Iterable[str] = (),
    schema: Mapping[str, Any] | None = None,
    *,
    without: Set[str] = frozenset(),
) -> pl.DataFrame:
    """Read a table of a run, which must have these columns, and those of a schema as it says.

    Columns `without` which one can do must be there all the same, and are not read.
    """
    import polars as pl

    open_file(path).close()  # polars would wait for a pipe
    try:
        held = pl.read_parquet_schema(path) if without else None
        kept = None if held is None else [name for name in held if name not in without]
        frame = pl.read_parquet(path, columns=kept)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: cannot be read ({first}). Run again to make it.") from None
    kinds = frame.schema if held is None else held
    missing = [column for column in (*columns, *(schema or {})) if column not in kinds]
    if missing:
        raise BadInput(f"{path}: it has no column {missing[0]}. Run again to make it.")
    for column, wanted in (schema or {}).items():
        if kinds[column] != wanted:
            named = pl.Series([], dtype=wanted).dtype
            raise BadInput(
                f"{path}: {column} holds {kinds[column]} where a run writes {named}. "
                "Restore the file or run again."
            )
    return frame
