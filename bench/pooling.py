"""`python -m bench.pooling`: is a pooled number nearer the truth than the raw one of its group?

True values of the groups vary about a mean; cases, several a patient, are drawn from them and
measured and pooled as every benchmark does it. Prints the rows of docs/statistics.md: the squared
error of pooled numbers over that of raw ones, and the share of groups whose interval holds the
truth, raw and pooled, over all groups of all studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.case import Measure
from overread.measuring.estimates import clustered_share
from overread.measuring.specs import Spec, with_pooled

Floats = NDArray[np.float64]
SPECS = (Spec(name="rate", says="", groups=("finding",)),)


class Design(NamedTuple):
    """Groups, patients of the smallest and the largest, items a patient, and the true rates."""

    groups: int
    patients: tuple[int, int]
    each: int
    rate: float
    apart: float


class Found(NamedTuple):
    """Squared error of pooled over raw, and the coverage of both."""

    error: float
    raw: float
    pooled: float


def designs() -> Iterator[Design]:
    """Few and many groups, small and unlike ones, rates far from and near to a limit."""
    for groups, patients, each in product((4, 8, 20), ((5, 20), (30, 100), (5, 300)), (1, 3)):
        for rate, apart in ((0.5, 0), (0.5, 0.1), (0.5, 0.25), (0.1, 0.05), (0.1, 0.1), (0.02, 0)):
            yield Design(groups, patients, each, rate, apart)


def true_rates(design: Design, random: np.random.Generator) -> Floats:
    """Beta distributed about the mean, with this standard deviation; the same where it is 0."""
    if not design.apart:
        return np.full(design.groups, design.rate)
    size = design.rate * (1 - design.rate) / design.apart**2 - 1
    return random.beta(design.rate * size, (1 - design.rate) * size, design.groups)


def study(design: Design, random: np.random.Generator) -> tuple[Floats, list[Measure]]:
    """The true rate of each group, and its record."""
    truth, records = true_rates(design, random), []
    for number, rate in enumerate(truth):
        patients = int(random.integers(*design.patients, endpoint=True))
        own = np.full(patients, rate)
        if design.each > 1 and 0 < rate < 1:  # how alike a patient's items are: 0.1
            own = random.beta(9 * rate, 9 * (1 - rate), patients)
        hits = random.random((patients, design.each)) < own[:, None]
        owners = np.repeat(np.arange(patients), design.each)
        record = Measure(reader="r", measure="rate", by={"finding": str(number)})
        records.append(clustered_share(record, hits.ravel(), owners))
    return truth, with_pooled(records, SPECS)


def simulated(design: Design, times: int, seed: int = 0) -> Found:
    """Squared errors and coverage over the groups of so many studies."""
    random = np.random.default_rng(seed)
    errors, held = np.zeros(2), np.zeros(2)
    for _ in range(times):
        for truth, record in zip(*study(design, random), strict=True):
            assert record.value is not None
            assert record.pooled is not None
            for side, found in enumerate((record, record.pooled)):
                assert found.low is not None
                assert found.high is not None
                errors[side] += (found.value - truth) ** 2
                held[side] += found.low <= truth <= found.high
    raw, pooled = held / (times * design.groups)
    return Found(float(errors[1] / errors[0]), float(raw), float(pooled))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pooling", description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="studies of each design")
    times = parser.parse_args().times
    rows: dict[tuple[int, float, float], list[Found]] = {}
    for design in designs():
        key = design.groups, design.rate, design.apart
        rows.setdefault(key, []).append(simulated(design, times))
    print(
        "| groups | true rates | squared error, pooled / raw | coverage, raw | coverage, pooled |"
    )
    print("|---|---|---|---|---|")
    for (groups, rate, apart), found in rows.items():
        said = f"{rate:g} ± {apart:g}" if apart else f"{rate:g}, all alike"
        error, raw, pooled = (
            f"{min(column):{how}} to {max(column):{how}}"
            for column, how in zip(zip(*found, strict=True), (".2f", ".3f", ".3f"), strict=True)
        )
        print(f"| {groups} | {said} | {error} | {raw} | {pooled} |", flush=True)


if __name__ == "__main__":
    main()
