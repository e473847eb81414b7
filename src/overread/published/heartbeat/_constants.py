"""Answers that do not depend on the clip, and what they give away about windows and orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import Figures, Printed
from overread.published.heartbeat._rows import (
    CONTEXTS,
    NUMBERS,
    PHASES,
    SEEDS,
    errors,
    places,
    r2_of,
)

__all__ = ["CHECKS"]

# An error that moves by less than this share of itself over seeds, with R² 0.00 ± 0.00.
_STILL: Final = 0.005
_FIRST_SEED: Final = 2020  # HEARTBEAT 4
# How far from the stated margin the windows may be.
_ROOM: Final = 0.1


def constant_frames(figures: Figures) -> Iterator[Flag]:
    """R² of constant answers is not defined, and their error is the same for every seed."""
    exact, almost = _constant(figures), _almost_constant(figures)
    for system in figures.systems:
        own = [printed for printed in exact if printed.record.reader == system.name]
        near = [printed for printed in almost if printed.record.reader == system.name]
        if not own:
            continue
        tables = dict.fromkeys(printed.table for printed in (*own, *near))
        found = f"MAE {places(own)}, R² not defined"
        if near:
            found += f"; almost so: {places(near)}, R² 0.00 ± 0.00"
        yield Flag(
            where=_tables(tuple(tables)),
            what="one frame is named for every clip: seeds change nothing, and R² is not defined",
            found=found,
            expected="answers that follow the clip",
            reader=system.name,
            tables=tuple(tables),
            note=NUMBERS,
        )


def _constant(figures: Figures) -> list[Printed]:
    return [
        printed
        for printed, _ in errors(figures)
        if (r2 := r2_of(figures, printed)) is not None
        and r2.record.value is None
        and printed.spread == 0
    ]


def _almost_constant(figures: Figures) -> list[Printed]:
    return [
        printed
        for printed, value in errors(figures)
        if (r2 := r2_of(figures, printed)) is not None
        and r2.record.value == 0 == r2.spread
        and (printed.spread or 0.0) <= _STILL * value
    ]


def margin(figures: Figures) -> Iterator[Flag]:
    """How far the windows reach beyond ED and ES, by a constant 0 and by uniform guesses.

    A window of N frames with the same margin m on both sides has ED and ES at m and N-1-m in either
    order. So a reader that always says 0 has two errors with the sum N-1, and a uniform guess is
    (m(m+1) + (N-1-m)(N-m)) / 2N off, whichever phase is asked for (HEARTBEAT 2, 8).
    """
    stated = figures.find("windows", "margin", {"task": "t1"})
    zero = [_most_constant(figures, phase) for phase in PHASES]
    by = {"task": "t1", "context": "original"}
    guesses = [figures.find("Random", "chance_mae", by | {"phase": phase}) for phase in PHASES]
    known = [one.record.value for one in (*zero, *guesses) if one is not None]
    if stated is None or stated.record.value is None or len(known) < 4:
        return
    ed, es, guess_ed, guess_es = (value or 0.0 for value in known)
    last, guess = ed + es, (guess_ed + guess_es) / 2
    inside = last**2 - 2 * last * (last + 1) + 4 * (last + 1) * guess
    if inside < 0 or es <= ed:
        return
    reach = (last - math.sqrt(inside)) / 2
    share = reach / (last - 2 * reach)
    if abs(share - stated.record.value) > _ROOM:
        yield Flag(
            where=stated.where,
            what=f"margins of a third of the distance l from ED to ES (stated: {stated.cell}) fit "
            "neither the constant answers nor the row of guesses",
            found=f"a constant 0 is {ed:.2f} frames from ED and {es:.2f} from ES, guesses "
            f"{guess_ed:.2f} and {guess_es:.2f}: windows of {last + 1:.0f} frames with margins of "
            f"{share:.2f} l; with ED first l is {es - ed:.2f} and the margin {ed / (es - ed):.2f} "
            "l",
            expected=f"{stated.record.value:.2f} l; the code takes 2l/3, cut to whole frames",
            tables=("1", "2", "3", "text"),
            note=f"{NUMBERS}; the code's rule by HEARTBEAT 2",
        )


def _most_constant(figures: Figures, phase: str) -> Printed | None:
    """The error of a constant answer, or of the one nearest to it."""
    for some in (_constant(figures), _almost_constant(figures)):
        own = [printed for printed in some if printed.record.by["phase"] == phase]
        if own:
            return min(own, key=lambda printed: printed.spread or 0.0)
    return None


def constant_choices(figures: Figures) -> Iterator[Flag]:
    """Who always says the same position is right as often as the seeded order puts the phase there.

    Ten seeds of one shuffle per video give that mean and SD to the last digit (HEARTBEAT 4).
    """
    by_position = [_constant_choice(position, figures.cases) for position in (0, 1)]
    for system in figures.systems:
        found = []
        for context, name in CONTEXTS.items():
            for phase, wanted in zip(PHASES, ("edv", "esv"), strict=True):
                by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
                printed = figures.find(system.name, "accuracy", by)
                if printed is None:
                    continue
                for ed_at, (mean, sd) in enumerate(by_position):
                    if _prints(printed, mean, sd):
                        said = ed_at if phase == "ed" else 1 - ed_at
                        found.append(f"{phase.upper()} {name} {printed.cell} = always {said}")
        if found:
            yield Flag(
                where="Table 4",
                what=f"{len(found)} accuracies are those of one position said for every pair, with "
                f"seeds {_FIRST_SEED}-{_FIRST_SEED + SEEDS - 1}, {figures.cases} videos and an SD "
                "of ddof 1",
                found="; ".join(found),
                expected="answers that follow the pair",
                reader=system.name,
                tables=("4",),
                note=f"{NUMBERS}, with the order of HEARTBEAT 4",
            )


def _constant_choice(position: int, videos: int) -> tuple[float, float]:
    """Mean and SD over the seeds of how often ED stands at a position."""
    import random
    import statistics

    shares = []
    for seed in range(_FIRST_SEED, _FIRST_SEED + SEEDS):
        generator, hits = random.Random(seed), 0
        for _ in range(videos):
            shown = ["edv", "esv"]
            generator.shuffle(shown)
            hits += shown.index("edv") == position
        shares.append(hits / videos)
    return statistics.mean(shares), statistics.stdev(shares)


def _prints(printed: Printed, mean: float, sd: float) -> bool:
    value, spread = printed.record.value, printed.spread
    if value is None or spread is None:
        return False
    room = 1e-9
    return (
        abs(value - mean) <= printed.half + room and abs(spread - sd) <= printed.spread_half + room
    )


def _tables(names: tuple[str, ...]) -> str:
    return f"Table {names[0]}" if len(names) == 1 else f"Tables {' and '.join(names)}"


CHECKS: Final = (constant_frames, margin, constant_choices)
