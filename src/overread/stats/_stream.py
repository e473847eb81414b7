"""The authors' stream of resampled places, drawn once for any number of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["resampled_sums", "resamples", "tallies"]

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
