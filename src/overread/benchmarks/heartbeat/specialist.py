"""Models that predict the ejection fraction themselves, beside the readers (HEARTBEAT 7)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NoReturn

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.files.tables import columns_of
from overread.case import BadInput

if TYPE_CHECKING:
    import polars as pl

__all__ = ["predicted_ef", "read_specialists"]

_CASES: Final = ("case", "case_id", "clip", "FileName", "filename", "Filename", "video")
_EFS: Final = ("ef", "EF", "predicted_ef", "prediction", "pred")

Rows = list[tuple[str, str, str, float]]
"""Of a sheet: model, video, where it stands, and EF in per cent."""


def read_specialists(paths: str) -> Rows:
    """The rows of one or more csv files: a column of videos, one of EF, perhaps one of `model`.

    Without the column `model` the file's name is the model's. EF is in per cent; a file whose
    values all lie between 0 and 1 is refused rather than multiplied by a guess.
    """
    found: Rows = []
    for path in (Path(part.strip()) for part in paths.split(",")):
        found.extend(_sheet(path))
    return found


def _sheet(path: Path) -> Rows:
    if not path.is_file():
        raise BadInput(f"--set specialist={path}: there is no such file.")
    header = columns_of(path)
    case, ef = (_column(path, header, names) for names in (_CASES, _EFS))
    found: Rows = []
    for line, cells in rows_of(path, (case, ef)):
        video, text = cells[case].strip(), cells[ef].strip()
        if not video:
            _wrong(path, line, case, video, "it names a video")
        if text:
            model = cells.get("model", "").strip() or path.stem
            found.append((model, video, f"{path.name} row {line}", _per_cent(path, line, ef, text)))
    if not found:
        raise BadInput(f"--set specialist={path}: no EF stands there. Give a row per video.")
    if all(0 <= row[3] <= 1 for row in found):
        raise BadInput(
            f"--set specialist={path}: every {ef} lies between 0 and 1; EF is in per cent, as 55.2."
        )
    return found


def _column(path: Path, header: Iterable[str], names: tuple[str, ...]) -> str:
    found = [name for name in names if name in header]
    if len(found) != 1:
        have = " and ".join(found) or "none"
        raise BadInput(
            f"--set specialist={path}: it needs one column of {', '.join(names)}; it has {have}."
        )
    return found[0]


def _per_cent(path: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not -100 <= value <= 100:
        _wrong(path, line, column, text, "EF is a number in per cent, or empty")
    return value


def _wrong(path: Path, line: int, column: str, value: str, need: str) -> NoReturn:
    raise BadInput(f'{path.name} row {line}: {column} is "{value[:40]}"; {need}. Fix the row.')


def predicted_ef(rows: Rows, cases: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Each model's EF by case.

    A video is known by its case, its path, its file's name, or that without the ending. A sheet may
    hold more videos than the run has; one that names none of them is refused. A video with several
    cases (beats) gives its EF to each.
    """
    known: dict[str, set[str]] = {}
    for case, clip in cases.select("case", "clip").iter_rows():
        path = PurePosixPath(clip)
        for name in {case, clip, path.name, path.stem}:
            known.setdefault(name, set()).add(case)
    found: dict[str, dict[str, float]] = {}
    for model, video, where, ef in rows:
        own = found.setdefault(model, {})
        for case in sorted(known.get(video, ())):
            if own.setdefault(case, ef) != ef:
                raise BadInput(f'{where}: {model} has two EF of "{video}". Keep one.')
    for model, own in found.items():
        if not own:
            raise BadInput(
                f"--set specialist: {model} names no video of this run. Name them as the cases are."
            )
    return found
