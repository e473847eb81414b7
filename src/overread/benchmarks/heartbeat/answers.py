"""What a reply says of a clip: the frames it names, by both readings, beside the true ones.

Also the columns of cases.parquet and answers.parquet; polars is imported only when asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.benchmarks.heartbeat.answer_parser import parse_lenient, parse_strict, spoken
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.trials import ed_position
from overread.benchmarks.heartbeat.volumes import CaseVolumes
from overread.benchmarks.texts import storable
from overread.case import Condition, Outcome, Reply, Trial

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ANSWER_COLUMNS",
    "READ_COLUMNS",
    "AnswerReading",
    "Truth",
    "answer_row",
    "answer_schema",
    "case_row",
    "case_schema",
    "read_text",
    "reread",
    "truth_of",
]

# The columns an edition decides; they are read again from the kept text.
READ_COLUMNS: Final = (
    "outcome",
    "pred_ed",
    "pred_es",
    "lenient_ed",
    "lenient_es",
    "out_of_range",
)
ANSWER_COLUMNS: Final = (
    "case",
    "task",
    "context",
    "format",
    "seed",
    "pass",
    *READ_COLUMNS[:5],
    "truth_ed",
    "truth_es",
    "start",
    "count",
    "stated",
    "out_of_range",
    "text",
    "reasoning",
    "refused",
    "note",
    "recorded",
)
_TOO_LARGE: Final = "a number in the reply is beyond 64 bits; the largest stands for it"


class Truth(NamedTuple):
    """The true frames as a question counts them, and the frames shown.

    Local indices of a window in T1, positions 0 or 1 in T2, where no window starts. `stated` is
    how many frames the question's range names, the column `count` how many were shown.
    """

    ed: int
    es: int
    start: int | None
    shown: int
    stated: int


def truth_of(condition: Condition, window: Window | None, place: int) -> Truth:
    """The truth of a trial; `place` is the clip's in the set. T2 needs no window."""
    if condition["task"] == "t2":
        position = ed_position(place, int(condition["seed"]))
        return Truth(position, 1 - position, None, 2, 2)
    assert window is not None
    return Truth(window.ed, window.es, window.start, window.count, window.stated)


class AnswerReading(NamedTuple):
    """What a reply means under an edition, in the order of `READ_COLUMNS`; and a note, if any.

    `pred` is the strict reading, `lenient` the second one: equal where the strict one found an
    answer. `out_of_range`: no frame shown bears that index; None where nothing was parsed.
    """

    outcome: Outcome
    pred_ed: int | None = None
    pred_es: int | None = None
    lenient_ed: int | None = None
    lenient_es: int | None = None
    out_of_range: bool | None = None
    note: str | None = None

    @property
    def columns(self) -> tuple[Outcome | int | None, ...]:
        return self[:-1]


def read_text(
    text: str,
    *,
    task: str,
    context: str,
    output: str,
    shown: int | None,
    refused: bool,
    edition: Edition,
) -> AnswerReading:
    """Read a reply. A refusal is no answer, whatever its words; numbers out of range are kept."""
    if refused:
        return AnswerReading("refused")
    if edition.thinking == "removed":
        text = spoken(text)
    found = parse_strict(text, output, context)
    second = found if found.parsed else parse_lenient(text, task, output, context)
    outcome: Outcome = "answered" if found.parsed else "unparsed"
    note = _TOO_LARGE if found.too_large or second.too_large else None
    return AnswerReading(outcome, *found[:2], *second[:2], found.outside(shown), note)


def answer_row(
    trial: Trial, reply: Reply | None, truth: Truth, edition: Edition, reason: str = ""
) -> tuple[object, ...]:
    """One row of the answers table, in the order of `ANSWER_COLUMNS`."""
    condition = trial.condition
    task, context, output = (str(condition[key]) for key in ("task", "context", "format"))
    where = (trial.case, task, context, output, condition["seed"], condition["pass"])
    notes = [reason] if reason else []
    if reply is None:
        reading = AnswerReading("unanswered")
        said: tuple[object, ...] = (None, None, False)
    else:
        reading = read_text(
            reply.text,
            task=task,
            context=context,
            output=output,
            shown=truth.shown,
            refused=reply.refused,
            edition=edition,
        )
        thought = None if reply.reasoning is None else storable(reply.reasoning)
        said = (storable(reply.text), thought, reply.refused)
        if reply.refusal:
            notes.append(f"refusal: {reply.refusal}")
        if reply.finish == "length":
            notes.append("cut off at the token limit")
    *read, outside = reading.columns
    note = _with_reading_note(storable("; ".join(notes)) or None, reading.note)
    return (*where, *read, *truth, outside, *said, note, False)


def reread(answers: pl.DataFrame, edition: Edition, *, reparse: bool = False) -> pl.DataFrame:
    """The answers table with every kept text read again under an edition.

    Answers taken over from somebody else's file (`recorded`) stay unless `reparse`.
    """
    import polars as pl

    inputs = ("task", "context", "format", "count", "stated", "refused", "text", "recorded", "note")
    columns = (*READ_COLUMNS, "note")
    rows = []
    for row in answers.select(*inputs, *READ_COLUMNS).iter_rows():
        task, context, output, count, stated, refused, text, recorded, note, *kept = row
        if text is None or (recorded and not reparse):
            rows.append((*kept, note))
            continue
        reading = read_text(
            text,
            task=task,
            context=context,
            output=output,
            shown=stated if count is None else count,
            refused=refused,
            edition=edition,
        )
        rows.append((*reading.columns, _with_reading_note(note, reading.note)))
    schema = {column: answer_schema()[column] for column in columns}
    return answers.with_columns(pl.DataFrame(rows, schema=schema, orient="row"))


def _with_reading_note(note: str | None, read: str | None) -> str | None:
    """A note with what this reading has to say at its end, in place of what an earlier one had."""
    own = (note or "").removesuffix(_TOO_LARGE).removesuffix("; ")
    return "; ".join(part for part in (own, read) if part) or None


# ---------------------------------------------------------------- the columns of the tables

_NO_VOLUMES: Final = CaseVolumes()


@cache
def case_schema() -> Mapping[str, Any]:
    """The fields of a case, and its volumes; `case_id` is `case` in every table."""
    import polars as pl

    other: dict[str, Any] = dict.fromkeys(("frames", "ed", "es", "width", "height"), pl.Int32)
    other |= dict.fromkeys(("fps", "age", "ef", "ed_volume", "es_volume"), pl.Float64)
    first, *fields = HeartbeatCase.__struct_fields__
    assert first == "case_id"
    return {
        "case": pl.String,
        **{field: other.get(field, pl.String) for field in fields},
        "frame_volumes": pl.List(pl.Float64),
        "volume_method": pl.String,
        "volume_fault": pl.String,
        "frame_areas": pl.List(pl.Int32),
        "other_ed": pl.List(pl.Int32),
        "other_es": pl.List(pl.Int32),
    }


def case_row(case: HeartbeatCase, volumes: CaseVolumes = _NO_VOLUMES) -> tuple[Any, ...]:
    """One row of the cases table, in the order of `case_schema`."""
    return (*(getattr(case, field) for field in case.__struct_fields__), *volumes)


@cache
def answer_schema() -> Mapping[str, Any]:
    """One row per trial; the run puts the column `reader` before these."""
    import polars as pl

    whole = ("pass", "truth_ed", "truth_es", "start", "count", "stated")
    other: dict[str, Any] = dict.fromkeys(whole, pl.Int32)
    # A model may name any number, and it is kept.
    wide = ("seed", "pred_ed", "pred_es", "lenient_ed", "lenient_es")
    other |= dict.fromkeys(wide, pl.Int64)
    other |= dict.fromkeys(("out_of_range", "refused", "recorded"), pl.Boolean)
    return {column: other.get(column, pl.String) for column in ANSWER_COLUMNS}
