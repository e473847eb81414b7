"""What judges said, whatever file it was kept in (M3COT 5-7).

Words are kept as they are, and read under the edition. Files that hold verdicts without the words
(accuracies, orders) are written out as the reply they were made of, so that every edition reads
them in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.results.files import Result, objects_of, orders_in
from overread.benchmarks.m3cot.results.names import (
    UNNAMED,
    brief,
    index_of,
    judge_of,
    named,
    question_of,
)
from overread.benchmarks.m3cot.results.predictions import no_words
from overread.benchmarks.m3cot.verdicts import QUESTIONS
from overread.benchmarks.m3cot.verdicts_authors import ORDERS, STATUS
from overread.case import BadInput
from overread.files import decimal, whole

__all__ = ["Judgement", "judgements_of"]

_LINE: Final = "judge, question, model, mode, index and reply"


class Judgement(NamedTuple):
    """One judge on one reply: the judge's words; None where it failed."""

    judge: str
    question: str
    model: str
    mode: str
    item: int
    reply: str | None
    where: str
    # What was judged, where the file keeps it.
    prediction: str | None = None
    reason: str = ""


def judgements_of(result: Result) -> Iterator[Judgement]:
    """The judgements of one file."""
    if result.kind == "reply":
        yield _cached(result)
    elif result.kind == "replies":
        yield from _lines(result)
    elif result.kind == "accuracy":
        yield from _accuracies(result)
    elif result.kind == "orders":
        yield from _orders(result)


def _cached(result: Result) -> Judgement:
    """A text is the reply; the authors' record has it as `valid_outputs`."""
    name, holds = result.name, result.holds
    assert name is not None
    prediction = None
    if isinstance(holds, Mapping) and "valid_outputs" in holds:
        told, reply = holds.get("index", name.item), holds["valid_outputs"]
        if "prediction" in holds:
            prediction = "" if no_words(holds["prediction"]) else holds["prediction"]
        if index_of(told) != name.item:
            raise BadInput(
                f"{result.shown} is of index {brief(told)}, and its name says {name.item}. "
                "Mend either."
            )
        if reply is not None and not isinstance(reply, str):
            raise BadInput(f"{result.shown}: valid_outputs is no text. Mend or remove the file.")
    else:
        reply = holds if isinstance(holds, str) else json.dumps(holds)
    return Judgement(
        *name, reply or "", result.shown, prediction if isinstance(prediction, str) else None
    )


def _lines(result: Result) -> Iterator[Judgement]:
    for number, line in objects_of(result.path):
        where = f"{result.shown} line {number}"
        missing = [key for key in _LINE.replace(" and", ",").split(", ") if key not in line]
        missing = [key for key in missing if not (key == "mode" and _cot_only(line))]
        if missing:
            raise BadInput(f"{where} has no {', '.join(missing)}; a line has {_LINE}. Fix it.")
        question = question_of(str(line["question"]))
        mode = line.get("mode", "cot")
        if question is None or mode not in MODES or (mode != "cot" and question != "answer"):
            raise BadInput(
                f"{where}: question is {brief(line['question'])} of mode {brief(mode)}; the "
                f"questions are {', '.join(QUESTIONS)}, of cot, and answer of direct too. Fix it."
            )
        index, reply = index_of(line["index"]), line["reply"]
        names = [line["judge"], line["model"]]
        if index is None or not all(isinstance(one, str) and one.strip() for one in names):
            raise BadInput(
                f"{where}: judge and model are names and index is a whole number from 1. Fix it."
            )
        if reply is not None and not isinstance(reply, str):
            reply = json.dumps(reply)
        reason = "" if reply is not None else "no reply"
        yield Judgement(
            names[0], question, names[1], mode, index, reply, where, line.get("prediction"), reason
        )


def _cot_only(line: Mapping[str, Any]) -> bool:
    return question_of(str(line.get("question"))) in ("precision", "recall", "order")


def _accuracies(result: Result) -> Iterator[Judgement]:
    """The output of the authors' accuracy script: what it made of each reply it could read."""
    who = named(result.path, result.root)
    if who is None:
        raise BadInput(
            f"{result.shown} holds accuracies, and its name says neither model nor mode. Name it "
            "<model>_cot.json or <model>_direct.json, with more words after the mode if need be."
        )
    summary = result.holds.get("summary")
    judge = summary.get("judge_model") if isinstance(summary, Mapping) else None
    for number, entry in enumerate(result.holds["results"], start=1):
        where = f"{result.shown} entry {number}"
        index = index_of(entry.get("index")) if isinstance(entry, Mapping) else None
        if index is None or "match" not in entry:
            raise BadInput(f"{where} is no object with index and match. Fix the entry.")
        said = {"match": entry["match"], "final_answer": entry.get("final_answer", "")}
        prediction = entry.get("prediction")
        yield Judgement(
            judge if isinstance(judge, str) and judge.strip() else UNNAMED,
            "answer",
            *who,
            index,
            json.dumps(said),
            where,
            prediction if isinstance(prediction, str) else None,
        )


def _orders(result: Result) -> Iterator[Judgement]:
    """The authors' table of orders, every row of it: its cells as the judge's reply."""
    who = named(result.path, result.root)
    model = result.path.stem if who is None else who.model
    if who is not None and who.mode != "cot":
        raise BadInput(f"{result.shown}: the order of steps is judged of cot only. Leave it out.")
    home = result.path.parent
    if home != result.root and question_of(home.name) is None:
        home = result.path  # <judge>/<model>.csv
    judge = judge_of(home, result.root)
    for line, cells in orders_in(result.path):
        where = f"{result.shown} row {line}"
        index = index_of(cells["index"].strip())
        if index is None:
            shown = brief(cells["index"])
            raise BadInput(f'{where}: index is "{shown}"; it is a whole number from 1. Fix it.')
        orders = {f"{name}_order": _cell(cells[f"{name}_order"]) for name in ORDERS}
        subs = {f"{name}_subs": cells.get(f"{name}_subs", "") for name in ORDERS}
        row = orders | subs | {STATUS: cells.get(STATUS)}
        yield Judgement(
            *(judge, "order", model, "cot", index),
            json.dumps(row),
            where,
            cells.get("prediction"),
        )


def _cell(text: str) -> int | float | str | None:
    """A cell as a number where this is written again as it stands, else as it is."""
    if not text:
        return None
    for number in (whole(text), decimal(text)):
        if number is not None and str(number) == text:
            return number
    return text
