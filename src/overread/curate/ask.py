"""Questions about pictures: written by a model from templates, or made of labels without one.

The writer gets a caption and the questions of one dimension or task, chooses one, and takes the
answer out of the caption. What it replies is believed as far as the caption bears it out: the
answer's words and what it fills in must stand there, and the question must not hold its answer.
Pictures without a caption, or with labels, masks, boxes or grades, are turned into items by rule
(`convert`), paired wherever labels allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from overread.benchmarks.curated import Candidate, Item
from overread.benchmarks.draws import lot
from overread.case import BadInput
from overread.curate.convert import CONVERSIONS, Conversion, Converted, converted, item_about
from overread.curate.hearing import (
    Understood,
    object_in,
    one_line,
    prompt,
    question_to,
    supported,
    understood,
)
from overread.curate.options import placed
from overread.curate.questions import Question, Steps
from overread.curate.records import Record, record
from overread.curate.templates import Group, labels_of, load_templates, slots_of
from overread.curate.wanted import Wanted
from overread.judging import Read

ROLES: Final = ("writer",)
_LONGEST: Final = 200
_MOST: Final = 100
_MOST_ANSWERS: Final = 4


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[ask]` of curate.toml.

    `written` questions are written for each captioned picture, each from another group; a group of
    which none fits gives way to the next, `tries` times in all. `groups` are those used, by name,
    all where it is empty. `support` is the share of an answer's words that must stand in the
    caption.

    `conversions` are made of labels, of each picture `converted` at most, and in pairs alone unless
    `unpaired` ones are wanted too; `complete` names the collections whose labels are all that is
    true of a picture, `grade` the column with a grade, `grades` its words from mild to severe,
    `graded` what is graded.
    """

    written: int = 1
    converted: int = 2
    unpaired: bool = False
    tries: int = 2
    groups: tuple[str, ...] = ()
    support: float = 0.8
    conversions: tuple[Conversion, ...] = CONVERSIONS
    complete: tuple[str, ...] = ()
    grade: str = ""
    grades: tuple[str, ...] = ()
    graded: str = "the finding"


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a writer replies; `question` is a number of the list, None where none fits."""

    question: str | int | None
    fill: dict[str, str] = {}
    answers: list[str] = []


class _Slot(msgspec.Struct):
    """A question to be written about a picture, and the groups that are left for it."""

    candidate: Candidate
    group: Group
    others: list[Group]
    last: Understood | None = None
    item: Item | None = None
    reason: str = ""


def ask(candidates: Sequence[Candidate], wanted: Wanted) -> Steps:
    """Items of the candidates: those converted from labels, then those a writer wrote."""
    options = _options(wanted, candidates)
    groups = _groups(wanted, options)
    made = converted(candidates, wanted.seed, options)
    seats = tuple(wanted.specs("writer")) if options.written else ()
    slots = _slots(candidates, groups, options, wanted.seed) if seats else []
    written = {slot.candidate.id for slot in slots}
    records = [
        _converted_record(one)
        for one in _placed(made, wanted.seed)
        # Whether a picture without a partner is lost depends on what is written about it.
        if one.item is not None or one.candidates[0].id not in written
    ]
    by_name = {group.name: group for group in groups}
    under_way = slots
    for _ in range(options.tries):
        asked = [_question(slot, seats[0]) for slot in under_way]
        heard = yield from understood(
            asked, lambda question, text: _read(text, by_name[str(question.about["group"])])
        )
        for slot, one in zip(under_way, heard, strict=True):
            _settle(slot, one, options)
        under_way = [slot for slot in under_way if slot.item is None and _next(slot)]
        if not under_way:
            break
    records += [_written_record(slot) for slot in slots]
    told = {parent for one in records for parent in one.parents}
    records += [
        record(one, verdict="dropped", reason="no_caption" if seats else "nothing_to_ask")
        for one in candidates
        if one.id not in told
    ]
    return records


def _options(wanted: Wanted, candidates: Sequence[Candidate]) -> Ask:
    options = wanted.options("ask", Ask)
    known = sorted({one.collection for one in candidates})
    strange = [name for name in options.complete if name not in known]
    lack = ""
    if not 0 <= options.written <= _MOST or not 0 <= options.converted <= _MOST:
        lack = f"written and converted are from 0 to {_MOST}"
    elif not 1 <= options.tries <= _MOST:
        lack = f"tries is from 1 to {_MOST}"
    elif not 0 < options.support <= 1:
        lack = f"support is {options.support:g}; it is a share above 0 and at most 1"
    elif strange:
        lack = f'complete has "{strange[0][:60]}"; the collections are {", ".join(known)}'
    elif bool(options.grade) != (len(set(options.grades)) > 1):
        lack = "grade names a column and grades its words, two at least; give both or none"
    if lack:
        raise BadInput(f"{wanted.file} [ask]: {lack}.")
    return options


def _groups(wanted: Wanted, options: Ask) -> list[Group]:
    path = wanted.place(wanted.templates) if wanted.templates else None
    known = {group.name: group for group in load_templates(path)}
    strange = [name for name in options.groups if name not in known]
    if strange:
        raise BadInput(
            f'{wanted.file} [ask]: groups has "{strange[0][:60]}"; the templates have '
            f"{', '.join(known)}."
        )
    chosen = [known[name] for name in options.groups] or list(known.values())
    # For one benchmark alone nobody needs questions that are sorted by another's labels.
    sorted_by = {next(iter(labels_of(target))) for target in wanted.targets if labels_of(target)}
    return [
        group for group in chosen if not sorted_by or any(getattr(group, one) for one in sorted_by)
    ]


# ---------------------------------------------------------------- what is asked


def _slots(
    candidates: Sequence[Candidate], groups: Sequence[Group], options: Ask, seed: int
) -> list[_Slot]:
    """Every captioned picture with its groups, which take turns so that all are used alike."""
    captioned = [one for one in candidates if one.caption.strip()]
    turn = sorted(captioned, key=lambda one: lot("ask", seed, one.id))
    found: list[_Slot] = []
    for number, candidate in enumerate(turn if groups else ()):
        start = number * options.written % len(groups)
        own = [*groups[start:], *groups[:start]]
        first, others = own[: options.written], own[options.written :]
        found += [_Slot(candidate, group, others) for group in first]
    return found


def _next(slot: _Slot) -> bool:
    """Go on to a group that nobody tried with this picture; False where none is left."""
    if slot.reason not in ("no_template_fits", "unsupported", "answer_in_question"):
        return False
    if not slot.others:
        return False
    slot.group = slot.others.pop(0)
    return True


def _question(slot: _Slot, seat: str) -> Question:
    candidate, group = slot.candidate, slot.group
    sections = {
        "caption": candidate.caption,
        "labels": ", ".join(candidate.labels),
        "examination": ", ".join(filter(None, (candidate.modality, candidate.examination))),
    }
    listed = "\n".join(f"{number}: {text}" for number, text in group.questions.items())
    text = prompt("ask", sections, about=group.about, questions=listed, answer=group.answer)
    return question_to(seat, candidate.id, "question", text, (candidate.picture,),
                       group=group.name)  # fmt: skip


# ---------------------------------------------------------------- what is made of a reply


def _read(text: str, group: Group) -> Read:
    found = object_in(text, Said)
    if not found.valid or found.value.question is None:
        return found
    said: Said = found.value
    number = str(said.question).strip()
    if number.isdecimal() and number not in group.questions:
        number = next(
            (n for n in group.questions if n.isdecimal() and int(n) == int(number)), number
        )
    if number not in group.questions:
        return Read(fault="question is none of the numbers listed")
    words = {name: one_line(text) for name, text in said.fill.items()}
    missing = [slot for slot in slots_of(group.questions[number]) if not words.get(slot)]
    if missing:
        return Read(fault=f"fill lacks {missing[0]}")
    answers = list(dict.fromkeys(filter(None, map(one_line, said.answers))))
    if any(len(one) > _LONGEST for one in (*answers, *words.values())):
        return Read(fault=f"an answer or a fill has more than {_LONGEST} characters")
    few, many = (2, _MOST_ANSWERS) if group.kind == "multiple" else (1, 1)
    if not few <= len(answers) <= many:
        return Read(fault=f"answers has {len(answers)} texts; {few} to {many} are wanted")
    return Read(Said(number, words, answers), found.how)


def _settle(slot: _Slot, one: Understood, options: Ask) -> None:
    """Make an item of a reply, or note why not."""
    slot.last, slot.reason = one, one.reason
    if one.reason:
        return
    said: Said = one.value
    if said.question is None:
        slot.reason = "no_template_fits"
        return
    candidate, group = slot.candidate, slot.group
    known = ". ".join((candidate.caption, *candidate.labels, candidate.modality,
                       candidate.examination))  # fmt: skip
    slots = slots_of(group.questions[str(said.question)])
    words = {name: said.fill[name] for name in slots}
    if not all(
        supported(text, known, options.support) for text in (*said.answers, *words.values())
    ):
        slot.reason = "unsupported"
        return
    question = group.filled(str(said.question), words)
    if question is None or any(supported(answer, question, 1.0) for answer in said.answers):
        slot.reason = "answer_in_question"
        return
    slot.item = item_about(
        candidate, question=question, kind=group.kind, answers=tuple(said.answers),
        task=group.task, dimension=group.dimension, ability=group.ability,
        template=f"{group.name}.{said.question}",
    )  # fmt: skip


def _written_record(slot: _Slot) -> Record:
    by = [] if slot.last is None else [slot.last.heard.by]
    if slot.item is not None:
        return record(slot.item, parents=[slot.candidate], by=by)
    return record(
        slot.candidate, by=by, verdict="dropped", reason=slot.reason,
        facts={"group": slot.group.name, "fault": slot.last.fault if slot.last else ""},
    )  # fmt: skip


def _converted_record(one: Converted) -> Record:
    if one.item is None:
        return record(one.candidates[0], verdict="dropped", reason=one.reason, by=[one.by],
                      facts={"fault": one.fault} if one.fault else {})  # fmt: skip
    return record(one.item, parents=one.candidates, by=[one.by])


def _placed(made: Sequence[Converted], seed: int) -> list[Converted]:
    """The conversions with the places of their answers balanced."""
    items = placed([one.item for one in made if one.item is not None], seed)
    left = iter(items)
    return [
        one if one.item is None else msgspec.structs.replace(one, item=next(left)) for one in made
    ]
