"""Clips one by one: some frames of the window, the true ones marked, and what every reader said.

Finding a frame (T1) is a matter of how far off, and the protocol has no tolerance: nothing of it is
right or wrong. `right` is therefore of telling two frames apart (T2): in every seed the asked
frames were named; wrong where they were in none. In between, and where T2 was not asked or got no
reply, neither can be said. Nothing is changed in a clip, so nothing is ever `flipped`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.errors import mean_over
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import NAMES, PHASES
from overread.benchmarks.heartbeat.heard import Heard, right_alone
from overread.benchmarks.heartbeat.marks import facts_of, marks_of
from overread.benchmarks.heartbeat.per_case import standard
from overread.case import Card, Clip, Slide

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["FACETS", "AsShown", "card_index", "cards"]

FACETS: Final = ("view", "sex", "split")
"""What cards are filtered by."""

UNKNOWN: Final = "not known"
_FRAMES: Final = 8  # on a card, the true ones among them

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
    index = index.join(_facts(tables.cases).with_row_index("_case"), on="case", how="inner")
    index = index.join(_right(tables, edition), on=("reader", "case"), how="left")
    return index.sort("_case", "_reader").select(
        "case", "reader", "right", pl.lit(None, pl.Boolean).alias("flipped"), *FACETS
    )


def _facts(cases: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    there = [name for name in FACETS if name in cases.columns]
    return cases.select("case", pl.col(there).cast(pl.String).fill_null(UNKNOWN)).with_columns(
        pl.lit(UNKNOWN).alias(name) for name in FACETS if name not in there
    )


def _right(tables: Tables, edition: Edition) -> pl.DataFrame:
    """Reader, case and whether all seeds and phases of T2 were right, or all wrong."""
    import polars as pl

    schema = {"reader": pl.String, "case": pl.String, "share": pl.Float64}
    _, t2 = standard(tables.answers)
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
    facts = {row["case"]: row for row in _facts(own).iter_rows(named=True)}
    rows = {row["case"]: row for row in own.iter_rows(named=True)}
    t1, t2 = standard(tables.answers, tables.answers.filter(pl.col("case").is_in(names)))
    windows = _windows(t1)
    said = Heard([record.name for record in tables.readers], own, t1, t2, edition)
    for name in names:
        if name in rows:
            window = windows.get(name)
            yield Card(
                case=name,
                title=name,
                facts={facet: facts[name][facet] for facet in FACETS},
                texts=tuple(_texts(rows[name], window)),
                slides=tuple(_slides(name, window, shown)),
                said=tuple(said.of(name)),
            )


def _windows(t1: pl.DataFrame) -> dict[str, dict[str, Any]]:
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


def _texts(row: Mapping[str, Any], window: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if window is not None:
        yield (
            "window",
            f"{window['count']} frames from frame {window['start']} of the clip, numbered from 0; "
            f"end-diastole is {window['truth_ed']}, end-systole {window['truth_es']}",
        )
        yield "shown", f"context {NAMES[window['context']]}, format {window['format']}"
    if row.get("ef") is not None:
        yield "ejection fraction", f"{number(row['ef'])} %"


def _slides(name: str, window: Mapping[str, Any] | None, shown: AsShown | None) -> Iterator[Slide]:
    if window is None or shown is None:
        return
    true = {window[f"truth_{phase}"]: words for phase, words in PHASES.items()}
    for frame in chosen_frames(window["count"], tuple(true)):
        clip = shown(name, (window["start"] + frame,), window["context"])
        if clip is None:
            return
        label = f"frame {frame}"
        yield Slide(label=f"{label}: {true[frame]}" if frame in true else label, picture=clip)


def chosen_frames(count: int, keep: Sequence[int], most: int = _FRAMES) -> list[int]:
    """A handful of frames of a window: those of `keep`, the ends, and others evenly between."""
    between = max(2, most - len(keep))
    return sorted({*keep, *(round(k * (count - 1) / (between - 1)) for k in range(between))})
