"""The scores judges gave a reader's open replies, as arrays of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.drafts import Floats, Ints, Mask, defined_mean, joined
from overread.benchmarks.medcmr.components import COMPONENTS, GRIDS, QUESTIONS
from overread.benchmarks.medcmr.marks import Cell, Marks
from overread.benchmarks.medcmr.study import Study

__all__ = ["Scored", "noted_of", "scored"]

# By reader and cell, by judge: the places of items it was asked about, and the raw scores there;
# NaN where it could not be read, or was not asked for one.
_Given: TypeAlias = dict[tuple[str, Cell], dict[str, tuple[Ints, Floats]]]


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a reader's replies in one cell.

    `raw` (items x judges x components) is what each judge gave: NaN where it could not be read or
    the item is not counted; 0 throughout where there is nothing to judge.
    """

    judges: tuple[str, ...]
    raw: Floats
    # Items the reader had to answer; of these, those it did not: no reply, a blank one, a refusal.
    asked: Mask
    silent: Mask
    # Items without a caption have no score of what was seen, and no S.
    captioned: Mask

    @property
    def due(self) -> Mask:
        """Items whose reply should have a verdict."""
        return self.asked & ~self.silent

    @property
    def read(self) -> Mask:
        """Items x judges: whether a verdict could be read."""
        found: Mask = self.due[:, None] & ~np.isnan(self.raw[:, :, 0])
        return found

    def units(
        self, name: str, judges: Sequence[str] | None = None, among: Mask | None = None
    ) -> tuple[Floats, int]:
        """The item's mean over judges in whole numbers, and how many of them make 1.

        Scores are on a grid of halves, and a mean of k of them is a whole number of k-ths: so
        what is equal on paper is equal here. `among` (items x judges) are the scores that count,
        all where it is not given. NaN where no judge could be read.
        """
        chosen = self.judges if judges is None else tuple(judges)
        parts = math.lcm(*range(1, len(chosen) + 1))
        halves, top = self._halves(name, chosen)
        if among is not None:
            halves = np.where(among, halves, np.nan)
        return np.rint(defined_mean(halves) * parts), top * parts

    def gave(self, name: str, judges: Sequence[str]) -> Mask:
        """Items x judges: whether there is such a score, given or 0 by itself."""
        return ~np.isnan(self._halves(name, judges)[0])

    def _halves(self, name: str, judges: Sequence[str]) -> tuple[Floats, int]:
        """Twice the judges' scores, and the highest."""
        places = [self.judges.index(judge) for judge in judges]
        if name == "score":
            # The weights are the components' own scales, so S is the sum of what was given.
            return 2 * self.raw[:, places].sum(axis=2), 20
        return 2 * self.raw[:, places, COMPONENTS.index(name)], 2 * int(GRIDS[name][-1])


def scored(study: Study, marks: Marks, cell: Cell) -> Scored:
    """The scores of a reader in a cell, worked out once."""
    return study.once(("scored", marks.reader, cell), lambda: _scored(study, marks, cell))


def _scored(study: Study, marks: Marks, cell: Cell) -> Scored:
    given = _given(study)
    asked = marks.asked(cell)
    silent = asked & _silent(study, marks, cell)
    captioned = _captioned(study)
    own = given.get((marks.reader, cell), {})
    judges = sorted(own)
    if not judges and silent[asked].all():
        # A silent reader's replies are sent to nobody, and score 0 all the same.
        judges = sorted({judge for found in given.values() for judge in found})
    raw = np.full((marks.facts.n, len(judges), len(COMPONENTS)), np.nan)
    for column, judge in enumerate(judges):
        if judge in own:
            places, scores = own[judge]
            raw[places, column] = scores
    raw[silent] = 0.0
    raw[~asked] = np.nan
    raw[~captioned, :, COMPONENTS.index("visual")] = np.nan
    return Scored(judges=tuple(judges), raw=raw, asked=asked, silent=silent, captioned=captioned)


def _given(study: Study) -> _Given:
    return study.once(("given scores",), lambda: _given_once(study))


def _given_once(study: Study) -> _Given:
    import polars as pl

    found: _Given = {}
    if study.verdicts is None or not study.verdicts.height:
        return found
    judged = pl.col("outcome") == "judged"
    kept = study.verdicts.filter(
        pl.col("question").is_in(QUESTIONS) & (pl.col("variant").fill_null("") == "")
    ).with_columns(
        pl.col("order").fill_null(0),
        *(pl.when(judged).then(pl.col(name)).otherwise(None).alias(name) for name in COMPONENTS),
    )
    parts = kept.partition_by("reader", "form", "image", "order", "judge", as_dict=True)
    for (reader, form, image, order, judge), rows in parts.items():
        scores = rows.select(pl.col(COMPONENTS).cast(pl.Float64).fill_null(np.nan)).to_numpy()
        cell = Cell(str(form), str(image), int(order))
        found.setdefault((str(reader), cell), {})[str(judge)] = (rows["place"].to_numpy(), scores)
    return found


def _silent(study: Study, marks: Marks, cell: Cell) -> Mask:
    """Items with nothing to judge: no reply, a blank one, or a refusal."""
    spoken = study.once(("spoken",), lambda: _spoken(study))
    found = np.ones(study.facts.n, dtype=bool)
    found[spoken.get((marks.reader, cell), [])] = False
    return found


def _spoken(study: Study) -> dict[tuple[str, Cell], Ints]:
    """By reader and cell, the places of items with an open reply in words that is no refusal."""
    import polars as pl

    rows = study.answers.filter(
        pl.col("form").is_in(["open", "reformulated"])
        & pl.col("outcome").is_in(["answered", "unparsed"])
        & (pl.col("text").fill_null("").str.strip_chars() != "")
    ).select("reader", "form", "image", pl.col("order").fill_null(0), "place")
    return {
        (str(reader), Cell(str(form), str(image), int(order))): part["place"].to_numpy()
        for (reader, form, image, order), part in rows.partition_by(
            "reader", "form", "image", "order", as_dict=True
        ).items()
    }


def _captioned(study: Study) -> Mask:
    return study.once(("captioned",), lambda: _captioned_once(study))


def _captioned_once(study: Study) -> Mask:
    import polars as pl

    rows = study.cases.filter(pl.col("caption").fill_null("").str.strip_chars() != "")
    found = np.zeros(study.facts.n, dtype=bool)
    found[rows["place"].to_numpy()] = True
    return found


def noted_of(found: Scored, name: str, judges: Sequence[str]) -> str | None:
    """What counts 0, and what is left out."""
    silent = int((found.asked & found.silent).sum())
    places = [found.judges.index(judge) for judge in judges]
    unread = int((found.due & ~found.read[:, places].any(axis=1)).sum())
    partly = int((found.due[:, None] & ~found.read[:, places]).sum()) - unread * len(places)
    bare = int((found.asked & ~found.captioned).sum()) if name in ("visual", "score") else 0
    return joined(
        f"{silent} refused, blank or missing count 0" if silent else None,
        f"{unread} without a verdict left out" if unread else None,
        f"{partly} verdicts of single judges missing" if partly else None,
        f"{bare} without a caption left out" if bare else None,
    )
