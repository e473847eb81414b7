"""`python -m bench coverage`: do 95 % intervals hold the truth in 95 % of studies, and do tests err
as often as they say? Simulated through the functions that every benchmark measures with.

Every cell is a design of `studies.py`. `python -m bench.coverage --into docs/statistics.md` writes
what stands there between two marks; with `--others` that of harder generators.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench.studies import (
    Design,
    alike_readers,
    amount,
    area,
    designs,
    even_groups,
    harmonic,
    honest_confidence,
    likeness_of_paths,
    others,
    panel,
    share,
    skewed_amount,
    skill,
    surviving,
    unlike_readers,
)

from overread.case import Measure
from overread.measuring.notes import FEW_CLUSTERS

TIMES = 600
# What must hold, but for chance: coverage of intervals, and errors of the first kind (exact tests
# may err less).
COVERAGE = (0.93, 0.985)
TYPE_ONE = 0.06
# Of cells that do not, at most this share, none below this coverage, each flagged `few` in at least
# so many of its studies.
EXCEPTIONS, LEAST, FLAGGED = 0.1, 0.85, 0.5

INTERVALS: dict[str, tuple[Callable[..., tuple[Measure, float]], list[Design]]] = {
    "share": (share, list(designs())),
    "mean of judges": (panel, list(designs(judges=(1, 3)))),
    "F1": (harmonic, list(designs(judges=(1, 3)))),
    "amount": (amount, list(designs(rates=(0.5,), sharing=("normal",)))),
    "skewed amount": (skewed_amount, list(designs(rates=(0.5,), sharing=("normal",)))),
    "survives": (surviving, list(designs(rates=(0.5,)))),
    "AUROC": (area, list(designs(rates=(0.5, 0.9, 0.99), sharing=("normal",)))),
    "consistency": (likeness_of_paths, list(designs(rates=(0.5,), sharing=("copied",)))),
    "skill": (skill, list(designs(rates=(0.5,), sharing=("normal",)))),
    "difference of models": (alike_readers, list(designs(judges=(1, 3)))),
    "models 15 points apart": (unlike_readers, list(designs(rates=(0.5, 0.95), judges=(1, 3)))),
}
TESTS: dict[str, tuple[Callable[..., float | None], list[Design]]] = {
    "groups of patients": (even_groups, list(designs(rates=(0.5, 0.95)))),
    "calibrated": (honest_confidence, [Design(n, 1, 0.0, 0.5) for n in (20, 50, 300)]),
}
KINDS = (*INTERVALS, *TESTS)
_UNEVEN = (("normal", "geometric"),)
OTHERS: dict[str, list[Design]] = {
    "share": others(),
    "mean of judges": others(judges=3),
    "F1": others(judges=3),
    "amount": others(rates=(0.5,), sharing=_UNEVEN),
    "skewed amount": others(rates=(0.5,), sharing=_UNEVEN),
    "survives": others(rates=(0.5,)),
    "AUROC": others(rates=(0.5, 0.9), sharing=_UNEVEN),
    "difference of models": others(),
    "groups of patients": others(rates=(0.5, 0.95)),
}


class Cell(NamedTuple):
    """How often intervals hold the truth and tests reject; `few` is how many were flagged."""

    kind: str
    design: Design
    coverage: float | None
    rejected: float | None
    few: float = 0.0
    times: int = TIMES

    @property
    def type_one(self) -> float | None:
        """How often a test rejects what is true; None where it should reject."""
        return None if self.kind == "models 15 points apart" else self.rejected

    @property
    def exact(self) -> bool:
        """Whether its interval is wide only because the test to it errs less than it may."""
        return self.rejected is not None and (self.coverage or 0.0) > COVERAGE[1]

    @property
    def holds(self) -> bool:
        """Within the limits, nothing allowed for chance: this decides."""
        within = self.coverage is None or self.exact
        within = within or COVERAGE[0] <= (self.coverage or 0.0) <= COVERAGE[1]
        return within and (self.type_one is None or self.type_one <= TYPE_ONE)

    @property
    def flagged(self) -> bool:
        """Whether most of its studies say themselves that the interval is rough."""
        return self.few >= FLAGGED

    @property
    def but_for_chance(self) -> bool:
        """The same, but for what chance does in so many studies (one in twenty)."""
        (least, low), (most, high), (often, err) = (
            (limit, 1.645 * np.sqrt(limit * (1 - limit) / self.times))
            for limit in (*COVERAGE, TYPE_ONE)
        )
        within = self.coverage is None or self.exact
        within = within or least - low <= (self.coverage or 0.0) <= most + high
        return within and (self.type_one is None or self.type_one <= often + err)


def covered(kind: str, design: Design, times: int = TIMES) -> Cell:
    """How often intervals of such studies hold the truth; and tests reject."""
    draw, make = design.generator, INTERVALS[kind][0]
    held = rejected = tested = few = 0
    for _ in range(times):
        record, truth = make(draw, design)
        held += record.low is None or record.low - 1e-12 <= truth <= record.high + 1e-12
        tested += record.p is not None
        rejected += record.p is not None and record.p <= 0.05
        few += FEW_CLUSTERS in record.flags
    share_of = rejected / times if tested else None
    return Cell(kind, design, held / times, share_of, few / times, times)


def erring(kind: str, design: Design, times: int = TIMES) -> Cell:
    """How often a test rejects what is true."""
    draw = design.generator
    found = [TESTS[kind][0](draw, design) for _ in range(times)]
    rejected = sum(p is not None and p <= 0.05 for p in found) / times
    return Cell(kind, design, None, rejected, times=times)


def _cell(job: tuple[str, Design, int]) -> Cell:
    kind, design, times = job
    return covered(kind, design, times) if kind in INTERVALS else erring(kind, design, times)


def simulate(
    times: int = TIMES, kinds: Iterable[str] = KINDS, designs: dict[str, list[Design]] | None = None
) -> list[Cell]:
    """All cells, over the cores there are."""
    of = designs or {kind: own for kind, (_, own) in (INTERVALS | TESTS).items()}
    jobs = [(kind, design, times) for kind in kinds if kind in of for design in of[kind]]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_cell, jobs, chunksize=4))


def of_every_measure() -> dict[str, Any]:
    """All cells; ok where at most a tenth of them leaves the limits, all flagged, and none far."""
    return summed_up(simulate())


def summed_up(cells: list[Cell]) -> dict[str, Any]:
    """What the cells say together. Plainly counted; but a cell that chance alone may have put
    outside need not be flagged."""
    odd = [cell for cell in cells if not cell.holds]
    bare = [cell for cell in odd if not cell.flagged and not cell.but_for_chance]
    covers = [cell.coverage for cell in cells if cell.coverage is not None]
    errs = [cell.type_one for cell in cells if cell.type_one is not None]
    flagged = [cell for cell in cells if cell.flagged]
    enough = len(odd) <= EXCEPTIONS * len(cells) and min(covers) >= LEAST
    return {
        "ok": enough and not bare,
        "cells": len(cells),
        "outside": len(odd),
        "outside by more than chance": sum(not cell.but_for_chance for cell in odd),
        "outside and not flagged": sum(not cell.flagged for cell in odd),
        "outside by more than chance and not flagged": len(bare),
        "below": sum((cell.coverage or 1.0) < COVERAGE[0] for cell in odd),
        "lowest coverage": min(covers),
        "highest error of the first kind": max(errs, default=None),
        "flagged": len(flagged),
        "flagged and within the limits": sum(cell.holds for cell in flagged),
        "exceptions": [_told(cell) for cell in odd],
    }


def _told(cell: Cell) -> str:
    said = f"coverage {cell.coverage}, type I {cell.type_one}, few in {cell.few:.0%}"
    return f"{cell.kind} {tuple(cell.design)}: {said}"


def table(cells: Iterable[Cell]) -> Iterator[str]:
    """The rows of docs/statistics.md: by kind, items and items a patient."""
    yield "| number | items | a patient | coverage | rejected | outside | flagged `few` |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, int, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.kind, cell.design.items, cell.design.each), []).append(cell)
    for (kind, items, each), some in groups.items():
        spans = []
        for name in ("coverage", "rejected"):
            found = [x for cell in some if (x := getattr(cell, name)) is not None]
            spans.append(f"{min(found):.3f} to {max(found):.3f}" if found else "–")
        odd = [cell for cell in some if not cell.holds]
        few = sum(cell.few for cell in some) / len(some)
        yield (
            f"| {kind} | {items} | {each} | {spans[0]} | {spans[1]} | {len(odd)} of {len(some)} "
            f"| {few:.0%} |"
        )


def exceptions(cells: Iterable[Cell]) -> Iterator[str]:
    """Rows of the cells that leave the limits."""
    yield "| number | items | a patient | alike | by | rate | judges | coverage | type I | `few` |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for kind, at, coverage, rejected, few, _ in (cell for cell in cells if not cell.holds):
        said = ("–" if one is None else f"{one:.3f}" for one in (coverage, rejected))
        by = at.by if at.sizes == "even" else f"{at.by}, {at.sizes}"
        parts = (kind, at.items, at.each, at.alike, by, at.rate, at.judges, *said, f"{few:.0%}")
        yield f"| {' | '.join(map(str, parts))} |"


def told(cells: list[Cell], command: str) -> Iterator[str]:
    """All of it for docs/statistics.md: what was run, the counts, the table and the exceptions."""
    from overread import __version__

    found = summed_up(cells)
    count, odd, bare = found["cells"], found["outside"], found["outside and not flagged"]
    errs = found["highest error of the first kind"]
    yield f"`{command}`, version {__version__}, {date.today()}: {count:,} designs."
    yield ""
    yield (
        f"- Outside the limits: {odd} ({odd / count:.1%}), "
        f"{found['outside by more than chance']} of them by more than chance explains."
    )
    yield (
        f"- Too narrow: {found['below']}, the least holds the truth in "
        f"{found['lowest coverage']:.1%}. The others are wider than need be."
    )
    yield (
        f"- Flagged `few` in most of their studies: {odd - bare} of those outside. Not flagged: "
        f"{bare}, {found['outside by more than chance and not flagged']} of them beyond chance."
    )
    yield (
        f"- Flagged in most of their studies, of all: {found['flagged']}; "
        f"{found['flagged and within the limits']} of these are within the limits."
    )
    if errs is not None:
        yield f"- The largest error of the first kind: {errs:.1%}."
    yield ""
    yield from table(cells)
    yield from ("", "<details><summary>Every design outside, with its figures</summary>", "")
    yield from exceptions(cells)
    yield from ("", "</details>")


def written_into(path: Path, part: str, lines: Iterable[str]) -> None:
    """The lines in place of what stands between a part's two marks."""
    start, end = f"<!-- coverage: {part} -->\n", f"<!-- coverage: end of {part} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path}: no lines {start.strip()} and {end}")
    text = "\n".join((*lines, ""))
    path.write_text(f"{before}{start}{text}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.coverage", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS))
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--others", action="store_true", help="of other generators")
    parser.add_argument("--into", type=Path, help="the page to write it into; else it is printed")
    asked = parser.parse_args()
    simulated = simulate(asked.times, asked.kinds or KINDS, OTHERS if asked.others else None)
    called = f"python -m bench.coverage{' --others' * asked.others} --times {asked.times}"
    said = list(told(simulated, called))
    if asked.into:
        written_into(asked.into, "others" if asked.others else "ours", said)
    else:
        print("\n".join(said))
