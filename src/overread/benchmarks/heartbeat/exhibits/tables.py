"""Tables 1-7 of the paper, and the habits it describes in words, as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value, percent, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Measure, Table

__all__ = [
    "NAMES",
    "accuracies",
    "asked",
    "frame_errors",
    "habits",
    "helps",
    "number",
    "summary",
    "video_errors",
]

NAMES: Final = {"original": "original", "segmented": "segmented", "non_medical": "non-medical"}
_FRAME_TABLES: Final = {"original": "Table 1", "segmented": "Table 2", "non_medical": "Table 3"}
_VIDEO_TABLES: Final = {"original": "Table 5", "segmented": "Table 6", "non_medical": "Table 7"}
_NOT_ASKED: Final = "-"


def number(value: float | None, *, signed: bool = False) -> str:
    """Two decimals; from ten thousand on in powers of ten, so that a column keeps its width."""
    if value is None:
        return NOT_KNOWN
    sign = "+" if signed else ""
    text = f"{value:{sign}.2e}" if abs(value) >= 10_000 else f"{value:{sign}.2f}"
    return text[1:] if text in ("-0.00", "+0.00") else text


def interval(record: Measure | None, *, signed: bool = False) -> str:
    """`4.14 [3.41, 4.91] n=10`."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = number(record.value, signed=signed)
    if record.low is not None and record.high is not None:
        low, high = (number(bound, signed=signed) for bound in (record.low, record.high))
        text += f" [{low}, {high}]"
    return text if record.n is None else f"{text} n={record.n}"


def spread(record: Measure | None, sd: float | None) -> str:
    """`4.14 ± 1.25`, as the paper prints it."""
    if record is None or record.value is None:
        return NOT_KNOWN
    return number(record.value) if sd is None else f"{number(record.value)} ± {number(sd)}"


def asked(index: Index, task: str, context: str) -> list[tuple[str, str]]:
    """The readers and formats of a task and context, in the paper's order."""
    name = "mae" if task == "t1" else "accuracy"
    return [
        (reader, wanted)
        for reader in index.readers
        for wanted in FORMATS
        if any(
            index.get(reader, name, task=task, context=context, format=wanted, phase=phase)
            for phase in phases_of(wanted)
        )
    ]


def summary(index: Index, signature: str) -> Table:
    """What counts: is a reader better than one constant answer, and does it answer at all?"""
    rows = []
    for context in CONTEXTS:
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in ("ed", "es"):
                if phase in phases_of(wanted):
                    cells.append(interval(index.get(reader, "skill", phase=phase, **by)))
                else:
                    cells.append(_NOT_ASKED)
            first = phases_of(wanted)[0]
            parsed = index.get(reader, "parsed", phase=first, **by)
            rows.append((reader, NAMES[context], wanted, *cells, _share(parsed)))
    for reader in index.readers:
        if reader.startswith("baseline:"):
            cells = [interval(index.get(reader, "skill", task="t1", phase=p)) for p in ("ed", "es")]
            rows.append((reader, "", "", *cells, ""))
    return Table(
        name="summary",
        title="Does it follow the heartbeat better than one constant answer?",
        columns=("reader", "context", "format", "skill ED", "skill ES", "parsed"),
        rows=tuple(rows),
        signature=signature,
        notes=(
            "Skill: 1 - MAE / MAE of the best constant (the median of the other videos' truths). "
            "0 is no better than always giving one frame, 1 is perfect.",
            "[95 % interval], resampling videos (patients), never seeds or passes.",
        ),
    )


def _share(record: Measure | None) -> str:
    return NOT_KNOWN if record is None else f"{percent(record.value)} %"


def frame_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 1-3: error and squared correlation with the spread over seeds."""
    for context in CONTEXTS:
        rows = [_random(index, context)]
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells: list[str] = []
            for phase in ("ed", "es"):
                if phase not in phases_of(wanted):
                    cells += [_NOT_ASKED, _NOT_ASKED]
                    continue
                for name in ("mae", "r2"):
                    record = index.get(reader, name, phase=phase, **by)
                    cells.append(spread(record, record.sd_seeds if record else None))
            ef = index.get(reader, "ef_mae", **by)
            cells.append(spread(ef, ef.sd_seeds) if ef else _NOT_ASKED)
            rows.append((reader, wanted, *cells))
        if len(rows) > 1:
            yield table(
                f"frames_{context}",
                f"Errors in finding the frames, {NAMES[context]} ({_FRAME_TABLES[context]})",
                ("reader", "format", "ED MAE", "ED R²", "ES MAE", "ES R²", "EF MAE"),
                rows,
                signature,
                ("Frames, and percentage points for EF; ± is the standard deviation over seeds.",),
                facts=2,
            )


def video_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 5-7: the same errors with the spread over videos."""
    for context in CONTEXTS:
        rows = []
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in ("ed", "es"):
                record = index.get(reader, "mae_videos", phase=phase, **by) or index.get(
                    reader, "mae", phase=phase, **by
                )
                known = spread(record, record.sd_videos if record else None)
                cells.append(known if phase in phases_of(wanted) else _NOT_ASKED)
            ef = index.get(reader, "ef_mae", **by)
            cells.append(spread(ef, ef.sd_videos) if ef else _NOT_ASKED)
            rows.append((reader, wanted, *cells))
        if rows:
            yield table(
                f"videos_{context}",
                f"The same errors over videos, {NAMES[context]} ({_VIDEO_TABLES[context]})",
                ("reader", "format", "ED MAE", "ES MAE", "EF MAE"),
                rows,
                signature,
                ("± is the standard deviation over videos, each averaged over its seeds first.",),
                facts=2,
            )


def _random(index: Index, context: str) -> tuple[str, ...]:
    """The row of uniform guesses, from whichever reader was shown the windows."""
    cells = []
    for phase in ("ed", "es"):
        found = next(
            (
                record
                for reader, wanted in asked(index, "t1", context)
                if (
                    record := index.known(
                        reader,
                        "chance_mae",
                        task="t1",
                        context=context,
                        format=wanted,
                        phase=phase,
                    )
                )
            ),
            None,
        )
        cells += [number(found.value) if found else NOT_KNOWN, _NOT_ASKED]
    return ("Random", _NOT_ASKED, *cells, _NOT_ASKED)


def accuracies(index: Index, signature: str) -> Table | None:
    """Table 4: which of two frames."""
    rows = []
    for reader in index.readers:
        for context in CONTEXTS:
            cells = []
            for phase, wanted in (("ed", "edv"), ("es", "esv")):
                by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
                record = index.get(reader, "accuracy", **by)
                cells.append(_accuracy(record))
            if set(cells) != {NOT_KNOWN}:
                rows.append((reader, NAMES[context], *cells))
    return table(
        "accuracy_t2",
        "Which of two frames? (Table 4)",
        ("reader", "context", "ED accuracy", "ES accuracy"),
        rows,
        signature,
        ("[95 % interval]; ± is the standard deviation over seeds. A coin has 0.5.",),
        facts=2,
    )


def _accuracy(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{record.value:.3f}"
    if record.sd_seeds is not None:
        text += f" ± {record.sd_seeds:.3f}"
    if record.low is not None and record.high is not None:
        text += f" [{record.low:.3f}, {record.high:.3f}]"
    return text


def helps(index: Index, signature: str) -> Table | None:
    """Does the overlay help, and does dropping the medical words?"""
    rows = []
    for context, versus in (("segmented", "original"), ("non_medical", "segmented")):
        for task, name in (("t1", "diff_mae"), ("t2", "diff_accuracy")):
            for reader, wanted in asked(index, task, context):
                for phase in sorted(phases_of(wanted)):
                    record = index.get(
                        reader,
                        name,
                        task=task,
                        context=context,
                        format=wanted,
                        phase=phase,
                        versus=versus,
                    )
                    if record is None:
                        continue
                    change = f"{NAMES[context]} - {NAMES[versus]}"
                    cells = (interval(record, signed=True), p_value(record.p), p_value(record.q))
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
                        _share(index.get(reader, "parsed", **here)),
                        _share(index.get(reader, "out_of_range", **here)),
                        interval(order, signed=True) if order else _NOT_ASKED,
                        interval(index.get(reader, "middle_bias", **here), signed=True),
                        str(int(distinct.value or 0)) if distinct else NOT_KNOWN,
                        number(r.value if (r := index.get(reader, "seed_sd", **here)) else None),
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
            "parsed",
            "out of range",
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
        ),
        facts=4,
    )
