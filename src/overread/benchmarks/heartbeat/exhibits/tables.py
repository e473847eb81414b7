"""The tables: the first, a row per reader, the longer one behind it, and those of the paper.

Tables 1-3 and 5-7 are errors in finding the frames, with the spread over seeds or over videos;
Table 4 is which of two frames. Then what the overlay and the words change, and the habits the paper
tells of in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, fraction, p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import CONTEXTS, OBSERVERS
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    GROUPED,
    GUESSES,
    NAMES,
    NOT_ASKED,
    PHASES,
    SPECIALIST,
    accuracy_cell,
    asked,
    asked_formats,
    contexts_of,
    frames_cell,
    one_pass,
    readers_of,
    reference,
    references,
)
from overread.benchmarks.heartbeat.frame_measures import CANNOT_TELL
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.case import Measure, Table

__all__ = [
    "accuracies",
    "frame_errors",
    "habits",
    "helps",
    "left_out",
    "skills",
    "summary",
    "video_errors",
]

# ------------------------------------------------------------ the first table and the one behind it

_SUMMARY_COLUMNS = {
    "skill_ed": "skill ED",
    "skill_es": "skill ES",
    "mae_ed": "MAE ED",
    "mae_es": "MAE ES",
    "pair_ed": "T2 ED",
    "pair_es": "T2 ES",
    "parsed": "parsed %",
    "out_of_range": "out of range %",
}
_SUMMARY_TITLE = "Does it follow the heartbeat better than one constant answer?"
_PAIRS_TITLE = "Can it tell the two frames apart?"
_SKILL_NOTE = (
    "Skill: 1 - MAE / MAE of the best constant, the median of the other videos' truths. 0: no "
    "better than always naming one frame; 1: perfect. MAE in frames; T2 is accuracy."
)
_INTERVAL_NOTE = "[95 % interval] over videos (patients), never over seeds or passes."
_CANNOT_TELL = "cannot tell"
_UNTOLD_NOTE = (
    f"{_CANNOT_TELL}: the best constant errs by less than the middle of what two observers differ "
    "by, so that skill says nothing."
)


_OBSERVED = f" (two observers differ by {OBSERVERS[0]} to {OBSERVERS[1]})"


class _Setting(NamedTuple):
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
    t1, t2 = _first_setting(index, "t1"), _first_setting(index, "t2")
    names = [name for name in _SUMMARY_COLUMNS if _has_column(name, t1, t2)]
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
        title=_PAIRS_TITLE if t1 is None and t2 is not None else _SUMMARY_TITLE,
        columns=("reader", *(_SUMMARY_COLUMNS[name] for name in names)),
        rows=tuple(rows),
        signature=signature,
        notes=tuple(
            note
            for note in (
                _setting_note(t1, t2),
                _to_beat_note(index, t1),
                _SKILL_NOTE if t1 else "",
                _UNTOLD_NOTE if _any_untold(index) else "",
                _INTERVAL_NOTE,
            )
            if note
        ),
    )


def _first_setting(index: Index, task: str) -> _Setting | None:
    contexts = contexts_of(index, task)
    if not contexts:
        return None
    formats = asked_formats(index, task, contexts[0])
    pair = next((wanted for wanted in formats if len(phases_of(wanted)) == 2), None)
    if pair is not None:
        return _Setting(task, contexts[0], dict.fromkeys(PHASES, pair))
    return _Setting(task, contexts[0], {phases_of(wanted)[0]: wanted for wanted in formats})


def _has_column(name: str, t1: _Setting | None, t2: _Setting | None) -> bool:
    """Whether a column has anything to say; a run of nothing keeps them all."""
    if t1 is None and t2 is None:
        return True
    kind, _, phase = name.rpartition("_")
    if kind not in ("skill", "mae", "pair"):
        return True
    setting = t2 if kind == "pair" else t1
    return setting is not None and phase in setting.formats


def _reader_cell(
    index: Index, reader: str, name: str, t1: _Setting | None, t2: _Setting | None
) -> str:
    if name in ("parsed", "out_of_range"):
        return _worse_phase_cell(index, reader, name, t1 or t2)
    kind, _, phase = name.partition("_")
    setting = t2 if kind == "pair" else t1
    by = setting.by("ed" if phase == "ed" else "es") if setting else None
    if by is None:
        return NOT_ASKED
    record = index.get(reader, "accuracy" if kind == "pair" else kind, **by)
    if record is None:
        return NOT_ASKED
    if kind == "skill":
        return _skill_cell(record)
    return accuracy_cell(record) if kind == "pair" else frames_cell(record)


def _skill_cell(record: Measure) -> str:
    """The number stands even where it cannot tell."""
    said = frames_cell(record)
    return f"{said} {_CANNOT_TELL}" if CANNOT_TELL in record.flags else said


def _any_untold(index: Index) -> bool:
    return any(CANNOT_TELL in record.flags for record in index.every("skill"))


def _worse_phase_cell(index: Index, reader: str, name: str, setting: _Setting | None) -> str:
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
    return NOT_ASKED if record is None else _skill_cell(record)


def _setting_note(t1: _Setting | None, t2: _Setting | None) -> str:
    """Which of the settings the table shows."""
    if t1 is None and t2 is None:
        return ""
    said = "; ".join(
        f"{words}: {setting}"
        for words, setting in (("Finding the frames", t1), ("T2, which of two frames", t2))
        if setting is not None
    )
    return f"{said}. Parsed and out of range: the worse of its phases, in {'T1' if t1 else 'T2'}."


def _to_beat_note(index: Index, t1: _Setting | None) -> str:
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
            cells = ", ".join(f"{phase.upper()} {frames_cell(r)}" for phase, r in found.items())
            said.append(f"{words} {cells}{_OBSERVED if measure == 'constant_mae' else ''}")
    coin = "a coin has 0.5 in T2" if contexts_of(index, "t2") else ""
    told = "; ".join(part for part in (*said, coin) if part)
    guessed = any(words.startswith(GUESSES) for words in said)
    more = one_pass(index) if guessed else ()
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
                    shown = _skill_cell(record) if record is not None else frames_cell(None)
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
            _SKILL_NOTE,
            "r: correlation of answers and truths with its sign, mean over seeds; n/a where all "
            "answers are the same.",
            *([_UNTOLD_NOTE] if _any_untold(index) else []),
            _INTERVAL_NOTE,
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


# ---------------------------------------------------------------- Tables 1-3 and 5-7

_FRAME_TABLES: Final = {"original": "Table 1", "segmented": "Table 2", "non_medical": "Table 3"}
_VIDEO_TABLES: Final = {"original": "Table 5", "segmented": "Table 6", "non_medical": "Table 7"}
_GUESSERS: Final = {"Random": "chance_mae", "Best constant": "constant_mae"}
_WORDS_NOTE: Final = (
    "Here edv is asked for as the frame with the largest red area and esv as that with the "
    "smallest: large_small, small_large, large and small in the paper."
)
_SPECIALIST_NOTE: Final = "A specialist gives the ejection fraction itself and names no frames."


def frame_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 1-3: error and squared correlation with the spread over seeds."""
    for context in contexts_of(index, "t1"):
        rows = [_guesser_row(index, name, context) for name in _GUESSERS]
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in PHASES:
                for name in ("mae", "r2"):
                    record = index.get(reader, name, phase=phase, **by)
                    sd = record.sd_seeds if record else None
                    there = phase in phases_of(wanted)
                    cells.append(frames_cell(record, sd=sd) if there else NOT_ASKED)
            ef = index.get(reader, "ef_mae", **by)
            cells.append(frames_cell(ef, sd=ef.sd_seeds) if ef else NOT_ASKED)
            rows.append((reader, wanted, *cells))
        special = [
            (name, *[NOT_ASKED] * 5, frames_cell(record, sd=record.sd_seeds))
            for name, record in _specialist_records(index, context)
        ]
        yield table(
            f"frames_{context}",
            f"Errors in finding the frames, {NAMES[context]} ({_FRAME_TABLES[context]})",
            ("reader", "format", "ED MAE", "ED R²", "ES MAE", "ES R²", "EF MAE"),
            [*rows, *special],
            signature,
            (
                *_error_notes(
                    "± is the standard deviation over seeds.", context, special=bool(special)
                ),
                *(f"Random: {note[0].lower()}{note[1:]}" for note in one_pass(index)),
            ),
            facts=2,
        )


def video_errors(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 5-7: the same errors with the spread over videos."""
    for context in contexts_of(index, "t1"):
        rows = []
        for reader, wanted in asked(index, "t1", context):
            by = {"task": "t1", "context": context, "format": wanted}
            cells = []
            for phase in PHASES:
                record = index.get(reader, "mae_videos", phase=phase, **by) or index.get(
                    reader, "mae", phase=phase, **by
                )
                sd = record.sd_videos if record else None
                there = phase in phases_of(wanted)
                cells.append(frames_cell(record, sd=sd) if there else NOT_ASKED)
            ef = index.get(reader, "ef_mae", **by)
            cells.append(frames_cell(ef, sd=ef.sd_videos) if ef else NOT_ASKED)
            rows.append((reader, wanted, *cells))
        special = [
            (name, *[NOT_ASKED] * 3, frames_cell(record, sd=record.sd_videos))
            for name, record in _specialist_records(index, context)
        ]
        spread = "± is the standard deviation over videos, each averaged over its seeds first."
        yield table(
            f"videos_{context}",
            f"The same errors over videos, {NAMES[context]} ({_VIDEO_TABLES[context]})",
            ("reader", "format", "ED MAE", "ES MAE", "EF MAE"),
            [*rows, *special],
            signature,
            _error_notes(spread, context, special=bool(special)),
            facts=2,
        )


def _guesser_row(index: Index, name: str, context: str) -> tuple[str, ...]:
    """The row of a guesser, on the videos of whoever was judged on the most."""
    cells = []
    for phase in PHASES:
        found = reference(index, _GUESSERS[name], "t1", context, phase)
        cells += [frames_cell(found), NOT_ASKED]
    return (name, NOT_ASKED, *cells, NOT_ASKED)


def _specialist_records(index: Index, context: str) -> Iterator[tuple[str, Measure]]:
    """Who gives EF itself: in its own context, or, of no context, beside the first table."""
    first = contexts_of(index, "t1")[0]
    for name in references(index, SPECIALIST):
        found = index.get(name, "ef_mae", task="t1", context=context)
        if found is None and context == first:
            found = index.get(name, "ef_mae", task="t1") or index.get(name, "ef_mae")
        if found is not None:
            yield name.removeprefix(SPECIALIST), found


def _error_notes(spread: str, context: str, *, special: bool) -> tuple[str, ...]:
    unit = "Frames, and percentage points for EF; [95 % interval] over videos."
    words = (_WORDS_NOTE,) if context == "non_medical" else ()
    return (f"{unit} {spread}", *words, *((_SPECIALIST_NOTE,) if special else ()))


# ---------------------------------------------------------------- Table 4, contexts and habits

_SINGLE_FORMATS: Final = (("ed", "edv"), ("es", "esv"))


def accuracies(index: Index, signature: str) -> Table | None:
    """Table 4: which of two frames."""
    rows = []
    for reader in readers_of(index):
        for context in CONTEXTS:
            cells = []
            for phase, wanted in _SINGLE_FORMATS:
                by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
                record = index.get(reader, "accuracy", **by)
                sd = record.sd_seeds if record else None
                cells.append(accuracy_cell(record, sd=sd) if record else NOT_ASKED)
            if set(cells) != {NOT_ASKED}:
                rows.append((reader, NAMES[context], *cells))
    for context in CONTEXTS if rows else ():
        coins = [
            reference(index, "chance_accuracy", "t2", context, phase)
            for phase, _ in _SINGLE_FORMATS
        ]
        if any(coins):
            cells = [accuracy_cell(coin) if coin else NOT_ASKED for coin in coins]
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
                    cells = (frames_cell(record, signed=True), p_value(record.p), p_value(record.q))
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
                        frames_cell(order, signed=True) if order else NOT_ASKED,
                        frames_cell(index.get(reader, "middle_bias", **here), signed=True),
                        str(int(distinct.value or 0)) if distinct else NOT_KNOWN,
                        frames_cell(index.get(reader, "seed_sd", **here)),
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
