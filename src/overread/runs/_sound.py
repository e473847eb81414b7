"""Whether a run's tables can be what a run wrote: files may have been mended by hand, or broken.

What is read out of them later is checked here, once, so that nothing further on has to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from overread.case import BadInput, printable
from overread.judging.question import Question, verdict_fault

if TYPE_CHECKING:
    import polars as pl

_MEND: Final = "Restore the file or run again."
_LONGEST: Final = 60


def check_tables(
    folder: Path,
    questions: Sequence[Question],
    cases: pl.DataFrame,
    answers: pl.DataFrame,
    verdicts: pl.DataFrame | None,
) -> None:
    """Refuse, in a line that names the file and its row, what no run of a benchmark wrote.

    Cases have names of their own, every answer is about one of them, and every verdict is JSON of
    the form its question has; without questions any JSON is taken.
    """
    import polars as pl

    file = folder / "cases.parquet"
    names = cases["case"]
    if names.dtype != pl.String:
        _refuse(file, None, f"case is {names.dtype}, not text")
    _check_there(file, cases, "case")
    if names.n_unique() != names.len():
        twice = ~names.is_first_distinct()
        _refuse(file, _first(twice), f"case {_short(names.filter(twice)[0])} is there twice")
    file = folder / "answers.parquet"
    if answers["case"].dtype != pl.String:
        _refuse(file, None, f"case is {answers['case'].dtype}, not text")
    _check_there(file, answers, "case")
    # Distinct names first: they are few, rows are many.
    strange = answers["case"].unique()
    strange = strange.filter(~strange.is_in(names.implode()))
    if strange.len():
        row = _first(answers["case"].is_in(strange.implode()))
        _refuse(file, row, f"case {_short(answers['case'][row])} is not in cases.parquet")
    if verdicts is not None:
        fault = verdict_fault(questions, verdicts)
        if fault is not None:
            _refuse(folder / "verdicts.parquet", *fault)


def _check_there(file: Path, rows: pl.DataFrame, column: str) -> None:
    if rows[column].null_count():
        _refuse(file, _first(rows[column].is_null()), f"{column} is missing")


def _first(flags: pl.Series) -> int:
    place = flags.arg_max()
    assert place is not None
    return place


def _short(text: str) -> str:
    """Others' words in a line: a few of them, and none that steers a terminal."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f'"{printable(shown)}"'


def _refuse(file: Path, row: int | None, fault: str) -> NoReturn:
    """Rows count from 1."""
    where = "" if row is None else f" row {row + 1}"
    raise BadInput(f"{file}{where}: {fault}. {_MEND}")
