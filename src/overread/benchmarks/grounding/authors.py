"""What only reproduces the paper's own code, bit for bit: the values that edition `authors` has.

Each function stands for one rule of that edition and is called where the rule says so; the sound
path does without all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.benchmarks.grounding.cases import CONTROL, ERROR_GROUPS
from overread.benchmarks.grounding.marks import NO_ROW, Marks, Study
from overread.case import Measure, Method
from overread.measuring.estimates import Floats, Ints, Mask
from overread.measuring.notes import NOTHING, noted, remarked, with_method
from overread.measuring.specs import Counted, Spec

if TYPE_CHECKING:
    from overread.benchmarks.grounding.edition import Edition

_T = TypeVar("_T")

# The groups each rate is given by: fewer than ours, and for sex, age and label bare numbers without
# an interval (GROUNDING 8).
_GROUPS: Final = {
    "accuracy": ("label",),
    "cgr": ("finding", "view", "sex", "age", "label"),
    "uar": ("finding", "sex", "age", "label"),
}
_BARE: Final = frozenset({"source", "sex", "age", "label"})
# The authors' `random_state`, for both of their sub-samples.
_SAMPLE_SEED: Final = 42
# The names the published metrics look for: two types fewer, and its controls go by this word.
_ERROR_GROUPS: Final = {
    "image_dependent": tuple(t for t in ERROR_GROUPS["image_dependent"] if t != "change_view"),
    "text_only": ("add_typo", "change_to_homophone"),
    CONTROL: ("not_applicable",),
}


def any_sample(some: Sequence[_T], n: int, seed: int = _SAMPLE_SEED) -> tuple[_T, ...]:
    """n of some in the order drawn, as `DataFrame.sample(n, random_state=seed)` gives them.

    All of them where n is 0, or more than there are.
    """
    if not some:
        return ()
    if not 0 < n < len(some):
        n = len(some)
    chosen = np.random.RandomState(seed).choice(len(some), n, replace=False)
    return tuple(some[k] for k in chosen)


# ---------------------------------------------------------------- rates


def with_their_groups(specs: Iterable[Spec]) -> tuple[Spec, ...]:
    """The measures, given by the groups that the published code has."""
    return tuple(
        replace(spec, groups=_GROUPS.get(spec.name, ())) if spec.of else spec for spec in specs
    )


def bootstrapped_rate(m: Marks, record: Measure, counted: Counted, edition: Edition) -> Measure:
    """k of n with the percentile bootstrap over cases, in the order of the reader's file."""
    outcomes = _outcomes(m, record, counted)
    n, k = int(outcomes.size), int(outcomes.sum())
    if not n:
        return noted(replace(record, n=0, k=0), NOTHING)
    made = replace(record, value=k / n, n=n, k=k)
    if _is_bare(record, edition):
        return made
    drawn = m.drawn.get(outcomes.tobytes())
    if drawn is None:
        drawn = stats.bootstrap_proportion(outcomes, edition.boot, edition.seed)
    bounded = replace(
        made, se=stats.wilson(k, n).sd, sd_boot=drawn.sd, low=drawn.low, high=drawn.high
    )
    return with_method(bounded, _of_cases(edition))


def draw_bootstraps(run: Study, counts: Iterable[tuple[Measure, Counted]]) -> None:
    """Draw the published bootstraps of all readers at once: they share their random numbers."""
    wanted: dict[bytes, Mask] = {}
    for record, counted in counts:
        outcomes = _outcomes(run.of(record.reader), record, counted)
        if outcomes.size and not _is_bare(record, run.edition):
            wanted[outcomes.tobytes()] = outcomes
    found = stats.bootstrap_proportion_many(
        list(wanted.values()), run.edition.boot, run.edition.seed
    )
    for m in run.marks:
        m.drawn.update(zip(wanted, found, strict=True))


def _outcomes(m: Marks, record: Measure, counted: Counted) -> Mask:
    """Hits and misses in the order of the reader's answers, or of the condition's own rows."""
    values = counted.table[:, 0]
    there = ~np.isnan(values)
    own = record.measure == "parse_rate" and record.by.get("condition", "original") != "original"
    places = np.flatnonzero(there) if own else m.ordered(there)
    found: Mask = values[places] == 1
    return found


def _is_bare(record: Measure, edition: Edition) -> bool:
    return edition.name == "authors" and not _BARE.isdisjoint(record.by)


def _of_cases(edition: Edition, kind: str = "bootstrap") -> Method:
    return Method(kind=kind, boot=edition.boot, seed=edition.seed)


def premium_of_rates(cgr: Measure, stable: Measure) -> Measure:
    """GSP of two rates, each over its own cases."""
    made = Measure(reader=cgr.reader, measure="gsp")
    if cgr.value is None or stable.value is None:
        return noted(made, NOTHING, "CGR or IS is undefined")
    made = replace(made, value=cgr.value - (1 - stable.value))
    said = remarked(made, "two rates, each over its own cases; no interval")
    return with_method(said, Method(kind="difference"))


def plain_wilson(record: Measure) -> Measure:
    """k of n with Wilson's interval, every case by itself: one table of theirs has these."""
    assert record.k is not None
    assert record.n
    found = stats.wilson(record.k, record.n)
    bounded = replace(record, se=found.sd, low=found.low, high=found.high)
    return with_method(bounded, Method(kind="wilson"))


def flips_of_rated_boxes(m: Marks) -> Counted:
    """CGR where people rated boxes: a mask answer that is not there is one that did not flip [D4].

    And it is not asked that the answer was Yes: on these cases a correct answer is.
    """
    flipped = (m.target_mask >= 0) & (m.target_mask != m.original)
    return Counted(flipped.astype(float), m.facts.boxed & m.correct)


# ---------------------------------------------------------------- injected errors


def error_group_means(m: Marks, run: Study, counted: Counted, name: str) -> Iterator[Measure]:
    """Flips over all correct verdicts, swaps without an answer included; means of types."""
    types = np.array([text or "" for text in run.tables.cases["error_type"]])
    hits = counted.value == 1
    rates: dict[str, float] = {}
    for kind in sorted(set(types[m.facts.sentence].tolist()) - {""}):
        population = counted.population & (types == kind)
        n, k = int(population.sum()), int((population & hits).sum())
        if n:
            rates[kind] = k / n
            by = {"error_type": kind}
            yield Measure(reader=m.reader, measure=name, by=by, value=k / n, n=n, k=k)
    for group, names in _ERROR_GROUPS.items():
        made = Measure(reader=m.reader, measure=name, by={"error_group": group})
        found = [rates[kind] for kind in names if kind in rates]
        if found:
            made = replace(made, value=float(np.mean(found)))
            yield with_method(made, Method(kind="mean of types"))
        else:
            yield noted(made, NOTHING, "no error type has one of the published names")


# ---------------------------------------------------------------- confidence


def auroc_bounds(
    samples: Mapping[str, tuple[Floats, Floats]], edition: Edition
) -> dict[str, tuple[float | None, float | None]]:
    """The published bounds of every reader's AUROC; they share their random numbers."""
    drawn = stats.bootstrap_auroc_many(list(samples.values()), edition.boot, edition.seed)
    return dict(zip(samples, drawn, strict=True))


def regimes_of_figure(m: Marks) -> tuple[Mask, Mask]:
    """Who stands in the published figure, and who flipped: unparsed answers do both [D8]."""
    flipped: Mask = (m.target_mask > NO_ROW) & (m.target_mask != m.original)
    return m.original > NO_ROW, flipped


def regimes_by_swap(m: Marks) -> Mapping[str, Mask]:
    """The definition of the published metrics, by the swap: regimes may overlap."""
    confident, target = ~np.isnan(m.p_yes), m.target_mask
    flipped = m.correct & m.facts.boxed & (target >= 0) & (target != m.original)
    kept = m.correct & (m.swap >= 0) & (m.swap == m.original)
    return {
        "grounded_correct": flipped & confident,
        "ungrounded_correct": kept & confident,
        "incorrect": m.parsed & ~m.correct & confident,
    }


# ---------------------------------------------------------------- tests


def paired_bootstraps(
    planned: Sequence[tuple[Measure, Ints, Ints]], edition: Edition
) -> list[Measure]:
    """The published paired bootstrap; all comparisons share one stream of random numbers."""
    outcomes = [(one, other) for _, one, other in planned]
    # Their means are floating-point numbers, and lose some ties; so do ours here.
    results = stats.paired_bootstrap_many(outcomes, edition.boot, edition.seed, exact_ties=False)
    how = _of_cases(edition, "paired bootstrap")
    bounded = (
        replace(record, value=r.point, n=r.n, sd_boot=r.sd, low=r.low, high=r.high, p=r.p)
        for (record, _, _), r in zip(planned, results, strict=True)
    )
    return [with_method(record, how) for record in bounded]


def permutation_of_cases(parts: Sequence[Ints], times: int, edition: Edition) -> float | None:
    """p between groups by shuffles of cases, whoever's they are."""
    if len(parts) > 2:
        return stats.permutation_k_groups(parts, times, edition.seed, exact_ties=False)
    return stats.permutation_two_groups(parts[0], parts[1], times, edition.seed, exact_ties=False)
