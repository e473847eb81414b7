"""Can the judges be trusted: on replies of known truth, with each other, and to be read at all?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.exhibits.numbers import cell
from overread.benchmarks.m3cot.exhibits.panels import (
    AGREEMENT,
    KAPPA,
    QUESTION_NAMES,
    SENSITIVITY,
    SPECIFICITY,
    tried,
)
from overread.case import Measure, Table
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT

__all__ = ["judge_tables"]

_OUTCOMES: Final = (
    "verdicts_judged",
    "verdicts_rescued",
    "verdicts_invalid",
    "verdicts_unanswered",
)
_LONGEST: Final = 160
_SHIFT: Final = "judge_shift"
# The harmless changes of `judging.sensitivity`, as columns.
_CHANGES: Final = {
    "sections": "changed by the parts' order",
    "steps": "changed by the gold steps' order",
    "length": "changed by length",
}
_SHIFT_NOTE: Final = (
    "Changed: of its verdicts on these replies, the share that is another when the parts of the "
    "prompt or the gold steps stand in reverse, or when polite words that say nothing go before "
    "the reply (the order then without others). Verdicts on one reply count as if they were "
    "independent."
)


def judge_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """Fitness, agreement, and verdicts that could be read."""
    yield _fitness(index, signature)
    yield _agreement(index, signature)
    yield _verdicts(index, signature)


def _fitness(index: Index, signature: str) -> Table | None:
    seen = dict.fromkeys(
        (record.by["judge"], record.by["question"])
        for records in (
            index.together(SENSITIVITY, "judge", "question"),
            index.together(SPECIFICITY, "judge", "question"),
            index.together(_SHIFT, "judge", "question", "change"),
        )
        for record in records
    )
    changes = [
        change
        for change in _CHANGES
        if any(index.get("", _SHIFT, judge=j, question=q, change=change) for j, q in seen)
    ]
    rows = []
    for judge, question in seen:
        found = [tried(index, name, judge, question) for name in (SENSITIVITY, SPECIFICITY)]
        there = [one for one in found if one is not None]
        label = next((one.label for one in there if one.label), "fit" if there else NOT_CHECKED)
        found += [
            index.get("", _SHIFT, judge=judge, question=question, change=change)
            for change in changes
        ]
        rows.append((judge, QUESTION_NAMES[question], *map(_bare, found), label))
    return table(
        "judge_fitness",
        "Are the judges fit?",
        (
            *("judge", "judges what", "sensitivity", "specificity"),
            *(_CHANGES[change] for change in changes),
            "so it is",
        ),
        rows,
        signature,
        (
            "Each judge first judges the controls' replies, whose truth is known. Sensitivity: of "
            "what is right, the share it calls right; specificity: of what is wrong, the share it "
            f"calls wrong. Verdicts that cannot be read count against both. Below "
            f"{100 * LIMIT:.0f} % either way: {UNFIT}.",
            *([_SHIFT_NOTE] if changes else []),
        ),
        facts=2,
    )


def _agreement(index: Index, signature: str) -> Table | None:
    whole = index.together(AGREEMENT, "judges", "question")
    parts = index.together(AGREEMENT, "judges", "question", "task")
    kappas = {
        tuple(sorted(record.by.items())): record
        for record in (
            *index.together(KAPPA, "judges", "question"),
            *index.together(KAPPA, "judges", "question", "task"),
        )
    }
    rows = []
    for record in (*whole, *parts):
        kappa = kappas.get(tuple(sorted(record.by.items())))
        rows.append(
            (
                record.by["judges"],
                QUESTION_NAMES[record.by["question"]],
                record.by.get("task", "all"),
                _bare(record),
                _kappa(kappa),
            )
        )
    return table(
        "judge_agreement",
        "Do the judges agree?",
        ("judges", "on", "task", "agreement %", "kappa"),
        rows,
        signature,
        (
            "Over verdicts that both gave. Kappa: Cohen's, agreement beyond that of judges who "
            "say as often what these say, but by lot; n/a where both said one thing only. Verdicts "
            "on one item's replies count as if they were independent.",
        ),
        facts=3,
    )


def _bare(record: Measure | None) -> str:
    """A cell about a judge, which is not itself judged."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{100 * record.value:.1f}"
    if record.low is not None and record.high is not None:
        text += f" [{100 * record.low:.1f}, {100 * record.high:.1f}]"
    return text if record.n is None else f"{text} n={record.n}"


def _kappa(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{record.value:.2f}"
    if record.low is not None and record.high is not None:
        text += f" [{record.low:.2f}, {record.high:.2f}]"
    return text


def _verdicts(index: Index, signature: str) -> Table | None:
    """Replies that were there, and verdicts that could be read."""
    rows = []
    for record in _plain_records(index):
        by = record.by
        answered = index.get(record.reader, "answered", mode=by["mode"])
        found = [index.get(record.reader, name, **by) for name in _OUTCOMES]
        told = found[1].note if found[1] is not None and found[1].note else ""
        rows.append(
            (
                record.reader,
                "CoT" if by["mode"] == "cot" else by["mode"],
                _counted(answered),
                by["judge"],
                QUESTION_NAMES[by["question"]],
                *map(_counted, found),
                told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…",
            )
        )
    return table(
        "verdicts",
        "Could replies and verdicts be read?",
        (
            *("reader", "mode", "replies", "judge", "judges what", "read", "of these rescued"),
            *("not readable", "no verdict", "how they were rescued"),
        ),
        rows,
        signature,
        (
            "k/n. Rescued: read after all, though not strict JSON in the words asked for. What is "
            "not readable was asked again first, as often as the edition says. Steps and order "
            "leave it out; accuracy counts it as wrong, or leaves it out in the authors' edition.",
        ),
        facts=5,
    )


def _plain_records(index: Index) -> list[Measure]:
    return index.all("verdicts_judged", "question", "mode", "judge")


def _counted(record: Measure | None) -> str:
    if record is None or record.k is None:
        return cell(record)
    return f"{record.k}/{record.n}"
