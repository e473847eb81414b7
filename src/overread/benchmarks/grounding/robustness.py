"""Does a number depend on the resolution or on the wording? (GROUNDING 12)

Further sizes and phrasings are asked of a sub-sample. `corrected` compares them with the headline's
answers to the same cases, case by case; the published code compares CGR at 512 pixels with CGR at
224 over all cases [D15]. Their paired p is not reproduced: it pairs cases that are not the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import NO_ROW, Marks
from overread.benchmarks.grounding.study import Study
from overread.case import Measure
from overread.stats import (
    design_effect,
    paired_difference,
    spearman,
    spearman_asymptotic_p,
    spearman_exact_p,
)

__all__ = ["across_readers", "ranks", "robustness"]

Counting = Callable[[Marks], pr.Count]

_AT_SIZE: Final = ("accuracy", "cgr", "uar", "is")
# Below this many parsed answers an accuracy says nothing (GROUNDING 12).
_FEWEST_PARSED: Final = 50
EVERYONE: Final = ""
"""The reader of a record that stands for all readers of a run together."""


def robustness(study: Study) -> Iterator[Measure]:
    """Every measure at every further resolution and phrasing, beside the headline's."""
    if not study.marks:
        return
    sizes = {px: study.at(px, study.options.phrasing) for px in study.options.more_px}
    if sizes:
        yield from _at_sizes(study, sizes)
    further = {name: study.at(study.options.px, name) for name in study.options.more_phrasings}
    if further:
        yield from _in_phrasings(study, further)


def _asked_of(found: Sequence[Marks]) -> Mask:
    """The cases of the sub-sample: those anybody was asked about."""
    some = np.zeros(found[0].truth.size, dtype=bool)
    for marks in found:
        some |= marks.original > NO_ROW
    return some


# ---------------------------------------------------------------- resolution


def _at_sizes(study: Study, sizes: dict[int, list[Marks]]) -> Iterator[Measure]:
    base = str(study.options.px)
    subset = _asked_of([marks for found in sizes.values() for marks in found])
    same_cases = study.edition.intervals != "bootstrap"
    rates: dict[tuple[str, int], list[tuple[float | None, float | None]]] = {}
    for place, headline in enumerate(study.marks):
        for name in _AT_SIZE:
            counting = _counting(name, study)
            here = counting(headline)
            if same_cases:
                here = here.within(subset)
            found = {px: readers[place] for px, readers in sizes.items()}
            found = {px: marks for px, marks in found.items() if marks.asked(here.image)}
            if not found:
                continue
            at_base = pr.proportion(headline, study.edition, name, here, {"px": base})
            yield at_base
            for px, marks in found.items():
                there = counting(marks)
                at_px = pr.proportion(marks, study.edition, name, there, {"px": str(px)})
                yield at_px
                rates.setdefault((name, px), []).append((at_base.value, at_px.value))
                if same_cases:
                    yield _paired(headline, marks, name, here, there, px, base)
    for (name, px), pairs in rates.items():
        if name == "cgr" or same_cases:
            yield across_readers(pairs, study, {"px": f"{base},{px}", "of": name})


def _counting(name: str, study: Study) -> Counting:
    countings: dict[str, Counting] = {
        "accuracy": pr.accuracy,
        "cgr": pr.cgr,
        "uar": pr.uar,
        "is": pr.stability(study.edition),
    }
    return countings[name]


def _paired(
    headline: Marks,
    marks: Marks,
    name: str,
    here: pr.Count,
    there: pr.Count,
    px: int,
    base: str,
) -> Measure:
    """The change of a rate with the resolution, over the cases both resolutions decided."""
    both = here.decided & there.decided
    one, other = there.hits[both], here.hits[both]
    by = {"px": str(px), "versus": f"px={base}"}
    made = Measure(reader=marks.reader, measure=f"diff_{name}", by=by, n=int(both.sum()))
    if both.sum() < 2:
        return msgspec.structs.replace(made, note="fewer than two cases were decided at both sizes")
    change = one.astype(np.int64) - other.astype(np.int64)
    effect = design_effect(change, marks.facts.patients[both])
    table = [int((one == x)[other == y].sum()) for x in (1, 0) for y in (1, 0)]
    found = paired_difference(*table, design_effect=effect)
    return msgspec.structs.replace(
        made,
        value=found.point,
        se=found.sd,
        low=found.low,
        high=found.high,
        method=f"newcombe10:deff={effect:.3f}",
    )


def across_readers(
    pairs: Sequence[tuple[float | None, float | None]], study: Study, by: dict[str, str]
) -> Measure:
    """Spearman's rank correlation of a measure over the readers; null with fewer than three."""
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    made = Measure(reader=EVERYONE, measure="rho", by=by, n=len(known))
    rho = spearman([x for x, _ in known], [y for _, y in known]) if len(known) > 2 else None
    if rho is None:
        return msgspec.structs.replace(made, note="fewer than three readers, or all alike")
    if study.edition.intervals == "bootstrap":
        p: float | None = spearman_asymptotic_p(rho, len(known))
        method = "asymptotic t"
    else:
        p, method = spearman_exact_p([x for x, _ in known], [y for _, y in known])
    return msgspec.structs.replace(made, value=rho, p=p, method=method)


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """1 for the largest; ties share their average rank, cut to a whole number (GROUNDING 12)."""
    known: NDArray[np.float64] = np.array([np.nan if v is None else v for v in values])
    found: list[int | None] = []
    for value in known:
        if np.isnan(value):
            found.append(None)
            continue
        above, equal = int((known > value).sum()), int((known == value).sum())
        found.append(int(above + (equal + 1) / 2))
    return found


# ---------------------------------------------------------------- phrasing


def _in_phrasings(study: Study, further: dict[str, list[Marks]]) -> Iterator[Measure]:
    """Parse rate first: an accuracy over few parsed answers is not one."""
    subset = _asked_of([marks for found in further.values() for marks in found])
    phrased = {study.options.phrasing: list(study.marks), **further}
    for phrasing, found in phrased.items():
        by = {"phrasing": phrasing}
        for marks in found:
            if not marks.asked("original"):
                continue
            replied = pr.replies(marks, "original", study.edition).within(subset)
            own = msgspec.structs.replace(marks, order=marks.order[subset[marks.order]])
            yield pr.proportion(own, study.edition, "parse_rate", replied, by)
            right = pr.accuracy(marks).within(subset)
            record = pr.proportion(marks, study.edition, "accuracy", right, by)
            if 0 < (record.n or 0) < _FEWEST_PARSED:
                few = f"uninterpretable: only {record.n} answers could be parsed"
                record = msgspec.structs.replace(record, note=pr.joined(few, record.note))
            yield record
            if marks.asked("swap") and study.edition.intervals != "bootstrap":
                kept = pr.uar(marks).within(subset)
                yield pr.proportion(marks, study.edition, "uar", kept, by)
