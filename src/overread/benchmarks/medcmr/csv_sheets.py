"""Sheets that people fill: csv files that go out to a spreadsheet and come back."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from overread.benchmarks.files.sheets import rows_of
from overread.case import BadInput
from overread.judging.sheet import guarded

__all__ = ["as_read", "listed", "read_csv", "short", "write_csv"]

# What `guarded` puts before a cell that a spreadsheet would take for a formula.
_GUARD: Final = re.compile(r"'(?=[\s\ufffd]*[=+\-@＝＋－＠])")
_MOST: Final = 64_000_000  # bytes of a sheet


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A new file with guarded cells; one that is there stays, since a person may have filled it."""
    if path.exists():
        raise BadInput(f"{path} is there already. Move it away, or give another name.")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {path.parent}. Make it first.")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    writer.writerows([guarded(cell) for cell in row] for row in rows)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # With a byte-order mark, without which spreadsheets take UTF-8 for something else.
        scratch.write_text(text.getvalue(), "utf-8-sig")
        scratch.replace(path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise BadInput(f"{path}: {error.strerror}. Give a file that can be written.") from None


def read_csv(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows with the line each begins on, cells without guard and outer blanks; empty rows go."""
    for line, row in rows_of(path, needed, at_most=_MOST):
        cells = {name: _bare(cell) for name, cell in row.items()}
        if any(cells.values()):
            yield line, cells


def as_read(text: str) -> str:
    """What a cell written with this text is read as: names are compared in this form."""
    return _bare(guarded(text))


def listed(paths: str) -> list[Path]:
    """The files of a setting that may name several by commas."""
    return [Path(part) for part in paths.split(",")]


def short(text: str) -> str:
    """A cell as a complaint quotes it: one line, forty characters."""
    plain = " ".join(guarded(text).split())
    return plain if len(plain) <= 40 else plain[:40] + "…"


def _bare(cell: str) -> str:
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
    return _GUARD.sub("", lines, count=1).strip() if lines.startswith("'") else lines
