"""Made-up studies of a known truth, of every kind of number, as `coverage.py` draws them.

A design says how many items and patients there are, how alike a patient's items are and by what,
the true rate, and how many judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import expit, logit, ndtri

from overread.benchmarks.grounding.calibration import area_under
from overread.benchmarks.heartbeat.frame_measures import skill_of
from overread.benchmarks.heartbeat.marks import Average
from overread.benchmarks.m3cot.consistency import pairs_of, pairs_record, seen_in
from overread.case import Measure
from overread.measuring.contrasts import paired
from overread.measuring.estimates import (
    Resampling,
    clustered_share,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    quotients,
    ratio,
)
from overread.stats import calibrated_p, groups_p

Floats = NDArray[np.float64]
RECORD = Measure(reader="r", measure="m")


class Design(NamedTuple):
    """Items, items a patient, correlation within patients, true rate, judges, and what is shared.

    `by` a normal variable; a rate of the patient's own (beta); one answer that some of the
    patient's items copy; the intercept of a logistic model; or all answers of some patients, who
    are wholly right or wrong. Patients have one number of items, or geometric ones of that mean.
    """

    items: int
    each: int
    alike: float
    rate: float
    judges: int = 1
    by: Literal["normal", "beta", "copied", "logistic", "wholly"] = "normal"
    sizes: Literal["even", "geometric"] = "even"

    @property
    def patients(self) -> int:
        return int(self.owners[-1]) + 1

    @property
    def owners(self) -> NDArray[np.int64]:
        if self.sizes == "even":
            return np.repeat(np.arange(self.items // self.each), self.each)
        return _geometric(self.items, self.each)

    @property
    def generator(self) -> np.random.Generator:
        name = self.by + (self.sizes if self.sizes != "even" else "")
        return np.random.default_rng([*map(ord, name), *(int(100 * x) for x in self[:5])])


@cache
def _geometric(items: int, each: int) -> NDArray[np.int64]:
    """The patient of each item, whose numbers of items are geometric with this mean."""
    sizes = np.random.default_rng([items, each]).geometric(1 / each, items)
    return np.repeat(np.arange(items), sizes)[:items]


@cache
def _intercept(rate: float, alike: float) -> tuple[float, float]:
    """Mean and deviation of a logistic model's intercepts with this rate and correlation."""
    at, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def off(of: Floats) -> tuple[float, float]:
        own = expit(of[0] + np.exp(of[1]) * at)
        mean = float(weights @ own)
        return mean - rate, float(weights @ own**2) - mean**2 - alike * rate * (1 - rate)

    found = root(off, [logit(rate), np.log(2 * np.sqrt(alike) / (1 - alike))])
    assert found.success, (rate, alike)
    return float(found.x[0]), float(np.exp(found.x[1]))


def designs(
    rates: tuple[float, ...] = (0.02, 0.5, 0.95),
    judges: tuple[int, ...] = (1,),
    sharing: tuple[str, ...] = ("normal", "beta", "copied"),
) -> Iterator[Design]:
    for items, each, alike, rate, by, what in product(
        (20, 50, 300), (1, 2, 5), (0.0, 0.3, 0.6), rates, judges, sharing
    ):
        if (each > 1 or not alike) and (alike or what == sharing[0]):
            yield Design(items, each, alike, rate, by, what)  # type: ignore[arg-type]


def others(
    rates: tuple[float, ...] = (0.02, 0.5, 0.95),
    judges: int = 1,
    sharing: tuple[tuple[str, str], ...] = (
        ("logistic", "even"),
        ("logistic", "geometric"),
        ("wholly", "geometric"),
    ),
) -> list[Design]:
    """Designs of harder generators."""
    return [
        Design(items, each, alike, rate, judges, by, sizes)  # type: ignore[arg-type]
        for items, each, alike, rate, (by, sizes) in product(
            (20, 50, 300), (2, 5), (0.0, 0.3, 0.6), rates, sharing
        )
        if alike or (by, sizes) == sharing[-1]
    ]


# ---------------------------------------------------------------- what happens in one study


def right(draw: np.random.Generator, design: Design, rate: float | None = None) -> Floats:
    """Whether each item is answered rightly."""
    at = design.rate if rate is None else rate
    alike, owners = design.alike, design.owners
    if design.by == "beta" and alike:
        prior = 1 / alike - 1
        own = draw.beta(at * prior, (1 - at) * prior, design.patients)[owners]
        return (draw.random(owners.size) < own).astype(float)
    if design.by == "copied":
        own = (draw.random(design.patients) < at)[owners]
        copies = draw.random(owners.size) < np.sqrt(alike)
        return np.where(copies, own, draw.random(owners.size) < at).astype(float)
    if design.by == "logistic" and alike:
        centre, deviation = _intercept(round(at, 6), alike)
        own = expit(centre + deviation * draw.standard_normal(design.patients))[owners]
        return (draw.random(owners.size) < own).astype(float)
    if design.by == "wholly":
        same = (draw.random(design.patients) < alike)[owners]
        own = (draw.random(design.patients) < at)[owners]
        return np.where(same, own, draw.random(owners.size) < at).astype(float)
    return (_hardness(draw, design) < ndtri(at)).astype(float)


def _hardness(draw: np.random.Generator, design: Design) -> Floats:
    """Of each item, a normal variable that patients share a part of."""
    own = np.sqrt(design.alike) * draw.standard_normal(design.patients)[design.owners]
    return own + np.sqrt(1 - design.alike) * draw.standard_normal(design.owners.size)


def judged(draw: np.random.Generator, design: Design, marks: Floats) -> Floats:
    """The marks as judges see them (items x judges), each wrong in one of ten by itself."""
    wrong = draw.random((marks.size, design.judges)) < 0.1
    return np.abs(marks[:, None] - wrong)


def share(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    return clustered_share(RECORD, right(draw, design) == 1, design.owners), design.rate


def panel(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    table = judged(draw, design, right(draw, design))
    return _finished(design, columns_of(table), mean_of_columns, counted_in(table)), _seen(design)


def harmonic(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """F1 of a precision and a recall, each judged by itself."""
    marks = right(draw, design)
    columns = np.hstack([columns_of(judged(draw, design, marks)) for _ in range(2)])
    half = columns.shape[1] // 2

    def again(totals: Floats) -> Floats:
        one, two = mean_of_columns(totals[:, :half]), mean_of_columns(totals[:, half:])
        return quotients(2 * one * two, one + two)

    counted = np.ones(marks.size, dtype=bool)
    return _finished(design, columns, again, counted), _seen(design)


def amount(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """A mean error in frames: skewed, as errors are."""
    return _amounts(design, 4 * np.abs(_hardness(draw, design))), 4 * float(np.sqrt(2 / np.pi))


def skewed_amount(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """Mean seconds: some take very long."""
    return _amounts(design, np.exp(0.7 * _hardness(draw, design))), float(np.exp(0.7**2 / 2))


def _amounts(design: Design, values: Floats) -> Measure:
    table, limits = values[:, None], (0.0, np.inf)
    return _finished(design, columns_of(table), mean_of_columns, counted_in(table), limits)


def surviving(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """What part of right answers beyond chance stands without the picture."""
    own = right(draw, design, 0.8)
    left = np.where(draw.random(own.size) < 0.5, own, right(draw, design, 0.25))
    columns = np.stack([left - 0.25, own - 0.25], axis=1)
    counted = np.ones(own.size, dtype=bool)
    limits = (-np.inf, np.inf)
    return _finished(design, columns, ratio, counted, limits), (0.5 * 0.8 + 0.125 - 0.25) / 0.55


def area(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """AUROC of normal scores; a third of the items has the finding."""
    while not 2 <= (sick := draw.random(design.owners.size) < 1 / 3).sum() <= sick.size - 2:
        pass
    apart = np.sqrt(2) * ndtri(design.rate)
    scores = _hardness(draw, design) + apart * sick
    return area_under(RECORD, scores, sick.astype(float), design.owners), design.rate


def skill(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """A reader that errs by half as much as the median of the other videos' right frames does."""
    places = np.round(12 + 5 * _hardness(draw, design))
    others = ~np.eye(places.size, dtype=bool)
    rest = np.broadcast_to(places, others.shape)[others].reshape(places.size, -1)
    own = np.abs(places - np.median(rest, axis=1))
    errors = np.abs(2.5 * _hardness(draw, design))
    made = skill_of(
        RECORD,
        Average(errors[:, None], "seeds"),
        Average(own[:, None], "seeds"),
        places[:, None, None],
        0.0,
    )
    return Resampling(design.owners, boot=400, seed=0, of="videos").finish([made])[0], 0.5


def _seen(design: Design) -> float:
    return 0.9 * design.rate + 0.1 * (1 - design.rate)


def _finished(
    design: Design,
    columns: Floats,
    again: Any,
    counted: Any,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Measure:
    made = estimated(RECORD, columns, again, counted, limits=limits)
    return Resampling(design.owners, boot=2, seed=0).finish([made])[0]


MENU = (("m", "f", "c"), ("m", "f"), ("m", "c", "f"), ("f", "m", "c"))
CHANCES = np.array([0.6, 0.2, 0.15, 0.05])


def likeness_of_paths(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """The path consistency of a reader over three tasks; a patient's items copy one path."""
    owners, n = design.owners, design.owners.size
    own = draw.choice(4, design.patients, p=CHANCES)[owners]
    copies = draw.random(n) < np.sqrt(design.alike)
    taken = np.where(copies, own, draw.choice(4, n, p=CHANCES))
    tasks = np.arange(n) % 3
    seen = seen_in(*MENU)
    counts = np.array([np.bincount(taken[tasks == task], minlength=4) for task in range(3)])
    study: Any = SimpleNamespace(n=n, clusters=owners, facts=SimpleNamespace(tasks=tasks))
    paths = [MENU[at] for at in taken]
    value = float(pairs_of(counts.astype(float), seen).mean())
    whole = np.ones(n, dtype=bool)
    made = pairs_record(RECORD, study, value, whole, [paths], [0, 1, 2])  # type: ignore[list-item]
    return made, float(CHANCES @ seen.likeness @ CHANCES)


def alike_readers(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """The difference of two readers of one rate that find the same items hard."""
    common = right(draw, design)
    one, two = (np.where(draw.random(common.size) < 0.6, common, right(draw, design)) for _ in "ab")
    if design.judges > 1:
        one, two = (judged(draw, design, marks).mean(axis=1) for marks in (one, two))
    return paired(RECORD, one, two, design.owners), 0.0


def unlike_readers(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """The difference of two readers 15 points apart that find the same items hard."""
    worse = design.rate - 0.15
    one = right(draw, design)
    two = np.where(draw.random(one.size) < worse / design.rate, one, 0.0)
    if design.judges > 1:
        one, two = (judged(draw, design, marks).mean(axis=1) for marks in (one, two))
    return paired(RECORD, one, two, design.owners), 0.15 * (0.8 if design.judges > 1 else 1.0)


def even_groups(draw: np.random.Generator, design: Design) -> float | None:
    """P of two groups of patients with one rate, one group's with more items each."""
    owners = design.owners
    group = (owners < design.patients // 3).astype(int)
    thinned = (group == 1) | np.concatenate(([True], owners[1:] != owners[:-1]))
    marks = right(draw, design)
    return groups_p(marks[thinned], group[thinned], owners[thinned], n_perm=199)


def honest_confidence(draw: np.random.Generator, design: Design) -> float | None:
    """P of calibration of a reader whose probabilities mean what they say."""
    said = draw.beta(2, 1, design.items)
    return calibrated_p(said, draw.random(design.items) < said, times=199)
