"""The functions of `scipy.special` that numbers stand on, imported in half the time.

On its way SciPy takes every name that numpy lists (`array_api_compat.clone_module`), and so loads
what nobody here needs: `numpy.f2py`, `numpy.testing`, `numpy.ma` and others, 50 ms of every
command. They are not listed while it is imported, and are there as before for whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy

__all__ = [
    "bdtr",
    "bdtrc",
    "bdtrik",
    "betainc",
    "betaincinv",
    "fdtrc",
    "gammaln",
    "ndtr",
    "ndtri",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
]

_UNNEEDED: Final = frozenset(
    {"char", "core", "ctypeslib", "f2py", "ma", "polynomial", "rec", "strings", "test", "testing"}
)


@contextmanager
def _listing_less() -> Iterator[None]:
    """Modules of numpy that load when they are named are not listed; nothing is taken away."""
    listed, names = numpy.__all__, numpy.__dir__
    numpy.__all__ = [name for name in listed if name not in _UNNEEDED]
    numpy.__dir__ = lambda: [name for name in names() if name not in _UNNEEDED]  # type: ignore[method-assign]
    try:
        yield
    finally:
        numpy.__all__, numpy.__dir__ = listed, names  # type: ignore[method-assign]


with _listing_less():
    from scipy.special import (
        bdtr,
        bdtrc,
        bdtrik,
        betainc,
        betaincinv,
        fdtrc,
        gammaln,
        ndtr,
        ndtri,
        stdtr,
        stdtrit,
        xlog1py,
        xlogy,
    )
