"""Verdicts on open answers, as a run keeps them."""

from __future__ import annotations

import json

import polars as pl

from overread.judging import VERDICT_COLUMNS

COMPONENTS = ("clarity", "coherence", "visual", "truth")


def scored(
    judge, reader, case, scores, *, form="open", image="original", order=0, question="score",
    check=False, **variant,
):  # fmt: skip
    """One row of verdicts; `scores` are clarity, coherence, visual, truth, or None: unreadable."""
    value = None
    if scores is not None:
        pairs = zip(COMPONENTS, scores, strict=True)
        value = {name: score for name, score in pairs if score is not None}
    told = {
        "judge": judge,
        "role": "score",
        "question": question,
        "reader": reader,
        "case": case,
        "about": json.dumps({"form": form, "image": image, "order": order} | variant),
        "check": check,
        "attempts": 1,
        "outcome": "invalid" if value is None else "judged",
        "how": "lines",
        "payload": None if value is None else json.dumps(value),
    }
    return {column: told.get(column) for column in VERDICT_COLUMNS}


def verdicts_of(rows):
    other = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(list(rows), schema=schema, orient="row")
