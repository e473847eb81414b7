"""Small Med-CMR runs made by hand: cases and answers as a run keeps them."""

from __future__ import annotations

import polars as pl

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.answers import Answer
from overread.benchmarks.medcmr.cases import CaseRow
from overread.benchmarks.tables import schema_of
from overread.case import Traits

FIVE = ("aa", "bbbb", "cc", "dddd", "e")


def case_schema():
    return schema_of(CaseRow)


def answer_schema():
    return schema_of(Answer)


def mcq(index, answer="A", dimension="SOD", options=FIVE, **other):
    """One multiple-choice row of cases, with an image of its own."""
    told = {
        "case": f"mcq-{index}",
        "index": index,
        "kind": "mcq",
        "question": "?",
        "images": [f"{index}.png"],
        "options": list(options),
        "answer": answer,
        "dimension": dimension,
        **other,
    }
    return {column: told.get(column) for column in case_schema()}


def opened(index, dimension="SOD", **other):
    """One open row of cases, with an image of its own."""
    told = {
        "case": f"open-{index}",
        "index": index,
        "kind": "open",
        "question": "?",
        "images": [f"open/{index}.png"],
        "options": [],
        "answer": "true",
        "caption": "seen",
        "dimension": dimension,
        **other,
    }
    return {column: told.get(column) for column in case_schema()}


def chose(reader, index, choice, *, image="original", order=0, shift=0, options=5, **other):
    """One multiple-choice row of answers.

    `choice` is the letter in the case, "?" a reply that names none, "!" a refusal, None no reply;
    with `shift` the options were shown that many places on.
    """
    named = choice if choice is not None and choice in LETTERS else None
    outcome = {"?": "unparsed", "!": "refused", None: "unanswered"}.get(choice, "answered")
    shown = None if named is None else LETTERS[(LETTERS.index(named) - shift) % options]
    told = {
        "reader": reader,
        "case": f"mcq-{index}",
        "form": "mcq",
        "image": image,
        "order": order,
        "outcome": outcome,
        "choice": named,
        "shown": shown,
        "text": None if choice is None else "said",
        "finish": None if choice is None else "stop",
        **other,
    }
    return {column: told.get(column) for column in ("reader", *answer_schema())}


def wrote(reader, index, text="said", *, form="open", image="original", **other):
    """One row of answers to an open question; `text=None` is unanswered."""
    told = {
        "reader": reader,
        "case": f"{'open' if form == 'open' else 'mcq'}-{index}",
        "form": form,
        "image": image,
        "order": 0,
        "outcome": "unanswered" if text is None else "answered",
        "reasoning": text,
        "answer": text,
        "text": text,
        "finish": None if text is None else "stop",
        **other,
    }
    return {column: told.get(column) for column in ("reader", *answer_schema())}


def tables_of(cases, answers, readers=None, *, blind=()):
    """A run's tables; readers in `blind` get no picture."""
    names = readers or list(dict.fromkeys(row["reader"] for row in answers))
    return Tables(
        cases=pl.DataFrame(cases, schema=dict(case_schema()), orient="row"),
        answers=pl.DataFrame(
            answers, schema={"reader": pl.String, **answer_schema()}, orient="row"
        ),
        readers=tuple(
            ReaderRecord(
                name=name, traits=Traits(modality="text" if name in blind else "multimodal")
            )
            for name in names
        ),
    )


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
