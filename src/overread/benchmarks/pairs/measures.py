"""What is measured of pairs: both right, one right, and the same answer to both pictures."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.base import Tables
from overread.measuring.arrays import RunArrays, linked_clusters
from overread.measuring.estimates import Ints, Mask, Resampling
from overread.measuring.specs import OUTCOMES, READERS, Codes, Condition, Counted, Spec

__all__ = ["SPECS", "PairAnswers", "pair_arrays"]

_NOT_ASKED: Final = OUTCOMES.index("not asked")


class PairAnswers(msgspec.Struct, frozen=True):
    """What one reader said of both pictures: pairs x 2.

    `choice` is the place of the option it named in the pair's own order, -1 without one; `outcome`
    a place among OUTCOMES.
    """

    reader: str
    choice: Ints
    outcome: Codes
    truth: Ints

    @property
    def right(self) -> Mask:
        found: Mask = (self.choice >= 0) & (self.choice == self.truth)
        return found

    @property
    def asked(self) -> Mask:
        found: Mask = (self.outcome != _NOT_ASKED).all(axis=1)
        return found

    @property
    def worse(self) -> Codes:
        """What became of a pair: of the picture that came off worse."""
        found: Codes = self.outcome.max(axis=1)
        return found


def pair_arrays(tables: Tables, boot: int, seed: int) -> tuple[RunArrays, list[PairAnswers]]:
    """The run as arrays. Pairs that share a picture or a patient are one cluster."""
    cases = tables.cases.sort("case").with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    # An image and a patient of one name are two things.
    ties = pl.concat(
        cases.select("place", owner=pl.col(column))
        .explode("owner")
        .with_columns(owner=pl.lit(column) + pl.col("owner"))
        for column in ("images", "patients")
    )
    clusters = linked_clusters(ties, cases.height)
    run = RunArrays(
        cases["case"].to_list(),
        clusters,
        tables.readers,
        Resampling(clusters, boot=boot, seed=seed, of="pairs"),
        columns={"group": cases["group"].fill_null("").to_numpy().astype(np.str_)},
    )
    truth: Ints = np.array(cases["answers"].to_list(), dtype=np.int64).reshape(-1, 2)
    rows = tables.answers.join(cases.select("case", "place"), on="case")
    return run, [_said(reader, rows.filter(reader=reader), truth) for reader in run.readers]


def _said(reader: str, rows: pl.DataFrame, truth: Ints) -> PairAnswers:
    choice: Ints = np.full(truth.shape, -1, dtype=np.int64)
    outcome: Codes = np.full(truth.shape, _NOT_ASKED, dtype=np.int8)
    at = rows["place"].to_numpy(), rows["picture"].to_numpy() - 1
    choice[at] = rows["choice"].fill_null(-1).to_numpy()
    codes = {word: code for code, word in enumerate(OUTCOMES)}
    outcome[at] = rows["outcome"].replace_strict(codes, return_dtype=pl.Int8).to_numpy()
    return PairAnswers(reader, choice, outcome, truth)


def _both_right(run: RunArrays, one: PairAnswers, condition: Condition) -> Counted:
    value = one.right.all(axis=1).astype(float)
    return Counted(value, one.asked, one.worse, wrong=True)


def _each_right(run: RunArrays, one: PairAnswers, condition: Condition) -> Counted:
    return Counted(one.right.astype(float), one.asked, one.worse, wrong=True)


def _same_answer(run: RunArrays, one: PairAnswers, condition: Condition) -> Counted:
    same = (one.choice[:, 0] == one.choice[:, 1]).astype(float)
    return Counted(np.where((one.choice >= 0).all(axis=1), same, np.nan), one.asked, one.worse)


def _outcome(word: str, says: str, better: Literal["higher", "lower"] = "lower") -> Spec:
    def of(run: RunArrays, one: PairAnswers, condition: Condition) -> Counted:
        return Counted((one.outcome == OUTCOMES.index(word)).astype(float), one.asked)

    return Spec(name=word, says=says, of=of, better=better)


SPECS: Final = (
    Spec(
        name="set_accuracy",
        says="share of pairs of which both pictures are answered rightly; whoever does not look "
        "gets at most a quarter",
        of=_both_right,
        groups=("group",),
        contrasts=(READERS,),
        bounds=True,
        by_case=True,
    ),
    Spec(
        name="accuracy",
        says="share of pictures answered rightly, each by itself",
        of=_each_right,
        groups=("group",),
        contrasts=(READERS,),
        by_case=True,
    ),
    Spec(
        name="confusion",
        says="share of pairs answered for both pictures that get the same answer to both",
        of=_same_answer,
        groups=("group",),
        contrasts=(READERS,),
        better="lower",
        by_case=True,
    ),
    _outcome(
        "answered", "share of pictures asked about with an answer that could be read", "higher"
    ),
    _outcome("unparsed", "share of pictures asked about whose reply names no option"),
    _outcome("refused", "share of pictures asked about whose reply is a refusal"),
    _outcome("unanswered", "share of pictures asked about without a reply"),
)
"""Set accuracy, accuracy and confusion as MediConfusion has them; all over the pairs asked."""
