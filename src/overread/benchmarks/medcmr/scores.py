"""What judges make of open replies: four scores, S of them, and S against S (MEDCMR, "Scores")."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from overread.benchmarks.medcmr.study import GROUPS, OPEN, REFORMULATED, Asking, Marks, Study
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, GRIDS, QUESTIONS
from overread.case import Measure
from overread.measuring import estimates, notes
from overread.measuring.contrasts import FLIPS, flip_ps, paired, signs, tested
from overread.measuring.estimates import Estimate, Floats, Ints, Mask, defined_mean
from overread.measuring.specs import OUTCOMES, PLAIN, Codes, Condition, Counted, Spec
from overread.measuring.units import POINTS, Unit

# ---------------------------------------------------------------- scores as arrays

# By reader and asking, by judge: the places of items it was asked about, and the raw scores there;
# NaN where it could not be read, or was not asked for one.
_Given: TypeAlias = dict[tuple[str, Asking], dict[str, tuple[Ints, Floats]]]
# Twice the highest score there is: scores are halves.
_TOPS: Final = {**{name: 2 * int(grid[-1]) for name, grid in GRIDS.items()}, "score": 20}


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a reader's replies to one asking.

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
        halves, top = self.halves(name, chosen)
        if among is not None:
            halves = np.where(among, halves, np.nan)
        return np.rint(defined_mean(halves) * parts), top * parts

    def gave(self, name: str, judges: Sequence[str]) -> Mask:
        """Items x judges: whether there is such a score, given or 0 by itself."""
        return ~np.isnan(self.halves(name, judges)[0])

    def halves(self, name: str, judges: Sequence[str]) -> tuple[Floats, int]:
        """Twice the judges' scores, and the highest."""
        places = [self.judges.index(judge) for judge in judges]
        if name == "score":
            # The weights are the components' own scales, so S is the sum of what was given.
            return 2 * self.raw[:, places].sum(axis=2), _TOPS[name]
        return 2 * self.raw[:, places, COMPONENTS.index(name)], _TOPS[name]


def scored(study: Study, marks: Marks, asking: Asking) -> Scored:
    """The scores of a reader to one asking, worked out once."""
    return study.once(("scored", marks.reader, asking), lambda: _scored(study, marks, asking))


def _scored(study: Study, marks: Marks, asking: Asking) -> Scored:
    given = study.once(("given scores",), lambda: _given(study))
    asked, captioned = marks.asked(asking), study.facts.captioned
    silent = asked.copy()
    if asking in marks.said:
        silent &= ~marks.said[asking].spoke
    own = given.get((marks.reader, asking), {})
    judges = sorted(own)
    if not judges and silent[asked].all():
        # A silent reader's replies are sent to nobody, and score 0 all the same.
        judges = sorted({judge for found in given.values() for judge in found})
    raw = np.full((study.n, len(judges), len(COMPONENTS)), np.nan)
    for column, judge in enumerate(judges):
        if judge in own:
            places, scores = own[judge]
            raw[places, column] = scores
    raw[silent] = 0.0
    raw[~asked] = np.nan
    raw[~captioned, :, COMPONENTS.index("visual")] = np.nan
    return Scored(judges=tuple(judges), raw=raw, asked=asked, silent=silent, captioned=captioned)


def _given(study: Study) -> _Given:
    judged = pl.col("outcome") == "judged"
    found: _Given = {}
    for key, rows in study.verdicts.items():
        plain = pl.col("question").is_in(QUESTIONS) & (pl.col("variant").fill_null("") == "")
        for (judge,), own in rows.filter(plain).partition_by("judge", as_dict=True).items():
            read = (pl.when(judged).then(name).fill_null(np.nan) for name in COMPONENTS)
            scores = own.select(read).to_numpy()
            found.setdefault(key, {})[str(judge)] = own["place"].to_numpy(), scores
    return found


# ---------------------------------------------------------------- means

_SAYS: Final = {
    "clarity": "language clarity, 0 to 1",
    "coherence": "coherence of the reasoning, 0 to 1",
    "visual": "what is said of the image against its caption, 0 to 4 over 4",
    "truth": "reasoning and answer against the true answer, 0 to 4 over 4",
    "score": "S = (clarity + coherence + 4 visual + 4 truth) / 10",
}
_NOT_JUDGED: Final = OUTCOMES.index("not judged")


def asking_of(condition: Condition) -> Asking:
    return Asking(condition.get("kind", "open"), condition.get("condition", "original"))


def _kinds(study: Study, marks: Marks) -> list[Condition]:
    askings = [one for one in (OPEN, REFORMULATED) if marks.asked(one).any()]
    return [{"kind": asking.form} for asking in askings]


def _changed(study: Study, marks: Marks) -> list[Condition]:
    """The images that were asked with in place of the item's own, and judged."""
    askings = [Asking("open", image) for image in marks.changed("open")]
    return [
        {"condition": asking.image}
        for asking in askings
        if marks.asked(asking).any() and scored(study, marks, asking).judges
    ]


def _plainly(marks: Marks) -> list[Condition]:
    return [PLAIN] if marks.asked(OPEN).any() else []


def _judges(study: Study, marks: Marks, condition: Condition) -> tuple[str, ...]:
    return scored(study, marks, asking_of(condition)).judges


def _score(name: str, study: Study, marks: Marks, condition: Condition) -> Counted:
    """A score over its highest, by item and judge; a refusal, a blank reply and none are 0."""
    asking = asking_of(condition)
    found = scored(study, marks, asking)
    halves, top = found.halves(name, found.judges)
    outcome = marks.said[asking].outcome[:, None]
    # A blank reply is none.
    silent = np.where(outcome == OUTCOMES.index("refused"), outcome, OUTCOMES.index("unanswered"))
    why: Codes = np.zeros(halves.shape, dtype=np.int8)
    why = np.where(found.due[:, None] & ~found.read, np.int8(_NOT_JUDGED), why)
    why = np.where((found.asked & found.silent)[:, None], silent, why).astype(np.int8)
    if name not in ("visual", "score"):
        return Counted(halves / top, found.asked, why)
    bare = {"without a caption": found.asked & ~found.captioned}
    return Counted(halves / top, found.asked & found.captioned, why, unfit=bare)


def MEAN_OF_SCORES(record: Measure, counted: Counted, run: Study, unit: Unit) -> Estimate:  # noqa: N802
    """The mean over items of each one's mean over judges.

    Scores are on a grid of halves, and a mean of k of them is a whole number of k-ths: totals of
    whole numbers are exact, so what is equal on paper is equal here, and quicker than those of
    fractions.
    """
    top = _TOPS[record.measure]
    parts = math.lcm(*range(1, counted.table.shape[1] + 1))
    units = np.rint(defined_mean(np.rint(counted.table * top)) * parts)
    return _mean_of_units(record, units, top * parts)


def _mean_of_units(
    record: Measure, units: Floats, one: int, *, limits: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """The mean of whole numbers, `one` of which make 1: items, or items x groups alike."""
    table = units if units.ndim == 2 else units[:, None]
    columns, counted = estimates.columns_of(table), estimates.counted_in(table)

    def again(totals: Floats) -> Floats:
        return estimates.mean_of_columns(totals) / one

    return estimates.estimated(record, columns, again, counted, limits=limits)


SCORES: Final = {
    name: Spec(
        name=name,
        says=says,
        of=partial(_score, name),
        conditions=lambda study, marks: [
            *_plainly(marks),
            *_kinds(study, marks),
            *_changed(study, marks),
        ],
        groups=GROUPS,
        groups_under=("dimension",),
        ungrouped=lambda condition: "kind" in condition,
        bare_groups=False,
        estimate=MEAN_OF_SCORES,
        judges=_judges,
        questions=(name,),
        each_judge=lambda condition: "condition" not in condition,
        # By which readers are compared; `SCORE_BY_CASE` has the values.
        by_case=name == "score",
    )
    for name, says in _SAYS.items()
}


def _common_score(study: Study, marks: Marks, condition: Condition) -> Counted:
    """S of an open answer, the mean of the judges that all readers have in common."""
    found = {one.reader: scored(study, one, OPEN) for one in _judged(study)}
    common = sorted(set.intersection(*(set(one.judges) for one in found.values())))
    units, one = found[marks.reader].units("score", common)
    return Counted(units / one, found[marks.reader].asked)


def _judged(study: Study) -> list[Marks]:
    asked = [one for one in study.marks if one.asked(OPEN).any()]
    return [one for one in asked if scored(study, one, OPEN).judges]


SCORE_BY_CASE: Final = Spec(
    name="score",
    says="S by the judges that all models have in common",
    of=_common_score,
    conditions=lambda study, marks: (PLAIN,) if marks in _judged(study) else (),
    by_case=True,
)


def _macro(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    groups = [one.members for one in study.grouping("dimension")]
    for condition in (*_plainly(marks), *_changed(study, marks)):
        found = scored(study, marks, asking_of(condition))
        if not found.judges or not (study.facts.of("open") & np.any(groups, axis=0)).any():
            continue
        units, one = found.units("score")
        table = np.stack([np.where(members, units, np.nan) for members in groups], axis=1)
        table = table[:, (~np.isnan(table)).any(axis=0)]
        by, label = dict(condition), study.label(found.judges, "score")
        record = Measure(reader=marks.reader, measure="score_macro", by=by, label=label)
        told = notes.remarked(record, f"mean over {table.shape[1]} dimensions")
        yield _mean_of_units(told, table, one)


def _verdict_read(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Of replies x judges, those with a verdict that could be read."""
    found = scored(study, marks, asking_of(condition))
    return Counted(found.read.astype(float), found.due)


SCORE_SPECS: Final = (
    *SCORES.values(),
    Spec(name="score_macro", says="mean of the dimensions' S, each dimension alike", make=_macro),
    Spec(
        name="judged_rate",
        says="share of replies to be judged whose verdict could be read, over all judges",
        of=_verdict_read,
        conditions=_kinds,
        judges=_judges,
    ),
)


# ---------------------------------------------------------------- paired differences
# S of one reader against another's, and without the image against with it, paired by item.


class _Pair(NamedTuple):
    """A record, and its items' scores on both sides in whole numbers, `one` of which make 1."""

    record: Measure
    family: str
    form: str
    first: Floats
    second: Floats
    one: int

    @property
    def units(self) -> Floats:
        return self.first - self.second


def score_comparisons(study: Study) -> Iterator[Estimate | Measure]:
    """`diff_score` of every pair of readers, and of every condition less the original.

    The mean over items of S of the one less S of the other, by the judges both have on an item, on
    items that count for both, with its interval and test (`contrasts.paired`). As published, P is
    of seeded sign flips, the items of one cluster together.
    """
    pairs: list[_Pair] = []
    for one, two in combinations(study.marks, 2):
        for asking, kind in ((OPEN, {}), (REFORMULATED, {"kind": "reformulated"})):
            family = " ".join(("diff_score", *kind.values()))
            by = {**kind, "versus": two.reader}
            pairs += _pair(study, (one, asking), (two, asking), by, family)
    for marks in study.marks:
        for image in marks.changed("open"):
            by = {"condition": image, "versus": "original"}
            sides = (marks, Asking("open", image)), (marks, OPEN)
            found = list(_pair(study, *sides, by, f"diff_score {image}"))
            if found and marks.reader in study.unseeing:
                yield notes.unseen(marks.reader, "diff_score", by)
            else:
                pairs += found
    if study.robust:
        for pair in pairs:
            ours, others = pair.first / pair.one, pair.second / pair.one
            yield paired(pair.record, ours, others, study.clusters, family=pair.family)
        return
    for pair, p in zip(pairs, _tests(study, pairs), strict=True):
        made = _mean_of_units(pair.record, pair.units, pair.one, limits=POINTS.limits)
        if made.record.value is not None:
            # One more item can move a difference from one end to the other.
            made = replace(made, step=1 + abs(made.record.value))
        yield tested(made, p, pair.family)


def _pair(
    study: Study,
    first: tuple[Marks, Asking],
    second: tuple[Marks, Asking],
    by: dict[str, str],
    family: str,
) -> Iterator[_Pair]:
    """The items' differences; nothing where the two were not asked, or judged, alike."""
    if not all(marks.asked(asking).any() for marks, asking in (first, second)):
        return
    here, there = scored(study, *first), scored(study, *second)
    judges = tuple(judge for judge in here.judges if judge in there.judges)
    if not judges:
        return
    mine, theirs = (side.gave("score", judges) for side in (here, there))
    # Where a judge could not be read on one side, a kinder one must not count alone there.
    both = mine & theirs
    (ours, one), (other, _) = (side.units("score", judges, both) for side in (here, there))
    lost = np.isnan(ours) | np.isnan(other)
    asked = here.asked & there.asked & here.captioned
    single = int(((mine ^ theirs) & both.any(axis=1, keepdims=True)).sum())
    label = study.label(judges, "score")
    record = Measure(reader=first[0].reader, measure="diff_score", by=by, label=label)
    record = notes.leaving_out(record, {"not judged in both": int((asked & lost).sum())})
    if single:
        record = notes.remarked(record, f"{single} verdicts on one of both left out")
    if not study.robust and not lost.all():
        record = notes.remarked(record, f"p of {FLIPS} sign flips")
    yield _Pair(record, family, first[1].form, ours, other, one)


def _tests(study: Study, pairs: Sequence[_Pair]) -> list[float | None]:
    """The p of each pair; None where nothing is counted.

    Coins are tossed for the clusters asked about, so a pair's p does not depend on other pairs.
    """
    found: dict[int, float] = {}
    for asking in (OPEN, REFORMULATED):
        chosen = [at for at, pair in enumerate(pairs) if pair.form == asking.form]
        if not chosen:
            continue
        asked = np.any([marks.asked(asking) for marks in study.marks], axis=0)
        _, codes = np.unique(study.clusters[asked], return_inverse=True)
        units = [np.nan_to_num(pairs[at].units[asked]) for at in chosen]
        sums = np.stack([np.bincount(codes, weights=one).astype(float) for one in units], axis=1)
        coins = signs(len(sums), FLIPS, study.edition.seed)
        found |= dict(zip(chosen, flip_ps(sums, coins), strict=True))
    return [None if np.isnan(pair.units).all() else found[at] for at, pair in enumerate(pairs)]
