"""What reached the readers, and answers that do not depend on the clip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import Printed
from published.arithmetic.heartbeat_rows import (
    CONTEXTS,
    NUMBERS,
    PHASES,
    SEEDS,
    errors,
    named,
    places,
    r2_of,
)

# ---------------------------------------------------------------- what reached the readers
# Pixels, frames, a range of indices, and a baseline to beat. What the scripts pass and the processors
# keep is read from their sources (HEARTBEAT 5), not from the printed numbers; where the numbers bear
# it out the flag says how.

_SOURCES: Final = "HEARTBEAT 5: read from the sources, not run"
_BLIND: Final = ("LLaVA-Interleave", "Gemma-3n")
_RESAMPLED: Final = ("Qwen3-VL-8B", "Qwen3-VL-32B")
_T1_TABLES: Final = ("1", "2", "3", "5", "6", "7")
# 2 frames a second of an assumed 24, and not fewer than 4.
_KEPT_A_SECOND, _ASSUMED_RATE, _LEAST_KEPT = 2, 24, 4
# Student's t of ten seeds, two-sided 5 %.
_T_OF_SEEDS: Final = 2.262
# The saved output of the authors' notebook (HEARTBEAT 8).
_SAVED: Final = {"ed": 53.27, "es": 68.64}


def no_pixels(figures: Figures) -> Iterator[Flag]:
    """A reader whose processor drops the frames is at chance wherever length tells nothing."""
    for reader in _BLIND:
        found = _accuracies(figures, reader)
        if not found or not all(_like_a_coin(printed) for printed in found):
            continue
        values = [printed.record.value or 0.0 for printed in found]
        yield Flag(
            where="Tables 1 to 7",
            what="it was shown no pixels: the scripts pass the frames as a video, which its "
            "processor ignores",
            found=f"{len(found)} accuracies of {min(values):.3f} to {max(values):.3f} in Table 4, "
            "none apart from a coin's",
            expected="frames as single images, as Section 3.4 says",
            reader=reader,
            tables=(*_T1_TABLES, "4"),
            note=_SOURCES,
        )


def _accuracies(figures: Figures, reader: str) -> list[Printed]:
    return [
        printed
        for printed, _ in errors(figures, "accuracy")
        if printed.record.reader == reader and printed.spread is not None
    ]


def _like_a_coin(printed: Printed) -> bool:
    """Whether one half lies in the 95 % interval of the mean of the seeds."""
    error = (printed.spread or 0.0) / math.sqrt(SEEDS)
    return abs((printed.record.value or 0.0) - 0.5) <= _T_OF_SEEDS * error


def told_by_the_length(figures: Figures) -> Iterator[Flag]:
    """A window's length determines both answers, so a reader without pixels can follow them."""
    for reader in _BLIND:
        best: tuple[float, Printed, Printed, float] | None = None
        for printed, value in errors(figures):
            r2 = r2_of(figures, printed)
            by = {key: printed.record.by[key] for key in ("task", "context", "phase")}
            guess = figures.find("Random", "chance_mae", by)
            if printed.record.reader != reader or r2 is None or guess is None:
                continue
            chance, squared = guess.record.value or 0.0, r2.record.value or 0.0
            if value < chance / 2 and squared >= 0.5 and (best is None or value < best[0]):
                best = value, printed, r2, chance
        if best is not None:
            _, printed, r2, chance = best
            yield Flag(
                where=printed.where,
                what="far nearer than guesses without having seen a pixel: the number of frames in "
                "the prompt gives both answers away",
                found=f"MAE {printed.cell}, R² {r2.cell} ({named(printed)})",
                expected=f"about {chance:.2f} and no correlation, did the prompt tell nothing",
                reader=reader,
                tables=("1", "2", "3"),
                note="HEARTBEAT 2, 5",
            )


def resampled(figures: Figures) -> Iterator[Flag]:
    """Qwen's video processor resamples an array of frames without a rate."""
    by = {"task": "t1"}
    ends = [figures.find("windows", f"{end}_window", by) for end in ("shortest", "longest")]
    lengths = [int(end.record.value) for end in ends if end is not None and end.record.value]
    if len(lengths) < 2:
        return
    kept = [max(_LEAST_KEPT, length * _KEPT_A_SECOND // _ASSUMED_RATE) for length in lengths]
    for reader in _RESAMPLED:
        yield Flag(
            where="Tables 1 to 3 and 5 to 7",
            what="its video processor keeps two frames a second of an assumed 24, unless its "
            "configuration says otherwise",
            found=f"{kept[0]} frames of a window of {lengths[0]}, {kept[1]} of {lengths[1]}",
            expected="every frame between which it is to choose",
            reader=reader,
            tables=_T1_TABLES,
            note=_SOURCES,
        )


def index_range(figures: Figures) -> Iterator[Flag]:
    """[0, n + 1) holds one whole number more than there are frames."""
    if figures.find("windows", "margin", {"task": "t1"}) is None:
        return
    yield Flag(
        where="Section 3.2",
        what="the range of indices in the prompt holds one that no frame has",
        found="[0, n + 1) for n frames",
        expected="[0, n - 1], which the code's prompt has",
        tables=("1", "2", "3", "text"),
        note="from the text; the prompt by HEARTBEAT 2",
    )


def guesses(figures: Figures) -> Iterator[Flag]:
    """The row of guesses is not what the authors' notebook computes."""
    by = {"task": "t1", "context": "original"}
    printed = {
        phase: figures.find("Random", "chance_mae", by | {"phase": phase}) for phase in _SAVED
    }
    known = {phase: one.record.value for phase, one in printed.items() if one is not None}
    if known and any(known.get(phase) != saved for phase, saved in _SAVED.items()):
        yield Flag(
            where="Tables 1 to 3",
            what="not what the notebook gives as shipped: it counts the true frames from the start "
            "of the clip, not of the window, and has no seed",
            found=" and ".join(f"{value:.2f}" for value in known.values()),
            expected=" and ".join(f"{value:.2f}" for value in _SAVED.values())
            + ", its saved output",
            reader="Random",
            tables=_T1_TABLES,
            note="HEARTBEAT 8: read from the notebook",
        )


# ---------------------------------------------------------------- answers that do not depend on the clip
# And what they give away about windows and orders.

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
    by_position = [constant_choice(position, figures.cases) for position in (0, 1)]
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


def constant_choice(position: int, videos: int) -> tuple[float, float]:
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


CHECKS: Final = (
    no_pixels,
    told_by_the_length,
    resampled,
    index_range,
    guesses,
    constant_frames,
    margin,
    constant_choices,
)
