"""What a reply says of a clip: the frames it names, by both readings, beside the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.heartbeat.answer_parser import parse_lenient, parse_strict, spoken
from overread.benchmarks.heartbeat.cases import Window
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.trials import ed_position
from overread.benchmarks.tables import Int32, joined_notes, notes_of, read_again
from overread.case import Condition, Outcome, Reply, Trial

if TYPE_CHECKING:
    import polars as pl

_TOO_LARGE: Final = "a number in the reply is beyond 64 bits; the largest stands for it"


class AnswerReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply means under an edition: the columns that are read again from the kept text.

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


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """One row of the answers table: a trial, what was read of its reply, and the truth.

    True frames are counted as the question counts them: local indices of a window in T1, positions
    0 or 1 in T2, where no window starts. `stated` is how many frames the question's range names,
    `count` how many were shown. `recorded` answers were taken over from somebody else's file.
    """

    case: str
    task: str
    context: str
    format: str
    seed: int
    pass_: Int32
    outcome: Outcome
    pred_ed: int | None = None
    pred_es: int | None = None
    lenient_ed: int | None = None
    lenient_es: int | None = None
    truth_ed: Int32
    truth_es: Int32
    start: Int32 | None = None
    count: Int32
    stated: Int32
    out_of_range: bool | None = None
    text: str | None = None
    reasoning: str | None = None
    refused: bool = False
    note: str | None = None
    recorded: bool = False
    # Whether the token limit ended the reply; None where it is not known how it ended.
    cut_off: bool | None = None


class Truth(msgspec.Struct, frozen=True):
    """The true frames as a question counts them, and the frames shown."""

    truth_ed: int
    truth_es: int
    start: int | None
    count: int
    stated: int


def truth_of(condition: Condition, window: Window | None, place: int) -> Truth:
    """The truth of a trial; `place` is the clip's in the set. T2 needs no window."""
    if condition["task"] == "t2":
        position = ed_position(place, int(condition["seed"]))
        return Truth(position, 1 - position, None, 2, 2)
    assert window is not None
    return Truth(window.ed, window.es, window.start, window.count, window.stated)


def read_text(
    edition: Edition,
    text: str,
    task: str,
    context: str,
    output: str,
    shown: int | None,
    *,
    refused: bool,
) -> AnswerReading:
    """Read a reply. A refusal is no answer, whatever its words; numbers out of range are kept."""
    if refused:
        return AnswerReading(outcome="refused")
    if edition.thinking == "removed":
        text = spoken(text)
    found = parse_strict(text, output, context)
    second = found if found.parsed else parse_lenient(text, task, output, context)
    return AnswerReading(
        outcome="answered" if found.parsed else "unparsed",
        pred_ed=found.ed,
        pred_es=found.es,
        lenient_ed=second.ed,
        lenient_es=second.es,
        out_of_range=found.outside(shown),
        note=_TOO_LARGE if found.too_large or second.too_large else None,
    )


def answer_of(
    trial: Trial, reply: Reply | None, truth: Truth, edition: Edition, reason: str = ""
) -> Answer:
    """What a reply to a trial is worth under an edition; None went unanswered, for the reason."""
    condition = trial.condition
    task, context, output = (str(condition[key]) for key in ("task", "context", "format"))
    read = AnswerReading(outcome="unanswered")
    if reply is not None:
        shown = truth.count
        read = read_text(edition, reply.text, task, context, output, shown, refused=reply.refused)
    return Answer(
        case=trial.case,
        task=task,
        context=context,
        format=output,
        seed=int(condition["seed"]),
        pass_=int(condition["pass"]),
        text=None if reply is None else reply.text,
        reasoning=None if reply is None else reply.reasoning,
        refused=reply is not None and reply.refused,
        cut_off=None if reply is None or reply.finish is None else reply.finish == "length",
        **msgspec.structs.asdict(truth),
        **msgspec.structs.asdict(read)
        | {"note": joined_notes([*notes_of(reply, reason), read.note])},
    )


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at to read a kept reply again."""

    task: str
    context: str
    format: str
    count: Int32 | None
    stated: Int32 | None
    refused: bool
    text: str | None
    recorded: bool
    note: str | None


def reread(answers: pl.DataFrame, edition: Edition, *, reparse: bool = False) -> pl.DataFrame:
    """The answers table with every kept text read again under an edition.

    Answers taken over from somebody else's file (`recorded`) stay unless `reparse`.
    """

    def again(row: _Kept) -> AnswerReading | None:
        if row.text is None or (row.recorded and not reparse):
            return None
        shown = row.stated if row.count is None else row.count
        asked = (row.task, row.context, row.format)
        read = read_text(edition, row.text, *asked, shown, refused=row.refused)
        # What this reading has to say stands in place of what an earlier one had.
        own = (row.note or "").removesuffix(_TOO_LARGE).removesuffix("; ")
        return msgspec.structs.replace(read, note=joined_notes([own, read.note]))

    return read_again(answers, _Kept, AnswerReading, again)
