"""Clips one by one: the window, the true frames marked on it, and what every reader said.

Finding a frame (T1) is a matter of how far off, and the protocol has no tolerance: nothing of it is
right or wrong. `right` is therefore of telling two frames apart (T2): in every seed the asked
frames were named; wrong where they were in none. In between, and where T2 was not asked or got no
reply, neither can be said. Nothing is changed in a clip, so nothing is ever `flipped`.

Only what was said of a clip itself counts for it. That the published code stops at a seed for what
was said of other clips is left to the measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from overread.benchmarks.cards import deal, facet_values, index_of, rows_by_reader
from overread.benchmarks.heartbeat.cases import FACETS
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, PHASES, number
from overread.benchmarks.heartbeat.exhibits.strips import windows_by_case
from overread.benchmarks.heartbeat.marks import (
    Phase,
    aggregate,
    facts_of,
    marks_of,
    mean_over,
    phases_of,
)
from overread.benchmarks.heartbeat.measures import standard_answers
from overread.benchmarks.heartbeat.pair_measures import right_alone
from overread.case import Card, CardAnswer, Clip, FrameMark, Said, Slide

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

_CLIP: Final = "clip"
_ANSWERS_SPELLED: Final = 4  # different answers that are spelled out

# These frames of a case as a context shows them, where the benchmark was opened.
AsShown = Callable[[str, tuple[int, ...], str], Clip | None]
# By case and reader, a value for each phase.
_Errors = dict[tuple[str, str], dict[Phase, float]]
_Hits = dict[tuple[str, str], dict[Phase, tuple[int, int]]]


def card_index(tables: Tables, edition: Edition) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    _, t2 = standard_answers(tables.answers)
    return index_of(tables, _facets(tables.cases), _right(_hits_of(tables.cases, t2, edition)))


def _facets(cases: pl.DataFrame) -> pl.DataFrame:
    return facet_values(cases, dict(zip(FACETS, FACETS, strict=True)))


def _right(hits: _Hits) -> pl.DataFrame:
    """Reader, case and whether all seeds and phases of T2 were right, or all wrong."""
    import polars as pl

    rows = []
    for (case, reader), found in hits.items():
        known = [(right, seeds) for right, seeds in found.values() if seeds]
        some, every = any(right for right, _ in known), all(right == n for right, n in known)
        rows.append((reader, case, some if known and (every or not some) else None))
    schema = {"reader": pl.String, "case": pl.String, "right": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _hits_of(cases: pl.DataFrame, t2: pl.DataFrame, edition: Edition) -> _Hits:
    """Of each clip, in how many seeds it was right, and how many count."""
    found: _Hits = {}
    facts = facts_of(cases)
    for marks in marks_of(t2, facts):
        for case, row in zip(facts.cases, right_alone(marks, edition), strict=True):
            counts = int((row == 1).sum()), int((~np.isnan(row)).sum())
            found.setdefault((case, marks.reader), {})[marks.phases[0]] = counts
    return found


def _errors_of(cases: pl.DataFrame, t1: pl.DataFrame, edition: Edition) -> _Errors:
    """Of each clip, how many frames off it was, a mean over seeds; NaN where nothing was named."""
    found: _Errors = {}
    facts = facts_of(cases)
    for marks in marks_of(t1, facts):
        for phase in marks.phases:
            held = marks.held(marks.said[phase], phase, edition.beat)
            answers = aggregate(held, edition.aggregation)
            each = mean_over(np.abs(marks.truth[phase] - answers), axis=1)
            for case, off in zip(facts.cases, each.tolist(), strict=True):
                found.setdefault((case, marks.reader), {})[phase] = off
    return found


# ---------------------------------------------------------------- the cards


def cards(
    tables: Tables, chosen: Sequence[str], edition: Edition, shown: AsShown | None = None
) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    The slide is the window of T1 as its standard context shows it, with the true frames marked;
    frames are numbered from 0 within the window, as readers count them.
    """
    import polars as pl

    among = pl.col("case").is_in(list(dict.fromkeys(chosen)))
    own = tables.cases.filter(among)
    t1, t2 = standard_answers(tables.answers, tables.answers.filter(among))
    windows, errors = windows_by_case(t1), _errors_of(own, t1, edition)
    hits = _hits_of(own, t2, edition)
    rows = rows_by_reader(t1, ("format", "outcome", "pred_ed", "pred_es", "text"))

    def said(case: dict[str, Any], reader: str, right: bool | None, flipped: bool | None) -> Said:
        key = (case["case"], reader)
        mine = rows.get(key, [])
        # A reply, where one could not be read: the first such.
        odd = (row["text"] for row in mine if row["outcome"] != "answered" and row["text"])
        return Said(
            reader=reader,
            answers=tuple(_frames_named(mine, errors.get(key, {}))),
            lines=tuple(_pairs_told(hits.get(key, {}))),
            marks=tuple(_frame_marks(mine)),
            text=str(next(odd, "")).strip(),
            right=right,
        )

    asked = pl.concat([t1.select("case", "reader"), t2.select("case", "reader")])
    facets = _facets(own)
    return deal(
        chosen,
        {row["case"]: row for row in own.iter_rows(named=True)},
        index_of(tables, facets, _right(hits), asked),
        facets,
        title=lambda case: str(case["case"]),
        texts=lambda case: _card_texts(case, windows.get(case["case"])),
        slides=lambda case: _card_slides(case["case"], windows.get(case["case"]), shown),
        said=said,
        conditions={_CLIP: "clip"},
    )


def _frames_named(
    rows: Sequence[Mapping[str, Any]], errors: Mapping[Phase, float]
) -> Iterator[CardAnswer]:
    for phase, words in PHASES.items():
        own = [row for row in rows if phase in phases_of(row["format"])]
        if own:
            error = errors.get(phase, np.nan)
            off = "" if np.isnan(error) else f"{number(error)} frames off"
            yield CardAnswer(shown=_CLIP, asked=words, text=_answer_counts(own, phase), note=off)


def _frame_marks(rows: Sequence[Mapping[str, Any]]) -> Iterator[FrameMark]:
    """Every frame a reader named, and how often, by phase."""
    for phase, words in PHASES.items():
        named = [
            row[f"pred_{phase}"]
            for row in rows
            if row["outcome"] == "answered" and phase in phases_of(row["format"])
        ]
        counted = Counter(int(frame) for frame in named if frame is not None)
        yield from (FrameMark(words, frame, times) for frame, times in sorted(counted.items()))


def _pairs_told(hits: Mapping[Phase, tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for phase, (right, seeds) in sorted(hits.items()):
        if seeds:
            once = "right" if right else "wrong"
            said = f"right in {right} of {seeds} seeds" if seeds > 1 else once
            yield f"which of two frames is {PHASES[phase]}", said


def _answer_counts(rows: Sequence[Mapping[str, Any]], phase: Phase) -> str:
    """The frames named, the commonest first, and how often: `12 (20 times), 13 (10 times)`."""

    def word(row: Mapping[str, Any]) -> str:
        if row["outcome"] != "answered":
            return str(row["outcome"])
        return "unparsed" if row[f"pred_{phase}"] is None else str(row[f"pred_{phase}"])

    said = Counter(map(word, rows))
    if len(rows) == 1:
        return next(iter(said))
    ranked = said.most_common()
    told = ", ".join(f"{word} ({times}×)" for word, times in ranked[:_ANSWERS_SPELLED])
    more = len(ranked) - _ANSWERS_SPELLED
    return f"{told}, {more} others" if more > 0 else told


def _card_texts(
    row: Mapping[str, Any], window: Mapping[str, Any] | None
) -> Iterator[tuple[str, str]]:
    if window is not None:
        yield (
            "window",
            f"{window['count']} frames from frame {window['start']} of the clip, numbered from 0; "
            f"end-diastole is {window['truth_ed']}, end-systole {window['truth_es']}",
        )
        yield "shown", f"context {NAMES[window['context']]}, format {window['format']}"
    if row.get("ef") is not None:
        yield "ejection fraction", f"{number(row['ef'])} %"


def _card_slides(
    name: str, window: Mapping[str, Any] | None, shown: AsShown | None
) -> Iterator[Slide]:
    if window is None or shown is None:
        return
    start = window["start"]
    clip = shown(name, tuple(range(start, start + window["count"])), window["context"])
    if clip is None:
        return
    true = tuple(FrameMark(words, window[f"truth_{phase}"]) for phase, words in PHASES.items())
    yield Slide(label=f"{window['count']} frames", picture=clip, shown=_CLIP, marks=true)
