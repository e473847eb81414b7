"""The special functions that intervals and tests stand on: scipy's own, without its adaptors.

`scipy.special` also serves arrays of other libraries, and imports for it all of numpy with what
wraps Fortran and runs tests: a tenth of a second and 20 MB of every command. The functions stand
in one compiled module of that package, which needs none of it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import scipy

__all__ = [
    "bdtr", "bdtrc", "bdtrik", "betainc", "betaincinv", "fdtrc", "gammaln", "ndtr", "ndtri",
    "stdtr", "stdtrit", "xlog1py", "xlogy",
]  # fmt: skip

_PACKAGE = "scipy.special"


def _compiled() -> ModuleType:
    """The module with the functions; the whole package where it cannot be had by itself."""
    if _PACKAGE not in sys.modules:
        # A package of nothing but the folder, for as long as the modules in it find each other.
        bare = ModuleType(_PACKAGE)
        bare.__path__ = [str(Path(scipy.__path__[0]) / "special")]
        sys.modules[_PACKAGE] = bare
        try:
            found = importlib.import_module(f"{_PACKAGE}._ufuncs")
            if all(hasattr(found, name) for name in __all__):
                return found
        except ImportError:  # another scipy has them elsewhere
            pass
        finally:
            del sys.modules[_PACKAGE]
    return importlib.import_module(_PACKAGE)


_functions = _compiled()
bdtr = _functions.bdtr
bdtrc = _functions.bdtrc
bdtrik = _functions.bdtrik
betainc = _functions.betainc
betaincinv = _functions.betaincinv
fdtrc = _functions.fdtrc
gammaln = _functions.gammaln
ndtr = _functions.ndtr
ndtri = _functions.ndtri
stdtr = _functions.stdtr
stdtrit = _functions.stdtrit
xlog1py = _functions.xlog1py
xlogy = _functions.xlogy
