"""S of one reader against another's, and without the image against with it, paired by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np

from overread.benchmarks.drafts import Draft, Floats, joined, unseen
from overread.benchmarks.flips import FLIPS, flip_ps, signs
from overread.benchmarks.medcmr.marks import OPEN, REFORMULATED, Cell, Marks
from overread.benchmarks.medcmr.scored import scored
from overread.benchmarks.medcmr.scores import CONDITIONS, mean_of
from overread.benchmarks.medcmr.study import Study
from overread.case import Measure

__all__ = ["score_comparisons"]


class _Pair(NamedTuple):
    """A record, and its items' differences in whole numbers, `one` of which make 1."""

    record: Measure
    family: str
    form: str
    units: Floats
    one: int


def score_comparisons(study: Study) -> Iterator[Draft | Measure]:
    """`diff_score` of every pair of readers, and of every condition less the original.

    The mean over items of S of the one less S of the other, by the judges both have on an item, on
    items that count for both. P is of seeded sign flips, the items of one cluster together.
    """
    pairs: list[_Pair] = []
    for one, two in combinations(study.marks, 2):
        for cell, by, family in (
            (OPEN, {}, "diff_score"),
            (REFORMULATED, {"kind": "reformulated"}, "diff_score reformulated"),
        ):
            found = _pair(study, (one, cell), (two, cell))
            if found is not None:
                record = _record(study, one, {**by, "versus": two.reader}, found)
                pairs.append(_Pair(record, family, cell.form, found.units, found.one))
    for marks in study.marks:
        for condition in CONDITIONS:
            by = {"condition": condition, "versus": "original"}
            found = _pair(study, (marks, Cell("open", condition)), (marks, OPEN))
            if found is None:
                continue
            if marks.reader in study.unseeing:
                yield unseen(marks.reader, "diff_score", by)
                continue
            record = _record(study, marks, by, found)
            family = f"diff_score {condition}"
            pairs.append(_Pair(record, family, OPEN.form, found.units, found.one))
    for pair, p in zip(pairs, _tests(study, pairs), strict=True):
        yield _difference(pair, p)


class _Paired(NamedTuple):
    units: Floats
    one: int
    judges: tuple[str, ...]
    # Items without a judge that could be read on both sides; elsewhere, verdicts on one side only.
    left_out: int
    single: int


def _pair(study: Study, first: tuple[Marks, Cell], second: tuple[Marks, Cell]) -> _Paired | None:
    """The items' differences; None where the two were not asked, or judged, alike."""
    if any(
        cell not in marks.said or not marks.asked(cell).any() for marks, cell in (first, second)
    ):
        return None
    here, there = scored(study, *first), scored(study, *second)
    judges = tuple(judge for judge in here.judges if judge in there.judges)
    if not judges:
        return None
    mine, theirs = (side.gave("score", judges) for side in (here, there))
    # Where a judge could not be read on one side, a kinder one must not count alone there.
    both = mine & theirs
    units, one = here.units("score", judges, both)
    units -= there.units("score", judges, both)[0]
    asked = here.asked & there.asked & here.captioned
    single = (mine ^ theirs) & both.any(axis=1, keepdims=True)
    left_out = int((asked & np.isnan(units)).sum())
    return _Paired(units, one, judges, left_out, int(single.sum()))


def _record(study: Study, marks: Marks, by: dict[str, str], found: _Paired) -> Measure:
    return Measure(
        reader=marks.reader,
        measure="diff_score",
        by=by,
        label=study.label(found.judges, "score"),
        note=joined(
            f"{found.left_out} not judged in both left out" if found.left_out else None,
            f"{found.single} verdicts on one of both left out" if found.single else None,
        ),
    )


def _difference(pair: _Pair, p: float | None) -> Draft:
    made = mean_of(pair.record, pair.units, pair.one, limits=(-1.0, 1.0))
    if made.record.value is None or p is None:
        return made
    method = f"p of {FLIPS} sign flips"
    tested = msgspec.structs.replace(
        made.record, p=p, family=pair.family, note=joined(made.record.note, method)
    )
    # One more item can move a difference from one end to the other.
    return msgspec.structs.replace(made, record=tested, unit=1 + abs(made.record.value))


def _tests(study: Study, pairs: Sequence[_Pair]) -> list[float | None]:
    """The p of each pair; None where nothing is counted.

    Coins are tossed for the clusters asked about, so a pair's p does not depend on other pairs.
    """
    found: dict[int, float] = {}
    for cell in (OPEN, REFORMULATED):
        chosen = [at for at, pair in enumerate(pairs) if pair.form == cell.form]
        if not chosen:
            continue
        asked = np.any([marks.asked(cell) for marks in study.marks], axis=0)
        _, codes = np.unique(study.facts.clusters[asked], return_inverse=True)
        units = [np.nan_to_num(pairs[at].units[asked]) for at in chosen]
        sums = np.stack([np.bincount(codes, weights=one).astype(float) for one in units], axis=1)
        coins = signs(len(sums), FLIPS, study.edition.seed)
        found |= dict(zip(chosen, flip_ps(sums, coins), strict=True))
    return [None if np.isnan(pair.units).all() else found[at] for at, pair in enumerate(pairs)]
