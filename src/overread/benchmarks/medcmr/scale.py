"""Does size help? Correlation of scores with log parameters over readers ("Analyses" 6)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from overread.benchmarks.benchmark import ReaderRecord
from overread.benchmarks.medcmr.components import COMPONENTS
from overread.case import Measure

__all__ = ["fisher_interval", "pearson", "scale_measures"]

_EVERYONE: Final = ""
_LEAST: Final = 3
# What is set beside size; those of the first also by dimension.
_BY_DIMENSION: Final = ("accuracy",)
_OF: Final = ("accuracy", "accuracy_macro", *COMPONENTS, "score", "score_macro")


def scale_measures(records: Sequence[Measure], readers: Sequence[ReaderRecord]) -> list[Measure]:
    """`r` and `rho` of each score with the logarithm of the parameters, over readers.

    Readers count that declare `params_b` and have the score. None where nobody declares it. `r` is
    Pearson's with Fisher's interval, `rho` Spearman's with its permutation p.
    """
    sizes = {one.name: one.params_b for one in readers if one.params_b and one.params_b > 0}
    if not sizes:
        return []
    found: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        known = record.value is not None and record.reader in sizes
        plain = record.by == {} and record.measure in _OF
        each = list(record.by) == ["dimension"] and record.measure in _BY_DIMENSION
        if plain or each:
            group = found.setdefault((record.measure, record.by.get("dimension", "")), {})
            if known and record.value is not None:
                group[record.reader] = record.value
    order = sorted(found, key=lambda key: (bool(key[1]), _OF.index(key[0])))
    return [made for key in order for made in _correlations(key, found[key], sizes)]


def _correlations(
    key: tuple[str, str], values: Mapping[str, float], sizes: Mapping[str, float]
) -> Iterator[Measure]:
    from overread.stats import spearman, spearman_exact_p

    of, dimension = key
    by = {"of": of, "with": "log_params", **({"dimension": dimension} if dimension else {})}
    names = [name for name in sizes if name in values]
    x, y = [math.log(sizes[name]) for name in names], [values[name] for name in names]
    r = pearson(x, y) if len(names) >= _LEAST else None
    started = Measure(reader=_EVERYONE, measure="r", by=by, n=len(names))
    if r is None:
        why = (
            f"needs {_LEAST} readers with params_b and this score"
            if len(names) < _LEAST
            else "sizes or scores do not vary"
        )
        for measure in ("r", "rho"):
            yield msgspec.structs.replace(started, measure=measure, note=why)
        return
    bounds = fisher_interval(r, len(names))
    yield msgspec.structs.replace(
        started,
        value=r,
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
        method=None if bounds is None else "fisher z",
        note="no interval: needs 4 readers that are not on one line" if bounds is None else None,
    )
    # Sizes themselves: their order is that of their logarithms.
    p, how = spearman_exact_p([sizes[name] for name in names], y)
    yield msgspec.structs.replace(
        started,
        measure="rho",
        value=spearman([sizes[name] for name in names], y),
        p=p,
        method=f"p: {how}",
        family="size by dimension" if dimension else "size",
    )


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None with fewer than 2 values or where either does not vary.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    n = len(x)
    if n < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    middle = math.fsum(x) / n, math.fsum(y) / n
    a, b = [one - middle[0] for one in x], [one - middle[1] for one in y]
    together = math.fsum(i * j for i, j in zip(a, b, strict=True))
    spread = math.sqrt(math.fsum(i * i for i in a) * math.fsum(j * j for j in b))
    return max(-1.0, min(1.0, together / spread)) if spread else None


def fisher_interval(r: float, n: int) -> tuple[float, float] | None:
    """95 % interval of a correlation: tanh(artanh r ± z / sqrt(n - 3)); None where n < 4 or r = ±1.

    R. A. Fisher (1921), Metron 1, 3-32.
    """
    from overread.stats import Z95

    if n <= _LEAST or abs(r) > 1 - 1e-12:
        return None
    reach = Z95 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
