"""The steps of curation in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from overread.curate.questions import Steps
from overread.curate.wanted import Wanted

ORDER: Final = ("collect", "ask", "distract", "steps", "filter", "review", "leakage", "publish")
"""All steps. `leakage` and `publish` write no file of items."""
WITH_ITEMS: Final = ORDER[:6]
"""The steps that write a file of records, of which a set may leave out all but the first two."""

Asking: TypeAlias = Callable[[Any, Wanted], Steps]
"""A step that asks: what passed before (candidates for `ask`, items for all others), and what is
wanted."""

STEPS: Final[dict[str, str]] = {
    "ask": "overread.curate.ask:ask",
    "distract": "overread.curate.distract:distract",
    "steps": "overread.curate.reasoning:reason",
    "filter": "overread.curate.filtering:filtered",
}
"""Steps that ask models, by where their function stands; its module has ROLES beside it."""
