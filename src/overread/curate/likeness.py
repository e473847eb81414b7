"""What pictures are like: nearly the same, hardly anything, far out, or spread over all there is.

A hash proposes and never decides: chest films of one view share their layout, dark pictures share
everything. Selection works on the vectors of an encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

SIDE: Final = 64
"""A hash is made of a picture of this side."""
BITS: Final = 256
_LOW: Final = 16
# Mean square of the cosines but the mean, in grey levels: below it there is nothing to compare.
_HARDLY_ANYTHING: Final = 4.0
_AT_ONCE: Final = 1024
_NEIGHBOURS: Final = 5


class Look(NamedTuple):
    """A picture's hash, and whether it shows hardly anything, so that its hash says nothing."""

    hash: bytes
    blank: bool


def look_at(pixels: NDArray[np.uint8]) -> Look:
    """The 256-bit hash of a picture: which of its lowest cosines lie above their median.

    Grey, 64 x 64, a cosine transform, its 16 x 16 lowest without the mean (for which the next
    along the first row stands), each set against the median. The lowest bit of the first byte is
    the first cosine.
    """
    import numpy as np
    from PIL import Image
    from scipy.fft import dctn

    image = Image.fromarray(pixels).convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    waves = dctn(np.asarray(image, np.float64), norm="ortho")
    low = waves[:_LOW, :_LOW].ravel().copy()
    low[0] = waves[0, _LOW]
    energy = float(np.mean(low**2)) / SIDE
    bits = low > np.median(low)
    return Look(np.packbits(bits, bitorder="little").tobytes(), energy < _HARDLY_ANYTHING)


class Pair(NamedTuple):
    """Two pictures, by their places, and in how many bits their hashes differ."""

    first: int
    second: int
    bits: int


def near_pairs(hashes: Sequence[bytes], within: int) -> Iterator[Pair]:
    """Pairs whose hashes differ in at most so many of 256 bits, in the order of their places.

    Every pair is looked at: 20,000 pictures take seconds, and memory grows with their number alone.
    """
    import numpy as np

    if len(hashes) < 2:
        return
    words = np.frombuffer(b"".join(hashes), np.uint64).reshape(len(hashes), -1)
    for start in range(0, len(hashes), _AT_ONCE):
        part = words[start : start + _AT_ONCE]
        bits = np.zeros((len(part), len(hashes) - start), np.uint16)
        for column in range(words.shape[1]):
            bits += np.bitwise_count(part[:, column, None] ^ words[None, start:, column])
        rows, columns = np.nonzero(bits <= within)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            if column > row:
                yield Pair(start + row, start + column, int(bits[row, column]))


# ---------------------------------------------------------------- typicality


def scaled(vectors: Vectors) -> Vectors:
    """Every feature with mean 0 and variance 1; one that never changes is left out."""
    import numpy as np

    spread = vectors.std(axis=0)
    kept = vectors[:, spread > 1e-6]
    return np.asarray((kept - kept.mean(axis=0)) / kept.std(axis=0), np.float32)


def outermost(vectors: Vectors, share: float) -> list[int]:
    """The places of the outermost share (one at least), farthest out first.

    How far out a picture lies is its mean distance to its five nearest neighbours.
    """
    import numpy as np

    n = len(vectors)
    if n <= _NEIGHBOURS + 1:
        return []
    far = np.empty(n)
    for start in range(0, n, _AT_ONCE):
        apart = _distances(vectors[start : start + _AT_ONCE], vectors)
        near = np.partition(apart, _NEIGHBOURS, axis=1)[:, 1 : _NEIGHBOURS + 1]
        far[start : start + _AT_ONCE] = near.mean(axis=1)
    most = max(1, round(share * n))
    return [int(place) for place in np.argsort(-far, kind="stable")[:most]]


def dispersed(
    vectors: Vectors,
    classes: Sequence[str],
    take: int,
    *,
    owners: Sequence[str] | None = None,
    central: bool = False,
) -> list[int]:
    """`take` places, balanced by class, each as far from those taken before as can be.

    Farthest-first traversal: it is within twice of the best for both aims, the greatest least
    distance between those taken (M3CoTBench 3.1, "typicality") and the least greatest distance of
    any to one taken (k centres). Every time the class of which least were taken is next. Begins
    with the picture farthest from the mean of all, or `central`: nearest to it. With `owners`
    nobody's second picture is taken before everybody's first (an owner "" is nobody).
    """
    import numpy as np

    n = len(vectors)
    taken: list[int] = []
    if n == 0 or take < 1:
        return taken
    order = {name: number for number, name in enumerate(sorted(set(classes)))}
    of_class = np.array([order[name] for name in classes])
    counts = np.zeros(len(order), int)
    left = np.ones(n, bool)
    times: dict[str, int] = {}
    owned = np.zeros(n, int)
    middle = _distances(vectors.mean(axis=0, keepdims=True), vectors)[0]
    nearest = -middle if central else middle
    while len(taken) < min(take, n):
        there = np.unique(of_class[left])
        now = there[np.argmin(counts[there])]
        open_ = left & (of_class == now)
        fewest = owned[open_].min()
        open_ &= owned == fewest
        place = int(np.flatnonzero(open_)[np.argmax(nearest[open_])])
        apart = _distances(vectors[place : place + 1], vectors)[0]
        nearest = apart if not taken else np.minimum(nearest, apart)
        taken.append(place)
        left[place] = False
        counts[now] += 1
        if owners is not None and owners[place]:
            name = owners[place]
            times[name] = times.get(name, 0) + 1
            owned[[at for at, owner in enumerate(owners) if owner == name]] = times[name]
    return taken


def _distances(some: Vectors, others: Vectors) -> NDArray[np.float64]:
    import numpy as np

    squares = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None, :]
    found: NDArray[np.float64] = np.sqrt(
        np.maximum(squares - 2 * some @ others.T, 0), dtype=np.float64
    )
    return found
