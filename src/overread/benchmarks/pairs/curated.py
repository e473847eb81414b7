"""Pairs of curation as rows of a set of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overread.benchmarks.curated import Item

_TRUE_OR_FALSE = ("true", "false")


def pair(first: Item, second: Item, images: Sequence[str]) -> dict[str, Any] | None:
    """Two items that ask the same of two pictures as a row; None where one shows several.

    `images` are the names of their pictures, that of the first item first.
    """
    answers = first.answers, second.answers
    if len(images) != 2 or len(set(images)) < 2 or any(len(one) != 1 for one in answers):
        return None
    if answers[0] == answers[1] or first.options != second.options:
        return None
    options = _TRUE_OR_FALSE if first.kind == "bool" else first.options
    if not len(options) >= 2 or any(one[0] not in options for one in answers):
        return None
    row = {
        "pair": first.pair,
        "question": first.question,
        "options": list(options),
        "image_1": images[0],
        "image_2": images[1],
        "answer_1": answers[0][0],
        "answer_2": answers[1][0],
        "group": first.task,
    }
    for number, item in enumerate((first, second), 1):
        if len(item.patients) == 1:
            row[f"patient_{number}"] = item.patients[0]
    return row
