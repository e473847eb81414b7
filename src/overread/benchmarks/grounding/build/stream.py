"""The builder's random stream: every draw of a probe set comes from one seed (GROUNDING 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Stream"]

_SEEDS = 2**31


class Stream:
    """One PCG64 generator; each sample takes one integer from it as the seed of its own draw.

    A sample is what `DataFrame.sample(n, random_state=integer)` of pandas gives: the MT19937
    generator of that seed chooses positions without replacement. The order of the samples is part
    of the protocol, since each moves the stream on by one.
    """

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._generator = np.random.default_rng(seed)

    def sample(self, available: int, size: int) -> NDArray[np.intp]:
        """Positions of min(size, available) rows out of `available`, in the order drawn.

        With nothing to sample the stream stays where it is.
        """
        import numpy as np

        size = min(size, available)
        if size <= 0:
            return np.empty(0, dtype=np.intp)
        seed = int(self._generator.integers(_SEEDS))
        chosen = np.random.RandomState(seed).choice(available, size=size, replace=False)
        return chosen.astype(np.intp, copy=False)

    def one(self, available: int) -> int:
        """The position of one row out of `available`, which is at least 1."""
        return int(self.sample(available, 1)[0])
