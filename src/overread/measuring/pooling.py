"""Numbers by group with what pooling makes of them beside: rule 8 of docs/statistics.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from overread.case import Measure, Pooled
from overread.measuring.notes import ONE_CLUSTER
from overread.measuring.specs import Spec

if TYPE_CHECKING:
    from overread.stats import PooledGroups


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
        some = [records[place] for place in places]
        found = pooled_groups(
            np.array([record.value for record in some], dtype=float),
            [_variance(record) for record in some],
            [_cases(record) for record in some],
            declared[str(name)].unit.limits,
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
