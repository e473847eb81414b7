"""Clips one by one: some frames of the window, the true ones marked, and what every reader said.

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

from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, PHASES, number
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
from overread.case import Card, Clip, Said, Slide

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

# ------------------------------------------------- what readers said of a few clips, in short lines

_ANSWERS_SPELLED: Final = 4  # different answers that are spelled out


class SaidOfClips:
    """What readers said of a few cases. A class, since both tasks are laid out once for all."""

    def __init__(
        self,
        readers: list[str],
        cases: pl.DataFrame,
        t1: pl.DataFrame,
        t2: pl.DataFrame,
        edition: Edition,
    ) -> None:
        self._readers = readers
        self._t1 = _by_case(t1)
        self._errors: dict[tuple[str, str], dict[Phase, float]] = {}
        self._hits: dict[tuple[str, str], dict[Phase, tuple[int, int]]] = {}
        facts = facts_of(cases)
        for marks in marks_of(t1, facts):
            for phase in marks.phases:
                held = marks.held(marks.said[phase], phase, edition.beat)
                answers = aggregate(held, edition.aggregation)
                each = mean_over(np.abs(marks.truth[phase] - answers), axis=1)
                for case, off in zip(facts.cases, each.tolist(), strict=True):
                    self._errors.setdefault((case, marks.reader), {})[phase] = off
        for marks in marks_of(t2, facts):
            for case, row in zip(facts.cases, right_alone(marks, edition), strict=True):
                counts = int((row == 1).sum()), int((~np.isnan(row)).sum())
                self._hits.setdefault((case, marks.reader), {})[marks.phases[0]] = counts

    def of(self, case: str) -> Iterator[Said]:
        for reader in self._readers:
            key = (case, reader)
            if key in self._t1 or key in self._hits:
                rows = self._t1.get(key, [])
                yield Said(
                    reader=reader,
                    lines=(*self._found(case, reader, rows), *self._told(case, reader)),
                    text=_unread_reply(rows),
                    right=self._right(case, reader),
                )

    def _found(
        self, case: str, reader: str, rows: Sequence[dict[str, Any]]
    ) -> Iterator[tuple[str, str]]:
        off = self._errors.get((case, reader), {})
        for phase, words in PHASES.items():
            own = [row for row in rows if phase in phases_of(row["format"])]
            if not own:
                continue
            named = _answer_counts(own, phase)
            error = off.get(phase, np.nan)
            yield words, named if np.isnan(error) else f"{named}; {number(error)} frames off"

    def _told(self, case: str, reader: str) -> Iterator[tuple[str, str]]:
        for phase, (hits, seeds) in sorted(self._hits.get((case, reader), {}).items()):
            if seeds:
                said = f"right in {hits} of {seeds} seeds" if seeds > 1 else _right_once(hits)
                yield f"which of two frames is {PHASES[phase]}", said

    def _right(self, case: str, reader: str) -> bool | None:
        """As the index of cards has it."""
        counts = [pair for pair in self._hits.get((case, reader), {}).values() if pair[1]]
        if not counts:
            return None
        if all(hits == seeds for hits, seeds in counts):
            return True
        return None if any(hits for hits, _ in counts) else False


def _right_once(hits: int) -> str:
    return "right" if hits else "wrong"


def _by_case(t1: pl.DataFrame) -> dict[tuple[str, str], list[dict[str, Any]]]:
    columns = ("case", "reader", "format", "outcome", "pred_ed", "pred_es", "text")
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in t1.select(columns).iter_rows(named=True):
        found.setdefault((row["case"], row["reader"]), []).append(row)
    return found


def _answer_counts(rows: Sequence[dict[str, Any]], phase: Phase) -> str:
    """The frames named, the commonest first, and how often: `12 (20 times), 13 (10 times)`."""
    said = Counter(
        str(row[f"pred_{phase}"])
        if row["outcome"] == "answered" and row[f"pred_{phase}"] is not None
        else "unparsed"
        if row["outcome"] == "answered"
        else str(row["outcome"])
        for row in rows
    )
    if len(rows) == 1:
        return next(iter(said))
    ranked = said.most_common()
    told = ", ".join(f"{word} ({times}×)" for word, times in ranked[:_ANSWERS_SPELLED])
    return (
        told
        if len(ranked) <= _ANSWERS_SPELLED
        else f"{told}, {len(ranked) - _ANSWERS_SPELLED} others"
    )


def _unread_reply(rows: Sequence[dict[str, Any]]) -> str:
    """A reply, where one could not be read: the first such."""
    odd = (row["text"] for row in rows if row["outcome"] != "answered" and row["text"])
    return next(odd, "").strip()


# ---------------------------------------------------------------- the index of cards

FACETS: Final = ("view", "sex", "split")
"""What cards are filtered by."""

UNKNOWN: Final = "not known"
_FRAMES_ON_A_CARD: Final = 8  # on a card, the true ones among them

# These frames of a case as a context shows them, where the benchmark was opened.
AsShown = Callable[[str, tuple[int, ...], str], Clip | None]


def card_index(tables: Tables, edition: Edition) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    readers = pl.DataFrame(
        {"reader": [r.name for r in tables.readers]}, schema={"reader": pl.String}
    ).with_row_index("_reader")
    asked = tables.answers.select("case", "reader").unique()
    index = asked.join(readers, on="reader", how="inner")
    index = index.join(_facet_values(tables.cases).with_row_index("_case"), on="case", how="inner")
    index = index.join(_right_by_case(tables, edition), on=("reader", "case"), how="left")
    return index.sort("_case", "_reader").select(
        "case", "reader", "right", pl.lit(None, pl.Boolean).alias("flipped"), *FACETS
    )


def _facet_values(cases: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    there = [name for name in FACETS if name in cases.columns]
    return cases.select("case", pl.col(there).cast(pl.String).fill_null(UNKNOWN)).with_columns(
        pl.lit(UNKNOWN).alias(name) for name in FACETS if name not in there
    )


def _right_by_case(tables: Tables, edition: Edition) -> pl.DataFrame:
    """Reader, case and whether all seeds and phases of T2 were right, or all wrong."""
    import polars as pl

    schema = {"reader": pl.String, "case": pl.String, "share": pl.Float64}
    _, t2 = standard_answers(tables.answers)
    parts = [
        pl.DataFrame(
            {"case": marks.facts.cases, "share": mean_over(right_alone(marks, edition), axis=1)},
            schema={"case": pl.String, "share": pl.Float64},
        ).select(pl.lit(marks.reader, pl.String).alias("reader"), "case", "share")
        for marks in marks_of(t2, facts_of(tables.cases))
    ]
    known = pl.concat([pl.DataFrame(schema=schema), *parts]).filter(pl.col("share").is_not_nan())
    least, most = pl.col("share").min(), pl.col("share").max()
    return known.group_by("reader", "case").agg(
        right=pl.when(least == 1).then(True).when(most == 0).then(False)
    )


# ---------------------------------------------------------------- the cards


def cards(
    tables: Tables, chosen: Sequence[str], edition: Edition, shown: AsShown | None = None
) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are single frames of the window of T1 as its standard context shows them: the true ones,
    and others evenly between; frames are numbered from 0 within the window, as readers count them.
    """
    import polars as pl

    names = list(dict.fromkeys(chosen))
    own = tables.cases.filter(pl.col("case").is_in(names))
    facts = {row["case"]: row for row in _facet_values(own).iter_rows(named=True)}
    rows = {row["case"]: row for row in own.iter_rows(named=True)}
    t1, t2 = standard_answers(tables.answers, tables.answers.filter(pl.col("case").is_in(names)))
    windows = _windows_by_case(t1)
    said = SaidOfClips([record.name for record in tables.readers], own, t1, t2, edition)
    for name in names:
        if name in rows:
            window = windows.get(name)
            yield Card(
                case=name,
                title=name,
                facts={facet: facts[name][facet] for facet in FACETS},
                texts=tuple(_card_texts(rows[name], window)),
                slides=tuple(_card_slides(name, window, shown)),
                said=tuple(said.of(name)),
            )


def _windows_by_case(t1: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """By case the frames shown and the true ones among them, where an answer knows them."""
    needed = ("start", "count", "truth_ed", "truth_es")
    if not set(needed) <= set(t1.columns):
        return {}
    known = t1.select("case", "context", "format", *needed).drop_nulls(needed)
    rows = known.unique("case", keep="first", maintain_order=True).iter_rows(named=True)
    # Somebody else's file may name a truth beyond the frames it says were shown.
    return {
        row["case"]: row
        for row in rows
        if all(0 <= row[f"truth_{phase}"] < row["count"] for phase in PHASES)
    }


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
    true = {window[f"truth_{phase}"]: words for phase, words in PHASES.items()}
    for frame in chosen_frames(window["count"], tuple(true)):
        clip = shown(name, (window["start"] + frame,), window["context"])
        if clip is None:
            return
        label = f"frame {frame}"
        yield Slide(label=f"{label}: {true[frame]}" if frame in true else label, picture=clip)


def chosen_frames(count: int, keep: Sequence[int], most: int = _FRAMES_ON_A_CARD) -> list[int]:
    """A handful of frames of a window: those of `keep`, the ends, and others evenly between."""
    between = max(2, most - len(keep))
    return sorted({*keep, *(round(k * (count - 1) / (between - 1)) for k in range(between))})
