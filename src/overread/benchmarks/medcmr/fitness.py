"""What judges are worth, beside every judged number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.check_truth import CHECKED, KNOWN, check_pairs
from overread.benchmarks.medcmr.components import COMPONENTS, COMPONENTS_OF
from overread.case import Measure
from overread.judging.asking import variant_of
from overread.judging.fitness import (
    NOT_CHECKED,
    UNFIT,
    Check,
    Fitness,
    fitness_measures,
    fitness_of,
)
from overread.judging.sensitivity import CHANGES, changed, shift_measure

if TYPE_CHECKING:
    import polars as pl

__all__ = ["S", "fitness_in", "fitness_measures", "labels_of", "shift_measures"]

S: Final = "score"
"""What the score made of all four is called among the components."""
_CONTROL: Final = "control:"


def fitness_in(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(_checks(verdicts, cases))


def _checks(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> Iterable[Check]:
    columns = ("judge", "role", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, role, question, reader, name, about, payload in checked.iter_rows():
        control = reader.removeprefix(_CONTROL)
        if name not in cases or control not in CHECKED or variant_of(about):
            continue
        value = None if payload is None else msgspec.json.decode(payload)
        for part, truth, said in check_pairs(control, cases[name], question, value):
            yield Check(judge, role, question, truth, said, part)


def labels_of(verdicts: pl.DataFrame, found: Sequence[Fitness]) -> Mapping[tuple[str, str], str]:
    """By judge and component, what stands beside its numbers: nothing where it is fit.

    The worst of the questions it was asked. Clarity and coherence cannot be checked. The score made
    of all four goes by those that can be, four fifths of it.
    """
    known = {(one.judge, one.question, one.part): one.label for one in found}
    labels: dict[tuple[str, str], set[str | None]] = {}
    for judge, question in verdicts.select("judge", "question").unique().iter_rows():
        for part in COMPONENTS_OF.get(question, ()):
            label = known.get((judge, question, part), NOT_CHECKED)
            labels.setdefault((judge, part), set()).add(label)
            if part in KNOWN:
                labels.setdefault((judge, S), set()).add(label)
    worst = {
        place: next((label for label in (UNFIT, NOT_CHECKED) if label in given), None)
        for place, given in sorted(labels.items())
    }
    return {place: label for place, label in worst.items() if label is not None}


def shift_measures(verdicts: pl.DataFrame, cases: Mapping[str, MedCase]) -> Iterator[Measure]:
    """How often each score of the controls' replies changes with what should not matter."""
    said: dict[tuple[str, str], dict[str, dict[tuple[str, ...], Mapping[str, float]]]] = {}
    columns = ("judge", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, question, reader, name, about, payload in checked.iter_rows():
        if name not in cases or question not in COMPONENTS_OF:
            continue
        told = msgspec.json.decode(about)
        place = (reader, name, str(told.get("form", "")))
        own = said.setdefault((judge, question), {}).setdefault(variant_of(about), {})
        own[place] = {} if payload is None else msgspec.json.decode(payload)
    for (judge, question), told_by in sorted(said.items()):
        for change in CHANGES:
            if change not in told_by:
                continue
            before, after = told_by.get("", {}), told_by[change]
            for part in [part for part in COMPONENTS if part in COMPONENTS_OF[question]]:
                first = [before.get(place, {}).get(part) for place in after]
                second = [value.get(part) for value in after.values()]
                by = {"judge": judge, "question": question, "component": part}
                yield shift_measure(by, changed(change, first, second))
