"""The gold steps of a case beside a reader's own, with the judge's marks.

All words are other people's: they are cut, and shown without what would act on the text around
them. The page escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.benchmarks.exhibits.cells import CUT, cut
from overread.benchmarks.m3cot.cards import STEP_LABELS
from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.marks import COT, Marks, facts_of, marks_of
from overread.benchmarks.m3cot.paths import path_of
from overread.benchmarks.m3cot.steps import precision_of
from overread.case import Table
from overread.judging.question import reread

if TYPE_CHECKING:
    from overread.benchmarks.base import Tables
    from overread.benchmarks.m3cot.cases import M3Case

_READERS: Final = 3
_STEPS: Final = 20
_WHICH: Final = {"best": 1.0, "middle": 0.5, "worst": 0.0}


class _View(NamedTuple):
    """A reply and what one judge made of it."""

    case: M3Case
    reader: str
    judge: str
    place: int
    steps: Sequence[Mapping[str, Any]]
    matched: Sequence[bool]

    @property
    def score(self) -> float:
        """The mean of precision and recall."""
        recall = sum(self.matched) / len(self.matched) if self.matched else 0.0
        return (recall + (precision_of(self.steps) or 0.0)) / 2


def case_views(tables: Tables, edition: Edition, signature: str) -> Iterator[Table]:
    """For the first readers, the case it did best on, one in the middle, and the worst."""
    if tables.verdicts is None or tables.verdicts.is_empty():
        return
    cases = cases_in(tables.cases)
    verdicts = reread(questions(edition), tables.verdicts, cases)
    facts = facts_of(tables.cases)
    readers = tuple(reader.name for reader in tables.readers)
    number = 0
    for marks in marks_of(readers, facts, tables.answers, verdicts):
        views = _views(marks, cases)
        if not views:
            continue
        number += 1
        if number > _READERS:
            return
        for which, view in _chosen(views):
            yield _table(f"case-{number}-{which}", which, view, marks, signature)


def _views(marks: Marks, cases: Mapping[str, M3Case]) -> list[_View]:
    """Replies that one judge, the first who did, judged both ways; the worst first."""
    for judge in marks.judges("precision", COT):
        steps = dict(marks.given("precision", COT, judge))
        matched = dict(marks.given("recall", COT, judge))
        views = [
            _View(
                cases[marks.facts.cases[place]],
                marks.reader,
                judge,
                place,
                steps[place],
                matched[place],
            )
            for place in sorted(steps.keys() & matched.keys())
            if not marks.silent_at(COT, place)
        ]
        if views:
            return sorted(views, key=lambda view: (view.score, view.place))
    return []


def _chosen(views: Sequence[_View]) -> Iterator[tuple[str, _View]]:
    """Few cases are shown once each."""
    seen: set[int] = set()
    for which, share in _WHICH.items():
        place = round(share * (len(views) - 1))
        if place not in seen:
            seen.add(place)
            yield which, views[place]


def _table(name: str, which: str, view: _View, marks: Marks, signature: str) -> Table:
    case = view.case
    gold = [
        (STEP_LABELS[step.type], cut(step.text), "there" if hit else "missing")
        for step, hit in zip_longest(case.steps, view.matched[: len(case.steps)], fillvalue=False)
        if not isinstance(step, bool)
    ]
    other = STEP_LABELS["other"]
    own = [
        (STEP_LABELS.get(str(step["type"]), other), cut(str(step["text"])), _mark(step))
        for step in view.steps[:_STEPS]
    ]
    blank = ("", "", "")
    rows = [
        (str(number), *left, *right)
        for number, (left, right) in enumerate(zip_longest(gold, own, fillvalue=blank), start=1)
    ]
    return Table(
        name=name,
        title=f"Case {cut(case.case_id, 60)}, {which} of {view.reader}: its steps beside the gold",
        columns=(
            *("", "gold step", "gold", "in the reply?"),
            *("reply's step", f"as {view.judge} took it apart", "mark"),
        ),
        rows=tuple(rows),
        signature=signature,
        notes=tuple(_notes(view, marks)),
    )


def _mark(step: Mapping[str, Any]) -> str:
    """The judge's word; steps that restate the question are in neither count."""
    said = step["judgment"]
    return "none" if said is None else cut(str(said), 20)


def _notes(view: _View, marks: Marks) -> Iterator[str]:
    case = view.case
    yield f"{case.task or 'No task'}, {case.kind}: {cut(case.question, 2 * CUT)}"
    yield f"Gold answer: {cut(case.answer)}. {_answers(view, marks)}"
    paths = _paths(view, marks)
    if paths:
        yield paths
    yield f"The reply begins: {cut(marks.said[COT][view.place].text)}"
    left = len(view.steps) - _STEPS
    more = f" {left} more steps are left out." if left > 0 else ""
    yield (
        f"Texts are cut after {CUT} characters, the question after {2 * CUT}. Match, Wrong and "
        f"N/A (background) are the judge's words.{more}"
    )


def _answers(view: _View, marks: Marks) -> str:
    """The answer that each judge read out of the reply, and whether it is right."""
    said = [
        f"{judge} reads {cut(str(found['final_answer']), 80)!r}: "
        f"{'right' if found['match'] else 'wrong'}"
        for judge, found in marks.judged_at("answer", COT, view.place).items()
    ]
    return "; ".join(said) + "." if said else "Nobody judged the answer."


def _paths(view: _View, marks: Marks) -> str:
    said = [
        f"{' > '.join(path_of(found)) or 'no category'} ({judge})"
        for judge, found in marks.judged_at("order", COT, view.place).items()
    ]
    return f"Order of the reply: {'; '.join(said)}." if said else ""
