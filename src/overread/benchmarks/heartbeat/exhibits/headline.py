"""The first table, a row per reader, and the longer one behind it."""

from __future__ import annotations

from typing import NamedTuple

from overread.benchmarks.exhibits.cells import cell, fraction, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import CONTEXTS, OBSERVERS
from overread.benchmarks.heartbeat.exhibits.numbers import NOT_ASKED, accuracy, frames
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    GROUPED,
    NAMES,
    PHASES,
    asked,
    asked_formats,
    contexts_of,
    readers_of,
    reference,
    references,
)
from overread.benchmarks.heartbeat.exhibits.stated import GUESSES, one_pass
from overread.benchmarks.heartbeat.frames import CANNOT_TELL
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.case import Measure, Table

__all__ = ["left_out", "skills", "summary"]

_COLUMNS = {
    "skill_ed": "skill ED",
    "skill_es": "skill ES",
    "mae_ed": "MAE ED",
    "mae_es": "MAE ES",
    "pair_ed": "T2 ED",
    "pair_es": "T2 ES",
    "parsed": "parsed %",
    "out_of_range": "out of range %",
}
_TITLE = "Does it follow the heartbeat better than one constant answer?"
_PAIRS = "Can it tell the two frames apart?"
_SKILL = (
    "Skill: 1 - MAE / MAE of the best constant, the median of the other videos' truths. 0: no "
    "better than always naming one frame; 1: perfect. MAE in frames; T2 is accuracy."
)
_INTERVAL = "[95 % interval] over videos (patients), never over seeds or passes."
_UNTOLD = (
    f"{CANNOT_TELL}: the best constant errs by less than the middle of what two observers differ "
    "by, so that skill says nothing."
)


_OBSERVED = f" (two observers differ by {OBSERVERS[0]} to {OBSERVERS[1]})"


class _Asked(NamedTuple):
    """One task's setting in the first table: the context, and each phase's format."""

    task: str
    context: str
    formats: dict[Phase, str]

    def by(self, phase: Phase) -> dict[str, str] | None:
        wanted = self.formats.get(phase)
        if wanted is None:
            return None
        return {"task": self.task, "context": self.context, "format": wanted, "phase": phase}

    def __str__(self) -> str:
        formats = list(dict.fromkeys(self.formats.values()))
        plural = "s" * (len(formats) > 1)
        return f"context {NAMES[self.context]}, format{plural} {' and '.join(formats)}"


def summary(index: Index, signature: str) -> Table:
    """What counts: is a reader better than one constant answer, and does it answer at all?

    One row per reader, in the first context and the first pair format that were asked.
    """
    t1, t2 = _setting(index, "t1"), _setting(index, "t2")
    names = [name for name in _COLUMNS if _has(name, t1, t2)]
    rows = [
        (reader, *(_reader_cell(index, reader, name, t1, t2) for name in names))
        for reader in readers_of(index)
    ]
    rows += [
        (guesser, *(_guesser_cell(index, guesser, name) for name in names))
        for guesser in references(index, BASELINE)
    ]
    return Table(
        name="summary",
        title=_PAIRS if t1 is None and t2 is not None else _TITLE,
        columns=("reader", *(_COLUMNS[name] for name in names)),
        rows=tuple(rows),
        signature=signature,
        notes=tuple(
            note
            for note in (
                _stands(t1, t2),
                _chance(index, t1, signature),
                _SKILL if t1 else "",
                _UNTOLD if any(CANNOT_TELL in text for row in rows for text in row) else "",
                _INTERVAL,
            )
            if note
        ),
    )


def _setting(index: Index, task: str) -> _Asked | None:
    contexts = contexts_of(index, task)
    if not contexts:
        return None
    formats = asked_formats(index, task, contexts[0])
    pair = next((wanted for wanted in formats if len(phases_of(wanted)) == 2), None)
    if pair is not None:
        return _Asked(task, contexts[0], dict.fromkeys(PHASES, pair))
    return _Asked(task, contexts[0], {phases_of(wanted)[0]: wanted for wanted in formats})


def _has(name: str, t1: _Asked | None, t2: _Asked | None) -> bool:
    """Whether a column has anything to say; a run of nothing keeps them all."""
    if t1 is None and t2 is None:
        return True
    kind, _, phase = name.rpartition("_")
    if kind not in ("skill", "mae", "pair"):
        return True
    setting = t2 if kind == "pair" else t1
    return setting is not None and phase in setting.formats


def _reader_cell(index: Index, reader: str, name: str, t1: _Asked | None, t2: _Asked | None) -> str:
    if name in ("parsed", "out_of_range"):
        return _worse(index, reader, name, t1 or t2)
    kind, _, phase = name.partition("_")
    setting = t2 if kind == "pair" else t1
    by = setting.by("ed" if phase == "ed" else "es") if setting else None
    if by is None:
        return NOT_ASKED
    record = index.get(reader, "accuracy" if kind == "pair" else kind, **by)
    if record is None:
        return NOT_ASKED
    if kind == "skill":
        return _skill(record)
    return accuracy(record) if kind == "pair" else frames(record)


def _skill(record: Measure) -> str:
    """The number stands even where it cannot tell."""
    said = frames(record)
    return f"{said} {CANNOT_TELL}" if record.label == CANNOT_TELL else said


def _worse(index: Index, reader: str, name: str, setting: _Asked | None) -> str:
    """Of the two phases the one with fewer parsed, or with more out of range."""
    found = [
        record
        for phase in (setting.formats if setting else ())
        if setting and (record := index.known(reader, name, **(setting.by(phase) or {})))
    ]
    if not found:
        return NOT_ASKED
    worst = min if name == "parsed" else max
    return cell(worst(found, key=lambda record: record.value or 0.0))


def _guesser_cell(index: Index, guesser: str, name: str) -> str:
    kind, _, phase = name.partition("_")
    record = index.get(guesser, kind, task="t1", phase=phase)
    return NOT_ASKED if record is None else _skill(record)


def _stands(t1: _Asked | None, t2: _Asked | None) -> str:
    """Which of the settings the table shows."""
    if t1 is None and t2 is None:
        return ""
    said = "; ".join(
        f"{words}: {setting}"
        for words, setting in (("Finding the frames", t1), ("T2, which of two frames", t2))
        if setting is not None
    )
    return f"{said}. Parsed and out of range: the worse of its phases, in {'T1' if t1 else 'T2'}."


def _chance(index: Index, t1: _Asked | None, signature: str) -> str:
    if t1 is None:
        return "A coin has 0.5." if contexts_of(index, "t2") else ""
    said = []
    for measure, words in (("constant_mae", "best constant"), ("chance_mae", GUESSES)):
        found = {
            phase: record
            for phase in t1.formats
            if (record := reference(index, measure, "t1", t1.context, phase))
        }
        if found:
            cells = ", ".join(f"{phase.upper()} {frames(r)}" for phase, r in found.items())
            said.append(f"{words} {cells}{_OBSERVED if measure == 'constant_mae' else ''}")
    coin = "a coin has 0.5 in T2" if contexts_of(index, "t2") else ""
    told = "; ".join(part for part in (*said, coin) if part)
    guessed = any(words.startswith(GUESSES) for words in said)
    more = one_pass(signature) if guessed else ()
    return " ".join((f"To be beaten, MAE: {told}.", *more)) if said else ""


def skills(index: Index, signature: str) -> Table | None:
    """Skill and signed correlation in every context and format."""
    rows = []
    for context in CONTEXTS:
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for name in ("skill", "r"):
                for phase in PHASES:
                    record = index.get(reader, name, phase=phase, **by)
                    there = phase in phases_of(wanted)
                    shown = _skill(record) if record is not None else frames(None)
                    cells.append(shown if there else NOT_ASKED)
            first = phases_of(wanted)[0]
            parsed = cell(index.get(reader, "parsed", phase=first, **by))
            rows.append((reader, NAMES[context], wanted, *cells, parsed))
    return table(
        "skills",
        "Skill in every context and format",
        ("reader", "context", "format", "skill ED", "skill ES", "r ED", "r ES", "parsed %"),
        rows,
        signature,
        (
            _SKILL,
            "r: correlation of answers and truths with its sign, mean over seeds; n/a where all "
            "answers are the same.",
            *([_UNTOLD] if any(CANNOT_TELL in text for row in rows for text in row) else []),
            _INTERVAL,
        ),
        facts=3,
    )


def left_out(index: Index, signature: str) -> Table | None:
    """Whom the windows leave out, by EF and frame rate where the set knows them."""
    (everyone,) = index.together("left_out", "task") or (None,)
    rows = [] if everyone is None else [("all", "-", fraction(everyone))]
    rows += [
        (words, record.by[key], fraction(record))
        for key, words in GROUPED.items()
        for record in index.together("left_out", "task", key)
    ]
    return table(
        "left_out",
        "Whom do the windows leave out?",
        ("clips", "group", "left out %"),
        rows,
        signature,
        (
            "Of the sample, clips that no window fits: their phases lie too far apart or too close "
            "together, or they are too short. [95 % interval], Wilson's, by patient.",
        ),
        facts=2,
    )
