"""`steps`: gold reasoning in the four-step clinical structure (M3CoTBench 3.2).

Models write the steps that the item's task has, one model makes one version of theirs, another
checks it; what people say of it in the rounds of `calibration` is put in where it belongs. An item
that already has steps is checked alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from overread.benchmarks.curated import STEP_TYPES, Item, Step, StepType
from overread.case import BadInput
from overread.curate.calibration import (
    Flag,
    Row,
    State,
    after_check,
    before_check,
    read_rounds,
    seen,
)
from overread.curate.hearing import (
    PROMPTS,
    Understood,
    material_of,
    object_in,
    one_line,
    prompt,
    question_to,
    supported,
    understood,
)
from overread.curate.questions import Heard, Question, Steps
from overread.curate.records import Record, record
from overread.curate.wanted import Wanted
from overread.judging import Read
from overread.judging.reading import read_json, spoken

ROLES: Final = ("steps", "merge", "checker")
UNREVIEWED: Final = "steps_unreviewed"
"""The flag of an item whose reasoning has not been through all rounds."""
ROUNDS_FILE: Final = "steps_rounds.csv"
"""What people said on the study's page, read where `rounds` names no other sheet."""
BY_RULE: Final = "rule:answer"
_LONGEST: Final = 800
_VERSIONS: Final = ("first_version", "second_version", "third_version", "fourth_version")
_STRUCTURE: Final[Mapping[str, list[StepType]]] = PROMPTS["structure"]
_CONTENTS: Final[Mapping[str, str]] = PROMPTS["contents"]
_USUAL: Final[tuple[StepType, ...]] = ("modality", "feature", "conclusion")
Written: TypeAlias = dict[StepType, str]
Rounds: TypeAlias = Generator[Sequence[Question], Sequence[Heard], Any]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[steps]` of curate.toml: `rounds` names the sheet of what people said, `student` and
    `expert` those who read on the study's page.
    """

    rounds: str = ""
    student: str = ""
    expert: str = ""


class _Flagged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    step: str
    why: str = ""


class Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a checking model replies."""

    flags: list[_Flagged]


class _Draft(msgspec.Struct):
    """An item on its way: its steps, who had a hand in them, and why there are none."""

    item: Item
    by: list[str] = []
    reason: str = ""
    fault: str = ""
    steps: tuple[Step, ...] = ()
    flags: list[Flag] = []


def structure_of(task: str) -> tuple[StepType, ...]:
    """The steps that a task has; those that are not named have the first three.

    >>> structure_of("Examination Type"), structure_of("Grading")
    (('modality', 'feature'), ('modality', 'feature', 'conclusion'))
    """
    return tuple(_STRUCTURE.get(task, _USUAL))


def reason(items: Sequence[Item], wanted: Wanted) -> Steps:
    """Items with their gold steps, and where they stand in the rounds."""
    options = wanted.options("steps", Options)
    rows: Mapping[str, list[Row]] = {}
    sheet = wanted.place(options.rounds or ROUNDS_FILE)
    if options.rounds or sheet.is_file():
        # On the study's page items may have been read that are no longer there.
        rows = read_rounds(sheet, {item.id for item in items} if options.rounds else None)
    drafts = [_Draft(item, by=[], flags=[], steps=item.steps) for item in items]
    bare = [draft for draft in drafts if not draft.steps]
    if bare:
        yield from _write(bare, wanted)
    there = [draft for draft in drafts if draft.steps]
    states = {}
    for draft in there:
        own = msgspec.structs.replace(draft.item, steps=draft.steps)
        states[draft.item.id] = before_check(own, rows.get(draft.item.id, ()))
    yield from _check(there, states, wanted)
    records = []
    for draft in drafts:
        state = states.get(draft.item.id)
        if state is not None:
            state = after_check(state, rows.get(draft.item.id, ()), draft.flags)
        records.append(_record(draft, state, seen(rows.get(draft.item.id, ()))))
    return records


# ---------------------------------------------------------------- writing and merging


def _words_of(task: str) -> dict[str, str]:
    kinds = structure_of(task)
    listed = "\n".join(f"- {kind}: {_CONTENTS[kind]}" for kind in kinds)
    form = ", ".join(f'"{kind}": "…"' for kind in kinds)
    return {"steps": listed, "form": f"{{{form}}}"}


def _write(drafts: Sequence[_Draft], wanted: Wanted) -> Rounds:
    """Have the steps of each item written, and one version made of several."""
    seats = wanted.seats("steps")
    merging = wanted.specs("merge")
    if len(seats) > 1 and not merging:
        raise BadInput(
            f"{wanted.file}: [models] names {len(seats)} under steps and nobody under merge, who "
            'makes one version of theirs. Write merge = "openai:MODEL@URL".'
        )
    if len(seats) > len(_VERSIONS):
        raise BadInput(
            f"{wanted.file}: [models] names {len(seats)} under steps; "
            f"name at most {len(_VERSIONS)}."
        )
    by_name = {draft.item.id: draft for draft in drafts}

    def read(question: Question, text: str) -> Read:
        return _read(text, structure_of(by_name[question.item].item.task))

    asked = [
        question_to(seat, draft.item.id, "steps", prompt("steps", material_of(draft.item),
                    **_words_of(draft.item.task)), draft.item.pictures)
        for draft in drafts
        for seat in seats
    ]  # fmt: skip
    written: dict[str, list[Written]] = defaultdict(list)
    for one in (yield from understood(asked, read)):
        draft = by_name[one.heard.question.item]
        draft.by.append(one.heard.by)
        if one.reason:
            draft.reason, draft.fault = one.reason, one.fault
        else:
            written[draft.item.id].append(one.value)
    if not merging:
        for draft in drafts:
            for own in written[draft.item.id][:1]:
                draft.steps = _steps(own)
        return
    (merger,) = merging
    merged = [draft for draft in drafts if written[draft.item.id]]
    asked = [_merge(draft.item, written[draft.item.id], merger) for draft in merged]
    for draft, one in zip(merged, (yield from understood(asked, read)), strict=True):
        draft.by.append(one.heard.by)
        draft.reason, draft.fault = one.reason, one.fault
        if not one.reason:
            draft.steps = _steps(one.value)


def _merge(item: Item, written: Sequence[Written], seat: str) -> Question:
    versions = {
        name: "\n".join(f"{kind}: {text}" for kind, text in own.items())
        for name, own in zip(_VERSIONS, written, strict=False)
    }
    text = prompt("merge", {**material_of(item), **versions}, **_words_of(item.task))
    return question_to(seat, item.id, "merge", text, item.pictures)


def _read(text: str, kinds: Sequence[StepType]) -> Read:
    """The steps of a reply: these keys and no others, each with a text."""
    said = spoken(text)
    if said is None:
        return Read(fault="the reply ends in its thoughts")
    found = read_json(said, "object")
    if not found.valid:
        return found
    if set(found.value) != set(kinds):
        return Read(fault=f"the keys are to be {', '.join(kinds)} and no others")
    texts = {}
    for kind in kinds:
        if not isinstance(found.value[kind], str) or not found.value[kind].strip():
            return Read(fault=f"{kind} is to be a text")
        texts[kind] = one_line(found.value[kind])
        if len(texts[kind]) > _LONGEST:
            return Read(fault=f"{kind} has more than {_LONGEST} characters")
    return Read(texts, found.how)


def _steps(written: Written) -> tuple[Step, ...]:
    return tuple(Step(kind, written[kind]) for kind in STEP_TYPES if kind in written)


# ---------------------------------------------------------------- checking


def _check(drafts: Sequence[_Draft], states: Mapping[str, State], wanted: Wanted) -> Rounds:
    """Have the steps flagged that may be wrong: by rule, and by a model if one is named."""
    for draft in drafts:
        draft.flags += _by_rule(draft.item, states[draft.item.id].steps)
    checking = wanted.specs("checker")
    if not checking:
        return
    (seat,) = checking
    asked = [_checked(draft.item, states[draft.item.id].steps, seat) for draft in drafts]
    for draft, one in zip(drafts, (yield from understood(asked, _read_flags)), strict=True):
        draft.by.append(one.heard.by)
        draft.flags += _flags(one, states[draft.item.id].steps)


def _by_rule(item: Item, steps: Sequence[Step]) -> list[Flag]:
    """The conclusion, where nothing from there on has the answer's words."""
    if item.kind not in ("single", "short") or not any(one.type == "conclusion" for one in steps):
        return []
    told = " ".join(one.text for one in steps if one.type in ("conclusion", "analysis"))
    if supported(item.answers[0], told, 0.5):
        return []
    return [Flag("conclusion", BY_RULE, "it does not hold the answer")]


def _checked(item: Item, steps: Sequence[Step], seat: str) -> Question:
    listed = "\n".join(f"{one.type}: {one.text}" for one in steps)
    text = prompt("check", {**material_of(item), "steps": listed})
    return question_to(seat, item.id, "check", text, item.pictures)


def _read_flags(question: Question, text: str) -> Read:
    found = object_in(text, Checked)
    if found.valid and any(flag.step.strip() not in STEP_TYPES for flag in found.value.flags):
        return Read(fault=f"a step is one of {', '.join(STEP_TYPES)}")
    return found


def _flags(one: Understood, steps: Sequence[Step]) -> list[Flag]:
    """What a model flagged; where it says nothing that can be read, an expert looks at all."""
    if one.reason:
        return [Flag(step.type, one.heard.by, f"not checked: {one.reason}") for step in steps]
    said = {flag.step.strip(): one_line(flag.why)[:300] for flag in one.value.flags}
    return [Flag(step.type, one.heard.by, said[step.type]) for step in steps if step.type in said]


# ---------------------------------------------------------------- the record


def _record(draft: _Draft, state: State | None, seen_rows: str) -> Record:
    if state is None or not state.steps:
        return record(
            draft.item, by=draft.by, verdict="dropped", reason=draft.reason or "no_steps",
            facts={"fault": draft.fault} if draft.fault else {},
        )  # fmt: skip
    by = [*draft.by, *(f"person:{name}" for name in state.people)]
    better = msgspec.structs.replace(draft.item, steps=state.steps)
    flags = tuple(flag for flag in better.flags if flag != UNREVIEWED)
    facts = {name: value for name, value in better.facts.items() if not _of_rounds(name)}
    better = msgspec.structs.replace(better, flags=flags, facts=facts)
    if state.dropped:
        return record(
            better, parents=[draft.item], by=by, verdict="dropped",
            reason=f"dropped_in_{state.dropped}",
        )  # fmt: skip
    marks = {f"flag_{flag.step}": flag.why or "flagged" for flag in draft.flags}
    better = better.marked(calibration=state.waits_for, rounds_seen=seen_rows, **marks)
    if state.disputed:
        better = better.marked(disputed=" ".join(state.disputed))
    if state.waits_for == "done":
        return record(better, parents=[draft.item], by=by)
    better = better.marked(UNREVIEWED)
    return record(better, parents=[draft.item], by=by, verdict="flagged",
                  reason=f"waits_for_{state.waits_for}")  # fmt: skip


def _of_rounds(name: str) -> bool:
    return name in ("calibration", "disputed", "rounds_seen") or name.startswith("flag_")
