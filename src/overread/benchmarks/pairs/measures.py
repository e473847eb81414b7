"""What is measured of pairs: both right, one right, and the same answer to both pictures."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.base import Tables
from overread.measuring.arrays import RunArrays, linked_clusters
from overread.measuring.estimates import Ints, Mask, Resampling
from overread.measuring.specs import OUTCOMES, PLAIN, READERS, Codes, Counted, Spec, coverage_specs

_NOT_ASKED: Final = OUTCOMES.index("not asked")


class PairAnswers(msgspec.Struct, frozen=True):
    """What one reader said of both pictures (pairs x 2): the option it named, in the pair's own
    order, -1 without one; what became of it, a place among OUTCOMES; and whether it is right."""

    reader: str
    choice: Ints
    outcome: Codes
    right: Mask

    @property
    def asked(self) -> Mask:
        found: Mask = (self.outcome != _NOT_ASKED).all(axis=1)
        return found


def pair_arrays(tables: Tables, rules: Any) -> tuple[RunArrays, list[PairAnswers]]:
    """The run as arrays. Pairs of one patient are one cluster, others each by itself."""
    cases = tables.cases.sort("case").with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    owners = cases.select("place", owner="patients").explode("owner")
    clusters = linked_clusters(owners, cases.height)
    groups = cases["group"].fill_null("").to_numpy().astype(np.str_)
    drawn = Resampling(clusters, boot=rules.boot, seed=rules.seed, of="pairs", robust=rules.robust)
    names = cases["case"].to_list()
    run = RunArrays(names, clusters, tables.readers, drawn, columns={"group": groups})
    truth: Ints = np.array(cases["answers"].to_list(), dtype=np.int64).reshape(-1, 2)
    rows = tables.answers.join(cases.select("case", "place"), on="case")
    return run, [_said(reader, rows.filter(reader=reader), truth) for reader in run.readers]


def _said(reader: str, rows: pl.DataFrame, truth: Ints) -> PairAnswers:
    choice: Ints = np.full(truth.shape, -1, dtype=np.int64)
    outcome: Codes = np.full(truth.shape, _NOT_ASKED, dtype=np.int8)
    at = rows["place"].to_numpy(), rows["picture"].to_numpy() - 1
    choice[at] = rows["choice"].fill_null(-1).to_numpy()
    outcome[at] = rows["outcome"].cast(pl.Enum(OUTCOMES)).to_physical().to_numpy()
    return PairAnswers(reader, choice, outcome, (choice >= 0) & (choice == truth))


def _both_right(run: RunArrays, one: PairAnswers, condition: object) -> Counted:
    both = one.right.all(axis=1).astype(float)
    return Counted(both, one.asked, one.outcome.max(axis=1), wrong=True)


def _each_right(run: RunArrays, one: PairAnswers, condition: object) -> Counted:
    return Counted(one.right.astype(float), one.asked, one.outcome, wrong=True)


def _same_answer(run: RunArrays, one: PairAnswers, condition: object) -> Counted:
    same = (one.choice[:, 0] == one.choice[:, 1]).astype(float)
    known = (one.choice >= 0).all(axis=1)
    return Counted(np.where(known, same, np.nan), one.asked, one.outcome.max(axis=1))


_BOTH: Final = "share of pairs with both pictures answered rightly"
_EACH: Final = "share of pictures answered rightly, each by itself"
_ONE_ANSWER: Final = "share of pairs with one answer to both pictures"
# Given by group, compared between readers, and by case.
_GIVEN: Final[dict[str, Any]] = {"groups": ("group",), "contrasts": (READERS,), "by_case": True}
SPECS: Final = (
    Spec(name="set_accuracy", says=_BOTH, of=_both_right, bounds=True, **_GIVEN),
    Spec(name="accuracy", says=_EACH, of=_each_right, **_GIVEN),
    Spec(name="confusion", says=_ONE_ANSWER, of=_same_answer, better="lower", **_GIVEN),
    *coverage_specs(lambda run, one: (PLAIN,), lambda run, one, at: (one.asked, one.outcome)),
)
"""Set accuracy, accuracy and confusion as MediConfusion has them; all over the pairs asked."""
