"""Whose replies people ranked higher, where no measure of the benchmark's own is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import nan

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.case import Measure
from overread.measuring.contrasts import against_half
from overread.study.analysis import PEOPLE, Reading


def win_ratios(readings: Sequence[Reading]) -> Iterator[Measure]:
    """`win_ratio` of each model, by dimension (`component`) and by who ranked (`rater`).

    A reply wins 1 over another that is ranked below it, 1/2 at a tie. With `versus` it is the mean
    over items against that model, without the mean over all others; half is nobody's. `readers` are
    all raters together: the mean of theirs item by item. Repeats are left out.
    """
    ranked = [
        one
        for one in readings
        if one.ask.kind == "ranking"
        and not one.key.iteration
        and all(letter in one.key.facts for letter in one.ask.options)
    ]
    for task, component in sorted({(one.task, one.ask.name) for one in ranked}):
        own = [one for one in ranked if (one.task, one.ask.name) == (task, component)]
        models = sorted({one.key.facts[letter] for one in own for letter in one.ask.options})
        cases = sorted({one.key.case for one in own})
        raters = sorted({one.reader for one in own})
        patients = {one.key.case: one.key.patient for one in own}
        owners = stats.counted_from_zero(np.array([patients[case] for case in cases]))
        ranks = np.full((len(raters), len(cases), len(models)), np.nan)
        for one in own:
            given = one.ask.ranks(one.value)
            at = raters.index(one.reader), cases.index(one.key.case)
            for letter, rank in given.items():
                ranks[(*at, models.index(one.key.facts[letter]))] = rank
        # Raters x items x models x models: 1 where the first is ranked above the second.
        wins = (np.sign(ranks[..., None, :] - ranks[..., :, None]) + 1) / 2
        seen = ~np.isnan(wins)
        summed, counted = np.where(seen, wins, 0).sum(axis=0), seen.sum(axis=0)
        together = np.where(counted > 0, summed / np.maximum(counted, 1), nan)
        sides = [*zip(raters, wins, strict=True), *([(PEOPLE, together)] if raters[1:] else [])]
        for rater, table in sides:
            by = {"component": component, "rater": rater}
            record = Measure(reader="", measure="win_ratio", by=by)
            yield from _of_rater(record, table, models, owners)


def _of_rater(
    record: Measure, table: np.ndarray, models: Sequence[str], owners: np.ndarray
) -> Iterator[Measure]:
    family = f"win_ratio {record.by['component']} {record.by['rater']}"
    alone, pairs = [], []
    for at, model in enumerate(models):
        others = np.delete(table[:, at], at, axis=1).mean(axis=1)
        alone.append(against_half(replace(record, reader=model), others, owners, family))
    for first, second in combinations(range(len(models)), 2):
        pair = replace(record, reader=models[first], by={**record.by, "versus": models[second]})
        pairs.append(against_half(pair, table[:, first, second], owners, f"{family}, pairs"))
    for tried in (alone, pairs):
        q = stats.benjamini_hochberg([nan if one.p is None else one.p for one in tried])
        for one, adjusted in zip(tried, q, strict=True):
            yield one if one.p is None else replace(one, q=float(adjusted))
