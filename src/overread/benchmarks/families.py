"""Families of tests: q beside p."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from overread.case import Measure

__all__ = ["with_q"]


def with_q(records: Sequence[Measure]) -> list[Measure]:
    """The records with q: Benjamini and Hochberg's within each family of tests."""
    import numpy as np

    from overread.stats import benjamini_hochberg

    families: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        if record.family is not None:
            families.setdefault(record.family, []).append(place)
    found = list(records)
    for places in families.values():
        p = [np.nan if (x := records[place].p) is None else x for place in places]
        for place, q in zip(places, benjamini_hochberg(p), strict=True):
            if not np.isnan(q):
                found[place] = msgspec.structs.replace(found[place], q=float(q))
    return found
