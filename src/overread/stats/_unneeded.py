"""What scipy has numpy import, and nobody here needs, waits until somebody does.

`scipy.special` takes everything that numpy offers: also its compiler of Fortran and its tools for
tests, which take 55 of the 220 ms that importing it lasts.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np

_UNNEEDED = ("f2py", "testing")


def leave_for_later() -> None:
    """Have these modules of numpy loaded when something of them is first used."""
    for name in _UNNEEDED:
        whole = f"numpy.{name}"
        found = None if whole in sys.modules else importlib.util.find_spec(whole)
        if found is None or found.loader is None:
            continue
        found.loader = importlib.util.LazyLoader(found.loader)
        module = importlib.util.module_from_spec(found)
        sys.modules[whole] = module
        found.loader.exec_module(module)
        setattr(np, name, module)
