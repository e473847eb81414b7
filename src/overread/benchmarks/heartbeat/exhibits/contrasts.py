"""Table 4, what the overlay and the words change, and the habits the paper tells of in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import CONTEXTS
from overread.benchmarks.heartbeat.exhibits.numbers import NOT_ASKED, accuracy, frames
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, asked, readers_of, reference
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Table

__all__ = ["accuracies", "habits", "helps"]

_SINGLE: Final = (("ed", "edv"), ("es", "esv"))


def accuracies(index: Index, signature: str) -> Table | None:
    """Table 4: which of two frames."""
    rows = []
    for reader in readers_of(index):
        for context in CONTEXTS:
            cells = []
            for phase, wanted in _SINGLE:
                by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
                record = index.get(reader, "accuracy", **by)
                sd = record.sd_seeds if record else None
                cells.append(accuracy(record, sd=sd) if record else NOT_ASKED)
            if set(cells) != {NOT_ASKED}:
                rows.append((reader, NAMES[context], *cells))
    for context in CONTEXTS if rows else ():
        coins = [reference(index, "chance_accuracy", "t2", context, phase) for phase, _ in _SINGLE]
        if any(coins):
            cells = [accuracy(coin) if coin else NOT_ASKED for coin in coins]
            rows.append(("a coin", NAMES[context], *cells))
    return table(
        "accuracy_t2",
        "Which of two frames? (Table 4)",
        ("reader", "context", "ED accuracy", "ES accuracy"),
        rows,
        signature,
        (
            "± is the standard deviation over seeds; [95 % interval] by patient. The coin is "
            "thrown once per video; its interval is where one seed of as many videos falls.",
        ),
        facts=2,
    )


def helps(index: Index, signature: str) -> Table | None:
    """Does the overlay help, and does dropping the medical words?"""
    rows = []
    for context, versus in (("segmented", "original"), ("non_medical", "segmented")):
        for task, name in (("t1", "diff_mae"), ("t2", "diff_accuracy")):
            for reader, wanted in asked(index, task, context):
                by = {"task": task, "context": context, "format": wanted, "versus": versus}
                for phase in sorted(phases_of(wanted)):
                    record = index.get(reader, name, phase=phase, **by)
                    if record is None:
                        continue
                    change = f"{NAMES[context]} - {NAMES[versus]}"
                    cells = (frames(record, signed=True), p_value(record.p), p_value(record.q))
                    unit = "MAE" if task == "t1" else "accuracy"
                    rows.append((reader, change, unit, wanted, phase.upper(), *cells))
    return table(
        "contexts",
        "Does the overlay help, and does dropping the medical words?",
        ("reader", "change", "of", "format", "phase", "difference", "p", "q"),
        rows,
        signature,
        (
            "On the videos answered in both contexts; a lower MAE and a higher accuracy are "
            "better. p by exchanging the contexts of whole patients; q after Benjamini and "
            "Hochberg.",
        ),
        facts=5,
    )


def habits(index: Index, signature: str) -> Table | None:
    """What the paper says in words: order, middle, one answer for all, and the range."""
    rows: list[Sequence[str]] = []
    for context in CONTEXTS:
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            order = index.get(reader, "order_bias", **by)
            for phase in sorted(phases_of(wanted)):
                here = by | {"phase": phase}
                distinct = index.known(reader, "distinct", **here)
                rows.append(
                    (
                        reader,
                        NAMES[context],
                        wanted,
                        phase.upper(),
                        cell(index.get(reader, "parsed", **here)),
                        cell(index.get(reader, "out_of_range", **here)),
                        frames(order, signed=True) if order else NOT_ASKED,
                        frames(index.get(reader, "middle_bias", **here), signed=True),
                        str(int(distinct.value or 0)) if distinct else NOT_KNOWN,
                        frames(index.get(reader, "seed_sd", **here)),
                    )
                )
    return table(
        "habits",
        "Habits that pass for seeing",
        (
            "reader",
            "context",
            "format",
            "phase",
            "parsed %",
            "out of range %",
            "order bias",
            "middle bias",
            "distinct",
            "SD of seeds",
        ),
        rows,
        signature,
        (
            "Order bias: how much more often the first-named phase gets the earlier frame than "
            "the truth has it. Middle bias: how much nearer to the middle the answers lie than "
            "the truths, in units of a uniform guess. Both are 0 for whoever is right.",
            "Distinct: how many different answers there are. SD of seeds: how far the seeds' "
            "answers to one video lie apart, frames.",
        ),
        facts=4,
    )
