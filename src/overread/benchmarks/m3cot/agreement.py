"""Do the judges of a panel agree? Over the replies of all readers, overall and task by task."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import Floats, facts_of
from overread.benchmarks.m3cot.paths import path_of
from overread.benchmarks.m3cot.steps import precision_of
from overread.benchmarks.m3cot.study import agreeing, apart, left_open, noted, quotients
from overread.benchmarks.m3cot.verdicts import QUESTIONS
from overread.case import Measure
from overread.judging.agreement import Agreement, agreements

if TYPE_CHECKING:
    import polars as pl

__all__ = ["agreement_measures", "compared"]

Label = Hashable | None


def agreement_measures(
    cases: pl.DataFrame, verdicts: pl.DataFrame, edition: Edition
) -> Iterator[Measure]:
    """`judge_agreement` and `judge_kappa` of each pair of judges at each question.

    Compared are: answer, right or wrong; recall, each gold step there or not; precision, whether
    half of the steps match (judges take a reply apart each in its own way); order, the path.
    What is said of one item (of one patient) is not independent: these are resampled whole.
    """
    tasks = dict(cases.select("case", "task").iter_rows())
    facts = facts_of(cases)
    owners = dict(zip(facts.cases, facts.patients.tolist(), strict=True))
    for question in QUESTIONS:
        labels, items = _labels(verdicts, question)
        if len(labels) < 2:
            continue
        groups = [tasks.get(item) or "" for item in items]
        # The points only: intervals are made here.
        for one in agreements(labels, groups, n_boot=2, seed=edition.seed):
            held = [at for at, group in enumerate(groups) if one.group in (None, group)]
            pairs = [
                (labels[one.first][at], labels[one.second][at], owners.get(items[at], -1))
                for at in held
            ]
            both = [pair for pair in pairs if pair[0] is not None and pair[1] is not None]
            yield from _measures(one, question, both, edition)


def _labels(verdicts: pl.DataFrame, question: str) -> tuple[dict[str, list[Label]], list[str]]:
    """What each judge said, in one order for all; and the item of each label."""
    own = verdicts.filter((verdicts["question"] == question) & ~verdicts["check"])
    said: dict[str, dict[tuple[str, str, str], list[Label]]] = {}
    for row in own.sort("judge", "reader", "case", "about").iter_rows(named=True):
        payload = None if row["payload"] is None else msgspec.json.decode(row["payload"])
        place = (row["reader"], row["case"], row["about"])
        said.setdefault(row["judge"], {})[place] = compared(question, payload)
    places = sorted({place for given in said.values() for place in given})
    # A gold step is a label of its own, so an item has as many as its longest verdict.
    width = {
        place: max(len(given.get(place, ())) for given in said.values()) or 1 for place in places
    }
    labels = {
        judge: [
            label
            for place in places
            for label in (*given.get(place, ()), *[None] * width[place])[: width[place]]
        ]
        for judge, given in said.items()
    }
    return labels, [place[1] for place in places for _ in range(width[place])]


def compared(question: str, payload: Any) -> list[Label]:
    """What of a verdict is compared with another's; nothing of one that cannot be read."""
    if payload is None:
        return []
    if question == "answer":
        return [bool(payload["match"])]
    if question == "recall":
        return [bool(hit) for hit in payload]
    if question == "precision":
        found = precision_of(payload)
        return [found is not None and found >= 0.5]
    return [path_of(payload)]


Pair = tuple[Label, Label, int]


def _measures(
    one: Agreement, question: str, both: Sequence[Pair], edition: Edition
) -> Iterator[Measure]:
    by = {"judges": f"{one.first} / {one.second}", "question": question}
    if one.group:
        by["task"] = one.group
    elif one.group is not None:
        return  # items without a task are in the whole only
    missing = f"{one.missing} without a verdict of both" if one.missing else None
    drawn = _drawn(both, edition)
    for name, point, estimates in (
        ("judge_agreement", one.percent.point, drawn[0]),
        ("judge_kappa", one.kappa.point, drawn[1]),
    ):
        made = Measure(reader="", measure=name, by=dict(by), value=point, n=one.n, note=missing)
        if point is None:
            yield noted(made, "both said one thing only" if both else "no verdict of both")
        else:
            yield _bounded(made, estimates, len({owner for *_, owner in both}), edition)


def _drawn(both: Sequence[Pair], edition: Edition) -> tuple[Floats, Floats]:
    """Share agreed on and Cohen's kappa in every resample of the patients; NaN without one."""
    from overread.stats import PatientWeights

    numbers: dict[Label, int] = {}
    for one, two, _ in both:
        numbers.setdefault(one, len(numbers))
        numbers.setdefault(two, len(numbers))
    mine, theirs = (np.array([numbers[pair[at]] for pair in both], dtype=int) for at in (0, 1))
    known = np.eye(len(numbers))
    table = np.hstack([(mine == theirs)[:, None], known[mine], known[theirs]]).astype(float)
    owners = np.array([owner for *_, owner in both], dtype=np.int64)
    totals = PatientWeights(owners, n_boot=edition.boot, seed=edition.seed).totals(table)
    same, end = totals[:, 0], 1 + len(numbers)
    n = totals[:, 1:end].sum(axis=1)
    chance = (totals[:, 1:end] * totals[:, end:]).sum(axis=1)
    # All whole numbers: what agrees always by chance has exactly 0 below the line.
    return quotients(same, n), quotients(n * same - chance, n * n - chance)


def _bounded(made: Measure, estimates: Floats, owners: int, edition: Edition) -> Measure:
    """With its interval; where no resample differs, agreement has what Wilson's leaves open."""
    from overread.stats import resample_interval

    assert made.value is not None
    if owners < 2:
        return noted(made, "one item has no interval")
    low, high, sd = resample_interval(estimates, made.value)
    if low is not None and high is not None and apart(low, high):
        method = f"bootstrap of items:{edition.boot}:{edition.seed}"
        return msgspec.structs.replace(made, low=low, high=high, sd_boot=sd, method=method)
    if made.measure == "judge_agreement":
        return agreeing(made, left_open(owners), (0.0, 1.0))
    return noted(made, "no interval: every resample agrees alike")
