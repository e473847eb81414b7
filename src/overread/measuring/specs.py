"""What a benchmark declares of its measures, and the numbers that follow from it.

A `Spec` names a measure, says what it means and what it is counted in, and gives for a reader and a
condition what it says of every case. Values, groups, intervals, what was left out, worst cases,
differences between readers and conditions, tests, values by case for `compare`, the gate's limits
and the law tests follow from that.

    SPECS = (
        Spec(
            name="accuracy",
            says="share of questions answered rightly",
            of=lambda run, reader, condition: Counted(
                value=np.where(reader.read, reader.right, np.nan),
                population=run.everyone,
                why=reader.outcome,
            ),
            groups=("finding", "view"),
            contrasts=(READERS,),
        ),
    )
    records = measure(run, SPECS)

Measures that no table of values by case holds (AUROC, skill, path consistency) have `make` in place
of `of`: a function of run and reader that yields estimates over the same resampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.case import Measure, Method, Pooled
from overread.measuring.arrays import RunArrays, ordered_pairs
from overread.measuring.contrasts import exact_p, paired, paired_difference, tested, with_q
from overread.measuring.estimates import (
    Estimate,
    Floats,
    Mask,
    clustered_share,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    mean_of_rows,
)
from overread.measuring.notes import (
    NO_PICTURE,
    NOT_ASKED,
    NOT_JUDGED,
    ONE_CLUSTER,
    counted_as_wrong,
    leaving_out,
    noted,
    remarked,
    with_method,
)
from overread.measuring.units import POINTS, SHARE, Unit

if TYPE_CHECKING:
    import polars as pl

    from overread.stats import PooledGroups

Codes: TypeAlias = NDArray[np.int8]
Condition: TypeAlias = Mapping[str, str]
OUTCOMES: Final = ("answered", "unparsed", "refused", "unanswered", "not asked", "not judged")
"""What became of a case: places among these are the codes of `Counted.why`."""
_NO_ANSWER: Final = frozenset({"unparsed", "refused"})
PLAIN: Final[Condition] = {}


class Counted(NamedTuple):
    """What one measure says of every case of one reader under one condition, before averaging.

    `value` (cases,) or (cases, m) for m judges, seeds or draws, (cases, m, parts) where a number is
    made of several (a difference, a harmonic mean); NaN does not decide. `population`
    is whom the number is about, `why` what became of each case (a place among OUTCOMES), or of each
    at each judge (cases, m). `wrong` says that whoever has no answer counts as wrong, and is not
    left out; without it those count as wrong that have a value all the same. `unfit` are cases
    that would belong to the population but for what they were shown, by what is wrong with that;
    `remark` is for people, and of all the cases only.
    """

    value: Floats
    population: Mask
    why: Codes | None = None
    wrong: bool = False
    unfit: Mapping[str, Mask] = MappingProxyType({})
    remark: str = ""

    @property
    def table(self) -> Floats:
        """The values as cases x m (x parts), NaN outside the population."""
        wide = self.value if self.value.ndim > 1 else self.value[:, None]
        inside = self.population.reshape(-1, *[1] * (wide.ndim - 1))
        return np.where(inside, wide, np.nan)

    def within(self, members: Mask) -> Counted:
        """The same of some of the cases."""
        return self._replace(
            population=self.population & members,
            unfit={why: cases & members for why, cases in self.unfit.items()},
            remark=self.remark if members.all() else "",
        )

    def by_judge(self, column: int) -> Counted:
        """The same by one judge alone."""
        why = self.why if self.why is None or self.why.ndim == 1 else self.why[:, [column]]
        return self._replace(value=self.value[:, [column]], why=why)


class SpokenFor(Protocol):
    """What a benchmark knows of one reader's answers: a name, and whatever its specs ask for."""

    @property
    def reader(self) -> str: ...


Estimator: TypeAlias = Callable[[Measure, Counted, Any, Unit], Estimate | Measure]


def SHARE_OF(record: Measure, counted: Counted, run: RunArrays, unit: Unit) -> Measure:  # noqa: N802
    """The share of 0/1 values that are 1, every column's: Wilson's interval, design effect by
    cluster."""
    table = counted.table
    there = ~np.isnan(table)
    # Column by column, so that one column alone is summed as it is among others.
    clusters = np.broadcast_to(run.clusters[:, None], table.shape).T[there.T]
    return clustered_share(record, table.T[there.T] == 1, clusters, robust=run.robust)


def MEAN_OF_JUDGES(record: Measure, counted: Counted, run: RunArrays, unit: Unit) -> Estimate:  # noqa: N802
    """The mean over judges (or seeds) of each one's mean over cases; cases are resampled."""
    table = counted.table
    made = estimated(
        record, columns_of(table), mean_of_columns, counted_in(table), limits=unit.limits
    )
    binary = table.shape[1] == 1 and bool(np.isin(table[~np.isnan(table)], (0.0, 1.0)).all())
    if not binary:
        return made
    record = msgspec.structs.replace(made.record, k=int(np.nansum(table)))
    return msgspec.structs.replace(made, record=record)


def MEAN_OF_CASES(record: Measure, counted: Counted, run: RunArrays, unit: Unit) -> Estimate:  # noqa: N802
    """The mean over cases of each one's mean over judges (or seeds); cases are resampled."""
    table = mean_of_rows(counted.table)
    return estimated(
        record, columns_of(table), mean_of_columns, counted_in(table), limits=unit.limits
    )


class Against(msgspec.Struct, frozen=True):
    """A paired contrast: between `readers`, or of each condition with the one where `key` is
    `value`. `plainly` is of readers under the condition without keys alone."""

    key: str = ""
    value: str = ""
    plainly: bool = False


READERS: Final = Against()
READERS_PLAINLY: Final = Against(plainly=True)


def against(**condition: str) -> Against:
    """Each condition less the one that is like it but for this key: `against(image="original")`."""
    ((key, value),) = condition.items()
    return Against(key, value)


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """One measure: what it is called, says and is counted in; and how it is got.

    `of` says what it says of each case, under each of `conditions` (the plain one without keys);
    `groups` are columns of the cases it is given by, under the plain condition and, of those in
    `groups_under`, under the others; the numbers of many groups are pooled (`with_pooled`).
    `bounds` asks for the worst cases too. `sees` says that the measure is about the picture, so
    that who gets none has no value. `by_case` puts it among what `compare` compares, `better` says
    which way. `make` stands in place of `of` where a measure is none of values by case; `groups`
    are then those it gives.

    Of what is judged, `judges` names the columns of `of` (none where nobody judged, None where
    nothing was asked for) and `questions` says what they were asked: what they are worth there
    stands beside the number, which is also given by each judge under the conditions of
    `each_judge`. `plain` says which conditions are given by `groups`, if not that without keys,
    `ungrouped` which are given by no group; `bare_groups` whether groups are told of in which
    nothing is counted, `empty_groups` even those in which nobody is.
    """

    name: str
    says: str
    unit: Unit = SHARE
    better: Literal["higher", "lower"] | None = "higher"
    of: Callable[[Any, Any, Condition], Counted] | None = None
    make: Callable[[Any, Any], Iterator[Estimate | Measure]] | None = None
    conditions: Callable[[Any, Any], Iterable[Condition]] = lambda run, reader: (PLAIN,)
    groups: tuple[str, ...] = ()
    groups_under: tuple[str, ...] = ()
    estimate: Estimator = SHARE_OF
    contrasts: tuple[Against, ...] = ()
    bounds: bool = False
    sees: bool = False
    by_case: bool = False
    judges: Callable[[Any, Any, Condition], Sequence[str] | None] | None = None
    questions: tuple[str, ...] = ()
    each_judge: Callable[[Condition], bool] = lambda condition: True
    plain: Callable[[Condition], bool] = lambda condition: not condition
    ungrouped: Callable[[Condition], bool] = lambda condition: False
    bare_groups: bool = True
    empty_groups: bool = False


# ---------------------------------------------------------------- numbers


def measure(run: RunArrays, readers: Sequence[SpokenFor], specs: Sequence[Spec]) -> list[Measure]:
    """Every measure of every reader, then their differences; q within each family."""
    made = (one for reader in readers for spec in specs for one in made_by(run, reader, spec))
    records = run.finish(made)
    for spec in specs:
        records += run.finish(contrasts_of(run, readers, spec))
    return with_q(records)


def made_by(run: RunArrays, reader: SpokenFor, spec: Spec) -> Iterator[Estimate | Measure]:
    """The numbers of one measure of one reader, by condition and group."""
    if spec.make is not None:
        yield from spec.make(run, reader)
        return
    for condition in spec.conditions(run, reader):
        started = Measure(reader=reader.reader, measure=spec.name, by={**condition})
        judges = () if spec.judges is None else spec.judges(run, reader, condition)
        if spec.judges is not None and not judges:
            why = NOT_ASKED if judges is None else NOT_JUDGED
            yield noted(msgspec.structs.replace(started, n=0), why)
            continue
        counted = counted_once(run, reader, spec, condition)
        label = run.label(judges or (), *spec.questions)
        for group in run.groups(*_groups_under(spec, condition)):
            some = counted.within(group.members)
            if group.by and not _told_of(some, spec):
                continue
            record = msgspec.structs.replace(started, by={**condition, **group.by}, label=label)
            if spec.sees and reader.reader in run.unseeing:
                yield noted(msgspec.structs.replace(record, n=0), NO_PICTURE)
                continue
            yield estimate_of(record, some, run, spec)
            if spec.bounds and not group.by:
                yield from worst_cases(record, some)
        for column, judge in enumerate(judges or ()) if spec.each_judge(condition) else ():
            own = run.label([judge], *spec.questions)
            record = msgspec.structs.replace(started, by={**condition, "judge": judge}, label=own)
            yield estimate_of(record, counted.by_judge(column), run, spec)


def _groups_under(spec: Spec, condition: Condition) -> tuple[str, ...]:
    if spec.plain(condition):
        return spec.groups
    return () if spec.ungrouped(condition) else spec.groups_under


def _told_of(counted: Counted, spec: Spec) -> bool:
    """Whether a group has anybody in it, or where that is asked for, anything to count."""
    if spec.empty_groups:
        return True
    if spec.bare_groups:
        return bool(counted.population.any())
    table = counted.table
    there = ~np.isnan(table if table.ndim == 3 else table[:, :, None])
    return bool(there.any(axis=(0, 1)).all())


def counted_once(run: RunArrays, reader: SpokenFor, spec: Spec, condition: Condition) -> Counted:
    """What a measure says of the cases of a reader, worked out once where readers are compared by
    it, or conditions: what is looked at once need not be kept for all readers."""
    assert spec.of is not None
    if not (spec.contrasts or spec.by_case):
        return spec.of(run, reader, condition)
    of, key = spec.of, ("counted", spec.name, reader.reader, tuple(condition.items()))
    return run.once(key, lambda: of(run, reader, condition))


def estimate_of(
    record: Measure, counted: Counted, run: RunArrays, spec: Spec
) -> Estimate | Measure:
    """A record with its value, n and interval, and who is not in it or counts as wrong."""
    decided = ~np.isnan(counted.table[counted.population]) | counted.wrong
    out, wrong = (_without_answer(counted, some) for some in (~decided, decided))
    out |= {why: int(cases.sum()) for why, cases in counted.unfit.items()}
    said = remarked(counted_as_wrong(leaving_out(record, out), wrong), counted.remark)
    return spec.estimate(said, counted, run, spec.unit)


def left_out_of(counted: Counted) -> dict[str, int]:
    """How many of the population have no answer, by what became of them."""
    return _without_answer(counted, np.ones((int(counted.population.sum()), 1), dtype=bool))


def _without_answer(counted: Counted, among: Mask) -> dict[str, int]:
    """Cases of the population without an answer, by what became of them, at any of these judges."""
    if counted.why is None:
        return {}
    why = counted.why[counted.population]
    if why.ndim == 1 or why.shape[1] == 1:
        some = why.reshape(-1)[among[:, 0] if among.shape[1] == 1 else among.any(axis=1)]
        counts = np.bincount(some, minlength=len(OUTCOMES)).tolist()
    else:
        counts = [((why == code) & among).any(axis=1).sum() for code in range(len(OUTCOMES))]
    return {word: int(n) for word, n in list(zip(OUTCOMES, counts, strict=True))[1:] if n}


def worst_cases(record: Measure, counted: Counted) -> Iterator[Measure]:
    """The rate if every reply without an answer were a miss (`low`), and if it were a hit.

    Unparsed and refused replies are meant. What was never answered says nothing of the reader.
    """
    table = counted.table
    n, k = int((~np.isnan(table)).sum()), int((table == 1).sum())
    lost = sum(m for word, m in left_out_of(counted).items() if word in _NO_ANSWER)
    # Whoever counts as wrong without an answer is among the n already.
    n = n - lost if counted.wrong else n
    if not n + lost:
        return
    for bound, hits, what in (("low", k, "misses"), ("high", k + lost, "hits")):
        bounded = msgspec.structs.replace(
            record, by={**record.by, "bound": bound}, value=hits / (n + lost), n=n + lost, k=hits
        )
        said = remarked(bounded, f"{lost} replies without an answer counted as {what}")
        yield with_method(said, Method(kind="worst case"))


# ---------------------------------------------------------------- differences


def contrasts_of(
    run: RunArrays, readers: Sequence[SpokenFor], spec: Spec
) -> Iterator[Estimate | Measure]:
    """The paired differences that a measure declares, each with its test and family."""
    for contrast in spec.contrasts:
        if contrast.key:
            for reader in readers:
                yield from _conditions_apart(run, reader, spec, contrast)
        else:
            for one, two in ordered_pairs(readers):
                yield from _readers_apart(run, one, two, spec, contrast)


def _readers_apart(
    run: RunArrays, one: SpokenFor, two: SpokenFor, spec: Spec, contrast: Against
) -> Iterator[Estimate | Measure]:
    theirs = [dict(condition) for condition in spec.conditions(run, two)]
    for condition in spec.conditions(run, one):
        if dict(condition) not in theirs or (contrast.plainly and condition):
            continue
        record = Measure(
            reader=one.reader,
            measure=f"diff_{spec.name}",
            by={**condition, "versus": two.reader},
        )
        both = [counted_once(run, reader, spec, condition) for reader in (one, two)]
        which = " ".join(condition.values())
        family = f"diff_{spec.name} {which}".strip()
        yield difference_of(run, record, both, spec, family, (one.reader, two.reader))


def _conditions_apart(
    run: RunArrays, reader: SpokenFor, spec: Spec, contrast: Against
) -> Iterator[Estimate | Measure]:
    known = [dict(condition) for condition in spec.conditions(run, reader)]
    for condition in known:
        here = condition.get(contrast.key, contrast.value)
        plain = {key: value for key, value in condition.items() if key != contrast.key}
        usual = next(
            (c for c in (plain, plain | {contrast.key: contrast.value}) if c in known), None
        )
        if here == contrast.value or usual is None:
            continue
        by = {**condition, "versus": contrast.value}
        record = Measure(reader=reader.reader, measure=f"diff_{spec.name}", by=by)
        if reader.reader in run.unseeing:
            yield noted(msgspec.structs.replace(record, n=0), NO_PICTURE)
            continue
        both = [counted_once(run, reader, spec, at) for at in (condition, usual)]
        family = f"diff_{spec.name} by {contrast.key}"
        yield difference_of(run, record, both, spec, family, (here, contrast.value))


def difference_of(
    run: RunArrays,
    record: Measure,
    both: Sequence[Counted],
    spec: Spec,
    family: str,
    sides: Sequence[str],
) -> Estimate | Measure:
    """First less second over the cases that both count, each case by its mean over judges.

    `sides` are what the two are called, where it is said who of either counts as wrong.
    """
    first, second = (mean_of_rows(counted.table)[:, 0] for counted in both)
    members: Mask = ~(np.isnan(first) | np.isnan(second))
    each = np.where(members, first - second, 0.0)
    limits = (-spec.unit.high, spec.unit.high) if spec.unit.of_shares else (-np.inf, np.inf)
    for side, counted in zip(sides, both, strict=True):
        told = counted_as_wrong(Measure(reader="", measure=""), left_out_of(counted)).note
        record = remarked(record, f"{side}: {told}" if counted.wrong and told else None)
    if run.robust:
        return paired(record, first, second, run.clusters, limits=limits, family=family)
    made = paired_difference(record, each, members, limits=limits)
    if made.record.value is None:
        return made
    one, two = (float(some[members].mean()) for some in (first, second))
    made = msgspec.structs.replace(
        made, record=msgspec.structs.replace(made.record, beside=(one, two))
    )
    # One more case can move a difference of shares from one end to the other.
    step = 1 + abs(made.record.value or 0.0) if spec.unit.of_shares else None
    made = msgspec.structs.replace(made, step=step)
    return tested(made, paired_p(run, each, members), family)


def paired_p(run: RunArrays, each: Floats, members: Mask) -> float | None:
    """The p of each case's difference, 0 outside `members`: exact where all are whole numbers."""
    from overread.measuring.contrasts import FLIPS, cluster_sums, flip_ps, signs

    if not members.any():
        return None
    whole = np.rint(each)
    if (whole == each).all():
        return exact_p(whole[members].astype(np.int64), run.clusters[members])
    sums = cluster_sums(each, run.clusters)[:, None]
    if run.resampling.by_content:
        sums = sums[np.lexsort((sums[:, 0], np.abs(sums[:, 0])))]
    coins = run.once(("coins", FLIPS), lambda: signs(len(sums), FLIPS, run.resampling.seed))
    return flip_ps(sums, coins)[0]


# ---------------------------------------------------------------- many groups


def with_pooled(records: Sequence[Measure], specs: Iterable[Spec]) -> list[Measure]:
    """The records, those by a group that their spec declares with their pooled value.

    The groups of one reader, measure, condition and column are drawn together, so that another
    reader changes nothing; those of two columns joined by a slash are all groups of one kind.
    Readers' names are empty where a record is about all of them: that is nobody's group.
    """
    from overread.stats import pooled_groups

    declared = {spec.name: spec for spec in specs if spec.groups or spec.groups_under}
    together: dict[tuple[object, ...], list[int]] = {}
    for place, record in enumerate(records):
        spec = declared.get(record.measure)
        if spec is None or not record.reader or not record.by or record.value is None:
            continue
        keys = grouping_of(record, spec)
        if keys:
            rest = tuple(pair for pair in record.by.items() if pair[0] not in keys)
            together.setdefault((record.reader, spec.name, keys, rest), []).append(place)
    made = list(records)
    for (_, name, *_), places in together.items():
        some, unit = [records[place] for place in places], declared[str(name)].unit
        found = pooled_groups(
            np.array([record.value for record in some], dtype=float),
            [_variance(record) for record in some],
            [_cases(record) for record in some],
            (unit.low, unit.high),
        )
        if found is not None:
            for at, place in enumerate(places):
                made[place] = msgspec.structs.replace(made[place], pooled=_of_group(found, at))
    return made


def grouping_of(record: Measure, spec: Spec) -> frozenset[str]:
    """The columns that a record is given by, of those its spec declares; none where by no group."""
    columns = [frozenset(name.split("/")) for name in (*spec.groups, *spec.groups_under)]
    within = frozenset[str]().union(*columns).intersection(record.by)
    return within if within in columns else frozenset()


def _variance(record: Measure) -> float:
    """The squared standard error; 0 where all cases agree, NaN where one says nothing of it."""
    if ONE_CLUSTER in record.flags:
        return np.nan
    spread = record.se if record.se is not None else record.sd_boot
    return 0.0 if spread is None else spread**2


def _cases(record: Measure) -> float:
    """How many independent cases a number stands on."""
    if ONE_CLUSTER in record.flags or not record.n:
        return 1.0
    effect = record.how.effect if record.how is not None else None
    return record.n / (effect or 1.0)


def _of_group(found: PooledGroups, at: int) -> Pooled:
    return Pooled(
        value=float(found.value[at]),
        low=float(found.low[at]),
        high=float(found.high[at]),
        weight=float(found.weight[at]),
        mean=found.mean,
        groups=found.value.size,
    )


# ---------------------------------------------------------------- values by case


def difference_unit(unit: Unit) -> Unit:
    """What a difference of two numbers in this unit is counted in."""
    if unit.of_shares and unit.low == 0:
        return POINTS
    return msgspec.structs.replace(unit, low=unit.low - unit.high, high=unit.high - unit.low)


def values(
    run: RunArrays,
    readers: Sequence[SpokenFor],
    specs: Sequence[Spec],
    clusters: Sequence[str] | None = None,
) -> dict[str, pl.DataFrame]:
    """By measure, what it says of each case: reader, case, cluster and value.

    Of measures `by_case`, under their plain condition: what `compare` goes by. `clusters` are names
    of the cases' clusters in the order of the cases, their codes where left out.
    """
    import polars as pl

    clusters = list(map(str, run.clusters.tolist())) if clusters is None else clusters
    found: dict[str, list[pl.DataFrame]] = {}
    for spec in specs:
        if not spec.by_case or spec.of is None:
            continue
        for reader in readers:
            if PLAIN not in [dict(condition) for condition in spec.conditions(run, reader)]:
                continue
            counted = counted_once(run, reader, spec, PLAIN)
            frame = pl.DataFrame(
                {
                    "reader": [reader.reader] * run.n,
                    "case": run.cases,
                    "cluster": clusters,
                    "value": mean_of_rows(counted.table)[:, 0],
                },
                schema={
                    "reader": pl.String,
                    "case": pl.String,
                    "cluster": pl.String,
                    "value": pl.Float64,
                },
            )
            found.setdefault(spec.name, []).append(frame.filter(pl.col("value").is_not_nan()))
    return {name: pl.concat(frames) for name, frames in found.items()}


def coverage_specs(
    conditions: Callable[[Any, Any], Iterable[Condition]],
    outcome_of: Callable[[Any, Any, Condition], tuple[Mask, Codes]],
) -> tuple[Spec, ...]:
    """`answered`, `unparsed`, `refused`, `unanswered`: shares of what was asked, adding up to 1.

    `outcome_of` gives who was asked and what became of each.
    """

    def counted(code: int) -> Callable[[Any, Any, Condition], Counted]:
        def of(run: Any, reader: Any, condition: Condition) -> Counted:
            asked, why = outcome_of(run, reader, condition)
            said = np.where(why == OUTCOMES.index("not asked"), np.nan, why == code)
            return Counted(said, asked)

        return of

    says = {
        "answered": "share of what was asked that has an answer that could be read",
        "unparsed": "share of what was asked whose reply holds no answer that could be read",
        "refused": "share of what was asked whose reply is a refusal",
        "unanswered": "share of what was asked that has no reply",
    }
    return tuple(
        Spec(
            name=name,
            says=words,
            of=counted(OUTCOMES.index(name)),
            conditions=conditions,
            better="higher" if name == "answered" else "lower",
        )
        for name, words in says.items()
    )


def named(specs: Iterable[Spec]) -> dict[str, Spec]:
    """The specs by name; a name that is declared twice is a mistake of ours."""
    found: dict[str, Spec] = {}
    for spec in specs:
        assert spec.name not in found, f"{spec.name} is declared twice"
        found[spec.name] = spec
    return found
