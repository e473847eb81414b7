"""One bootstrap of patients, shared by everything that is computed from the same cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Patients drawn at a time, and how often before they are multiplied: a few tens of megabytes of
# work space, whatever their number. Fewer, larger products wait less for a busy machine's cores.
_CHUNK = 1 << 18
_TOGETHER = 8


class PatientWeights:
    """How often each patient comes up in each of n_boot resamples of the patients.

    Every resample draws as many patients as there are, with replacement. Whatever is made of the
    totals of such resamples (a ratio, a difference of two ratios, a composite of several) keeps the
    correlations between its parts, because all parts see the same resamples. The weights would
    fill hundreds of megabytes and are not kept: some resamples at a time are drawn again from
    their own seed whenever they are needed, so equal calls see equal weights.

    Parameters
    ----------
    clusters : array of shape (n,)
        The patient of each case as a whole number. Patients are taken in the order of these codes,
        so the order of the cases does not matter; give the codes by something lasting, such as the
        sorted order of the patients' names.
    n_boot, seed : int
        Resamples, and the seed.

    Attributes
    ----------
    patients, cases, n_boot : int

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, 3.8.

    Examples
    --------
    >>> weights = PatientWeights([0, 0, 1, 2], n_boot=1000)
    >>> hits, cases = weights.totals([[1, 1], [0, 1], [1, 1], [1, 1]]).T
    >>> low, high, sd = ratio_interval(hits, cases, 0.75)
    >>> low, high
    (0.5, 1.0)
    """

    def __init__(self, clusters: ArrayLike, n_boot: int = 10_000, seed: int = 0) -> None:
        codes: NDArray[Any] = np.asarray(clusters)
        if codes.size and not np.issubdtype(codes.dtype, np.integer):
            raise ValueError(f"patients are given as whole numbers, not as {codes.dtype}")
        different = np.unique(codes)
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], different)
        self._seed = seed
        self.patients = int(different.size)
        self.cases = int(codes.size)
        self.n_boot = n_boot

    def totals(self, columns: ArrayLike) -> NDArray[np.float64]:
        """Σ over cases of weight x value, for every resample and column.

        Columns of whole numbers whose totals stay below 2^24 are added up in single precision,
        which is exact; others in double.

        Parameters
        ----------
        columns : array of shape (cases, m) or (cases,)
            Numbers, such as 0/1 for "counted" and "hit".

        Returns
        -------
        array of shape (n_boot, m) or (n_boot,)
        """
        x: NDArray[Any] = np.asarray(columns)
        if x.shape[0] != self.cases:
            raise ValueError(f"{x.shape[0]} rows for {self.cases} cases")
        table = x if x.ndim == 2 else x[:, None]
        out = np.zeros((self.n_boot, table.shape[1]))
        if self.patients == 0:
            return out.reshape(self.n_boot, *x.shape[1:])
        sums = np.add.reduceat(table[self._order], self._starts, axis=0, dtype=float)
        exact = (sums == np.rint(sums)).all(axis=0)
        exact &= np.abs(sums).max(axis=0) * self.patients < 1 << 24
        single, double = sums[:, exact].astype(np.float32), sums[:, ~exact]
        for start, drawn in self._blocks():
            rows = slice(start, start + drawn.shape[0])
            if single.size:
                out[rows, exact] = drawn @ single
            if double.size:
                out[rows, ~exact] = drawn.astype(np.float64) @ double
        return out.reshape(self.n_boot, *x.shape[1:])

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The index of the first resample, and the counts of some resamples x all patients."""
        rows = max(1, _CHUNK // self.patients)
        block = np.empty((min(rows * _TOGETHER, self.n_boot), self.patients), np.float32)
        for start in range(0, self.n_boot, rows * _TOGETHER):
            filled = min(rows * _TOGETHER, self.n_boot - start)
            for at in range(0, filled, rows):
                some = min(rows, filled - at)
                block[at : at + some] = self._drawn((start + at) // rows, some)
            yield start, block[:filled]

    def _drawn(self, chunk: int, rows: int) -> NDArray[np.int64]:
        """Counts of the patients in `rows` resamples, always the same for one chunk."""
        words = np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=(chunk,))).random_raw(
            (rows * self.patients + 1) // 2
        )
        # The generator's words are frozen, what numpy makes of them is not: hence by hand. A
        # 32-bit number times the patients, over 2^32, favours none by more than one in a million.
        halves = words.view(np.uint32)[: rows * self.patients].astype(np.uint64)
        halves *= np.uint64(self.patients)
        halves >>= np.uint64(32)
        places = halves.view(np.int64).reshape(rows, self.patients)
        places += np.arange(0, rows * self.patients, self.patients)[:, None]
        counts: NDArray[np.int64] = np.bincount(places.ravel(), minlength=rows * self.patients)
        return counts.reshape(rows, self.patients)


def ratio_interval(
    num_totals: ArrayLike, den_totals: ArrayLike, point: float | None
) -> tuple[float | None, float | None, float | None]:
    """95 % percentile interval and standard deviation of a ratio of resampled totals.

    Resamples whose denominator is not above 0 have no ratio and are left out.

    Parameters
    ----------
    num_totals, den_totals : arrays of shape (n_boot,)
        Totals of one resample each, as from `PatientWeights.totals`.
    point : float or None
        The ratio in the data themselves.

    Returns
    -------
    (low, high, sd)
        As from `resample_interval`.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, 5.3.

    Examples
    --------
    >>> ratio_interval([1, 2, 3, 0], [4, 4, 4, 0], 0.5)
    (0.2625, 0.7375, 0.25)
    """
    num: NDArray[Any] = np.asarray(num_totals, dtype=float)
    den: NDArray[Any] = np.asarray(den_totals, dtype=float)
    held = den > 0
    return resample_interval(num[held] / den[held], point)


def resample_interval(
    values: ArrayLike, point: float | None
) -> tuple[float | None, float | None, float | None]:
    """95 % percentile interval and standard deviation of any resampled estimate.

    The 2.5th and 97.5th percentiles of the defined values, stretched to hold the estimate itself
    where skewness would leave it outside.

    Parameters
    ----------
    values : array of shape (n_boot,)
        One estimate for each resample; NaN where it has none.
    point : float or None
        The estimate from the data themselves.

    Returns
    -------
    (low, high, sd)
        With low <= point <= high, and sd with ddof 1. All None without a point, or with fewer than
        2 defined values.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, 5.3.

    Examples
    --------
    >>> resample_interval([0.25, 0.5, 0.75, float("nan")], 0.5)
    (0.2625, 0.7375, 0.25)
    """
    x: NDArray[Any] = np.asarray(values, dtype=float)
    defined = x[~np.isnan(x)]
    if point is None or defined.size < 2:
        return None, None, None
    low, high = np.percentile(defined, [2.5, 97.5])
    return min(float(low), point), max(float(high), point), float(defined.std(ddof=1))


def canonical(patients: NDArray[np.int64], table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Patients numbered by what they contribute, so that neither names nor order matter.

    Patients with equal rows are interchangeable: whichever comes first, the totals are the same.
    The first column decides first, so a later one cannot move the totals of the earlier ones.

    Examples
    --------
    >>> import numpy as np
    >>> canonical(np.array([0, 1, 1]), np.array([[5.0], [1.0], [2.0]])).tolist()
    [1, 0, 0]
    """
    count = int(patients.max()) + 1 if patients.size else 0
    sums = np.zeros((count, table.shape[1]))
    np.add.at(sums, patients, table)
    keys = np.ascontiguousarray(np.round(sums, 9) + 0.0)
    rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(rows, kind="stable")] = np.arange(count)
    return rank[patients]
