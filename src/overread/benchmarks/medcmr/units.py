"""What judges judged, cut into single scores that a person can give too.

Each score of a reply is a unit with its grid as choices. The person sees what that score is to be
compared with: the caption for vision, the true answer for truth, neither for language and logic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.components import COMPONENTS, COMPONENTS_OF, grid_words
from overread.benchmarks.medcmr.judged import about_of
from overread.benchmarks.medcmr.schemas import cases_in
from overread.judging.sheet import Unit

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["CHOICES", "units_of"]

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {part: grid_words(part) for part in COMPONENTS}
"""By score, what judge and person may give."""


def units_of(tables: Tables) -> list[Unit]:
    """Every score of a run, with what each judge gave; judges' checks are left out."""
    if tables.verdicts is None:
        return []
    cases = {case.case_id: case for case in cases_in(tables.cases)}
    replies = {
        (row["reader"], row["case"], about_of(row)): row["text"] or ""
        for row in tables.answers.select(
            "reader", "case", "form", "image", "order", "text"
        ).iter_rows(named=True)
    }
    said: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for row in tables.verdicts.filter(~tables.verdicts["check"]).iter_rows(named=True):
        told = {"image": "original", "order": 0} | msgspec.json.decode(row["about"])
        place = (row["reader"], row["case"], about_of(told))
        if row["payload"] is None or row["case"] not in cases or place not in replies:
            continue
        value = msgspec.json.decode(row["payload"])
        for part in COMPONENTS_OF.get(row["question"], ()):
            word = f"{value[part]:g}" if part in value else ""
            if word in CHOICES[part]:
                said.setdefault((*place, part), {})[row["judge"]] = word
    return [
        Unit(
            item=name,
            question=part,
            reader=reader,
            asked=cases[name].question,
            gold=_gold(cases[name], part),
            reply=replies[reader, name, about],
            choices=CHOICES[part],
            verdicts=verdicts,
        )
        for (reader, name, about, part), verdicts in said.items()
    ]


def _gold(case: MedCase, part: str) -> str:
    return {"visual": case.caption or "", "truth": case.truth}.get(part, "")
