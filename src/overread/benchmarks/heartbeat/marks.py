"""The answers of one reader to one question laid out over videos, seeds and passes.

Every array begins with the videos, in the order of their names. A measure is then a mean along an
axis, as its definition reads (HEARTBEAT 7): passes become one answer, answers become errors, errors
become a mean. NaN is "no answer" and never a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, TASKS
from overread.case import BadInput
from overread.measuring.estimates import Floats, Mask
from overread.measuring.specs import OUTCOMES

if TYPE_CHECKING:
    import polars as pl

Phase: TypeAlias = Literal["ed", "es"]

# A pass is one of the shared outcomes, by its place among them; NOT_ASKED was never asked.
ANSWERED, UNPARSED, REFUSED, UNANSWERED, NOT_ASKED = range(5)
_OUTCOME_CODES: Final = {word: code for code, word in enumerate(OUTCOMES[:NOT_ASKED])}


def phases_of(wanted: str) -> tuple[Phase, ...]:
    """The phases a format asks for, in the order it names them."""
    return tuple("ed" if name == "edv" else "es" for name in wanted.split("_"))


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the videos; every array has one element per video."""

    cases: tuple[str, ...]
    # The patient as a whole number; a video without one is a patient of its own.
    patients: NDArray[np.int64]
    # Absolute frames, and the true ejection fraction in per cent; NaN where not known.
    ed: Floats
    es: Floats
    ef: Floats
    # Frames per second; NaN where not known.
    fps: Floats
    # Absolute frames of other beats' phases in the window, a row per video, NaN where none.
    others: Mapping[Phase, Floats]

    @property
    def n(self) -> int:
        return len(self.cases)


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """One reader under one task, context and format.

    V videos, S seeds, P passes. `said` and `lenient` are (V, S, P) by phase, NaN where nothing was
    parsed; `truth` is (V, S) by phase, and so are `count`, the frames shown, and `start`, the first
    of them in the clip.
    """

    reader: str
    task: str
    context: str
    format: str
    facts: Facts
    codes: NDArray[np.int8]
    said: Mapping[Phase, Floats]
    lenient: Mapping[Phase, Floats]
    truth: Mapping[Phase, Floats]
    count: Floats
    start: Floats
    # Passes whose reply the token limit ended: 1, 0, or NaN where that is not known.
    cut_off: Floats
    seeds: tuple[int, ...]

    @property
    def phases(self) -> tuple[Phase, ...]:
        return phases_of(self.format)

    def by(self, phase: Phase | None = None) -> dict[str, str]:
        keys = {"task": self.task, "context": self.context, "format": self.format}
        return keys if phase is None else keys | {"phase": phase}

    @property
    def asked(self) -> Mask:
        """Videos that were asked about."""
        return np.asarray((self.codes != NOT_ASKED).any(axis=(1, 2)))

    @property
    def replied(self) -> Mask:
        """Passes with a reply; an error is none."""
        return np.asarray(self.codes < UNANSWERED)

    @property
    def heard(self) -> Mask:
        """Videos and seeds with any reply."""
        return np.asarray(self.replied.any(axis=2))

    def outcomes(self, phase: Phase) -> NDArray[np.int8]:
        """What became of each video and seed: the best that did of any pass."""
        lost = (self.codes == ANSWERED) & np.isnan(self.said[phase])
        return np.asarray(np.where(lost, UNPARSED, self.codes).min(axis=2), np.int8)

    def read_leniently(self, phase: Phase) -> int:
        """Passes that only the lenient reading reads."""
        return int((np.isnan(self.said[phase]) & ~np.isnan(self.lenient[phase])).sum())

    def inside(self, phase: Phase) -> Mask:
        """Passes whose index is that of a frame shown."""
        said = self.said[phase]
        return np.asarray((said >= 0) & (said < self.count[:, :, None]))

    def clipped(self, phase: Phase) -> Floats:
        """The answers, those outside the frames shown moved to the nearest of them."""
        last = self.count[:, :, None] - 1
        return np.asarray(np.clip(self.said[phase], 0, np.where(np.isnan(last), np.inf, last)))

    def places(self, phase: Phase, beat: Literal["annotated", "nearest"]) -> Floats:
        """The local frames an answer may be held against (V, S, K), the annotated one first."""
        annotated = self.truth[phase][:, :, None]
        others = self.facts.others[phase]
        if beat == "annotated" or not others.size:
            return annotated
        return np.concatenate([annotated, others[:, None, :] - self.start[:, :, None]], axis=2)

    def held(self, said: Floats, phase: Phase, beat: Literal["annotated", "nearest"]) -> Floats:
        """Answers (V, S, ...) as if to the annotated beat: as far from it as from the nearest."""
        places = self.places(phase, beat)
        if places.shape[2] == 1:
            return said
        places = places.reshape(*places.shape[:2], *(1,) * (said.ndim - 2), places.shape[2])
        away = np.abs(said[..., None] - places)
        # The first of equals is the annotated one.
        which = np.where(np.isnan(away), np.inf, away).argmin(axis=-1)[..., None]
        nearest = np.take_along_axis(np.broadcast_to(places, away.shape), which, axis=-1)[..., 0]
        return np.asarray(said - nearest + places[..., 0])


def ejection_fraction(ed_volume: Floats, es_volume: Floats) -> Floats:
    """100 (V_ED - V_ES) / V_ED in per cent; negative values stay, NaN where V_ED is not above 0."""
    safe = np.where(ed_volume > 0, ed_volume, np.nan)
    return np.asarray(100 * (ed_volume - es_volume) / safe)


def filled_up(rows: Sequence[ArrayLike], least: int = 0) -> Floats:
    """Rows of different lengths as one table at least so wide, NaN beyond the end of each."""
    sizes = [np.size(row) for row in rows]
    found = np.full((len(rows), max([least, *sizes])), np.nan)
    for place, row in enumerate(rows):
        found[place, : sizes[place]] = row
    return found


def facts_of(cases: pl.DataFrame) -> Facts:
    """The facts of the videos, in the order of their names."""
    import polars as pl

    table = cases.sort("case")
    if table["case"].is_duplicated().any():
        twice = table["case"].filter(table["case"].is_duplicated())[0]
        raise BadInput(f'case "{twice}" stands more than once among the cases. Keep one.')

    def number(name: str) -> Floats:
        if name not in table.columns:
            return np.full(table.height, np.nan)
        return table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def others(name: str) -> Floats:
        if name not in table.columns:
            return np.empty((table.height, 0))
        return filled_up([row or () for row in table[name].to_list()])

    traced = ejection_fraction(number("ed_volume"), number("es_volume"))
    stated = number("ef")
    # Two namespaces, so that a case never joins the patient that bears its name.
    own = pl.lit("case:") + pl.col("case")
    if "patient" in table.columns:
        own = pl.coalesce(pl.lit("patient:") + pl.col("patient").cast(pl.String), own)
    named = table.select(own.rank("dense").alias("code"))["code"]
    return Facts(
        cases=tuple(table["case"]),
        patients=named.to_numpy().astype(np.int64) - 1,
        ed=number("ed"),
        es=number("es"),
        fps=number("fps"),
        others={"ed": others("other_ed"), "es": others("other_es")},
        ef=np.where(np.isnan(stated), traced, stated),
    )


def marks_of(answers: pl.DataFrame, facts: Facts) -> list[Marks]:
    """The marks of every reader, task, context and format, in the order of the first three."""
    import polars as pl

    place = pl.DataFrame({"case": facts.cases}, schema={"case": pl.String}).with_row_index("video")
    table = answers.join(place, on="case", how="left", maintain_order="left")
    lost = table.filter(pl.col("video").is_null())
    if not lost.is_empty():
        raise BadInput(f'the answers name case "{lost["case"][0]}", which is not among the cases.')
    absent = [name for name in ("start", "cut_off") if name not in table.columns]
    table = table.with_columns(pl.lit(None, pl.Int32).alias(name) for name in absent)
    numbers = ("pred_ed", "pred_es", "lenient_ed", "lenient_es", "truth_ed", "truth_es", "count",
               "start", "cut_off")  # fmt: skip
    shown = pl.coalesce("count", "stated") if "stated" in table.columns else pl.col("count")
    table = table.with_columns(count=shown).with_columns(
        pl.col(*numbers).cast(pl.Float64).fill_null(np.nan),
        pl.col("outcome").replace_strict(_OUTCOME_CODES, return_dtype=pl.Int8),
    )
    keys = ("reader", "task", "context", "format")
    parts = table.partition_by(keys, as_dict=True, maintain_order=True)
    readers = list(answers["reader"].unique(maintain_order=True))

    def rank(key: tuple[object, ...]) -> tuple[int, ...]:
        orders = (readers, TASKS, CONTEXTS, FORMATS)
        return tuple(order.index(word) for order, word in zip(orders, key, strict=True))

    return [_marks_of_setting(parts[key], facts, *map(str, key)) for key in sorted(parts, key=rank)]


def _marks_of_setting(
    rows: pl.DataFrame, facts: Facts, reader: str, task: str, context: str, wanted: str
) -> Marks:
    video = rows["video"].to_numpy().astype(np.int64)
    seeds, seed = np.unique(rows["seed"].to_numpy(), return_inverse=True)
    passes, turn = np.unique(rows["pass"].to_numpy(), return_inverse=True)
    shape = (facts.n, seeds.size, passes.size)
    places = np.ravel_multi_index((video, seed, turn), shape)
    if np.unique(places).size != places.size:
        which = rows.filter(rows.select("case", "seed", "pass").is_duplicated()).row(0, named=True)
        raise BadInput(
            f'reader {reader} answers case "{which["case"]}" twice under {task} {context} '
            f"{wanted}, seed {which['seed']}, pass {which['pass']}. Keep one answer."
        )
    codes = np.full(shape, NOT_ASKED, dtype=np.int8)
    codes.flat[places] = rows["outcome"].to_numpy()

    def spread(name: str) -> Floats:
        out = np.full(shape, np.nan)
        out.flat[places] = rows[name].to_numpy()
        return out

    def shared(name: str) -> Floats:
        out: Floats = np.full(shape[:2], np.nan)
        values = rows[name].to_numpy()
        out[video, seed] = values
        odd = ~((out[video, seed] == values) | np.isnan(values))
        if odd.any():
            case = facts.cases[int(video[odd][0])]
            raise BadInput(
                f'case "{case}" has more than one {name} under {task} {context} {wanted}, '
                f"seed {seeds[seed[odd][0]]}. All passes of a seed share their frames."
            )
        return out

    phases = phases_of(wanted)
    parsed = codes == ANSWERED
    start = shared("start")
    by_phase: Any = {
        "said": {phase: np.where(parsed, spread(f"pred_{phase}"), np.nan) for phase in phases},
        "lenient": {phase: spread(f"lenient_{phase}") for phase in phases},
        "truth": {phase: shared(f"truth_{phase}") for phase in ("ed", "es")},
    }
    return Marks(
        reader=reader,
        task=task,
        context=context,
        format=wanted,
        facts=facts,
        codes=codes,
        count=np.full(shape[:2], 2.0) if task == "t2" else shared("count"),
        # Where no record says it, the annotated frame does.
        start=np.where(np.isnan(start), facts.ed[:, None] - by_phase["truth"]["ed"], start),
        cut_off=spread("cut_off"),
        seeds=tuple(seeds.tolist()),
        **by_phase,
    )


# ----------------------------- means over passes, seeds and videos: pure functions over such arrays

_BEYOND_INT64: Final = 2.0**63


def mean_over(values: Floats, axis: int) -> Floats:
    """The mean of what is there along an axis; NaN where nothing is."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def aggregate(said: Floats, how: Literal["truncated", "plain"]) -> Floats:
    """One answer per video and seed: the mean of the parsed passes (HEARTBEAT 7).

    "truncated" cuts it toward zero, as the authors' cast to int64 does; a mean beyond 64 bits
    becomes the least whole number, as that cast has it.
    """
    mean = mean_over(said, axis=2)
    if how == "plain":
        return mean
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(mean) >= _BEYOND_INT64, -_BEYOND_INT64, np.trunc(mean))


def pearson(x: Floats, y: Floats, *, least: int) -> float | None:
    """Pearson's correlation; None with fewer than `least` points, or where either is constant."""
    there = ~(np.isnan(x) | np.isnan(y))
    a, b = x[there], y[there]
    if a.size < max(least, 2) or a.min() == a.max() or b.min() == b.max():
        return None
    a, b = a - a.mean(), b - b.mean()
    # Scaled first, so that an absurd answer does not overflow when squared.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    r = float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))
    return max(-1.0, min(1.0, r))


def others_median(truth: Floats, patients: NDArray[np.int64]) -> Floats:
    """The median of all videos but this patient's, per video and seed: the best constant.

    The median is the constant with the least mean error; leaving the patient out makes it a guess.
    NaN where there is no other patient.
    """
    if np.unique(patients).size == patients.size:
        return _all_but_one(truth)
    found = np.full(truth.shape, np.nan)
    for patient in np.unique(patients):
        own = patients == patient
        rest = truth[~own]
        for seed in np.flatnonzero(~np.isnan(rest).all(axis=0)) if rest.size else ():
            found[own, seed] = np.nanmedian(rest[:, seed])
    found[np.isnan(truth)] = np.nan
    return found


def _all_but_one(truth: Floats) -> Floats:
    """The median of all videos but this one, which no other of the same patient is beside."""
    found = np.full(truth.shape, np.nan)
    for seed in range(truth.shape[1]):
        there = np.flatnonzero(~np.isnan(truth[:, seed]))
        n = there.size
        if n < 2:
            continue
        values = truth[there, seed]
        order = np.argsort(values, kind="stable")
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        sorted_values = values[order]
        # Without the element of rank r, the i-th of the others is the i-th or the one after it.
        low, high = (n - 2) // 2, (n - 1) // 2
        below = sorted_values[low + (rank <= low)]
        above = sorted_values[high + (rank <= high)]
        found[there, seed] = (below + above) / 2
    return found


def spread_of(values: Floats) -> float | None:
    """Standard deviation with ddof 1 of what is there; None with fewer than two."""
    found = float(spread_over(values[None], axis=1)[0])
    return None if np.isnan(found) else found


def spread_over(values: Floats, axis: int) -> Floats:
    """The same along an axis; NaN with fewer than two."""
    off = values - np.expand_dims(mean_over(values, axis), axis)
    there = ~np.isnan(values)
    more = there.sum(axis=axis) - 1
    squares = np.where(there, off * off, 0.0).sum(axis=axis)
    found: Floats = np.sqrt(
        np.divide(squares, more, out=np.full(squares.shape, np.nan), where=more > 0)
    )
    return found


class Average(msgspec.Struct, frozen=True, dict=True):
    """The mean of a (videos, seeds) array, and how to take it again in a resample of videos.

    over "seeds": the mean over seeds of each seed's mean over videos (Tables 1-4). over "videos":
    the mean over videos of each video's mean over seeds (Tables 5-7). They differ only where
    something is missing.
    """

    values: Floats
    over: Literal["seeds", "videos"]

    @cached_property
    def per_seed(self) -> Floats:
        return mean_over(self.values, axis=0)

    @cached_property
    def per_video(self) -> Floats:
        return mean_over(self.values, axis=1)

    @cached_property
    def counted(self) -> Mask:
        """The videos that have any value."""
        return np.asarray((~np.isnan(self.values)).sum(axis=1) > 0)

    @cached_property
    def n(self) -> int:
        return int(self.counted.sum())

    @cached_property
    def point(self) -> float | None:
        if not self.n:
            return None
        each = self.per_seed if self.over == "seeds" else self.per_video
        return float(each[~np.isnan(each)].mean())

    @property
    def sd_seeds(self) -> float | None:
        return spread_of(self.per_seed)

    @property
    def sd_videos(self) -> float | None:
        return spread_of(self.per_video)

    @cached_property
    def columns(self) -> Floats:
        """What is summed over the videos of a resample: values, then how many there are."""
        part = self.values if self.over == "seeds" else self.per_video[:, None]
        return np.hstack([np.nan_to_num(part, nan=0.0), (~np.isnan(part)).astype(float)])

    @staticmethod
    def again(totals: Floats) -> Floats:
        """The mean in each resample, from the totals of `columns`."""
        half = totals.shape[1] // 2
        sums, counts = totals[:, :half], totals[:, half:]
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return mean_over(means, axis=1)


def median_bounds(values: Floats, effect: float) -> tuple[float, float, float]:
    """The median and its 95 % bounds: the quantiles at Wilson's bounds of one half.

    `effect` is the design effect of "at most the median" by patient.
    """
    from overread.stats import wilson

    # One half of n videos, worth n / effect independent ones.
    half = wilson(values.size, 2 * values.size, design_effect=2 * max(1.0, effect))
    assert half.low is not None
    assert half.high is not None
    low, high = np.quantile(values, [half.low, half.high])
    return float(low), float(np.median(values)), float(high)
