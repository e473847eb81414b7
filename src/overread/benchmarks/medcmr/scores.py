"""What judges make of open replies: four scores, S of them, and S against S (MEDCMR, "Scores")."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Floats,
    Ints,
    Mask,
    columns_of,
    counted_in,
    defined_mean,
    drafted,
    joined,
    panel,
    unseen,
)
from overread.benchmarks.flips import FLIPS, flip_ps, signs
from overread.benchmarks.medcmr.marks import OPEN, REFORMULATED, Cell, Marks
from overread.benchmarks.medcmr.study import Metric, Study
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, GRIDS, QUESTIONS
from overread.case import Measure

__all__ = [
    "CONDITIONS",
    "SCORES",
    "SCORE_METRICS",
    "Scored",
    "combined",
    "mean_of",
    "noted_of",
    "score_comparisons",
    "scored",
]


# ---------------------------------------------------------------- scores as arrays
# The scores judges gave a reader's open replies, as arrays of whole numbers.

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


# ---------------------------------------------------------------- means
# What judges make of open replies: four scores, and S of them (MEDCMR, "Scores").

SCORES: Final = (*COMPONENTS, "score")
CONDITIONS: Final = ("blank", "swap", "text")


def combined(clarity: float, coherence: float, visual: float, truth: float) -> float:
    """S = (con + coh + 4 vis + 4 gt) / 10 of components that all run from 0 to 1, or to 100.

    >>> round(combined(97.77, 88.86, 40.45, 34.65), 2)
    48.7
    """
    return (clarity + coherence + 4 * visual + 4 * truth) / 10


def _kinds(marks: Marks) -> Iterator[tuple[str, Cell]]:
    for kind, cell in (("open", OPEN), ("reformulated", REFORMULATED)):
        if cell in marks.said and marks.asked(cell).any():
            yield kind, cell


def _making(name: str) -> Metric:
    def make(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
        yield from _records(marks, study, name)

    says = {
        "clarity": "language clarity, 0 to 1",
        "coherence": "coherence of the reasoning, 0 to 1",
        "visual": "what is said of the image against its caption, 0 to 4 over 4",
        "truth": "reasoning and answer against the true answer, 0 to 4 over 4",
        "score": "S = (clarity + coherence + 4 visual + 4 truth) / 10",
    }
    return Metric(name=name, says=says[name], make=make)


def _records(marks: Marks, study: Study, name: str) -> Iterator[Draft | Measure]:
    for kind, cell in _kinds(marks):
        found = scored(study, marks, cell)
        started = Measure(reader=marks.reader, measure=name, by={"kind": kind})
        if not found.judges:
            for by in ({}, started.by) if kind == "open" else (started.by,):
                yield msgspec.structs.replace(started, by=by, n=0, note="not judged")
            continue
        started = msgspec.structs.replace(started, label=study.label(found.judges, name))
        note = noted_of(found, name, found.judges)
        units, one = found.units(name)
        if kind == "open":
            for by, members in study.groups("open"):
                some = np.where(members, units, np.nan)
                if not by or not np.isnan(some).all():
                    record = msgspec.structs.replace(started, by=by, note=None if by else note)
                    yield mean_of(record, some, one)
        yield mean_of(msgspec.structs.replace(started, note=note), units, one)
        for judge in found.judges:
            record = msgspec.structs.replace(
                started, note=noted_of(found, name, [judge]), label=study.label([judge], name)
            )
            for more in ({}, {"kind": kind}) if kind == "open" else ({"kind": kind},):
                by = {**more, "judge": judge}
                yield mean_of(msgspec.structs.replace(record, by=by), *found.units(name, [judge]))
    for condition, found in _conditions(marks, study):
        record = Measure(
            reader=marks.reader,
            measure=name,
            by={"condition": condition},
            label=study.label(found.judges, name),
        )
        units, one = found.units(name)
        for by, members in study.groups("open", "dimension"):
            some = np.where(members, units, np.nan)
            if not by or not np.isnan(some).all():
                note = None if by else noted_of(found, name, found.judges)
                made = msgspec.structs.replace(record, by={**record.by, **by}, note=note)
                yield mean_of(made, some, one)


def _conditions(marks: Marks, study: Study) -> Iterator[tuple[str, Scored]]:
    """The conditions that were asked and judged."""
    for condition in CONDITIONS:
        cell = Cell("open", condition)
        if cell in marks.said and marks.asked(cell).any():
            found = scored(study, marks, cell)
            if found.judges:
                yield condition, found


def mean_of(
    record: Measure, units: Floats, one: int, *, limits: tuple[float, float] = (0.0, 1.0)
) -> Draft:
    """The mean of whole numbers, `one` of which make 1: items, or items x groups alike.

    Totals of whole numbers are exact, and quicker than those of fractions.
    """
    table = units if units.ndim == 2 else units[:, None]

    def again(totals: Floats) -> Floats:
        return panel(totals) / one

    return drafted(record, columns_of(table), again, counted_in(table), limits=limits)


def _macro(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    cells: list[tuple[dict[str, str], Scored]]
    cells = [({}, scored(study, marks, cell)) for kind, cell in _kinds(marks) if kind == "open"]
    cells += [({"condition": name}, found) for name, found in _conditions(marks, study)]
    groups = [one.members for one in study.groups("open", "dimension") if one.by]
    for by, found in cells:
        if not found.judges or not groups:
            continue
        units, one = found.units("score")
        table = np.stack([np.where(members, units, np.nan) for members in groups], axis=1)
        there = int((~np.isnan(table)).any(axis=0).sum())
        record = Measure(
            reader=marks.reader,
            measure="score_macro",
            by=by,
            label=study.label(found.judges, "score"),
            note=joined(f"mean over {there} dimensions", noted_of(found, "score", found.judges)),
        )
        yield mean_of(record, table, one)


def _judged_rate(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of replies x judges, the share with a verdict that could be read."""
    for kind, cell in _kinds(marks):
        found = scored(study, marks, cell)
        started = Measure(reader=marks.reader, measure="judged_rate", by={"kind": kind})
        due, clusters = found.due, study.facts.clusters[found.due]
        if not found.judges:
            yield msgspec.structs.replace(started, n=int(due.sum()), note="not judged")
            continue
        read = found.read[due]
        yield study.share_of(started, read.T.ravel(), np.tile(clusters, len(found.judges)))
        for column, judge in enumerate(found.judges):
            record = msgspec.structs.replace(started, by={"kind": kind, "judge": judge})
            yield study.share_of(record, read[:, column], clusters)


SCORE_METRICS: Final = (
    *(_making(name) for name in SCORES),
    Metric(name="score_macro", says="mean of the dimensions' S, each dimension alike", make=_macro),
    Metric(
        name="judged_rate",
        says="share of replies to be judged whose verdict could be read, over all judges",
        make=_judged_rate,
    ),
)


# ---------------------------------------------------------------- paired differences
# S of one reader against another's, and without the image against with it, paired by item.


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
