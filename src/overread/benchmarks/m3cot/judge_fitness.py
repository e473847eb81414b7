"""What judges are worth: on replies of known truth, under harmless changes, and beside each other.

A fit judge must say of each control's reasoned reply: yes, no, or None.

answer     one truth: is the answer right?
precision  one truth: is at least half of the content steps right?
recall     one truth for each gold step: is it in the reply?
order      one truth: do the gold steps' types come in their order?

None is what two fit judges may disagree on (a bare answer may well state a conclusion): it is no
test, and pairs with it are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import STEPS, M3Case
from overread.benchmarks.m3cot.controls import ControlName
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import Floats, facts_of
from overread.benchmarks.m3cot.paths import path_of
from overread.benchmarks.m3cot.steps import precision_of
from overread.benchmarks.m3cot.study import agreeing, apart, left_open, noted, quotients
from overread.benchmarks.m3cot.verdicts import QUESTIONS
from overread.case import Measure
from overread.judging.agreement import Agreement, agreements
from overread.judging.asking import variant_of
from overread.judging.fitness import Check, Fitness, fitness_measures, fitness_of, panel_label
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

__all__ = [
    "SHIFT",
    "agreement_measures",
    "check_found",
    "check_pairs",
    "check_truth",
    "compared",
    "fitness_in",
    "fitness_measures",
    "labels_of",
    "shift_measures",
]

_ANSWERS_RIGHT: Final = ("clinician", "answer-only", "scrambled")
_CATEGORY: Final = {**{step: str(step) for step in STEPS}, "analysis": "others"}


def check_truth(control: ControlName, case: M3Case, question: str) -> tuple[bool | None, ...]:
    """What is true of a control's reply in the mode cot, by one of the judge's four questions."""
    if question == "answer":
        return (control in _ANSWERS_RIGHT,)
    if question == "precision":
        return (None if control == "answer-only" else control != "rambler",)
    if question == "recall":
        return tuple(_recall_truth(control, case, place) for place in range(len(case.steps)))
    if question == "order":
        return (_order_truth(control, case),)
    raise ValueError(f"a judge is asked answer, precision, recall or order, not {question}")


def _recall_truth(control: ControlName, case: M3Case, place: int) -> bool | None:
    if control == "rambler":
        return place == 0
    if control == "answer-only":
        # Examination, conclusion and analysis may all be what the answer says; a feature is not.
        return False if case.steps[place].type == "feature" else None
    return True


def _order_truth(control: ControlName, case: M3Case) -> bool | None:
    types = [step.type for step in case.steps]
    if control in ("answer-only", "rambler") or len(set(types)) < 2:
        return None
    if len(set(types)) < len(types) or types != sorted(types, key=STEPS.index):
        return None  # a gold path that does not itself go by types
    return control != "scrambled"


def check_found(case: M3Case, question: str, value: Any) -> tuple[bool, ...]:
    """The same of a judge's verdict, in the canonical form of `verdicts`."""
    if question == "answer":
        return (bool(value["match"]),)
    if question == "recall":
        said = list(value)[: len(case.steps)]
        return (*map(bool, said), *[False] * (len(case.steps) - len(said)))
    if question == "precision":
        return (_half_right(value),)
    if question == "order":
        return (_found_in_order(case, value),)
    raise ValueError(f"a judge is asked answer, precision, recall or order, not {question}")


def _half_right(steps: Sequence[Mapping[str, Any]]) -> bool:
    content = [step for step in steps if step["type"] in STEPS]
    right = sum(step["judgment"] == "Match" for step in content)
    return bool(content) and 2 * right >= len(content)


def _found_in_order(case: M3Case, ranks: Mapping[str, Any]) -> bool:
    """Whether the categories that the gold steps have come in the gold order, none missing."""
    gold = tuple(_CATEGORY[step.type] for step in case.steps)
    return tuple(name for name in path_of(ranks) if name in gold) == gold


def check_pairs(
    control: ControlName, case: M3Case, question: str, value: Any
) -> list[tuple[bool, bool | None]]:
    """Pairs of truth and verdict, those left out on which fit judges may differ.

    A `value` of None is a verdict that could not be read: it says nothing of any truth.
    """
    truths = check_truth(control, case, question)
    said: tuple[bool | None, ...] = (None,) * len(truths)
    if value is not None:
        said = check_found(case, question, value)
    pairs = zip(truths, said, strict=True)
    return [(truth, found) for truth, found in pairs if truth is not None]


_CONTROL_PREFIX = "control:"


def fitness_in(verdicts: pl.DataFrame, cases: Mapping[str, M3Case]) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(_checks_in(verdicts, cases))


def _checks_in(verdicts: pl.DataFrame, cases: Mapping[str, M3Case]) -> Iterable[Check]:
    columns = ("judge", "role", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, role, question, reader, name, about, payload in checked.iter_rows():
        if name not in cases or variant_of(about):
            continue
        value = None if payload is None else msgspec.json.decode(payload)
        control = reader.removeprefix(_CONTROL_PREFIX)
        for truth, said in check_pairs(control, cases[name], question, value):
            yield Check(judge, role, question, truth, said)


# What was said of each control's reply to each item; None where it cannot be read.
_SaidOfReplies: TypeAlias = dict[tuple[str, str], Any]


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
    said: dict[tuple[str, str], dict[str, _SaidOfReplies]] = {}
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
                found = _shift_of(question, change, told.get("", {}), told[change], cases)
                yield shift_measure({"judge": judge, "question": question}, found)


def _shift_of(
    question: str,
    change: Change,
    before: _SaidOfReplies,
    after: _SaidOfReplies,
    cases: Mapping[str, M3Case],
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
        first += _labels_compared(question, before.get(place), width, without)
        second += _labels_compared(question, value, width, without)
    return changed(change, first, second)


def _labels_compared(
    question: str, value: Any, width: int, without: Mapping[str, int]
) -> list[Any]:
    found = compared(question, {**value, **without} if value is not None and without else value)
    return found if len(found) == width else [None] * width


Label = Hashable | None


def agreement_measures(
    cases: pl.DataFrame, verdicts: pl.DataFrame, edition: Edition
) -> Iterator[Measure]:
    """`judge_agreement` and `judge_kappa` of each pair of judges at each question.

    Compared are: answer, right or wrong; recall, each gold step there or not; precision, whether
    half of the steps match (judges take a reply apart each in its own way); order, the path.
    What is said of one item (of one patient) is not independent: these are resampled whole.
    """
    tasks = dict(cases.select("case", "task").iter_rows())
    facts = facts_of(cases)
    owners = dict(zip(facts.cases, facts.patients.tolist(), strict=True))
    for question in QUESTIONS:
        labels, items = _labels_by_judge(verdicts, question)
        if len(labels) < 2:
            continue
        groups = [tasks.get(item) or "" for item in items]
        # The points only: intervals are made here.
        for one in agreements(labels, groups, n_boot=2, seed=edition.seed):
            held = [at for at, group in enumerate(groups) if one.group in (None, group)]
            pairs = [
                (labels[one.first][at], labels[one.second][at], owners.get(items[at], -1))
                for at in held
            ]
            both = [pair for pair in pairs if pair[0] is not None and pair[1] is not None]
            yield from _agreement_of_pair(one, question, both, edition)


def _labels_by_judge(
    verdicts: pl.DataFrame, question: str
) -> tuple[dict[str, list[Label]], list[str]]:
    """What each judge said, in one order for all; and the item of each label."""
    own = verdicts.filter((verdicts["question"] == question) & ~verdicts["check"])
    said: dict[str, dict[tuple[str, str, str], list[Label]]] = {}
    for row in own.sort("judge", "reader", "case", "about").iter_rows(named=True):
        payload = None if row["payload"] is None else msgspec.json.decode(row["payload"])
        place = (row["reader"], row["case"], row["about"])
        said.setdefault(row["judge"], {})[place] = compared(question, payload)
    places = sorted({place for given in said.values() for place in given})
    # A gold step is a label of its own, so an item has as many as its longest verdict.
    width = {
        place: max(len(given.get(place, ())) for given in said.values()) or 1 for place in places
    }
    labels = {
        judge: [
            label
            for place in places
            for label in (*given.get(place, ()), *[None] * width[place])[: width[place]]
        ]
        for judge, given in said.items()
    }
    return labels, [place[1] for place in places for _ in range(width[place])]


def compared(question: str, payload: Any) -> list[Label]:
    """What of a verdict is compared with another's; nothing of one that cannot be read."""
    if payload is None:
        return []
    if question == "answer":
        return [bool(payload["match"])]
    if question == "recall":
        return [bool(hit) for hit in payload]
    if question == "precision":
        found = precision_of(payload)
        return [found is not None and found >= 0.5]
    return [path_of(payload)]


Pair = tuple[Label, Label, int]


def _agreement_of_pair(
    one: Agreement, question: str, both: Sequence[Pair], edition: Edition
) -> Iterator[Measure]:
    by = {"judges": f"{one.first} / {one.second}", "question": question}
    if one.group:
        by["task"] = one.group
    elif one.group is not None:
        return  # items without a task are in the whole only
    missing = f"{one.missing} without a verdict of both" if one.missing else None
    drawn = _resampled_agreement(both, edition)
    for name, point, estimates in (
        ("judge_agreement", one.percent.point, drawn[0]),
        ("judge_kappa", one.kappa.point, drawn[1]),
    ):
        made = Measure(reader="", measure=name, by=dict(by), value=point, n=one.n, note=missing)
        if point is None:
            yield noted(made, "both said one thing only" if both else "no verdict of both")
        else:
            yield _with_interval(made, estimates, len({owner for *_, owner in both}), edition)


def _resampled_agreement(both: Sequence[Pair], edition: Edition) -> tuple[Floats, Floats]:
    """Share agreed on and Cohen's kappa in every resample of the patients; NaN without one."""
    from overread.stats import PatientWeights

    numbers: dict[Label, int] = {}
    for one, two, _ in both:
        numbers.setdefault(one, len(numbers))
        numbers.setdefault(two, len(numbers))
    mine, theirs = (np.array([numbers[pair[at]] for pair in both], dtype=int) for at in (0, 1))
    known = np.eye(len(numbers))
    table = np.hstack([(mine == theirs)[:, None], known[mine], known[theirs]]).astype(float)
    owners = np.array([owner for *_, owner in both], dtype=np.int64)
    totals = PatientWeights(owners, n_boot=edition.boot, seed=edition.seed).totals(table)
    same, end = totals[:, 0], 1 + len(numbers)
    n = totals[:, 1:end].sum(axis=1)
    chance = (totals[:, 1:end] * totals[:, end:]).sum(axis=1)
    # All whole numbers: what agrees always by chance has exactly 0 below the line.
    return quotients(same, n), quotients(n * same - chance, n * n - chance)


def _with_interval(made: Measure, estimates: Floats, owners: int, edition: Edition) -> Measure:
    """With its interval; where no resample differs, agreement has what Wilson's leaves open."""
    from overread.stats import resample_interval

    assert made.value is not None
    if owners < 2:
        return noted(made, "one item has no interval")
    low, high, sd = resample_interval(estimates, made.value)
    if low is not None and high is not None and apart(low, high):
        method = f"bootstrap of items:{edition.boot}:{edition.seed}"
        return msgspec.structs.replace(made, low=low, high=high, sd_boot=sd, method=method)
    if made.measure == "judge_agreement":
        return agreeing(made, left_open(owners), (0.0, 1.0))
    return noted(made, "no interval: every resample agrees alike")
