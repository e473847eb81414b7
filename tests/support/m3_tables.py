"""Small m3cot runs made by hand: cases, answers and verdicts as a run keeps them."""

from __future__ import annotations

import json

import msgspec
import polars as pl

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.m3cot.cases import CaseRow
from overread.benchmarks.m3cot.judge_questions import read_verdict
from overread.benchmarks.m3cot.trials import Answer
from overread.benchmarks.tables import schema_of
from overread.judging import VERDICT_COLUMNS

ROLE = {"answer": "answer", "precision": "steps", "recall": "steps", "order": "order"}


def case(index, task="Diagnosis", kind="short", steps=("modality", "feature"), patient=None):
    """One row of cases; steps by their types."""
    told = {
        "case": f"m{index}",
        "index": index,
        "question": "?",
        "answer": "!",
        "kind": kind,
        "task": task,
        "image": f"{index}.png",
        "steps": [{"type": step, "text": step} for step in steps],
        "patient": patient,
    }
    return {column: told.get(column) for column in schema_of(CaseRow)}


def answer(reader, index, mode="cot", text="said", **other):
    """One row of answers; `text=None` is unanswered."""
    told = {
        "reader": reader,
        "case": f"m{index}",
        "mode": mode,
        "image": "original",
        "follow": "",
        "timed": False,
        "outcome": "unanswered" if text is None else "answered",
        "text": text,
        **other,
    }
    return {column: told.get(column) for column in ("reader", *schema_of(Answer))}


def about(mode="cot", image="original", follow="", timed=False, **variant):
    return json.dumps({"follow": follow, "image": image, "mode": mode, "timed": timed} | variant)


def verdict(judge, question, reader, index, value=None, *, check=False, how="strict", **where):
    """One row of verdicts; a `value` of None is a reply that could not be read."""
    told = {
        "judge": judge,
        "role": ROLE[question],
        "question": question,
        "reader": reader,
        "case": f"m{index}",
        "about": about(**where),
        "check": check,
        "attempts": 1,
        "outcome": "invalid" if value is None else "judged",
        "how": how,
        "payload": None if value is None else msgspec.json.encode(value).decode(),
    }
    return {column: told.get(column) for column in VERDICT_COLUMNS}


def read(judge, question, reader, index, text, edition, gold=2, **where):
    """One row of verdicts as an edition reads a judge's words."""
    found = read_verdict(question, text, edition, gold)
    row = verdict(judge, question, reader, index, found.value, how=found.how, **where)
    return row | {"text": text, "reason": found.fault}


def tables_of(cases, answers, readers=None):
    names = readers or list(dict.fromkeys(row["reader"] for row in answers))
    return Tables(
        cases=pl.DataFrame(cases, schema=dict(schema_of(CaseRow)), orient="row"),
        answers=pl.DataFrame(
            answers, schema={"reader": pl.String, **schema_of(Answer)}, orient="row"
        ),
        readers=tuple(ReaderRecord(name=name) for name in names),
    )


def verdicts_of(rows):
    other = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def found(records, measure, reader=None, **by):
    """The one record of a measure."""
    some = [
        record
        for record in records
        if record.measure == measure and record.by == by and reader in (None, record.reader)
    ]
    assert len(some) == 1, (
        measure,
        by,
        [(r.reader, r.by) for r in records if r.measure == measure],
    )
    return some[0]
