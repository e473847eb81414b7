"""Overread: the second reading for medical vision-language models.

Evaluation software, not a medical device; a passed gate is not a clearance.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported for it: see `imaging/darkroom.py`
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
__all__ = [
    "BadInput",
    "Measure",
    "Model",
    "Prompt",
    "Reply",
    "Run",
    "__version__",
    "judge",
    "load",
    "run",
]

if TYPE_CHECKING:
    from overread.case import BadInput, Measure, Prompt, Reply
    from overread.readers import Model
    from overread.runs import Run, judge, load, run

_HOME = dict.fromkeys(("run", "judge", "load", "Run"), "overread.runs")
_HOME["Model"] = "overread.readers"


def __getattr__(name: str) -> Any:
    """Import on first use: `import overread` stays quick (STYLE: under 0.2 s)."""
    if name not in __all__:
        raise AttributeError(f"module 'overread' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME.get(name, "overread.case")), name)
