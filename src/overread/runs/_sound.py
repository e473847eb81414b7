"""Whether a run's tables can be what a run wrote: files may have been mended by hand, or broken.

What is read out of them later is checked here, once, so that nothing further on has to.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NoReturn

import msgspec

from overread.case import BadInput, printable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_tables"]

_MEND: Final = "Restore the file or run again."
_LONGEST: Final = 60
_WORDS: Final = ("judge", "role", "question", "reader", "case", "about", "outcome")


class _Answer(msgspec.Struct):
    match: bool


class _Step(msgspec.Struct):
    type: str
    judgment: str | None
    text: str


class _OfSteps(msgspec.Struct):
    mode: str
    image: str = "original"
    follow: str | None = ""
    timed: bool = False
    variant: str = ""


class _OfScores(msgspec.Struct, forbid_unknown_fields=True):
    form: str
    image: str
    order: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    variant: str = ""


class _Forms(NamedTuple):
    """What a verdict is about, and what it is by its question."""

    about: Any
    payloads: Mapping[str, Any]


# Whatever the judge said: what is no rank makes no path.
_Ranks = dict[str, Any]
_Scores = dict[str, float]
_FORMS: Final[Mapping[str, _Forms]] = {
    "m3cot": _Forms(
        _OfSteps,
        {"answer": _Answer, "precision": list[_Step], "recall": list[bool], "order": _Ranks},
    ),
    "medcmr": _Forms(_OfScores, {"score": _Scores, "score_uncaptioned": _Scores}),
}


def check_tables(
    folder: Path,
    benchmark: str,
    cases: pl.DataFrame,
    answers: pl.DataFrame,
    verdicts: pl.DataFrame | None,
) -> None:
    """Refuse, in a line that names the file and its row, what no run of this benchmark wrote.

    Cases have names of their own, every answer is about one of them, and every verdict is JSON of
    the form its question has.
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
        _check_verdicts(folder / "verdicts.parquet", benchmark, verdicts)


def _check_verdicts(file: Path, benchmark: str, verdicts: pl.DataFrame) -> None:
    import polars as pl

    for column in (*_WORDS, "payload", "check"):
        held, wanted = verdicts[column].dtype, pl.Boolean if column == "check" else pl.String
        if held != wanted:
            _refuse(file, None, f"{column} is {held}, not {wanted}")
    for column in (*_WORDS, "check"):
        _check_there(file, verdicts, column)
    forms = _FORMS.get(benchmark)
    if forms is not None:
        for question in verdicts["question"].unique(maintain_order=True):
            if question not in forms.payloads:
                row = _first(verdicts["question"] == question)
                known = ", ".join(forms.payloads)
                _refuse(file, row, f"question is {_short(question)}; expected one of {known}")
    any_form = _Forms(dict[str, Any], {})
    about, payloads = forms or any_form
    _check_json(file, verdicts, "about", about)
    for (question,), own in verdicts.with_row_index("row").group_by("question"):
        _check_json(file, own, "payload", payloads.get(str(question), dict[str, Any] | list[Any]))


def _check_json(file: Path, rows: pl.DataFrame, column: str, form: Any) -> None:
    """Every value is JSON of this form; what is said twice is read once."""
    decode = msgspec.json.Decoder(form).decode
    for text in rows[column].unique(maintain_order=True):
        if text is None:
            continue
        try:
            decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            place = _first(rows[column] == text)
            row = rows["row"][place] if "row" in rows.columns else place
            said = str(error) or "nested too deeply"
            _refuse(file, row, f"{column} is {_short(text)} ({said})")


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
