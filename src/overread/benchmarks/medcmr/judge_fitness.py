"""What judges are worth, beside every judged number: on replies of known truth, and among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    FEW,
    Draft,
    Floats,
    Mask,
    Resampling,
    drafted,
    noted,
    quotients,
    ratio,
)
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.judged_questions import (
    CHECKED,
    COMPONENTS,
    COMPONENTS_OF,
    GRIDS,
    KNOWN,
    check_pairs,
)
from overread.benchmarks.medcmr.marks import facts_of
from overread.case import Measure
from overread.judging.asking import variant_of
from overread.judging.fitness import (
    NOT_CHECKED,
    UNFIT,
    Check,
    Fitness,
    fitness_measures,
    fitness_of,
)
from overread.judging.sensitivity import CHANGES, changed, shift_measure

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "S",
    "agreement_measures",
    "fitness_in",
    "fitness_measures",
    "labels_of",
    "shift_measures",
]


# ---------------------------------------------------------------- fitness
# What judges are worth, beside every judged number.

S: Final = "score"
"""What the score made of all four is called among the components."""
_CONTROL: Final = "control:"


def fitness_in(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(_checks(verdicts, cases))


def _checks(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> Iterable[Check]:
    columns = ("judge", "role", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, role, question, reader, name, about, payload in checked.iter_rows():
        control = reader.removeprefix(_CONTROL)
        if name not in cases or control not in CHECKED or variant_of(about):
            continue
        value = None if payload is None else msgspec.json.decode(payload)
        for part, truth, said in check_pairs(control, cases[name], question, value):
            yield Check(judge, role, question, truth, said, part)


def labels_of(verdicts: pl.DataFrame, found: Sequence[Fitness]) -> Mapping[tuple[str, str], str]:
    """By judge and component, what stands beside its numbers: nothing where it is fit.

    The worst of the questions it was asked. Clarity and coherence cannot be checked. The score made
    of all four goes by those that can be, four fifths of it.
    """
    known = {(one.judge, one.question, one.part): one.label for one in found}
    labels: dict[tuple[str, str], set[str | None]] = {}
    for judge, question in verdicts.select("judge", "question").unique().iter_rows():
        for part in COMPONENTS_OF.get(question, ()):
            label = known.get((judge, question, part), NOT_CHECKED)
            labels.setdefault((judge, part), set()).add(label)
            if part in KNOWN:
                labels.setdefault((judge, S), set()).add(label)
    worst = {
        place: next((label for label in (UNFIT, NOT_CHECKED) if label in given), None)
        for place, given in sorted(labels.items())
    }
    return {place: label for place, label in worst.items() if label is not None}


def shift_measures(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> Iterator[Measure]:
    """How often each score of the controls' replies changes with what should not matter."""
    said: dict[tuple[str, str], dict[str, dict[tuple[str, ...], Mapping[str, float]]]] = {}
    columns = ("judge", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, question, reader, name, about, payload in checked.iter_rows():
        if name not in cases or question not in COMPONENTS_OF:
            continue
        told = msgspec.json.decode(about)
        place = (reader, name, str(told.get("form", "")))
        own = said.setdefault((judge, question), {}).setdefault(variant_of(about), {})
        own[place] = {} if payload is None else msgspec.json.decode(payload)
    for (judge, question), told_by in sorted(said.items()):
        for change in CHANGES:
            if change not in told_by:
                continue
            before, after = told_by.get("", {}), told_by[change]
            for part in [part for part in COMPONENTS if part in COMPONENTS_OF[question]]:
                first = [before.get(place, {}).get(part) for place in after]
                second = [value.get(part) for value in after.values()]
                by = {"judge": judge, "question": question, "component": part}
                yield shift_measure(by, changed(change, first, second))


# ---------------------------------------------------------------- agreement of judges
# Do the judges of a panel agree? Score by score, over the replies of all readers.
#
# Replies with the item's own image alone: those without it are other replies to the same items.

# Reader, case and condition of a reply; what a judge gave it, nothing where it cannot be read.
_Place: TypeAlias = tuple[str, str, str]
_Given: TypeAlias = dict[_Place, dict[str, float]]


def agreement_measures(
    cases: pl.DataFrame, verdicts: pl.DataFrame, edition: Edition
) -> Iterator[Measure]:
    """`judge_agreement` and `judge_kappa` of each pair of judges at each score, and by dimension.

    Agreement is the share of replies with the very same score; kappa has quadratic weights over the
    whole scale. Replies to one item (to items of one image) are resampled together.
    """
    said = _said(verdicts)
    if len(said) < 2:
        return
    facts = facts_of(cases, edition.clusters)
    at = {case: place for place, case in enumerate(facts.cases)}
    for first, second in combinations(sorted(said), 2):
        one, two = said[first], said[second]
        places = sorted(place for place in one.keys() | two.keys() if place[1] in at)
        items = np.array([at[place[1]] for place in places], dtype=np.int64)
        if not items.size:
            continue
        dimensions = facts.dimension[items]
        drafts: list[Draft] = []
        for part in COMPONENTS:
            scores = np.array(
                [[own.get(place, {}).get(part, np.nan) for own in (one, two)] for place in places]
            )
            # Vision is not missing where it was never asked for.
            asked = np.array([_asked(part, one.get(place), two.get(place)) for place in places])
            for group in ("", *sorted(set(dimensions.tolist()) - {""})):
                members = asked & (dimensions == group) if group else asked
                if members.any():
                    by = {"judges": f"{first} / {second}", "component": part}
                    drafts += _drafts(by | ({"dimension": group} if group else {}), scores, members)
        resampling = Resampling(facts.clusters[items], boot=edition.boot, seed=edition.seed)
        yield from resampling.finish([msgspec.structs.replace(one, few=FEW) for one in drafts])


def _said(verdicts: pl.DataFrame) -> dict[str, _Given]:
    """What each judge gave, NaN for a score it was asked for and none could be read."""
    said: dict[str, _Given] = {}
    own = verdicts.filter(~verdicts["check"])
    columns = ("judge", "question", "reader", "case", "about", "payload")
    for judge, question, reader, case, about, payload in own.select(columns).iter_rows():
        if question not in COMPONENTS_OF or not _plain(about):
            continue
        told = dict.fromkeys(COMPONENTS_OF[question], float("nan"))
        if payload is not None:
            told |= msgspec.json.decode(payload, type=dict[str, float])
        said.setdefault(judge, {})[reader, case, about] = told
    return said


def _plain(about: str) -> bool:
    """Whether a reply is one with the item's own image, judged as it is."""
    told = msgspec.json.decode(about, type=dict[str, str | int])
    return told["image"] == "original" and "variant" not in told


def _asked(part: str, *given: dict[str, float] | None) -> bool:
    return any(part in told for told in given if told is not None)


def _drafts(by: dict[str, str], scores: Floats, members: Mask) -> Iterator[Draft]:
    both: Mask = members & ~np.isnan(scores).any(axis=1)
    missing = int(members.sum() - both.sum())
    note = f"{missing} without a verdict of both" if missing else None
    records = [
        Measure(reader="", measure=name, by=dict(by), n=int(both.sum()), note=note)
        for name in ("judge_agreement", "judge_kappa")
    ]
    if not both.any():
        yield from (Draft(record=noted(record, "no verdict of both")) for record in records)
        return
    same = (scores[:, 0] == scores[:, 1]) & both
    counts = np.stack([same, both], axis=1).astype(float)
    yield drafted(records[0], counts, ratio, both)
    grid = GRIDS[by["component"]]
    table = _table(scores, both, grid)
    if np.isnan(_kappa(table.sum(axis=0)[None, :])[0]):
        yield Draft(record=noted(records[1], "both said one thing only"))
        return
    yield drafted(records[1], table, _kappa, both, limits=(-1.0, 1.0), unit=None)


def _table(scores: Floats, both: Mask, grid: Sequence[float]) -> Floats:
    """For each reply, a one in the cell of both judges' scores among all pairs of scores."""
    size = len(grid)
    mine, theirs = (np.searchsorted(grid, np.where(both, scores[:, k], 0.0)) for k in (0, 1))
    found: Floats = np.eye(size * size)[mine * size + theirs] * both[:, None]
    return found


def _kappa(totals: Floats) -> Floats:
    """Cohen's kappa with quadratic weights, of each row of counts; NaN where it has none."""
    size = round(totals.shape[1] ** 0.5)
    tables = totals.reshape(-1, size, size)
    steps = np.arange(size)
    weights = (steps[:, None] - steps[None, :]) ** 2.0
    seen = (tables * weights).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    # All whole numbers: what agrees always by chance has exactly 0 below the line.
    chance = np.einsum("bi,ij,bj->b", rows, weights, columns)
    return quotients(chance - seen, chance)
