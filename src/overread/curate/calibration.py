"""Rounds of people over gold reasoning, after M3CoTBench 3.2: where each item stands, and why.

A student reads and mends; a model checks; an expert looks at what was flagged; where the expert
finds fault, student and expert agree on a text; an expert reads everything a last time. People's
part are rows of a sheet (`item`, `round`, `person`, `verdict`, `step`, `text`), filled by hand or
from a study. Without people an item stays where it is, and is marked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias, get_args

import msgspec

from overread.benchmarks.curated import STEP_TYPES, Item, Step, StepType, digest_of
from overread.benchmarks.files.sheets import filled_rows, quoted
from overread.case import BadInput
from overread.curate.records import Record

Round: TypeAlias = Literal["student", "expert", "consensus", "final"]
ROUNDS: Final[tuple[Round, ...]] = get_args(Round)
Opinion: TypeAlias = Literal["keep", "fix", "remove", "discuss", "drop"]
OPINIONS: Final[tuple[Opinion, ...]] = get_args(Opinion)
COLUMNS: Final = ("item", "round", "person", "verdict", "step", "text")
Waiting: TypeAlias = Literal["student", "check", "expert", "consensus", "final", "done"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says in a round: of one step, or with `step` empty of the whole.

    A fix has the new text, what is removed names a step. To discuss is to leave it to the expert,
    or to those who must agree.
    """

    round: Round
    person: str
    verdict: Opinion
    step: StepType | None = None
    text: str = ""


class Flag(msgspec.Struct, frozen=True):
    """A step that may be wrong, by whom it was flagged, and why."""

    step: StepType
    by: str
    why: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """An item's steps after the rounds it has been through, and what it waits for.

    `dropped` is the round that dropped it. `disputed` are the steps that the next round is about.
    """

    steps: tuple[Step, ...]
    waits_for: Waiting
    people: tuple[str, ...] = ()
    dropped: Round | None = None
    disputed: tuple[StepType, ...] = ()


def before_check(item: Item, rows: Sequence[Row]) -> State:
    """The steps after the student's reading; without one it waits for the student."""
    own = [row for row in rows if row.round == "student"]
    people = tuple(dict.fromkeys(row.person for row in own))
    doubted = tuple(dict.fromkeys(
        row.step for row in own if row.verdict in ("discuss", "drop") and row.step
    ))  # fmt: skip
    return State(
        steps=_mended(item.steps, own), waits_for="check" if own else "student", people=people,
        disputed=doubted,
    )  # fmt: skip


def after_check(state: State, rows: Sequence[Row], flags: Sequence[Flag]) -> State:
    """How far people have come with what a model flagged, or a student was in doubt of."""
    if state.waits_for == "student":
        return state
    by: dict[Round, list[Row]] = defaultdict(list)
    for row in rows:
        by[row.round].append(row)
    found = state
    disputed = tuple(dict.fromkeys((*state.disputed, *(flag.step for flag in flags))))
    unsure = any(row.verdict in ("discuss", "drop") for row in by["student"])
    if disputed or unsure:
        found = _after(found, by["expert"], "expert", disputed)
        if found.waits_for == "expert":
            return found
        if any(row.verdict != "keep" for row in by["expert"]):
            found = _after(found, by["consensus"], "consensus", disputed)
            if found.waits_for == "consensus" or found.dropped:
                return found
    found = _after(found, by["final"], "final", ())
    return found if found.waits_for == "final" else msgspec.structs.replace(found, waits_for="done")


def _after(state: State, rows: Sequence[Row], round_: Round, about: Sequence[StepType]) -> State:
    """The state after a round; it waits for it where nobody, or not everybody, has agreed."""
    waiting = msgspec.structs.replace(state, waits_for=round_, disputed=tuple(about))
    if not rows:
        return waiting
    if round_ in ("consensus", "final") and (
        any(row.verdict == "discuss" for row in rows) or _differ(rows)
    ):
        return waiting
    # An expert proposes, and those who must agree decide; the others' word is the last.
    dropped = round_ != "expert" and any(row.verdict == "drop" for row in rows)
    people = dict.fromkeys((*state.people, *(row.person for row in rows)))
    return State(
        steps=_mended(state.steps, rows), waits_for="check", people=tuple(people),
        dropped=round_ if dropped else None,
    )  # fmt: skip


def _differ(rows: Sequence[Row]) -> bool:
    """Whether people said two things of one step."""
    said: dict[StepType | None, set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        if row.step is not None or row.verdict == "drop":
            said[row.step].add((row.verdict, row.text))
    dropping = {row.verdict == "drop" for row in rows if row.step is None}
    return any(len(one) > 1 for one in said.values()) or len(dropping) > 1


def _mended(steps: Sequence[Step], rows: Sequence[Row]) -> tuple[Step, ...]:
    """The steps with what was mended, in the order of the structure; the last text counts."""
    texts: dict[StepType, str] = {step.type: step.text for step in steps}
    for row in rows:
        if row.verdict == "fix" and row.step is not None:
            texts[row.step] = row.text
        elif row.verdict == "remove" and row.step is not None:
            texts.pop(row.step, None)
    return tuple(Step(kind, texts[kind]) for kind in STEP_TYPES if kind in texts)


# ---------------------------------------------------------------- the sheet


def seen(rows: Sequence[Row]) -> str:
    """A name for what was said of an item, so that it is known what was taken into account."""
    return digest_of("rounds", list(rows))


def read_rounds(path: Path, items: Collection[str] | None = None) -> dict[str, list[Row]]:
    """What people said, by item; the last row of a person about a step in a round counts.

    With `items`, a row on any other is refused.
    """
    found: dict[str, dict[tuple[str, str, str], Row]] = defaultdict(dict)
    for number, cells in filled_rows(path, COLUMNS):
        name = cells["item"].strip()
        row = _row(path, number, cells)
        if row is None:  # not filled in yet
            continue
        if items is not None and name not in items:
            raise BadInput(
                f'{path} row {number}: item "{quoted(name)}" is none of this set. Its name is '
                "what `from` says in steps.jsonl."
            )
        found[name][row.round, row.person, row.step or ""] = row
    return {name: list(rows.values()) for name, rows in found.items()}


def _row(path: Path, number: int, cells: Mapping[str, str]) -> Row | None:
    values = {column: cells[column].strip() for column in COLUMNS}
    if not values["person"] and not values["verdict"]:
        return None

    def wrong(column: str, need: str) -> NoReturn:
        raise BadInput(f'{path} row {number}: {column} is "{quoted(values[column])}"; {need}.')

    if not values["person"]:
        wrong("person", "name who said it")
    if values["round"] not in ROUNDS:
        wrong("round", f"it is one of {', '.join(ROUNDS)}")
    if values["verdict"] not in OPINIONS:
        wrong("verdict", f"it is one of {', '.join(OPINIONS)}")
    if values["step"] and values["step"] not in STEP_TYPES:
        wrong("step", f"it is one of {', '.join(STEP_TYPES)}, or empty for the whole")
    if values["verdict"] == "remove" and not values["step"]:
        wrong("step", "name what is to be removed")
    text = " ".join(values["text"].split())
    if (values["verdict"] == "fix") != bool(text and values["step"]):
        wrong("text", "a fix names a step and has its new text, and nothing else has a text")
    made = {**values, "text": text, "step": values["step"] or None}
    made.pop("item")
    return msgspec.convert(made, Row)


def to_read(records: Iterable[Record]) -> list[dict[str, str]]:
    """Rows for people to fill in: what each item waits for, step by step, verdicts left empty."""
    rows = []
    for one in records:
        item = one.item if one.passes else None
        waiting = "" if item is None else str(item.facts.get("calibration", ""))
        if item is None or waiting not in ROUNDS:
            continue
        disputed = str(item.facts.get("disputed", "")).split()
        for step in item.steps:
            if waiting in ("student", "final") or step.type in disputed or not disputed:
                rows.append(
                    {
                        "item": one.parents[0], "round": waiting, "person": "", "verdict": "",
                        "step": step.type, "text": "", "now": step.text,
                        "question": item.question, "answer": "; ".join(item.answers),
                        "flagged": str(item.facts.get(f"flag_{step.type}", "")),
                    }
                )  # fmt: skip
    return rows
