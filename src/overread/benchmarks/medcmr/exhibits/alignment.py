"""Do the judges rank readers as people do?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, table
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import Cast, point_row, unfit_note
from overread.benchmarks.exhibits.numbers import cell, coefficient, worth
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.medcmr.exhibits.columns import interval_notes, judged_notes
from overread.case import Figure, Measure, Table

__all__ = ["alignment_exhibits"]

_RATERS: Final = {"human": "people", "judge": "judges"}
_COMPONENTS: Final = {
    "clarity": "clarity (Con)",
    "coherence": "coherence (Coh)",
    "visual": "visual accuracy (VA)",
    "truth": "truth (GT)",
}
_SAID: Final = (
    "Win ratio: how often a reader's answer is ranked above another's, a tie being half a win; 50 "
    "is no difference."
)
_PLAIN: Final = "Where people and judges part, trust the people."
_OTHERS: Final = "all others"


def alignment_exhibits(index: Index, signature: str) -> Iterator[Table | Figure | None]:
    """The drawing, and its table."""
    yield _figure(index, signature)
    yield _table(index, signature)


def _rho(index: Index, component: str) -> Measure | None:
    return index.known("", "rho", component=component, **{"with": "human"})


def _rhos(index: Index) -> Iterator[str]:
    said = [
        f"{words} {_plain(record)}"
        for component, words in _COMPONENTS.items()
        if (record := _rho(index, component)) is not None
    ]
    if said:
        yield f"Spearman's rho of people's and judges' rankings: {', '.join(said)}."


def _figure(index: Index, signature: str) -> Figure | None:
    """A lane per reader: its mean over the others, as the paper's Figure 4 has it."""
    records = index.all("win_ratio", "component", "rater")
    names = shown(list(dict.fromkeys(record.reader for record in records)))
    rows = []
    for component, panel in _COMPONENTS.items():
        for reader, lane in names.items():
            for rater, said in _RATERS.items():
                record = index.known(reader, "win_ratio", component=component, rater=rater)
                if record is not None:
                    place = {"lane": lane, "panel": panel, "rater": rater}
                    rows.append(point_row(reader, said, "win ratio", record, **place))
    if not rows:
        return None
    drawn = [panel for panel in _COMPONENTS.values() if any(row["panel"] == panel for row in rows)]
    lines = [Panel(panel, line=50) for panel in drawn]
    said = "; ".join(
        f"{row['reader']}, {row['panel']}, by {row['shown']} {row['value']:.1f}" for row in rows
    )
    return Figure(
        name="win_ratio_lanes",
        title="People and judges, side by side",
        spec=dots(rows, list(names.values()), lines, Cast(dict(_RATERS), 0), across=2),
        alt=f"Win ratios over all other readers in percent: {said}.",
        signature=signature,
        notes=(
            f"{_PLAIN} {_SAID} The mean over all other readers that were ranked.",
            *_rhos(index),
            *unfit_note(rows),
            *interval_notes(index, "win_ratio"),
        ),
    )


def _table(index: Index, signature: str) -> Table | None:
    whole = dict.fromkeys(
        (record.reader, "") for record in index.all("win_ratio", "component", "rater")
    )
    pairs = dict.fromkeys(
        (record.reader, record.by["versus"])
        for record in index.all("win_ratio", "component", "versus", "rater")
    )
    rows = []
    for component, words in _COMPONENTS.items():
        for block, more in ((whole, {"of": "reader"}), (pairs, {})):
            gap = index.get("", "win_ratio_gap", component=component, **more)
            told = ("n/a" if gap is None else cell(gap), _plain(_rho(index, component)))
            for reader, versus in block:
                by = {"component": component, **({"versus": versus} if versus else {})}
                found = [index.get(reader, "win_ratio", rater=rater, **by) for rater in _RATERS]
                if any(found):
                    rows.append((words, reader, versus or _OTHERS, *map(cell, found), *told))
                    told = ("", "")
    return table(
        "win_ratio",
        "Do the judges rank as people do?",
        (
            *("component", "reader", "over", "win ratio, people", "win ratio, judges"),
            *("largest gap", "rho"),
        ),
        rows,
        signature,
        (
            f"{_PLAIN} {_SAID}",
            "Largest gap: between people and judges, in points, in the rows from there on. Rho: "
            "Spearman's, of their rankings of the readers within each item.",
            *judged_notes(index),
            *interval_notes(index, "win_ratio"),
        ),
        facts=3,
    )


def _plain(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    size = "" if record.n is None else f" n={record.n}"
    return f"{coefficient(record)}{size}{worth(record)}"
