"""Does image use differ between women and men, views, ages? Permutation tests (GROUNDING 11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.marks import Marks
from overread.benchmarks.grounding.study import Done, Making, Metric, Study
from overread.case import Measure
from overread.stats import (
    design_effect,
    exchangeable_groups_p,
    independent_difference,
    permutation_k_groups,
    permutation_two_groups,
    wilson,
)

__all__ = ["METRICS"]

Whole = NDArray[np.int64]

# The published family of five, in its order, and the sixth that completes it [D35].
_TESTS: Final = {
    "five": (("sex", "cgr"), ("sex", "uar"), ("view", "cgr"), ("age", "cgr"), ("age", "uar")),
    "six": (
        ("sex", "cgr"),
        ("sex", "uar"),
        ("view", "cgr"),
        ("view", "uar"),
        ("age", "cgr"),
        ("age", "uar"),
    ),
}
_PERMUTATIONS: Final = {"cases": 1000, "patients": 2000}


def _made_by(metric: str) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        for attribute, tested in _TESTS[study.edition.subgroup_tests]:
            if tested == metric:
                yield _test(marks, study, attribute, metric)

    return make


def _test(marks: Marks, study: Study, attribute: str, metric: str) -> Measure:
    """The gap between groups, with p; q is adjusted among the tests of one reader.

    Two groups: the first rate less the second, with an interval. More: the largest less the
    smallest, which has none.
    """
    count = pr.cgr(marks) if metric == "cgr" else pr.uar(marks)
    grouping = marks.facts.groupings[attribute]
    places = pr.ordered(marks, count.decided)
    codes, hits = grouping.codes[places], count.hits[places].astype(np.int64)
    parts = {name: hits[codes == at] for at, name in enumerate(grouping.names)}
    made = Measure(
        reader=marks.reader,
        measure=f"gap_{metric}",
        by={"attribute": attribute},
        n=int((codes >= 0).sum()),
        family=f"subgroups|{marks.reader}",
        note=", ".join(
            f"{name} {part.mean():.3f} (n={part.size})" if part.size else f"{name} n=0"
            for name, part in parts.items()
        ),
    )
    p = _p(parts, attribute, codes, hits, marks.facts.patients[places], study)
    if p is None:
        why = pr.joined("fewer than two groups of two", made.note)
        return msgspec.structs.replace(made, note=why, method=None)
    rates = [float(part.mean()) for part in parts.values() if part.size >= 2]
    made = msgspec.structs.replace(made, p=p[0], method=p[1])
    if len(grouping.names) > 2:
        return msgspec.structs.replace(made, value=max(rates) - min(rates))
    made = msgspec.structs.replace(made, value=rates[0] - rates[1])
    if study.edition.intervals == "bootstrap":
        return made
    intervals = []
    for at, part in enumerate(parts.values()):
        effect = design_effect(part, marks.facts.patients[places][codes == at])
        intervals.append(wilson(int(part.sum()), int(part.size), design_effect=effect))
    found = independent_difference(*intervals)
    return msgspec.structs.replace(made, low=found.low, high=found.high, se=found.sd)


def _p(
    parts: dict[str, Whole],
    attribute: str,
    codes: Whole,
    hits: Whole,
    patients: Whole,
    study: Study,
) -> tuple[float, str] | None:
    edition = study.edition
    times = _PERMUTATIONS[edition.permutations]
    if edition.permutations == "cases":
        groups = list(parts.values())
        if attribute == "age":
            p = permutation_k_groups(groups, times, edition.seed, exact_ties=False)
        else:
            p = permutation_two_groups(groups[0], groups[1], times, edition.seed, exact_ties=False)
        return None if p is None else (p, f"permutation:{times}:{edition.seed}")
    known = codes >= 0
    p = exchangeable_groups_p(
        hits[known], codes[known], patients[known], n_perm=times, seed=edition.seed
    )
    return None if p is None else (p, f"permutation of patients:{times}:{edition.seed}")


METRICS: Final = tuple(
    Metric(
        name=f"gap_{metric}",
        says=f"{metric.upper()} of one group of patients less that of another",
        needs=("original", needed),
        make=_made_by(metric),
    )
    for metric, needed in (("cgr", "target_mask"), ("uar", "swap"))
)
