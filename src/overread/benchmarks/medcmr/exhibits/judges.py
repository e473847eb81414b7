"""Can the judges be trusted?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.judges import agreement_table, fitness_table
from overread.benchmarks.exhibits.panels import Part
from overread.benchmarks.medcmr.exhibits.columns import COMPONENT_WORDS, parts_of
from overread.case import Table

__all__ = ["judge_tables"]

# The harmless changes of `judging.sensitivity`, as columns.
_CHANGES: Final = {
    "sections": "changed by the parts' order",
    "length": "changed by length",
}
_MOVED: Final = (
    "Changed: of its scores on these replies, the share that is another when the parts of the "
    "prompt stand in reverse, or when polite words that say nothing go before the reply."
)
_AGREED: Final = (
    "Agreement: the very same score. Kappa: Cohen's with quadratic weights, agreement beyond that "
    "of judges who give as often the scores that these give, but by lot; n/a where both said one "
    "thing only. Where judges part, a difference between readers may be the judge's."
)


def judge_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """On replies of known truth, and with each other."""
    parts = parts_of(index, every=True)
    yield fitness_table(index, signature, parts, _CHANGES, _MOVED)
    scores = [Part(said, name, {"component": name}) for name, said in COMPONENT_WORDS.items()]
    yield agreement_table(index, signature, scores, "dimension", _AGREED)
