"""The funnel of a set: what went into each step, what came out, and why the rest did not.

A group-by over the files of the steps. It is printed after each step, drawn, and in the datasheet.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.exhibits.style import BLUE, FAINT, figure_spec
from overread.case import Figure, Table
from overread.curate.folder import read_step, steps_there
from overread.curate.records import VERDICTS, Record

_NO_REASON: Final = "no reason given"


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the funnel: `given` to it and `passed` on, and records by verdict and reason.

    A step that makes several items of one passes on more than it was given.
    """

    step: str
    given: int
    passed: int
    verdicts: dict[str, int]
    reasons: dict[str, dict[str, int]]


def stage_of(step: str, records: list[Record]) -> Stage:
    """What a step did, counted."""
    reasons: dict[str, Counter[str]] = {verdict: Counter() for verdict in VERDICTS}
    for one in records:
        reasons[one.verdict][one.reason] += 1
    given = {parent for one in records for parent in one.parents}
    return Stage(
        step=step,
        # What is collected comes from nothing: every record is one that was found.
        given=len(given) if step != "collect" else len(records),
        passed=len({one.id for one in records if one.passes}),
        verdicts={verdict: count.total() for verdict, count in reasons.items()},
        reasons={
            verdict: dict(sorted(count.items())) for verdict, count in reasons.items() if count
        },
    )


def funnel_of(folder: Path) -> list[Stage]:
    """The steps of a folder that were run, in order."""
    return [stage_of(step, read_step(folder, step)) for step in steps_there(folder)]


def table_of(stages: list[Stage], name: str) -> Table:
    """The funnel as it is printed."""
    rows = [
        (
            stage.step,
            f"{stage.given:,}",
            f"{stage.passed:,}",
            *(f"{stage.verdicts.get(verdict, 0):,}" for verdict in VERDICTS),
            why_of(stage),
        )
        for stage in stages
    ]
    return Table(
        name="funnel",
        title=f"The funnel of {name}",
        columns=("step", "in", "out", *VERDICTS, "why"),
        rows=tuple(rows),
        headline=("step", "in", "out", "dropped", "flagged", "changed", "why"),
    )


def why_of(stage: Stage, *, most: int | None = None) -> str:
    """The reasons for what was dropped or flagged, the most frequent first."""
    counts = Counter[str]()
    for verdict in ("dropped", "flagged"):
        for reason, count in stage.reasons.get(verdict, {}).items():
            counts[(reason or _NO_REASON).replace("_", " ")] += count
    first = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most]
    return ", ".join(f"{reason} {count:,}" for reason, count in first)


def figure_of(stages: list[Stage], name: str) -> Figure:
    """The funnel as it is drawn: a bar for each step, by what became of what it was given."""
    values: list[dict[str, Any]] = []
    for stage in stages:
        for verdict in VERDICTS:
            if stage.verdicts.get(verdict):
                values.append(
                    {
                        "step": stage.step,
                        "verdict": verdict,
                        "rank": VERDICTS.index(verdict),
                        "n": stage.verdicts[verdict],
                    }
                )
    said = "; ".join(
        f"{stage.step}: {stage.given:,} in, {stage.passed:,} out"
        + (f" ({why})" if (why := why_of(stage)) else "")
        for stage in stages
    )
    colours = [BLUE, "#56b4e9", "#e69f00", FAINT]
    spec = figure_spec(
        values,
        width=420,
        height={"step": 26},
        mark="bar",
        encoding={
            "y": {
                "field": "step",
                "type": "nominal",
                "sort": [stage.step for stage in stages],
                "title": None,
            },
            "x": {"field": "n", "type": "quantitative", "title": "records"},
            "color": {
                "field": "verdict",
                "type": "nominal",
                "scale": {"domain": list(VERDICTS), "range": colours},
            },
            "order": {"field": "rank", "type": "quantitative"},
        },
    )
    return Figure(
        name="funnel",
        title=f"The funnel of {name}",
        spec=spec,
        alt=f"Bars of records by step. {said}.",
    )
