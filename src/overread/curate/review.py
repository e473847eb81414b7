"""`review`: what people decided about items, and what becomes of them.

Two reviewers see every item, an auditor what they do not agree on. Keep, fix or drop: a fixed item
is what the fix made of it, and is named anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from overread.benchmarks.curated import Item, Step
from overread.benchmarks.letter_parser import LETTERS
from overread.case import Measure
from overread.curate.records import Record, record

UNREVIEWED: Final = "unreviewed"
BY_NOBODY: Final = "rule:unreviewed"
FILE: Final = "review.json"


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[review]`: who reviews (each item by two), who decides where they differ, and the reasons
    they may give for a fix or a drop, where these are not the usual ones.
    """

    reviewers: tuple[str, ...] = ()
    auditor: str = ""
    each: int = 2
    reasons: tuple[str, ...] = ()
    welcome: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """What people say of one item: answers by question, by whom, and whether an auditor had to."""

    values: dict[str, str]
    by: tuple[str, ...]
    audited: bool = False


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    """How a set was reviewed: by whom, how often the auditor decided, how far reviewers agreed."""

    reviewers: tuple[str, ...] = ()
    auditor: str = ""
    items: int = 0
    audited: int = 0
    unreviewed: int = 0
    agreement: tuple[Measure, ...] = ()


def decided(items: Sequence[Item], verdicts: Mapping[str, Verdict]) -> Iterator[Record]:
    """Items as people want them. One that nobody decided about is dropped, and said to be."""
    for item in items:
        said = verdicts.get(item.id)
        if said is None:
            yield record(item, by=["rule:review"], verdict="dropped", reason="not_reviewed")
            continue
        by = [f"person:{name}" for name in said.by]
        decision = said.values.get("decision", "")
        reason = _code(said.values.get("reasons", "").partition("\n")[0])
        facts = {"audited": said.audited} | (
            {"note": said.values["note"]} if said.values.get("note") else {}
        )
        if decision == "keep":
            yield record(item, by=by, facts=facts)
        elif decision == "fix":
            mended = fixed(item, said.values)
            lack = lack_of(mended)
            if lack:
                yield record(
                    item, by=by, verdict="dropped", reason="fix_unusable", facts={"lack": lack}
                )
            else:
                yield record(mended, parents=[item], by=by, reason=reason, facts=facts)
        else:  # dropped, or the auditor could not tell either
            yield record(
                item, by=by, verdict="dropped", reason=reason or "cannot_tell", facts=facts
            )


def unreviewed(items: Sequence[Item]) -> Iterator[Record]:
    """Items that nobody has reviewed, each marked so for ever."""
    for item in items:
        yield record(
            item.marked(UNREVIEWED),
            parents=[item],
            by=[BY_NOBODY],
            verdict="flagged",
            reason=UNREVIEWED,
        )


def _code(words: str) -> str:
    return "_".join(words.casefold().split())


def shown_options(item: Item) -> tuple[str, ...]:
    """The options as reviewers see them: of a true-or-false question these two."""
    return ("true", "false") if item.kind == "bool" else item.options


def fixed(item: Item, values: Mapping[str, str]) -> Item:
    """An item with the texts that were mended; an option that is right stays right."""
    options = list(shown_options(item))
    answers = list(item.answers)
    if item.kind in ("single", "multiple"):
        for place, letter in zip(range(len(options)), LETTERS, strict=False):
            # On one line, as all options: they stand below each other.
            text = " ".join(values.get(f"option_{letter}_text", "").split())
            if text:
                answers = [text if answer == options[place] else answer for answer in answers]
                options[place] = text
    right = values.get("right", "")
    if right and right in LETTERS[: len(options)] and item.kind != "multiple":
        answers = [options[LETTERS.index(right)]]
    mended = values.get("answer_text", "").strip()
    if mended and item.kind == "multiple":  # several of the options, by semicolons
        answers = [text.strip() for text in mended.split(";") if text.strip()]
    elif mended and not options:
        answers = [mended]
    steps = [
        Step(step.type, values.get(f"step_{number}_text", "").strip() or step.text)
        for number, step in enumerate(item.steps, 1)
    ]
    return msgspec.structs.replace(
        item,
        question=values.get("question_text", "").strip() or item.question,
        options=item.options if item.kind == "bool" else tuple(options),
        answers=tuple(answers),
        steps=tuple(steps),
    )


def lack_of(item: Item) -> str:
    """What an item lacks so that it could be asked; empty where it lacks nothing."""
    if not item.question.strip() or not item.answers or not all(item.answers):
        return "question or answer is empty"
    if item.kind == "bool":
        return "" if item.answers[0] in ("true", "false") else "answer is neither true nor false"
    if item.kind == "short":
        return ""
    folded = [text.strip().casefold() for text in item.options]
    if len(folded) < 2 or not all(folded) or len(set(folded)) < len(folded):
        return "options are too few, empty or the same"
    if any(answer not in item.options for answer in item.answers):
        return "the right option is not among them"
    return "" if item.wrong else "every option is right"
