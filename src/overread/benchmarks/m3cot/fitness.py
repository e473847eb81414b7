"""What judges are worth, beside every judged number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from overread.benchmarks.m3cot.agreement import compared
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.verdicts import QUESTIONS
from overread.case import Measure
from overread.judging.asking import variant_of
from overread.judging.fitness import Fitness, fitness_measures, panel_label
from overread.judging.sensitivity import (
    CHANGES,
    SHIFT,
    Change,
    Sensitivity,
    Variant,
    changed,
    restored,
    shift_measure,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SHIFT", "fitness_measures", "labels_of", "shift_measures"]

# What was said of each control's reply to each item; None where it cannot be read.
_Said: TypeAlias = dict[tuple[str, str], Any]


def labels_of(verdicts: pl.DataFrame, found: Sequence[Fitness]) -> Mapping[tuple[str, str], str]:
    """By judge and question, what stands beside its numbers: nothing where it is fit."""
    pairs = verdicts.select("judge", "question").unique().sort("judge", "question").iter_rows()
    labels = {(j, q): panel_label([j], [q], found) for j, q in pairs}
    return {pair: label for pair, label in labels.items() if label is not None}


def shift_measures(verdicts: pl.DataFrame, cases: Mapping[str, M3Case]) -> Iterator[Measure]:
    """How often each judge's verdicts on the controls' replies change with what should not matter.

    A verdict is what two judges are compared by: the answer right or wrong, half of the reply's
    steps right or not, each gold step there or not, the path. Polite words are no step of a path,
    but a judge may well take them for others: with them, paths are compared without others.
    """
    said: dict[tuple[str, str], dict[str, _Said]] = {}
    columns = ("judge", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, question, reader, name, about, payload in checked.iter_rows():
        if name in cases:
            value = None if payload is None else msgspec.json.decode(payload)
            own = said.setdefault((judge, question), {}).setdefault(variant_of(about), {})
            own[reader, name] = value
    order = sorted(said, key=lambda pair: (pair[0], QUESTIONS.index(pair[1])))
    for judge, question in order:
        told = said[judge, question]
        for change in CHANGES:
            if change in told:
                found = _shift(question, change, told.get("", {}), told[change], cases)
                yield shift_measure({"judge": judge, "question": question}, found)


def _shift(
    question: str, change: Change, before: _Said, after: _Said, cases: Mapping[str, M3Case]
) -> Sensitivity:
    first: list[Any] = []
    second: list[Any] = []
    for place, value in after.items():
        gold = len(cases[place[1]].steps)
        width = gold if question == "recall" else 1
        if question == "recall" and change == "steps" and value is not None and len(value) == gold:
            # The gold steps stood in reverse: what is said of each goes back to its place.
            value = restored(value, Variant(change, {}, tuple(reversed(range(gold)))))
        without = {"others": 0} if question == "order" and change == "length" else {}
        first += _labels(question, before.get(place), width, without)
        second += _labels(question, value, width, without)
    return changed(change, first, second)


def _labels(question: str, value: Any, width: int, without: Mapping[str, int]) -> list[Any]:
    found = compared(question, {**value, **without} if value is not None and without else value)
    return found if len(found) == width else [None] * width
