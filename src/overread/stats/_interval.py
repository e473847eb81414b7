"""What every estimator here returns."""

from __future__ import annotations

import msgspec

__all__ = ["Interval"]


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval and spread; a field without a value is None.

    `sd` is the standard error: analytic or the standard deviation of resampled estimates, as the
    function that made it says. `n` counts what the estimate stands on.
    """

    point: float | None
    low: float | None
    high: float | None
    sd: float | None
    n: int

    @property
    def defined(self) -> bool:
        return self.point is not None
