"""Whose replies people ranked higher, where no measure of the benchmark's own is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import nan
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.case import Measure
from overread.measuring.contrasts import against_half
from overread.study.analysis import PEOPLE, Reading
from overread.study.consensus import Place


def win_ratios(
    readings: Sequence[Reading],
    audited: Mapping[Place, Mapping[str, str]] = MappingProxyType({}),
) -> Iterator[Measure]:
    """`win_ratio` of each model, by dimension (`component`) and by who ranked (`rater`).

    A reply wins 1 over another that is ranked below it, 1/2 at a tie. With `versus` it is the mean
    over items against that model, without the mean over all others; half is nobody's. `readers` are
    all raters together: the mean of theirs item by item, and where an item was `audited` what was
    decided of it. Repeats are left out.
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
        ranks = np.full((len(raters), len(cases), len(models)), nan)
        final = np.full(ranks.shape[1:], nan)
        for one in own:
            at = cases.index(one.key.case)
            _fill(ranks[raters.index(one.reader), at], one, one.value, models)
            place = Place(one.key.case, one.key.condition, one.key.task)
            if decided := audited.get(place, {}).get(component):
                _fill(final[at], one, decided, models)
        wins, settled = _wins(ranks), _wins(final)
        seen = ~np.isnan(wins)
        summed, counted = np.where(seen, wins, 0).sum(axis=0), seen.sum(axis=0)
        together = np.where(counted > 0, summed / np.maximum(counted, 1), nan)
        together = np.where(np.isnan(settled), together, settled)
        sides = [*zip(raters, wins, strict=True), *([(PEOPLE, together)] if raters[1:] else [])]
        for rater, table in sides:
            by = {"component": component, "rater": rater}
            record = Measure(reader="", measure="win_ratio", by=by)
            yield from _of_rater(record, table, models, owners)


def _fill(row: np.ndarray, one: Reading, value: str, models: Sequence[str]) -> None:
    """The ranks of each model, in whose place a letter stands."""
    for letter, rank in one.ask.ranks(value).items():
        row[models.index(one.key.facts[letter])] = rank


def _wins(ranks: np.ndarray) -> np.ndarray:
    """A matrix of models by models: 1 where the first is ranked above the second, 1/2 tied."""
    wins: np.ndarray = (np.sign(ranks[..., None, :] - ranks[..., :, None]) + 1) / 2
    return wins


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
