"""Run folders: what was asked for, resolved, and everything measured from it.

`run.toml`, `cases.parquet`, `answers.parquet`, `measures.json`. Parquet is written as a stream, and
a folder is filled beside its place and moved there, so that nothing half-written is ever seen.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread import __version__
from overread.case import BadInput, Decoding, Measure, Policy, Traits

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "JudgeEntry",
    "Machine",
    "Measures",
    "ReaderEntry",
    "RunRecord",
    "check_out",
    "folder_being_written",
    "read_frame",
    "read_measures",
    "read_record",
    "write_measures",
    "write_record",
    "write_rows",
]

_ROWS_A_PART = 50_000
_UNFINISHED = ".unfinished."  # what a killed process may leave behind
_MARK = ".unfinished.mark"


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
def folder_being_written(out: Path, policy: Policy) -> Iterator[Path]:
    """A scratch folder whose files replace those of `out` when all has gone well.

    `out` must be new, empty or an earlier run: anything else is refused rather than mixed up.
    """
    private = policy == "credentialed"
    try:
        # A folder that is there may be a link or a mount: files move into it only from inside.
        place = out if out.is_dir() else out.parent
        place.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place))
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}. Give a writable place.") from None
    try:
        yield scratch
        out.mkdir(exist_ok=True, mode=0o700 if private else 0o755)
        # While the mark stands, files of two runs may be mixed: nobody reads them, all may be
        # written again.
        (out / _MARK).touch()
        for file in sorted(scratch.iterdir()):
            if private:
                file.chmod(0o600)
            os.replace(file, out / file.name)
        if private:
            out.chmod(0o700)
        (out / _MARK).unlink()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def check_out(out: Path) -> None:
    """Refuse a place that holds something other than a run or cannot be written to.

    Asked for before anything is: a folder is made where the run will be, and removed again.
    """
    try:
        if out.is_dir():
            held = {path.name for path in out.iterdir() if not path.name.startswith(_UNFINISHED)}
            if held and "run.toml" not in held and not (out / _MARK).exists():
                raise BadInput(
                    f"--out {out}: the folder holds other things. Give a new or empty folder."
                )
        elif out.exists() or out.is_symlink():
            raise BadInput(f"--out {out}: a file stands there. Give a folder.")
        there = next(place for place in (out, *out.absolute().parents) if place.exists())
        os.rmdir(tempfile.mkdtemp(prefix=_UNFINISHED, dir=there))
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}. Give a writable place.") from None


def write_rows(
    path: Path, schema: Mapping[str, Any], rows: Iterable[Sequence[Any]], part: int = _ROWS_A_PART
) -> int:
    """Stream rows into one parquet file; returns how many there were.

    Polars cannot append to a parquet file, so parts are written as they fill and joined at the end
    by its streaming engine: memory holds one part, whatever the length.
    """
    import polars as pl

    total = 0
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        parts: list[Path] = []
        batch: list[Sequence[Any]] = []

        def flush() -> None:
            frame = pl.DataFrame(batch, schema=dict(schema), orient="row")
            parts.append(Path(scratch) / f"{len(parts):06}.parquet")
            frame.write_parquet(parts[-1])
            batch.clear()

        for row in rows:
            batch.append(row)
            total += 1
            if len(batch) >= part:
                flush()
        if batch or not parts:
            flush()
        if len(parts) == 1:
            os.replace(parts[0], path)
        else:
            pl.scan_parquet(parts).sink_parquet(path, row_group_size=part)
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
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8-sig")), RunRecord)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}. Mend its rights.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadInput(f"{path}: {error}. Restore the file or run again.") from None


def read_measures(folder: Path) -> Measures:
    path = folder / "measures.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measures)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}. Run `overread measure {folder}`.") from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{path}: {error}. Run `overread measure {folder}` again.") from None


def read_frame(path: Path, columns: Iterable[str] = ()) -> pl.DataFrame:
    """Read a table of a run, which must have these columns."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: cannot be read ({first}). Run again to make it.") from None
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise BadInput(f"{path}: it has no column {missing[0]}. Run again to make it.")
    return frame
