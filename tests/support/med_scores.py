"""Scores that judges gave open replies, as a run keeps them; items by their index."""

from __future__ import annotations

import json

import polars as pl

from overread.judging import VERDICT_COLUMNS


def scored_by(judge, reader, index, scores, *, form="open", image="original", **other):
    """One verdict: four raw scores (three without a caption), or None where it is unreadable."""
    names = ("clarity", "coherence", "visual", "truth")
    if scores is not None and len(scores) == 3:
        names = ("clarity", "coherence", "truth")
    told = {
        "judge": judge,
        "role": "score",
        "question": "score" if len(names) == 4 else "score_uncaptioned",
        "reader": reader,
        "case": f"{'open' if form == 'open' else 'mcq'}-{index}",
        "about": json.dumps({"form": form, "image": image, "order": 0}, sort_keys=True),
        "check": False,
        "attempts": 1,
        "outcome": "invalid" if scores is None else "judged",
        "payload": None
        if scores is None
        else json.dumps(dict(zip(names, scores, strict=True)), sort_keys=True),
        **other,
    }
    return {column: told.get(column) for column in VERDICT_COLUMNS}


def verdicts_of(rows):
    """A run's verdicts."""
    other = {"check": pl.Boolean, "attempts": pl.Int64}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")
