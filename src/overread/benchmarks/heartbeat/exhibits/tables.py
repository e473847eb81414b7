"""The tables: the first, a row per reader, the longer one behind it, and those of the paper.

Tables 1-3 and 5-7 are errors in finding the frames, with the spread over seeds or over videos;
Table 4 is which of two frames. Then what the overlay and the words change, and the habits the paper
tells of in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from overread.benchmarks.exhibits.cells import NOT_ASKED, NOT_KNOWN, cell, fraction, p_value
from overread.benchmarks.heartbeat.edition import CONTEXTS, OBSERVERS
from overread.benchmarks.heartbeat.exhibits.settings import (
    ACCURACY,
    BASELINE,
    FRAMES,
    GROUPED,
    GUESSES,
    NAMES,
    PHASES,
    SIGNED_FRAMES,
    SPECIALIST,
    First,
    HeartIndex,
)
from overread.benchmarks.heartbeat.frame_measures import CANNOT_TELL
from overread.benchmarks.heartbeat.marks import Phase
from overread.benchmarks.sentences import largest, least
from overread.case import Measure, Table

# ------------------------------------------------------------ the first table and the one behind it

_SUMMARY_TITLE: Final = "Does it follow the heartbeat better than one constant answer?"
_PAIRS_TITLE: Final = "Can it tell the two frames apart?"
_OBSERVED: Final = f" (two observers differ by {OBSERVERS[0]} to {OBSERVERS[1]})"


class _Column(NamedTuple):
    """A column of the first table: a measure of one phase, or the worse of both where none is."""

    title: str
    measure: str
    phase: Phase | None = None


_SUMMARY_COLUMNS: Final = (
    *(
        _Column(f"{title} {phase.upper()}", measure, phase)
        for title, measure in (("skill", "skill"), ("MAE", "mae"), ("T2", "accuracy"))
        for phase in PHASES
    ),
    _Column("parsed %", "parsed"),
    _Column("out of range %", "out_of_range"),
)


def summary(index: HeartIndex) -> Table:
    """What counts: is a reader better than one constant answer, and does it answer at all?

    One row per reader, in the first context and the first pair format that were asked.
    """
    t1, t2 = index.first_setting("t1"), index.first_setting("t2")

    def setting(column: _Column) -> First | None:
        if column.phase is None:
            return t1 or t2
        found = t2 if column.measure == "accuracy" else t1
        return found if found is not None and column.phase in found.formats else None

    # A run of nothing keeps all columns.
    columns = [c for c in _SUMMARY_COLUMNS if setting(c) or (t1 is None and t2 is None)]
    rows = [
        (reader, *(_summary_cell(index, reader, column, setting(column)) for column in columns))
        for reader in index.asked
    ]
    for guesser in index.references(BASELINE):
        found = [index.get(guesser, c.measure, task="t1", phase=c.phase or "") for c in columns]
        rows.append((guesser, *(_skill_cell(record, NOT_ASKED) for record in found)))
    notes = (
        _setting_note(index, t1, t2),
        _to_beat_note(index, t1),
        index.note("skill") if t1 else "",
        *_untold_note(index),
        index.note("intervals"),
    )
    return index.whole_table(
        "summary",
        rows,
        *filter(None, notes),
        columns=("reader", *(column.title for column in columns)),
        question=_PAIRS_TITLE if t1 is None and t2 is not None else _SUMMARY_TITLE,
    )


def _summary_cell(index: HeartIndex, reader: str, column: _Column, setting: First | None) -> str:
    if setting is None:
        return NOT_ASKED
    if column.phase is None:
        # Of the two phases the one with fewer parsed, or with more out of range.
        found = [index.known(reader, column.measure, **setting.by(p)) for p in setting.formats]
        known = [record for record in found if record is not None]
        worst = least if column.measure == "parsed" else largest
        return cell(worst(known)) if known else NOT_ASKED
    record = index.get(reader, column.measure, **setting.by(column.phase))
    if column.measure == "accuracy":
        return cell(record, unit=ACCURACY, absent=NOT_ASKED)
    return _skill_cell(record, NOT_ASKED)


def _skill_cell(record: Measure | None, absent: str = NOT_KNOWN) -> str:
    """The number stands even where it cannot tell."""
    said = cell(record, unit=FRAMES, absent=absent)
    return said + " cannot tell" if record and CANNOT_TELL in record.flags else said


def _untold_note(index: HeartIndex) -> list[str]:
    untold = any(CANNOT_TELL in record.flags for record in index.every("skill"))
    return [index.note("untold")] if untold else []


def _setting_note(index: HeartIndex, t1: First | None, t2: First | None) -> str:
    """Which of the settings the table shows."""
    said = [f"Finding the frames: {t1}"] if t1 else []
    said += [f"T2, which of two frames: {t2}"] if t2 else []
    return index.note("setting", told="; ".join(said), task="T1" if t1 else "T2") if said else ""


def _to_beat_note(index: HeartIndex, t1: First | None) -> str:
    coins = bool(index.contexts("t2"))
    if t1 is None:
        return index.note("coin") if coins else ""
    said = {}
    for measure, words in (("constant_mae", "best constant"), ("chance_mae", GUESSES)):
        cells = [
            f"{phase.upper()} {cell(record, unit=FRAMES)}"
            for phase in t1.formats
            if (record := index.reference(measure, "t1", t1.context, phase))
        ]
        if cells:
            observed = _OBSERVED if measure == "constant_mae" else ""
            said[measure] = f"{words} {', '.join(cells)}{observed}"
    if not said:
        return ""
    told = "; ".join([*said.values(), *(["a coin has 0.5 in T2"] if coins else [])])
    more = index.one_pass() if "chance_mae" in said else ()
    return " ".join((index.note("to_beat", told=told), *more))


def skills(index: HeartIndex) -> Table | None:
    """Skill and signed correlation in every context and format."""
    rows = []
    for one in index.settings("t1"):
        cells = [
            _skill_cell(index.get(one.reader, name, phase=phase, **one.by))
            if phase in one.phases
            else NOT_ASKED
            for name in ("skill", "r")
            for phase in PHASES
        ]
        parsed = cell(index.get(one.reader, "parsed", phase=one.phases[0], **one.by))
        rows.append((one.reader, NAMES[one.context], one.format, *cells, parsed))
    notes = (index.note("skill"), index.note("r"), *_untold_note(index), index.note("intervals"))
    return index.table("skills", rows, *notes, first=3)


def left_out(index: HeartIndex) -> Table | None:
    """Whom the windows leave out, by EF and frame rate where the set knows them."""
    rows = [("all", NOT_ASKED, fraction(one)) for one in index.together("left_out", "task")]
    rows += [
        (words, record.by[key], fraction(record))
        for key, words in GROUPED.items()
        for record in index.together("left_out", "task", key)
    ]
    return index.table("left_out", rows, first=2)


# ---------------------------------------------------------------- Tables 1-3 and 5-7

_GUESSERS: Final = {"Random": "chance_mae", "Best constant": "constant_mae"}
_Spread = Literal["sd_seeds", "sd_videos"]


def frame_errors(index: HeartIndex) -> Iterator[Table | None]:
    """Tables 1-3: error and squared correlation with the spread over seeds."""
    for context in index.contexts("t1"):
        guessed = []
        for name, measure in _GUESSERS.items():
            # On the videos of whoever was judged on the most.
            found = [index.reference(measure, "t1", context, phase) for phase in PHASES]
            cells = [text for one in found for text in (cell(one, unit=FRAMES), NOT_ASKED)]
            guessed.append((name, NOT_ASKED, *cells, NOT_ASKED))
        yield index.table(
            "frames",
            [*guessed, *_error_rows(index, context, (("mae",), ("r2",)), "sd_seeds")],
            *_error_notes(index, context),
            *(f"Random: {note[0].lower()}{note[1:]}" for note in index.one_pass()),
            first=2,
            of=context,
            context=NAMES[context],
            table=1 + CONTEXTS.index(context),
        )


def video_errors(index: HeartIndex) -> Iterator[Table | None]:
    """Tables 5-7: the same errors with the spread over videos."""
    for context in index.contexts("t1"):
        yield index.table(
            "videos",
            _error_rows(index, context, (("mae_videos", "mae"),), "sd_videos"),
            *_error_notes(index, context),
            first=2,
            of=context,
            context=NAMES[context],
            table=5 + CONTEXTS.index(context),
        )


def _error_rows(
    index: HeartIndex, context: str, measures: Sequence[tuple[str, ...]], spread: _Spread
) -> Iterator[tuple[str, ...]]:
    """Readers by phase and measure, the first known of each; then whoever gives EF itself."""
    for one in index.settings("t1", context):
        cells = []
        for phase in PHASES:
            for names in measures:
                found = (index.get(one.reader, name, phase=phase, **one.by) for name in names)
                record = next((record for record in found if record is not None), None)
                cells.append(_spread_cell(record, spread) if phase in one.phases else NOT_ASKED)
        ef = index.get(one.reader, "ef_mae", **one.by)
        yield one.reader, one.format, *cells, _spread_cell(ef, spread, NOT_ASKED)
    for name, record in _specialist_records(index, context):
        nothing = [NOT_ASKED] * (1 + len(PHASES) * len(measures))
        yield name, *nothing, _spread_cell(record, spread)


def _spread_cell(record: Measure | None, spread: _Spread, absent: str = NOT_KNOWN) -> str:
    sd = None if record is None else getattr(record, spread)
    return cell(record, unit=FRAMES, spread=sd, absent=absent)


def _specialist_records(index: HeartIndex, context: str) -> Iterator[tuple[str, Measure]]:
    """Who gives EF itself: in its own context, or, of no context, beside the first table."""
    first = index.contexts("t1")[0]
    for name in index.references(SPECIALIST):
        found = index.get(name, "ef_mae", task="t1", context=context)
        if found is None and context == first:
            found = index.get(name, "ef_mae", task="t1") or index.get(name, "ef_mae")
        if found is not None:
            yield name.removeprefix(SPECIALIST), found


def _error_notes(index: HeartIndex, context: str) -> Iterator[str]:
    if context == "non_medical":
        yield index.note("non_medical")
    if list(_specialist_records(index, context)):
        yield index.note("specialist")


# ---------------------------------------------------------------- Table 4, contexts and habits


def accuracies(index: HeartIndex) -> Table | None:
    """Table 4: which of two frames."""
    coin = "a coin"
    rows = []
    for reader in (*index.asked, *[coin] * bool(index.contexts("t2"))):
        for context in CONTEXTS:
            by = {"task": "t2", "context": context}
            both = [
                index.reference("chance_accuracy", **by, phase=phase)
                if reader == coin
                else index.get(reader, "accuracy", **by, phase=phase, format=f"{phase}v")
                for phase in PHASES
            ]
            spreads = [one.sd_seeds if one else None for one in both]
            cells = [
                cell(one, unit=ACCURACY, spread=spread, absent=NOT_ASKED)
                for one, spread in zip(both, spreads, strict=True)
            ]
            if any(both):
                rows.append((reader, NAMES[context], *cells))
    return index.table("accuracy_t2", rows, first=2)


def helps(index: HeartIndex) -> Table | None:
    """Does the overlay help, and does dropping the medical words?"""
    rows = []
    for context, versus in (("segmented", "original"), ("non_medical", "segmented")):
        for task, name, of in (("t1", "diff_mae", "MAE"), ("t2", "diff_accuracy", "accuracy")):
            for one in index.settings(task, context):
                for phase in sorted(one.phases):
                    found = index.get(one.reader, name, phase=phase, versus=versus, **one.by)
                    if found is None:
                        continue
                    change = f"{NAMES[context]} - {NAMES[versus]}"
                    tested = (p_value(found.p), p_value(found.q))
                    where = (one.reader, change, of, one.format, phase.upper())
                    rows.append((*where, cell(found, unit=SIGNED_FRAMES), *tested))
    return index.table("contexts", rows, first=5)


def habits(index: HeartIndex) -> Table | None:
    """What the paper says in words: order, middle, one answer for all, and the range."""
    rows = []
    for one in index.settings("t1"):
        order = index.get(one.reader, "order_bias", **one.by)
        for phase in sorted(one.phases):
            names = ("parsed", "out_of_range", "middle_bias", "seed_sd")
            found = [index.get(one.reader, name, phase=phase, **one.by) for name in names]
            parsed, outside, middle, spread = found
            distinct = index.known(one.reader, "distinct", phase=phase, **one.by)
            cells = (
                cell(parsed),
                cell(outside),
                cell(order, unit=SIGNED_FRAMES, absent=NOT_ASKED),
                cell(middle, unit=SIGNED_FRAMES),
                str(int(distinct.value or 0)) if distinct else NOT_KNOWN,
                cell(spread, unit=FRAMES),
            )
            rows.append((one.reader, NAMES[one.context], one.format, phase.upper(), *cells))
    return index.table("habits", rows, first=4)
