"""Figures 2 and 3 of the paper: how far from the frame, in every context and format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import BLUE, FAINT, VERMILLION, Spec
from overread.benchmarks.heartbeat.edition import FORMATS
from overread.benchmarks.heartbeat.exhibits.lanes import Look, Panel, axis_of, lane_row, lanes
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    NAMES,
    PHASES,
    asked,
    contexts_of,
    readers_of,
    reference,
    references,
    short_names,
)
from overread.benchmarks.heartbeat.exhibits.stated import GUESSES, one_pass
from overread.case import Figure, Measure

__all__ = ["LOOKS", "error_figures"]

_GREEN: Final = "#009e73"
LOOKS: Final = {
    "edv_esv": Look(BLUE, "circle"),
    "esv_edv": Look(VERMILLION, "square"),
    "edv": Look(_GREEN, "diamond"),
    "esv": Look(_GREEN, "diamond"),
}
_LINES: Final = {"constant_mae": "best constant", "chance_mae": GUESSES}
_DASHES: Final = {"best constant": [1, 0], GUESSES: [4, 3]}


def error_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """MAE of one phase by context and format, with uniform guesses and the best constant."""
    for phase, words in PHASES.items():
        found = list(_errors(index, phase))
        if not found:
            continue
        lines = _lines(index, phase)
        guessed = _guessed(index, phase)
        top = _top([record for *_, record in found], lines)
        names = short_names(readers_of(index))
        rows = [
            _row(names[reader], context, wanted, record, top, reader)
            for reader, context, wanted, record in found
        ]
        rows += [
            _row(name, context, "", record, top, name)
            for name, record in guessed
            for context in dict.fromkeys(row["panel"] for row in rows)
        ]
        yield Figure(
            name=f"mae_{phase}",
            title=f"How many frames from {words}?",
            spec=_spec(rows, lines, top),
            alt=_alt(words, rows, lines),
            signature=signature,
            notes=_notes(rows, lines, signature),
        )


def _errors(index: Index, phase: str) -> Iterator[tuple[str, str, str, Measure]]:
    for context in contexts_of(index, "t1"):
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted, "phase": phase}
            record = index.known(reader, "mae", **by)
            if record is not None:
                yield reader, NAMES[context], wanted, record


def _lines(index: Index, phase: str) -> list[Spec]:
    return [
        {"panel": NAMES[context], "line": words, "value": record.value}
        for context in contexts_of(index, "t1")
        for measure, words in _LINES.items()
        if (record := reference(index, measure, "t1", context, phase))
    ]


def _guessed(index: Index, phase: str) -> list[tuple[str, Measure]]:
    """The guessers' own rows: the same in every context, for the windows are."""
    return [
        (name, record)
        for name in references(index, BASELINE)
        if (record := index.known(name, "mae", task="t1", phase=phase))
    ]


def _row(name: str, panel: str, kind: str, record: Measure, top: float, reader: str) -> Spec:
    return lane_row(name, panel, kind, record, top, reader=reader, printed=number(record.value))


def _top(records: list[Measure], lines: list[Spec]) -> float:
    """The end of the axis: half as far again as uniform guesses holds all but absurd errors.

    It reaches to the ends of the intervals as long as they are within that.

    Where nothing is known of those, three times the median error.
    """
    values = sorted(record.value or 0.0 for record in records)
    ends = max(values[-1], *(record.high or 0.0 for record in records))
    chance = max((line["value"] for line in lines), default=2 * values[len(values) // 2])
    return float(max(1, ceil(min(max(ends, chance) * 1.04, 1.5 * chance))))


def _spec(rows: list[Spec], lines: list[Spec], top: float) -> Spec:
    kinds = [wanted for wanted in FORMATS if any(row["kind"] == wanted for row in rows)]
    x = axis_of("MAE, frames", top)
    panels = [
        Panel(title, partial(_drawn, lines, title))
        for title in dict.fromkeys(row["panel"] for row in rows)
    ]
    return lanes(rows, panels, {kind: LOOKS[kind] for kind in kinds}, x)


def _drawn(lines: list[Spec], panel: str, x: Spec) -> list[Spec]:
    return [_line(line, x, lines) for line in lines if line["panel"] == panel]


def _line(line: Spec, x: Spec, lines: list[Spec]) -> Spec:
    known = list(dict.fromkeys(other["line"] for other in lines))
    dash = {"domain": known, "range": [_DASHES[name] for name in known]}
    return {
        "data": {"values": [line]},
        "mark": {"type": "rule", "color": FAINT, "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "value", **x},
            "strokeDash": {"field": "line", "type": "nominal", "scale": dash},
        },
    }


def _alt(words: str, rows: list[Spec], lines: list[Spec]) -> str:
    spoken = "; ".join(
        f"{row['reader']} {row['panel']} {row['kind']} {number(row['value'])}"
        for row in rows
        if row["kind"]
    )
    beaten = "; ".join(f"{line['line']} {line['panel']} {number(line['value'])}" for line in lines)
    return (
        f"Mean absolute error of every reader in finding {words}, frames: {spoken}."
        + f" To be beaten: {beaten}." * bool(beaten)
    )


def _notes(rows: list[Spec], lines: list[Spec], signature: str) -> tuple[str, ...]:
    said = ["Bars: 95 % intervals over videos."]
    if lines:
        said.append(
            "Left of the solid line a reader is better than always naming one frame, left of the "
            "dashed one better than uniform guesses."
        )
        said += one_pass(signature)
    if any(not row["kind"] for row in rows):
        said.append(
            "Grey crosses: guessers; those of area and volume read masks, the others look at "
            "nothing. All contexts show one window."
        )
    if any(row["beyond"] for row in rows):
        said.append("An arrow is an error beyond the axis, printed beside it.")
    if any(row["cut"] for row in rows):
        said.append("An arrow head at the end of a bar: the interval goes on beyond the axis.")
    return (" ".join(said),)
