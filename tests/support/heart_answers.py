"""Answers to the heartbeat benchmark made by hand: nested lists of videos, seeds and passes."""

from __future__ import annotations

import msgspec
import polars as pl

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.heartbeat.marks import phases_of

COLUMNS = {
    "reader": pl.String,
    "case": pl.String,
    "task": pl.String,
    "context": pl.String,
    "format": pl.String,
    "seed": pl.Int64,
    "pass": pl.Int32,
    "outcome": pl.String,
    "pred_ed": pl.Int64,
    "pred_es": pl.Int64,
    "lenient_ed": pl.Int64,
    "lenient_es": pl.Int64,
    "truth_ed": pl.Int32,
    "truth_es": pl.Int32,
    "count": pl.Int32,
    "stated": pl.Int32,
    "text": pl.String,
}


def rows(said, truth, *, wanted="edv", task="t1", context="original", reader="r", count=50):
    """Rows of one setting.

    `said[video][seed][pass]` and `truth[video][seed]` hold a number, or a pair in the order
    (ed, es); None is unparsed, and a word is that outcome. `count` may differ by video.
    """
    found = []
    for video, seeds in enumerate(said):
        for seed, passes in enumerate(seeds):
            for turn, answer in enumerate(passes):
                true = truth[video][seed]
                ed, es = _pair(answer if not isinstance(answer, str) else None, wanted)
                true_ed, true_es = true if isinstance(true, tuple) else _both(true, wanted, task)
                outcome = "unparsed" if ed is None and es is None else "answered"
                shown = count[video] if isinstance(count, (list, tuple)) else count
                shown = 2 if task == "t2" else shown
                found.append(
                    {
                        "reader": reader,
                        "case": f"v{video:03d}",
                        "task": task,
                        "context": context,
                        "format": wanted,
                        "seed": 2020 + seed,
                        "pass": turn,
                        "outcome": answer if isinstance(answer, str) else outcome,
                        "pred_ed": ed,
                        "pred_es": es,
                        "lenient_ed": ed,
                        "lenient_es": es,
                        "truth_ed": true_ed,
                        "truth_es": true_es,
                        "count": shown,
                        "stated": shown,
                        "text": "",
                    }
                )
    return found


def _pair(answer, wanted):
    if answer is None or isinstance(answer, tuple):
        return answer or (None, None)
    return (answer, None) if phases_of(wanted) == ("ed",) else (None, answer)


def _both(true, wanted, task):
    other = 1 - true if task == "t2" else 0
    return (true, other) if phases_of(wanted) == ("ed",) else (other, true)


def tables_of(some, patients=None, **facts):
    """The tables of a run; `patients` and further columns of the cases go by the video's number."""
    answers = pl.DataFrame(some, schema=COLUMNS)
    cases = answers["case"].unique().sort()
    columns = {"case": cases, "patient": patients or [None] * len(cases), **facts}
    table = pl.DataFrame(columns, schema_overrides={"case": pl.String, "patient": pl.String})
    readers = tuple(ReaderRecord(name=name) for name in answers["reader"].unique())
    return Tables(cases=table, answers=answers, readers=readers)


def with_volumes(tables, volumes, areas=None):
    """The tables with these volumes of every frame by case, and perhaps areas, as a run keeps them."""
    names = tables.cases["case"].to_list()
    columns = {"frame_volumes": volumes, "frame_areas": areas or {}}
    kept = [
        pl.Series(
            column, [None if n not in by else list(by[n]) for n in names], pl.List(pl.Float64)
        )
        for column, by in columns.items()
    ]
    method = pl.lit("discs").alias("volume_method")
    fault = pl.lit(None, pl.String).alias("volume_fault")
    return msgspec.structs.replace(tables, cases=tables.cases.with_columns(*kept, method, fault))


def found(measures, name, **by):
    """The one record of this name and exactly these groups (and the reader, if given)."""
    reader = by.pop("reader", None)
    some = [
        m
        for m in measures
        if m.measure == name and m.by == by and (reader is None or m.reader == reader)
    ]
    assert len(some) == 1, [(m.reader, m.measure, m.by) for m in measures if m.measure == name]
    return some[0]
