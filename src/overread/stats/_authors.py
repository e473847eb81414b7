"""The authors' bootstraps to the bit: to reproduce, not to report.

Their stream of resampled places is drawn once for any number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import Interval, outcomes_of

# Random words drawn at a time: a few megabytes in all, whatever the number of cases.
_WORDS = 1 << 18


def resamples(
    sizes: Iterable[int], n_boot: int, seed: int
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """`RandomState(seed).randint(0, n, size=(n_boot, n))` for each n in sizes, some rows at a time.

    Yields (n, index of the first row, rows x n places). The legacy generator takes one 32-bit word
    per place, keeps as many low bits as n - 1 has, and passes over what is not below n. So sizes
    with as many bits share their words, and those of a smaller size are found among those of a
    larger one: drawing for many sizes costs little more than for one, and even for one it is
    quicker than `randint`, whose loop stumbles over every rejected word. GROUNDING 10.1.
    """
    by_bits: dict[int, list[int]] = {}
    for n in sorted(set(sizes), reverse=True):
        by_bits.setdefault((n - 1).bit_length(), []).append(n)
    for bits, alike in by_bits.items():
        yield from _sharing_words(alike, np.uint32((1 << bits) - 1), n_boot, seed)


def _sharing_words(
    sizes: list[int], mask: np.uint32, n_boot: int, seed: int
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    done = dict.fromkeys(sizes, 0)
    begun: dict[int, NDArray[np.int32]] = {n: np.empty(0, np.int32) for n in sizes}
    while min(done.values()) < n_boot:
        words = draw.randint(0, 1 << 32, size=_WORDS, dtype=np.uint32)
        places: NDArray[np.int32] = (words & mask).view(np.int32)
        for n in sizes:  # from large to small
            places = np.compress(places < n, places)
            if done[n] == n_boot:
                continue
            together = np.concatenate((begun[n], places))
            rows = min(together.size // n, n_boot - done[n])
            begun[n] = together[rows * n :].copy()
            if rows:
                yield n, done[n], together[: rows * n].reshape(rows, n)
                done[n] += rows


def tallies(places: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """How often each of `bins` numbers stands in each row, as rows x bins."""
    rows = places.shape[0]
    starts = np.arange(0, rows * bins, bins, dtype=np.int64)[:, None]
    counted: NDArray[np.int64] = np.bincount((places + starts).ravel(), minlength=rows * bins)
    return counted.reshape(rows, bins)


def resampled_sums(
    vectors: Sequence[NDArray[Any]], n_boot: int, seed: int
) -> list[NDArray[np.int64]]:
    """The sum of every vector over each resample of its places; vectors of -1, 0 and 1, none empty.

    Vectors of one length see the very same resamples, as if each had been given its own generator
    with this seed. Several of them are looked up and added as one: a 64-bit number holds as many
    sums of n values from 0 to 2 side by side as fit without a carry.
    """
    alike: dict[int, list[int]] = {}
    for which, vector in enumerate(vectors):
        alike.setdefault(vector.size, []).append(which)
    packed = {n: _packed([vectors[which] for which in some]) for n, some in alike.items()}
    sums = {n: np.empty((n_boot, len(some)), np.int64) for n, some in alike.items()}
    for n, start, places in resamples(alike, n_boot, seed):
        bits, mask = _bits(n), (1 << _bits(n)) - 1
        rows = sums[n][start : start + places.shape[0]]
        for first, numbers in packed[n]:
            together = numbers.take(places, mode="clip").sum(axis=1)
            for at in range(first, min(first + 63 // bits, rows.shape[1])):
                rows[:, at] = (together & mask) - n
                together >>= bits
    return [
        sums[vector.size][:, alike[vector.size].index(which)]
        for which, vector in enumerate(vectors)
    ]


def _bits(n: int) -> int:
    """How many a sum of n numbers from 0 to 2 may need."""
    return (2 * n).bit_length()


def _packed(vectors: list[NDArray[Any]]) -> list[tuple[int, NDArray[np.int64]]]:
    """As many vectors as fit, raised by 1, in the bits of one; with the number of the first."""
    bits = _bits(vectors[0].size)
    each = 63 // bits
    found = []
    for first in range(0, len(vectors), each):
        numbers = np.zeros(vectors[0].size, np.int64)
        for at, vector in enumerate(vectors[first : first + each]):
            numbers += (vector.astype(np.int64) + 1) << (at * bits)
        found.append((first, numbers))
    return found


# ---------------------------------------------------------------- a mean


def bootstrap_proportion(values: ArrayLike, n_boot: int = 10_000, seed: int = 0) -> Interval:
    """Percentile bootstrap of a mean, exactly as the grounding paper's code draws it.

    Resample means of `RandomState(seed).randint(0, n, (n_boot, n))`; bounds are their 2.5th and
    97.5th percentiles with linear interpolation (GROUNDING 10.1). The legacy stream is the same
    whether drawn at once or some rows at a time, so memory stays flat. The bounds depend on the
    order of the values, and have zero width when all values agree: use it to reproduce, and
    `wilson` to report.

    Parameters
    ----------
    values : array of shape (n,)
        Outcomes, 0 or 1, in the order of the answers.
    n_boot : int, default 10000
        Resamples.
    seed : int, default 0
        Seed of the legacy generator; every call starts it anew.

    Returns
    -------
    Interval
        `point` the mean; `low` and `high` percentiles within the range of the values; `sd` the
        standard deviation of the resample means (ddof 1). All None at n = 0.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

    Examples
    --------
    >>> found = bootstrap_proportion([1, 0, 1, 1], n_boot=1000)
    >>> found.point, found.low, found.high
    (0.75, 0.25, 1.0)
    """
    return bootstrap_proportion_many([values], n_boot, seed)[0]


def bootstrap_proportion_many(
    vectors: Sequence[ArrayLike], n_boot: int = 10_000, seed: int = 0
) -> list[Interval]:
    """`bootstrap_proportion` of each vector, to the bit, with the random numbers drawn once.

    Every call of the authors' function starts the same generator anew, so vectors of one length
    are resampled alike; even those of different lengths share random words (see `resamples`).

    Lengths may differ; the intervals come in the order of the vectors.

    Examples
    --------
    >>> many = bootstrap_proportion_many([[1, 0, 1, 1], [0, 1]], n_boot=1000)
    >>> many == [bootstrap_proportion([1, 0, 1, 1], 1000), bootstrap_proportion([0, 1], 1000)]
    True
    """
    arrays: list[NDArray[Any]] = [np.asarray(values, dtype=float) for values in vectors]
    means: dict[int, NDArray[Any]] = {}
    binary = [
        which
        for which, x in enumerate(arrays)
        if x.size and x.min() < x.max() and bool(np.isin(x, (0.0, 1.0)).all())
    ]
    # Counting hits gives the same means as averaging, and is several times quicker.
    sums = resampled_sums([arrays[which] for which in binary], n_boot, seed)
    for which, hits in zip(binary, sums, strict=True):
        means[which] = hits / arrays[which].size
    return [
        _percentiles(x, means[which] if which in means else _plain_means(x, n_boot, seed))
        for which, x in enumerate(arrays)
    ]


def _plain_means(x: NDArray[Any], n_boot: int, seed: int) -> NDArray[Any]:
    means = np.empty(n_boot)
    if x.size == 0 or x.min() == x.max() in (0.0, 1.0):
        means.fill(x[0] if x.size else np.nan)
        return means
    for _, start, places in resamples([x.size], n_boot, seed):
        means[start : start + places.shape[0]] = x[places].mean(axis=1)
    return means


def _percentiles(x: NDArray[Any], means: NDArray[Any]) -> Interval:
    if x.size == 0:
        return Interval(None, None, None, None, 0)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(x.mean()), float(low), float(high), float(means.std(ddof=1)), x.size)


# ---------------------------------------------------------------- a paired difference


class PairedResult(msgspec.Struct, frozen=True):
    """A difference of two means over the same n cases; all but n None when there are none."""

    point: float | None
    low: float | None
    high: float | None
    sd: float | None
    p: float | None
    n: int


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, n_boot: int = 10_000, seed: int = 0, *, exact_ties: bool = True
) -> PairedResult:
    """Percentile bootstrap of mean(a) - mean(b), paired by case, as the grounding paper draws it.

    The places are those of `bootstrap_proportion`. With D the sum of all differences and D_r that
    of resample r (GROUNDING 10.4)::

        p = max(share of resamples with |D_r - D| >= |D|, 1 / n_boot)

    Sums of whole numbers are compared, so a resample with D_r = 0 or 2D counts as the tie it is;
    the authors' floating-point means lose some of them, and their p is the smaller for it. Use it
    to reproduce; `paired_difference` with `difference_p` or `sign_flip_p` is for reporting.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Outcomes, 0 or 1, of the same cases, in the order of the first reader's answers.
    n_boot, seed : int
        As for `bootstrap_proportion`.
    exact_ties : bool, default True
        False: the authors' floating-point p, ties lost and all.

    Returns
    -------
    PairedResult
        `low` and `high` the 2.5th and 97.5th percentiles, `sd` with ddof 1, `p` in [1/n_boot, 1].
        All but n None at n = 0.

    References
    ----------
    B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, 16.

    Examples
    --------
    >>> found = paired_bootstrap([1, 1, 0, 1, 1], [0, 1, 0, 0, 1], n_boot=1000)
    >>> found.point, found.low, found.high
    (0.4, 0.0, 0.8)
    """
    return paired_bootstrap_many([(a, b)], n_boot, seed, exact_ties=exact_ties)[0]


def paired_bootstrap_many(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    n_boot: int = 10_000,
    seed: int = 0,
    *,
    exact_ties: bool = True,
) -> list[PairedResult]:
    """`paired_bootstrap` of each pair, to the bit, with the random numbers drawn once.

    Lengths may differ from pair to pair, and those of one length are dealt with together; the
    results come in the order of the pairs.

    Examples
    --------
    >>> first, second = paired_bootstrap_many([([1, 0], [1, 0]), ([1, 1, 1], [0, 0, 0])])
    >>> first.p, second.p
    (1.0, 0.0001)
    """
    each = [_paired_outcomes(a, b) for a, b in pairs]
    # Differences alone decide, and one vector is half the work of two; rounding needs both.
    wanted = [(a - b,) if exact_ties else (a, b) for a, b in each]
    drawn = iter(resampled_sums([x for some in wanted for x in some if x.size], n_boot, seed))
    results = []
    for (a, b), some in zip(each, wanted, strict=True):
        if a.size == 0:
            results.append(PairedResult(None, None, None, None, None, 0))
            continue
        sums = [next(drawn) for _ in some]
        results.append(_exact(a, b, sums[0]) if exact_ties else _rounded(a, b, sums))
    return results


def _paired_outcomes(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} outcomes of the first reader, {second.size} of the second")
    return outcomes_of(first), outcomes_of(second)


def _exact(a: NDArray[np.int64], b: NDArray[np.int64], sums: NDArray[np.int64]) -> PairedResult:
    total = int(a.sum()) - int(b.sum())
    as_far = np.abs(sums - total) >= abs(total)
    return _result(total / a.size, sums / a.size, as_far, a.size)


def _rounded(
    a: NDArray[np.int64], b: NDArray[np.int64], sums: list[NDArray[np.int64]]
) -> PairedResult:
    point = int(a.sum()) / a.size - int(b.sum()) / a.size
    differences = sums[0] / a.size - sums[1] / a.size
    return _result(point, differences, np.abs(differences - point) >= abs(point), a.size)


def _result(point: float, drawn: NDArray[Any], as_far: NDArray[np.bool_], n: int) -> PairedResult:
    low, high = np.percentile(drawn, [2.5, 97.5])
    p = max(int(np.count_nonzero(as_far)), 1) / drawn.size
    return PairedResult(point, float(low), float(high), float(drawn.std(ddof=1)), p, n)
