"""What judges say of a reply's reasoning, and who said it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits import panels
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.panels import Part

__all__ = ["PARTS", "notes_on_judges"]

PARTS: Final = {
    name: Part(said, measure, {"question": name}, keys)
    for name, said, measure, keys in (
        ("answer", "answers", "accuracy", ("mode",)),
        ("precision", "the reply's steps", "precision", ()),
        ("recall", "the gold steps", "recall", ()),
        ("order", "the order", "consistency", ()),
    )
}
"""By question."""


def notes_on_judges(index: Index, questions: Sequence[str]) -> Iterator[str]:
    """Who judged these, how fit each is, and what the marks mean."""
    return panels.notes_on_judges(index, [PARTS[question] for question in questions])
